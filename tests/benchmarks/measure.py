"""Runs commands in turn, reads what the system says each used, and keeps figures with targets."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

_OURS: Final = ("rageval", "xdist")


def without(plugins: Iterable[str]) -> list[str]:
    """Return the options by which pytest does not load these plugins."""
    return [word for name in sorted(plugins) for word in ("-p", f"no:{name}")]


_OTHERS: Final = {
    point.name
    for point in entry_points(group="pytest11")
    if point.name.partition(".")[0] not in _OURS
}
PYTEST: Final = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *without(_OTHERS))
"""pytest with this plugin and pytest-xdist; what else is installed is not loaded."""


@dataclass(frozen=True)
class Command:
    """A Python command line to measure, the folder it runs in, and exit statuses that are right."""

    arguments: Sequence[str]
    folder: Path
    statuses: Sequence[int] = (0,)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """CPU seconds of a process with all its children, and the largest one's peak memory."""

    cpu_s: float
    peak_kib: int


@dataclass(frozen=True)
class Comparison:
    """Two commands measured in turn: A B A B ..."""

    a: Sequence[Usage]
    b: Sequence[Usage]

    @property
    def ratio(self) -> float:
        """The median over the pairs of A's CPU time by B's."""
        return statistics.median(a.cpu_s / b.cpu_s for a, b in zip(self.a, self.b, strict=True))

    @property
    def best_ratio(self) -> float:
        """A's smallest CPU time by B's smallest: the one that other load disturbs least."""
        return min(a.cpu_s for a in self.a) / min(b.cpu_s for b in self.b)

    @property
    def extra_kib(self) -> int:
        """How much more memory A took at its peak, at the median."""
        return int(
            statistics.median(a.peak_kib for a in self.a)
            - statistics.median(b.peak_kib for b in self.b)
        )


def compare(a: Command, b: Command, repeat: int) -> Comparison:
    """Run both once to warm up, then ``repeat`` times in turn."""
    run(a)
    run(b)
    pairs = [(run(a), run(b)) for _ in range(repeat)]
    return Comparison([first for first, _ in pairs], [second for _, second in pairs])


def run(command: Command) -> Usage:
    """Run a command to its end; a wrong exit status ends the benchmark with its output."""
    environment = {**clean_environment(), **command.variables}
    with (command.folder / "output.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, *command.arguments],
            cwd=command.folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in command.statuses:
            output.seek(0)
            sys.exit(f"{command.arguments} exited {process.returncode}:\n{output.read()[-3000:]}")
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss)


def clean_environment() -> Mapping[str, str]:
    """Return the environment without what changes the behaviour of Python, pytest or the plugin."""
    changing = ("PYTEST_", "RAGEVAL_", "PYTHONDONTWRITEBYTECODE")
    return {key: value for key, value in os.environ.items() if not key.startswith(changing)}


@dataclass(frozen=True)
class Figure:
    """A figure in ``unit``, and the most that it may be."""

    name: str
    value: float
    at_most: float
    unit: str

    def __str__(self) -> str:
        verdict = "reached" if self.value <= self.at_most else "MISSED"
        shown = f"{self.value:,.3g}" if self.value < 1000 else f"{self.value:,.0f}"
        return f"{self.name:<58} {shown:>9} {self.at_most:>9,g} {self.unit:<8} {verdict}"


_FIGURES: list[Figure] = []


def wanted(name: str, value: float, at_most: float, unit: str = "") -> str:
    """Note a figure for the table, and return what its line says of the target."""
    _FIGURES.append(Figure(name, value, at_most, unit))
    return f"(at most {at_most:.4g})"


def table() -> str:
    """Return a table of all figures that have a target; ratios are medians."""
    head = f"{'':<58} {'measured':>9} {'at most':>9}"
    return "\n".join(["", head, *map(str, _FIGURES), ""]) if _FIGURES else ""

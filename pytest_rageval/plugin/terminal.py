"""The table of a scenario in pytest's terminal summary: means, intervals, gates, run folder."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from pytest_rageval.model import GateResult, ScenarioResult
from pytest_rageval.plugin.names import printable

_MIN_NAME = 22


class ScenarioTable:
    """Writes one scenario's result; ``folder`` is where its files are, or why there are none."""

    def __init__(self, result: ScenarioResult, folder: Path | str, root: Path) -> None:
        self._result = result
        self._folder = folder
        self._root = root
        names = [*result.metrics, "weighted_score", *(f"gate {gate.name}" for gate in result.gates)]
        self._width = max(_MIN_NAME, *(cells(printable(name)) for name in names))

    def write(self, terminal: pytest.TerminalReporter) -> None:
        """Write the table to pytest's terminal."""
        result = self._result
        terminal.ensure_newline()
        terminal.section(f"rageval: {printable(result.info.name)}", sep="=")
        head = f"{pad('metric', self._width)} mean    95 % interval     weight   scored"
        terminal.write_line(head)
        for name, metric in result.metrics.items():
            interval = _interval(metric.ci_low, metric.ci_high)
            line = f"{interval:<17} {metric.weight:<8g} {_scored(metric.n, metric.unscored)}"
            self._figure(terminal, name, metric.weighted_mean, line)
        overall = result.weighted_score
        interval = _interval(overall.ci_low, overall.ci_high)
        line = f"{interval:<17} {'':<8} {_scored(overall.n, overall.unscored)}"
        self._figure(terminal, "weighted_score", overall.mean, line)
        if not result.complete:
            counts = result.counts
            terminal.write_line(
                f"partial run: {counts.ran} of {counts.samples} samples", yellow=True
            )
        for gate in result.gates:
            self._gate(terminal, gate)
        if isinstance(self._folder, str):
            terminal.write_line(f"run  {self._folder}", red=True)
        else:
            terminal.write_line(f"run  {self._shown_folder()}")

    def _figure(
        self, terminal: pytest.TerminalReporter, name: str, mean: float | None, rest: str
    ) -> None:
        good, warn = self._result.info.bands
        terminal.write(f"{pad(printable(name), self._width)} ")
        if mean is None:
            terminal.write(f"{'-':<7}")
        else:
            band = "green" if mean >= good else "yellow" if mean >= warn else "red"
            terminal.write(f"{mean:<7.4f}", **{band: True})
        terminal.write_line(f" {rest}".rstrip())

    def _gate(self, terminal: pytest.TerminalReporter, gate: GateResult) -> None:
        colour = {"passed": "green", "failed": "red", "skipped": "yellow"}[gate.outcome]
        word = "FAILED" if gate.outcome == "failed" else gate.outcome
        terminal.write(f"{pad(printable(f'gate {gate.name}'), self._width)} ")
        terminal.write(f"{word:<7}", **{colour: True})
        terminal.write_line(f" {printable(gate.message)}")

    def _shown_folder(self) -> str:
        folder = str(self._folder)
        relative = os.path.relpath(folder, self._root)
        return folder if relative.startswith("..") else relative


def cells(text: str) -> int:
    """Return how many terminal cells ``text`` takes; Chinese characters take two."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    combining = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - combining


def pad(text: str, width: int) -> str:
    """Return ``text`` with spaces up to ``width`` cells."""
    return text + " " * max(0, width - cells(text))


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4f}..{high:.4f}"


def _scored(n: int, unscored: int) -> str:
    remark = f"  ({unscored} unscored)" if unscored else ""
    return f"{n}/{n + unscored}{remark}"

"""The last lines of a red run: the command to run next, and where the page is."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import pytest

from pytest_rageval.model import GateResult, ScenarioResult
from pytest_rageval.redaction import HIDDEN, shown_option, shown_url, sounds_secret
from pytest_rageval.reports.html import PAGE
from pytest_rageval.text.printable import one_line

Step = Literal["failed", "stopped", "whole", "check"]
"""What is to be run next: what failed; that first, then the rest; every sample; or a dry run."""

_ADDED: Final[dict[Step, tuple[str, ...]]] = {
    "failed": ("--lf",),
    "stopped": ("--ff",),
    "whole": (),
    "check": ("--rag-dry-run",),
}
_LAST: Final = ("--lf", "--last-failed", "--ff", "--failed-first")
_STEPWISE: Final = ("--sw", "--stepwise", "--sw-skip", "--stepwise-skip")
# A run in part saves nothing, and what it leaves undecided is not to fail.
_WHOLE_ONLY: Final = ("--rag-save", "--rag-save-failed", "--rag-save-answers", "--rag-strict")
_CHOOSING: Final = ("-k", "-m", "--deselect", "--rag-where", "--rag-limit", "--rag-variant")
_DROPPED: Final[dict[Step, tuple[str, ...]]] = {
    "failed": (*_LAST, *_STEPWISE, *_WHOLE_ONLY),
    "stopped": (*_LAST, *_STEPWISE),
    "whole": (*_LAST, *_STEPWISE, *_CHOOSING),
    "check": ("--rag-dry-run", "--rag-label"),
}
_WITHOUT_VALUE: Final = (*_LAST, *_STEPWISE, "--rag-strict", "--rag-dry-run")
_CHILD = "pytest_rageval.plugin.child"
_STRICT = "(strict: undecided fails)"


@dataclass(frozen=True)
class Ended:
    """How a run ended: results with their folders, gates over variants, and what went wrong."""

    written: Sequence[tuple[ScenarioResult, Path | str]] = ()
    gates: Sequence[GateResult] = ()
    is_stopped: bool = False
    """Whether cases were left over: ``-x``, ``--maxfail``, Ctrl-C."""
    is_broken: bool = False
    """Whether the file of a scenario could not be used."""
    has_broken_cases: bool = False
    """Whether a case ended with an error after it was judged."""


class NextSteps:
    """Prints the lines after pytest's own short summary."""

    def __init__(self, config: pytest.Config, ended: Callable[[], Ended]) -> None:
        self._config = config
        self._ended = ended

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Print nothing where the run is green, or very quiet."""
        yield
        if self._config.option.no_summary or self._config.get_verbosity() < -1:
            return
        for line in self._lines(self._ended()):
            terminalreporter.write_line(line, bold=True)

    def _lines(self, ended: Ended) -> Iterator[str]:
        step = next_step(ended)
        given = [str(one) for one in self._config.invocation_params.args]
        if step is None or any(_CHILD in one for one in given):  # the app and agents show their own
            return
        can_repeat = self._config.pluginmanager.has_plugin("lfplugin")
        if can_repeat or step in ("whole", "check"):
            yield f"next  {one_line(next_command(given, step))}"
        if step != "check":
            yield f"page  {one_line(self._page(ended))}"

    def _page(self, ended: Ended) -> str:
        """Return where the page of the first red scenario is, else how to get one."""
        folders = [folder for one, folder in ended.written if _is_red(one)]
        folders += [folder for _, folder in ended.written]
        pages = (folder / PAGE for folder in folders if isinstance(folder, Path))
        page = next((one for one in pages if one.is_file()), None)
        if page is None:
            return "--rag-report=html writes one"
        shown = os.path.relpath(page, self._config.invocation_params.dir)
        return str(page) if shown.startswith("..") else shown


def next_step(ended: Ended) -> Step | None:
    """Return what is to be run next, None after a green run."""
    results = [result for result, _ in ended.written]
    gates = [*(gate for one in results for gate in one.gates), *ended.gates]
    red = [gate for gate in gates if gate.outcome == "failed"]
    # Neither is red for what a sample is like: more samples have to run.
    unfinished = [one for one in red if _STRICT in one.message or one.name.startswith("save:")]
    has_red_cases = ended.has_broken_cases or any(
        one.counts.failed or one.counts.error for one in results
    )
    if ended.is_broken:
        return "check"
    if not red and not has_red_cases:
        return None
    if ended.is_stopped:
        return "stopped"
    return "failed" if has_red_cases or len(red) > len(unfinished) else "whole"


def _is_red(result: ScenarioResult) -> bool:
    failed = any(gate.outcome == "failed" for gate in result.gates)
    return bool(result.counts.failed or result.counts.error or failed)


def next_command(given: Sequence[str], step: Step) -> str:
    """Return the command line ``given``, changed for the next step and quoted for the shell.

    Scenarios and files stay as the user named them. Values that may be secrets are hidden.

    >>> next_command(["my bot.yaml", "--rag-save", "main"], "failed")
    "pytest 'my bot.yaml' --lf"
    """
    kept = [*_without_secrets(_without(given, _DROPPED[step])), *_ADDED[step]]
    if step == "whole":
        kept = list(dict.fromkeys(_whole(one) for one in kept))
    return " ".join([_program(), _quoted(kept)]).strip()


def _program() -> str:
    """Return how pytest was started."""
    started = Path(sys.argv[0])
    is_module = started.name == "__main__.py" and started.parent.name == "pytest"
    return "python -m pytest" if is_module else "pytest"


def _quoted(arguments: Sequence[str]) -> str:
    return subprocess.list2cmdline(arguments) if os.name == "nt" else shlex.join(arguments)


def _without(given: Sequence[str], dropped: Sequence[str]) -> Iterator[str]:
    """Yield the arguments without these options and their values."""
    arguments = iter(given)
    for one in arguments:
        name = one.partition("=")[0] if one.startswith("--") else one[:2]
        if name not in dropped:
            yield one
        elif one == name and name not in _WITHOUT_VALUE:
            next(arguments, None)


def _whole(argument: str) -> str:
    """Return a path without the sample that follows it; options stay, but for a scenario's."""
    is_path = not argument.startswith("-") or argument.startswith("--rag-scenario=")
    path, separator, _ = argument.partition("::")
    return path if separator and is_path and not path.endswith(".py") else argument


def _without_secrets(arguments: Iterator[str]) -> Iterator[str]:
    before = ""
    for one in arguments:
        name, equals, value = one.partition("=")
        if name == "--rag-set" and equals:
            yield f"--rag-set={_safe_value(value)}"
        elif before == "--rag-set":
            yield _safe_value(one)
        elif equals and name.startswith("-"):
            yield f"{name}={_safe(name, value)}"
        else:
            yield _safe(before, one)
        before = one if one.startswith("-") and not equals else ""


def _safe_value(text: str) -> str:
    """Return the ``PATH=VALUE`` of ``--rag-set`` without secrets."""
    path, equals, value = text.partition("=")
    has_names = value.lstrip()[:1] in ("{", "[") and sounds_secret(value)
    if "headers" in path or has_names:
        return f"{path}{equals}{HIDDEN}"
    return f"{path}{equals}{_safe(path.rpartition('.')[2], value)}"


def _safe(name: str, value: str) -> str:
    has_secret = "://" in value and shown_url(value) != value
    return HIDDEN if has_secret else str(shown_option(name, value))

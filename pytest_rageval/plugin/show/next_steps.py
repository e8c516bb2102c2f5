"""The last lines of a red run: what to run next, where the page is; what is not printed twice."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from pytest_rageval.engine.verdict.decide import STRICT_FAILS
from pytest_rageval.errors import shorten
from pytest_rageval.model import CONTROLS, REPLAY, GateResult, SampleResult, ScenarioResult
from pytest_rageval.plugin.options import CACHE, KEEP, SCENARIO, SET, STRICT, touching
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.plugin.show.terminal import display_path
from pytest_rageval.reports.html import PAGE
from pytest_rageval.stats.verdict import error_kind, unwritten
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import one_line, printable

Step = Literal[
    "failed",  # what failed
    "stopped",  # what failed first, then the rest
    "whole",  # every sample
    "check",  # a dry run
    "answers",  # with a system that answers
    "page",  # with a page: only gates failed, and the same samples would fail them again
]
"""What is to be run next."""

_ADDED: Final[dict[Step, str]] = {
    "failed": "--lf",
    "stopped": "--ff",
    "check": "--rag-dry-run",
    "answers": "--rag-set=target=MODULE:FUNCTION",
    "page": "--rag-report=html",
}
# What pytest calls the option of a step; given already, it is not to be added.
_DESTINATIONS: Final[dict[Step, str]] = {"failed": "lf", "stopped": "failedfirst"}
# Options of pytest that choose some of the cases.
_CHOOSING: Final = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "lf": "--lf",
    "stepwise": "--sw",
}
_REASON_WIDTH: Final = 200
_CHILD = "pytest_rageval.plugin.child"
# An option at fault begins a message, or stands behind the path of the scenario in it:
# "--rag-set=x=1: ...", "qa.yaml: --rag-where a=b: ...".
_OPTION_AT_FAULT = re.compile(r"^(?:[^\n:]*: )?(?:--rag-|RAGEVAL_)[^\n:]*: ", re.MULTILINE)
_LACKS_ANSWERS = re.compile(r"needs? 'answer'.*under 'target'", re.DOTALL)


@dataclass(frozen=True)
class Ended:
    """How a run ended: results with their folders, gates over variants, and what went wrong."""

    written: Sequence[tuple[ScenarioResult, Path | str]] = ()
    gates: Sequence[GateResult] = ()
    is_stopped: bool = False
    """Whether pytest was told to end, and cases may be left over: ``-x``, ``--sw``, Ctrl-C."""
    refusals: Sequence[str] = ()
    """Why files of scenarios could not be used."""
    has_broken_cases: bool = False
    """Whether a case ended with an error after it was judged."""
    side_by_side: Sequence[Path] = ()
    """The pages of this run that show variants side by side."""

    @property
    def has_red_cases(self) -> bool:
        """Whether a sample failed, or could not be judged."""
        counts = [result.counts for result, _ in self.written]
        return self.has_broken_cases or any(count.failed or count.error for count in counts)

    @property
    def has_unrecorded(self) -> bool:
        """Whether a score is missing because the cache that is replayed has no reply."""
        samples = (sample for result, _ in self.written for sample in result.samples)
        return any(e.startswith(REPLAY) for sample in samples for e in sample.errors.values())


BRIEF = pytest.StashKey[dict[str, Any]]()
"""By node id, what pytest is to print of a failed gate: the table below has the worst answers."""


class NextSteps:
    """Prints the lines after pytest's own short summary, and keeps its sections short."""

    def __init__(
        self,
        config: pytest.Config,
        ended: Callable[[], Ended],
        results: Callable[[], Mapping[str, SampleResult]],
    ) -> None:
        self._config = config
        self._ended = ended
        self._results = results
        self._unfolded: dict[str, list[Any]] = {}
        self._folded: list[str] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        """Fold what is printed twice; behind all sections print the next step of a red run."""
        self._fold(terminalreporter)
        yield
        if self._config.option.no_summary or self._config.get_verbosity() < -1:
            return
        for line in self._lines(self._ended()):
            terminalreporter.write_line(line, bold=True)

    def _fold(self, terminal: pytest.TerminalReporter) -> None:
        """Have pytest print one of several equal errors, and of a gate its message alone."""
        verbosity, brief = self._config.get_verbosity(), self._config.stash.get(BRIEF, {})
        if verbosity > 0:
            return
        errors, failed = terminal.stats.get("error", []), terminal.stats.get("failed", [])
        shown, self._folded = fold(errors, self._results())
        if self._folded:
            self._unfolded["error"], terminal.stats["error"] = errors, shown
        if brief and verbosity > -2:  # else no table has the worst answers
            self._unfolded["failed"] = failed
            terminal.stats["failed"] = [_brief(report, brief) for report in failed]

    # Pytest prints its sections in a wrapper, before plain hooks. This one is the first of those:
    # the others see all reports again.
    @pytest.hookimpl(specname="pytest_terminal_summary", tryfirst=True)
    def pytest_terminal_summary_unfold(self, terminalreporter: pytest.TerminalReporter) -> None:
        """After pytest's own sections, put back all reports, and say which were left out."""
        terminalreporter.stats.update(self._unfolded)
        self._unfolded = {}
        if self._folded and not self._config.option.no_summary:
            terminalreporter.section("errors that are alike", sep="-")
            for line in self._folded:
                terminalreporter.write_line(line, red=True)

    def _lines(self, ended: Ended) -> Iterator[str]:
        step = next_step(ended)
        has_engine = self._config.pluginmanager.has_plugin("rageval-engine")
        # A dry run opens no engine: it would be green if that is what refused the run.
        engine_may_have_refused = step == "check" and has_engine
        if step is None or engine_may_have_refused or self._is_shown_otherwise():
            return
        can_repeat = self._config.pluginmanager.has_plugin("lfplugin")
        needs_lastfailed = step in ("failed", "stopped")
        hint = next_hint(self._config, step, ended) if can_repeat or not needs_lastfailed else ""
        yield from [f"next  {hint}"] if hint and step != "page" else []
        if ended.refusals or step == "answers":
            return
        if page := self._page(ended):
            yield f"page  {page}"
        elif step != "whole" and PAGE not in self._config.stash[SETTINGS].reports:
            yield f"next  {next_hint(self._config, 'page', ended)}"

    def _is_shown_otherwise(self) -> bool:
        """Return whether the app or an agent shows the run, or it was a dry run."""
        is_child = self._config.pluginmanager.has_plugin(_CHILD)
        return is_child or bool(self._config.getoption("rag_dry_run"))

    def _page(self, ended: Ended) -> str:
        """Return where the page of the first red scenario is, else of the first; "" without one.

        Of variants it is the page that has all of them.
        """
        folders = [folder for result, folder in ended.written if result.is_red]
        folders += [folder for _, folder in ended.written]
        pages = (folder / PAGE for folder in folders if isinstance(folder, Path))
        page = next((page for page in pages if page.is_file()), None)
        if page is None:
            return ""
        beside = {path.parent: path for path in ended.side_by_side}
        page = beside.get(page.parents[2], page)  # SCENARIO/VARIANT/RUN/report.html
        display = display_path(page, self._config.invocation_params.dir)
        return printable(display).replace("\n", " ")


def next_hint(config: pytest.Config, step: Step, ended: Ended) -> str:
    """Return how the command of this run is to be changed for the next step, "" if it is not."""
    left_out = list(dict.fromkeys(_left_out(config, step, ended)))
    is_given = config.getoption(_DESTINATIONS.get(step, ""), False)
    changes = [f"with {_ADDED[step]}"] if step in _ADDED and not is_given else []
    changes += [f"without {' and '.join(left_out)}"] if left_out else []
    return f"the same command {', '.join(changes)}" if changes else ""


def _left_out(config: pytest.Config, step: Step, ended: Ended) -> Iterator[str]:
    """Yield what would keep the next step from helping, as the user gave it."""
    if step == "failed":
        yield from _left_out_of_part(config, ended)
    elif step in ("check", "answers"):
        yield from ("--rag-label",) if config.getoption("rag_label") is not None else ()
    elif step == "stopped":
        yield from ("--lf",) if config.getoption("lf", False) else ()
        # Where --ff is yet to be added, it alone helps: once all is mended, nothing stops the rest.
        if config.getoption("failedfirst", False):
            yield from _stopping(config)
    elif step == "whole":
        yield from (flag for name, flag in _CHOOSING.items() if config.getoption(name, None))
        samples = touching("samples")
        yield from (option.source(config) for option in samples if option.is_given(config))
        cut = [override for override in config.stash[SETTINGS].overrides if override.limits]
        if any(override.source == SET.source(config) for override in cut):
            yield f"the limit in {SET.source(config)}"
        files = config.getoption("file_or_dir", None) or ()
        named = [name for name in files if not name.partition("::")[0].endswith(".py")]
        if any("::" in name for name in (*named, *SCENARIO.texts(config))):
            yield "names of samples"


def _stopping(config: pytest.Config) -> Iterator[str]:
    """Yield the options that end a run before its last case."""
    if most := config.getoption("maxfail", 0):
        yield "-x" if most == 1 else "--maxfail"
    yield from ("--sw",) if config.getoption("stepwise", False) else ()


def _left_out_of_part(config: pytest.Config, ended: Ended) -> Iterator[str]:
    """Yield what would keep a run of the failed samples from helping."""
    # A run in part saves nothing, must not make whole ones be deleted, and leaves gates undecided.
    whole_only = [*touching("baseline", "answers"), KEEP]
    yield from (option.source(config) for option in whole_only if option.is_given(config))
    is_judge_at_fault = any(gate.name.startswith(CONTROLS) for gate in _red_gates(ended))
    if config.stash[SETTINGS].strict and not is_judge_at_fault:
        yield STRICT.source(config) if STRICT.is_given(config) else "rageval_strict"
    if ended.has_unrecorded:
        yield CACHE.source(config)
    yield from ("--cache-clear",) if config.getoption("cacheclear", False) else ()


def next_step(ended: Ended) -> Step | None:
    """Return what is to be run next, None after a green run, or where a message says it."""
    if ended.refusals:
        return _after_refusal("\n".join(ended.refusals))
    red = _red_gates(ended)
    if not red and not ended.has_red_cases:
        return None
    if _is_all_unwritten(ended):
        return "answers"
    if ended.is_stopped:
        return "stopped"
    if ended.has_red_cases:
        return "failed"
    # Undecided gates and runs that are not saved do not tell of samples: more have to run.
    unfinished = [one for one in red if STRICT_FAILS in one.message or one.name.startswith("save:")]
    return "page" if len(red) > len(unfinished) else "whole"


def _is_all_unwritten(ended: Ended) -> bool:
    """Return whether every red scenario names a function that is still to be written.

    A function that the command line named does not count: the user asked for no other.
    """
    red = [result for result, _ in ended.written if result.is_red]
    return bool(red) and all(
        not any(name.partition(".")[0] == "target" for name in result.info.overridden)
        and any(unwritten(result.info.target, sample) for sample in result.samples)
        for result in red
    )


def _after_refusal(message: str) -> Step | None:
    if _OPTION_AT_FAULT.search(message):
        return None  # no command with this option is better
    return "answers" if _LACKS_ANSWERS.search(message) else "check"


def _red_gates(ended: Ended) -> list[GateResult]:
    gates = [*(gate for result, _ in ended.written for gate in result.gates), *ended.gates]
    return [gate for gate in gates if gate.outcome == "failed"]


def _brief(report: Any, brief: Mapping[str, Any]) -> Any:
    """Return the report of a gate as pytest is to print it; any other unchanged."""
    if report.nodeid not in brief:
        return report
    shown = copy.copy(report)
    shown.longrepr = brief[report.nodeid]
    return shown


def fold(reports: list[Any], results: Mapping[str, SampleResult]) -> tuple[list[Any], list[str]]:
    """Return the reports to show in full, in their order, and a line for each kind of the others.

    The first of a kind is shown. ``results`` are by node id of the cases; a report of another test
    is shown in full.
    """
    first: dict[str, str] = {}
    reasons: dict[str, str] = {}
    others: dict[str, int] = {}
    shown = []
    for report in reports:
        result = results.get(report.nodeid)
        is_unjudged = result is not None and report.when == "setup"
        kind, reason = error_kind(result) if result and is_unjudged else ("", "")
        if not kind or kind not in first:
            shown.append(report)
            first[kind], reasons[kind] = report.nodeid, reason
        else:
            others[kind] = others.get(kind, 0) + 1
    lines = [
        f"{first[kind].rpartition('::')[2]} and {counted(count, 'more case')}: ERROR "
        f"({shorten(one_line(reasons[kind]), _REASON_WIDTH)}); -v shows each"
        for kind, count in others.items()
    ]
    return shown, [printable(line) for line in lines]

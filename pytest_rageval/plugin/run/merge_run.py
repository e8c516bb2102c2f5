"""``--rag-merge``: reads shards in place of running tests; the session judges and writes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import UserError
from pytest_rageval.model import ScenarioInfo
from pytest_rageval.plugin import options
from pytest_rageval.plugin.configuration import configuration_of
from pytest_rageval.plugin.settings import overrides
from pytest_rageval.plugin.show.case_text import unjudged_text
from pytest_rageval.plugin.show.scenario_lines import placed
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.shards.merge import Merged, check_commits, find_shards, merged, sum_usage
from pytest_rageval.shards.shard_file import CaseRow
from pytest_rageval.text.printable import one_line, printable

_GATES = (options.GATE, options.FAIL_UNDER, options.COMPARE_FAIL)
"""The options that a merge can still obey; what others change was decided in the shards."""

_OF_THE_SHARDS = (
    options.SCENARIO,
    options.METRIC_WEIGHT,
    options.DOC_WEIGHT,
    options.THRESHOLD,
    options.SET,
    options.WHERE,
    options.LIMIT,
    options.VARIANT,
    options.COMPARE,
    options.LABELS,
    options.JUDGE_MODEL,
)


def named_places(given: Sequence[str], folder: Path) -> list[Path]:
    """Return the folders of shards, given relative to the working directory."""
    return [Path(os.path.normpath(folder / name)) for name in given]


Open = Callable[[ScenarioInfo, Merged], None]
Take = Callable[[str, CaseRow, pytest.TestReport | None], None]


class MergeRun:
    """A session that takes its cases from shards."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: list[Merged] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Read the shards, in place of collecting tests; what cannot be merged ends the run."""
        config = self._config
        places = named_places(config.getoption("rag_merge"), config.invocation_params.dir)
        try:
            shards = find_shards(places)
            if not config.getoption("rag_merge_commits"):
                check_commits(shards)
            self._found = merged(shards)
        except UserError as error:
            raise pytest.UsageError(f"--rag-merge: {printable(str(error))}") from None
        session.items = []
        session.testscollected = sum(one.info.selected for one in self._found)
        return True

    def take(self, session: pytest.Session, open_merged: Open, take: Take) -> None:
        """Hand every case to the session, then report those that are red to pytest.

        All of them where JUnit XML is written. Raises UsageError for shards that do not go
        together.
        """
        given = [one for one in overrides(self._config) if one.path[0] == "gates"]
        is_junit = bool(self._config.getoption("xmlpath", None))
        told: list[pytest.TestReport] = []
        try:
            for found in self._found:
                info, judge = _with_gates(found.info, given)
                open_merged(info, found)
                for row in map(judge, found.rows()):
                    is_told = is_junit or row.result.outcome in ("failed", "error")
                    report = report_of(row, info, self._config.rootpath) if is_told else None
                    take(info.nodeid, row, report)
                    told += [report] if report is not None else []
                told += [broken_report(*one, info) for one in found.broken.items()]
        except UserError as error:
            raise pytest.UsageError(f"--rag-merge: {printable(str(error))}") from None
        for report in told:
            _log(self._config, report)

    def usage(self, scenario: str | None) -> dict[str, float | None] | None:
        """Return what the shards asked models for, of a scenario or of all."""
        found = [one for one in self._found if scenario in (None, one.info.nodeid)]
        return sum_usage(one.usage for one in found)

    def workers(self, scenario: str) -> int:
        """Return how many workers of xdist the shards of a scenario had together."""
        return sum(one.workers for one in self._found if one.info.nodeid == scenario)


def _with_gates(
    info: ScenarioInfo, given: Sequence[Override]
) -> tuple[ScenarioInfo, Callable[[CaseRow], CaseRow]]:
    if not given:
        return info, lambda row: row
    # Not at the top: most merges have the gates of their shards.
    from pytest_rageval.shards.late_gates import LateGates

    try:
        late = LateGates(info, given)
    except UserError as error:
        raise pytest.UsageError(printable(str(error))) from None

    def judged(row: CaseRow) -> CaseRow:
        reasons = late.reasons_unjudged(row.result) if row.result.outcome == "passed" else []
        if not reasons:
            return row
        result = replace(row.result, outcome="error")
        return CaseRow(row.nodeid, result, unjudged_text(info, result, reasons))

    return late.info, judged


def merge_instead(config: pytest.Config) -> MergeRun:
    """Have this session merge shards, in this process, and run no test; raises UsageError."""
    _refuse_other_arguments(config)
    _refuse_moved_configuration(config)
    config.option.dist, config.option.tx = "no", []  # of xdist: there is nothing to spread
    run = MergeRun(config)
    config.pluginmanager.register(run, "rageval-merge")
    return run


def _refuse_other_arguments(config: pytest.Config) -> None:
    typed = [option.flag for option in _OF_THE_SHARDS if option.is_typed(config)]
    if typed:
        message = f"{', '.join(typed)}: a merge judges what ran; give it to the shards"
        raise pytest.UsageError(message)
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        named = " ".join(config.args)
        message = f"--rag-merge runs no tests; leave out {named}, or write --rag-merge={named}"
        raise pytest.UsageError(message)


def _refuse_moved_configuration(config: pytest.Config) -> None:
    """Refuse folders after a blank that made pytest look for its configuration elsewhere."""
    given, here = config.getoption("rag_merge"), config.invocation_params.dir
    typed = config.invocation_params.args
    is_apart = any(name in typed for name in given)
    named = config.getoption("inifilename", None) or config.getoption("rootdir", None)
    wanted = configuration_of(here)
    is_moved = config.inipath != wanted or (wanted is None and config.rootpath != here)
    if is_apart and is_moved and not named:
        places = " ".join(f"--rag-merge={name}" for name in given)
        message = (
            f"--rag-merge {' '.join(given)}: pytest took these folders for tests, and its rootdir "
            f"is {config.rootpath}. Write {places}"
        )
        raise pytest.UsageError(message)


def scenarios_of(given: Sequence[str], config: pytest.Config) -> list[str]:
    """Return the scenario files of these shards that are here; what is wrong shows later."""
    try:
        shards = find_shards(named_places(given, config.invocation_params.dir))
    except UserError:
        return []
    files = {config.rootpath / shard.head.info.path for shard in shards}
    return sorted(str(path) for path in files if path.is_file())


def report_of(row: CaseRow, info: ScenarioInfo, root: Path) -> pytest.TestReport:
    """Return the report of a case, for the terminal, ``--lf`` and JUnit XML."""
    location = (info.nodeid, 0, f"{one_line(info.title)}: {row.nodeid.rpartition('::')[2]} ")
    outcome, result = row.result.outcome, row.result
    if outcome in ("failed", "error"):
        when: Any = "call" if outcome == "failed" else "setup"
        text = _failure(row.text, root / info.path)
        return pytest.TestReport(row.nodeid, location, {}, "failed", text, when)
    if outcome in ("skipped", "xfailed"):
        reason = next(iter(result.reasons.values()), result.xfail or outcome)
        said = (info.path, result.line or 1, printable(reason))
        report = pytest.TestReport(row.nodeid, location, {}, "skipped", said, "setup")
        if outcome == "xfailed":
            report.wasxfail = printable(reason)
        return report
    return pytest.TestReport(row.nodeid, location, {}, "passed", None, "call")


def broken_report(nodeid: str, text: str, info: ScenarioInfo) -> pytest.TestReport:
    """Return the report of a case that ended with an error after it was judged."""
    location = (info.nodeid, 0, f"{one_line(info.title)}: {nodeid.rpartition('::')[2]} ")
    failure = _failure(text, Path(info.path))
    return pytest.TestReport(nodeid, location, {}, "failed", failure, "teardown")


def _log(config: pytest.Config, report: pytest.TestReport) -> None:
    """Send a report through pytest's own hooks; the last of a case closes its JUnit entry."""
    nodeid, location = report.nodeid, report.location
    config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    config.hook.pytest_runtest_logreport(report=report)
    if report.when != "teardown":
        last = pytest.TestReport(nodeid, location, {}, "passed", None, "teardown")
        last.user_properties = list(report.user_properties)
        config.hook.pytest_runtest_logreport(report=last)
    config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)


def _failure(text: str, path: Path) -> Any:
    """Return pytest's representation of a failure with this text."""
    try:
        pytest.fail(text or "no text was kept", pytrace=False)
    except pytest.fail.Exception:
        shown = pytest.ExceptionInfo.from_current().getrepr(style="value")
        return placed(shown, path, 1)

"""Makes pytest's reports of cases that ran in shards, for the terminal, ``--lf`` and JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_rageval.model import ScenarioInfo
from pytest_rageval.plugin.show.failures import ScenarioLines, placed
from pytest_rageval.shards.shard_file import CaseRow, Failure
from pytest_rageval.text.printable import one_line

Location = tuple[str, int | None, str]


def reports_of(
    row: CaseRow, info: ScenarioInfo, root: Path, beside: Sequence[Failure]
) -> Sequence[pytest.TestReport]:
    """Return the reports of a case: last the one that decides it, and that of its teardown.

    ``beside`` is what else failed in it: its teardown, a subtest, or an earlier attempt.
    """
    location = (info.nodeid, 0, f"{one_line(info.title)}: {row.nodeid.rpartition('::')[2]} ")
    torn = next((one for one in beside if one.when == "teardown"), None)
    others = [_report(row.nodeid, location, one.when, one) for one in beside if one is not torn]
    last = _report(row.nodeid, location, "teardown", torn)
    return *others, _deciding(row, info, root, location), last


def _deciding(
    row: CaseRow, info: ScenarioInfo, root: Path, location: Location
) -> pytest.TestReport:
    outcome = row.shown
    if outcome in ("failed", "error"):
        when: Any = "call" if outcome == "failed" else "setup"
        text = _failure(row.text, root / info.path, row.crash)
        return pytest.TestReport(row.nodeid, location, {}, "failed", text, when)
    if outcome == "passed":
        return pytest.TestReport(row.nodeid, location, {}, "passed", None, "call")
    path, line = root / info.nodeid.partition("::")[0], 1
    if info.is_of_file:
        line = ScenarioLines(path, info.variant).of_row(row.result.row)
    said = (str(path), line, row.text)
    report = pytest.TestReport(row.nodeid, location, {}, "skipped", said, "setup")
    if outcome == "xfailed":
        report.wasxfail = row.text
    return report


def log_case(config: pytest.Config, reports: Sequence[pytest.TestReport]) -> None:
    """Send the reports of a case through pytest's own hooks."""
    nodeid, location = reports[0].nodeid, reports[0].location
    config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    for report in reports:
        config.hook.pytest_runtest_logreport(report=report)
    config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)


def log_failure(config: pytest.Config, failure: Failure) -> None:
    """Send what was red beside the cases: a file that was not collected, or another test."""
    if failure.when == "collect":
        shown = _failure(failure.text, Path(failure.nodeid), failure.crash)
        report = pytest.CollectReport(failure.nodeid, "failed", shown, [])
        config.hook.pytest_collectreport(report=report)
        return
    path, _, name = failure.nodeid.partition("::")
    location = (path, None, name or path)
    reports = [_report(failure.nodeid, location, failure.when, failure)]
    if failure.when != "teardown":
        reports.append(_report(failure.nodeid, location, "teardown", None))
    log_case(config, reports)


def _report(
    nodeid: str, location: Location, when: str, failure: Failure | None
) -> pytest.TestReport:
    phase = cast("Any", when)
    if failure is None:
        return pytest.TestReport(nodeid, location, {}, "passed", None, phase)
    shown = _failure(failure.text, Path(location[0]), failure.crash)
    return pytest.TestReport(nodeid, location, {}, "failed", shown, phase)


def failure_of(report: pytest.TestReport | pytest.CollectReport, when: str) -> Failure:
    """Return what a red report says, with the exception alone where it shows more than that."""
    text = str(report.longrepr)
    crash = str(getattr(getattr(report.longrepr, "reprcrash", None), "message", ""))
    return Failure(report.nodeid, when, text, "" if crash == f"Failed: {text}" else crash)


def _failure(text: str, path: Path, crash: str) -> Any:
    """Return pytest's representation of a failure with this text; ``crash`` is its summary."""
    try:
        pytest.fail(text or "no text was kept", pytrace=False)
    except pytest.fail.Exception:
        shown = pytest.ExceptionInfo.from_current().getrepr(style="value")
        shown = placed(shown, path, 1)
        if crash:
            traceback, place, description = shown.chain[-1]
            said = replace(place, message=crash)
            shown = type(shown)([*shown.chain[:-1], (traceback, said, description)])
        return shown

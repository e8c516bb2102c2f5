"""Reports gates as test outcomes, so that pytest counts, prints and exports them to JUnit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.model import GateResult, ScenarioResult
from pytest_rageval.plugin.show.allure import report_to_allure
from pytest_rageval.plugin.show.gate_text import gate_text
from pytest_rageval.plugin.show.scenario_lines import ScenarioLines, placed
from pytest_rageval.plugin.show.table_lines import terminal_width
from pytest_rageval.text.printable import one_line, printable


def report_gates(
    session: pytest.Session, results: Sequence[ScenarioResult], announced: int
) -> None:
    """Send the reports of every gate through pytest's own hooks.

    pytest's number of tests already includes ``announced`` of them.
    """
    gates = [(result, gate) for result in results for gate in result.gates]
    session.testscollected += len(gates) - announced
    for result, gate in gates:
        _report(session.config, result, gate, "gate")


def report_failure(session: pytest.Session, result: ScenarioResult, what: str, text: str) -> None:
    """Send the report of another failed request, such as ``--rag-save``.

    ``what`` is its kind and name, for example ``save:main``.
    """
    session.testscollected += 1
    kind, _, name = what.partition(":")
    _report(session.config, result, GateResult(name, "failed", None, None, text), kind)


def _report(config: pytest.Config, result: ScenarioResult, gate: GateResult, kind: str) -> None:
    name = one_line(gate.name)
    nodeid = f"{result.info.nodeid}::{kind}:{name}"
    location = (result.info.nodeid, 0, f"{one_line(result.info.title)}: {kind} {name} ")
    failure = _failure(config, result, gate) if gate.outcome == "failed" else None
    config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    reports = _reports(nodeid, location, gate, failure)
    for report in reports:
        config.hook.pytest_runtest_logreport(report=report)
    config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
    deciding = next((one for one in reports if one.outcome != "passed"), reports[0])
    report_to_allure(config, deciding, printable(gate.message))


def _reports(
    nodeid: str, location: tuple[str, int, str], gate: GateResult, failure: Any
) -> list[pytest.TestReport]:
    """Return a setup, a call and a teardown; a skipped gate is skipped in its setup."""
    if gate.outcome == "skipped":
        reason = (location[0], 1, f"Skipped: gate undecided: {printable(gate.message)}")
        skipped = pytest.TestReport(nodeid, location, {}, "skipped", reason, "setup")
        return [skipped, pytest.TestReport(nodeid, location, {}, "passed", None, "teardown")]
    return [
        pytest.TestReport(nodeid, location, {}, "passed", None, "setup"),
        pytest.TestReport(nodeid, location, {}, gate.outcome, failure, "call"),
        pytest.TestReport(nodeid, location, {}, "passed", None, "teardown"),
    ]


def _failure(config: pytest.Config, result: ScenarioResult, gate: GateResult) -> Any:
    """Return pytest's representation of a failed gate: without a traceback, at the scenario's line.

    The heading and the node id name the gate. Not a plain text, because older versions of pytest do
    not quote one in their short summary.
    """
    path = Path(os.path.normpath(config.rootpath / result.info.path))
    text = gate_text(result, gate, terminal_width(config))
    try:
        pytest.fail(text, pytrace=False)
    except pytest.fail.Exception:
        shown = pytest.ExceptionInfo.from_current().getrepr(style="value")
        line = ScenarioLines(path).of_gate(gate.name)
        return placed(shown, path, line, printable(gate.message))

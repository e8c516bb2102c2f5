"""Gates as test outcomes: pytest itself counts them, prints them and puts them into JUnit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_rageval.model import GateResult, ScenarioResult
from pytest_rageval.plugin.names import printable


def report_gates(
    session: pytest.Session, results: Sequence[ScenarioResult], announced: int
) -> None:
    """Send the reports of every gate through pytest's own hooks.

    ``announced`` of them are in pytest's number of tests already.
    """
    gates = [(result, gate) for result in results for gate in result.gates]
    session.testscollected += len(gates) - announced
    for result, gate in gates:
        _report(session.config, result, gate)


def _report(config: pytest.Config, result: ScenarioResult, gate: GateResult) -> None:
    nodeid = f"{result.info.nodeid}::gate:{printable(gate.name)}"
    location = (result.info.nodeid, 0, f"{result.info.name}: gate {printable(gate.name)} ")
    config.hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
    for report in _reports(nodeid, location, gate):
        config.hook.pytest_runtest_logreport(report=report)
    config.hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)


def _reports(
    nodeid: str, location: tuple[str, int, str], gate: GateResult
) -> list[pytest.TestReport]:
    """Return a setup, a call and a teardown; a skipped gate is skipped in its setup."""
    message = printable(gate.message)
    if gate.outcome == "skipped":
        reason = (location[0], 1, f"Skipped: gate undecided: {message}")
        skipped = pytest.TestReport(nodeid, location, {}, "skipped", reason, "setup")
        return [skipped, pytest.TestReport(nodeid, location, {}, "passed", None, "teardown")]
    failure = None
    if gate.outcome == "failed":
        failure = _failure(message)  # the heading and the node id name the gate
    return [
        pytest.TestReport(nodeid, location, {}, "passed", None, "setup"),
        pytest.TestReport(nodeid, location, {}, gate.outcome, failure, "call"),
        pytest.TestReport(nodeid, location, {}, "passed", None, "teardown"),
    ]


def _failure(text: str) -> Any:
    """Return ``text`` as pytest represents a failure without a traceback.

    Older versions of pytest quote a plain text in no line of their short summary.
    """
    try:
        pytest.fail(text, pytrace=False)
    except pytest.fail.Exception:
        return pytest.ExceptionInfo.from_current().getrepr(style="value")

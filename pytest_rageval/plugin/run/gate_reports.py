"""Reports gates as test outcomes, so that pytest counts, prints and exports them to JUnit."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.verdict.contests import Contested
from pytest_rageval.model import GateResult, ScenarioResult
from pytest_rageval.plugin.show.allure import report_to_allure
from pytest_rageval.plugin.show.gate_text import gate_text
from pytest_rageval.plugin.show.scenario_lines import ScenarioLines, placed
from pytest_rageval.plugin.show.table_lines import terminal_width
from pytest_rageval.text.cells import wrapped
from pytest_rageval.text.printable import one_line, printable, wrappable


def report_gates(
    session: pytest.Session,
    results: Sequence[ScenarioResult],
    announced: int,
    contests: Sequence[Contested] = (),
) -> None:
    """Send the reports of every gate through pytest's own hooks.

    pytest's number of tests already includes ``announced`` of them. ``contests`` have the gates
    that compare variants.
    """
    config = session.config
    judged = [
        (_of_scenario(config, result, gate), gate) for result in results for gate in result.gates
    ]
    judged += [(_of_contest(config, one), one.gate) for one in contests if one.gate is not None]
    session.testscollected += len(judged) - announced
    for whole, gate in judged:
        _report(config, whole, gate, "gate")


def report_failure(session: pytest.Session, result: ScenarioResult, what: str, text: str) -> None:
    """Send the report of another failed request, such as ``--rag-save``.

    ``what`` is its kind and name, for example ``save:main``.
    """
    session.testscollected += 1
    kind, _, name = what.partition(":")
    gate = GateResult(name, "failed", None, None, text)
    _report(session.config, _of_scenario(session.config, result, gate), gate, kind)


@dataclass(frozen=True, slots=True)
class _Whole:
    """What a gate is about: a scenario or a variant, by its node id and title.

    A failure of the gate is placed at a line of the file ``path``, with ``text``.
    """

    nodeid: str
    title: str
    path: Path
    place: Callable[[], tuple[int, str]]


def _of_scenario(config: pytest.Config, result: ScenarioResult, gate: GateResult) -> _Whole:
    info = result.info
    path = Path(os.path.normpath(config.rootpath / info.path))

    def place() -> tuple[int, str]:
        line = ScenarioLines(path, info.variant).of_gate(gate.name)
        return line, gate_text(result, gate, terminal_width(config))

    return _Whole(info.nodeid, info.title, path, place)


def _of_contest(config: pytest.Config, found: Contested) -> _Whole:
    path = Path(os.path.normpath(config.rootpath / found.info.path))

    def place() -> tuple[int, str]:
        said = found.gate.message if found.gate is not None else ""
        lines = wrapped(printable(said), terminal_width(config))
        return ScenarioLines(path).of_best(), "\n".join(lines)

    return _Whole(found.nodeid, found.info.name, path, place)


def _report(config: pytest.Config, whole: _Whole, gate: GateResult, kind: str) -> None:
    name = one_line(gate.name)
    nodeid = f"{whole.nodeid}::{kind}:{name}"
    location = (whole.nodeid, 0, f"{one_line(whole.title)}: {kind} {name} ")
    failure = _failure(whole, gate) if gate.outcome == "failed" else None
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
        reason = (location[0], 1, f"Skipped: gate undecided: {wrappable(gate.message)}")
        skipped = pytest.TestReport(nodeid, location, {}, "skipped", reason, "setup")
        return [skipped, pytest.TestReport(nodeid, location, {}, "passed", None, "teardown")]
    return [
        pytest.TestReport(nodeid, location, {}, "passed", None, "setup"),
        pytest.TestReport(nodeid, location, {}, gate.outcome, failure, "call"),
        pytest.TestReport(nodeid, location, {}, "passed", None, "teardown"),
    ]


def _failure(whole: _Whole, gate: GateResult) -> Any:
    """Return pytest's representation of a failed gate: without a traceback, at the scenario's line.

    The heading and the node id name the gate. Not a plain text, because older versions of pytest do
    not quote one in their short summary.
    """
    line, text = whole.place()
    try:
        pytest.fail(text, pytrace=False)
    except pytest.fail.Exception:
        shown = pytest.ExceptionInfo.from_current().getrepr(style="value")
        return placed(shown, whole.path, line, printable(gate.message))

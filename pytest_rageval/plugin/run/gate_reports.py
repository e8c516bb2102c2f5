"""Gates as items: behind all others in the tree of tests, decided when every case has run.

They are made after all selection, so no option and no hook selects, shuffles or marks them, and the
processes that run cases never see them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.verdict.contests import (
    Contested,
    gate_names,
    has_best,
    in_file_order,
    scenario_nodeid,
)
from pytest_rageval.model import BEST, GateResult, ScenarioInfo, ScenarioResult
from pytest_rageval.plugin.show.allure import report_to_allure, without_allure
from pytest_rageval.plugin.show.gate_text import gate_text
from pytest_rageval.plugin.show.scenario_lines import ScenarioLines, placed
from pytest_rageval.plugin.show.table_lines import terminal_width
from pytest_rageval.text.cells import wrapped
from pytest_rageval.text.printable import one_line, printable, wrappable


class GateItem(pytest.Item):
    """A gate in the tree of tests; ``line``, from 1, is where it is written.

    pytest never runs it: its verdict comes from the results of all processes.
    """

    def __init__(self, *, heading: str, line: Callable[[], int | None], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._heading = heading
        self._line = line

    def runtest(self) -> None:
        """Fail: what runs a gate as a test has taken it away from us, and nothing is decided."""
        pytest.fail("a gate is decided at the end of the run, not as a test", pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file, the line from 0, and a heading that does not end like the node id."""
        line = self._line()
        return self.path, None if line is None else line - 1, self._heading


def gate_items(
    config: pytest.Config, selected: Mapping[str, tuple[ScenarioInfo, pytest.Item]]
) -> Iterator[GateItem]:
    """Yield the gates of scenarios, each given by its node id with its facts and one of its items.

    They come in the order of their reports. The gates of hooks are not known before the end.
    """
    contests: dict[str, tuple[_Whole, pytest.Item]] = {}
    for info, item in sorted(selected.values(), key=lambda one: in_file_order(one[0])):
        whole = _Whole.of(config, info)
        for name in gate_names(info):
            yield _item(whole, "gate", name, item)
        if has_best(info):
            contests.setdefault(scenario_nodeid(info), (_Whole.of_contest(config, info), item))
    for whole, item in contests.values():
        yield _item(whole, "gate", BEST, item)


def _item(whole: _Whole, kind: str, gate: str, beside: pytest.Item | pytest.Session) -> GateItem:
    """Return the item of a gate, below what holds ``beside``, a case of it or the whole session."""
    name, line = one_line(gate), whole.line
    nodeid = f"{whole.nodeid}::{kind}:{name}"
    above = (node for node in beside.listchain()[::-1] if nodeid.startswith(f"{node.nodeid}::"))
    parent: Any = next(above, beside.session)
    if not whole.is_of_file:  # then it is at the function
        line = _line_of(beside) if isinstance(beside, pytest.Item) else lambda _: None
    return GateItem.from_parent(
        parent,
        name=nodeid.removeprefix(parent.nodeid or nodeid.partition("::")[0]).removeprefix("::"),
        nodeid=nodeid,
        path=Path(os.path.normpath(beside.config.rootpath / nodeid.partition("::")[0])),
        heading=f"{one_line(whole.title)}: {kind} {name} ",
        line=lambda: line(gate),
    )


def _line_of(function: pytest.Item) -> Callable[[str], int | None]:
    line = function.reportinfo()[1]
    return lambda _: None if line is None else line + 1


def report_gates(
    session: pytest.Session,
    results: Sequence[ScenarioResult],
    known: Mapping[str, GateItem],
    contests: Sequence[Contested] = (),
) -> None:
    """Send the reports of every gate through pytest's own hooks.

    ``known`` are the gates among pytest's items, by node id: its number of tests has them already.
    ``contests`` have the gates that compare variants.
    """
    config = session.config
    judged = [
        (_Whole.of(config, one.info), gate, _text_of(config, one, gate))
        for one in results
        for gate in one.gates
    ]
    judged += [
        (_Whole.of_contest(config, one.info), one.gate, _text_of_best(config, one.gate))
        for one in contests
        if one.gate is not None
    ]
    told = [
        (whole, gate, text, _item(whole, "gate", gate.name, session))
        for whole, gate, text in judged
    ]
    session.testscollected += sum(item.nodeid not in known for *_, item in told)
    for whole, gate, text, item in told:
        _report(known.get(item.nodeid, item), whole, gate, text)


def report_failure(session: pytest.Session, result: ScenarioResult, what: str, text: str) -> None:
    """Send the report of another failed request, such as ``--rag-save``.

    ``what`` is its kind and name, for example ``save:main``.
    """
    session.testscollected += 1
    kind, _, name = what.partition(":")
    gate = GateResult(name, "failed", None, None, text)
    whole = _Whole.of(session.config, result.info)
    _report(_item(whole, kind, name, session), whole, gate, _text_of(session.config, result, gate))


@dataclass(frozen=True, slots=True)
class _Whole:
    """What a gate is about: a scenario or a variant, by its node id and title.

    A gate is written in the file ``path`` at its ``line``; ``is_of_file``: so are its cases.
    """

    nodeid: str
    title: str
    path: Path
    line: Callable[[str], int | None]
    is_of_file: bool

    @classmethod
    def of(cls, config: pytest.Config, info: ScenarioInfo) -> _Whole:
        """Return a scenario, or one variant."""
        path = _path(config, info)

        def line(gate: str) -> int:
            return ScenarioLines(path, info.variant).of_gate(gate)

        return cls(info.nodeid, info.title, path, line, info.is_of_file)

    @classmethod
    def of_contest(cls, config: pytest.Config, info: ScenarioInfo) -> _Whole:
        """Return all variants of a scenario, of which ``info`` is one."""
        path = _path(config, info)
        nodeid = scenario_nodeid(info)
        return cls(nodeid, info.name, path, lambda _: ScenarioLines(path).of_best(), True)


def _path(config: pytest.Config, info: ScenarioInfo) -> Path:
    return Path(os.path.normpath(config.rootpath / info.path))


def _text_of(config: pytest.Config, result: ScenarioResult, gate: GateResult) -> Callable[[], str]:
    return lambda: gate_text(result, gate, terminal_width(config))


def _text_of_best(config: pytest.Config, gate: GateResult) -> Callable[[], str]:
    return lambda: "\n".join(wrapped(printable(gate.message), terminal_width(config)))


def _report(item: GateItem, whole: _Whole, gate: GateResult, text: Callable[[], str]) -> None:
    """Send the reports of a gate from within pytest's protocol, by which editors know its item.

    If a plugin keeps the protocol from us, they are sent all the same.
    """
    nodeid, location = item.nodeid, item.location
    failure = _failure(whole, gate, text()) if gate.outcome == "failed" else None
    reports = _reports(nodeid, location, gate, failure)
    hooks, told = item.config.hook, []

    def pytest_runtest_protocol() -> bool:
        told.append(nodeid)
        hooks.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for report in reports:
            hooks.pytest_runtest_logreport(report=report)
        hooks.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        return True

    protocol = without_allure(item.config, "pytest_runtest_protocol")
    protocol.call_extra([pytest_runtest_protocol], {"item": item, "nextitem": None})
    if not told:
        pytest_runtest_protocol()
    deciding = next((one for one in reports if one.outcome != "passed"), reports[0])
    report_to_allure(item.config, deciding, printable(gate.message))


def _reports(
    nodeid: str, location: tuple[str, int | None, str], gate: GateResult, failure: Any
) -> list[pytest.TestReport]:
    """Return a setup, a call and a teardown; a skipped gate is skipped in its setup."""
    if gate.outcome == "skipped":
        reason = (
            location[0],
            (location[1] or 0) + 1,
            f"Skipped: gate undecided: {wrappable(gate.message)}",
        )
        skipped = pytest.TestReport(nodeid, location, {}, "skipped", reason, "setup")
        return [skipped, pytest.TestReport(nodeid, location, {}, "passed", None, "teardown")]
    return [
        pytest.TestReport(nodeid, location, {}, "passed", None, "setup"),
        pytest.TestReport(nodeid, location, {}, gate.outcome, failure, "call"),
        pytest.TestReport(nodeid, location, {}, "passed", None, "teardown"),
    ]


def _failure(whole: _Whole, gate: GateResult, text: str) -> Any:
    """Return pytest's representation of a failed gate: without a traceback, at the scenario's line.

    The heading and the node id name the gate. Not a plain text, because older versions of pytest do
    not quote one in their short summary.
    """
    try:
        pytest.fail(text, pytrace=False)
    except pytest.fail.Exception:
        shown = pytest.ExceptionInfo.from_current().getrepr(style="value")
        return placed(shown, whole.path, whole.line(gate.name) or 1, printable(gate.message))

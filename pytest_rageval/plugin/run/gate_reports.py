"""Gates as items: behind all others in the tree of tests, decided when every case has run.

They are made after all selection, so no option and no hook selects, shuffles or marks them. Under
xdist, no process has them as items: the controller makes them only to report them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import (
    VariantComparison,
    contested,
    gate_names,
    has_best,
    in_file_order,
    scenario_nodeid,
    with_rankings,
)
from pytest_rageval.model import BEST, GateResult, ScenarioInfo, ScenarioResult, Value
from pytest_rageval.plugin.run.last_failed import deselected_best, last_failed
from pytest_rageval.plugin.settings import Settings
from pytest_rageval.plugin.show.failures import ScenarioLines, failure_at, gate_text, message_text
from pytest_rageval.plugin.show.next_steps import BRIEF
from pytest_rageval.plugin.show.pytest_reports import protocol_without_allure, report_to_allure
from pytest_rageval.plugin.show.terminal import terminal_width, write_lines
from pytest_rageval.run_paths import run_folder
from pytest_rageval.text.printable import one_line, printable, wrappable


class GateItem(pytest.Item):
    """A gate in the tree of tests; ``line``, from 1, is where it is written.

    pytest never runs it: its verdict comes from the results of all processes.
    """

    def __init__(self, *, heading: str, line: Callable[[], int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.heading = heading
        self._line = line

    def runtest(self) -> None:
        """Fail: what runs a gate as a test has taken it away from us, and nothing is decided."""
        pytest.fail("a gate is decided at the end of the run, not as a test", pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file, the line from 0, and a heading.

        The heading must not end like the node id, in which pytest would replace the dots by ``::``.
        """
        return self.path, self._line() - 1, self.heading


def gate_items(
    config: pytest.Config, selected: Mapping[str, tuple[ScenarioInfo, pytest.Item]]
) -> Iterator[GateItem]:
    """Yield the gates of scenarios: ``selected`` has, by node id, their facts and one item of each.

    The gates come in the order of their reports; those of hooks are not known before the end.
    """
    contests: dict[str, tuple[_Whole, pytest.Item]] = {}
    for info, item in sorted(selected.values(), key=lambda one: in_file_order(one[0])):
        whole = _of_scenario(config, info)
        for name in gate_names(info):
            yield _item(whole, "gate", name, item)
        if has_best(info):
            contests.setdefault(scenario_nodeid(info), (_of_contest(config, info), item))
    for whole, item in contests.values():
        yield _item(whole, "gate", BEST, item)


def report_gates(
    session: pytest.Session,
    results: Sequence[ScenarioResult],
    known: Mapping[str, GateItem],
    contests: Sequence[VariantComparison] = (),
) -> None:
    """Send the reports of every gate through pytest's own hooks.

    ``known`` are the gates among pytest's items, by node id: pytest has counted them as tests.
    ``contests`` have the gates that compare variants.
    """
    config = session.config
    judged = [(_of_scenario(config, one.info), gate, one) for one in results for gate in one.gates]
    judged += [
        (_of_contest(config, contest.info), contest.gate, contest.results[0])
        for contest in contests
        if contest.gate is not None
    ]
    items = [_item(whole, "gate", gate.name, session) for whole, gate, _ in judged]
    session.testscollected += sum(item.nodeid not in known for item in items)
    for item, (whole, gate, result) in zip(items, judged, strict=True):
        _report(known.get(item.nodeid, item), whole, gate, result)


def report_failure(session: pytest.Session, result: ScenarioResult, what: str, text: str) -> None:
    """Send the report of another failed request, such as ``--rag-save``.

    ``what`` is its kind and name, for example ``save:main``.
    """
    session.testscollected += 1
    kind, _, name = what.partition(":")
    whole = _of_scenario(session.config, result.info)
    gate = GateResult(name, "failed", None, None, text)
    _report(_item(whole, kind, name, session), whole, gate, result)


class _Whole(Value, frozen=True):
    """What a gate is about: a scenario or a variant, by its node id and title.

    ``path`` is the scenario file, ``line`` returns a gate's line in it, from 1; ``is_of_file``: the
    cases are of that file, too, not of a test function.
    """

    nodeid: str
    title: str
    path: Path
    line: Callable[[str], int]
    is_of_file: bool


def _of_scenario(config: pytest.Config, info: ScenarioInfo) -> _Whole:
    path = Path(os.path.normpath(config.rootpath / info.path))

    def line(gate: str) -> int:
        return ScenarioLines(path, info.variant).of_gate(gate)

    return _Whole(info.nodeid, info.title, path, line, info.is_of_file)


def _of_contest(config: pytest.Config, info: ScenarioInfo) -> _Whole:
    one = _of_scenario(config, info)

    def line(_: str) -> int:
        return ScenarioLines(one.path).of_best()

    return replace(one, nodeid=scenario_nodeid(info), title=info.name, line=line)


def _item(whole: _Whole, kind: str, gate: str, beside: pytest.Item | pytest.Session) -> GateItem:
    """Return the item of a gate; ``beside`` is a case of the same scenario, or the session.

    Its parent is the nearest node above ``beside`` whose node id begins that of the gate. A gate
    beside a case of a test function is at the function's line.
    """
    name = one_line(gate)
    nodeid = f"{whole.nodeid}::{kind}:{name}"
    file, _, rest = nodeid.partition("::")
    above = (node for node in beside.listchain()[::-1] if nodeid.startswith(f"{node.nodeid}::"))
    parent: Any = next(above, beside.session)
    at = 1
    if isinstance(beside, pytest.Item) and not whole.is_of_file:
        at += beside.reportinfo()[1] or 0
    return GateItem.from_parent(
        parent,
        name=nodeid.removeprefix(f"{parent.nodeid}::") if parent.nodeid else rest,
        nodeid=nodeid,
        path=Path(os.path.normpath(beside.config.rootpath / file)),
        heading=f"{one_line(whole.title)}: {kind} {name} ",
        line=lambda: whole.line(gate) if whole.is_of_file else at,
    )


def _report(item: GateItem, whole: _Whole, gate: GateResult, result: ScenarioResult) -> None:
    """Send the reports of a gate from within pytest's protocol, by which editors know its item.

    If a plugin keeps the protocol from us, they are sent all the same.
    """
    # Line 0, not that of the item: to find that one, the scenario would be parsed again.
    nodeid, location = item.nodeid, (whole.nodeid, 0, item.heading)
    width = terminal_width(item.config)
    text = gate_text(result, gate, width) if gate.outcome == "failed" else ""
    failure = _failure(whole, gate, text) if gate.outcome == "failed" else None
    reports = _reports(nodeid, location, gate, failure)
    if failure is not None:
        brief = _failure(whole, gate, message_text(gate, width))
        item.config.stash.setdefault(BRIEF, {})[nodeid] = brief
    hooks, told = item.config.hook, []
    # pytest forgets a failure once the test is skipped: an undecided gate is to be decided yet.
    failed = dict(last_failed(item.config)) if gate.outcome == "skipped" else {}

    def pytest_runtest_protocol() -> bool:
        told.append(nodeid)
        hooks.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for report in reports:
            hooks.pytest_runtest_logreport(report=report)
        hooks.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        return True

    protocol = protocol_without_allure(item.config)
    protocol.call_extra([pytest_runtest_protocol], {"item": item, "nextitem": None})
    if not told:
        pytest_runtest_protocol()
    last_failed(item.config).update(failed)
    deciding = next((one for one in reports if one.outcome != "passed"), reports[0])
    report_to_allure(item.config, deciding, printable(gate.message))


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


def _failure(whole: _Whole, gate: GateResult, text: str) -> Any:
    """Return what pytest shows of a failed gate, placed at its line of the scenario."""
    return failure_at(text, whole.path, whole.line(gate.name), printable(gate.message))


CONTESTS = pytest.StashKey[Sequence[VariantComparison]]()
"""The variants of each scenario against each other, once they are judged."""


def best_of(config: pytest.Config, info: ScenarioInfo) -> GateResult | None:
    """Return the gate that compares a variant with the others; None without one."""
    nodeid = scenario_nodeid(info)
    return next((one.gate for one in config.stash[CONTESTS] if one.nodeid == nodeid), None)


class Contests:
    """Compares the variants of each scenario after the last case; most scenarios have none."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self._config = config
        self._settings = settings
        self._pages: dict[str, Path | str | None] = {}
        self.found: Sequence[VariantComparison] = ()

    def judge(
        self, results: Sequence[ScenarioResult], deselected: Iterable[str], *, stopped: bool
    ) -> list[ScenarioResult]:
        """Decide the gates ``best``; return the results, those of variants with their ranking.

        ``deselected`` are the prefixes that ``--deselect`` names.
        """
        strict, named = self._settings.strict, list(deselected)
        self.found = [
            deselected_best(one, named, strict=strict)
            for one in contested(results, stopped=stopped, strict=strict)
            if one.ranking is not None or one.gate is not None
        ]
        self._config.stash[CONTESTS] = self.found
        return with_rankings(results, self.found, strict=strict)

    @property
    def pages(self) -> list[Path]:
        """The pages that were written."""
        return [page for page in self._pages.values() if isinstance(page, Path)]

    def write(self, written: Iterable[tuple[ScenarioResult, Path | str]]) -> None:
        """Write the files that compare variants; ``written`` has the folders of their runs."""
        folders = {result.info.nodeid: folder for result, folder in written}
        for found in self.found:
            self._pages[found.nodeid] = self._written(found, folders)

    def _written(
        self, found: VariantComparison, folders: Mapping[str, Path | str]
    ) -> Path | str | None:
        """Return the page, None without one, or a sentence why there are no files."""
        if found.ranking is None:
            return None
        # Here and below, not at the top: most scenarios have no variants.
        from pytest_rageval.reports.write_run import write_variants

        base = self._settings.run_paths.run_base(found.info.output_dir)
        folder = base / run_folder(found.info.name)
        try:
            infos = [result.info for result in found.results]
            ran = {info.variant: folders.get(info.nodeid) for info in infos}
            runs = {name: one.name for name, one in ran.items() if isinstance(one, Path)}
            return write_variants(
                folder,
                found.results,
                found.ranking,
                found.gate,
                self._settings.reports,
                runs=runs,
            )
        except OSError as error:
            return f"not written: {error}"

    def show(self, terminal: pytest.TerminalReporter) -> None:
        """Print the ranked tables."""
        if not self.found:
            return
        from pytest_rageval.plugin.show.comparison_tables import variant_lines, variants_heading

        width = terminal_width(self._config)
        for found in self.found:
            page = self._pages.get(found.nodeid)
            terminal.ensure_newline()
            terminal.section(variants_heading(found), sep="=")
            write_lines(terminal, variant_lines(found, page, self._config.rootpath, width))

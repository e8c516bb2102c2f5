"""Collects the results of a run's scenarios, and sums them up with their gates. Without pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import Struct, field

from pytest_rageval.engine.verdict.decide import Extent, add_gates, decide_gates, in_file_order
from pytest_rageval.model import (
    NOTHING,
    ControlVerdict,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.summary import summarize_scenario
from pytest_rageval.stats.wording import counted

Controls = Callable[[ScenarioInfo], Mapping[str, ControlVerdict]]
MoreGates = Callable[[ScenarioResult], Sequence[GateResult]]


class _ScenarioCases(Struct):
    info: ScenarioInfo
    results: dict[str, SampleResult] = field(default_factory=dict)


def _of_broken(cases: _ScenarioCases, broken: Mapping[str, str]) -> Iterator[GateResult]:
    errors = [error for nodeid, error in sorted(broken.items()) if nodeid in cases.results]
    if errors:
        message = f"{counted(len(errors), 'case')} ended with an error at teardown: {errors[0]}"
        yield GateResult("teardown", "failed", None, None, message)


class Results:
    """Collects results by scenario and node id; a case that runs again replaces its result."""

    def __init__(self, *, judges_all: bool = False) -> None:
        """``judges_all``: also judge scenarios without a selected case; they are undecided."""
        self._judges_all = judges_all
        self._scenarios: dict[str, _ScenarioCases] = {}
        self._left_out: dict[str, ScenarioInfo] = {}
        self._collected: set[str] = set()
        self._scenario_of: dict[str, str] = {}
        """The scenario of each item whose node id does not begin with that of its scenario."""
        self._lost_here: dict[str, set[str]] = {}
        """By scenario, the items of this run whose results are lost."""
        self._lost_in_shards: dict[str, Sequence[str]] = {}
        self._missing: dict[str, Sequence[str]] = {}
        """By scenario, messages on shards that are missing."""

    def open(self, info: ScenarioInfo) -> None:
        """Note a scenario that is about to run, or that has no selected case."""
        if info.selected or self._judges_all:
            self._scenarios.setdefault(info.nodeid, _ScenarioCases(info))
        else:
            self._left_out[info.nodeid] = info

    def expect(self, nodeids: Iterable[str], odd: Mapping[str, str] = NOTHING) -> None:
        """Note the items that some process collected, to name those that get lost.

        ``odd`` has the scenario of each item whose node id does not begin with that of its own.
        """
        self._collected.update(nodeids, odd)
        self._scenario_of.update(odd)

    def record(self, scenario: str, nodeid: str, result: SampleResult) -> None:
        """Keep the result of the item ``nodeid`` of the scenario with the node id ``scenario``."""
        self._scenarios[scenario].results[nodeid] = result

    def note_lost(self, scenario: str, nodeid: str) -> None:
        """Note that the item ``nodeid`` of a scenario ran, and its result is lost."""
        self._lost_here.setdefault(scenario, set()).add(nodeid)

    def note_vanished(self) -> None:
        """Note as lost all items of each scenario that was to run, and sent no report at all.

        Not of one that is merged: its shards say what they lost.
        """
        for scenario, cases in self._scenarios.items():
            if cases.info.selected and not cases.results and scenario not in self._missing:
                self._lost_here.setdefault(scenario, set()).update(self.own_cases(scenario))

    def ran(self, result: ScenarioResult) -> bool:
        """Return whether a scenario has results, or has lost some."""
        return bool(result.samples) or result.info.nodeid in self._lost_here

    def lack(self, scenario: str, missing: Sequence[str], lost: Sequence[str]) -> None:
        """Note, of shards, messages on those that are missing, and the items lost in the others."""
        self._missing[scenario] = missing
        self._lost_in_shards[scenario] = lost

    def rows_of(self, scenario: str) -> Mapping[str, SampleResult]:
        """Return the results of a scenario by node id, none of one without a selected case."""
        found = self._scenarios.get(scenario)
        return {} if found is None else found.results

    def own_cases(self, scenario: str) -> set[str]:
        """Return the items of a scenario that some process collected."""
        odd, begins = self._scenario_of, (f"{scenario}::", f"{scenario}[")
        found = {one for one in self._collected if one not in odd and one.startswith(begins)}
        return found | {one for one, of in odd.items() if of == scenario}

    @property
    def has_results(self) -> bool:
        """Whether any scenario has results, or has lost some."""
        return bool(self._lost_here) or any(cases.results for cases in self._scenarios.values())

    @property
    def left_out(self) -> list[ScenarioInfo]:
        """The scenarios without a selected case, sorted by node id.

        Not a file of which a variant ran, nor a test function that ran with other parameters.
        """
        ran = [cases.info for cases in self._scenarios.values()]
        files = {info.path for info in ran if info.is_of_file}
        return [
            info
            for nodeid, info in sorted(self._left_out.items())
            if not (info.path in files if info.is_of_file else nodeid in self._scenarios)
            and not self._has_runs(nodeid)
        ]

    def _has_runs(self, function: str) -> bool:
        """Return whether a test function ran with other parameters: ``t.py::test_it(fast)``."""
        return any(nodeid.startswith(f"{function}(") for nodeid in self._scenarios)

    def info(self, scenario: str) -> ScenarioInfo:
        """Return the facts about the scenario with the node id ``scenario``."""
        return self._scenarios[scenario].info

    def summarized(
        self,
        *,
        stopped: bool,
        strict: bool,
        more_gates: MoreGates = lambda _: (),
        controls: Controls = lambda _: NOTHING,
        broken: Mapping[str, str] = NOTHING,
    ) -> list[ScenarioResult]:
        """Return every scenario with its figures and gates, in the order of their files.

        ``controls`` gives the verdicts of control rows on a scenario's judges, ``more_gates``
        further gates, once its own are decided. ``broken`` are the errors, by node id, of cases
        that broke after they were judged: pytest fails for them, so no file may say that the run
        passed.
        """
        found = []
        for cases in sorted(self._scenarios.values(), key=lambda one: in_file_order(one.info)):
            extent = self._extent(cases, stopped=stopped)
            result = summarize_scenario(cases.info, cases.results.values(), extent.complete)
            result = replace(result, controls=controls(cases.info))
            result = decide_gates(result, extent, strict=strict)
            more = [*more_gates(result), *_of_broken(cases, broken)]
            found.append(add_gates(result, extent, more, strict=strict))
        return found

    def _extent(self, cases: _ScenarioCases, *, stopped: bool) -> Extent:
        skipped = [one for one in cases.results.values() if one.outcome == "skipped"]
        # Cases that a plugin skipped make a run partial. Not if all are: then nothing was judged,
        # which is red.
        is_part = len(skipped) < len(cases.results)
        not_run = sum(one.is_not_run for one in skipped) if is_part else 0
        return Extent(
            total=cases.info.total,
            selected=cases.info.selected - not_run,
            ran=len(cases.results) - not_run,
            stopped=stopped,
            lost=self._lost(cases, stopped=stopped),
            missing=self._missing.get(cases.info.nodeid, ()),
        )

    def _lost(self, cases: _ScenarioCases, *, stopped: bool) -> list[str]:
        """Return the names of the items that were collected and have no result.

        Of a stopped run, only those that ran, or that a shard lost: the others were not to run.
        """
        prefix = cases.info.nodeid
        is_whole = len(cases.results) >= cases.info.selected  # usual, and spares a search
        expected = self._lost_here.get(prefix, set())
        if not (stopped or is_whole):
            expected = self.own_cases(prefix)
        lost = {*expected, *self._lost_in_shards.get(prefix, ())} - {*cases.results}
        return sorted(nodeid.removeprefix(prefix).removeprefix("::") for nodeid in lost)

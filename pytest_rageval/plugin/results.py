"""What is known of the scenarios of a run so far, and the verdict on it. Knows no pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pytest_rageval.engine.decide import Extent, add_gates, decide_gates, gates_of
from pytest_rageval.model import GateResult, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.aggregate import summarize_scenario

MoreGates = Callable[[ScenarioResult], Sequence[GateResult]]


def _no_gates(_: ScenarioResult) -> Sequence[GateResult]:
    return ()


@dataclass
class _ScenarioCases:
    info: ScenarioInfo
    results: dict[str, SampleResult] = field(default_factory=dict)


class Results:
    """Collects results by scenario file and node id; a case that ran again replaces its result."""

    def __init__(self) -> None:
        self._scenarios: dict[str, _ScenarioCases] = {}
        self._collected: set[str] = set()

    def open(self, info: ScenarioInfo) -> None:
        """Take note of a scenario that is about to run."""
        self._scenarios.setdefault(info.nodeid, _ScenarioCases(info))

    def expect(self, nodeids: Iterable[str]) -> None:
        """Take note of the items that some process collected, to name those that get lost."""
        self._collected.update(nodeids)

    def record(self, scenario: str, nodeid: str, result: SampleResult) -> None:
        """Keep the result of the item ``nodeid`` of the scenario file ``scenario``."""
        self._scenarios[scenario].results[nodeid] = result

    @property
    def has_results(self) -> bool:
        """Whether any case of any scenario ran."""
        return any(cases.results for cases in self._scenarios.values())

    def gate_count(self) -> int:
        """Return how many gates the scenarios have, as far as that is known before they run."""
        return sum(len(gates_of(cases.info)) for cases in self._scenarios.values())

    def info(self, scenario: str) -> ScenarioInfo:
        """Return what is known of the scenario file ``scenario``."""
        return self._scenarios[scenario].info

    def summarized(
        self, *, stopped: bool, strict: bool, more_gates: MoreGates = _no_gates
    ) -> list[ScenarioResult]:
        """Return every scenario with its figures and gates, in the order of their files.

        ``more_gates`` are asked for when the scenario's own gates are decided.
        """
        return [
            self._result(cases, stopped=stopped, strict=strict, more_gates=more_gates)
            for _, cases in sorted(self._scenarios.items())
        ]

    def _result(
        self, cases: _ScenarioCases, *, stopped: bool, strict: bool, more_gates: MoreGates
    ) -> ScenarioResult:
        extent = Extent(
            total=cases.info.total,
            selected=cases.info.selected,
            ran=len(cases.results),
            stopped=stopped,
            lost=[] if stopped else self._lost(cases),
        )
        result = summarize_scenario(cases.info, cases.results.values(), extent.complete)
        result = decide_gates(result, extent, strict=strict)
        return add_gates(result, extent, more_gates(result), strict=strict)

    def _lost(self, cases: _ScenarioCases) -> list[str]:
        """Return the names of the items that were collected and never reported."""
        # An item of a scenario file is x.rageval.yaml::q1, one of a test function test_it[q1].
        prefix = cases.info.nodeid
        return sorted(
            nodeid.removeprefix(prefix).removeprefix("::")
            for nodeid in self._collected
            if nodeid.startswith((f"{prefix}::", f"{prefix}[")) and nodeid not in cases.results
        )

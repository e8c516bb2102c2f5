"""What is known of the scenarios of a run so far, and the verdict on it. Knows no pytest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pytest_rageval.engine.decide import Extent, decide_gates, gates_of
from pytest_rageval.model import SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.aggregate import summarize_scenario


@dataclass
class _Account:
    info: ScenarioInfo
    results: dict[str, SampleResult] = field(default_factory=dict)


class Ledger:
    """Collects results by scenario file and node id; a case that ran again replaces its result."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._collected: set[str] = set()

    def open(self, info: ScenarioInfo) -> None:
        """Take note of a scenario that is about to run."""
        self._accounts.setdefault(info.nodeid, _Account(info))

    def expect(self, nodeids: Iterable[str]) -> None:
        """Take note of the items that some process collected, to name those that get lost."""
        self._collected.update(nodeids)

    def record(self, scenario: str, nodeid: str, result: SampleResult) -> None:
        """Keep the result of the item ``nodeid`` of the scenario file ``scenario``."""
        self._accounts[scenario].results[nodeid] = result

    @property
    def has_results(self) -> bool:
        """Whether any case of any scenario ran."""
        return any(account.results for account in self._accounts.values())

    def gate_count(self) -> int:
        """Return how many gates the scenarios have, as far as that is known before they run."""
        return sum(len(gates_of(account.info)) for account in self._accounts.values())

    def results(self, *, stopped: bool, strict: bool) -> list[ScenarioResult]:
        """Return every scenario with its figures and gates, in the order of their files."""
        return [
            self._result(account, stopped=stopped, strict=strict)
            for _, account in sorted(self._accounts.items())
        ]

    def _result(self, account: _Account, *, stopped: bool, strict: bool) -> ScenarioResult:
        extent = Extent(
            total=account.info.total,
            selected=account.info.selected,
            ran=len(account.results),
            stopped=stopped,
            lost=[] if stopped else self._lost(account),
        )
        result = summarize_scenario(account.info, account.results.values(), extent.complete)
        return decide_gates(result, extent, strict=strict)

    def _lost(self, account: _Account) -> list[str]:
        prefix = f"{account.info.nodeid}::"
        return sorted(
            nodeid.removeprefix(prefix)
            for nodeid in self._collected
            if nodeid.startswith(prefix) and nodeid not in account.results
        )

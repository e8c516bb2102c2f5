"""The gate ``pass_rate``: the share of scored samples that meet their thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_rageval.gates.base import Gate, GateKind, NoThresholdsError, bound_result, parse_bound
from pytest_rageval.model import Bound, GateResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.verdict import shortfalls
from pytest_rageval.stats.weights import is_scored


@dataclass(frozen=True, slots=True)
class PassRateGate:
    """Counts samples, not weights; a sample without a weighted score does not take part."""

    bound: Bound
    thresholds: Mapping[str, Bound]
    name: str = "pass_rate"

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when nothing was scored."""
        scored = [sample for sample in result.samples if is_scored(sample.weighted_score)]
        met = sum(not shortfalls(sample, self.thresholds) for sample in scored)
        rate = met / len(scored) if scored else None
        remark = f"{met} of {len(scored)} scored samples"
        return bound_result(self.name, self.bound, rate, "no sample was scored", remark)


def _make(target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo) -> list[Gate]:
    if not info.thresholds:
        raise NoThresholdsError(path, "needs 'thresholds': without any, every sample passes")
    return [PassRateGate(parse_bound(options, path, (0.0, 1.0)), info.thresholds)]


GATES = (GateKind("pass_rate", "scenario", _make),)

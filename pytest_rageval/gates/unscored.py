"""The gate ``unscored``: the share of samples without a weighted score, at most 0 by default.

It guards every scenario, asked for or not: a run in which nothing was scored must not be green.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_rageval.gates.base import Gate, GateKind, bound_result, parse_bound
from pytest_rageval.model import Bound, GateResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.weights import is_scored

_NONE_UNSCORED = Bound(max=0.0)


@dataclass(frozen=True, slots=True)
class UnscoredGate:
    """Counts the samples that were to be scored: neither skipped nor expected to be invalid."""

    bound: Bound = _NONE_UNSCORED
    name: str = "unscored"

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when there was nothing to score."""
        expected = [sample for sample in result.samples if sample.is_expected]
        without = sum(not is_scored(sample.weighted_score) for sample in expected)
        share = without / len(expected) if expected else None
        if expected and without == len(expected):
            message = f"none of {len(expected)} samples was scored"
            return GateResult(self.name, "failed", share, self.bound.end, message)
        missing = f"nothing was scored: all {len(result.samples)} samples are skipped or invalid"
        remark = f"{without} of {len(expected)} samples"
        return bound_result(self.name, self.bound, share, missing, remark)


def _make(target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo) -> list[Gate]:
    return [UnscoredGate(parse_bound(options, path, (0.0, 1.0), higher_is_better=False))]


GATES = (GateKind("unscored", "scenario", _make),)

"""The gates ``mean`` and ``fail_under``: the weighted mean of a score meets its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_rageval.gates.base import (
    CORRECTED_BOUND,
    SHARE_BOUND,
    Asked,
    Gate,
    GateKind,
    bound_result,
    parse_bound,
    takes_corrected,
    targets_of,
)
from pytest_rageval.model import WEIGHTED_SCORE, Bound, GateResult, ScenarioInfo, ScenarioResult

if TYPE_CHECKING:
    from pytest_rageval.gates.watch_mean import MeanWatch


@dataclass(frozen=True, slots=True)
class MeanGate:
    """Compares the mean, weighted by sample, over the samples that have the score."""

    bounds_samples: ClassVar[bool] = True

    name: str
    target: str
    bound: Bound

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when nothing was scored."""
        summary = result.summary_of(self.target)
        remark = ""
        if summary.unscored:
            remark = f"over {summary.n} of {summary.n + summary.unscored} samples"
        missing = f"no sample has a {self.target}"
        return bound_result(self.name, self.bound, result.mean_of(self.target), missing, remark)

    def watch(self, info: ScenarioInfo, asked: Sequence[Asked], error: float) -> MeanWatch | None:
        """Return what follows the mean; None where the score is unbounded."""
        # Not at the top: most runs ask about every sample.
        from pytest_rageval.gates.watch_mean import watch_scores

        return watch_scores(self.target, self.bound, info, asked, error)


def _make(target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo) -> list[Gate]:
    column = targets_of(info)[target]
    options, is_corrected = takes_corrected(options, path)
    bound = parse_bound(options, path, column.range, column.higher_is_better)
    name = target if target == WEIGHTED_SCORE else f"{target}.mean"
    if is_corrected:
        # Not at the top: most scenarios have no labels of people.
        from pytest_rageval.gates.agreement import labels_of
        from pytest_rageval.gates.corrected import CorrectedGate

        human = labels_of(info, target, path, "a corrected mean")
        return [CorrectedGate(name, target, bound, human, takes_end=False)]
    return [MeanGate(name, target, bound)]


def _make_fail_under(
    target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo
) -> list[Gate]:
    return [MeanGate("fail_under", WEIGHTED_SCORE, parse_bound(options, path, (0.0, 1.0)))]


GATES = (
    GateKind(
        "mean",
        "metric",
        _make,
        description="bound of the mean, weighted by sample",
        schema=CORRECTED_BOUND,
    ),
    GateKind(
        "fail_under",
        "scenario",
        _make_fail_under,
        description="a second bound of the mean weighted_score, for --rag-fail-under",
        schema=SHARE_BOUND,
    ),
)
"""``--rag-fail-under`` adds ``fail_under`` to the scenario's own gates."""

"""The gates ``mean`` and ``fail_under``: the weighted mean of a score meets its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from pytest_rageval.gates.base import (
    UNIT,
    Asked,
    BoundedGate,
    Gate,
    GateKind,
    Place,
    ShareSpec,
    bound_result,
    ends_of,
)
from pytest_rageval.model import WEIGHTED_SCORE, GateResult, ScenarioInfo, ScenarioResult
from pytest_rageval.scenario.spec import BoundSpec

if TYPE_CHECKING:
    from pytest_rageval.gates.watch_mean import MeanWatch


@dataclass(frozen=True, slots=True)
class MeanGate(BoundedGate):
    """Compares the mean, weighted by sample, over the samples that have the score."""

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

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes it from."""
        return {"kind": "mean", "target": self.target, "ends": ends_of(self.bound)}


class MeanSpec(BoundSpec):
    """A bound of a mean."""

    corrected: bool = Field(
        False, description="true: the mean that people would give, by the labels of 'human'"
    )


def _make(options: MeanSpec, place: Place) -> list[Gate]:
    bound = place.bound_of_metric(options)
    name = place.target if place.target == WEIGHTED_SCORE else f"{place.target}.mean"
    if options.corrected:
        # Not at the top: most scenarios have no labels of people.
        from pytest_rageval.gates.agreement import labels_of
        from pytest_rageval.gates.corrected import CorrectedGate

        human = labels_of(place, place.target, "a corrected mean")
        return [CorrectedGate(name, place.target, bound, human, takes_end=False)]
    return [MeanGate(name, place.target, bound)]


def _make_fail_under(options: ShareSpec, place: Place) -> list[Gate]:
    return [MeanGate("fail_under", WEIGHTED_SCORE, place.bound(options, UNIT))]


GATES = (
    GateKind(
        "mean",
        "metric",
        MeanSpec,
        _make,
        description="bound of the mean, weighted by sample",
    ),
    GateKind(
        "fail_under",
        "scenario",
        ShareSpec,
        _make_fail_under,
        description="a second bound of the mean weighted_score, for --rag-fail-under",
    ),
)
"""``--rag-fail-under`` adds ``fail_under`` to the scenario's own gates."""

"""The gates ``mean`` and ``fail_under``: the weighted mean of a score meets its bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from pytest_rageval.gates.base import (
    UNIT,
    AnySample,
    BoundedGate,
    Gate,
    GateKind,
    Location,
    ShareSpec,
    Watch,
    bound_result,
    ends_of,
    targets_of,
)
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.scenario.spec import BoundSpec
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import resolve_weight
from pytest_rageval.stats.wording import open_text

if TYPE_CHECKING:
    from pytest_rageval.stats.certainty import GrowingMean


@dataclass(frozen=True, slots=True)
class MeanGate(BoundedGate):
    """Compares the mean, weighted by sample, over the samples that have the score."""

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when nothing was scored."""
        summary = result.summary_of(self.target)
        remark = ""
        if summary.unscored:
            remark = f"over {summary.n} of {summary.n + summary.unscored} samples"
        remark = "; ".join(filter(None, (remark, open_text(result, self.target))))
        missing = f"no sample has a {self.target}"
        return bound_result(self.name, self.bound, result.mean_of(self.target), missing, remark)

    def watch(
        self, info: ScenarioInfo, samples: Sequence[AnySample], error: float
    ) -> MeanWatch | None:
        """Return what follows the mean; None where the score is unbounded."""
        # Not at the top: most runs ask about every sample.
        from pytest_rageval.stats.certainty import GrowingMean

        low, high = _score_range(self.target, info)
        if not math.isfinite(high - low):
            return None
        weight = math.fsum(resolve_weight(info.doc_weights, sample.doc_name) for sample in samples)
        mean = GrowingMean(self.bound, (low, high), weight, len(samples), error)
        return MeanWatch(mean, lambda sample: score_of(sample, self.target))

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes it from."""
        return {"kind": "mean", "target": self.target, "ends": ends_of(self.bound)}


def _score_range(target: str, info: ScenarioInfo) -> tuple[float, float]:
    """Return where a score can lie; a weighted score also where some metrics do not apply."""
    if target != WEIGHTED_SCORE:
        return targets_of(info)[target].range
    ends = [metric.unit_range for metric in info.metrics if metric.weight > 0.0]
    return min(low for low, _ in ends), max(high for _, high in ends)


@dataclass(frozen=True, slots=True)
class MeanWatch(Watch):
    """Follows the mean of ``value_of`` the samples."""

    follows_scores: ClassVar[bool] = True

    mean: GrowingMean
    value_of: Callable[[SampleResult], float | None]
    is_weighted: bool = True

    @property
    def verdict(self) -> bool | None:
        """Whether the mean keeps its bound, None while that is open."""
        return self.mean.verdict

    def add(self, sample: SampleResult) -> None:
        """Note the value of a sample, if it can have one."""
        if sample.invalid is None:
            weight = sample.sample_weight if self.is_weighted else 1.0
            self.mean.add(self.value_of(sample), weight, may_come=bool(sample.errors))


class MeanSpec(BoundSpec):
    """A bound of a mean."""

    corrected: bool = Field(
        False, description="true: the mean that people would give, by the labels of 'human'"
    )


def _make(options: MeanSpec, location: Location) -> list[Gate]:
    bound = location.bound_of_metric(options)
    name = location.target if location.target == WEIGHTED_SCORE else f"{location.target}.mean"
    if options.corrected:
        # Not at the top: most scenarios have no labels of people.
        from pytest_rageval.gates.agreement import CorrectedGate, labels_of

        human = labels_of(location, location.target, "a corrected mean")
        return [CorrectedGate(name, location.target, bound, human, takes_end=False)]
    return [MeanGate(name, location.target, bound)]


def _make_fail_under(options: ShareSpec, location: Location) -> list[Gate]:
    return [MeanGate("fail_under", WEIGHTED_SCORE, location.bound(options, UNIT))]


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

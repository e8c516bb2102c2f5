"""When a gate on a mean is certain, however the samples that are still to be asked about score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pytest_rageval.gates.base import Asked, Watch, targets_of
from pytest_rageval.model import WEIGHTED_SCORE, Bound, SampleResult, ScenarioInfo
from pytest_rageval.stats.certainty import GrowingMean
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import resolve_weight


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


def watch_scores(
    target: str, bound: Bound, info: ScenarioInfo, asked: Sequence[Asked], error: float
) -> MeanWatch | None:
    """Return what follows the mean of a score; None where the score has no ends."""
    low, high = score_range(target, info)
    if not math.isfinite(high - low):
        return None
    weight = math.fsum(resolve_weight(info.doc_weights, one.doc_name) for one in asked)
    mean = GrowingMean(bound, (low, high), weight, len(asked), error)
    return MeanWatch(mean, lambda sample: score_of(sample, target))


def score_range(target: str, info: ScenarioInfo) -> tuple[float, float]:
    """Return where a score can lie; a weighted score also where some metrics do not apply."""
    if target != WEIGHTED_SCORE:
        return targets_of(info)[target].range
    ends = [metric.unit_range for metric in info.metrics if metric.weight > 0.0]
    return min(low for low, _ in ends), max(high for _, high in ends)

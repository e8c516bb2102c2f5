"""From the results of samples to the figures of a scenario (or of a slice of one)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pytest_rageval.model import (
    Counts,
    MetricColumn,
    MetricSummary,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.stats.summary import summarize
from pytest_rageval.stats.weights import is_scored


def summarize_scenario(
    info: ScenarioInfo, samples: Iterable[SampleResult], complete: bool
) -> ScenarioResult:
    """Return counts, means and intervals over ``samples``, which come out in dataset order.

    A skipped sample and an invalid row that was expected count as neither scored nor unscored.
    """
    ordered = sorted(samples, key=lambda sample: sample.index)
    expected = [sample for sample in ordered if sample.is_expected]
    weights = [sample.sample_weight for sample in expected]
    return ScenarioResult(
        info=info,
        counts=_counts(info, ordered),
        complete=complete,
        metrics={
            column.name: _metric_summary(column, expected, weights) for column in info.metrics
        },
        weighted_score=_weighted_summary(info, expected, weights),
        samples=ordered,
    )


def _counts(info: ScenarioInfo, samples: Sequence[SampleResult]) -> Counts:
    ended = Counter(sample.outcome for sample in samples)
    return Counts(
        samples=info.total,
        ran=len(samples),
        scored=sum(is_scored(sample.weighted_score) for sample in samples),
        passed=ended["passed"],
        failed=ended["failed"],
        error=ended["error"],
        skipped=ended["skipped"],
        xfailed=ended["xfailed"],
        invalid=sum(sample.invalid is not None for sample in samples),
    )


def _metric_summary(
    column: MetricColumn, samples: Sequence[SampleResult], weights: Sequence[float]
) -> MetricSummary:
    found = summarize([sample.scores.get(column.name) for sample in samples], weights, column.range)
    return MetricSummary(
        mean=found.mean,
        weighted_mean=found.weighted_mean,
        weight=column.weight,
        n=found.n,
        unscored=found.unscored,
        std=found.std,
        ci_low=found.ci_low,
        ci_high=found.ci_high,
    )


def _weighted_summary(
    info: ScenarioInfo, samples: Sequence[SampleResult], weights: Sequence[float]
) -> WeightedSummary:
    found = summarize([sample.weighted_score for sample in samples], weights, info.weighted_range)
    return WeightedSummary(
        found.weighted_mean, found.n, found.unscored, found.ci_low, found.ci_high
    )

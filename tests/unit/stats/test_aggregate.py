"""A8: the figures of a scenario from its samples."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_rageval.model import MetricColumn, SampleResult, ScenarioResult
from pytest_rageval.stats.aggregate import summarize_scenario

F1 = MetricColumn("f1", weight=2.0)
Result = Callable[..., ScenarioResult]


def sample(
    index: int, f1: float | None, weight: float = 1.0, outcome: str = "passed", **fields: object
) -> SampleResult:
    return SampleResult(
        f"s{index}",
        index,
        outcome,  # type: ignore[arg-type]
        sample_weight=weight,
        weighted_score=f1,
        scores={"f1": f1},
        **fields,  # type: ignore[arg-type]
    )


def test_means_are_weighted_by_sample(result: Result) -> None:
    """A7, A8: plain (1 + 0.5 + 0) / 3; weighted (1·2 + 0.5·1 + 0·1) / 4 = 0.625."""
    found = result([sample(0, 1.0, 2.0), sample(1, 0.5), sample(2, 0.0)], F1)
    assert found.metrics["f1"].mean == 0.5
    assert found.metrics["f1"].weighted_mean == 0.625
    assert found.metrics["f1"].weight == 2.0
    assert found.weighted_score.mean == 0.625
    assert (found.metrics["f1"].std, found.metrics["f1"].n) == (0.5, 3)
    assert found.mean_of("weighted_score") == found.mean_of("f1") == 0.625
    assert found.summary_of("weighted_score") is found.weighted_score


def test_unscored_samples_are_counted_beside_the_mean(result: Result) -> None:
    """A8: over scored samples only."""
    found = result([sample(0, 1.0), sample(1, None, outcome="error"), sample(2, 0.5)], F1)
    assert (found.metrics["f1"].mean, found.metrics["f1"].n) == (0.75, 2)
    assert (found.metrics["f1"].unscored, found.weighted_score.unscored) == (1, 1)
    assert (found.counts.scored, found.counts.error) == (2, 1)


def test_skipped_samples_and_expected_invalid_rows_are_not_missing(result: Result) -> None:
    samples = [
        sample(0, 1.0),
        sample(1, None, outcome="skipped"),
        sample(2, None, outcome="xfailed", invalid="no answer"),
        sample(3, None, outcome="error", invalid="no answer"),
    ]
    found = result(samples, F1)
    assert (found.metrics["f1"].n, found.metrics["f1"].unscored) == (1, 1)
    assert (found.counts.skipped, found.counts.xfailed, found.counts.invalid) == (1, 1, 2)
    assert (found.counts.ran, found.counts.samples, found.counts.passed) == (4, 4, 1)


def test_the_order_of_arrival_does_not_matter(result: Result) -> None:
    """Workers finish when they do; the figures are summed in dataset order, to the same bits."""
    samples = [sample(at, 0.1 * at, 1.0 + at / 3) for at in range(7)]
    forwards, backwards = result(samples, F1), result(samples[::-1], F1)
    assert forwards == backwards
    assert [one.index for one in backwards.samples] == list(range(7))


def test_no_samples_have_no_means(result: Result) -> None:
    found = result([], F1)
    assert found.metrics["f1"].weighted_mean is None
    assert found.weighted_score.mean is None


def test_an_unbounded_metric_gives_an_unbounded_weighted_interval(
    info: Callable[..., object],
) -> None:
    """0 and 100 of an unbounded metric: Student's interval leaves 0..1 on both sides."""
    column = MetricColumn("cost", range=(float("-inf"), float("inf")))
    samples = [
        SampleResult(str(at), at, weighted_score=value, scores={"cost": value})
        for at, value in enumerate((0.0, 100.0))
    ]
    found = summarize_scenario(info(column), samples, complete=True)  # type: ignore[arg-type]
    low, high = found.weighted_score.ci_low, found.weighted_score.ci_high
    assert low is not None
    assert high is not None
    assert (low + high) / 2 == pytest.approx(50.0)
    assert low < -500

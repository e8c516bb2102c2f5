"""A8: the figures of a scenario from its samples."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_rageval.model import Counts, MetricColumn, SampleResult, ScenarioResult
from pytest_rageval.stats.summary import summarize_scenario, weighted_interval

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


def test_every_case_is_counted_by_how_it_ended(result: Result) -> None:
    """Eight of ten ran. Four have a score of f1, three of these a weighted score."""
    samples = [
        sample(0, 1.0),
        sample(1, 0.1, outcome="failed"),
        sample(2, 0.2, outcome="failed"),
        SampleResult("s3", 3, "error", scores={"f1": 0.5, "em": None}, errors={"em": "down"}),
        sample(4, None, outcome="error"),
        sample(5, None, outcome="error", invalid="no answer"),
        sample(6, None, outcome="skipped"),
        sample(7, None, outcome="xfailed"),
    ]
    found = result(samples, F1, total=10)
    assert found.complete
    assert found.counts == Counts(
        samples=10,
        ran=8,
        scored=3,
        passed=1,
        failed=2,
        error=3,
        skipped=1,
        xfailed=1,
        invalid=1,
        in_figures=4,
    )
    assert not summarize_scenario(found.info, samples, complete=False).complete


def test_of_what_has_no_score_is_told_how_much_failed(result: Result) -> None:
    """f1 lacks on three samples: it failed on two, and does not apply to one. em lacks on one.

    Of the three without a weighted score two have an error.
    """
    samples = [
        SampleResult("a", 0, scores={"f1": None, "em": 1.0}, errors={"f1": "down"}),
        SampleResult("b", 1, scores={"f1": None, "em": None}, errors={"target": "404"}),
        SampleResult("c", 2, scores={"f1": None, "em": 1.0}),
        SampleResult("d", 3, weighted_score=1.0, scores={"f1": 1.0, "em": 1.0}),
    ]
    found = result(samples)
    f1, em, weighted = found.metrics["f1"], found.metrics["em"], found.weighted_score
    assert [(one.unscored, one.failed) for one in (f1, em, weighted)] == [(3, 2), (1, 1), (3, 2)]
    alone = result(samples[3:])
    assert [one.failed for one in (alone.metrics["f1"], alone.weighted_score)] == [0, 0]


def test_intervals_are_over_the_groups(result: Result) -> None:
    """Three documents of six samples, one of which is skipped."""
    scores, docs = [1.0, 0.8, 0.1, 0.3, 0.6], [*"aabbc"]
    samples = [sample(at, score, doc_name=docs[at]) for at, score in enumerate(scores)]
    samples.insert(0, sample(9, None, outcome="skipped", doc_name="z"))
    found = result(samples, F1, group_by="doc_name")
    grouped = weighted_interval(scores, [1.0] * 5, (0.0, 1.0), groups=[0, 0, 1, 1, 2])
    assert grouped != weighted_interval(scores, [1.0] * 5, (0.0, 1.0))
    for one in (found.metrics["f1"], found.weighted_score):
        assert (one.ci_low, one.ci_high) == grouped


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
    column = MetricColumn("cost", ends=(None, None))
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

"""A10: which scores miss their thresholds."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_rageval.model import Bound, SampleResult
from pytest_rageval.stats.verdict import (
    badness,
    is_beyond_budget,
    score_of,
    shortfalls,
    shown_errors,
    was_not_asked,
)


def sample(weighted: float | None = None, **scores: float | None) -> SampleResult:
    return SampleResult("s", 0, weighted_score=weighted, scores=scores)


def test_a_score_below_its_minimum_and_one_above_its_maximum_are_named() -> None:
    found = shortfalls(sample(f1=0.4, noise=0.6), {"f1": Bound(min=0.5), "noise": Bound(max=0.5)})
    assert [str(short) for short in found] == ["f1 0.4000 < 0.5000", "noise 0.6000 > 0.5000"]


@pytest.mark.parametrize(("score", "misses"), [(0.7 - 1e-10, False), (0.7 - 1e-8, True)])
def test_comparisons_tolerate_a_billionth(score: float, misses: bool) -> None:
    """A10: 0.9999999999 is a perfect score of some metrics."""
    assert bool(shortfalls(sample(f1=score), {"f1": Bound(min=0.7)})) is misses
    mirrored = shortfalls(sample(f1=1.4 - score), {"f1": Bound(max=0.7)})
    assert bool(mirrored) is misses


@pytest.mark.parametrize("score", [None, math.nan])
def test_an_unscored_metric_is_not_judged_here(score: float | None) -> None:
    """A20: it is an error elsewhere, neither a pass nor a zero."""
    assert shortfalls(sample(f1=score), {"f1": Bound(min=0.5)}) == []
    assert shortfalls(sample(), {"f1": Bound(min=0.5)}) == []


def test_the_weighted_score_has_thresholds_too() -> None:
    """A10."""
    found = shortfalls(sample(0.4, f1=1.0), {"weighted_score": Bound(min=0.5)})
    assert [short.name for short in found] == ["weighted_score"]
    assert score_of(sample(0.4), "weighted_score") == 0.4
    assert score_of(sample(0.4, f1=0.2), "f1") == 0.2
    assert score_of(sample(), "f1") is None


def test_both_ends_of_a_bound_count() -> None:
    bound = {"f1": Bound(min=0.2, max=0.8)}
    found = [bool(shortfalls(sample(f1=score), bound)) for score in (0.1, 0.2, 0.5, 0.8, 0.9)]
    assert found == [True, False, False, False, True]


@pytest.mark.parametrize(
    ("error", "beyond_budget", "not_asked"),
    [
        ("budget: 1 USD is spent", True, True),
        ("replay: not in the cache", False, True),
        ("HTTP 500 of the budget: service", False, False),
    ],
)
def test_a_score_that_lacks_for_a_reason_of_the_run(
    error: str, beyond_budget: bool, not_asked: bool
) -> None:
    found = SampleResult("s", 0, scores={"f1": None, "em": 1.0}, errors={"f1": error})
    assert is_beyond_budget(found) is beyond_budget
    assert was_not_asked(found, "f1") is not_asked
    assert was_not_asked(found, "em") is False


NO_FIELD = {"f1": "the row has no references"}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"outcome": "error", "scores": {"f1": None}, "reasons": NO_FIELD}, NO_FIELD),
        # Optional metrics: another one scored, and the case was judged.
        ({"weighted_score": 1.0, "scores": {"em": 1.0, "f1": None}, "reasons": NO_FIELD}, {}),
        ({"outcome": "error", "errors": {"target": "boom"}, "scores": {"f1": None}}, "target"),
        ({"outcome": "error", "errors": {"row": "no answer"}}, "row"),
        # What a metric says of a score that it gave is no error.
        (
            {"outcome": "error", "scores": {"f1": 0.5, "em": None}, "weighted_score": 0.5}
            | {"reasons": {"f1": "half of it", "em": "no claims"}},
            "em",
        ),
        ({"weighted_score": 1.0, "scores": {"f1": 1.0}, "reasons": {"f1": "all of it"}}, {}),
        ({"outcome": "skipped", "scores": {"f1": None}}, {}),
        (
            {"outcome": "error", "scores": {"f1": 1.0}},
            {"weighted_score": "all metrics that have a score weigh 0"},
        ),
    ],
)
def test_what_could_not_be_judged_says_why(fields: dict[str, Any], shown: Any) -> None:
    """A20: be it an error, or a metric's reason to give no score."""
    found = shown_errors(SampleResult("s", 0, **fields))
    assert found == shown if isinstance(shown, dict) else list(found) == [shown]


def test_the_worst_is_what_could_not_be_judged_then_the_lowest() -> None:
    """An error that has a score, too: of the metric that lacks it, nobody knows."""
    samples = [
        SampleResult("high", 0, weighted_score=0.9),
        SampleResult("low", 1, "failed", weighted_score=0.1),
        SampleResult("odd", 2, "error", weighted_score=0.9),
        SampleResult("unscored", 3, "failed"),
        SampleResult("error", 4, "error"),
        SampleResult("nan", 5, "error", weighted_score=math.nan),
        SampleResult("as low", 6, weighted_score=0.1),
    ]
    ordered = [one.sample_id for one in sorted(samples, key=badness)]
    assert ordered == ["error", "nan", "odd", "unscored", "low", "as low", "high"]

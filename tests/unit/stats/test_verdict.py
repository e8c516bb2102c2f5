"""A10: which scores miss their thresholds."""

from __future__ import annotations

import math

import pytest

from pytest_rageval.model import Bound, SampleResult
from pytest_rageval.stats.verdict import score_of, shortfalls


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

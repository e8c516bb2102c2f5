"""How many samples to label, and where."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from pytest_rageval.stats.intervals import t_quantile
from pytest_rageval.stats.labels.corrected import Judged
from pytest_rageval.stats.labels.drawing import StratumNeed, allocation, labels_needed


def pilot(n: int, size: int, wrong: int = 0) -> list[Judged]:
    """Return ``size`` samples; half of ``n`` labels are 1, and the judge misjudges ``wrong``."""
    labels = [Judged(float((at % 2 > 0) != (at < wrong)), float(at % 2)) for at in range(n)]
    return labels + [Judged(float(at % 2)) for at in range(size - n)]


def smallest(
    variance: float, rho: float, size: int, half_width: float, confidence: float = 0.95
) -> int:
    """Return the smallest number of labels that is enough, by trying each."""
    probability = 0.5 + confidence / 2
    for n in range(10, size):
        left = variance / n * (1 - rho * rho * (size - n) / size)
        if t_quantile(probability, n - 1) * math.sqrt(left) <= half_width:
            return n
    return size


@pytest.mark.full
def test_the_range_is_that_of_the_judges_correlation() -> None:
    """50 labels, 4 misjudged in each class of 25: rho 42/50; Fisher's half width 1.96/√47."""
    found = labels_needed(pilot(50, 2000, 8), 0.05)
    rho, half = (50 - 2 * 8) / 50, 1.959963984540054 / math.sqrt(47)
    few, many = (math.tanh(math.atanh(rho) + sign * half) for sign in (1, -1))
    variance = 12.5 / 49
    assert found == (
        smallest(variance, few, 2000, 0.05),
        smallest(variance, many, 2000, 0.05),
    )
    assert found[0] < 270 < found[1] < 381


def test_a_judge_that_knows_nothing_spares_no_label() -> None:
    """Neither does one that errs more often than not."""
    plain = smallest(12.5 / 49, 0.0, 5000, 0.05)
    constant = [replace(one, judge=0.5) for one in pilot(50, 5000)]
    assert labels_needed(constant, 0.05) == (plain, plain)
    assert labels_needed(pilot(50, 5000, 45), 0.05) == (plain, plain)


@pytest.mark.parametrize(
    ("confidence", "is_more"), [(0.5, False), (0.9, False), (0.99, True), (0.999, True)]
)
def test_the_number_is_that_of_the_interval_of_the_gate(confidence: float, is_more: bool) -> None:
    """Only t follows its confidence: the range of rho is that of 95 %, here 0..0."""
    constant = [replace(one, judge=0.5) for one in pilot(50, 5000)]
    needed = smallest(12.5 / 49, 0.0, 5000, 0.05, confidence)
    assert labels_needed(constant, 0.05, confidence) == (needed, needed)
    assert (needed > smallest(12.5 / 49, 0.0, 5000, 0.05)) == is_more
    assert labels_needed(pilot(50, 60, 25), 0.01, 1.0) == (61, 61)  # as near 1 as doubles come


def test_a_perfect_judge_leaves_what_its_own_mean_is_uncertain() -> None:
    """t² .2551/5000 is .0142², so ± .02 needs no more than ten."""
    assert labels_needed(pilot(50, 5000), 0.02) == (10, 10)


def test_one_more_than_there_are_means_that_all_are_too_few() -> None:
    assert labels_needed(pilot(50, 60, 25), 0.01) == (61, 61)


def test_ten_labels_are_a_pilot() -> None:
    assert labels_needed(pilot(9, 100), 0.05) is None
    assert labels_needed(pilot(10, 100), 0.05) is not None
    weightless = [*pilot(9, 100), Judged(1.0, 1.0, weight=0.0)]
    assert labels_needed(weightless, 0.05) is None


def test_labels_that_are_all_the_same_have_some_variance() -> None:
    """1/21, as of twenty labels and one that differs."""
    run = [Judged(at % 2, 1.0 if at < 20 else None) for at in range(500)]
    needed = smallest(1 / 21, 0.0, 500, 0.05)
    assert labels_needed(run, 0.05) == (needed, needed)
    assert needed > 40


@pytest.mark.full
def test_labels_of_a_group_say_less() -> None:
    """Two equal labels a group: the variance is that of 20 groups, 2 · 10/40 · 20/19."""
    run = [
        replace(one, judge=0.5, group=at // 4 * 2 + at % 2)
        for at, one in enumerate(pilot(40, 5000))
    ]
    needed = smallest(20 / 40 * 20 / 19, 0.0, 1000, 0.05)
    assert labels_needed(run, 0.05) == (needed, needed)
    alone = [replace(one, group=1) for one in pilot(40, 1000)]
    assert labels_needed(alone, 0.05) is None


def test_weights_count_as_in_the_mean() -> None:
    """Weights 3 and 1 in turn: residuals 1.5 · .25 and .5 · .75 are both .375."""
    run = [
        replace(one, judge=0.5, weight=1.0 + 2.0 * (at % 2))
        for at, one in enumerate(pilot(40, 900))
    ]
    needed = smallest(40 * 0.375**2 / 39, 0.0, 900, 0.05)
    assert labels_needed(run, 0.05) == (needed, needed)


@pytest.mark.parametrize(
    ("strata", "labels", "shares"),
    [
        # In proportion to size times deviation, 40 to 20; the labels that are there count.
        ([StratumNeed(100, 5, 0.4), StratumNeed(100, 5, 0.2)], 20, [15, 5]),
        ([StratumNeed(100, 15, 0.4), StratumNeed(100, 5, 0.2)], 10, [5, 5]),
        ([StratumNeed(300, 10, 0.2), StratumNeed(100, 10, 0.2)], 20, [20, 0]),
        # Five each come first, the emptiest before the others.
        ([StratumNeed(100, 0, 0.0), StratumNeed(900, 3, 0.5)], 8, [5, 3]),
        ([StratumNeed(100, 0, 0.0), StratumNeed(900, 3, 0.5)], 3, [3, 0]),
        ([StratumNeed(100, 0, 0.0), StratumNeed(900, 5, 0.5)], 6, [5, 1]),
        # Ten for one of them come before the five of the other.
        ([StratumNeed(100, 0, 0.5), StratumNeed(100, 4, 0.0, 10)], 8, [2, 6]),
        # A small stratum is labelled throughout, the rest goes elsewhere.
        ([StratumNeed(3, 0, 0.5), StratumNeed(100, 0, 0.1)], 10, [3, 7]),
        ([StratumNeed(3, 0, 0.5), StratumNeed(4, 1, 0.1)], 10, [3, 3]),
        # Without any deviation they are labelled in proportion.
        ([StratumNeed(100, 5, 0.0), StratumNeed(300, 15, 0.0)], 4, [1, 3]),
        ([StratumNeed(10, 0, 0.1)], 0, [0]),
    ],
)
def test_labels_go_where_they_tell_most(
    strata: list[StratumNeed], labels: int, shares: list[int]
) -> None:
    assert allocation(strata, labels) == shares


def test_no_other_allocation_has_a_smaller_variance() -> None:
    """All ways to divide 12 labels over three strata that have five."""
    draw = random.Random(5)
    for _ in range(5):
        strata = [StratumNeed(draw.randrange(20, 200), 5, draw.random()) for _ in range(3)]

        def variance(more: list[int], strata: list[StratumNeed] = strata) -> float:
            return sum(
                (one.size * one.deviation) ** 2 / (5 + extra)
                for one, extra in zip(strata, more, strict=True)
            )

        ways = [[a, b, 12 - a - b] for a in range(13) for b in range(13 - a)]
        best = min(map(variance, ways))
        assert variance(allocation(strata, 12)) == pytest.approx(best, rel=1e-12)

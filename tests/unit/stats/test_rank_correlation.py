"""Correlations of ranks with ties, by hand."""

from __future__ import annotations

import math
import random

import pytest

from pytest_rageval.stats.labels.coefficients import area_under_curve, kendall, spearman

A = [1.0, 1.0, 2.0, 3.0]
B = [1.0, 2.0, 2.0, 3.0]


def test_tied_values_share_their_mean_rank() -> None:
    """Ranks 1.5, 1.5, 3, 4 and 1, 2.5, 2.5, 4: 3.75 / 4.5."""
    assert spearman(A, B) == pytest.approx(3.75 / 4.5, rel=1e-14)
    assert spearman(A, [-one for one in B]) == pytest.approx(-3.75 / 4.5, rel=1e-14)


def test_pairs_tied_on_a_side_count_for_neither_order() -> None:
    """Of 6 pairs 4 are in order, one is tied in A, another one in B: 4 / √(5 · 5)."""
    assert kendall(A, B) == pytest.approx(0.8, rel=1e-14)
    assert kendall(B, A) == pytest.approx(0.8, rel=1e-14)


def test_pairs_tied_on_both_sides_are_counted_once() -> None:
    """The first two are tied twice; the other 2 pairs are in the wrong order: -2 / √(2 · 2)."""
    assert kendall([1, 1, 2], [5, 5, 3]) == -1.0


def test_inversions_count_every_pair() -> None:
    """3 1 2: two pairs are in the wrong order, one is not."""
    assert kendall([1, 2, 3], [3, 1, 2]) == pytest.approx(-1 / 3, rel=1e-14)


def test_many_values_give_what_all_pairs_give() -> None:
    draw = random.Random(3)
    a = [draw.randrange(6) for _ in range(150)]
    b = [draw.randrange(9) + one for one in a]
    signs = [
        math.copysign(1, (a[i] - a[j]) * (b[i] - b[j]))
        for i in range(150)
        for j in range(i)
        if a[i] != a[j] and b[i] != b[j]
    ]
    in_a, in_b = (sum(x[i] != x[j] for i in range(150) for j in range(i)) for x in (a, b))
    assert kendall(a, b) == pytest.approx(sum(signs) / math.sqrt(in_a * in_b), rel=1e-12)


@pytest.mark.parametrize(("a", "b"), [([2, 2, 2], [1, 2, 3]), ([1, 2, 3], [2, 2, 2])])
def test_equal_values_have_no_order(a: list[float], b: list[float]) -> None:
    assert spearman(a, b) is None
    assert kendall(a, b) is None


def test_the_area_counts_a_tie_as_a_half() -> None:
    """Of 4 pairs: .8 above both, .4 above .1 and tied with .4: 3.5/4."""
    assert area_under_curve([0.1, 0.4, 0.4, 0.8], [False, False, True, True]) == 0.875
    assert area_under_curve([0.9, 0.1], [False, True]) == 0.0


@pytest.mark.parametrize("positive", [True, False])
def test_one_class_has_no_area(positive: bool) -> None:
    assert area_under_curve([0.1, 0.4], [positive, positive]) is None

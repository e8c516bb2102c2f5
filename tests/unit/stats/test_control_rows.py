"""F12: when a judge tells control rows apart, and how early that is certain."""

from __future__ import annotations

import math
from itertools import product

import pytest

from pytest_rageval.controls import ControlRule, slips_allowed

RULE = ControlRule(0.3)
SIX = [1.0] * 6
NONE = [0.0] * 6


def test_two_slips_of_six_and_six_are_forgiven() -> None:
    assert RULE.tells_apart(SIX, NONE) is True
    assert RULE.tells_apart([0, 0, *SIX[2:]], NONE) is True
    assert RULE.tells_apart([0, *SIX[1:]], [1, *NONE[1:]]) is True
    assert RULE.tells_apart([0, 0, *SIX[2:]], [1, *NONE[1:]]) is False


def test_a_row_without_a_score_is_a_slip() -> None:
    for missing in (None, math.nan, math.inf, -math.inf):
        assert RULE.tells_apart([missing, missing, *SIX[2:]], NONE) is True
        assert RULE.tells_apart([missing, *SIX[1:]], [missing, missing, *NONE[2:]]) is False
    assert RULE.tells_apart([None] * 6, [None] * 6) is False


def test_constant_judges_tell_nothing_apart() -> None:
    """R5: a judge that always says yes; and the small model there, on context_recall."""
    for value in (0.0, 0.5, 1.0):
        assert RULE.tells_apart([value] * 6, [value] * 6) is False
    assert RULE.tells_apart([1, 1, 1], [0, 1, 1], left=(3, 3)) is None
    assert RULE.tells_apart([1, 1, 1], [1, 1, 1], left=(3, 3)) is False


def test_the_margin_is_a_share_of_the_range() -> None:
    """0.7 - 0.4 is 0.29999999999999993 in floating point."""
    assert RULE.tells_apart([0.7] * 6, [0.4] * 6) is True
    assert RULE.tells_apart([0.69] * 6, [0.4] * 6) is False
    marks = ControlRule(0.3, (1.0, 5.0))  # 1.2 of 4
    assert marks.tells_apart([3.2] * 6, [2.0] * 6) is True
    assert marks.tells_apart([3.0] * 6, [2.0] * 6) is False
    cosine = ControlRule(0.05, (-1.0, 1.0))  # 0.1 of 2
    assert cosine.tells_apart([0.9] * 6, [0.8] * 6) is True
    assert cosine.tells_apart([0.89] * 6, [0.8] * 6) is False


def test_one_value_between_is_one_slip_wherever_it_makes_fewest() -> None:
    """0.6 among the high rows is too near to 0.4 (one slip), not to each of five zeros."""
    assert RULE.tells_apart([0.6, *SIX[1:]], [0.4, *NONE[1:]]) is True
    assert RULE.tells_apart([0.6, *SIX[1:]], [0.4] * 6) is True
    assert RULE.tells_apart([0.6] * 3 + SIX[3:], [0.4] * 3 + NONE[3:]) is False


def test_without_a_finite_range_any_difference_counts_and_a_tie_does_not() -> None:
    for ends in ((-math.inf, math.inf), (0.0, math.inf)):
        endless = ControlRule(0.3, ends)
        assert endless.tells_apart([5.1] * 6, [5.0] * 6) is True
        assert endless.tells_apart([5.0] * 6, [5.0] * 6) is False
        assert endless.tells_apart([5.0 + 1e-12] * 6, [5.0] * 6) is False
        assert endless.tells_apart([5.0], [5.0], left=(5, 5)) is None
    assert ControlRule(0.0).tells_apart([1.0] * 6, [1.0] * 6) is False


def test_it_is_true_once_the_rest_may_be_slips_and_false_once_no_rest_helps() -> None:
    assert RULE.tells_apart([1] * 5, [0] * 5, left=(1, 1)) is True  # 10 of 12
    assert RULE.tells_apart([1] * 5, [0] * 4, left=(1, 2)) is None
    assert RULE.tells_apart([1] * 5 + [0], [0] * 5, left=(0, 1)) is True
    assert RULE.tells_apart([0.5], [], left=(5, 6)) is None
    assert RULE.tells_apart([0, 0, 0], [0, 0], left=(3, 4)) is False
    # 0.8 is too high for a low row even if the others get 1.
    assert RULE.tells_apart([1, 1], [0.8, 0.8, 0.8], left=(4, 3)) is False


@pytest.mark.full
def test_what_is_decided_early_is_what_all_rows_say() -> None:
    """Every course of three and three rows with a slip, at three levels and without a score."""
    for found in product((0.0, 0.5, 1.0, None), repeat=6):
        high, low = list(found[0::2]), list(found[1::2])
        last = RULE.tells_apart(high, low)
        for asked in range(6):
            some = found[:asked]
            left = (3 - len(some[0::2]), 3 - len(some[1::2]))
            assert RULE.tells_apart(some[0::2], some[1::2], left) in (None, last)


def test_none_of_few_rows_and_a_third_of_the_fewer_kind_may_slip() -> None:
    assert [slips_allowed(n, n) for n in (1, 2, 3, 5, 6, 9)] == [0, 0, 1, 1, 2, 3]
    assert slips_allowed(6, 60) == 2


@pytest.mark.parametrize(("high", "low"), [([], []), (SIX, []), ([], NONE)])
def test_without_rows_of_both_kinds_nothing_is_told_apart(
    high: list[float], low: list[float]
) -> None:
    assert RULE.tells_apart(high, low) is False

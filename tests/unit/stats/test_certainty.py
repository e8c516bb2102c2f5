"""F6: a mean's verdict is certain early only where the rest cannot change it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations, product

import pytest

from pytest_rageval.model import Bound
from pytest_rageval.stats.certainty import GrowingMean, GrowingSum

UNIT = (0.0, 1.0)


def certain_after(values: Sequence[float | None], mean: GrowingMean) -> tuple[int, bool | None]:
    """Return after how many values the verdict was certain, and the verdict."""
    for at, value in enumerate(values, 1):
        mean.add(value)
        if mean.verdict is not None:
            return at, mean.verdict
    return len(values), None


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1, 1, 1, 1, 1, 1, 0, 0], (6, True)),  # 6 of 8 are 0.75, if all others are 0
        ([1, 1, 1, 1, 1, 0, 0, 1], (8, True)),
        ([0, 1, 0, 1, 0, 1, 1, 1], (5, False)),  # 5 of 8 at best
    ],
)
def test_the_worst_and_the_best_of_the_rest_decide(
    values: list[float], found: tuple[int, bool]
) -> None:
    assert certain_after(values, GrowingMean(Bound(min=0.75), UNIT, 8, 8)) == found


@pytest.mark.parametrize(
    ("bound", "value_range", "values", "found"),
    [
        (Bound(max=0.25), UNIT, [0, 0, 0, 1], (3, True)),
        (Bound(max=0.25), UNIT, [0, 1, 1, 0], (3, False)),
        (Bound(min=0.25, max=0.75), UNIT, [0, 1], (2, True)),
        (Bound(min=0.3, max=0.7), UNIT, [0, 1, 1], (3, None)),
        (Bound(min=3.0), (1.0, 5.0), [5, 5, 1, 1], (2, True)),  # (5 + 5 + 1 + 1) / 4
        (Bound(min=3.0), (1.0, 5.0), [1, 2, 5, 5], (4, True)),
    ],
)
def test_bounds_at_both_ends_and_other_ranges(
    bound: Bound, value_range: tuple[float, float], values: list[float], found: tuple[int, bool]
) -> None:
    mean = GrowingMean(bound, value_range, 4, 4)
    assert certain_after(values[: found[0]], mean) == found


def test_no_completion_contradicts_what_is_certain() -> None:
    """All 4^5 sequences of five samples with weights, some of them without a score."""
    weights, bound = (1.0, 2.0, 1.0, 3.0, 1.0), Bound(min=0.6)
    early = 0
    for values in product((0.0, 0.5, 1.0, None), repeat=5):
        mean, said = GrowingMean(bound, UNIT, sum(weights), 5), []
        for value, weight in zip(values, weights, strict=True):
            mean.add(value, weight)
            said.append(mean.verdict)
        pairs = [(v, w) for v, w in zip(values, weights, strict=True) if v is not None]
        if pairs:
            total = math.fsum(w for _, w in pairs)
            truth = bound.holds(math.fsum(v * w for v, w in pairs) / total)
            assert set(said) <= {None, truth}, values
            assert said[-1] is truth
            early += said[3] is not None
    assert early > 500


def test_nothing_is_certain_while_nothing_is_scored() -> None:
    mean = GrowingMean(Bound(min=0.0), UNIT, 3, 3)
    assert certain_after([None, None], mean) == (2, None)
    mean.add(0.0)
    assert mean.verdict is True


def test_a_sample_that_failed_may_still_score() -> None:
    """Of four, two are 1 and one failed: (1 + 1 + 0 + 0) / 4; if it scores nothing, 2/3."""
    mean = GrowingMean(Bound(min=0.6), UNIT, 4, 4)
    for value in (1.0, 1.0):
        mean.add(value)
    mean.add(None, may_come=True)
    assert mean.verdict is None
    mean = GrowingMean(Bound(min=0.6), UNIT, 4, 4)
    assert certain_after([1.0, 1.0, None], mean) == (3, True)


@pytest.mark.parametrize(("error", "verdict"), [(0.72, True), (0.71, None)])
def test_a_bet_grows_as_the_paper_says(error: float, verdict: bool | None) -> None:
    """Ten values, end 0.6, two of them 1.

    First value: 0.6 is expected, 0.5 was seen, so nothing is bet on above. Left: 6 - 1 over 9.
    Second: m = 5/9; seen (0.5 + 1)/2 with the variance (0.25 + 0.25²)/2 = 0.15625. The stake
    0.19444/(0.15625 + 0.19444²) = 1.002 is cut to 0.5/m = 0.9, and 1 + 0.9 · 4/9 = 1.4 = 1/0.714.
    """
    mean = GrowingMean(Bound(min=0.6), UNIT, 10, 10, error)
    assert certain_after([1.0, 1.0], mean) == (2, verdict)


@pytest.mark.full
@pytest.mark.parametrize("error", [0.2, 0.4])
@pytest.mark.parametrize(
    ("bound", "wrong"),
    [
        (Bound(min=0.5), False),
        (Bound(max=0.5), False),
        (Bound(min=0.5 + 1e-6), True),
        (Bound(min=0.5, max=0.5), False),
    ],
)
def test_a_verdict_is_wrong_at_most_as_often_as_the_error_bound(
    bound: Bound, wrong: bool, error: float
) -> None:
    """All orders of seven values with the mean 0.5: the hardest case for each bound."""
    orders = sorted(set(permutations((0.0, 0.0, 0.3, 0.5, 0.7, 1.0, 1.0))))
    said = [certain_after(order, GrowingMean(bound, UNIT, 7, 7, error))[1] for order in orders]
    assert said.count(wrong) <= error * len(orders)


def test_an_error_bound_asks_less_than_certainty() -> None:
    """Of 100 ones, at a bound of 0.5."""
    mean, sure = (GrowingMean(Bound(min=0.5), UNIT, 100, 100, error) for error in (0.05, 0.0))
    assert certain_after([1.0] * 100, sure) == (50, True)
    assert certain_after([1.0] * 100, mean)[0] < 12


def test_samples_without_a_score_move_no_bet() -> None:
    mean = GrowingMean(Bound(min=0.5), UNIT, 100, 100, 0.05)
    mean.add(1.0)
    for _ in range(60):
        mean.add(None)
    assert mean.verdict is None


def sign_after(
    values: Sequence[float | None],
    ends: Sequence[tuple[float, float]],
    weights: Sequence[float] | None = None,
    error: float = 0.0,
) -> tuple[int, bool | None]:
    """Return after how many values the sign of the sum was certain, and whether it is 0 or more."""
    sizes = dict(enumerate(weights or [1.0] * len(ends)))
    found = GrowingSum(dict(enumerate(ends)), sizes, error)
    for at, value in enumerate(values):
        found.add(at, value)
        if found.verdict is not None:
            return at + 1, found.verdict
    return len(values), None


@pytest.mark.parametrize(
    ("values", "ends", "weights", "found"),
    [
        ([0.5, -0.25], [(-1, 1), (-1, 0), (-0.25, 1)], None, (2, True)),  # 0.25 - 0.25
        ([0.5, -0.5], [(-1, 1), (-1, 0), (-0.25, 1)], None, (2, None)),
        ([-0.5, -0.5], [(-1, 1), (-1, 0), (-0.5, 0.75)], None, (2, False)),
        ([-0.5, -0.5], [(-1, 1), (-1, 0), (-0.5, 1)], None, (2, None)),  # 0 would pass
        ([0.5], [(-1, 1), (-1, 0)], [3.0, 1.0], (1, True)),  # 3 · 0.5 - 1
        ([0.5], [(-1, 1), (0.25, 1), (0.5, 1)], None, (1, True)),
        # One that is missing counts 0, whatever its ends are.
        ([-0.25, None], [(-1, 1), (0.5, 1)], None, (2, False)),
        ([-0.25], [(-1, 1), (-1, -0.5)], None, (1, False)),
        ([None, None], [(-1, 1), (-1, 1)], None, (2, None)),  # nothing was there to judge
    ],
)
def test_a_sum_is_certain_by_the_ends_of_each_value(
    values: list[float | None],
    ends: list[tuple[float, float]],
    weights: list[float] | None,
    found: tuple[int, bool | None],
) -> None:
    assert sign_after(values, ends, weights) == found


def test_a_value_is_counted_once_and_one_that_may_come_stays_open() -> None:
    found = GrowingSum({0: (-1.0, 1.0), 1: (-1.0, 1.0)}, {0: 1.0, 1: 1.0})
    found.add(0, 0.5)
    found.add(0, 0.5)
    found.add(7, 9.0)
    assert found.verdict is None
    found.add(1, None, may_come=True)
    assert found.verdict is None


def test_no_rounding_makes_a_sum_of_0_a_fall() -> None:
    """0.3 - 0.1 - 0.2 is -2.8e-17; the mean that is judged has a tolerance of 1e-9."""
    ends = [(-1.0, 1.0)] * 3
    assert sign_after([0.3, -0.1, -0.2], ends) == (3, True)
    assert sign_after([0.3, -0.1, -0.2], ends, [1e300, 1e300, 1e300]) == (3, True)
    assert sign_after([0.3, -0.1, -0.2 - 1e-7], ends) == (3, False)


@pytest.mark.full
@pytest.mark.parametrize("error", [0.2, 0.4])
@pytest.mark.parametrize("excess", [0.0, -1e-5])
def test_a_sign_is_wrong_at_most_as_often_as_the_error_bound(excess: float, error: float) -> None:
    """All orders of seven values with the sum 0, and with one just below it."""
    values = (-0.9, -0.6, 0.0, 0.1, 0.1, 0.4, 0.9 + excess)
    orders = sorted(set(permutations(values)))
    said = [sign_after(order, [(-0.95, 1.05)] * 7, error=error)[1] for order in orders]
    assert said.count(excess < 0.0) <= error * len(orders)


def test_a_bet_on_a_sum_knows_only_the_widest_ends() -> None:
    """What comes next is known, and bets must not be: with its own ends as with those of all."""
    wide = [(-0.95, 1.05)] * 100
    own = [(-0.95, 1.05), (-0.95, 0.05)] * 50
    values = [0.05] * 100
    assert sign_after(values, wide, error=0.05)[0] == sign_after(values, own, error=0.05)[0] < 95

"""Intervals of coefficients: how far a sample moves a figure, groups, and what keeps a width."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from pytest_rageval.stats.labels.coefficients import (
    ac_influence,
    area_under_curve,
    ceiling_influence,
    cohen_kappa,
    coincidences,
    curve_influence,
    gwet_ac,
    human_ceiling,
    kappa_influence,
    kendall,
    kendall_influence,
    krippendorff_alpha,
    pair_units,
    spearman,
    spearman_influence,
)
from pytest_rageval.stats.labels.influence import Counted, Measure, Table, table_interval

SQUARE = [[7, 2, 1, 1], [3, 6, 2, 1], [1, 2, 9, 4], [1, 1, 3, 8]]
WIDE = [[5, 3, 4, 1, 2], [1, 1, 3, 6, 2]]
BLOCKS = [[5, 2], [1, 4], [3, 1], [2, 6]]
MEASURES: dict[str, tuple[Measure, Table]] = {
    "kappa": (kappa_influence, SQUARE),
    "weighted_kappa": (partial(kappa_influence, quadratic=True), SQUARE),
    "ac1": (ac_influence, SQUARE),
    "ac2": (partial(ac_influence, quadratic=True), SQUARE),
    "spearman": (spearman_influence, SQUARE),
    "kendall": (kendall_influence, SQUARE),
    "spearman of scores": (spearman_influence, WIDE),
    "kendall of scores": (kendall_influence, WIDE),
    "auc": (curve_influence, WIDE),
    "ceiling": (ceiling_influence, BLOCKS),
}


def spread(table: Table) -> tuple[list[float], list[float]]:
    """Return the scores (columns) and levels (rows) of the samples that a table counts."""
    places = [
        (float(column), float(row))
        for row, line in enumerate(table)
        for column, count in enumerate(line)
        for _ in range(int(count))
    ]
    return [one for one, _ in places], [other for _, other in places]


@pytest.mark.parametrize("name", MEASURES)
def test_influence_is_how_fast_the_figure_moves(name: str) -> None:
    """N11: a sample's share of a millionth more in each cell, and all others that much less."""
    measure, table = MEASURES[name]
    value, cells = measure(table)
    n, more = sum(map(sum, table)), 1e-6
    mean = 0.0
    for row, line in enumerate(table):
        for column, count in enumerate(line):
            moved = [[one / n * (1.0 - more) for one in other] for other in table]
            moved[row][column] += more
            slope = (measure(moved).value - value) / more
            assert cells[row][column] == pytest.approx(slope, abs=2e-5)
            mean += count * cells[row][column] / n
    assert mean == pytest.approx(0.0, abs=1e-12)


def test_the_figure_is_the_one_that_is_shown() -> None:
    """N11: those are held against scipy, scikit-learn and irrCAC in tests/golden."""
    for name, quadratic in (("kappa", False), ("weighted_kappa", True)):
        expected = cohen_kappa(SQUARE, quadratic=quadratic)
        assert MEASURES[name][0](SQUARE).value == pytest.approx(expected, rel=1e-13)
    assert ac_influence(SQUARE).value == pytest.approx(gwet_ac(SQUARE), rel=1e-13)
    scores, levels = spread(WIDE)
    assert spearman_influence(WIDE).value == pytest.approx(spearman(scores, levels), rel=1e-13)
    assert kendall_influence(WIDE).value == pytest.approx(kendall(scores, levels), rel=1e-13)
    area = area_under_curve(scores, [level == 1.0 for level in levels])
    assert curve_influence(WIDE).value == pytest.approx(area, rel=1e-13)


def test_the_variance_of_the_area_is_delongs() -> None:
    """N11: by definition, from the scores: how often each sample is on its right side.

    DeLong divides by m - 1 and n - 1 in the two classes, the mean of squares here by m and n.
    """
    scores, levels = spread(WIDE)
    low = [score for score, level in zip(scores, levels, strict=True) if level == 0.0]
    high = [score for score, level in zip(scores, levels, strict=True) if level == 1.0]
    wins = [[(a > b) + (a == b) / 2 for b in low] for a in high]
    of_high = [sum(one) / len(low) for one in wins]
    of_low = [sum(one) / len(high) for one in zip(*wins, strict=True)]
    expected = sum(_variance(one) / len(one) for one in (of_high, of_low))
    cells, n = curve_influence(WIDE).cells, sum(map(sum, WIDE))
    found = sum(
        count * moved**2
        for line, moves in zip(WIDE, cells, strict=True)
        for count, moved in zip(line, moves, strict=True)
    )
    assert found / n / n == pytest.approx(expected, rel=1e-12)


def _variance(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)


@pytest.mark.parametrize("levels", [(0, 1), (1, 2, 3, 4)])
def test_alpha_is_the_rank_correlation_of_coincidences(levels: Sequence[int]) -> None:
    """N11: but for (N - 1)/N, so that it has the interval of that."""
    votes = [
        {"a": levels[at % len(levels)], "b": levels[(at * at) % len(levels)], "c": levels[at // 9]}
        for at in range(9 * len(levels))
    ]
    votes = [*votes, {"a": levels[0]}, {"a": levels[1], "c": levels[1]}]
    units = [coincidences(one, levels) for one in votes]
    counted = Counted.of(units, len(levels), len(levels))
    assert counted is not None
    alpha, n = krippendorff_alpha(votes, levels), sum(len(one) for one in votes if len(one) > 1)
    rho = spearman_influence(counted.table).value
    assert alpha == pytest.approx(1.0 - (n - 1) / n * (1.0 - rho), rel=1e-12)


def test_the_ceiling_is_that_of_all_pairs() -> None:
    """N11: three people, of whom the third leaves some out."""
    votes = [{"a": at % 2, "b": at % 3 > 0, "c": at % 5 > 1} for at in range(30)]
    for one in votes[:6]:
        del one["c"]
    units, rows = pair_units(votes, (0, 1))
    counted = Counted.of(units, rows, 2)
    assert counted is not None
    assert rows == 6
    expected = human_ceiling(votes, (0, 1))
    assert ceiling_influence(counted.table).value == pytest.approx(expected, rel=1e-12)


def test_a_group_that_is_all_of_one_kind_says_as_much_as_one_sample() -> None:
    """N3: four samples each of ten that judge and people see alike, and of two where they differ.

    But for t of 11 in place of the normal quantile, and 12/11, which no mean of ten has here.
    """
    cells = [(0, 0)] * 5 + [(1, 1)] * 5 + [(0, 1), (1, 0)]
    single = Counted.of([{cell: 1.0} for cell in cells], 2, 2)
    four = [{cell: 1.0} for cell in cells for _ in range(4)]
    grouped = Counted.of(four, 2, 2, [at // 4 for at in range(48)])
    assert single is not None
    assert grouped is not None
    assert grouped.size == pytest.approx(single.size)
    kappa = 2 / 3
    low, _ = table_interval(kappa_influence, single, kappa) or (0, 0)
    lower, _ = table_interval(kappa_influence, grouped, kappa) or (0, 0)
    centre, (one, other) = kappa_influence([[5.5, 1.5], [1.5, 5.5]])
    squares = 10 * one[0] ** 2 + 2 * one[1] ** 2
    added = 0.5 * sum(moved**2 for moved in (*one, *other))
    assert low == pytest.approx(centre - 1.959963985 * math.sqrt(squares + added) / 14)
    half = 2.200985160 * math.sqrt(12 / 11 * squares + added) / 14  # scipy.stats.t.ppf(0.975, 11)
    assert lower == pytest.approx(centre - half)


def test_groups_of_unequal_size_say_as_much_as_fewer_equal_ones() -> None:
    """N3: one of 9 and nine of 1: 18²/90 = 3.6."""
    groups = [0] * 9 + list(range(1, 10))
    counted = Counted.of([{(0, 0): 1.0}] * 18, 2, 2, groups)
    assert counted is not None
    assert counted.size == pytest.approx(3.6)


@pytest.mark.parametrize("groups", [[0] * 20, [0] * 19 + [1]])
def test_one_group_or_nearly_has_no_interval(groups: Sequence[int]) -> None:
    """N3: 20²/(19² + 1) is 1.1 groups."""
    counted = Counted.of([{(0, 0): 1.0}, {(1, 1): 1.0}] * 10, 2, 2, groups)
    assert table_interval(kappa_influence, counted, 1.0) is None


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("name", MEASURES)
def test_perfect_agreement_keeps_a_width(name: str, by_group: bool) -> None:
    """N11: it holds 1, and more labels make it narrower."""
    measure, table = MEASURES[name]
    rows, columns = len(table), len(table[0])
    cells: Callable[[int], tuple[int, int]] = lambda at: (at % rows, at % rows % columns)  # noqa: E731
    lows = []
    for n in (12, 60, 240):
        units = [{cells(at): 1.0} for at in range(n)]
        counted = Counted.of(units, rows, columns, list(range(n)) if by_group else None)
        low, high = table_interval(measure, counted, 1.0) or (1.0, 1.0)
        assert high == 1.0
        lows.append(low)
    assert lows == sorted(lows)
    assert lows[0] < 0.8
    assert 0.8 < lows[-1] < 0.999


def test_groups_of_the_same_mix_keep_a_width() -> None:
    """N3: sums of six such groups are alike; two groups of six independent samples are added.

    The table counts the six: 3, 1, 1 and 1, and half a one on each of the four cells, which moves
    the mean of each group a little off 0.
    """
    mix = [(1, 1), (1, 1), (1, 1), (0, 0), (1, 0), (0, 1)]
    groups = [at // 6 for at in range(36)]
    counted = Counted.of([{cell: 1.0} for _ in range(6) for cell in mix], 2, 2, groups)
    assert counted is not None
    centre, cells = kappa_influence([[1.5, 1.5], [1.5, 3.5]])
    off = (cells[0][0] + cells[0][1] + cells[1][0] + 3 * cells[1][1]) / 6
    added = sum(moved**2 for line in cells for moved in line) / 2 / 6
    half = 2.5705818356363146 * (6 / 5 * 6 * off**2 + added) ** 0.5 / 8  # t.ppf(0.975, 5)
    found = table_interval(kappa_influence, counted, 0.25)
    assert found == pytest.approx((centre - half, centre + half))


def test_where_one_side_says_the_same_of_all_there_is_an_interval() -> None:
    """No cell of such a table moves kappa, which is 0: it was a division by 0."""
    counted = Counted.of(
        [{(at % 3, 1): 1.0} for at in range(12)], 3, 3, [at // 2 for at in range(12)]
    )
    found = table_interval(partial(kappa_influence, quadratic=True), counted, 0.0)
    assert found is not None
    assert found[0] < 0.0 < found[1]


def test_without_weights_there_is_no_table() -> None:
    """N10: nobody has two votes on a sample."""
    assert Counted.of([{}, {}], 2, 2, [0, 1]) is None
    assert table_interval(kappa_influence, None, 0.5) is None

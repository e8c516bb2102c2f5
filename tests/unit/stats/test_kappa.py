"""Kappa and AC1 of two raters, by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import pytest

from pytest_rageval.stats.labels.coefficients import cohen_kappa, gwet_ac, kappa_influence
from pytest_rageval.stats.labels.influence import Counted, Table, table_interval

# 8 of 10 agree. Rows sum to 3, 2, 5 and columns to 3, 3, 4.
THREE = [[2, 1, 0], [0, 2, 0], [1, 0, 4]]
LIKERT = (
    (10, 6, 2, 1, 0),
    (5, 14, 8, 2, 1),
    (2, 9, 25, 10, 3),
    (1, 3, 12, 30, 12),
    (0, 1, 4, 14, 40),
)
OPENQA = ((583, 89), (137, 679))


def tables(n: int) -> Iterator[list[list[int]]]:
    """Yield every table of two levels with ``n`` samples."""
    for a in range(n + 1):
        for b in range(n + 1 - a):
            for c in range(n + 1 - a - b):
                yield [[a, b], [c, n - a - b - c]]


def kappa_interval(table: Table, kappa: float, *, quadratic: bool = False) -> tuple[float, float]:
    found = table_interval(
        partial(kappa_influence, quadratic=quadratic), Counted(table, None), kappa
    )
    assert found is not None
    return found


def test_kappa_compares_the_distance_found_with_that_of_chance() -> None:
    """Unweighted: 2 differ; of 100 pairs by chance 100 - (3·3 + 2·3 + 5·4) = 65: 1 - 10 · 2/65.

    Quadratic: found 1/4 + 1; by chance (3·3 + 2·3 + 2·4 + 5·3)/4 + 3·4 + 5·3 = 36.5.
    """
    assert cohen_kappa(THREE) == pytest.approx(1 - 20 / 65, rel=1e-14)
    assert cohen_kappa(THREE, quadratic=True) == pytest.approx(1 - 12.5 / 36.5, rel=1e-14)


def test_gwets_coefficient_expects_less_where_a_level_is_rare() -> None:
    """Shares .3, .25, .45: Σp(1 - p) = .645, by chance .645/2 (AC1), .645 · 6/6 (AC2)."""
    assert gwet_ac(THREE) == pytest.approx((0.8 - 0.3225) / (1 - 0.3225), rel=1e-14)
    assert gwet_ac(THREE, quadratic=True) == pytest.approx((0.875 - 0.645) / 0.355, rel=1e-14)


def test_two_levels_need_no_weights() -> None:
    table = [[5, 2], [1, 4]]
    assert cohen_kappa(table, quadratic=True) == cohen_kappa(table)
    assert gwet_ac(table, quadratic=True) == gwet_ac(table)
    assert kappa_interval(table, 0.5, quadratic=True) == kappa_interval(table, 0.5)


@pytest.mark.parametrize("quadratic", [False, True])
def test_one_level_on_both_sides_has_no_kappa_but_an_ac1(quadratic: bool) -> None:
    table = [[0, 0, 0], [0, 7, 0], [0, 0, 0]]
    assert cohen_kappa(table, quadratic=quadratic) is None
    assert gwet_ac(table, quadratic=quadratic) == 1.0


def test_perfect_agreement_has_an_interval_with_a_width() -> None:
    """5 and 5, with half a sample more in each cell: kappa 1 - (1/12)/(1/2) = 5/6.

    Its influence is -1/3 on 11 of 12 samples and 5/3 on 1: (11/9 + 25/9)/12 - 1/36 = 11/36.
    """
    low, high = kappa_interval([[5, 0], [0, 5]], 1.0)
    assert low == pytest.approx(5 / 6 - 1.959963984540054 * math.sqrt(11 / 36 / 12), rel=1e-13)
    assert high == 1.0


def test_the_interval_holds_kappa_and_stays_between_minus_one_and_one() -> None:
    for table in tables(8):
        kappa = cohen_kappa(table)
        if kappa is not None:
            low, high = kappa_interval(table, kappa)
            assert -1.0 <= low <= kappa <= high <= 1.0, table
            assert low < high


def test_the_interval_is_widened_to_hold_kappa() -> None:
    """Two of five levels, always the other one: what is added would end the interval at -0.65."""
    table = [[0.0] * 5 for _ in range(5)]
    table[0][1] = table[1][0] = 3.0
    low, high = kappa_interval(table, -1.0, quadratic=True)
    assert (low, high) == (-1.0, 1.0)
    table = [[40.0 * (i == j) for j in range(5)] for i in range(5)]
    assert kappa_interval(table, 1.0)[0] > 0.97


@pytest.mark.full
def test_the_interval_covers_what_it_promises_at_twenty_samples() -> None:
    """Exactly: all tables of 20 answers, with their chances if drawn from OpenQA-eval's."""
    total = sum(map(sum, OPENQA))
    shares = [math.log(cell / total) for row in OPENQA for cell in row]
    truth = cohen_kappa(OPENQA)
    assert truth is not None
    held = 0.0
    for table in tables(20):
        cells = [cell for row in table for cell in row]
        kappa = cohen_kappa(table)
        if kappa is None:
            continue
        low, high = kappa_interval(table, kappa)
        if low <= truth <= high:
            chance = math.lgamma(21) - sum(math.lgamma(cell + 1) for cell in cells)
            chance += sum(cell * share for cell, share in zip(cells, shares, strict=True))
            held += math.exp(chance)
    assert 0.92 <= held <= 0.98


def test_quadratic_kappa_is_an_intraclass_correlation_but_for_one_in_n() -> None:
    """N11: ICC(2,1), one rater, absolute agreement (Shrout and Fleiss 1979; Fleiss and Cohen 1973).

    From the mean squares of subjects, raters and the rest.
    """
    pairs = [
        (i, j)
        for i, line in enumerate(LIKERT)
        for j, count in enumerate(line)
        for _ in range(count)
    ]
    n, mean = len(pairs), sum(map(sum, pairs)) / len(pairs) / 2
    raters = [sum(one) / n for one in zip(*pairs, strict=True)]
    subjects = 2 * sum((sum(one) / 2 - mean) ** 2 for one in pairs)
    between = n * sum((one - mean) ** 2 for one in raters)
    total = sum((value - mean) ** 2 for one in pairs for value in one)
    of_subjects, rest = subjects / (n - 1), (total - subjects - between) / (n - 1)
    icc = (of_subjects - rest) / (of_subjects + rest + 2 / n * (between - rest))
    kappa = cohen_kappa(LIKERT, quadratic=True)
    assert kappa == pytest.approx(icc, abs=0.5 / n)

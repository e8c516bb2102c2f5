"""D6: sign-flip tests against counts by hand, other ways of counting, and laws of chance."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from within_a_minute import within_a_minute

from pytest_rageval.stats import permutation
from pytest_rageval.stats.permutation import (
    PermutationResult,
    group_differences,
    paired_differences,
    paired_permutation_test,
    sign_flip_tests,
)

ROOT = math.sqrt(2.0)


def flip_test(differences: Any, **options: int) -> PermutationResult:
    """Return the result for one column of differences."""
    return sign_flip_tests(np.array(differences, dtype=float)[:, np.newaxis], **options)[0]


def two_sizes(ones: int, roots: int) -> list[float]:
    """Return differences of 1 and of √2, three in five positive: no step is common to them."""
    signs = [1.0 if at % 5 < 3 else -1.0 for at in range(ones + roots)]
    return [sign * (1.0 if at < ones else ROOT) for at, sign in enumerate(signs)]


def exact_of_two_sizes(differences: list[float]) -> float:
    """Return the share of sign patterns, counted by how many of each size are positive."""
    ones = sum(abs(d) == 1.0 for d in differences)
    roots = len(differences) - ones
    observed = abs(math.fsum(differences))
    count = sum(
        math.comb(ones, i) * math.comb(roots, j)
        for i in range(ones + 1)
        for j in range(roots + 1)
        if abs(2 * i - ones + (2 * j - roots) * ROOT) >= observed - 1e-9
    )
    return float(Fraction(count, 2 ** len(differences)))


# Small samples by hand


@pytest.mark.parametrize(
    ("differing", "smallest"), [(0, 1.0), (1, 1.0), (2, 0.5), (5, 0.0625), (6, 0.03125)]
)
def test_the_smallest_p_follows_from_the_differences_other_than_zero(
    differing: int, smallest: float
) -> None:
    """Only all plus and all minus: 2 of 2**n. Differences of one sign reach it."""
    found = flip_test([0.25 * (at + 1) for at in range(differing)] + [0.0] * 3)
    assert found == PermutationResult(smallest, "exact", differing + 3, differing, smallest, 0)


def test_a_missing_score_is_no_pair() -> None:
    found = paired_permutation_test(
        [0.5, None, 0.4, math.nan, 0.9], [0.3, 0.1, 0.4, 0.2, None], weights=[1.0] * 5
    )
    assert (found.p_value, found.n, found.n_nonzero) == (1.0, 2, 1)


def test_no_pairs_at_all() -> None:
    expected = PermutationResult(1.0, "exact", 0, 0, 1.0, 0)
    assert paired_permutation_test([], []) == expected
    assert paired_permutation_test([None, 1.0], [1.0, math.nan]) == expected
    assert sign_flip_tests(np.empty((0, 2))) == [expected, expected]
    assert sign_flip_tests(np.empty((3, 0))) == []


def test_weights_multiply_the_differences() -> None:
    """Differences 0.1, 0.1, 0.1, -0.2: every signed sum is an odd number of tenths, p is 1.

    The last at weight 0: 0.3 is +++ or ---, 2 of 8. The first at weight 4: 0.4 is observed; with
    the 0.4 positive the eight sums are 0.8 0.6 0.6 0.4 0.4 0.2 0.2 0.0, five of them as large.
    """
    a, b = [0.6, 0.6, 0.6, 0.3], [0.5, 0.5, 0.5, 0.5]
    assert paired_permutation_test(a, b).p_value == 1.0
    found = paired_permutation_test(a, b, weights=[1.0, 1.0, 1.0, 0.0])
    assert (found.p_value, found.n, found.n_nonzero) == (0.25, 3, 3)
    assert paired_permutation_test(a, b, weights=[4.0, 1.0, 1.0, 1.0]).p_value == 5 / 8


def test_scores_that_differ_by_rounding_are_equal() -> None:
    """0.1 + 0.2 is 0.30000000000000004; twelve such differences are not twelve votes."""
    found = paired_permutation_test([0.1 + 0.2] * 12, [0.3] * 12)
    assert (found.p_value, found.n, found.n_nonzero) == (1.0, 12, 0)
    assert paired_differences([0.3, 1e-13], [0.3 + 1e-9, 0.0]).tolist() == [
        pytest.approx(-1e-9, rel=1e-6),
        1e-13,
    ]


def test_what_is_no_score_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 1 and 2"):
        paired_permutation_test([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="2 pairs of scores have 1 weights"):
        paired_permutation_test([1.0, 2.0], [1.0, 2.0], weights=[1.0])
    with pytest.raises(ValueError, match="scores must be finite"):
        paired_permutation_test([math.inf], [math.inf])
    with pytest.raises(ValueError, match="differences must be finite"):
        flip_test([math.inf])
    with pytest.raises(ValueError, match="at least 1, not 0"):
        flip_test([1.0], n_resamples=0)


# Exact by other ways


@pytest.mark.full
@pytest.mark.parametrize(("n", "positive"), [(30, 21), (200, 117), (3000, 1560)])
def test_answers_right_or_wrong_have_the_p_of_a_coin(n: int, positive: int) -> None:
    """EM: twice the tail of the binomial distribution, here in whole numbers."""
    tail = sum(math.comb(n, j) for j in range(n - positive + 1))
    expected = float(Fraction(2 * tail, 2**n))
    found = flip_test([1.0] * positive + [-1.0] * (n - positive) + [0.0] * 7)
    assert found.p_value == pytest.approx(expected, rel=1e-12)
    assert found.method == "exact"


@pytest.mark.full
@pytest.mark.parametrize("scale", [0.1, 1 / 3, 1e-3, 7.0, 1e-30])
def test_a_grid_is_found_in_spite_of_rounding(scale: float) -> None:
    """Differences of multiples of 0.1 and so on, as P@10 has them, beside integer arithmetic."""
    random = np.random.default_rng(5)
    a, b = random.integers(0, 11, (2, 400))
    steps = (a - b)[a != b].tolist()
    counts = {0: 1}
    for step in steps:
        moved: dict[int, int] = {}
        for reached, ways in counts.items():
            for sign in (-step, step):
                moved[reached + sign] = moved.get(reached + sign, 0) + ways
        counts = moved
    extreme = sum(ways for reached, ways in counts.items() if abs(reached) >= abs(sum(steps)))
    found = paired_permutation_test((a * scale).tolist(), (b * scale).tolist())
    assert (found.method, found.n_nonzero) == ("exact", len(steps))
    assert found.p_value == pytest.approx(float(Fraction(extreme, 2 ** len(steps))), rel=1e-12)


def test_reciprocal_ranks_lie_on_a_grid() -> None:
    """1, 1/2 .. 1/5 are multiples of 1/60: the same as with whole numbers."""
    random = np.random.default_rng(11)
    ranks = random.integers(1, 6, (2, 300))
    found = paired_permutation_test((1 / ranks[0]).tolist(), (1 / ranks[1]).tolist())
    whole = (60 // ranks).tolist()
    assert found.method == "exact"
    assert found.p_value == pytest.approx(paired_permutation_test(*whole).p_value, rel=1e-12)


def test_what_lies_on_no_grid_is_not_put_on_one() -> None:
    """The last are 1 but for a billionth part, which makes or breaks ties."""
    random = np.random.default_rng(3)
    nearly_one = 1.0 + 1e-9 * random.random(30)
    for differences in (random.normal(size=30), np.array(two_sizes(15, 15)), nearly_one):
        assert permutation._steps_on_grid(differences) is None


def test_what_would_take_long_is_sampled() -> None:
    """50,000 hits and 50,000 misses are on a grid, but of 100,000 by 50,000 additions."""
    found = flip_test([1.0, -1.0] * 50_000, n_resamples=100)
    assert (found.method, found.p_value) == ("sampled", 1.0)


@pytest.mark.full
def test_meeting_in_the_middle_counts_to_forty_four() -> None:
    """2**22 sums, not 2**44: √2 and 1 have no common step; the second way counts binomials."""
    differences = two_sizes(22, 22)
    with within_a_minute():
        found = flip_test(differences)
    assert (found.method, found.n_nonzero) == ("exact", 44)
    assert found.p_value == pytest.approx(exact_of_two_sizes(differences), rel=1e-12)


def test_runs_that_are_even_have_p_one() -> None:
    """20 up, 20 down: the observed sum of 0 is in both tails, and patterns count once."""
    assert flip_test([1.0, -1.0] * 20).p_value == 1.0


def test_many_differences_of_one_sign_do_not_have_p_zero() -> None:
    """2**-1999 is below the least number that doubles have."""
    found = flip_test([1.0] * 2000)
    assert found.p_value == found.smallest_p == 5e-324


# Sampled


def test_ties_are_counted_when_sampled() -> None:
    """One pattern in ten ties with the observed one; without tolerance half of them are lost."""
    differences = two_sizes(44, 2)
    exact = exact_of_two_sizes(differences)
    found = flip_test(differences, n_resamples=20_000)
    assert found.method == "sampled"
    assert abs(found.p_value - exact) < 4 * math.sqrt(exact * (1 - exact) / 20_000)


def test_flips_are_fair_and_independent() -> None:
    """Bits of 1024 resamples of 300 rows: rows and pairs of rows within 5 standard errors."""
    rows = np.eye(300)
    flips = permutation._flipped_sums(rows, np.random.PCG64([9, 0]))
    assert set(np.unique(flips)) == {0.0, 1.0}
    error = 5 * 0.5 / math.sqrt(1024)
    assert abs(flips.mean(axis=0) - 0.5).max() < error
    signs = 2.0 * flips - 1.0
    together = np.abs(signs.T @ signs / 1024 - np.eye(300)).max()
    assert together < 6 / math.sqrt(1024)


def test_a_seed_gives_the_same_p_and_another_another() -> None:
    differences = two_sizes(40, 30)
    first = flip_test(differences, n_resamples=2000, seed=4)
    assert first == flip_test(differences, n_resamples=2000, seed=4)
    assert first.p_value != flip_test(differences, n_resamples=2000, seed=5).p_value


@pytest.mark.full
def test_flips_belong_to_positions_whatever_else_is_tested() -> None:
    """One measure alone, among others, with rows after it, and with others missing."""
    random = np.random.default_rng(8)
    table = random.normal(0.1, 1.0, (600, 5))
    table[::7, 1] = math.nan
    table[:, 2] = np.sign(table[:, 2])  # exact, so that it leaves the matrix product
    together = sign_flip_tests(table, n_resamples=3000, seed=3)
    assert [found.method for found in together].count("sampled") == 4
    for at, found in enumerate(together):
        assert found == flip_test(table[:, at], n_resamples=3000, seed=3)
        a = [None if math.isnan(x) else float(x) for x in table[:, at]]
        assert found == paired_permutation_test(a, [0.0] * 600, n_resamples=3000, seed=3)
    longer = np.vstack((table, np.full((90, 5), math.nan)))
    assert sign_flip_tests(longer, n_resamples=3000, seed=3) == together


def test_more_resamples_begin_with_the_same_flips() -> None:
    """1500 resamples are 1000 and 500 more: counts grow by at most 500."""
    differences = two_sizes(40, 30)
    few = flip_test(differences, n_resamples=1000, seed=1).p_value * 1001
    many = flip_test(differences, n_resamples=1500, seed=1).p_value * 1501
    assert 0 <= round(many) - round(few) <= 500


def test_no_sampled_p_is_below_one_in_all_resamples_and_one() -> None:
    random = np.random.default_rng(0)
    found = flip_test(random.uniform(1.0, 2.0, 100), n_resamples=199)
    assert found == PermutationResult(1 / 200, "sampled", 100, 100, 1 / 200, 199)


def test_sampled_is_ten_thousand_times_from_seed_0_unless_told() -> None:
    """As docs/reference/python.md says."""
    random = np.random.default_rng(8)
    a, b = random.normal(0.3, 1.0, 60).tolist(), [0.0] * 60
    found = paired_permutation_test(a, b)
    assert found.n_resamples == 10_000
    assert found == paired_permutation_test(a, b, n_resamples=10_000, seed=0)
    assert found == flip_test(a)
    assert found.p_value != paired_permutation_test(a, b, seed=1).p_value


@pytest.mark.parametrize("units", [(1e-200, 1.0), (1.0, 1e200), (1e200, 1e-200)])
def test_measures_may_have_units_of_any_size(units: tuple[float, float]) -> None:
    """Their squares are no numbers any more; the p-values are those of usual units."""
    table = np.array([[0.3, 0.1], [0.1, 0.2], [-0.2, 0.4], [0.5, 0.3], [0.4, -0.1], [0.2, 0.6]])
    usual = sign_flip_tests(table, family=[0, 1])
    assert sign_flip_tests(table * np.array(units), family=[0, 1]) == usual


def twice(differences: Any, **options: Any) -> list[PermutationResult]:
    """Return the results of two equal measures, tested together."""
    table = np.array(differences, dtype=float)[:, np.newaxis].repeat(2, axis=1)
    return sign_flip_tests(table, family=[0, 1], **options)


def test_max_t_looks_at_every_pattern_of_16_samples_and_draws_from_17_on() -> None:
    """Of 16 equal signs, 2 of 2^16 patterns; of 17, none of 99 draws has all signs equal."""
    assert [one.p_adjusted for one in twice([1.0] * 16, n_resamples=99)] == [2.0**-15] * 2
    assert [one.p_adjusted for one in twice([1.0] * 17, n_resamples=99)] == [0.01] * 2
    [alone] = sign_flip_tests(np.ones((17, 1)), family=[0], n_resamples=99)
    assert alone.p_adjusted == alone.p_value == 2.0**-16


def test_a_measure_without_differences_has_no_part_in_max_t() -> None:
    table = np.column_stack((np.ones(17), np.zeros(17), np.ones(17)))
    found = sign_flip_tests(table, family=[0, 1, 2], n_resamples=99)
    assert [one.p_adjusted for one in found] == [0.01, 1.0, 0.01]


def test_no_adjusted_p_is_below_the_raw_one() -> None:
    """Ten of 17 are positive: p = 1 - 2 C(17, 8)/2^17 = 0.63, and a single draw gives 1/2 or 1."""
    differences = [1.0] * 10 + [-1.0] * 7
    raw = 1 - 2 * math.comb(17, 8) / 2**17
    found = {twice(differences, n_resamples=1, seed=seed)[0].p_adjusted or 0 for seed in range(10)}
    assert sorted(found) == [pytest.approx(raw), 1.0]


def test_stepping_down_no_p_falls_below_the_one_before() -> None:
    """Four equal signs: T = 2, p = 1/8. Eight of ten: T = 6/√10 < 2, p = 2 · 56/1024 = 0.109.

    T of the ten is at least 2 for sums of 8 and 10, 22 of 1024: the first p is
    1 - 7/8 · 1002/1024 = 0.1438, and the second is raised to it.
    """
    nothing = math.nan
    first = [1.0] * 4 + [nothing] * 10
    second = [nothing] * 4 + [1.0] * 8 + [-1.0] * 2
    found = sign_flip_tests(np.column_stack((first, second)), family=[0, 1])
    assert [one.p_value for one in found] == [1 / 8, 112 / 1024]
    assert [one.p_adjusted for one in found] == [pytest.approx(1 - 7 / 8 * 1002 / 1024)] * 2


def test_a_group_is_the_sum_of_its_pairs() -> None:
    """The first has none, the second one, the third cancels out but for rounding."""
    rest = [1234567.1, 2345678.2, -3580245.3]
    assert math.fsum(rest) != 0.0
    found = group_differences(
        np.array([math.nan, math.nan, 0.5, math.nan, *rest]), [1, 1, 2, 2, 3, 3, 3]
    )
    assert np.array_equal(found, [math.nan, 0.5, 0.0], equal_nan=True)


@pytest.mark.parametrize(("a", "b"), [(math.inf, 0.5), (0.5, -math.inf), (math.inf, math.inf)])
def test_neither_side_may_be_infinite(a: float, b: float) -> None:
    with pytest.raises(ValueError, match="scores must be finite"):
        paired_differences([a], [b])


@pytest.mark.full
def test_many_tests_at_once_share_the_time_of_one() -> None:
    """45 pairs of 44 samples would take 17 s: 12 samples less halve the sums twelve times.

    What is sampled instead agrees with the exact p within 4 standard errors.
    """
    random = np.random.default_rng(5)
    table = random.normal(0.2, 1.0, (44, 45))
    alone = permutation.sign_flip_tests(table[:, :2])
    together = permutation.sign_flip_tests(table, at_once=45)
    assert {found.method for found in alone} == {"exact"}
    assert {found.method for found in together} == {"sampled"}
    for one, other in zip(alone, together, strict=False):
        error = (one.p_value * (1.0 - one.p_value) / 10_000) ** 0.5
        assert abs(one.p_value - other.p_value) < 4.0 * error + 1e-4
    few = permutation.sign_flip_tests(table[:32], at_once=45)
    assert {found.method for found in few} == {"exact"}

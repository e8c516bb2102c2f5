"""D6: comparisons of paired scores, their notes, Holm, and each test by figures from elsewhere."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest

from pytest_rageval.errors import MissingExtraError
from pytest_rageval.model import MetricComparison, SignificanceTest
from pytest_rageval.stats import paired_tests
from pytest_rageval.stats.paired import compare_paired, holm

T_975_3 = 3.182446305284263  # scipy.stats.t.ppf(0.975, 3)


def compare(a: Any, b: Any, weights: Any = None, **options: Any) -> MetricComparison:
    """Return the comparison of one metric."""
    return compare_paired({"f1": (a, b)}, weights or [1.0] * len(a), **options)["f1"]


def against_zero(*columns: Any, **options: Any) -> list[MetricComparison]:
    """Return the comparisons of metrics whose scores are ``columns`` in A and 0 in B."""
    pairs = {f"m{at}": (column, [0.0] * len(column)) for at, column in enumerate(columns)}
    return list(compare_paired(pairs, [1.0] * len(columns[0]), **options).values())


# Means, intervals, the smallest difference


def test_means_are_over_the_pairs_that_both_sides_scored() -> None:
    """Pairs 1 and 4 with weights 1 and 3: (0.5 + 3·1)/4, (0.25 + 3·0.5)/4."""
    found = compare([0.5, None, 0.9, 1.0], [0.25, 0.7, math.nan, 0.5], [1.0, 9.0, 9.0, 3.0])
    assert (found.a_mean, found.b_mean, found.diff) == (0.875, 0.4375, 0.4375)
    assert (found.n, found.n_nonzero) == (2, 2)


def test_the_interval_is_students_and_the_smallest_difference_has_power_80() -> None:
    """Differences 1, 2, 3, 4: s = √(5/3), standard error s/2; t(0.8; 3) = 0.978472."""
    found = compare([1.0, 2.0, 3.0, 4.0], [0.0] * 4)
    error = math.sqrt(5 / 3) / 2
    assert found.diff == 2.5
    assert found.ci_low == pytest.approx(2.5 - T_975_3 * error, abs=1e-12)
    assert found.ci_high == pytest.approx(2.5 + T_975_3 * error, abs=1e-12)
    assert found.smallest_detectable == pytest.approx((T_975_3 + 0.978472) * error, rel=1e-6)


def test_the_smallest_difference_is_that_of_one_metric_among_all() -> None:
    """N6: the metrics that are judged share alpha, as max-T has it at most: t(1 - 0.05/4; 3).

    0.0125 on each side: 4.176535. Without a correction each has all of it.
    """
    rows = {"f1": ([1.0, 2.0, 3.0, 4.0], [0.0] * 4), "em": ([1.0, 0.0, 1.0, 1.0], [0.0] * 4)}
    error = math.sqrt(5 / 3) / 2
    for correction, t in (("max-t", 4.176535), ("holm", 4.176535), ("none", T_975_3)):
        found = compare_paired(rows, [1.0] * 4, correction=correction)["f1"]
        assert found.smallest_detectable == pytest.approx((t + 0.978472) * error, rel=1e-6)
    alone = compare_paired(rows, [1.0] * 4, tested_together=["f1"])["f1"]
    assert alone.smallest_detectable == pytest.approx((T_975_3 + 0.978472) * error, rel=1e-6)


def test_alpha_sets_the_confidence_and_the_smallest_difference() -> None:
    """0.1: t(0.95; 3) = 2.353363."""
    found = compare([1.0, 2.0, 3.0, 4.0], [0.0] * 4, alpha=0.1)
    error = math.sqrt(5 / 3) / 2
    assert found.ci_high == pytest.approx(2.5 + 2.353363 * error, rel=1e-6)
    assert found.smallest_detectable == pytest.approx((2.353363 + 0.978472) * error, rel=1e-6)


def test_weighted_differences_have_the_interval_of_a_ratio() -> None:
    """Weights 3, 1, 1, differences 0, 4, 4 (see test_summary): t(0.975; 14/11), t(0.8; 14/11)."""
    found = compare([1.0, 5.0, 5.0], [1.0, 1.0, 1.0], [3.0, 1.0, 1.0])
    error = math.sqrt(1.3824 * 25 / 14)
    assert found.diff == pytest.approx(1.6)
    assert found.ci_low == pytest.approx(1.6 - 7.7778482111187595 * error, rel=1e-9)
    smallest = (7.7778482111187595 + 1.226804457495436) * error
    assert found.smallest_detectable == pytest.approx(smallest, rel=1e-6)


def test_samples_of_weight_zero_take_no_part() -> None:
    with_zero = compare([0.5, 0.6, 0.9, 0.1], [0.4, 0.4, 0.1, 0.9], [1.0, 2.0, 3.0, 0.0])
    assert with_zero == compare([0.5, 0.6, 0.9], [0.4, 0.4, 0.1], [1.0, 2.0, 3.0])
    assert with_zero.n == 3


def test_the_tests_run_on_weight_times_difference() -> None:
    """0.1, 0.1, -0.2 by 4, 1, 1: 0.4, 0.1, -0.2 sum to 0.3; 0.7 0.3 0.5 0.1 have 3 of 4."""
    found = compare([0.1, 0.1, 0.0], [0.0, 0.0, 0.2], [4.0, 1.0, 1.0])
    assert found.p_value == 0.75


def test_lengths_must_match() -> None:
    with pytest.raises(ValueError, match="there are 2 and 1"):
        compare([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="2 pairs of scores have 3 weights"):
        compare([1.0, 2.0], [1.0, 2.0], [1.0] * 3)


# What a comparison says when there is little to say


@pytest.mark.parametrize("test", ["permutation", "t", "wilcoxon", "bootstrap"])
def test_without_pairs_nothing_is_computed(test: str) -> None:
    nothing = "no sample has a score on both sides"
    needed = 6 if test in ("permutation", "wilcoxon") else 2
    expected = MetricComparison(
        a_mean=None,
        b_mean=None,
        diff=None,
        ci_low=None,
        ci_high=None,
        p_value=None,
        p_adjusted=None,
        significant=False,
        n=0,
        n_nonzero=0,
        method="none",
        smallest_detectable=None,
        note=nothing,
        undecided=f"0 pairs cannot reach p < 0.05, whatever the scores; {needed} can",
    )
    assert compare([], [], test=test) == expected
    assert compare([None, 0.5], [0.5, math.nan], test=test) == expected
    assert compare([0.5, 0.5], [0.1, 0.2], [0.0, 0.0], test=test) == expected
    assert compare_paired({}, [1.0], test=test) == {}


@pytest.mark.parametrize("test", ["permutation", "t", "wilcoxon", "bootstrap"])
def test_one_pair_is_no_sample(test: str) -> None:
    found = compare([0.5, None], [0.25, 0.5], test=test)
    assert (found.a_mean, found.diff, found.n) == (0.5, 0.25, 1)
    assert (found.p_value, found.ci_low, found.smallest_detectable) == (None, None, None)
    assert found.note == "only 1 sample has a score on both sides; a test needs 2"
    assert found.method == "none"


@pytest.mark.parametrize(
    ("test", "p_value"),
    [("permutation", 1.0), ("t", None), ("wilcoxon", None), ("bootstrap", None)],
)
def test_equal_runs_are_said_to_be_equal(test: str, p_value: float | None) -> None:
    """0.1 + 0.2 and 0.3 are equal, too."""
    found = compare([0.1 + 0.2, 0.5, 1.0], [0.3, 0.5, 1.0], test=test)
    assert (found.p_value, found.significant) == (p_value, False)
    assert found.note == "no difference in any sample"
    assert (found.n, found.n_nonzero, found.diff) == (3, 0, 0.0)
    assert found.smallest_detectable is None


def test_differences_that_do_not_vary_have_no_t_test() -> None:
    """0.3 - 0.2 and 0.9 - 0.8 differ in the last digits: t would be about 1e15."""
    a, b = [0.3, 0.9, 0.6, 0.2, 0.7, 0.4], [0.2, 0.8, 0.5, 0.1, 0.6, 0.3]
    found = compare(a, b, test="t")
    assert (found.p_value, found.method) == (None, "none")
    assert found.note == "the differences do not vary: a t test says nothing"
    found = compare(a, b, test="bootstrap")
    assert (found.p_value, found.note) == (
        None,
        "the differences do not vary: a bootstrap says nothing",
    )
    found = compare(a, b)
    assert (found.p_value, found.significant) == (0.03125, True)
    assert found.note == "the differences do not vary: the interval has no width"
    assert found.smallest_detectable is None


@pytest.mark.parametrize(
    ("differing", "note"),
    [
        (1, "1 sample differs: p cannot fall below 1; 6 would be needed for 0.05"),
        (2, "2 samples differ: p cannot fall below 0.5; 6 would be needed for 0.05"),
        (4, "4 samples differ: p cannot fall below 0.125; 6 would be needed for 0.05"),
        (5, "5 samples differ: p cannot fall below 0.0625; 6 would be needed for 0.05"),
        (6, ""),
    ],
)
def test_too_few_differences_to_reach_alpha_are_said(differing: int, note: str) -> None:
    a = [0.1 * (at + 1) for at in range(differing)] + [0.0] * 4
    found = compare(a, [0.0] * len(a))
    assert (found.p_value, found.note) == (2.0 ** (1 - differing), note)
    assert found.significant is (differing == 6)


def test_significant_is_below_alpha_and_not_at_it() -> None:
    """Five differences of one sign: p = 2/32 = 0.0625, which doubles hold."""
    five = [0.1, 0.2, 0.3, 0.4, 0.5]
    assert not against_zero(five, alpha=0.0625)[0].significant
    assert against_zero(five, alpha=0.0626)[0].significant


def test_too_few_differences_for_ranks_are_said() -> None:
    """Ranks 1..4 all positive: 2 of 16."""
    pytest.importorskip("scipy")
    found = compare([0.1, 0.2, 0.3, 0.4], [0.0] * 4, test="wilcoxon")
    assert found.p_value == 0.125
    assert found.note == "4 samples differ: p cannot fall below 0.125; 6 would be needed for 0.05"
    assert compare([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0] * 6, test="wilcoxon").note == ""


def test_a_p_value_that_ranks_cannot_give_is_said_to_be_approximate() -> None:
    """Two differences and many zeros: scipy gives 0.18 (z = 1.5/√1.25), two ranks at least 2/4."""
    pytest.importorskip("scipy")
    found = compare([0.1, 0.2, *[0.0] * 18], [0.0] * 20, test="wilcoxon")
    assert found.p_value == pytest.approx(0.179712, abs=1e-6)
    assert found.note == "2 differ: p is a normal approximation, ranks give none below 0.5"


def test_holm_is_counted_in_what_can_be_reached() -> None:
    """Three metrics of six differences each: 3/32; with seven one would have 3/64."""
    six = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0]
    found = against_zero(six, six, six, correction="holm")
    assert {one.note for one in found} == {
        "6 samples differ: p cannot fall below 0.03125, 0.09375 adjusted over 3 metrics; "
        "7 would be needed for 0.05"
    }
    assert [one.p_adjusted for one in found] == [0.09375] * 3
    assert not any(one.significant for one in found)
    # Seven: 3/64 = 0.047 is enough for one, and then 2/32 is not for the others.
    seven = [*six[:6], 0.7]
    found = against_zero(six, seven, six, correction="holm")
    assert [one.significant for one in found] == [False, True, False]
    assert found[1].note == ""
    assert "0.0625 adjusted over 3 metrics; 7 would be needed" in found[0].note


def test_too_few_resamples_to_reach_alpha_are_said() -> None:
    """1/(19 + 1) is not below 0.05; 20 give 1/21. Over two metrics 2/21 again is not."""
    random = np.random.default_rng(0)
    values = random.uniform(1.0, 2.0, 60).tolist()
    [found] = against_zero(values, n_resamples=19)
    assert (found.p_value, found.method) == (0.05, "permutation, 19 sampled")
    assert found.note == "19 resamples: p cannot fall below 0.05; 20 would be needed for 0.05"
    assert found.undecided == "19 resamples cannot reach p < 0.05; 20 can"
    # By max-T, 32 rows that differ in either metric are sampled, 16 of one would not be.
    half, other = [1.0] * 16 + [None] * 16, [None] * 16 + [1.0] * 16
    found, _ = against_zero(half, other, n_resamples=999, alpha=0.001)
    assert found.undecided == "999 resamples cannot reach p < 0.001; 1000 can"
    [found] = against_zero(values, n_resamples=15, alpha=0.06)
    assert found.note.endswith("; 16 would be needed for 0.06")  # 1/17 = 0.0588
    [found] = against_zero(values, n_resamples=20)
    assert (found.significant, found.note, found.undecided) == (True, "", "")
    found, _ = against_zero(values, values, n_resamples=20, correction="holm")
    assert found.note == (
        "20 resamples: p cannot fall below 0.04762, 0.09524 adjusted over 2 metrics; "
        "40 would be needed for 0.05"
    )
    found, _ = against_zero(values, values, n_resamples=40, test="bootstrap")
    assert (found.p_adjusted, found.note) == (pytest.approx(2 / 41), "")
    assert found.method == "bootstrap, 40"
    [found] = against_zero(values, n_resamples=19, test="bootstrap")
    assert found.note == "19 resamples: p cannot fall below 0.05; 20 would be needed for 0.05"


@pytest.mark.parametrize(
    ("pairs", "alpha", "undecided"),
    [
        (4, 0.0625, "4 pairs cannot reach p < 0.0625, whatever the scores; 6 can"),
        # 2^-4 is not below 0.0625.
        (5, 0.0625, "5 pairs cannot reach p < 0.0625, whatever the scores; 6 can"),
        (6, 0.0625, ""),
        (5, 0.063, ""),
    ],
)
def test_so_many_pairs_are_needed_that_p_is_below_alpha(
    pairs: int, alpha: float, undecided: str
) -> None:
    assert compare([0.0] * pairs, [0.0] * pairs, alpha=alpha).undecided == undecided


def test_two_pairs_are_enough_for_a_test_that_counts_no_signs() -> None:
    assert compare([0.4, 0.1], [0.0, 0.0], test="bootstrap").undecided == ""
    alone = compare([0.4], [0.0], test="bootstrap").undecided
    assert alone == "1 pair cannot reach p < 0.05, whatever the scores; 2 can"


@pytest.mark.parametrize(("alpha", "needed"), [(0.6, 2), (0.0625, 6), (0.063, 5)])
def test_so_many_must_differ_that_p_is_below_alpha(alpha: float, needed: int) -> None:
    """2^-1 < 0.6; 2^-4 = 0.0625 is not below 0.0625, and below 0.063."""
    found = compare([1.0, *[0.0] * 9], [0.0] * 10, alpha=alpha)
    assert found.note == (
        f"1 sample differs: p cannot fall below 1; {needed} would be needed for {alpha:g}"
    )


def test_what_two_metrics_could_reach_is_by_the_correction_that_is_used() -> None:
    """Six pairs reach 2^-5 = 0.03125, five 0.0625; Holm's 2 · 0.03125 is not below 0.05."""
    six = [1.0] * 6
    five = [*six[:5], 0.0]
    for columns, limited in (((six, five), [False, True]), ((five, six), [True, False])):
        found = against_zero(*columns)
        assert ["5 samples differ: p cannot fall" in one.note for one in found] == limited
        assert [one.significant for one in found] == [not one for one in limited]
    first, _ = against_zero(six, six, correction="holm")
    assert "0.0625 adjusted over 2 metrics; 7 would be needed for 0.05" in first.note


def test_max_t_needs_no_more_draws_for_two_metrics() -> None:
    values = np.random.default_rng(0).uniform(1.0, 2.0, 60).tolist()
    found, _ = against_zero(values, values, n_resamples=19)
    assert found.note == "19 resamples: p cannot fall below 0.05; 20 would be needed for 0.05"


@pytest.mark.parametrize(
    ("pairs", "metrics", "options", "undecided"),
    [
        (17, 2, {}, "100 resamples cannot reach p < 0.005; 200 can"),
        # 16 pairs have 2^15 patterns, which max-T looks at; a metric alone is counted exactly.
        (16, 2, {}, ""),
        (17, 1, {}, ""),
        (17, 2, {"correction": "holm"}, ""),
    ],
)
def test_max_t_draws_where_a_metric_alone_is_counted(
    pairs: int, metrics: int, options: dict[str, Any], undecided: str
) -> None:
    """1/(100 + 1) is not below 0.005."""
    columns = [[0.5] * pairs] * metrics
    found = against_zero(*columns, alpha=0.005, n_resamples=100, **options)
    assert [one.undecided for one in found] == [undecided] * metrics


# Holm


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([], []),
        ([0.04], [0.04]),
        # 4·0.01; 3·0.03; 2·0.04 = 0.08 is raised to 0.09; 1·0.1
        ([0.03, 0.01, 0.1, 0.04], [0.09, 0.04, 0.1, 0.09]),
        ([0.02, 0.02], [0.04, 0.04]),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.9, 0.8], [1.0, 1.0]),
        ([0.0, 1.0], [0.0, 1.0]),
    ],
)
def test_holm_multiplies_by_the_number_that_is_left(
    p_values: list[float], adjusted: list[float]
) -> None:
    assert holm(p_values) == pytest.approx(adjusted, abs=1e-15)


def test_holm_is_over_the_metrics_that_have_a_p_value() -> None:
    """Three of four: 0.03125 and 0.0078125 and the 1.0 of equal runs."""
    zero = [0.0] * 8
    six = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0, 0.0]
    eight = [*six[:6], 0.7, 0.8]
    found = compare_paired(
        {
            "six": (six, zero),
            "none": ([None] * 8, zero),
            "eight": (eight, zero),
            "same": (zero, zero),
        },
        [1.0] * 8,
        correction="holm",
    )
    assert {name: one.p_adjusted for name, one in found.items()} == {
        "six": pytest.approx(2 * 0.03125),
        "none": None,
        "eight": pytest.approx(3 * 0.0078125),
        "same": 1.0,
    }
    assert [name for name, one in found.items() if one.significant] == ["eight"]


# max-T


def max_t(columns: list[list[float]]) -> list[float]:
    """Westfall and Young's step-down max-T over all sign patterns, as the book has it."""
    norms = [math.sqrt(math.fsum(d * d for d in column)) for column in columns]

    def statistics_of(signs: tuple[int, ...]) -> list[float]:
        return [
            abs(math.fsum(sign * d for sign, d in zip(signs, column, strict=True))) / norm
            for column, norm in zip(columns, norms, strict=True)
        ]

    n = len(columns[0])
    observed = statistics_of((1,) * n)
    order = sorted(range(len(columns)), key=lambda at: -observed[at])
    counts = [0] * len(columns)
    for signs in product((1, -1), repeat=n):
        found = statistics_of(signs)
        for rank, at in enumerate(order):
            largest = max(found[other] for other in order[rank:])
            counts[at] += largest >= observed[at] - 1e-9
    adjusted, reached = [0.0] * len(columns), 0.0
    for at in order:
        reached = adjusted[at] = max(reached, counts[at] / 2**n)
    return adjusted


def test_max_t_is_the_share_of_patterns_whose_largest_statistic_is_as_large() -> None:
    """S4: three correlated metrics of eight samples, all 256 patterns by an independent way."""
    random = np.random.default_rng(5)
    common = random.normal(0.6, 0.5, 8)
    columns = [(common + random.normal(0.0, spread, 8)).tolist() for spread in (0.1, 0.4, 1.5)]
    found = against_zero(*columns)
    assert [one.p_adjusted for one in found] == pytest.approx(max_t(columns), abs=1e-12)
    holms = against_zero(*columns, correction="holm")
    assert [one.p_value for one in found] == [one.p_value for one in holms]
    for ours, other in zip(found, holms, strict=True):
        assert ours.p_value is not None
        assert ours.p_adjusted is not None
        assert other.p_adjusted is not None
        assert ours.p_value <= ours.p_adjusted <= other.p_adjusted


def test_max_t_of_the_same_metric_twice_asks_no_price() -> None:
    """S4: where Holm doubles the p-value."""
    seven = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert [one.p_adjusted for one in against_zero(seven, seven)] == [0.015625] * 2
    assert [one.p_adjusted for one in against_zero(seven, seven, correction="holm")] == [
        0.03125
    ] * 2
    assert [one.p_adjusted for one in against_zero(seven, seven, correction="none")] == [
        0.015625
    ] * 2


def test_max_t_is_sampled_where_there_are_too_many_patterns() -> None:
    """S4: beyond 16 samples that differ; by chance near the enumeration, never below the raw p."""
    random = np.random.default_rng(8)
    sixteen = random.normal(0.3, 0.6, (3, 16)).tolist()
    exact = against_zero(*sixteen)
    # A 17th sample that differs by next to nothing makes it a sampled one.
    more = [[*column, 1e-9] for column in sixteen]
    sampled = against_zero(*more, n_resamples=40_000)
    for one, other in zip(exact, sampled, strict=True):
        assert one.p_adjusted is not None
        assert other.p_adjusted is not None
        assert other.p_value is not None
        assert abs(one.p_adjusted - other.p_adjusted) < 4 * math.sqrt(0.25 / 40_000)
        assert other.p_adjusted >= other.p_value
    assert sampled == against_zero(*more, n_resamples=40_000)
    assert exact[0].method == "permutation, exact"


def test_a_missing_pair_adds_nothing_to_max_t() -> None:
    """S4: the second metric lacks the samples 7 and 8; as if they were 0 there."""
    first = [0.3, 0.1, 0.4, 0.1, 0.5, 0.9, 0.2, 0.6]
    second = [0.2, -0.1, 0.1, 0.3, 0.1, 0.4]
    found = against_zero(first, [*second, None, None])
    assert [one.p_adjusted for one in found] == pytest.approx(
        max_t([first, [*second, 0.0, 0.0]]), abs=1e-12
    )
    assert [one.n for one in found] == [8, 6]


def test_max_t_with_equal_runs_and_without_pairs() -> None:
    """S4: a metric without a difference has p 1 and costs the others nothing."""
    six, zero = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.0] * 6
    found = against_zero(six, zero, [None] * 6)
    assert [one.p_adjusted for one in found] == [0.03125, 1.0, None]
    assert [one.significant for one in found] == [True, False, False]


def test_a_metric_that_is_only_shown_costs_nothing() -> None:
    """S4: it has its raw p, no adjusted one, and the others are as without it."""
    random = np.random.default_rng(6)
    columns = {
        f"m{at}": (column, [0.0] * 30)
        for at, column in enumerate(random.normal(0.2, 1, (3, 30)).tolist())
    }
    weights = [1.0] * 30
    for correction in ("max-t", "holm"):
        among = compare_paired(
            columns, weights, tested_together=["m0", "m1"], correction=correction
        )
        without = compare_paired(
            {name: columns[name] for name in ("m0", "m1")}, weights, correction=correction
        )
        assert {name: among[name] for name in without} == without
        assert among["m2"].p_value is not None
        assert (among["m2"].p_adjusted, among["m2"].significant) == (None, False)


@pytest.mark.parametrize("test", ["t", "wilcoxon", "bootstrap"])
def test_other_tests_take_holm_in_place_of_max_t(test: str) -> None:
    """S4: only flips are shared."""
    if test != "bootstrap":
        pytest.importorskip("scipy")
    columns = np.random.default_rng(9).normal(0.4, 1.0, (2, 20)).tolist()
    assert against_zero(*columns, test=test) == against_zero(*columns, test=test, correction="holm")


# Groups


def test_flips_are_of_groups() -> None:
    """S2: sums of groups 0.3, 0.4, 0.1: p = 2/2^3; their samples would have 2/2^5."""
    found = compare([0.1, 0.2, 0.4, 0.2, -0.1], [0.0] * 5, groups=[0, 0, 1, 2, 2])
    assert (found.p_value, found.n, found.n_nonzero, found.groups) == (0.25, 5, 5, 3)
    assert found.undecided == "3 groups cannot reach p < 0.05, whatever the scores; 6 can"
    assert found.note == "3 groups differ: p cannot fall below 0.25; 6 would be needed for 0.05"


def test_a_group_whose_differences_cancel_does_not_differ() -> None:
    """S2: 0.1 + 0.2 - 0.3 is 0, though not in doubles."""
    found = compare([0.1, 0.2, -0.3, 0.5, 0.5], [0.0] * 5, groups=[3, 3, 3, 5, 6])
    assert found.p_value == 0.5  # 0, 0.5, 0.5: two of four


def test_the_interval_of_a_difference_is_by_group() -> None:
    """S2: differences 2 4 | 0 0: half = t(0.975; 1) · 1.5 as there, t(0.8; 1) tan 0.3π."""
    found = compare([2.0, 4.0, 0.0, 0.0], [0.0] * 4, groups=[5, 5, 6, 6])
    half = math.tan(0.475 * math.pi) * 1.5
    assert found.ci_low == pytest.approx(1.5 - half, rel=1e-11)
    smallest = (math.tan(0.475 * math.pi) + math.tan(0.3 * math.pi)) * 1.5
    assert found.smallest_detectable == pytest.approx(smallest, rel=1e-6)


def test_groups_whose_means_are_equal_have_no_known_spread() -> None:
    """S2: each has 0 and -1; their rows vary, and the interval is by group."""
    found = compare([0.0, -1.0] * 20, [0.0] * 40, groups=[at // 2 for at in range(40)])
    assert found.smallest_detectable is None
    assert found.note == "the differences do not vary: the interval has no width"


def test_what_is_shown_is_decided() -> None:
    """S4: six rises, 2/64; the other metric's p is less, so that Holm's method takes it once."""
    rises = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, *[None] * 94]
    found, _ = against_zero(rises, [1.0 + at / 100 for at in range(100)], correction="holm")
    assert (found.p_adjusted, found.significant, found.undecided) == (0.03125, True, "")


def test_one_group_says_nothing() -> None:
    """S2: five answers to one question."""
    found = compare([0.5, 0.6, 0.7], [0.1, 0.2, 0.2], groups=[1, 1, 1])
    assert (found.p_value, found.ci_low, found.groups) == (None, None, 1)
    assert found.note == "only 1 group has a score on both sides; a test needs 2"


# The tests themselves


def test_a_wilcoxon_test_counts_ranks() -> None:
    """Ranks 1..7, only rank 2 negative: sums of negative ranks up to 2 are {}, {1}, {2}: 3 of 128,
    twice."""
    pytest.importorskip("scipy")
    found = compare([1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [0.0] * 7, test="wilcoxon")
    assert found.p_value == pytest.approx(6 / 128, abs=1e-15)
    assert found.method == "wilcoxon"


def test_a_large_wilcoxon_test_is_normal_with_continuity_correction() -> None:
    """Ranks 1..60, the last 20 negative: 41 + ... + 60 = 1010 against 915 ± √(60·61·121/24)."""
    pytest.importorskip("scipy")
    values = [float(rank if rank <= 40 else -rank) for rank in range(1, 61)]
    z = (1010 - 915 - 0.5) / math.sqrt(60 * 61 * 121 / 24)
    expected = 2 * (1 - statistics.NormalDist().cdf(z))
    found = compare(values, [0.0] * 60, test="wilcoxon")
    assert found.p_value == pytest.approx(expected, abs=1e-12)


def test_which_wilcoxon_it_is_has_a_name_in_scipy() -> None:
    """S5: as the docs say; scipy's default has no continuity correction there."""
    stats = pytest.importorskip("scipy.stats")
    for n in (49, 50, 80):
        values = np.random.default_rng(n).normal(0.2, 1.0, n)
        how = {"method": "approx", "correction": True} if n >= 50 else {}
        found = compare(values.tolist(), [0.0] * n, test="wilcoxon")
        assert found.p_value == pytest.approx(stats.wilcoxon(values, **how).pvalue, abs=1e-12)
        if n >= 50:
            assert found.p_value != pytest.approx(stats.wilcoxon(values).pvalue, abs=1e-4)


def test_a_bootstrap_is_the_share_of_means_as_far_off() -> None:
    """Differences 0 and 1: resampled means 0, ½, 1 with ¼, ½, ¼; those a half off ½ have ½."""
    found = compare([0.0, 1.0], [0.0, 0.0], test="bootstrap", n_resamples=20_000)
    assert found.p_value is not None
    assert abs(found.p_value - 0.5) < 4 * math.sqrt(0.25 / 20_000)
    assert found.method == "bootstrap, 20000"


def test_a_bootstrap_of_yes_and_no_is_binomial() -> None:
    """30 of 40 are 1, the others 0: as far off as 0 is a mean of 0 or 1.5: only 0, never seen.

    With -1 instead of 0 the mean is ½: off by a half are means of 0 or 1, k <= 20 or k = 40 of 40
    with 3/4 each.
    """
    found = compare([1.0] * 30 + [0.0] * 10, [0.0] * 40, test="bootstrap", n_resamples=999)
    assert found.p_value == 1 / 1000
    found = compare([1.0] * 30 + [-1.0] * 10, [0.0] * 40, test="bootstrap", n_resamples=100_000)
    tail = [math.comb(40, k) * 0.75**k * 0.25 ** (40 - k) for k in (*range(21), 40)]
    expected = math.fsum(tail)
    assert found.p_value is not None
    assert abs(found.p_value - expected) < 4 * math.sqrt(expected / 100_000)


def test_a_bootstrap_counts_ties() -> None:
    """Ninths, whose sums round: all 6**6 resamples in whole numbers; sums of 0 and 32 are ties."""
    ninths = [0, 0, 0, 5, 5, 6]
    sums = [sum(picked) for picked in product(ninths, repeat=6)]
    expected = sum(abs(found - 16) >= 16 for found in sums) / 6**6
    assert (sums.count(0) + sums.count(32)) / 6**6 == pytest.approx(expected, rel=0.5)
    found = compare(
        [k / 9 for k in ninths], [0.0] * 6, test="bootstrap", n_resamples=200_000, seed=5
    )
    assert found.p_value is not None
    assert abs(found.p_value - expected) < 4 * math.sqrt(expected / 200_000)


def test_a_bootstrap_counts_every_resample() -> None:
    """Differences 1 and -1: any mean is at least as far off 0 as 0, 99 of 99."""
    assert compare([1.0, -1.0], [0.0, 0.0], test="bootstrap", n_resamples=99).p_value == 1.0


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_a_bootstrap_knows_no_unit(size: float) -> None:
    values = [0.3, 0.1, -0.2, 0.5, 0.4]
    usual, other = (
        compare([one * unit for one in values], [0.0] * 5, test="bootstrap", n_resamples=999)
        for unit in (1.0, size)
    )
    assert usual.p_value == other.p_value


@pytest.mark.parametrize("test", ["permutation", "bootstrap"])
def test_a_seed_gives_the_same_p_value(test: str) -> None:
    random = np.random.default_rng(4)
    a, b = random.random((2, 80)).tolist()
    first = compare(a, b, test=test, seed=1, n_resamples=500)
    assert first == compare(a, b, test=test, seed=1, n_resamples=500)
    assert first.p_value != compare(a, b, test=test, seed=2, n_resamples=500).p_value


def test_draws_and_seed_are_those_of_a_comparison_unless_told() -> None:
    """As SignificanceTest has them."""
    a, b = np.random.default_rng(8).normal(0.3, 1.0, 60).tolist(), [0.0] * 60
    usual = SignificanceTest()
    found = compare(a, b)
    assert found == compare(a, b, n_resamples=usual.n_resamples, seed=usual.seed)
    assert found.method == "permutation, 10000 sampled"
    assert found.p_value != compare(a, b, seed=usual.seed + 1).p_value


def test_a_metric_has_the_same_p_value_alone_and_among_others() -> None:
    random = np.random.default_rng(14)
    columns = random.normal(0.1, 1.0, (3, 100)).tolist()
    columns[1][::5] = [None] * 20
    together = against_zero(*columns, n_resamples=1000)
    alone = [against_zero(column, n_resamples=1000)[0] for column in columns]
    assert [one.p_value for one in together] == [one.p_value for one in alone]
    assert together[0].method == "permutation, 1000 sampled"


def test_without_scipy_the_message_is_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired_tests, "installed", lambda _: False)
    for test in ("t", "wilcoxon"):
        with pytest.raises(MissingExtraError, match=f"'{test}' needs .* pip install scipy"):
            compare([1.0, 2.0, 4.0], [0.0] * 3, test=test)
    assert compare([1.0, 2.0, 4.0], [0.0] * 3, test="bootstrap").p_value is not None


@pytest.mark.full
def test_neither_numpy_nor_scipy_is_loaded_before_it_is_needed() -> None:
    """Start-up is measured; the permutation test needs numpy only."""
    program = (
        "import sys; from pytest_rageval.stats.paired import compare_paired; "
        "assert 'numpy' not in sys.modules; "
        "compare_paired({'f1': ([1.0, 2.0], [0.0, 0.0])}, [1.0, 1.0]); "
        "assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

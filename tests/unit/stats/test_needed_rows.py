"""How many rows see a fall: by hand, by statsmodels, and never known from next to nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pytest_rageval.model import Comparison
from pytest_rageval.stats.needed_rows import (
    MOST_ROWS,
    Spread,
    alpha_of,
    spread_of_differences,
    spread_of_scores,
)
from pytest_rageval.stats.paired import compare_paired


def spread(deviation: float, rows: int = 300, groups: int | None = None) -> Spread:
    """Return what so many rows know whose differences have this standard deviation."""
    return Spread(deviation / math.sqrt(groups or rows), rows, groups, 0.5)


def compared(
    differences: Sequence[float], *more: Sequence[float], alpha: float = 0.05, **options: object
) -> Comparison:
    """Return a comparison of f1, and of metrics m1, m2, ..., with these differences."""
    pairs = {
        "f1" if not at else f"m{at}": (list(one), [0.0] * len(one))
        for at, one in enumerate((differences, *more))
    }
    weights = options.pop("weights", [1.0] * len(differences))
    found = compare_paired(pairs, weights, alpha=alpha, n_resamples=100, **options)  # type: ignore[arg-type]
    return Comparison("main", "permutation", alpha, found, correction="max-t")


def test_the_number_of_rows_by_hand() -> None:
    """(1.959964 + 0.841621)² = 7.848879; times (0.25/0.02)² = 1226.4, and Student's t a little."""
    assert spread(0.25).needed(0.02, 0.05) in range(1227, 1231)
    # (2.241403 + 0.841621)² · 156.25 = 1485.1 at alpha 0.05/2.
    assert spread(0.25).needed(0.02, 0.025) in range(1486, 1490)


@pytest.mark.parametrize("alpha", [0.05, 0.001])
@pytest.mark.parametrize("effect", [0.05, 0.2, 0.8])
def test_the_number_of_rows_as_statsmodels_has_it(effect: float, alpha: float) -> None:
    """Its power is by the noncentral t, ours by the sum of two quantiles: one row in few."""
    power = pytest.importorskip("statsmodels.stats.power")
    theirs = power.TTestPower().solve_power(effect, alpha=alpha, power=0.8)
    ours = spread(1.0).needed(effect, alpha)
    assert -1 <= ours - theirs <= 3


def test_a_test_takes_some_rows_however_small_the_spread() -> None:
    """2^(1 - 6) = 0.031 is below 0.05, and 2^(1 - 11) = 0.00098 below 0.001."""
    assert spread(1e-9).needed(0.5, 0.05) == 6
    assert spread(1e-9).needed(0.5, 0.001) == 11


def test_what_the_rows_see_is_the_smallest_detectable_difference() -> None:
    """Also with weights, groups and several metrics; so many rows more see what they name."""
    random = np.random.default_rng(5)
    one, other = random.normal(0.0, 0.3, 60).tolist(), random.normal(0.0, 0.2, 60).tolist()
    groups = [at // 3 for at in range(60)]
    for found in (
        compared(one),
        compared(one, other, weights=random.choice([1.0, 5.0], 60).tolist()),
        compared(one, groups=groups),
    ):
        metric, alpha = found.metrics["f1"], alpha_of(found)
        ours = spread_of_differences(found, "f1")
        assert ours.units == (20 if metric.groups else 60)
        assert ours.seen(ours.units, alpha) == pytest.approx(metric.smallest_detectable)
        needed = ours.needed(0.02, alpha)
        assert ours.seen(needed, alpha) <= 0.02 < ours.seen(needed - 1, alpha)


def test_weights_take_more_rows() -> None:
    """The effective size of 60 rows of weights 1 and 5 is about 43."""
    random = np.random.default_rng(6)
    one = random.normal(0.0, 0.3, 60).tolist()
    equal = spread_of_differences(compared(one), "f1").needed(0.02, 0.05)
    found = compared(one, weights=[1.0, 5.0] * 30)
    assert spread_of_differences(found, "f1").needed(0.02, 0.05) > 1.15 * equal


def test_metrics_share_alpha() -> None:
    """Two of them: 0.025 each."""
    one = [0.1, -0.2] * 10
    assert alpha_of(compared(one, one[::-1])) == 0.025
    assert alpha_of(compared(one, alpha=0.01)) == 0.01


def test_a_fall_is_excluded_also_by_rows_that_do_not_change() -> None:
    """The interval counts a pair that fell by 1: (1 - x)^n = 0.025, so x is about 3.689/n.

    3.689/0.02 = 184, for a spread that is next to nothing; a spread takes more.
    """
    assert spread(1e-9).needed(0.02, 0.05, 1.0) == 185
    assert spread(1e-9).needed(0.1, 0.05, 5.0) == 185
    few, many = spread(0.25).needed(0.05, 0.05), spread(0.25).needed(0.05, 0.05, 1.0)
    assert few < many < 1.5 * few


@pytest.mark.parametrize(
    ("differences", "why"),
    [
        ([0.5] * 9, "only 9 rows"),
        ([0.5], "only 1 row"),
        ([0.0] * 291 + [0.5] * 9, "only 9 of 300 rows differ"),
        ([0.0] * 300, "only 0 of 300 rows differ"),
        ([-0.5] * 300, "all differences are equal"),
    ],
)
def test_from_next_to_nothing_it_is_not_known(differences: list[float], why: str) -> None:
    assert spread_of_differences(compared(differences), "f1").unknown == why


def test_groups_are_what_is_counted() -> None:
    """Thirty rows in three groups are three."""
    found = compared([0.1, -0.2] * 15, groups=[at % 3 for at in range(30)])
    assert spread_of_differences(found, "f1").unknown == "only 3 groups"


def test_two_runs_with_nothing_in_common_spread_twice_as_much() -> None:
    """Half of 100 scores are 1: the variance of a mean is 0.25/99, of a difference twice that."""
    scores, weights = [0.0, 1.0] * 50, [1.0] * 100
    found = spread_of_scores(scores, weights, None)
    assert found == Spread(pytest.approx(math.sqrt(0.5 / 99)), 100, None, 0.5)  # type: ignore[arg-type]
    groups = [at // 2 for at in range(100)]
    assert spread_of_scores([0.0, 0.0, 1.0, 1.0] * 25, weights, groups) == replace(
        found,
        groups=50,
        error=pytest.approx(math.sqrt(0.5 / 49)),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("scores", "weights", "why"),
    [
        ([0.0, 1.0, 0.5], None, "only 3 rows"),
        ([], None, "only 0 rows"),
        ([1.0] * 95 + [0.0] * 5, None, "only 5 of 100 scores differ from the others"),
        ([0.0, 1.0] * 50, [1e9] + [1.0] * 99, "a single row has nearly all the weight"),
    ],
)
def test_scores_of_one_run_may_not_say_it(
    scores: list[float], weights: list[float] | None, why: str
) -> None:
    assert spread_of_scores(scores, weights or [1.0] * len(scores), None).unknown == why


@pytest.mark.parametrize("fall", [1e-10, 1e-12, 1e-160, 5e-324])
def test_a_fall_that_nobody_can_see_takes_no_time(fall: float) -> None:
    """Student's t of so many degrees took minutes, and more than a float holds was an error."""
    assert spread(0.25).needed(fall, 0.05) == MOST_ROWS
    assert spread(0.25).needed(fall, 5e-324, margin=1.0) == MOST_ROWS

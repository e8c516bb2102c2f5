"""Two runs over the same samples compared: differences, intervals, tests, what they could show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from pytest_rageval.model import MetricComparison, TestName
from pytest_rageval.stats.student import t_quantile
from pytest_rageval.stats.summary import weighted_interval
from pytest_rageval.stats.weights import tame, weighted_mean

# What imports numpy is imported where it is used: numpy takes longer to load than this package.
if TYPE_CHECKING:
    from pytest_rageval.stats.paired_tests import Tested
    from pytest_rageval.stats.permutation import Array

Scores = Sequence[float | None]

_UNBOUNDED: Final = (-math.inf, math.inf)
_POWER: Final = 0.8


def compare_paired(
    pairs: Mapping[str, tuple[Scores, Scores]],
    weights: Sequence[float],
    *,
    test: TestName = "permutation",
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    seed: int = 42,
) -> dict[str, MetricComparison]:
    """Return for each metric how its scores A differ from its scores B, two-sided.

    ``pairs`` holds two lists of scores of the same samples for each metric, ``weights`` one weight
    for each sample. A sample takes part when both sides have a score (neither None nor NaN) and
    its weight is above 0. The interval of the difference is the t interval of the ratio estimator
    at the confidence 1 - ``alpha``; tests run on weight times difference. Holm's adjustment is over
    the metrics that have a p-value. Where a test says nothing, or could never have reached
    ``alpha``, ``note`` says why.

    Raises ValueError when lengths differ, MissingExtraError where a test needs scipy and there is
    none.
    """
    from pytest_rageval.stats.paired_tests import run_paired_test

    columns = [_column(a, b, weights) for a, b in pairs.values()]
    tested = run_paired_test(
        test, [column.weighted for column in columns], n_resamples=n_resamples, seed=seed
    )
    adjusted = _holm_where_tested([found.p_value for found in tested])
    limits = _limits(tested, alpha)
    return {
        name: _comparison(columns[at], tested[at], adjusted[at], alpha, limits[at])
        for at, name in enumerate(pairs)
    }


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's step-down adjustment of p-values, in the order given (Holm 1979).

    The smallest of m is multiplied by m, the next by m - 1, and so on; none falls below the one
    before it, none exceeds 1.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min((len(p_values) - rank) * p_values[at], 1.0))
        adjusted[at] = reached
    return adjusted


def power_factor(alpha: float) -> float:
    """Return how many standard errors a difference must have to be found with a power of 80 %.

    That is z(1 - alpha/2) + z(0.8), for a two-sided test at ``alpha``.

    >>> round(power_factor(0.05), 4)
    2.8016
    """
    normal = NormalDist()
    return normal.inv_cdf(1.0 - alpha / 2.0) + normal.inv_cdf(_POWER)


@dataclass(frozen=True, slots=True)
class _Column:
    """A metric's pairs that take part, and ``weighted``: all differences, NaN for the others."""

    a: list[float]
    b: list[float]
    differences: list[float]
    weights: list[float]
    weighted: Array
    vary: bool

    @property
    def n_nonzero(self) -> int:
        return sum(difference != 0.0 for difference in self.differences)

    def mean(self, values: Sequence[float]) -> float | None:
        return weighted_mean(zip(values, self.weights, strict=True))


def _column(a: Scores, b: Scores, weights: Sequence[float]) -> _Column:
    from pytest_rageval.stats.paired_tests import have_spread
    from pytest_rageval.stats.permutation import paired_differences, weigh

    differences = paired_differences(a, b)
    weighted = weigh(differences, weights)
    sizes = tame(list(weights))
    rows = [
        (x, y, difference, sizes[at])
        for at, (x, y, difference) in enumerate(zip(a, b, differences.tolist(), strict=True))
        if x is not None and y is not None and not math.isnan(weighted[at])
    ]
    return _Column(
        a=[row[0] for row in rows],
        b=[row[1] for row in rows],
        differences=[row[2] for row in rows],
        weights=[row[3] for row in rows],
        weighted=weighted,
        vary=have_spread([row[2] for row in rows]),
    )


def _comparison(
    column: _Column, tested: Tested, adjusted: float | None, alpha: float, limit: str
) -> MetricComparison:
    interval = weighted_interval(column.differences, column.weights, _UNBOUNDED, 1.0 - alpha)
    low, high = interval or (None, None)
    note = tested.note or limit
    if not note and interval and not column.vary:
        note = "the differences do not vary: the interval has no width"
    return MetricComparison(
        a_mean=column.mean(column.a),
        b_mean=column.mean(column.b),
        diff=column.mean(column.differences),
        ci_low=low,
        ci_high=high,
        p_value=tested.p_value,
        p_adjusted=adjusted,
        significant=adjusted is not None and adjusted < alpha,
        n=len(column.differences),
        n_nonzero=column.n_nonzero,
        method=tested.method,
        smallest_detectable=_smallest_detectable(column, interval, alpha),
        note=note,
    )


def _smallest_detectable(
    column: _Column, interval: tuple[float, float] | None, alpha: float
) -> float | None:
    """Return the power factor times the standard error of the mean difference.

    None where the differences do not vary: their spread is not known then, it is not nothing.
    """
    if interval is None or not column.vary:
        return None
    t = t_quantile(1.0 - alpha / 2.0, len(column.differences) - 1)
    standard_error = (interval[1] - interval[0]) / 2.0 / t
    return power_factor(alpha) * standard_error


def _holm_where_tested(p_values: Sequence[float | None]) -> list[float | None]:
    adjusted = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(adjusted) for p in p_values]


def _limits(tested: Sequence[Tested], alpha: float) -> list[str]:
    """Return for each metric why its adjusted p could never have been below alpha, or ''."""
    limits = [""] * len(tested)
    taking = [at for at, found in enumerate(tested) if found.p_value is not None]
    smallest = [tested[at].smallest_p for at in taking]
    for rank, (at, best) in enumerate(zip(taking, holm(smallest), strict=True)):
        if best < alpha:
            continue
        found = tested[at]
        over = f", {best:.4g} adjusted over {len(taking)} metrics" if best > smallest[rank] else ""
        if found.limited_by == "samples":
            needed = _samples_needed(smallest, rank, alpha)
        else:
            needed = math.floor(len(taking) / alpha)
        limits[at] = (
            f"{_counted(found)}: p cannot fall below {smallest[rank]:.4g}{over}; "
            f"{needed} would be needed for {alpha:g}"
        )
    return limits


def _counted(tested: Tested) -> str:
    if tested.limited_by == "resamples":
        return f"{tested.limit} resamples"
    return f"{tested.limit} sample{'s differ' if tested.limit > 1 else ' differs'}"


def _samples_needed(smallest: Sequence[float], at: int, alpha: float) -> int:
    """Return with how many samples that differ the metric could be significant beside the rest."""
    attempt = list(smallest)
    needed = 1
    while holm(attempt)[at] >= alpha:
        needed += 1
        attempt[at] = math.ldexp(1.0, 1 - needed)
    return needed

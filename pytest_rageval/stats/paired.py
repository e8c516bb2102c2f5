"""Statistics of paired scores: differences, intervals, p-values, and what they can show."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

from pytest_rageval.model import Correction, MetricComparison, SignificanceTest, TestName
from pytest_rageval.stats.intervals import LARGEST_PROBABILITY, t_quantile
from pytest_rageval.stats.summary import Groups, mean_error, weighted_interval
from pytest_rageval.stats.weights import rescale, weighted_mean
from pytest_rageval.stats.wording import counted

# Modules with numpy are imported in functions: numpy takes longer to load than this package.
if TYPE_CHECKING:
    from pytest_rageval.stats.paired_tests import Tested
    from pytest_rageval.stats.permutation import Array

Scores = Sequence[float | None]

_UNBOUNDED: Final = (-math.inf, math.inf)
_POWER: Final = 0.8
_ROUNDING: Final = 1e-12


def compare_paired(  # noqa: PLR0913  (all but the scores are options)
    pairs: Mapping[str, tuple[Scores, Scores]],
    weights: Sequence[float],
    *,
    test: TestName = "permutation",
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    seed: int = 42,
    correction: Correction = "max-t",
    groups: Groups = None,
    tested_together: Collection[str] | None = None,
    at_once: int = 1,
    pair: str = "pair",
) -> dict[str, MetricComparison]:
    """Return for each metric how its scores A differ from its scores B (A - B), two-sided.

    ``pairs`` holds two lists of scores of the same samples for each metric, ``weights`` one weight
    for each sample. A sample counts when both sides have a score (neither None nor NaN) and its
    weight is above 0. The interval of the difference is the t interval of the ratio estimator at
    the confidence 1 - ``alpha``; tests use weight times difference. With ``groups`` (the group
    number of each sample) both use the sums of the groups.

    p-values are adjusted over the metrics in ``tested_together`` (None: all) that have one; the
    others have no adjusted p-value. ``max-t`` is for the permutation test; other tests
    use Holm's method instead. ``note`` says why a test has no result, why no p could be below
    ``alpha`` with so few samples that differ, or so few resamples, or that no difference varies.

    ``at_once`` exact tests share the time that one may take: with more of them, fewer are exact.
    ``pair`` is what messages call a sample with its two scores.

    Raises ValueError for lengths that differ and infinite scores, MissingExtraError if a test needs
    scipy and it is missing.
    """
    from pytest_rageval.stats.paired_tests import run_paired_test

    columns = [_column(a, b, weights, groups) for a, b in pairs.values()]
    family = [
        at for at, name in enumerate(pairs) if tested_together is None or name in tested_together
    ]
    unit = "sample" if groups is None else "group"
    tested = run_paired_test(
        test,
        [column.weighted for column in columns],
        n_resamples=n_resamples,
        seed=seed,
        family=family,
        unit=unit,
        at_once=at_once,
    )
    used = correction_used(test, correction)
    family = [at for at in family if tested[at].p_value is not None]
    adjusted = _adjusted(tested, family, used)
    limits = _limits(tested, family, used, alpha, unit)
    counted_as = pair if groups is None else unit
    differing = _differing([columns[at].weighted for at in family])
    reach = _Reach(test, alpha, n_resamples, used, len(family), counted_as, differing)
    return {
        name: _comparison(columns[at], tested[at], adjusted.get(at), limits.get(at, ""), reach)
        for at, name in enumerate(pairs)
    }


def correction_used(test: TestName, correction: Correction) -> Correction:
    """Return how p-values are adjusted: max-T needs sign flips, other tests use Holm's method."""
    return "holm" if correction == "max-t" and test != "permutation" else correction


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


MOST_RESAMPLES: Final = 1_000_000


def over_looks(test: SignificanceTest, looks: int, tests: int = 1) -> SignificanceTest:
    """Return the test of one of ``looks`` runs in a row that are held against one baseline.

    Each has its part of alpha (Bonferroni), and at least as many resamples as reach a p-value of a
    tenth of that part: with few, nothing is significant. ``tests`` is the most p-values of one
    family: Holm's method multiplies by their number. Raises ValueError where more than a million
    resamples are needed, and above 10^12 looks.
    """
    if looks == 1:
        return test
    if looks > _MOST_LOOKS:
        raise ValueError("looks: nobody looks more than 10^12 times; plan fewer")
    alpha = test.alpha / looks
    family = tests if correction_used(test.test, test.correction) == "holm" else 1
    needed = math.ceil(10.0 * family / alpha) - 1 if test.test in _RESAMPLING else 0
    if needed > MOST_RESAMPLES:
        raise ValueError(
            f"looks {looks:,} share alpha {test.alpha:g}: the {alpha:.2g} of each one needs "
            f"{needed:,} resamples, more than {MOST_RESAMPLES:,}; plan fewer looks"
        )
    resamples = max(test.n_resamples, needed)
    return replace(test, alpha=alpha, n_resamples=resamples, looks=looks)


_MOST_LOOKS: Final = 10**12

_RESAMPLING: Final = ("permutation", "bootstrap")


def power_factor(alpha: float, degrees: float = math.inf) -> float:
    """Return how many standard errors a difference needs to be found with a power of 80 %.

    It is t(1 - alpha/2) + t(0.8) for a two-sided test at ``alpha``, with the degrees of freedom of
    the standard error.

    >>> round(power_factor(0.05), 4), round(power_factor(0.05, 9), 4)
    (2.8016, 3.1456)
    """
    probability = min(1.0 - alpha / 2.0, LARGEST_PROBABILITY)
    if math.isinf(degrees):
        normal = NormalDist()
        return normal.inv_cdf(probability) + normal.inv_cdf(_POWER)
    return t_quantile(probability, degrees) + t_quantile(_POWER, degrees)


def alpha_of_each(alpha: float, correction: Correction, family: int) -> float:
    """Return the part of ``alpha`` that is left for each of ``family`` tests, by Bonferroni.

    max-T leaves each of them as much or more.
    """
    return alpha if correction == "none" else alpha / max(family, 1)


@dataclass(frozen=True, slots=True)
class _Column:
    """The pairs of one metric that count; ``groups`` are their group numbers.

    ``weighted`` is for the tests and has every sample: weight times difference, NaN for a pair that
    does not count; with groups, the sum of each group. ``vary``: the differences differ
    by more than rounding.
    """

    a: list[float]
    b: list[float]
    differences: list[float]
    weights: list[float]
    groups: list[int] | None
    weighted: Array
    vary: bool

    @property
    def n_nonzero(self) -> int:
        return sum(difference != 0.0 for difference in self.differences)

    @property
    def n_groups(self) -> int | None:
        return None if self.groups is None else len(set(self.groups))

    @property
    def units(self) -> int:
        """How many independent differences there are: of groups, or of samples."""
        return len(self.differences) if self.n_groups is None else self.n_groups

    def mean(self, values: Sequence[float]) -> float | None:
        return weighted_mean(zip(values, self.weights, strict=True))


def _column(a: Scores, b: Scores, weights: Sequence[float], groups: Groups) -> _Column:
    from pytest_rageval.stats.paired_tests import have_spread
    from pytest_rageval.stats.permutation import group_differences, paired_differences, weigh

    differences = paired_differences(a, b)
    weighted = weigh(differences, weights)
    sizes = rescale(list(weights))
    rows = [
        (x, y, difference, sizes[at], at)
        for at, (x, y, difference) in enumerate(zip(a, b, differences.tolist(), strict=True))
        if x is not None and y is not None and not math.isnan(weighted[at])
    ]
    return _Column(
        a=[row[0] for row in rows],
        b=[row[1] for row in rows],
        differences=[row[2] for row in rows],
        weights=[row[3] for row in rows],
        groups=None if groups is None else [groups[row[4]] for row in rows],
        weighted=group_differences(weighted, groups),
        vary=have_spread(_of_units([(row[2], row[3], row[4]) for row in rows], groups)),
    )


def _of_units(rows: Sequence[tuple[float, float, int]], groups: Groups) -> list[float]:
    """Return the difference of each sample, or the weighted mean of each group's.

    ``rows`` are differences with their weights and places. What is left of differences that cancel
    is 0.
    """
    if groups is None:
        return [difference for difference, _, _ in rows]
    found: dict[int, list[tuple[float, float]]] = {}
    for difference, weight, at in rows:
        found.setdefault(groups[at], []).append((weight * difference, weight))
    means = []
    for parts in found.values():
        total = math.fsum(part for part, _ in parts)
        is_zero = abs(total) <= _ROUNDING * math.fsum(abs(part) for part, _ in parts)
        means.append(0.0 if is_zero else total / math.fsum(weight for _, weight in parts))
    return means


def _differing(family: Sequence[Array]) -> int:
    """Return how many samples, or groups, differ in any metric that is tested together."""
    units = zip(*(column.tolist() for column in family), strict=True)
    return sum(any(part and not math.isnan(part) for part in unit) for unit in units)


def _comparison(
    column: _Column, tested: Tested, adjusted: float | None, limit: str, reach: _Reach
) -> MetricComparison:
    alpha = reach.alpha
    interval = weighted_interval(
        column.differences, column.weights, _UNBOUNDED, 1.0 - alpha, column.groups
    )
    low, high = interval or (None, None)
    is_shown = adjusted is not None and adjusted < alpha
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
        significant=is_shown,
        n=len(column.differences),
        n_nonzero=column.n_nonzero,
        method=tested.method,
        smallest_detectable=_smallest_detectable(
            column, alpha_of_each(alpha, reach.correction, reach.family)
        ),
        note=note,
        groups=column.n_groups,
        undecided="" if is_shown else reach.why_not(column, tested),
    )


def _smallest_detectable(column: _Column, alpha: float) -> float | None:
    """Return the power factor times the standard error of the mean difference.

    None where the differences do not vary: their spread is then unknown, not zero.
    """
    if not column.vary:
        return None
    found = mean_error(list(zip(column.differences, column.weights, strict=True)), column.groups)
    if found is None:
        return None
    return math.ldexp(power_factor(alpha, found.degrees) * found.error, found.exponent)


@dataclass(frozen=True, slots=True)
class _Reach:
    """Finds comparisons that no data of this size could decide; ``family`` counts the metrics.

    ``unit`` is what messages call what the test counts; ``differing`` of them differ in any metric.
    """

    test: TestName
    alpha: float
    n_resamples: int
    correction: Correction
    family: int
    unit: str
    differing: int

    def why_not(self, column: _Column, tested: Tested) -> str:
        """Return why no differences of so many samples could be significant, or ''.

        Also why there is no p though some differ.
        """
        if column.n_nonzero and tested.p_value is None and column.units > 1:
            return tested.note
        times = max(self.family, 1) if self.correction == "holm" else 1
        units = column.units
        if units < 2 or (self._counts_signs and times * _least_p(units) >= self.alpha):
            needed = 2
            while self._counts_signs and times * _least_p(needed) >= self.alpha:
                needed += 1
            over = f" over {times} metrics" if times > 1 else ""
            return (
                f"{counted(units, self.unit)} cannot reach p < {self.alpha:g}{over}, "
                f"whatever the scores; {needed} can"
            )
        if self._is_sampled(column, tested) and times / (self.n_resamples + 1) >= self.alpha:
            needed = math.floor(times / self.alpha)
            resamples = f"{self.n_resamples} resamples"
            return f"{resamples} cannot reach p < {self.alpha:g}; {needed} can"
        return ""

    @property
    def _counts_signs(self) -> bool:
        """Whether p is smallest when all differences have the same sign."""
        return self.test in ("permutation", "wilcoxon")

    def _is_sampled(self, column: _Column, tested: Tested) -> bool:
        from pytest_rageval.stats.permutation import ENUMERATED

        together = self.correction == "max-t" and self.family > 1
        return tested.limited_by == "resamples" or (
            together and max(column.units, self.differing) > ENUMERATED
        )


def _least_p(units: int) -> float:
    return math.ldexp(1.0, 1 - units)


def _adjusted(
    tested: Sequence[Tested], family: Sequence[int], correction: Correction
) -> dict[int, float]:
    """Return the adjusted p-values of the metrics at the positions ``family``."""
    raw = [p for at in family if (p := tested[at].p_value) is not None]
    if correction == "max-t":
        raw = [p for at in family if (p := tested[at].p_max_t) is not None]
    return dict(zip(family, holm(raw) if correction == "holm" else raw, strict=True))


def _limits(
    tested: Sequence[Tested], family: Sequence[int], correction: Correction, alpha: float, unit: str
) -> dict[int, str]:
    """Return, for each metric whose adjusted p could not be below alpha, why.

    With max-T the adjusted p may be as low as the raw one.
    """
    limits: dict[int, str] = {}
    adjust = holm if correction == "holm" else list
    smallest = [tested[at].smallest_p for at in family]
    for place, (at, best) in enumerate(zip(family, adjust(smallest), strict=True)):
        if best < alpha:
            continue
        found = tested[at]
        over = f", {best:.4g} adjusted over {len(family)} metrics" if best > smallest[place] else ""
        if found.limited_by == "samples":
            needed = _samples_needed(smallest, place, alpha, adjust)
        else:
            needed = math.floor((len(family) if correction == "holm" else 1) / alpha)
        limits[at] = (
            f"{_counted(found, unit)}: p cannot fall below {smallest[place]:.4g}{over}; "
            f"{needed} would be needed for {alpha:g}"
        )
    return limits


def _counted(tested: Tested, unit: str) -> str:
    if tested.limited_by == "resamples":
        return f"{tested.limit} resamples"
    return f"{tested.limit} {unit}{'s differ' if tested.limit > 1 else ' differs'}"


def _samples_needed(
    smallest: Sequence[float], at: int, alpha: float, adjust: Callable[[list[float]], list[float]]
) -> int:
    """Return how many differing samples the metric would need to be significant."""
    attempt = list(smallest)
    needed = 1
    while adjust(attempt)[at] >= alpha:
        needed += 1
        attempt[at] = _least_p(needed)
    return needed

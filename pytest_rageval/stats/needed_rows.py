"""How many rows a comparison needs to see a fall, from how far its differences spread."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from pytest_rageval.model import Comparison
from pytest_rageval.stats.intervals import LARGEST_PROBABILITY, t_quantile
from pytest_rageval.stats.paired import alpha_of_each, power_factor
from pytest_rageval.stats.summary import Groups, mean_error
from pytest_rageval.stats.weights import weighted_mean
from pytest_rageval.stats.wording import counted

MOST_ROWS: Final = 10**12
"""No more than so many are counted: nobody asks them."""

_MANY: Final = 10**6
"""Of more units, the t distribution is the normal one within a millionth."""

_FEWEST: Final = 10
"""Of fewer differences nobody knows how far such differences spread."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How surely ``rows`` rows in ``groups`` groups (None: each its own) know a mean difference.

    ``error`` is the standard error of that mean, None where it is not known: ``unknown`` says why,
    and neither `seen` nor `needed` may be asked. ``baseline`` is the mean of the other run, None
    without scores.
    """

    error: float | None
    rows: int
    groups: int | None
    baseline: float | None
    unknown: str = ""

    @property
    def units(self) -> int:
        """How many independent differences there are."""
        return self.rows if self.groups is None else self.groups

    def seen(self, units: int, alpha: float, margin: float = 0.0) -> float:
        """Return the difference that so many ``units`` show in four of five comparisons.

        With ``margin``, the range of the scores (mode ``non_inferior``), the fall that lies outside
        of the interval if nothing changed: it counts one more pair, which fell by the whole range.
        """
        assert self.error is not None
        error = self.error * math.sqrt(self.units / units)
        degrees = units - 1 if units <= _MANY else math.inf
        probability = min(1.0 - alpha / 2.0, LARGEST_PROBABILITY)
        is_normal = math.isinf(degrees)
        tail = NormalDist().inv_cdf(probability) if is_normal else t_quantile(probability, degrees)
        beyond = power_factor(alpha, degrees) - tail
        # The weight of the added pair is exponentially distributed, of the mean `pair`: at
        # 1 - alpha/2 it exceeds that by ln(2/alpha) - 1 times as much. Both errors are independent.
        pair = margin / units
        end = pair + math.hypot(tail * error, (math.log(2.0) - math.log(alpha) - 1.0) * pair)
        return end + beyond * error

    def needed(self, difference: float, alpha: float, margin: float = 0.0) -> int:
        """Return how many units show ``difference`` (above 0): as many at least as a test takes.

        ``MOST_ROWS`` where it takes as many or more.
        """
        low = math.floor(-math.log2(alpha)) + 2  # the least p of n pairs, 2^(1 - n), is below alpha
        high = low
        while self.seen(high, alpha, margin) > difference:
            if high >= MOST_ROWS:
                return MOST_ROWS
            low, high = high, 2 * high
        while low < high:
            middle = (low + high) // 2
            if self.seen(middle, alpha, margin) > difference:
                low = middle + 1
            else:
                high = middle
        return min(high, MOST_ROWS)


def alpha_of(comparison: Comparison) -> float:
    """Return what is left of alpha for each metric that is tested, by Bonferroni."""
    family = sum(one.p_adjusted is not None for one in comparison.metrics.values())
    return alpha_of_each(comparison.alpha, comparison.correction, family)


def spread_of_differences(comparison: Comparison, metric: str) -> Spread:
    """Return how far the differences of ``metric`` spread."""
    found = comparison.metrics[metric]
    units = found.n if found.groups is None else found.groups
    error, unknown = None, ""
    if units < _FEWEST:
        unknown = _only(units, found.groups)
    elif found.n_nonzero < _FEWEST:
        unknown = f"only {found.n_nonzero} of {found.n} rows differ"
    elif found.smallest_detectable is None:
        unknown = "all differences are equal"
    else:  # the comparison keeps no standard error: out of what it says of its power
        error = found.smallest_detectable / power_factor(alpha_of(comparison), units - 1)
    return Spread(error, found.n, found.groups, found.b_mean, unknown)


def spread_of_scores(scores: Sequence[float], weights: Sequence[float], groups: Groups) -> Spread:
    """Return how far the differences of two runs spread that have nothing in common.

    The scores of both spread like these; ``weights`` are above 0.
    """
    many = None if groups is None else len(set(groups))
    units = len(scores) if many is None else many
    differing = len(scores) - max(Counter(scores).values(), default=0)
    error, unknown = None, ""
    if units < _FEWEST:
        unknown = _only(units, many)
    elif differing < _FEWEST:
        unknown = f"only {differing} of {len(scores)} scores differ from the others"
    elif (found := mean_error(list(zip(scores, weights, strict=True)), groups)) is None:
        unknown = "a single row has nearly all the weight"
    else:
        error = math.sqrt(2.0) * math.ldexp(found.error, found.exponent)
    mean = weighted_mean(zip(scores, weights, strict=True))
    return Spread(error, len(scores), many, mean, unknown)


def _only(units: int, groups: int | None) -> str:
    return f"only {counted(units, 'row' if groups is None else 'group')}"

"""Means, spread and intervals of the scores of a scenario, weighted by sample.

All sums are ``math.fsum`` in the order given, so that the same scores give the same bits whoever
computed them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_rageval.stats.student import t_quantile
from pytest_rageval.stats.weights import tame, weighted_mean

# A running sum of a million weights is off by 1e-10 of itself at most.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Summary:
    """What is known of a list of scores: over ``n`` scored ones, ``unscored`` without a score.

    ``std`` is the sample standard deviation (n - 1), None below two scores. The interval is None
    below two scores.
    """

    mean: float | None
    weighted_mean: float | None
    n: int
    unscored: int
    std: float | None
    ci_low: float | None
    ci_high: float | None


def summarize(
    values: Sequence[float | None],
    weights: Sequence[float],
    value_range: tuple[float, float],
    confidence: float = 0.95,
) -> Summary:
    """Return the summary of ``values`` (None = unscored) with one weight for each.

    ``value_range`` is the metric's, with infinities where it is unbounded: it decides which
    interval is used.
    """
    scored: list[tuple[float, float]] = [
        (value, weight)
        for value, weight in zip(values, weights, strict=True)
        if value is not None and value == value  # noqa: PLR0124  (NaN is not itself)
    ]
    numbers = [value for value, _ in scored]
    interval = weighted_interval(numbers, [weight for _, weight in scored], value_range, confidence)
    low, high = interval if interval is not None else (None, None)
    return Summary(
        mean=math.fsum(numbers) / len(numbers) if numbers else None,
        weighted_mean=weighted_mean(scored),
        n=len(numbers),
        unscored=len(values) - len(numbers),
        std=standard_deviation(numbers),
        ci_low=low,
        ci_high=high,
    )


def standard_deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation (divisor n - 1), or None below two values."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def weighted_quantile(
    values: Sequence[float],
    weights: Sequence[float],
    q: float,
    side: Literal["lower", "upper"] = "lower",
) -> float | None:
    """Return the smallest of ``values`` such that those up to it hold a share ``q`` of the weight.

    The ``upper`` one is the smallest such that they hold more than ``q``, so that the share
    1 - ``q`` of the weight reaches it. Either is always one of the values: the inverse of the
    weighted empirical distribution function, without interpolation. None where nothing has a
    weight.

    >>> weighted_quantile([0.2, 0.4, 0.9], [1.0, 1.0, 2.0], 0.5)
    0.4
    >>> weighted_quantile([0.2, 0.4, 0.9], [1.0, 1.0, 2.0], 0.5, side="upper")
    0.9
    """
    pairs = sorted(pair for pair in zip(values, tame(list(weights)), strict=True) if pair[1] > 0)
    if not pairs:
        return None
    wanted = q * math.fsum(weight for _, weight in pairs)
    # Sums of weights round: a share that is reached within that is reached, and not gone beyond.
    wanted += _ROUNDING * (wanted if side == "upper" else -wanted)
    reached = 0.0
    for value, weight in pairs:
        reached += weight
        if reached >= wanted:
            return value
    return pairs[-1][0]


def weighted_interval(
    values: Sequence[float],
    weights: Sequence[float],
    value_range: tuple[float, float],
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Return the ends of the interval of the weighted mean, or None below two weighted values.

    Scores with a bounded range: Wilson's score interval at the effective sample size (Wilson 1927;
    effective size for weighted data as in Korn and Graubard 1998), after rescaling to 0..1. It
    stays inside the range and is not empty when all scores are equal. Unbounded ranges: the t
    interval of the ratio estimator.
    """
    tamed = tame(list(weights))
    pairs = [(value, weight) for value, weight in zip(values, tamed, strict=True) if weight > 0]
    if len(pairs) < 2:
        return None
    low, high = value_range
    quantile = t_quantile(0.5 + confidence / 2.0, len(pairs) - 1)
    if math.isinf(low) or math.isinf(high):
        lower, upper = _ratio_interval(pairs, quantile)
        if math.isinf(lower) or math.isinf(upper):
            return None  # wider than a float can say
        return max(lower, low), min(upper, high)  # one end may be known
    span = high - low
    unit = [((value - low) / span, weight) for value, weight in pairs]
    lower, upper = _wilson_interval(unit, quantile)
    return low + span * lower, low + span * upper


def _wilson_interval(pairs: list[tuple[float, float]], z: float) -> tuple[float, float]:
    mean, variance = _ratio_mean_and_variance(pairs)
    # Rounding may carry a mean of equal scores a hair over the edge, where m(1 - m) changes sign.
    mean = min(max(mean, 0.0), 1.0)
    spread = mean * (1.0 - mean)
    if variance > 0.0 and spread > 0.0:
        size = spread / variance
    else:
        total = math.fsum(weight for _, weight in pairs)
        size = total * total / math.fsum(weight * weight for _, weight in pairs)
    z2 = z * z
    centre = (mean + z2 / (2.0 * size)) / (1.0 + z2 / size)
    half = z / (1.0 + z2 / size) * math.sqrt(spread / size + z2 / (4.0 * size * size))
    # The mean is inside by its formula; rounding may leave it a hair outside.
    return min(max(centre - half, 0.0), mean), max(min(centre + half, 1.0), mean)


def _ratio_interval(pairs: list[tuple[float, float]], t: float) -> tuple[float, float]:
    # A change of the exponent loses no digit and keeps sums of scores such as 1e308 finite.
    exponent = math.frexp(max(abs(value) for value, _ in pairs))[1]
    unit = [(math.ldexp(value, -exponent), weight) for value, weight in pairs]
    mean, variance = _ratio_mean_and_variance(unit)
    half = t * math.sqrt(variance)
    return _raised(mean - half, exponent), _raised(mean + half, exponent)


def _raised(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)


def _ratio_mean_and_variance(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the weighted mean and the variance of it, linearised as a ratio of two sums."""
    first = pairs[0][0]
    if all(value == first for value, _ in pairs):
        # Said outright: rounding would leave a variance of 1e-34 and so an interval of no width.
        return first, 0.0
    n = len(pairs)
    total = math.fsum(weight for _, weight in pairs)
    mean = math.fsum(value * weight for value, weight in pairs) / total
    residuals = [weight * (value - mean) * n / total for value, weight in pairs]
    centre = math.fsum(residuals) / n
    variance = math.fsum((residual - centre) ** 2 for residual in residuals) / (n - 1) / n
    return mean, variance

"""The figures of a scenario: counts, weighted means, spread, intervals, latencies, judge's replies.

Means are sums by ``math.fsum`` in the order given, so that the same scores always give the same
bits.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, get_args

from pytest_rageval.model import (
    FAULTS,
    USABLE,
    WEIGHTED_SCORE,
    Counts,
    MetricColumn,
    MetricSummary,
    Outcome,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    WeightedSummary,
)
from pytest_rageval.stats.intervals import LARGEST_PROBABILITY, mean_bounds, t_quantile
from pytest_rageval.stats.verdict import has_failed
from pytest_rageval.stats.weights import group_numbers, is_scored, rescale, weighted_mean

# The relative error of a running sum of a million weights is at most 1e-10.
_ROUNDING = 1e-9

# Scores within 1e-9 of their range are equal: ragas' perfect context_precision is 0.9999999999, and
# the variance of three of them must not give an interval without width.
NO_VARIANCE: Final = 1e-18
"""A variance of scores in 0..1 that counts as none."""

Groups = Sequence[int] | None
"""The group number of each sample; None where each sample is its own group."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of ``n`` scores; ``unscored`` more samples have no score.

    ``std`` is the sample standard deviation (n - 1), None below two scores. The interval is None
    where ``weighted_interval`` is: below two scores with a weight, for instance.
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
    groups: Groups = None,
) -> Summary:
    """Return the summary of ``values`` (None = unscored) with one weight for each.

    ``value_range`` is the metric's, with infinities where it is unbounded: it decides which
    interval is used. ``groups`` only changes the interval.
    """
    numbers: list[float] = []
    sizes: list[float] = []
    kept: list[int] | None = None if groups is None else []
    for at, (value, weight) in enumerate(zip(values, weights, strict=True)):
        if value is not None and value == value:  # noqa: PLR0124  (NaN is not itself)
            numbers.append(value)
            sizes.append(weight)
            if kept is not None and groups is not None:
                kept.append(groups[at])
    interval = weighted_interval(numbers, sizes, value_range, confidence, kept)
    low, high = interval if interval is not None else (None, None)
    return Summary(
        mean=math.fsum(numbers) / len(numbers) if numbers else None,
        weighted_mean=weighted_mean(zip(numbers, sizes, strict=True)),
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

    With ``upper``, the smallest such that they hold more than ``q``, so that the share 1 - ``q`` of
    the weight reaches it. The result is always one of the values: the inverse of the weighted
    empirical distribution function, without interpolation. None where nothing has a weight.

    >>> weighted_quantile([0.2, 0.4, 0.9], [1.0, 1.0, 2.0], 0.5)
    0.4
    >>> weighted_quantile([0.2, 0.4, 0.9], [1.0, 1.0, 2.0], 0.5, side="upper")
    0.9
    """
    pairs = sorted(pair for pair in zip(values, rescale(list(weights)), strict=True) if pair[1] > 0)
    if not pairs:
        return None
    wanted = q * math.fsum(weight for _, weight in pairs)
    # Sums of weights are rounded: a share within that tolerance is reached, and not exceeded.
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
    groups: Groups = None,
    extra: float = 1.0,
) -> tuple[float, float] | None:
    """Return the ends of the weighted mean's interval, None below two values (groups) of weight.

    Scores with a bounded range: the ends of ``mean_bounds``, after rescaling to 0..1. They stay
    inside the range, have a width when all scores are equal, and do not rise when a score falls.
    With ``groups`` a group counts as one score, of the sum of its weights. ``extra`` is that of
    ``mean_bounds``. Unbounded ranges: the t interval of the ratio estimator, None where
    ``mean_error`` is, or where the interval is wider than floats.
    """
    sizes = rescale(list(weights))
    kept = None if groups is None else [groups[at] for at, size in enumerate(sizes) if size > 0]
    pairs = [pair for pair in zip(values, sizes, strict=True) if pair[1] > 0]
    if (len(pairs) if kept is None else len(set(kept))) < 2:
        return None
    low, high = value_range
    probability = min(0.5 + confidence / 2.0, LARGEST_PROBABILITY)
    if math.isinf(low) or math.isinf(high):
        found = mean_error(pairs, kept)
        return None if found is None else _students_interval(found, probability, value_range)
    # A weighted score may leave its range where a metric does not apply: the worst is then as seen.
    low = min(low, *(value for value, _ in pairs))
    span = high - low
    unit = [(min(max((value - low) / span, 0.0), 1.0), weight) for value, weight in pairs]
    lower, upper = mean_bounds(*_scores_of_groups(unit, kept), 1.0 - probability, extra)
    return low + span * lower, low + span * upper


@dataclass(frozen=True, slots=True)
class MeanError:
    """A weighted mean, its standard error, and the degrees of freedom that the error has.

    Mean and error are in units of 2 to the power ``exponent``.
    """

    mean: float
    error: float
    degrees: float
    exponent: int


def mean_error(pairs: Sequence[tuple[float, float]], groups: Groups = None) -> MeanError | None:
    """Return the error of the weighted mean of (value, weight > 0), linearised as a ratio.

    The degrees of freedom are k - 1, k = (Σw)²/Σw² the effective number of samples or groups. None
    where k is below 2 (by more than rounding): too few say how far they spread.
    """
    sizes = group_sums([weight for _, weight in pairs], groups)
    count = math.fsum(sizes) ** 2 / math.fsum(size * size for size in sizes)
    if count < 2.0 - _ROUNDING:
        return None
    # A change of exponent loses no digit and keeps sums of scores such as 1e308 finite.
    exponent = math.frexp(max(abs(value) for value, _ in pairs))[1]
    unit = [(math.ldexp(value, -exponent), weight) for value, weight in pairs]
    mean, variance = _ratio_mean_and_variance(unit, groups, count)
    return MeanError(mean, math.sqrt(variance), max(count, 2.0) - 1.0, exponent)


def wilson_interval(
    mean: float, variance: float, size: float, quantile: float
) -> tuple[float, float]:
    """Return the ends of Wilson's score interval of a mean in 0..1 (Wilson 1927).

    ``variance`` is that of the mean: it is as uncertain as that of m(1 - m)/variance yes/no trials.
    Where that is no number, because the variance or the spread is 0, there are ``size`` trials.
    """
    # Rounding may carry a mean of equal scores just over the edge, where m(1 - m) changes sign.
    mean = min(max(mean, 0.0), 1.0)
    spread = mean * (1.0 - mean)
    if variance > NO_VARIANCE and spread > 0.0:
        size = spread / variance
    z2 = quantile * quantile
    centre = (mean + z2 / (2.0 * size)) / (1.0 + z2 / size)
    half = quantile / (1.0 + z2 / size) * math.sqrt(spread / size + z2 / (4.0 * size * size))
    # The formula puts the mean inside; rounding may leave it just outside.
    return min(max(centre - half, 0.0), mean), max(min(centre + half, 1.0), mean)


def group_sums(terms: Sequence[float], groups: Groups) -> list[float]:
    """Return the sum of ``terms`` for each group, in the order of their first terms.

    >>> group_sums([1.0, 2.0, 4.0], [7, 3, 7])
    [5.0, 2.0]
    """
    if groups is None:
        return list(terms)
    found: dict[int, list[float]] = {}
    for term, group in zip(terms, groups, strict=True):
        found.setdefault(group, []).append(term)
    return [math.fsum(part) for part in found.values()]


def _scores_of_groups(
    pairs: Sequence[tuple[float, float]], groups: Groups
) -> tuple[list[float], list[float]]:
    """Return the values and their weights; with groups, the mean and the weight of each."""
    weights = [weight for _, weight in pairs]
    if groups is None:
        return [value for value, _ in pairs], weights
    sums = group_sums([value * weight for value, weight in pairs], groups)
    sizes = group_sums(weights, groups)
    return [min(total / size, 1.0) for total, size in zip(sums, sizes, strict=True)], sizes


def _students_interval(
    found: MeanError, probability: float, value_range: tuple[float, float]
) -> tuple[float, float] | None:
    half = t_quantile(probability, found.degrees) * found.error
    lower = _raised(found.mean - half, found.exponent)
    upper = _raised(found.mean + half, found.exponent)
    if math.isinf(lower) or math.isinf(upper):
        return None  # wider than floats can represent
    return max(lower, value_range[0]), min(upper, value_range[1])  # one end may be bounded


def _raised(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)


def _ratio_mean_and_variance(
    pairs: Sequence[tuple[float, float]], groups: Groups, count: float
) -> tuple[float, float]:
    """Return the weighted mean and its variance, linearised as a ratio of two sums.

    Groups are independent, samples of a group are not: a group's residuals are summed. ``count`` is
    the effective number of groups, or of samples.
    """
    first = pairs[0][0]
    if all(value == first for value, _ in pairs):
        # Rounding would leave a variance of 1e-34, and so an interval without width.
        return first, 0.0
    total = math.fsum(weight for _, weight in pairs)
    mean = math.fsum(value * weight for value, weight in pairs) / total
    residuals = group_sums([weight * (value - mean) / total for value, weight in pairs], groups)
    squares = math.fsum(residual * residual for residual in residuals)
    return mean, squares * count / (count - 1.0)


@dataclass(frozen=True, slots=True)
class Latency:
    """Figures of ``n`` times, in seconds."""

    n: int
    median_s: float
    p95_s: float
    max_s: float


def latency(seconds: Iterable[float]) -> Latency | None:
    """Return the figures of these times, None without any.

    The percentile is the nearest rank: the shortest time that 95 of 100 do not exceed.

    >>> latency([0.3, 0.1, 0.2])
    Latency(n=3, median_s=0.2, p95_s=0.3, max_s=0.3)
    """
    ordered = sorted(seconds)
    if not ordered:
        return None
    rank = math.ceil(0.95 * len(ordered))
    return Latency(len(ordered), statistics.median(ordered), ordered[rank - 1], ordered[-1])


def summarize_scenario(
    info: ScenarioInfo, samples: Iterable[SampleResult], complete: bool
) -> ScenarioResult:
    """Return counts, means and intervals over ``samples``, and the samples in dataset order.

    ``complete``: there is a result for every case. A run that stopped asking is not complete.
    Skipped samples and expected invalid rows count as neither scored nor unscored.
    """
    ordered = sorted(samples, key=lambda sample: sample.index)
    expected = [sample for sample in ordered if sample.is_expected]
    weights = [sample.sample_weight for sample in expected]
    groups = group_numbers(info, expected)
    counts = _counts(info, ordered)
    return ScenarioResult(
        info=info,
        counts=counts,
        complete=complete and not counts.not_asked,
        metrics={
            column.name: _metric_summary(column, expected, weights, groups)
            for column in info.metrics
        },
        weighted_score=_weighted_summary(info, expected, weights, groups),
        samples=ordered,
    )


def _counts(info: ScenarioInfo, samples: Sequence[SampleResult]) -> Counts:
    ended = Counter(sample.outcome for sample in samples)
    return Counts(
        samples=info.total,
        ran=sum(not (sample.is_left_out or sample.is_not_run) for sample in samples),
        scored=sum(is_scored(sample.weighted_score) for sample in samples),
        **{outcome: ended[outcome] for outcome in get_args(Outcome)},
        invalid=sum(sample.invalid is not None for sample in samples),
        in_figures=sum(any(map(is_scored, sample.scores.values())) for sample in samples),
        not_run=sum(sample.is_not_run for sample in samples),
    )


def _metric_summary(
    column: MetricColumn,
    samples: Sequence[SampleResult],
    weights: Sequence[float],
    groups: Groups,
) -> MetricSummary:
    scores = [sample.scores.get(column.name) for sample in samples]
    found = summarize(scores, weights, column.range, groups=groups)
    failed = _failed(column.name, samples, found.unscored)
    return MetricSummary(weight=column.weight, failed=failed, **asdict(found))


def _weighted_summary(
    info: ScenarioInfo,
    samples: Sequence[SampleResult],
    weights: Sequence[float],
    groups: Groups,
) -> WeightedSummary:
    scores = [sample.weighted_score for sample in samples]
    found = summarize(scores, weights, info.weighted_range, groups=groups)
    return WeightedSummary(
        found.weighted_mean,
        found.n,
        found.unscored,
        found.ci_low,
        found.ci_high,
        _failed(WEIGHTED_SCORE, samples, found.unscored),
    )


def _failed(name: str, samples: Sequence[SampleResult], unscored: int) -> int:
    """Return how many samples have no score because something failed."""
    return sum(has_failed(sample, name) for sample in samples) if unscored else 0


def reply_counts(samples: Iterable[SampleResult], name: str) -> dict[str, int]:
    """Return how many replies a metric got: ``usable`` ones, then the others by their fault.

    {} where all that are on record could be used.
    """
    found: Counter[str] = Counter()
    for sample in samples:
        if sample.replies:  # most metrics ask nobody
            found.update(sample.replies.get(name) or {})
    faulty = {fault: found[fault] for fault in FAULTS if found[fault]}
    return {USABLE: found[USABLE], **faulty} if faulty else {}


def replies_text(counts: Mapping[str, int]) -> str:
    """Return in words what ``reply_counts`` found.

    >>> replies_text({"usable": 6, "example": 3, "cut_off": 1})
    "4 of 10 replies could not be used (40 %): repeats the prompt's example 3, cut off 1"
    """
    asked = sum(counts.values())
    bad = asked - counts[USABLE]
    kinds = ", ".join(f"{words} {counts[kind]}" for kind, words in FAULTS.items() if kind in counts)
    return f"{bad} of {asked} replies could not be used ({_percent(bad, asked)}): {kinds}"


def _percent(part: int, whole: int) -> str:
    return "< 1 %" if 100 * part < whole else f"{100 * part // whole} %"

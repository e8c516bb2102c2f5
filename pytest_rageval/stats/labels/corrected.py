"""Means of a judge's scores, corrected by what people say of a part of the samples.

Prediction-powered means in a form for small samples. With Y and f people's and the judge's scores
of the n labelled samples and F the judge's of the N others, all in 0..1,

    lambda = cov(Y, f) / ((1 + n/N) var(f and F together)), cut to 0..1
    m = mean(Y) - lambda (mean(f) - mean(F))
    v = max(S/(n - 1), (S + 1)/(n + 1))/n + lambda² var(F)/N, S = Σ(r - mean r)², r = Y - lambda f

The second of the two variances is as if one more label were wrong altogether: a judge that is right
on ten samples is not right always. The interval is Wilson's at the effective size m(1 - m)/v, with
Student's quantile of n - 1 degrees. Near 0 and 1 that size is lost to the one more label: it is at
least n/2, and n where m is 0 or 1. (Angelopoulos et al. 2023, Prediction-powered inference; the
choice of lambda: Angelopoulos, Duchi and Zrnic 2023, PPI++.) Where people and judge both say yes or
no, weights are equal and there are no groups, ``verdict_mean`` has another form.

m is Σ Y (1 - D (f - mean f))/n while lambda is not cut, D = n/(n - 1) (mean(f) - mean(F))/((1 +
n/N) var). Where the labelled samples are very unlike the others, a factor would be negative, and a
lower label would raise m: then lambda is lowered to where the least factor is 0. That depends on
the judge's scores alone, so that m falls, or stays, with every label.

Weights: means are weighted, and a residual x - mean counts w/mean(w) times, in lambda, too; n and N
are numbers of samples. Groups: residuals are summed by group, a group has the residuals of both its
labelled and its other samples, and n in v (not in the means) is the number of groups: of unequal
ones, k = (Σ W)²/Σ W² over their weights, with t of k - 1. Below k = 2 there is no interval. Strata:
with W a stratum's share of the weight, m is Σ W m and v is Σ W² v + Σ W (m of the stratum - m)²/(n
+ N): the strata's sizes are a matter of chance, too, as var(F) says of a single one (Cochran 1977,
12.2, double sampling). They share the one more label: of each it is (S + W)/(n + 1), W its share of
what is not known. Groups that lie in several strata add their covariance; the degrees are those of
all strata. Without weights, groups and strata all of this is the formula above.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Final

from pytest_rageval.model import Corrected
from pytest_rageval.stats.intervals import LARGEST_PROBABILITY, t_quantile
from pytest_rageval.stats.labels.influence import dot, sum_of_squares
from pytest_rageval.stats.summary import NO_VARIANCE, wilson_interval
from pytest_rageval.stats.wording import counted

LEAST_LABELS: Final = 10
"""With fewer labels there is no corrected mean."""
_MOST: Final = 10**9
"""As many labels are too many to be a number worth telling."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A sample with the judge's score and, where it is labelled, people's; both in 0..1.

    Differences of two runs lie in -1..1. Samples of one ``group`` depend on each other; one without
    a group is a group of its own. ``verdict`` is the judge's yes or no, None if it gives neither.
    """

    judge: float
    human: float | None = None
    weight: float = 1.0
    group: int | None = None
    verdict: bool | None = None


def corrected_mean(
    strata: Sequence[Sequence[Judged]],
    *,
    differences: bool = False,
    confidence: float = 0.95,
    exact: Collection[int] = (),
) -> Corrected:
    """Return the corrected mean of all samples, and its interval.

    ``strata`` are parts from which the labelled samples were drawn separately, at random. A stratum
    in which every sample is labelled is known exactly if there are other strata, or if its index is
    in ``exact``; otherwise it stands for more like it. ``differences`` lie in -1..1 and have the t
    interval m ± t·√v.

    Samples of weight 0 count for nothing. Unless all strata are known exactly, there is no mean
    without 10 labels in all, or without two in each stratum that is not labelled throughout; where
    the labels of a stratum are like those of fewer than two groups, there is no interval.
    """
    parts = _parts(strata)
    labels = sum(len(part.human) for part in parts)
    known = set(exact) if len(parts) == 1 else {part.index for part in parts}
    is_open = [bool(part.others.weights) or part.index not in known for part in parts]
    if labels < LEAST_LABELS and (any(is_open) or not parts):
        return no_mean(f"{counted(labels, 'labelled answer')}, fewer than {LEAST_LABELS}", labels)
    short = [part for part in parts if part.lacks(2)]
    if short:
        found = counted(len(short[0].human), "labelled answer")
        return no_mean(f"stratum {short[0].index} has {found}, fewer than 2", labels)
    sizes = [part.weight for part in parts]
    whole, unknown = math.fsum(sizes), math.fsum(compress(sizes, is_open))
    estimates = [
        _estimate(part, whole, unknown) if still_open else _exact(part, whole)
        for part, still_open in zip(parts, is_open, strict=True)
    ]
    return _result(estimates, labels, confidence, differences=differences)


def residuals(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return w(x - mean)/mean(w): what each value adds to the error of the weighted mean.

    >>> residuals([1.0, 0.0], [3.0, 1.0])
    [0.375, -0.375]
    """
    total = math.fsum(weights)
    mean, scale = dot(values, weights) / total, len(values) / total
    return [weight * scale * (value - mean) for value, weight in zip(values, weights, strict=True)]


def no_mean(why: str, labels: int = 0) -> Corrected:
    """Return that there is no mean of so many ``labels``, and why."""
    return Corrected(None, None, None, None, labels, None, why)


def labels_without_judge(
    width: float, mean: float, variance: float, confidence: float = 0.95, per_label: float = 1.0
) -> float | None:
    """Return the fewest labels whose Wilson interval is at most ``width`` wide; None from 10⁹ on.

    ``mean`` lies in 0..1, ``variance`` is that of one label; a label counts as ``per_label``
    independent ones (less than 1 where labels come in groups). With n labels the interval has the
    variance/(n - 1), without this module's one more label, and t of n - 1 degrees. A float, as is
    ``Corrected.worth``, of which 0.1.0 wrote fractions.

    >>> labels_without_judge(0.2, 0.5, 0.25)
    96.0
    """
    probability = min(0.5 + confidence / 2.0, LARGEST_PROBABILITY)

    def is_enough(n: int) -> bool:
        degrees = max(n * per_label - 1.0, 1.0)
        low, high = wilson_interval(
            mean, variance / (n - 1.0), n * per_label, t_quantile(probability, degrees)
        )
        return high - low <= width

    found = bisect_left(range(2, _MOST), True, key=is_enough) + 2
    return float(found) if found < _MOST else None


@dataclass(frozen=True, slots=True)
class _Rows:
    """The judge's scores of samples, their weights, and the groups that they are of."""

    judge: list[float]
    weights: list[float]
    groups: list[Hashable]

    @property
    def shares_by_group(self) -> Mapping[Hashable, float]:
        """Each group's share of the weight."""
        whole = math.fsum(self.weights)
        return _sums([weight / whole for weight in self.weights], self.groups)

    @property
    def units(self) -> float:
        """How many independent samples they are like.

        The number of samples, whatever their weights; as soon as two share a group, (Σ W)²/Σ W² of
        the groups. Cautious: a single pair moves it from one to the other.
        """
        shares = self.shares_by_group
        if len(shares) == len(self.groups):
            return float(len(shares))
        return 1.0 / sum_of_squares(shares.values())


@dataclass(frozen=True, slots=True)
class _Part:
    """The samples of a stratum that have a weight: the labelled ones, and the others."""

    index: int
    human: list[float]
    labelled: _Rows
    others: _Rows

    @property
    def weight(self) -> float:
        return math.fsum(self.labelled.weights) + math.fsum(self.others.weights)

    def lacks(self, least: int) -> bool:
        return len(self.human) < least and bool(self.others.weights)


def _parts(strata: Sequence[Sequence[Judged]]) -> list[_Part]:
    """Return the strata that hold samples; weights are shares of the largest of all."""
    largest = max((sample.weight for stratum in strata for sample in stratum), default=0.0)
    parts = []
    for index, stratum in enumerate(strata):
        kept = [(at, one) for at, one in enumerate(stratum) if one.weight > 0.0]
        labelled = [(at, one) for at, one in kept if one.human is not None]
        others = [(at, one) for at, one in kept if one.human is None]
        human = [one.human for _, one in labelled if one.human is not None]
        if kept:
            rows, rest = _rows(index, labelled, largest), _rows(index, others, largest)
            parts.append(_Part(index, human, rows, rest))
    return parts


def _rows(index: int, samples: Sequence[tuple[int, Judged]], largest: float) -> _Rows:
    return _Rows(
        [one.judge for _, one in samples],
        [one.weight / largest for _, one in samples],
        # A sample without a group is one: a pair is never equal to a group, which is a number.
        [(index, at) if one.group is None else one.group for at, one in samples],
    )


@dataclass(frozen=True, slots=True)
class _Error:
    """The variance of an estimate, and its deviations by group."""

    variance: float
    by_group: Mapping[Hashable, float]


_NO_ERROR: Final = _Error(0.0, {})


@dataclass(frozen=True, slots=True)
class _Estimate:
    """The corrected mean of a stratum that has a share ``weight`` of all weight.

    ``alone`` is the mean of its labels, ``label_variance`` the variance of one label, and ``trust``
    how far the judge is believed. ``label_shares`` are the groups' shares of the weight of the
    labels, and ``units`` how many independent labels they are like; empty and 0 where the mean is
    known exactly.
    """

    part: _Part
    weight: float
    mean: float
    alone: float
    label_variance: float
    trust: float = 0.0
    error: _Error = _NO_ERROR
    label_shares: Mapping[Hashable, float] = field(default_factory=dict)
    units: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether all of its samples are labelled, and the mean is known."""
        return not self.label_shares

    @property
    def held(self) -> Mapping[Hashable, float]:
        """Each group's share of all weight."""
        labelled, others, scale = self.part.labelled, self.part.others, self.part.weight
        weights = [self.weight * one / scale for one in labelled.weights + others.weights]
        return _sums(weights, labelled.groups + others.groups)


def _exact(part: _Part, whole: float) -> _Estimate:
    mean = _weighted(part.human, part.labelled)
    return _Estimate(part, part.weight / whole, mean, mean, _label_variance(part))


def _estimate(part: _Part, whole: float, unknown: float) -> _Estimate:
    labelled, others, weight = part.labelled, part.others, part.weight / whole
    alone = mean = _weighted(part.human, labelled)
    trust = _trust(part)
    if trust:
        mean -= trust * (_weighted(labelled.judge, labelled) - _weighted(others.judge, others))
    shares, units = labelled.shares_by_group, labelled.units
    error = _NO_ERROR if units < 2.0 else _error(part, trust, part.weight / unknown)
    return _Estimate(part, weight, mean, alone, _label_variance(part), trust, error, shares, units)


def _label_variance(part: _Part) -> float:
    """Return the variance of a label, such that n of them have a mean of variance 1/(n - 1) of it.

    With groups, the factor by which they change the variance of the mean is in it.
    """
    deviations = _deviations(part.human, part.labelled)
    return sum_of_squares(deviations.values()) * len(part.human)


def _trust(part: _Part) -> float:
    """Return lambda; 0 below two independent others, whose mean has no known variance."""
    labelled, others = part.labelled, part.others
    if len(set(others.groups)) < 2:
        return 0.0
    n, ratio = len(part.human), len(part.human) / len(others.judge)
    both = residuals(labelled.judge + others.judge, labelled.weights + others.weights)
    judge_variance = sum_of_squares(both) / (len(both) - 1)
    if judge_variance < NO_VARIANCE:
        return 0.0
    denominator = (1.0 + ratio) * judge_variance
    human = residuals(part.human, labelled.weights)
    judge = residuals(labelled.judge, labelled.weights)
    found = dot(human, judge) / (n - 1) / denominator
    return min(max(found / max(_steepest(part, judge, denominator), 1.0), 0.0), 1.0)


def _steepest(part: _Part, judge: Sequence[float], denominator: float) -> float:
    """Return the largest D (f - mean f): above 1, a lower label of that sample would raise m.

    ``judge`` are the residuals of the judge's scores of labelled samples, and ``denominator`` is
    that of lambda. With weights, a residual less the weighted mean of all of them takes the place
    of f - mean f.
    """
    labelled, n = part.labelled, len(part.human)
    gap = _weighted(labelled.judge, labelled) - _weighted(part.others.judge, part.others)
    centre = _weighted(judge, labelled)
    return n / (n - 1) * max(gap * (one - centre) for one in judge) / denominator


def _error(part: _Part, trust: float, weight: float) -> _Error:
    """Return the error of the mean that believes the judge as far as ``trust`` says.

    ``weight`` is the stratum's share of the one more label.
    """
    rest = [y - trust * f for y, f in zip(part.human, part.labelled.judge, strict=True)]
    ours = _deviations(rest, part.labelled)
    theirs = _deviations([trust * f for f in part.others.judge], part.others) if trust else {}
    k, squares = part.labelled.units, sum_of_squares(ours.values())
    variance = max(squares * k / (k - 1), (squares + weight / k**2) * k / (k + 1))
    if not theirs:
        return _Error(variance, ours)
    # Of others in uneven groups the variance is not known below k = 2; then each counts whole.
    others = max(part.others.units, 2.0)
    variance += sum_of_squares(theirs.values()) * others / (others - 1)
    by_group = {**theirs, **{group: one + theirs.get(group, 0.0) for group, one in ours.items()}}
    shared = math.fsum(one * theirs[group] for group, one in ours.items() if group in theirs)
    # At least k/(k - 1) times the squares of the groups' deviations: never below 0.
    variance += 2.0 * shared * len(by_group) / (len(by_group) - 1)
    return _Error(variance, by_group)


def _result(
    estimates: Sequence[_Estimate], labels: int, confidence: float, *, differences: bool
) -> Corrected:
    low = -1.0 if differences else 0.0
    mean = math.fsum(estimate.weight * estimate.mean for estimate in estimates)
    mean = min(max(mean, low), 1.0)
    trust = math.fsum(estimate.weight * estimate.trust for estimate in estimates)
    drawn = [estimate for estimate in estimates if not estimate.is_exact]
    if not drawn:
        return Corrected(mean, mean, mean, trust, labels, None)
    if why := _too_few_groups(drawn):
        return Corrected(mean, None, None, trust, labels, None, why)
    probability = min(0.5 + confidence / 2.0, LARGEST_PROBABILITY)
    by_group = _gathered((estimate.weight, estimate.label_shares) for estimate in drawn)
    units = min(math.fsum(estimate.units for estimate in drawn), float(len(by_group)))
    quantile = t_quantile(probability, max(units - len(drawn), 1.0))
    if differences:
        half = quantile * math.sqrt(_variance(drawn))
        return Corrected(mean, max(mean - half, low), min(mean + half, 1.0), trust, labels, None)
    size = 1.0 / sum_of_squares([math.fsum(one) for one in by_group])
    most = 2.0 * mean * (1.0 - mean) / size
    ends = wilson_interval(mean, min(_variance(drawn), most), size, quantile)
    per_label = units / sum(len(estimate.part.human) for estimate in drawn)
    variance = _variance_of_a_label(estimates)
    worth = labels_without_judge(ends[1] - ends[0], mean, variance, confidence, per_label)
    return Corrected(mean, *ends, trust, labels, worth)


def _too_few_groups(drawn: Sequence[_Estimate]) -> str:
    """Return why labels in groups give no interval; "" where they do."""
    fewest = min(estimate.units for estimate in drawn)
    if fewest >= 2.0:
        return ""
    if fewest > 1.0:
        return f"the labels of a stratum are like those of {fewest:.1f} groups: no interval"
    return "all labels of a stratum are of one group: no interval"


def _variance_of_a_label(estimates: Sequence[_Estimate]) -> float:
    """Return the variance of a label that is drawn from all strata."""
    centre = math.fsum(estimate.weight * estimate.alone for estimate in estimates)
    return math.fsum(
        estimate.weight * (estimate.label_variance + (estimate.alone - centre) ** 2)
        for estimate in estimates
    )


def _variance(drawn: Sequence[_Estimate]) -> float:
    """Return the variance of the strata's mean."""
    inside = math.fsum(estimate.weight**2 * estimate.error.variance for estimate in drawn)
    if len(drawn) == 1:
        return inside
    centre = math.fsum(estimate.weight * estimate.mean for estimate in drawn) / math.fsum(
        estimate.weight for estimate in drawn
    )
    errors = _gathered((estimate.weight, estimate.error.by_group) for estimate in drawn)
    sizes = _gathered((estimate.mean - centre, estimate.held) for estimate in drawn)
    shared = math.fsum(
        math.fsum(error) ** 2 - sum_of_squares(error) for error in errors if len(error) > 1
    )
    return inside + shared + math.fsum(math.fsum(size) ** 2 for size in sizes)


def _gathered(
    strata: Iterable[tuple[float, Mapping[Hashable, float]]],
) -> Collection[list[float]]:
    """Return for each group its values in the strata, each times the stratum's factor."""
    found: defaultdict[Hashable, list[float]] = defaultdict(list)
    for factor, by_group in strata:
        for group, value in by_group.items():
            found[group].append(factor * value)
    return found.values()


def _weighted(values: Sequence[float], rows: _Rows) -> float:
    return dot(values, rows.weights) / math.fsum(rows.weights)


def _deviations(values: Sequence[float], rows: _Rows) -> dict[Hashable, float]:
    n = len(values)
    return _sums([residual / n for residual in residuals(values, rows.weights)], rows.groups)


def _sums(values: Sequence[float], groups: Sequence[Hashable]) -> dict[Hashable, float]:
    found: defaultdict[Hashable, list[float]] = defaultdict(list)
    for value, group in zip(values, groups, strict=True):
        found[group].append(value)
    return {group: math.fsum(terms) for group, terms in found.items()}

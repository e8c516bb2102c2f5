"""Means of a run, and differences of two runs, as people would see them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from operator import not_
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.model import CHOSEN, Baseline, Corrected, HumanLabels, Label, ScenarioResult
from pytest_rageval.stats.comparison import paired_scores
from pytest_rageval.stats.labels.agreement import agreement_of
from pytest_rageval.stats.labels.corrected import (
    LEAST_LABELS,
    Judged,
    corrected_mean,
    labels_without_judge,
    no_mean,
)
from pytest_rageval.stats.labels.strata import (
    Key,
    Member,
    Scale,
    average,
    column_of,
    digest_of,
    listed,
    members_of,
    missing_labels,
    parts_of,
    saved_draws,
    short_stratum,
    strata_of,
    without_record,
)
from pytest_rageval.stats.summary import weighted_interval
from pytest_rageval.stats.weights import group_numbers, is_scored
from pytest_rageval.stats.wording import counted

MOST_STRATA: Final = 4
"""Jeffreys' interval adds half a yes and half a no to each class: in many, that would weigh."""

_DIVIDED: Final = 2
"""Of more strata than this, none is divided by verdict: each holds answers that are alike."""

_EQUAL: Final = 1e-9

_Floats = NDArray[np.float64]

_GRID: Final = 513
_WEIGHTS: Final = np.diff(np.sin(np.linspace(0.0, np.pi / 2.0, 65)) ** 2)
"""Of the points that stand for a law: least at both ends, where the tails are cut."""

_BINS: Final = 8192
_REACH: Final = 5.0
"""In units of 1/√n around the mode, outside of which the density is below e^-25 of its highest."""


def corrected_of(result: ScenarioResult, human: HumanLabels, confidence: float = 0.95) -> Corrected:
    """Return the mean that people would give, from the judge's scores and labels of some samples.

    It is in the metric's unit, None with a reason where labels or an end of the range are missing.
    Labels of two levels go to ``verdict_mean``, where it holds; all others to ``corrected_mean``.
    Samples whose answers have changed since others were labelled are a stratum of their own; until
    enough of them are labelled, there is no mean.
    """
    scale = Scale.of(result.info, human)
    low, high = column_of(result.info, human.metric).range
    if not math.isfinite(high - low):
        end = "upper" if math.isinf(high) else "lower"
        return no_mean(f"{human.metric} has no {end} end: its mean cannot be corrected")
    members = list(members_of(result, human, scale))
    strata = strata_of(members, human, saved_draws(result.info))
    labelled = sum(member.is_labelled for member in members)
    unscored = agreement_of(result, human).unscored if labelled < LEAST_LABELS else 0
    if unscored and isinstance(strata, list):
        strata = f"{counted(labelled, 'label')}, fewer than {LEAST_LABELS}; {unscored} more are of "
        strata += "samples without a score"
    if isinstance(strata, str):
        return no_mean(strata, labelled)
    parts = [[answer.judged for answer in part] for part in strata]
    found = verdict_mean(parts, confidence) if len(human.levels) == 2 else None
    found = found or corrected_mean(parts, confidence=confidence)
    return _scaled(found, scale.low, scale.span)


def pilot_of(result: ScenarioResult, human: HumanLabels) -> list[Judged]:
    """Return the population with its labels, to tell how many more of them are needed."""
    return [one.judged for one in members_of(result, human, Scale.of(result.info, human))]


def _scaled(found: Corrected, low: float, span: float) -> Corrected:
    mean, ci_low, ci_high = (
        None if one is None else low + span * one
        for one in (found.mean, found.ci_low, found.ci_high)
    )
    return replace(found, mean=mean, ci_low=ci_low, ci_high=ci_high)


def corrected_difference(
    result: ScenarioResult,
    human: HumanLabels,
    baseline: Baseline,
    confidence: float = 0.95,
    *,
    is_beyond: bool = False,
) -> Corrected:
    """Return the difference that people would see between this run (A) and a baseline (B).

    An equal answer is no difference. The others are strata of their own: 10 of them, or all, must
    be labelled on both sides, and two in each stratum; until then there is no figure. With all of
    them labelled it is known exactly for these samples. ``is_beyond``: the interval is to hold for
    more like them, and counts one pair more at its worst, as ``interval_of_fall`` does.
    """
    scale = Scale.of(result.info, human)
    pairs = list(_pairs(result, human, baseline, scale))
    equal = [pair.judged for pair in pairs if pair.digest == baseline.digests[pair.sample_id]]
    changed = [pair for pair in pairs if pair.digest != baseline.digests[pair.sample_id]]
    labelled = sum(answer.is_labelled for answer in changed)
    if not pairs:
        return no_mean(f"no sample has a score of {human.metric} and an answer in both runs")
    saved = saved_draws(result.info)
    lost = without_record(changed, [*human.draws, *saved])
    if lost:
        return no_mean(lost, labelled)
    parts = parts_of(changed, human, saved)
    reason = _missing_pairs(parts, labelled, len(pairs), baseline.name) or short_stratum(parts)
    if reason:
        return no_mean(reason, labelled)
    strata = [[answer.judged for answer in part] for part in parts.values()]
    strata += [equal] if equal else []
    exact = (len(parts),)  # equal answers differ by 0, and stand for no others
    found = corrected_mean(strata, differences=True, confidence=confidence, exact=exact)
    if is_beyond and labelled == len(changed):
        low, high = _beyond([pair.judged for pair in pairs], confidence) or (None, None)
        found = replace(found, ci_low=low, ci_high=high)
    return replace(_scaled(found, 0.0, scale.span), labels=labelled)


def _beyond(pairs: Sequence[Judged], confidence: float) -> tuple[float, float] | None:
    """Return the interval of the mean of pairs that are all known, None for too few."""
    differences = [0.0 if pair.human is None else pair.human for pair in pairs]
    weights = [pair.weight for pair in pairs]
    groups = [at if pair.group is None else pair.group for at, pair in enumerate(pairs)]
    return weighted_interval(differences, weights, (-1.0, 1.0), confidence, groups)


def _missing_pairs(
    parts: Mapping[Key, Sequence[Member]], labelled: int, pairs: int, baseline: str
) -> str:
    """Return how many answers to label on both sides, else ''.

    Those that changed again since they were drawn are no more like the others than changed ones
    are: they need labels of their own.
    """
    changed = [answer for part in parts.values() for answer in part]
    needed = min(LEAST_LABELS, len(changed)) - labelled
    missing = [answer.sample_id for answer in changed if not answer.is_labelled]
    if needed <= 0:
        needed, missing = missing_labels(parts)
    if needed <= 0:
        return ""
    return (
        f"{len(changed)} of {pairs} answers differ from those of {baseline}: draw both answers of "
        f"{needed} of them with 'pytest --rag-label {needed}' (for instance {listed(missing)})"
    )


def _pairs(
    result: ScenarioResult, human: HumanLabels, baseline: Baseline, scale: Scale
) -> Iterator[Member]:
    """Yield the samples that both runs scored; their figures are differences, ours minus theirs."""
    samples = [sample for sample in result.samples if sample.is_expected]
    groups = group_numbers(result.info, samples)
    for at, sample in enumerate(samples):
        ours, theirs = paired_scores(result.info, sample, baseline, human.metric)
        before = baseline.digests.get(sample.sample_id)
        if before is None or not is_scored(ours) or not is_scored(theirs):
            continue
        if sample.sample_weight == 0.0:
            continue
        group = None if groups is None else groups[at]
        digest, labels = digest_of(sample), human.labels.get(sample.sample_id, ())
        if digest == before:
            judged = Judged(0.0, 0.0, sample.sample_weight, group)
        else:
            here, there = (_drawn_mean(labels, one, scale) for one in (digest, before))
            view = None if here is None or there is None else here - there
            difference = scale.score(ours) - scale.score(theirs)
            judged = Judged(difference, view, sample.sample_weight, group)
        yield Member(sample.sample_id, judged, digest, labels)


def _drawn_mean(labels: Sequence[Label], digest: str, scale: Scale) -> float | None:
    """Return what people say of one answer on average, if it was drawn to be labelled."""
    found = [label for label in labels if label.digest == digest and label.drawn != CHOSEN]
    return average([scale.label(label.value) for label in found])


def verdict_mean(strata: Sequence[Sequence[Judged]], confidence: float = 0.95) -> Corrected | None:
    """Return the mean of yes and no, and its interval; None where this form does not hold.

    It holds for equal weights if no two samples share a group, where two to MOST_STRATA strata are
    open (not labelled throughout), or one whose verdicts are known; a single stratum is always
    open. Labels lie in 0..1 (a fraction where people are split). Otherwise, and without 10 labels
    or two in each stratum, ``corrected_mean`` decides.

    ``mean`` is Σ W_s m_s over the strata. Divided by verdict, m_s is Σ W_h k_h/n_h, which is right
    on average as the labels of a verdict are drawn at random from all of it. Of more than two open
    strata, if a verdict is not known or has no label, or if people do not accept more of what the
    judge accepts, m_s is that of the labels alone. ``share`` is the lambda of ``corrected_mean``
    for yes and no: the difference of the two verdicts' k_h/n_h, 0 where the labels alone decide,
    None where there are several strata.
    """
    parts = [kept for one in strata if (kept := [row for row in one if row.weight > 0.0])]
    if not _holds(parts):
        return None
    total = sum(map(len, parts))
    is_known = [len(parts) > 1 and _labelled(part) == len(part) for part in parts]
    known, drawn = (list(compress(parts, one)) for one in (is_known, map(not_, is_known)))
    classes = _classes(drawn)
    if classes is None:
        return None
    exact = math.fsum(_positive(part) for part in known) / total
    open_share = sum(map(len, drawn)) / total
    estimates = [_estimate(part, len(drawn)) for part in drawn]
    mean = exact + math.fsum(
        len(part) / total * one for part, (one, _) in zip(drawn, estimates, strict=True)
    )
    low, high = (exact + open_share * end for end in share_interval(classes, confidence))
    # The quantiles leave out 0 and 1, where all that was seen may lie.
    low, high = min(low, mean), max(high, mean)
    labels = sum(map(_labelled, parts))
    share = estimates[0][1] if len(parts) == 1 else None
    worth = labels_without_judge(high - low, mean, mean * (1.0 - mean), confidence)
    return Corrected(mean, low, high, share, labels, worth)


def _holds(parts: Sequence[Sequence[Judged]]) -> bool:
    """Return whether the labels are enough, and the weights equal, for ``verdict_mean``."""
    rows = [answer for part in parts for answer in part]
    if sum(map(_labelled, parts)) < LEAST_LABELS:
        return False
    if any(_labelled(part) < min(2, len(part)) for part in parts):
        return False
    weights = [row.weight for row in rows]
    groups = [row.group for row in rows if row.group is not None]
    is_equal = max(weights) - min(weights) <= _EQUAL * max(weights)
    return is_equal and len(set(groups)) == len(groups)


def _classes(drawn: Sequence[Sequence[Judged]]) -> tuple[Cell, ...] | None:
    """Return the classes of the open strata.

    None if no stratum is open, too many are, or a single one that no judge divided.
    """
    if not drawn or len(drawn) > MOST_STRATA or (len(drawn) == 1 and not _is_judged(drawn[0])):
        return None
    return tuple(cell for part in drawn for cell in _divided(part, len(drawn)))


def _is_judged(part: Sequence[Judged]) -> bool:
    return all(answer.verdict is not None for answer in part)


def _by_verdict(part: Sequence[Judged]) -> list[list[Judged]]:
    """Return the answers that the judge rejects, and those that it accepts."""
    return [[answer for answer in part if answer.verdict is verdict] for verdict in (False, True)]


def _divided(part: Sequence[Judged], strata: int) -> tuple[Cell, ...]:
    """Return the classes of one of the open strata: one, or one for each verdict.

    One if there are many strata, verdicts are missing, or all is labelled.
    """
    if strata > _DIVIDED or not _is_judged(part) or _labelled(part) == len(part):
        return (_cell(part),)
    return tuple(_cell(one) for one in _by_verdict(part) if one)


def _estimate(part: Sequence[Judged], strata: int) -> tuple[float, float]:
    """Return the mean of a stratum, and lambda."""
    alone = _positive(part) / _labelled(part)
    if strata > _DIVIDED or not _is_judged(part):
        return alone, 0.0
    rejected, accepted = _by_verdict(part)
    if not _labelled(rejected) or not _labelled(accepted):
        return alone, 0.0
    low, high = (_positive(one) / _labelled(one) for one in (rejected, accepted))
    if high <= low:
        return alone, 0.0
    return (len(rejected) * low + len(accepted) * high) / len(part), high - low


def _cell(part: Sequence[Judged]) -> Cell:
    return Cell(len(part), _labelled(part), _positive(part))


def _labelled(part: Sequence[Judged]) -> int:
    """Return how many answers have a label."""
    return sum(answer.human is not None for answer in part)


def _positive(part: Sequence[Judged]) -> float:
    """Return how many answers people call right, in fractions where they are split."""
    return math.fsum(answer.human for answer in part if answer.human is not None)


@dataclass(frozen=True, slots=True)
class Cell:
    """A class of ``size`` answers, of which ``labels`` are labelled, ``positive`` of them yes.

    ``positive`` may be a fraction where people are split about an answer.
    """

    size: int
    labels: int
    positive: float


@lru_cache(maxsize=4096)
def share_interval(cells: tuple[Cell, ...], confidence: float) -> tuple[float, float]:
    """Return the ends of the interval of Σ W p over all classes, one at least.

    W is the part of all answers that is of a class, p the share of yes in it (Jeffreys). At a
    confidence of 0.95 the ends are within 0.001 of the exact ones.

    Both fall if an answer is labelled lower: so does each p in distribution, and nothing else
    depends on what labels say.

    >>> low, high = share_interval((Cell(100, 10, 7.0),), 0.95)  # Jeffreys' interval of 7 of 10
    >>> round(low, 3), round(high, 3)
    (0.394, 0.907)
    """
    tail = (1.0 - confidence) / 2.0
    # The largest last: its probabilities are exact, the others are points.
    first, *others = (_beta(cell) for cell in sorted(cells, key=lambda cell: cell.size))
    if not others:
        low, high = first.quantiles(np.array([tail, 1.0 - tail]))
        return float(low), float(high)
    *middle, last = others
    for one in middle:
        first = _added(first, one)
    return _quantile(first, last, tail), _quantile(first, last, 1.0 - tail)


@dataclass(frozen=True, slots=True)
class _Law:
    """A distribution: ascending ``shares``, and the probability up to each; of ``size`` answers."""

    size: int
    shares: _Floats
    below: _Floats

    def quantiles(self, probabilities: _Floats) -> _Floats:
        return np.interp(probabilities, self.below, self.shares)

    def points(self) -> _Floats:
        """Return a share for each of _WEIGHTS: the middle of so much probability."""
        return self.quantiles(np.cumsum(_WEIGHTS) - _WEIGHTS / 2.0)

    def up_to(self, shares: _Floats) -> _Floats:
        return np.interp(shares, self.shares, self.below, left=0.0, right=1.0)


def _beta(cell: Cell) -> _Law:
    """Return the law of the share of a class.

    In θ with p = sin²θ its density is sin^2k θ cos^2(n-k) θ: it has no poles.
    """
    n, k = cell.labels, cell.positive
    mode = math.asin(math.sqrt(min(k / n, 1.0))) if n else 0.0
    reach = _REACH / math.sqrt(n) if n else math.pi
    theta = np.linspace(max(mode - reach, 0.0), min(mode + reach, math.pi / 2), _GRID)
    density = np.zeros(_GRID)
    with np.errstate(divide="ignore"):
        if k > 0.0:
            density += 2.0 * k * np.log(np.sin(theta))
        if k < n:
            density += 2.0 * (n - k) * np.log(np.cos(theta))
    heights = np.exp(density - density.max())
    below = np.concatenate([[0.0], np.cumsum(heights[1:] + heights[:-1])])
    return _Law(cell.size, np.sin(theta) ** 2, below / below[-1])


def _added(one: _Law, other: _Law) -> _Law:
    """Return the law of two classes together."""
    part = _part(one.size, other.size)[:, None, None]
    sums = part * one.points()[:, None] + (1.0 - part) * other.points()
    weights = _WEIGHTS[:, None, None] * _WEIGHTS[:, None] * _WEIGHTS
    heights, shares = np.histogram(sums, _BINS, (0.0, 1.0), weights=weights)
    below = np.concatenate([[0.0], np.cumsum(heights)])
    return _Law(one.size + other.size, shares, below / below[-1])


def _quantile(one: _Law, other: _Law, wanted: float) -> float:
    """Return a quantile of two classes together; ``one`` is taken as points, ``other`` whole."""
    part = _part(one.size, other.size)[:, None]
    shifts = part * one.points()

    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2.0
        below = _WEIGHTS @ other.up_to((middle - shifts) / (1.0 - part)) @ _WEIGHTS
        low, high = (middle, high) if below < wanted else (low, middle)
    return (low + high) / 2.0


def _part(size: int, other: int) -> _Floats:
    """Return points of W ~ Beta(size, other), the part of the first.

    Its mean, variance and skewness are not enough: where all answers of a verdict are right, or all
    wrong, hardly anything but W varies.
    """
    return _beta(Cell(size, size + other - 1, size - 0.5)).points()

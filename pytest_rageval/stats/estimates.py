"""Means over all rows of a data set of which a sample was asked, with the help of an older run.

The rows are divided into classes that do not depend on a new score: answers that are known to be as
they were, answers that changed, and both by how they scored before. With Y and f the new and the
older scores, W a class's share of all weight,

    mean = Σ W (c·mean(f of all) + mean(Y - c·f of the asked))

with c = 1 for unchanged answers, 0 for rows without an older score (their own class), else 1/2.

A class is a control variate of its own: rows that scored alike before are likely to do so again
(post-stratification; Cochran 1977, 5A.9). The factor c is fixed, since a factor that is found from
the new scores can make an interval rise with a worse score.

The distance of an end from the mean is √Σ (1 - p)(W d)²: d is that of ``mean_bounds`` for Y - c·f
in its class. A class that is asked throughout is known, and adds nothing; p is the share of the
rows of the other classes that is asked (distances are put together as Zou and Donner 2008 do). All
classes share one extra answer by W, and unchanged ones have three quarters of theirs: simulated.
Beyond these rows q b² is added to the sum: b is the distance for all new scores without the older
ones, q the effective number of asked rows over that of all, so that a run that asks all has the
interval of its own scores.

No end rises when a score falls: the mean less both distances does not, since √(1 - p)·x +
√q·√(1 - x²) <= 1 for any x in 0..1 and q = p. Groups (``group_by``) are asked and counted as rows
are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.model import (
    NOTHING,
    WEIGHTED_SCORE,
    Baseline,
    Estimate,
    SampleResult,
    Sampling,
    ScenarioResult,
)
from pytest_rageval.stats.labels.influence import dot, sum_of_squares
from pytest_rageval.stats.summary import group_sums, weighted_interval
from pytest_rageval.stats.verdict import has_failed, score_of
from pytest_rageval.stats.weights import group_numbers, is_scored, rescale
from pytest_rageval.stats.wording import counted

LEAST_ASKED: Final = 10
"""With fewer asked rows that have a score, unless these are all rows, there is no estimate."""

LEAST_IN_CLASS: Final = 5
"""The least asked rows, or groups, of a class of older scores, and of a stratum in a draw."""

MOST_CLASSES: Final = 8
"""A stratum has so many classes of older scores at most: each is an eighth of it or more."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row that the metric applies to, with its scores in this run and in the older one.

    ``new`` is None where it was not asked, ``old`` where that run has no score. Rows of one
    ``group`` are asked together. ``changed`` is None where its answer is not known before it is
    asked. A row that is ``in_every_draw`` stands for no other.
    """

    new: float | None
    old: float | None
    weight: float = 1.0
    group: Hashable | None = None
    changed: bool | None = None
    in_every_draw: bool = False


def estimates_of(
    result: ScenarioResult, baseline: Baseline, confidence: float = 0.95
) -> dict[str, Estimate]:
    """Return the mean of each metric, and of the weighted score, over all rows of the data set.

    ``result`` has a sample for each row, those that were not drawn as skipped ones. An asked row
    without a score does not count, as in a run that asks all; nor does one that was not asked and
    to which the metric did not apply in the older run.
    """
    info, sample = result.info, result.info.sample
    assert sample is not None
    samples = [one for one in result.samples if one.is_expected or one.is_not_drawn]
    groups = group_numbers(info, samples)
    weights = rescale([one.sample_weight for one in samples])
    in_every_draw = _with_group(samples, groups, sample.unscored_before)
    changed = None if sample.changed is None else _with_group(samples, groups, sample.changed)
    ranges = {column.name: column.range for column in info.metrics}
    ranges[WEIGHTED_SCORE] = info.weighted_range
    found = {}
    for name, ends in ranges.items():
        places = [at for at, one in enumerate(samples) if _is_row(one, name, baseline)]
        rows = [
            Row(
                score_of(samples[at], name),
                _older(baseline, name, samples[at].sample_id),
                weights[at],
                None if groups is None else groups[at],
                None if changed is None else at in changed,
                at in in_every_draw,
            )
            for at in places
        ]
        made = estimate(rows, ends, confidence)
        if why := _why_other_rows(samples, name, baseline, sample):
            made = _no_estimate(why, (made.asked, made.rows, made.changed))
        if sample.changed is not None:
            count = sum(samples[at].sample_id in sample.changed for at in places)
            made = replace(made, changed=count)
        found[name] = made
    return found


def _with_group(
    samples: Sequence[SampleResult], groups: Sequence[Hashable] | None, ids: Collection[str]
) -> frozenset[int]:
    """Return the places of samples with these ids, and of those that are drawn together with them.

    Of all samples, not of those with a score of a metric: a draw knows no scores.
    """
    places = [at for at, one in enumerate(samples) if one.sample_id in ids]
    if groups is None:
        return frozenset(places)
    touched = {groups[at] for at in places}
    return frozenset(at for at, group in enumerate(groups) if group in touched)


def _why_other_rows(
    samples: Iterable[SampleResult], name: str, baseline: Baseline, sample: Sampling
) -> str:
    """Return why the older scores say nothing: the metric applies to other rows than it did.

    To how many rows that were not asked it applies is then not known. Rows that failed, or that
    every draw has, do not tell. "" where the older scores hold, or there are none.
    """
    asked = [
        one
        for one in samples
        if not one.is_not_drawn and one.sample_weight > 0.0 and not has_failed(one, name)
    ]
    other = sum(
        is_scored(score_of(one, name)) != (_older(baseline, name, one.sample_id) is not None)
        for one in asked
        if one.sample_id not in sample.unscored_before
    )
    if not other or name not in baseline.scores:
        return ""
    rows = f"{other} of {counted(len(asked), 'asked row')}"
    return f"of {rows} only one of this run and {baseline.name} has a score; ask all rows"


def _older(baseline: Baseline, name: str, sample_id: str) -> float | None:
    found = baseline.scores.get(name, NOTHING).get(sample_id)
    return found if is_scored(found) else None


def _is_row(sample: SampleResult, name: str, baseline: Baseline) -> bool:
    """Return whether a mean over all rows has this one, as far as that is known."""
    if sample.sample_weight == 0.0:
        return False
    if not sample.is_not_drawn:
        return is_scored(score_of(sample, name))
    is_known = _older(baseline, name, sample.sample_id) is not None
    return is_known or name not in baseline.scores


def estimate(
    rows: Sequence[Row], value_range: tuple[float, float], confidence: float = 0.95
) -> Estimate:
    """Return the mean over ``rows``, some of which have a new score, and both intervals.

    ``value_range`` is the metric's, with infinities where it is unbounded. There is no estimate,
    but the reason, with fewer than LEAST_ASKED new scores (fewer are enough where all rows, two at
    least, have one), with fewer than two in a stratum of which not all is asked, and where the
    asked rows are too few to say how far they spread.
    """
    known = [row.changed for row in rows if row.changed is not None]
    counts = (sum(row.new is not None for row in rows), len(rows), sum(known) if known else None)
    if counts[0] < min(LEAST_ASKED, max(len(rows), 2)):
        scored = counted(counts[0], "row")
        return _no_estimate(f"{scored} with a score, fewer than {LEAST_ASKED}", counts)
    strata = _strata(rows)
    short = [name for name, units in strata.items() if _is_short(units)]
    if short:
        of = "" if all(row.group is None for row in rows) else "groups of "
        return _no_estimate(f"fewer than 2 {of}{short[0]} were asked", counts)
    whole = math.fsum(row.weight for row in rows)
    classes = [units for stratum in strata.values() for units in _by_older_score(stratum)]
    ends = _ends([_Class.of(units, whole) for units in classes], value_range, confidence)
    if ends is None:
        return _no_estimate(
            "the rows that were asked are too few to say how far they spread", counts
        )
    mean, ci_low, ci_high, beyond_low, beyond_high = ends
    return Estimate(mean, ci_low, ci_high, beyond_low, beyond_high, *counts)


def _no_estimate(why: str, counts: tuple[int, int, int | None]) -> Estimate:
    return Estimate(None, None, None, None, None, *counts, why)


UNCHANGED: Final = "rows with the same answer"
CHANGED: Final = "rows with another answer"
UNKNOWN: Final = "rows"
NEW: Final = "rows without an older score"
"""Strata, in the words of a reason."""

_BELIEVED: Final = {UNCHANGED: 1.0, CHANGED: 0.5, UNKNOWN: 0.5, NEW: 0.0}


@dataclass(frozen=True, slots=True)
class _Unit:
    """Rows that are asked together: a group, or one row; ``old`` is their mean in the older run."""

    rows: Sequence[Row]
    stratum: str
    old: float
    is_asked: bool

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _Unit:
        """Return the unit of some rows.

        Its ``old`` is 0.0 where a row has no older score, or is in every draw.
        """
        is_asked = any(row.new is not None for row in rows)
        olds = [(row.old, row.weight) for row in rows if row.old is not None]
        if len(olds) < len(rows) or any(row.in_every_draw for row in rows):
            return cls(rows, NEW, 0.0, is_asked)
        answers = {row.changed for row in rows}
        stratum = CHANGED if True in answers else UNKNOWN if None in answers else UNCHANGED
        return cls(rows, stratum, olds[0][0] if len(olds) == 1 else _mean(olds), is_asked)


def _strata(rows: Sequence[Row]) -> dict[str, list[_Unit]]:
    """Return the units of each stratum; the order of ``rows`` decides no digit of a sum."""
    together: defaultdict[Hashable, list[Row]] = defaultdict(list)
    for at, row in enumerate(sorted(rows, key=_by_scores)):
        together[(at,) if row.group is None else row.group].append(row)
    units = sorted(together.values(), key=lambda unit: [_by_scores(row) for row in unit])
    strata: defaultdict[str, list[_Unit]] = defaultdict(list)
    for unit in map(_Unit.of, units):
        strata[unit.stratum].append(unit)
    return {name: strata[name] for name in sorted(strata)}


def _by_scores(row: Row) -> tuple[float, float, float]:
    old, new = (-math.inf if score is None else score for score in (row.old, row.new))
    return old, new, row.weight


def _is_short(units: Sequence[_Unit]) -> bool:
    asked = sum(unit.is_asked for unit in units)
    return asked < min(2, len(units))


def _by_older_score(units: Sequence[_Unit]) -> list[list[_Unit]]:
    """Return the stratum in parts of about equal older scores; equal ones are in one part.

    Each has LEAST_IN_CLASS asked units or more, or is the whole stratum. No new score decides where
    the borders lie.
    """
    scores: defaultdict[float, list[_Unit]] = defaultdict(list)
    for unit in units:
        scores[unit.old].append(unit)
    parts: list[list[_Unit]] = []
    gathered: list[_Unit] = []
    for score in sorted(scores):
        gathered = gathered + scores[score]
        is_large = MOST_CLASSES * len(gathered) >= len(units)
        if is_large and sum(unit.is_asked for unit in gathered) >= LEAST_IN_CLASS:
            parts.append(gathered)
            gathered = []
    if gathered and parts:
        parts[-1] = parts[-1] + gathered
    return parts or [gathered]


@dataclass(frozen=True, slots=True)
class _Class:
    """Units of one stratum that scored alike before, with their ``share`` of all weight.

    ``factor`` says how far the older scores are believed, ``asked`` has new and older score, weight
    and the number of the unit of each asked row, ``olds`` older score and weight of all rows.
    """

    units: Sequence[_Unit]
    share: float
    factor: float
    asked: Sequence[tuple[float, float, float, int]]
    olds: Sequence[tuple[float, float]]

    @classmethod
    def of(cls, units: Sequence[_Unit], whole: float) -> _Class:
        """Return the class of ``units``; ``whole`` is the weight of all classes."""
        rows = [(row, at) for at, unit in enumerate(units) for row in unit.rows]
        olds = [(0.0 if row.old is None else row.old, row.weight) for row, _ in rows]
        asked = [
            (row.new, old, weight, at)
            for (row, at), (old, weight) in zip(rows, olds, strict=True)
            if row.new is not None
        ]
        share = math.fsum(weight for _, weight in olds) / whole
        return cls(units, share, _BELIEVED[units[0].stratum], asked, olds)

    @property
    def is_open(self) -> bool:
        return not all(unit.is_asked for unit in self.units)

    @property
    def moved(self) -> list[tuple[float, float, int]]:
        """Y - c·f, weight and number of the unit of each asked row."""
        return [(new - self.factor * old, weight, at) for new, old, weight, at in self.asked]

    @property
    def mean(self) -> float:
        """The estimate of its mean."""
        moved = _mean([(value, weight) for value, weight, _ in self.moved])
        return self.factor * _mean(self.olds) + moved

    def distances(
        self, value_range: tuple[float, float], confidence: float
    ) -> tuple[float, float] | None:
        """Return how far the ends for rows like these are from its mean; None for too few."""
        olds = [old for old, _ in self.olds]
        low, high = value_range
        ends = low - self.factor * max(olds), high - self.factor * min(olds)
        extra = self.share * (0.75 if self.units[0].stratum == UNCHANGED else 1.0)
        return _distances(self.moved, ends, confidence, extra)


def _mean(pairs: Iterable[tuple[float, float]]) -> float:
    values, weights = zip(*pairs, strict=True)
    return dot(values, weights) / math.fsum(weights)


def _distances(
    rows: Sequence[tuple[float, float, int]],
    ends: tuple[float, float],
    confidence: float,
    extra: float = 1.0,
) -> tuple[float, float] | None:
    values, weights, groups = (list(column) for column in zip(*rows, strict=True))
    found = weighted_interval(values, weights, ends, confidence, groups, extra)
    mean = _mean(zip(values, weights, strict=True))
    return None if found is None else (mean - found[0], found[1] - mean)


def _ends(
    parts: Sequence[_Class], value_range: tuple[float, float], confidence: float
) -> tuple[float, ...] | None:
    """Return the mean, the ends of the interval for these rows, and those of the one beyond them.

    None where the asked rows of a class, or of all, are too few for an interval.
    """
    rows = _all_asked(parts)
    scores = [score for score, _, _ in rows]
    low, high = min(value_range[0], *scores), max(value_range[1], *scores)
    still_open = [part for part in parts if part.is_open]
    units = [unit for part in still_open for unit in part.units]
    asked = sum(unit.is_asked for unit in units) / len(units) if units else 1.0
    inside = [part.distances((low, high), confidence) for part in still_open]
    beyond = _distances(rows, (low, high), confidence)
    known = [found for found in inside if found is not None]
    if beyond is None or len(known) < len(inside):
        return None
    of_parts = [(1.0 - asked) * part.share**2 for part in still_open]
    mean = math.fsum(part.share * part.mean for part in parts)
    ends = [mean]
    for distances, factors in (
        (known, of_parts),
        ([*known, beyond], [*of_parts, _effective_share(parts, rows)]),
    ):
        squares = [
            [factor * d * d for d in pair] for pair, factor in zip(distances, factors, strict=True)
        ]
        below, above = (math.sqrt(math.fsum(pair[end] for pair in squares)) for end in (0, 1))
        ends += [mean - below, mean + above]
    return tuple(min(max(end, low), high) for end in ends)


def _effective_share(parts: Sequence[_Class], rows: Sequence[tuple[float, float, int]]) -> float:
    """Return the effective number of asked units over that of all units, 1 where all are asked."""
    everyone = [math.fsum(row.weight for row in unit.rows) for part in parts for unit in part.units]
    asked = group_sums([weight for _, weight, _ in rows], [unit for _, _, unit in rows])
    numbers = (math.fsum(one) ** 2 / sum_of_squares(one) for one in (asked, everyone))
    few, all_of_them = numbers
    return min(few / all_of_them, 1.0)


def _all_asked(parts: Sequence[_Class]) -> list[tuple[float, float, int]]:
    """Return new scores, weights that stand for all rows of the class, and numbers of units."""
    rows: list[tuple[float, float, int]] = []
    first = 0
    for part in parts:
        # Exactly 1 where all are asked: equal weights stay equal.
        weights = (weight for _, _, weight, _ in part.asked)
        scale = math.fsum(weight for _, weight in part.olds) / math.fsum(weights)
        rows += [(new, scale * weight, first + at) for new, _, weight, at in part.asked]
        first += len(part.units)
    return rows

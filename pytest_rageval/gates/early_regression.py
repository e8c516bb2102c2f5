"""Which falls ``no_regression`` allows, and when that is certain before all samples are scored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar, Literal

from pytest_rageval.gates.base import AnySample, Gate, Watch, targets_of
from pytest_rageval.gates.mean import score_range
from pytest_rageval.model import (
    TOLERANCE,
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    Sample,
    SampleResult,
    ScenarioInfo,
    SignificanceTest,
)
from pytest_rageval.stats.certainty import GrowingMean, GrowingSum
from pytest_rageval.stats.paired import correction_used
from pytest_rageval.stats.weights import is_scored, resolve_weight

_Ends = tuple[float, float]

Mode = Literal["significant", "exceeds", "non_inferior", "any"]
"""What a regression is.

``significant``: a significant fall by more than ``max_drop``; ``exceeds``: a fall that is
significantly larger than ``max_drop``; ``non_inferior``: a fall larger than ``max_drop`` cannot
be excluded; ``any``: a fall by more than ``max_drop``, even by chance.
"""
Undecided = Literal["fail", "pass"]
"""The verdict without enough pairs, or if data of this size cannot show anything."""


@dataclass(frozen=True, slots=True)
class FallGate(Gate):
    """Which falls against a saved run are allowed; what decides them is a subclass's ``check``.

    ``spans`` are the widths of the metrics' ranges; ``min_pairs`` is a share of the baseline's
    samples.
    """

    name: str
    baseline: Baseline
    higher_is_better: Mapping[str, bool]
    max_drop: float
    relative: bool
    mode: Mode
    test: SignificanceTest
    spans: Mapping[str, float]
    min_pairs: float
    undecided: Undecided

    @property
    def targets(self) -> tuple[str, ...]:
        """The metrics that it is about."""
        return tuple(self.higher_is_better)

    @property
    def compared_with(self) -> Baseline:
        """The run that it compares with."""
        return self.baseline

    def watch(self, info: ScenarioInfo, samples: Sequence[AnySample], error: float) -> Watch | None:
        """Return what follows the falls; None where every sample is needed."""
        return None if self.by_labels else _watch_falls(self, info, samples, error)

    def pairs_needed(self, required: int) -> int:
        """Return how many pairs ``min_pairs`` asks for, of so many samples of the baseline."""
        return math.ceil(self.min_pairs * required - TOLERANCE)


def _watch_falls(
    gate: FallGate, info: ScenarioInfo, samples: Sequence[AnySample], error: float
) -> FallWatch | None:
    """Return what follows the falls of all metrics; None where every sample is needed.

    That is so in all modes but ``any`` and ``exceeds``, where ``_can_be_early`` is False, where the
    baseline has no score of a metric, where a range has no end, and for a fall in per cent of
    scores that may be below 0.
    """
    if gate.mode not in ("any", "exceeds") or not _can_be_early(gate, info):
        return None
    ids = frozenset(gate.baseline.ids)
    shared = {
        _id(sample): (sample.index, resolve_weight(info.doc_weights, sample.doc_name))
        for sample in samples
        if _id(sample) in ids
    }
    weighing = {name: (index, weight) for name, (index, weight) in shared.items() if weight > 0.0}
    needed = _pairs_needed(gate, len(ids) - (len(shared) - len(weighing)))
    falls = {metric: _fall(gate, info, metric, weighing, needed, error) for metric in gate.targets}
    found = {metric: fall for metric, fall in falls.items() if fall is not None}
    return FallWatch(gate, info, found) if len(found) == len(falls) else None


def _fall(
    gate: FallGate,
    info: ScenarioInfo,
    metric: str,
    weighing: Mapping[str, tuple[int, float]],
    needed: int,
    error: float,
) -> _Fall | None:
    """Return the fall of a metric before anything is scored, None where it cannot be followed.

    ``weighing`` holds index and weight of the samples by id.
    """
    before = {
        index: _before(gate, info, metric, name)
        for name, (index, _) in weighing.items()
        if is_scored(gate.baseline.scores[metric].get(name))
    }
    low, high = score_range(metric, info)
    if not before or not math.isfinite(high - low):
        return None
    if gate.relative and min(least for least, _ in before.values()) < 0.0:
        return None
    ends = {index: _ends(gate, metric, (low, high), theirs) for index, theirs in before.items()}
    count = len(before)
    # Half a pair less than is needed: no rounding of the share can cost a pair.
    enough = Bound(min=(needed - 0.5) / count)
    # One wrong bet on a fall fails the gate wrongly, so the metrics share the error. A wrong bet on
    # the pairs can only pass it wrongly, and only where the metric that lacks pairs is the one that
    # the bet was about: so each metric has the whole error.
    return _Fall(
        GrowingSum(ends, dict(weighing.values()), error / len(gate.targets)),
        GrowingMean(enough, (0.0, 1.0), count, count, error),
        frozenset(before),
    )


def _can_be_early(gate: FallGate, info: ScenarioInfo) -> bool:
    """Return whether a verdict can be known before every sample is scored.

    Holes can make a fall undecided. In mode ``exceeds`` the test must have a result whatever the
    differences are, or else the gate must pass without one.
    """
    columns = targets_of(info)
    if any(columns[metric].retrieves for metric in gate.targets):
        return False
    if gate.mode == "any" or gate.undecided == "pass":
        return True
    has_result = gate.test.test in ("permutation", "wilcoxon") and info.group_by is None
    return has_result and _times(gate) / (gate.test.n_resamples + 1) < gate.test.alpha


def _times(gate: FallGate) -> int:
    """Return what the smallest p of a metric is multiplied by."""
    used = correction_used(gate.test.test, gate.test.correction)
    return len(gate.targets) if used == "holm" else 1


def _pairs_needed(gate: FallGate, required: int) -> int:
    """Return with how many pairs the gate decides; ``required`` is how many there should be."""
    if gate.undecided == "pass":
        return 1
    needed = max(gate.pairs_needed(required), 1)
    if gate.mode == "any":
        return needed
    least = 2  # the fewest that could be significant, if all fell
    while _times(gate) * math.ldexp(1.0, 1 - least) >= gate.test.alpha:
        least += 1
    return max(needed, least)


def _before(gate: FallGate, info: ScenarioInfo, metric: str, name: str) -> _Ends:
    """Return the lowest and highest score of the baseline that a pair may come to have.

    Its weighted score leaves out the metrics that this run will not score: whichever these are, it
    is a mean of the others.
    """
    known = gate.baseline.scores
    scores = [known[metric][name]]
    if metric == WEIGHTED_SCORE:
        scores += [
            column.to_unit(score)
            for column in info.metrics
            if column.weight > 0.0 and is_scored(score := known.get(column.name, {}).get(name))
        ]
    found = [score for score in scores if is_scored(score)]
    return min(found), max(found)


def _ends(gate: FallGate, metric: str, ours: _Ends, theirs: _Ends) -> _Ends:
    """Return the ends of what is left of the allowed fall; linear, it has them at the corners."""
    corners = [_left(gate, metric, now, before) for now, before in product(ours, theirs)]
    return min(corners), max(corners)


def _left(gate: FallGate, metric: str, now: float, before: float) -> float:
    """Return what a pair leaves of the allowed fall; below 0 it fell by more."""
    gain = now - before if gate.higher_is_better[metric] else before - now
    return gain + (gate.max_drop * before if gate.relative else gate.max_drop)


@dataclass(frozen=True, slots=True)
class _Fall:
    """What is ``left`` of the fall that a metric may have, and whether ``pairs`` are enough.

    ``known`` are the indices of the samples that weigh something and have a score in the baseline.
    """

    left: GrowingSum
    pairs: GrowingMean
    known: frozenset[int]


class FallWatch(Watch):
    """Follows what is left of the allowed fall of each metric, and the number of pairs.

    In mode ``exceeds`` only a pass is certain early: whether a fall is significant depends on every
    difference.
    """

    follows_scores: ClassVar[bool] = True

    def __init__(self, gate: FallGate, info: ScenarioInfo, falls: Mapping[str, _Fall]) -> None:
        self._gate = gate
        self._info = info
        self._falls = falls

    @property
    def verdict(self) -> bool | None:
        """Whether no metric fell by more than is allowed; None while that is open."""
        falls = self._falls.values()
        if self._gate.mode == "any" and any(fall.left.verdict is False for fall in falls):
            return False
        return all(fall.left.verdict and fall.pairs.verdict for fall in falls) or None

    def add(self, sample: SampleResult) -> None:
        """Note the scores of a sample that has some in the baseline."""
        # It imports numpy, which runs without a comparison need not load.
        from pytest_rageval.stats.comparison import lost_by, paired_scores

        lost = lost_by(self._info, sample, self._gate.baseline)
        for metric, fall in self._falls.items():
            if sample.invalid is not None or sample.index not in fall.known:
                continue
            now, before = paired_scores(self._info, sample, self._gate.baseline, metric)
            left = None
            if is_scored(now) and is_scored(before):
                left = _left(self._gate, metric, now, before)
            fall.left.add(sample.index, left, may_come=bool(sample.errors))
            is_pair = left is not None and not (metric == WEIGHTED_SCORE and lost)
            fall.pairs.add(float(is_pair))


def _id(sample: AnySample) -> str:
    return sample.id if isinstance(sample, Sample) else sample.sample_id

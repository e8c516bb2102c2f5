"""What labels of people and scores of a judge are as numbers, and which answers they are about."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_rageval.model import (
    TOLERANCE,
    WEIGHTED_SCORE,
    Bound,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    answer_digest,
    finite_ends,
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How scores and labels of one metric become numbers from 0 to 1.

    More than two levels are on the metric's scale; two stand for its lower and its upper end.
    """

    low: float
    high: float
    label_low: float
    label_high: float

    @classmethod
    def of(cls, info: ScenarioInfo, human: HumanLabels) -> Scale:
        """Return the scale of a metric; that of an unbounded one has the ends of its levels."""
        low, high = column_of(info, human.metric).range
        ends = (human.levels[0], human.levels[-1])
        if math.isinf(high - low):
            return cls(*ends, *ends)
        return cls(low, high, *((low, high) if len(human.levels) > 2 else ends))

    @property
    def span(self) -> float:
        """The width of the metric's range."""
        return self.high - self.low

    def score(self, score: float) -> float:
        """Return a score as 0..1."""
        return (score - self.low) / self.span

    def label(self, level: float) -> float:
        """Return a label as 0..1."""
        return (level - self.label_low) / (self.label_high - self.label_low)

    def verdict(self, score: float, levels: Sequence[float], cut: Bound | None) -> bool | None:
        """Return whether a score stands for the higher of two levels; None of others."""
        level = self.level(score, levels, cut) if len(levels) == 2 else None
        return None if level is None else level == levels[-1]

    def level(self, score: float, levels: Sequence[float], cut: Bound | None) -> float | None:
        """Return the level that a score stands for, None if two levels have no bound between."""
        if (self.low, self.high) == (self.label_low, self.label_high):
            same = next((one for one in levels if abs(one - score) <= TOLERANCE), None)
            if same is not None:
                return same
        if len(levels) > 2:
            return min(levels, key=lambda level: (abs(level - score), level))
        if cut is None:
            return None
        is_high = Bound(min=cut.min).holds(score) if cut.min is not None else not cut.holds(score)
        return levels[is_high]


def column_of(info: ScenarioInfo, metric: str) -> MetricColumn:
    """Return the column of a metric, or of the weighted score."""
    if metric == WEIGHTED_SCORE:
        return MetricColumn(WEIGHTED_SCORE, ends=finite_ends(info.weighted_range))
    return next(column for column in info.metrics if column.name == metric)


def cut_of(info: ScenarioInfo, human: HumanLabels) -> Bound | None:
    """Return from where on a score that is no level means the higher of two; None if unsaid."""
    return Bound(min=human.cut) if human.cut is not None else info.thresholds.get(human.metric)


def digest_of(sample: SampleResult) -> str:
    """Return the digest of a sample's present answer."""
    return answer_digest(sample.answer, sample.contexts)


def present_labels(sample: SampleResult, labels: Sequence[Label]) -> list[Label]:
    """Return the labels that are about the sample's present answer."""
    if not labels:
        return []
    digest = digest_of(sample)
    return [label for label in labels if label.digest == digest]


def average(values: Sequence[float]) -> float | None:
    """Return the plain mean, None of nothing."""
    return math.fsum(values) / len(values) if values else None

"""The verdict on one sample: which of its scores do not keep their thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_rageval.model import WEIGHTED_SCORE, Bound, SampleResult
from pytest_rageval.stats.weights import is_scored


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A score that does not keep its bound."""

    name: str
    observed: float
    bound: Bound

    def __str__(self) -> str:
        return f"{self.name} {self.bound.compare(self.observed)}"


def score_of(sample: SampleResult, name: str) -> float | None:
    """Return the sample's score for a metric, or its weighted score; None when unscored."""
    return sample.weighted_score if name == WEIGHTED_SCORE else sample.scores.get(name)


def shortfalls(sample: SampleResult, thresholds: Mapping[str, Bound]) -> list[Shortfall]:
    """Return every threshold that a score of ``sample`` misses; unscored ones are not judged."""
    missed = []
    for name, bound in thresholds.items():
        value = score_of(sample, name)
        if value is not None and is_scored(value) and not bound.holds(value):
            missed.append(Shortfall(name, value, bound))
    return missed

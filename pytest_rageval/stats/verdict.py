"""The verdict on one sample: which scores do not keep their thresholds, and why which lack."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pytest_rageval.model import BUDGET, REPLAY, WEIGHTED_SCORE, Bound, SampleResult
from pytest_rageval.stats.weights import is_scored

NOTHING_WEIGHS: Final = "all metrics that have a score weigh 0"
"""Why a sample has no weighted score though metrics scored it."""


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


def is_beyond_budget(sample: SampleResult) -> bool:
    """Return whether any of its scores was not asked for because the budget was spent."""
    return any(error.startswith(BUDGET) for error in sample.errors.values())


def was_not_asked(sample: SampleResult, name: str) -> bool:
    """Return whether a score lacks for a reason of the run, and not of the sample."""
    return sample.errors.get(name, "").startswith((BUDGET, REPLAY))


def shown_errors(sample: SampleResult) -> dict[str, str]:
    """Return the errors of ``sample``, by what they are of: a metric, the row, the target.

    Where it could not be judged, the reasons of metrics that gave it no score are among them.
    """
    if sample.outcome != "error" and is_scored(sample.weighted_score):
        return dict(sample.errors)
    lacking = [name for name, score in sample.scores.items() if not is_scored(score)]
    found = {name: sample.reasons[name] for name in lacking if name in sample.reasons}
    if not is_scored(sample.weighted_score) and len(lacking) < len(sample.scores):
        found[WEIGHTED_SCORE] = NOTHING_WEIGHS
    return {**sample.errors, **{name: found[name] for name in found if name not in sample.errors}}


def badness(sample: SampleResult) -> tuple[bool, float, int]:
    """Sort what could not be judged first, then from the lowest weighted score upwards."""
    score = sample.weighted_score
    known = score if score is not None and is_scored(score) else -math.inf
    return sample.outcome != "error", known, sample.index

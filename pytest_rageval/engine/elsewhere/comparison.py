"""Compares the first scores of a worker with those that this process computes.

What a metric of the user's own depends on may not be there: the environment, the working directory,
what ``conftest.py`` has set. It would give other scores, and nothing would say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from pytest_rageval.engine.bound import BoundMetric
from pytest_rageval.engine.elsewhere.own_code import own_metrics, scores_alone
from pytest_rageval.engine.plan import Plan
from pytest_rageval.metrics.base import missing_fields
from pytest_rageval.model import TOLERANCE, Sample, Score

_COMPARED: Final = 3


class Comparison:
    """Compares the first samples that have what a metric needs, for each of the user's own."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._left = {one.column.name: _COMPARED for one in own_metrics(plan.runs_elsewhere)}

    def difference(self, sample: Sample, scores: Mapping[str, Score]) -> str:
        """Return how a worker's scores of a sample differ from ours, "" for no difference."""
        if not self._left:
            return ""
        due = [one for one in self._plan.metrics if self._is_due(one, sample)]
        own = scores_alone(replace(self._plan, metrics=tuple(due)), sample) if due else ()
        for here in own:
            there = scores[here.metric]
            if not _is_same(there.value, here.value):
                return (
                    f"{here.metric} of {sample.id} is {_shown(there)} in the worker and "
                    f"{_shown(here)} here: a metric must give the same score for the same sample, "
                    "in every process; what it reads besides (environment, files, what "
                    "conftest.py sets) must be the same there, or run without the engine"
                )
        return ""

    def _is_due(self, bound: BoundMetric, sample: Sample) -> bool:
        name = bound.column.name
        if name not in self._left or missing_fields(sample, bound.info):
            return False
        self._left[name] -= 1
        if not self._left[name]:
            del self._left[name]
        return True


def _is_same(there: float | None, here: float | None) -> bool:
    if there is None or here is None:
        return there is here
    return abs(there - here) <= TOLERANCE * max(1.0, abs(here))


def _shown(score: Score) -> str:
    if score.value is not None:
        return f"{score.value:.12g}"
    return f"none ({score.error})" if score.error else "none"

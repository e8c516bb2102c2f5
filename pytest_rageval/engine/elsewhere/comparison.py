"""Compares some scores of a worker with those that this process computes.

What a metric of the user's own depends on may not be there: the environment, the working directory,
what ``conftest.py`` has set. It would give other scores, and nothing would say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.engine.elsewhere.own_code import scores_alone
from pytest_rageval.engine.module_digests import own_metrics
from pytest_rageval.engine.plan import Plan
from pytest_rageval.metrics.base import missing_fields
from pytest_rageval.model import PASSING, TOLERANCE, Sample, Score

_FIRST: Final = 3


class Comparison:
    """Compares some samples that have what a metric needs, for each of the user's own.

    They are the first ones, the one in the middle and the last.
    """

    def __init__(self, plan: Plan, samples: Sequence[Sample]) -> None:
        self._plan = plan
        self._due: dict[int, set[str]] = {}
        for one in own_metrics(plan.runs_elsewhere):
            whole = [sample.index for sample in samples if not missing_fields(sample, one.info)]
            for index in (*whole[:_FIRST], *whole[len(whole) // 2 :][:1], *whole[-1:]):
                self._due.setdefault(index, set()).add(one.column.name)

    def difference(self, sample: Sample, scores: Mapping[str, Score]) -> str:
        """Return how a worker's scores of a sample differ from ours, "" for no difference."""
        names = self._due.pop(sample.index, None)
        if names is None:
            return ""
        due = tuple(one for one in self._plan.metrics if one.column.name in names)
        own = scores_alone(replace(self._plan, metrics=due), sample)
        for here in own:
            there = scores[here.metric]
            if not _is_same(there, here):
                return (
                    f"{here.metric} of {sample.id} is {_shown(there)} in the worker and "
                    f"{_shown(here)} here: a metric must give the same score for the same sample, "
                    "in every process; what it reads besides (environment, files, what "
                    "conftest.py sets) must be the same there, or run without the engine"
                )
        return ""


def _is_same(there: Score, here: Score) -> bool:
    if (there.error is None, _passing(there)) != (here.error is None, _passing(here)):
        return False
    if there.value is None or here.value is None:
        return there.value is here.value
    return abs(there.value - here.value) <= TOLERANCE * max(1.0, abs(here.value))


def _passing(score: Score) -> bool | None:
    """Return whether the metric itself passes the sample, None where it does not say."""
    passing = score.details.get(PASSING) if isinstance(score.details, Mapping) else None
    return None if passing is None else bool(passing)


def _shown(score: Score) -> str:
    text = f"{score.value:.12g}" if score.value is not None else "none"
    passing = _passing(score)
    said = [f"passing {passing}"] if passing is not None else []
    said += [str(score.error)] if score.error else []
    return f"{text} ({', '.join(said)})" if said else text

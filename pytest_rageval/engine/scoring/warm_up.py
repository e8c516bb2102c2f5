"""Loads what the metrics of a plan need, before the first case whose time it would count in."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.metrics.base import ScoringContext, missing_fields
from pytest_rageval.model import Case, Sample

_RETRIEVED = Sample(
    "warm-up",
    doc_name="a.md",
    context_docs=("a.md",),
    retrieved_ids=("a",),
    reference_ids={"a": 1},
)
_ANSWERED = Sample(
    "warm-up",
    question="What is question 1?",
    answer="An answer, 1.",
    contexts=("A context, 1.",),
    references=("A reference, 1.",),
    reference_contexts=("A context, 2.",),
)


def warm_up(plan: Plan, case: Case) -> None:
    """Make the metrics of this package load what they need, and score their batches.

    ``case`` is about to run. Metrics of others see only the user's samples: a call may cost money.
    """
    for bound in plan.metrics:
        if bound.column.name in plan.remote:
            continue
        if isinstance(case, Sample) and plan.target is None and _is_in_batch(plan, bound, case):
            plan.batches.make(bound)
        elif not bound.info.is_judged and bound.is_built_in:
            _use(bound.metric)


def _is_in_batch(plan: Plan, bound: BoundMetric, sample: Sample) -> bool:
    is_whole = not missing_fields(sample, bound.info)
    return bound.batch is not None and is_whole and plan.batches.has(sample)


def _use(metric: Any) -> None:
    for sample in (_ANSWERED, _RETRIEVED):
        with suppress(Exception):  # the user's samples meet the same, and say so
            metric.score(sample, ScoringContext())

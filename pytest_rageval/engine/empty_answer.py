"""What an empty answer counts as: one rule, wherever the answer comes from.

The scenario's ``empty_answer`` says it: ``worst``, ``missing`` or ``error``. None, which only
scenarios of other systems have, leaves it to each metric, as those systems do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pytest_rageval.engine.bound import BoundMetric
from pytest_rageval.model import EMPTY_ANSWER, Case, Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan

REFUSED: Final = "the answer is empty (empty_answer: error)"


def is_empty(sample: Sample) -> bool:
    """Return whether the sample has an answer of white space alone."""
    return sample.answer is not None and not sample.answer.strip()


def without_empty_answers(cases: Sequence[Case]) -> Sequence[Case]:
    """Return the cases with every empty answer as a missing one."""
    return [
        replace(case, answer=None) if isinstance(case, Sample) and is_empty(case) else case
        for case in cases
    ]


def admitted(plan: Plan, sample: Sample) -> Sample | None:
    """Return the sample as it is scored; None where its empty answer is an error."""
    if plan.empty_answer == "worst" or not is_empty(sample):
        return sample
    if plan.empty_answer == "missing":
        return replace(sample, answer=None)
    # A system under test of rag_eval or DB-GPT that answers nothing has failed.
    is_error = plan.empty_answer == "error" or plan.target is not None
    return None if is_error else sample


def worst_score(plan: Plan, bound: BoundMetric, sample: Sample) -> Score | None:
    """Return the score that an empty answer gets without being judged, None where it is judged.

    It is the worst end of the metric's range, and None where that has no end. Only metrics that
    ask a model about the answer are concerned; others score ``""`` by their own definition.
    """
    info, column = bound.info, bound.column
    if plan.empty_answer != "worst" or not info.empty_is_worst or "answer" not in info.needs:
        return None
    if not is_empty(sample):
        return None
    worst = column.range[0] if column.higher_is_better else column.range[1]
    return Score(column.name, worst if math.isfinite(worst) else None, reason=EMPTY_ANSWER)

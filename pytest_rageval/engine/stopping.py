"""``stop``: the order in which a plan asks, when that is enough, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.score_sample import invalid_result, unscored_result
from pytest_rageval.engine.verdict.decide import gates_of
from pytest_rageval.model import NOT_ASKED, Case, InvalidRow, SampleResult

if TYPE_CHECKING:
    from pytest_rageval.engine.verdict.certainty import Certainty


def certainty_of(plan: Plan) -> Certainty | None:
    """Return what follows the samples of a plan, None if it is not to stop.

    Invalid rows are known before anything is asked.
    """
    if plan.info.stop is None or plan.info.total != len(plan.cases):
        return None
    # Not at the top: most scenarios ask about every sample.
    from pytest_rageval.engine.verdict.certainty import Certainty

    found = Certainty(plan.info, gates_of(plan.info), plan.asked_samples)
    for case in plan.cases:
        if isinstance(case, InvalidRow) and case.skip is None and plan.on_invalid == "fail":
            found.add(invalid_result(plan, case))
    return found


def in_asking_order(plan: Plan) -> Sequence[Case]:
    """Return the cases as they are to be run: in random order where an error bound needs that."""
    if not plan.info.stop:
        return plan.cases
    from pytest_rageval.engine.verdict.certainty import in_random_order

    return in_random_order(plan.info, plan.cases)


def stop_reason(plan: Plan) -> str:
    """Return why samples are not asked about."""
    bound = f" at error bound {plan.info.stop:g}" if plan.info.stop else ""
    return f"{NOT_ASKED}decided{bound}"


def left_out_result(plan: Plan, case: Case) -> SampleResult:
    """Return the result of a sample that is not asked about."""
    found = unscored_result(plan, case)
    return replace(found, outcome="skipped", reasons=dict.fromkeys(found.scores, stop_reason(plan)))

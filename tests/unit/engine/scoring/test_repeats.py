"""What becomes of the repeats of a metric of which none has a score."""

from __future__ import annotations

import pytest

from pytest_rageval.engine.scoring.repeats import merged
from pytest_rageval.model import BUDGET, Score

LEFT_OUT = Score("m", None, "the reference makes no claim", left_out="row")
FAILED = Score("m", None, error="the judge replied in prose")


@pytest.mark.parametrize("scores", [[LEFT_OUT, FAILED], [FAILED, LEFT_OUT]])
def test_a_failed_repeat_is_not_hidden_by_one_that_does_not_apply(scores: list[Score]) -> None:
    """Else a judge that fails twice in three takes the row out of its gate."""
    found = merged("m", scores)
    assert found.error == "the judge replied in prose"
    assert found.left_out is None


def test_repeats_that_all_do_not_apply_are_left_out() -> None:
    assert merged("m", [LEFT_OUT, LEFT_OUT]) == LEFT_OUT


def test_replies_of_repeats_are_counted_though_the_budget_is_spent() -> None:
    """They are paid for, and those that could not be used warn of the judge."""
    first = Score("m", 1.0, replies={"ok": 2, "unusable": 1})
    spent = Score("m", None, error=f"{BUDGET}5 calls", replies={"unusable": 1})
    found = merged("m", [first, spent])
    assert (found.error, found.replies) == (spent.error, {"ok": 2, "unusable": 2})

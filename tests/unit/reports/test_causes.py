"""E21: what terminal and summary say of the causes of low answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_rageval.model import SampleResult, ScenarioResult
from pytest_rageval.reports.run_view import RunView

Made = Callable[..., ScenarioResult]


def low(at: int, cause: Any, reason: str = "") -> SampleResult:
    return SampleResult(f"q{at}", at, cause=cause, cause_reason=reason)


def test_causes_are_counted_and_the_first_of_each_is_shown(result: Made) -> None:
    """E21: in the order of the causes, not of the samples."""
    found = result(
        [
            low(0, "unknown", "no\nreferences"),
            low(1, None),
            low(2, "retrieval", "no context holds the reference"),
            low(3, "retrieval", "there are no contexts"),
        ]
    )
    assert RunView(found).causes == [
        "of 3 low answers 2 retrieval, 1 unknown",
        "retrieval: no context holds the reference (q2)",
        "unknown: no references (q0)",
    ]


def test_one_low_answer_is_one(result: Made) -> None:
    """E21."""
    assert RunView(result([low(0, "generation", "x")])).causes[0] == "of 1 low answer 1 generation"


def test_nothing_is_said_where_no_answer_is_low(result: Made) -> None:
    """E21."""
    assert RunView(result([low(0, None)])).causes == []

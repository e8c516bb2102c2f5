"""Tests the judge that checks questions: whether it tells rows of a known outcome apart.

The rows are the control rows of the metrics whose questions the checks are. A judge that finds any
answer supported would let every wrong one through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.base import ChatClient
from pytest_rageval.controls import ControlRow, ControlRule, built_in_rows
from pytest_rageval.model import Sample
from pytest_rageval.questions.base import Slot
from pytest_rageval.questions.checks import (
    PURPOSE,
    UNUSABLE,
    answered_score,
    supported_score,
)
from pytest_rageval.questions.prompts import VERSION, language_of
from pytest_rageval.text.prompts import Language

_RULE: Final = ControlRule(0.5)
_FIRST: Final = -1
"""The place of these calls in the queue: before all questions."""

_Check = Callable[[ChatClient, Sample], Awaitable[float]]

_SUPPORT: Final = "support"
_CHECKS: Final[Mapping[str, tuple[_Check, str]]] = {
    _SUPPORT: (supported_score, "answers that a passage gives from answers that it does not give"),
    "context_relevance": (
        answered_score,
        "passages that answer a question from passages that do not",
    ),
}
"""Metric whose control rows these are -> what is asked about a row, and what is told apart."""


async def untold(slots: Sequence[Slot], judge: ChatClient) -> list[str]:
    """Return what the judge does not tell apart, in which language; raises ClientError."""
    found = control_rows(slots)
    scores = await asyncio.gather(
        *(row_score(name, row, judge) for name, _, rows in found for row in rows)
    )
    left = iter(scores)
    return [
        f"{_CHECKS[name][1]} ({language}{_unusable(of_rows)})"
        for name, language, rows in found
        if not _tells_apart(rows, of_rows := [next(left) for _ in rows])
    ]


def _unusable(scores: Sequence[float | None]) -> str:
    lost = scores.count(None)
    return f"; {lost} of {len(scores)} replies cannot be used" if lost else ""


def control_rows(slots: Sequence[Slot]) -> list[tuple[str, Language, Sequence[ControlRow]]]:
    """Return the rows that test a judge before it checks these slots, by check and language."""
    languages = dict.fromkeys(
        language_of(*(passage.text for passage in slot.passages)) for slot in slots
    )
    has_unanswerable = any(slot.type == "unanswerable" for slot in slots)
    names = [name for name in _CHECKS if name == _SUPPORT or has_unanswerable]
    return [
        (name, language, built_in_rows(name, language).rows)
        for name in names
        for language in languages
    ]


def _tells_apart(rows: Sequence[ControlRow], scores: Sequence[float | None]) -> bool:
    high, low = (
        [score for row, score in zip(rows, scores, strict=True) if row.expect == expect]
        for expect in ("high", "low")
    )
    return _RULE.verdict(high, low) is True


async def row_score(name: str, row: ControlRow, judge: ChatClient) -> float | None:
    """Return what the judge says of a row, None where no reply of it can be used.

    Raises ClientError for a call that fails.
    """
    # The id stands for no slot.
    purpose = Purpose(PURPOSE, VERSION, sample=f"{name} {row.sample.id}", order=_FIRST)
    with asking(replace(purpose, scenario=PURPOSE)) as tally:
        try:
            return await _CHECKS[name][0](judge, row.sample)
        except UNUSABLE:
            return None
        finally:
            await tally.settle()

"""What the judge is asked about a question, and whether it tells rows of a known outcome apart.

These are the control rows of the metrics that ask the judge the same. A judge that finds any answer
supported would let every wrong one through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.base import ChatClient, ask
from pytest_rageval.clients.errors import (
    ClientError,
    InvalidOutputError,
    RefusedError,
    TruncatedError,
)
from pytest_rageval.controls import ControlRow, ControlRule, built_in_rows
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.criteria import answerable_question
from pytest_rageval.metrics.support.prompts import CellsReply, cells_schema
from pytest_rageval.metrics.support.table import WORTH, Cell
from pytest_rageval.model import Sample
from pytest_rageval.questions.base import MadeQuestion, Slot
from pytest_rageval.questions.prompts import (
    VERSION,
    Alone,
    alone_prompt,
    alone_schema,
    language_of,
    read_alone,
    supported_prompt,
)
from pytest_rageval.text.prompts import Language

PURPOSE: Final = "questions"
"""What the calls are for, as costs and the keys of the cache name it."""

UNUSABLE: Final[tuple[type[ClientError], ...]] = (
    InvalidOutputError,
    TruncatedError,
    RefusedError,
)
"""The errors of calls that were made, and whose reply says nothing."""


async def support(judge: ChatClient, made: MadeQuestion, sources: Sequence[str]) -> Cell:
    """Return how far sources support that this is the answer to the question.

    Raises ClientError, as all calls here do.
    """
    read = CellsReply(1, "\n".join([made.question, made.answer, *sources]))
    (cell,) = read(await ask(judge, supported_prompt(made, sources), read, cells_schema()))
    return cell


async def alone(judge: ChatClient, question: str) -> Alone:
    """Return what the judge makes of a question without any passage."""
    return read_alone(await ask(judge, alone_prompt(question), read_alone, alone_schema()))


async def answered(judge: ChatClient, question: str, texts: Sequence[str]) -> tuple[bool, str]:
    """Return whether texts answer a question, at least a part of it, and the judge's reason."""
    sample = Sample("", question=question, contexts=tuple(texts))
    found = await answerable_question().ascore(sample, Models(judge))
    if found.value is None:
        raise InvalidOutputError(found.error or "the judge's reply cannot be used")
    return found.value > 0, found.reason or ""


async def supported_score(judge: ChatClient, row: Sample) -> float:
    """Return 1 where the contexts of a row support its answer, 0.5 in part, else 0."""
    made = MadeQuestion(row.question or "", row.answer or "")
    return WORTH[(await support(judge, made, row.contexts or ())).level]


async def answered_score(judge: ChatClient, row: Sample) -> float:
    """Return 1 where the contexts of a row answer its question, else 0."""
    is_answered, _ = await answered(judge, row.question or "", row.contexts or ())
    return float(is_answered)


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
"""Name of the control rows -> what is asked about a row, and what is to be told apart."""


async def untold(slots: Sequence[Slot], judge: ChatClient) -> list[str]:
    """Return what the judge does not tell apart, a text for each check and language.

    Raises ClientError.
    """
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
    return _RULE.tells_apart(high, low) is True


async def row_score(name: str, row: ControlRow, judge: ChatClient) -> float | None:
    """Return what the judge says of a row, None where its reply cannot be used.

    Raises ClientError for a call that fails.
    """
    # Where a slot's id would be: the calls are counted by it, and this one belongs to no slot.
    purpose = Purpose(PURPOSE, VERSION, sample=f"{name} {row.sample.id}", order=_FIRST)
    with asking(replace(purpose, scenario=PURPOSE)) as tally:
        try:
            return await _CHECKS[name][0](judge, row.sample)
        except UNUSABLE:
            return None
        finally:
            await tally.settle()

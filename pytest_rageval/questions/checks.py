"""What the judge is asked about a question that the rules let through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_rageval.clients.base import ChatClient, ask
from pytest_rageval.clients.errors import (
    ClientError,
    InvalidOutputError,
    RefusedError,
    TruncatedError,
)
from pytest_rageval.metrics.answer_questions import answerable_question
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.support.prompts import CellsReply, cells_schema
from pytest_rageval.metrics.support.table import WORTH, Cell
from pytest_rageval.model import Sample
from pytest_rageval.questions.base import MadeQuestion
from pytest_rageval.questions.prompts import alone_prompt, supported_prompt
from pytest_rageval.questions.replies import Alone, alone_schema, read_alone

PURPOSE: Final = "questions"
"""What the calls are for, as costs and the keys of the cache name it."""

UNUSABLE: Final[tuple[type[ClientError], ...]] = (
    InvalidOutputError,
    TruncatedError,
    RefusedError,
)
"""The errors of calls that were made, and whose reply says nothing."""


async def support(judge: ChatClient, made: MadeQuestion, sources: Sequence[str]) -> Cell:
    """Return how far sources support that the answer is the one to the question."""
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

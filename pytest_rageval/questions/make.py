"""Has a model write a question for each slot, and checks it: by rules, then by the judge.

What the judge is asked comes last, because it costs something: does the passage alone give the
answer, can the question be understood without it, and is the answer common knowledge? Of a question
that the documents do not answer: do the nearest passages answer it all the same?
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.base import Accept, ChatClient, Message, ReplySchema
from pytest_rageval.clients.errors import (
    ClientError,
    InvalidOutputError,
    RefusedError,
    TruncatedError,
)
from pytest_rageval.metrics.answer_questions import answerable_question
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.support.prompts import CellsReply, cells_schema
from pytest_rageval.metrics.support.table import Cell
from pytest_rageval.model import Sample
from pytest_rageval.questions.base import MadeQuestion, Slot
from pytest_rageval.questions.prompts import (
    NOT_THERE,
    VERSION,
    alone_prompt,
    language_of,
    question_prompt,
    supported_prompt,
)
from pytest_rageval.questions.replies import (
    Alone,
    alone_schema,
    question_schema,
    read_alone,
    read_question,
)
from pytest_rageval.questions.rules import find_quote, why_not_alone
from pytest_rageval.questions.slots import Search

PURPOSE: Final = "questions"
"""What calls are for, as costs and the keys of the cache name it."""

_NEAREST: Final = 5
"""How many passages are looked into for the answer of a question that should have none."""

_UNUSABLE: Final = (InvalidOutputError, TruncatedError, RefusedError)


@dataclass(frozen=True)
class Outcome:
    """What became of a slot: ``reason`` is a name in REASONS, "" where no check refuses it.

    ``failure`` is a call that failed, so that the slot is still open.
    """

    slot: Slot
    made: MadeQuestion | None = None
    reason: str = ""
    detail: str = ""
    common_knowledge: bool = False
    failure: ClientError | None = None


@dataclass(frozen=True)
class WriterAndJudge:
    """The model that writes questions, and the one that checks them."""

    writer: ChatClient
    judge: ChatClient


async def make_all(
    slots: Sequence[Slot], models: WriterAndJudge, search: Search, done: Callable[[], None]
) -> list[Outcome]:
    """Return what became of each slot, in their order; ``done`` is called after each."""

    async def make(order: int, slot: Slot) -> Outcome:
        purpose = Purpose(PURPOSE, VERSION, sample=slot.id, order=order, scenario=PURPOSE)
        with asking(purpose) as tally:
            try:
                return await _Slot(slot, models, search).outcome()
            except ClientError as error:
                return Outcome(slot, failure=error)
            finally:
                await tally.settle()
                done()

    return list(await asyncio.gather(*(make(order, slot) for order, slot in enumerate(slots))))


class _Slot:
    """Makes the question of one slot."""

    def __init__(self, slot: Slot, models: WriterAndJudge, search: Search) -> None:
        self._slot = slot
        self._models = models
        self._search = search

    async def outcome(self) -> Outcome:
        """Return what becomes of the slot; raises ClientError."""
        made = None
        try:
            made = await self._written()
            return await self._checked(made)
        except _UNUSABLE as error:
            return Outcome(self._slot, made, "unreadable", str(error))

    async def _written(self) -> MadeQuestion:
        kind = self._slot.type
        reply = await _ask(
            self._models.writer,
            question_prompt(self._slot),
            question_schema(kind),
            lambda text: read_question(kind, text),
        )
        return read_question(kind, reply)

    async def _checked(self, made: MadeQuestion) -> Outcome:
        if self._slot.type == "unanswerable":
            made = replace(made, answer=NOT_THERE[language_of(made.question)])
        quotes = [
            find_quote(quote, passage.text)
            for quote, passage in zip(made.evidence, self._slot.passages, strict=False)
        ]
        if lacking := [made.evidence[at] for at, quote in enumerate(quotes) if quote is None]:
            return self._refused(made, "no_quote", lacking[0])
        made = replace(made, evidence=[quote for quote in quotes if quote is not None])
        if words := why_not_alone(made.question):
            return self._refused(made, "not_alone", words)
        if self._slot.type == "unanswerable":
            return await self._checked_unanswerable(made)
        return await self._checked_answerable(made)

    async def _checked_answerable(self, made: MadeQuestion) -> Outcome:
        texts = [passage.text for passage in self._slot.passages]
        support = await self._support(made, texts)
        if support.level != "full":
            return self._refused(made, "not_supported", f"{support.level}: {support.reason}")
        alone = await self._alone(made)
        if not alone.is_clear:
            return self._refused(made, "not_alone", "so says the judge, who was not shown it")
        is_known = bool(alone.answer)
        if is_known:
            is_known = (await self._support(made, [alone.answer])).level == "full"
        return Outcome(self._slot, made, common_knowledge=is_known)

    async def _checked_unanswerable(self, made: MadeQuestion) -> Outcome:
        own = self._slot.passages
        nearest = [*own, *self._search.find(made.question, _NEAREST, but=own)]
        sample = Sample(
            id=self._slot.id,
            index=0,
            question=made.question,
            contexts=tuple(passage.text for passage in nearest),
        )
        found = await answerable_question().ascore(sample, Models(self._models.judge))
        if found.value is None:
            return self._refused(made, "unreadable", found.error or "")
        if found.value > 0:
            return self._refused(made, "answerable", found.reason or "")
        if not (await self._alone(made)).is_clear:
            return self._refused(made, "not_alone", "so says the judge, who was not shown it")
        return Outcome(self._slot, made)

    async def _support(self, made: MadeQuestion, sources: Sequence[str]) -> Cell:
        read = CellsReply(1, "\n".join([made.question, made.answer, *sources]))
        prompt = supported_prompt(made, sources)
        (cell,) = read(await _ask(self._models.judge, prompt, cells_schema(), read))
        return cell

    async def _alone(self, made: MadeQuestion) -> Alone:
        prompt = alone_prompt(made.question)
        return read_alone(await _ask(self._models.judge, prompt, alone_schema(), read_alone))

    def _refused(self, made: MadeQuestion, reason: str, detail: str) -> Outcome:
        return Outcome(self._slot, made, reason, detail)


async def _ask(client: ChatClient, prompt: str, schema: ReplySchema, accept: Accept) -> str:
    reply = await client.complete([Message("user", prompt)], schema=schema, accept=accept)
    return reply.text

"""Has a model write a question for each slot, and checks it: by rules, then by the judge.

What the judge is asked comes last, because it costs something: does the passage alone give the
answer, can the question be understood without it, and is the answer common knowledge? Of a question
that is to have no answer: do the nearest passages answer it all the same, and can it be understood?
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.base import ChatClient, ask
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.questions.base import MadeQuestion, Slot
from pytest_rageval.questions.checks import PURPOSE, UNUSABLE, alone, answered, support
from pytest_rageval.questions.prompts import (
    VERSION,
    language_of,
    question_prompt,
    question_schema,
    read_question,
)
from pytest_rageval.questions.rules import find_quote, why_not_alone
from pytest_rageval.questions.slots import Search
from pytest_rageval.text.prompts import prompts_of

NEAREST: Final = 20
MOST_TEXT: Final = 40_000
"""How many passages, and as many texts too short to be one, are looked into for the answer of a
question that should have none, beside the slot's own; and how many characters of them all."""

_NOT_CLEAR: Final = "so says the judge, who was not shown the passage"


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
        except UNUSABLE as error:
            return Outcome(self._slot, made, "unreadable", str(error))

    async def _written(self) -> MadeQuestion:
        kind = self._slot.type
        reply = await ask(
            self._models.writer,
            question_prompt(self._slot),
            lambda text: read_question(kind, text),
            question_schema(kind),
        )
        return read_question(kind, reply)

    async def _checked(self, made: MadeQuestion) -> Outcome:
        quotes = [
            find_quote(quote, passage.text)
            for quote, passage in zip(made.evidence, self._slot.passages, strict=False)
        ]
        if None in quotes:
            return self._refused(made, "no_quote", made.evidence[quotes.index(None)])
        made = replace(made, evidence=[quote for quote in quotes if quote is not None])
        if words := why_not_alone(made.question):
            return self._refused(made, "not_alone", words)
        if self._slot.type == "unanswerable":
            return await self._checked_unanswerable(made)
        return await self._checked_answerable(made)

    async def _checked_answerable(self, made: MadeQuestion) -> Outcome:
        judge = self._models.judge
        sources = [passage.with_headings for passage in self._slot.passages]
        found = await support(judge, made, sources)
        if found.level != "full":
            return self._refused(made, "not_supported", f"{found.level}: {found.reason}")
        without = await alone(judge, made.question)
        if not without.is_clear:
            return self._refused(made, "not_alone", _NOT_CLEAR)
        is_known = bool(without.answer)
        if is_known:
            is_known = (await support(judge, made, [without.answer])).level == "full"
        return Outcome(self._slot, made, common_knowledge=is_known)

    async def _checked_unanswerable(self, made: MadeQuestion) -> Outcome:
        judge, own = self._models.judge, self._slot.passages
        not_there = prompts_of(__package__)["not_there"][language_of(made.question)]
        made = replace(made, answer=not_there)
        nearest = [*own, *self._search.find_all(made.question, NEAREST, but=own)]
        sources, left = [], MOST_TEXT
        for passage in nearest:
            text = passage.with_headings
            if len(text) <= left or passage in own:
                sources.append(text)
                left -= len(text)
        is_answered, why = await answered(judge, made.question, sources)
        if is_answered:
            return self._refused(made, "answerable", why)
        if not (await alone(judge, made.question)).is_clear:
            return self._refused(made, "not_alone", _NOT_CLEAR)
        return Outcome(self._slot, made)

    def _refused(self, made: MadeQuestion, reason: str, detail: str) -> Outcome:
        return Outcome(self._slot, made, reason, detail)

"""Has a model list what an answer has to say, and keeps the nuggets that the passages support.

A list is made once, of a question, its answer and the passages; a run never makes one, as figures
of two lists cannot be compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, NamedTuple, Protocol

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.base import ReplySchema, ask, object_schema
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.datasets.answer_fields import fold_nugget
from pytest_rageval.metrics.support.prompts import CellsReply, cells_prompt, cells_schema
from pytest_rageval.questions.base import Slot
from pytest_rageval.questions.checks import PURPOSE, UNUSABLE
from pytest_rageval.questions.make import WriterAndJudge
from pytest_rageval.questions.prompts import (
    VERSION,
    language_of,
    last_with,
    nuggets_prompt,
    text_of,
)
from pytest_rageval.questions.rows import NUGGETS
from pytest_rageval.text.reply import UnreadableReplyError

MOST: Final = 8
"""The most nuggets of a list: one call checks them all."""

Importance = Literal["vital", "okay"]


class Nugget(NamedTuple):
    """A fact that an answer has to say; an answer that lacks a ``vital`` one is no good answer."""

    text: str
    importance: Importance


class Answered(NamedTuple):
    """A question with what answers it, and in the slot the passages that a nugget rests on.

    Several answers are each right on their own.
    """

    slot: Slot
    question: str
    answers: Sequence[str]

    @property
    def sample(self) -> str:
        """The name of the calls for the list; those for the question have another one."""
        return f"{self.slot.id} {NUGGETS}"

    @property
    def texts(self) -> list[str]:
        """The passages, below their headings."""
        return [passage.with_headings for passage in self.slot.passages]


@dataclass(frozen=True)
class NuggetList:
    """The nuggets of a question, the vital ones first.

    There are none where no reply could be used, or no vital one is supported.
    ``unsupported`` and ``repeated`` count those that were dropped. ``failure`` is a call that
    failed, so that the list is still open.
    """

    nuggets: Sequence[Nugget] = ()
    unsupported: int = 0
    repeated: int = 0
    failure: ClientError | None = None

    @property
    def column(self) -> list[dict[str, str]]:
        """The nuggets as a row holds them."""
        return [nugget._asdict() for nugget in self.nuggets]


class _Failing(Protocol):
    @property
    def failure(self) -> ClientError | None: ...


def failures_of(outcomes: Iterable[_Failing]) -> list[ClientError]:
    """Return the calls that failed."""
    return [outcome.failure for outcome in outcomes if outcome.failure is not None]


async def make_lists(
    answered: Sequence[Answered], models: WriterAndJudge, done: Callable[[], None]
) -> list[NuggetList]:
    """Return the list of each question, in their order; ``done`` is called after each."""

    async def make(order: int, question: Answered) -> NuggetList:
        purpose = Purpose(PURPOSE, VERSION, sample=question.sample, order=order, scenario=PURPOSE)
        with asking(purpose) as tally:
            try:
                return await _list(question, models)
            except UNUSABLE:
                return NuggetList()
            except ClientError as error:
                return NuggetList(failure=error)
            finally:
                await tally.settle()
                done()

    making = (make(order, question) for order, question in enumerate(answered))
    return list(await asyncio.gather(*making))


async def _list(answered: Answered, models: WriterAndJudge) -> NuggetList:
    """Return the nuggets of a question that the passages support in full; raises ClientError.

    There are none where none of these is vital.
    """
    reply = await ask(models.writer, written_prompt(answered), read_nuggets, nuggets_schema())
    listed = read_nuggets(reply)
    own = _each_once(listed)
    texts = [nugget.text for nugget in own]
    read = CellsReply(len(own), "\n".join([answered.question, *texts, *answered.texts]))
    verdicts = await ask(models.judge, checked_prompt(answered, texts), read, cells_schema())
    supported = [
        nugget for nugget, cell in zip(own, read(verdicts), strict=True) if cell.level == "full"
    ]
    has_vital = any(nugget.importance == "vital" for nugget in supported)
    return NuggetList(
        supported if has_vital else (), len(own) - len(supported), len(listed) - len(own)
    )


def _each_once(nuggets: Sequence[Nugget]) -> list[Nugget]:
    """Return the vital nuggets, then the others; of those that say the same the first."""
    kept: dict[str, Nugget] = {}
    for nugget in sorted(nuggets, key=lambda nugget: nugget.importance != "vital"):
        kept.setdefault(fold_nugget(nugget.text), nugget)
    return list(kept.values())


def written_prompt(answered: Answered) -> str:
    """Return what asks for the nuggets."""
    return nuggets_prompt(answered.question, answered.answers, answered.texts)


def checked_prompt(answered: Answered, nuggets: Sequence[str]) -> str:
    """Return what asks which of these nuggets the passages support."""
    texts = answered.texts
    return cells_prompt(language_of(*texts), answered.question, texts, nuggets)


def read_nuggets(reply: str) -> list[Nugget]:
    """Return the nuggets of a reply; raises UnreadableReplyError for what is no such list."""
    listed = last_with(NUGGETS, reply)[NUGGETS]
    if not isinstance(listed, list) or not 1 <= len(listed) <= MOST:
        raise UnreadableReplyError(f'"{NUGGETS}" must be a list of 1 to {MOST} objects')
    return [_nugget(item) for item in listed]


def _nugget(item: Any) -> Nugget:
    if not isinstance(item, dict):
        raise UnreadableReplyError(f'the entries of "{NUGGETS}" must be objects')
    importance = str(item.get("importance")).strip().lower()
    if importance not in ("vital", "okay"):
        raise UnreadableReplyError('"importance" must be vital or okay')
    return Nugget(text_of(item, "text"), "vital" if importance == "vital" else "okay")


@cache
def nuggets_schema() -> ReplySchema:
    """Return the JSON Schema of a list of nuggets."""
    importance = {"type": "string", "enum": ["vital", "okay"]}
    nugget = object_schema(text={"type": "string"}, importance=importance)
    return ReplySchema.of(NUGGETS, **{NUGGETS: {"type": "array", "items": nugget}})

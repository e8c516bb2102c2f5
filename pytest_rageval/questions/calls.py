"""How many calls questions will take, before anybody is asked: what the cache lacks.

Runs the real making of questions with clients that only read the cache; where a reply is missing,
the slot stays open and its remaining calls are estimated. Whether a call is followed by the next
depends on its reply. How often it is comes from the questions in the cache, and from an assumed
share that counts as much as ten of them.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple

from pytest_rageval.clients.accounting import current_purpose
from pytest_rageval.clients.base import CHAT_REGISTRY, Accept, Message, Reply, ReplySchema
from pytest_rageval.clients.cache import Cache, chat_key
from pytest_rageval.clients.chat import cached_reply
from pytest_rageval.clients.errors import NotAskedError
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.clients.tokens import Habits
from pytest_rageval.engine.scoring.counting_models import ModelUse, habits_of, only_read
from pytest_rageval.metrics.support.prompts import cells_schema
from pytest_rageval.questions.base import SHARES, MadeQuestion, QuestionType, Slot
from pytest_rageval.questions.checks import PURPOSE, control_rows, row_score
from pytest_rageval.questions.make import MOST_TEXT, NEAREST, Outcome, WriterAndJudge, make_all
from pytest_rageval.questions.nugget_rows import answered_in
from pytest_rageval.questions.nuggets import (
    Answered,
    checked_prompt,
    make_lists,
    nuggets_schema,
    written_prompt,
)
from pytest_rageval.questions.prompts import (
    alone_prompt,
    alone_schema,
    question_prompt,
    question_schema,
    supported_prompt,
)
from pytest_rageval.questions.rows import Known
from pytest_rageval.questions.rows import settled as rows_of
from pytest_rageval.questions.slots import Search

_ANSWERABLE: Final = (0.9, 0.9, 0.5)
_UNANSWERABLE: Final = (0.95, 0.9)
"""The share of questions that have a next call after the first one, the second one, and so on."""

_REFUSED: Final = 0.1
"""The share of questions that are supported by the passage and refused all the same."""

_UNREADABLE: Final = 0.02
"""The share of replies that should be a list of nuggets and are none."""

_TYPICAL_NUGGETS: Final = 4
"""How many nuggets many lists have."""

_UNTIL_ALONE: Final = 2
"""So many calls come before the last one that may refuse an answerable question: ``alone``."""

_WEIGHT: Final = 10
"""So many questions in the cache count as much as an assumed share."""

_TYPICAL: Final = MadeQuestion(
    "What may a user of these documents ask about the subject of it?", "It."
)
"""A question as long as many are, in place of those that are not written yet."""


_GoesOn = Mapping[QuestionType, Sequence[float]]


class _Call(NamedTuple):
    """A call that a slot may take: whom it asks what, and the kind of its reply."""

    of_writer: bool
    prompt: str
    kind: str


def _calls(slot: Slot) -> list[_Call]:
    """Return the calls that a slot takes if no check refuses its question, in their order."""
    texts = [passage.text for passage in slot.passages]
    written = _Call(True, question_prompt(slot), _kind(question_schema(slot.type)))
    alone = _Call(False, alone_prompt(_TYPICAL.question), _kind(alone_schema()))
    support, common = (
        _Call(False, supported_prompt(_TYPICAL, sources), _kind(cells_schema()))
        for sources in (texts, [_TYPICAL.answer])
    )
    if slot.type == "unanswerable":
        # As long as the passages near to the question, which is not written yet, may be.
        return [written, _Call(False, "\n".join(texts * NEAREST)[:MOST_TEXT], ""), alone]
    return [written, support, alone, common]


def _kind(schema: ReplySchema) -> str:
    return f"{PURPOSE} {schema.name} {schema.sha256}"


class _CachedChat:
    """Replies from the cache alone; counts the replies of each slot."""

    def __init__(self, cache: Cache, settings: ClientSettings) -> None:
        self.settings = replace(settings, provider=CHAT_REGISTRY.get(settings.provider).name)
        self.answered: Counter[str] = Counter()
        self._cache = cache

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: ReplySchema | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        key = chat_key(self.settings, messages, schema, current_purpose())
        kept = cached_reply(self._cache, key, accept)
        if kept is None:
            raise NotAskedError(self.settings.shown)
        self.answered[current_purpose().sample] += 1
        return kept


class _Chats(NamedTuple):
    """The models that are asked; one object twice where both are the same."""

    writer: _CachedChat
    judge: _CachedChat

    @classmethod
    def of(cls, cache: Cache, asked: AskedModels) -> _Chats:
        judge = _CachedChat(cache, asked.judge)
        same = asked.writer == asked.judge
        return cls(judge if same else _CachedChat(cache, asked.writer), judge)

    @property
    def distinct(self) -> list[_CachedChat]:
        """Each once, the judge last."""
        return [*dict.fromkeys(self)]

    def asked_by(self, call: _Call) -> _CachedChat:
        return self.writer if call.of_writer else self.judge

    def done(self, sample: str) -> int:
        """Return how many calls of a slot the cache answers."""
        return sum(chat.answered[sample] for chat in self.distinct)


@dataclass
class _Sum:
    """What calls come to; a call that is made in half of all cases counts one half."""

    calls: float = 0.0
    prompt_tokens: float = 0.0
    kinds: dict[str, float] = field(default_factory=dict)

    def add(self, habits: Habits, call: _Call, share: float = 1.0) -> None:
        self.calls += share
        self.prompt_tokens += share * habits.prompt([call.prompt], call.kind)
        self.kinds[call.kind] = self.kinds.get(call.kind, 0.0) + share

    def use(self, chat: _CachedChat, habits: Habits) -> ModelUse:
        kinds = Counter({kind: round(count) for kind, count in self.kinds.items()})
        cached = chat.answered.total()
        tokens = self.prompt_tokens
        return ModelUse(chat.settings, habits, round(self.calls), cached, tokens, kinds=kinds)


@dataclass(frozen=True)
class AskedModels:
    """The models that write and check; ``is_tested``: whether control rows test the judge first."""

    writer: ClientSettings
    judge: ClientSettings
    is_tested: bool


def expected_calls(
    slots: Sequence[Slot],
    settled_ids: Collection[str],
    asked: AskedModels,
    search: Search,
    run: RunSettings,
    *,
    nuggets_beside: Known | None = None,
) -> list[ModelUse]:
    """Return about what making these slots would ask each model; ModelUse.ends: at least, at most.

    Slots in ``settled_ids`` are not asked for; they only show how many go on. If writer
    and judge are the same there is one ModelUse. ``nuggets_beside`` are the rows so far, None
    without nuggets: questions get lists of nuggets, too, unless they nearly repeat such a row.
    """

    def expected(chats: _Chats) -> Iterator[_Expected]:
        models = WriterAndJudge(chats.writer, chats.judge)
        outcomes = asyncio.run(make_all(slots, models, search, lambda: None))
        unsettled = [one for one in outcomes if one.slot.id not in settled_ids]
        left = [one for one in unsettled if one.failure is not None]
        goes_on = {of: _shares(outcomes, chats, of) for of in SHARES}
        for outcome in left:
            yield from _calls_to_come(outcome.slot, chats.done(outcome.slot.id), goes_on)
        if nuggets_beside is not None:
            made = [one for one in unsettled if one.failure is None]
            yield from _list_calls_to_come(answered_in(made, rows_of(made, nuggets_beside)), chats)
            for outcome in left:
                yield from _lists_to_come(outcome, chats.done(outcome.slot.id), goes_on)

    return _uses(expected, asked, [slot for slot in slots if slot.id not in settled_ids], run)


def expected_list_calls(
    answered: Sequence[Answered], asked: AskedModels, run: RunSettings
) -> list[ModelUse]:
    """Return what making these lists of nuggets would ask; as ``expected_calls``."""
    return _uses(partial(_list_calls_to_come, answered), asked, [one.slot for one in answered], run)


_Expected = tuple[_Call, float]
"""A call that the cache lacks, and the chance that it is made."""


def _uses(
    expected: Callable[[_Chats], Iterable[_Expected]],
    asked: AskedModels,
    slots: Sequence[Slot],
    run: RunSettings,
) -> list[ModelUse]:
    """Return the use of each model: the ``expected`` calls, and the test of the judge."""
    cache = Cache(only_read(run))
    try:
        chats = _Chats.of(cache, asked)
        calls = list(expected(chats))
        uses = [_use(chat, cache, calls, chats) for chat in chats.distinct]
        tests = asyncio.run(_tests(chats.judge, slots)) if asked.is_tested else []
        of_judge = uses[-1]
        for use in (of_judge, *of_judge.ends):
            use.controls = len(tests)
            for text in tests:
                use.ask([text])
        return uses
    finally:
        cache.close()


async def _tests(judge: _CachedChat, slots: Sequence[Slot]) -> list[str]:
    """Return, for each control row that the cache does not answer, a text as long as its prompt."""
    missing = []
    for name, _, rows in control_rows(slots):
        for row in rows:
            try:
                await row_score(name, row, judge)
            except NotAskedError:
                texts = (row.sample.question, row.sample.answer, *(row.sample.contexts or ()))
                missing.append("\n".join([supported_prompt(_TYPICAL, []), *filter(None, texts)]))
    return missing


def _use(
    chat: _CachedChat,
    cache: Cache,
    calls: Sequence[_Expected],
    chats: _Chats,
) -> ModelUse:
    habits = habits_of(cache, chat.settings)
    likely, fewest, most = _Sum(), _Sum(), _Sum()
    for call, share in calls:
        if chat is chats.asked_by(call):
            likely.add(habits, call, share)
            most.add(habits, call)
            if share == 1.0:
                fewest.add(habits, call)
    use = likely.use(chat, habits)
    use.fewest, use.most = fewest.use(chat, habits), most.use(chat, habits)
    return use


def _calls_to_come(slot: Slot, done: int, goes_on: _GoesOn) -> Iterator[_Expected]:
    """Yield the calls of a slot after the first ``done``, with the chance that each is made."""
    share = 1.0
    for at, call in enumerate(_calls(slot)[done:], done):
        yield call, share
        share *= goes_on[slot.type][at] if at < len(goes_on[slot.type]) else 0.0


def _list_calls_to_come(answered: Sequence[Answered], chats: _Chats) -> Iterator[_Expected]:
    """Yield the calls that lists of nuggets lack in the cache."""
    models = WriterAndJudge(chats.writer, chats.judge)
    lists = asyncio.run(make_lists(answered, models, lambda: None))
    for one, found in zip(answered, lists, strict=True):
        if found.failure is not None:
            calls = _list_calls(one)[chats.done(one.sample) :]
            # A list that was not written yet may be unreadable, and is then not checked.
            yield from ((call, 1.0 - _UNREADABLE * at) for at, call in enumerate(calls))


def _lists_to_come(outcome: Outcome, done: int, goes_on: _GoesOn) -> Iterator[_Expected]:
    """Yield the calls for the list of a question that is not made yet, or not checked."""
    slot = outcome.slot
    if slot.type != "unanswerable":
        share = math.prod(goes_on[slot.type][done:_UNTIL_ALONE]) * (1.0 - _REFUSED)
        made = outcome.made or _TYPICAL
        answered = Answered(slot, made.question, [made.answer])
        yield from ((call, share) for call in _list_calls(answered))


def _list_calls(answered: Answered) -> list[_Call]:
    """Return the two calls that a list takes."""
    like = [_TYPICAL.question] * _TYPICAL_NUGGETS
    written = _Call(True, written_prompt(answered), _kind(nuggets_schema()))
    return [written, _Call(False, checked_prompt(answered, like), _kind(cells_schema()))]


def _shares(outcomes: Sequence[Outcome], chats: _Chats, question_type: QuestionType) -> list[float]:
    """Return for each call but the last the share, 0 to 1, of slots that go on after it."""
    went_on, ended = Counter[int](), Counter[int]()
    for outcome in outcomes:
        if outcome.slot.type != question_type:
            continue
        done = chats.done(outcome.slot.id)
        is_open = outcome.failure is not None
        went_on.update(range(done if is_open else done - 1))
        ended.update([] if is_open else [done - 1])
    assumed = _UNANSWERABLE if question_type == "unanswerable" else _ANSWERABLE
    return [
        (went_on[at] + share * _WEIGHT) / (went_on[at] + ended[at] + _WEIGHT)
        for at, share in enumerate(assumed)
    ]

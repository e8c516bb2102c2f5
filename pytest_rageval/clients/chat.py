"""The chat client that metrics use: the cache, then re-asks, then the call to the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from pytest_rageval.clients.accounting import (
    Ledger,
    count_answer,
    count_replies,
    current_purpose,
    in_flight,
)
from pytest_rageval.clients.base import (
    Accept,
    ChatBackend,
    ChatRequest,
    Message,
    Reply,
    ReplySchema,
    Usage,
)
from pytest_rageval.clients.cache import Cache, Key, chat_identity, chat_key, known_counts
from pytest_rageval.clients.errors import (
    CallTimeoutError,
    ClientError,
    InvalidOutputError,
    NotAskedError,
    RefusedError,
    ReplayMissError,
    TruncatedError,
)
from pytest_rageval.clients.limits.limited_call import LimitedModel
from pytest_rageval.clients.limits.retry import Patience
from pytest_rageval.clients.limits.single_flight import SingleFlight
from pytest_rageval.clients.reply_form import gives_back
from pytest_rageval.clients.settings import JUDGE_TOKENS, SHORT_TOKENS, ClientSettings
from pytest_rageval.clients.tokens import CachedCall
from pytest_rageval.errors import shorten
from pytest_rageval.model import USABLE
from pytest_rageval.text.reply_text import repeats_itself

_FROM_CACHE = Usage(cached=1)
_MOST = 10**9  # tokens: no reply has more, but a file that somebody has edited may say so


class CachedChat:
    """Implements ChatClient over a backend.

    Without ``max_tokens`` in the settings a reply may have JUDGE_TOKENS, more once a reply needed
    more, and the last re-ask of one that was cut off has no limit: no honest reply is lost to a
    limit that nobody wrote, and a model in a loop is stopped. After a request that timed out while
    no other was under way (perhaps a loop), replies may have SHORT_TOKENS. None of these limits is
    in a key of the cache.
    """

    def __init__(
        self,
        settings: ClientSettings,
        backend: ChatBackend,
        call: LimitedModel,
        cache: Cache,
        ledger: Ledger,
        flights: SingleFlight[Reply],
    ) -> None:
        self._settings = settings
        self._backend = backend
        self._call = call
        self._cache = cache
        self._ledger = ledger
        self._flights = flights
        self._most_tokens = settings.max_tokens or JUDGE_TOKENS

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: ReplySchema | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        """Return the reply to ``messages``; see ChatClient."""
        with in_flight():
            try:
                reply = await self._complete(messages, schema, accept)
            except ClientError as error:
                count_replies(error.faults)
                raise
        count_answer()
        count_replies({**reply.faults, USABLE: 1})
        return reply

    async def _complete(
        self, messages: Sequence[Message], schema: ReplySchema | None, accept: Accept | None
    ) -> Reply:
        request = ChatRequest(messages, schema, self._most_tokens)
        if not self._cache.reads:
            return await self._ask(request, accept)
        key = chat_key(self._settings, messages, schema, current_purpose())
        reply = cached_reply(self._cache, key, accept)
        if reply is None and self._cache.mode == "replay":
            raise self._miss(key, accept)
        if reply is None:
            reply = await self._flights.run(
                key.sha256,
                lambda: cached_reply(self._cache, key, accept),
                lambda: self._ask_and_cache(key, request, accept),
                _shared,
            )
        if reply.cached:
            self._call.unusable.note_usable()
            self._ledger.count(_FROM_CACHE)
        return reply

    def _miss(self, key: Key, accept: Accept | None) -> ClientError:
        """Return the error of a replay whose reply is not kept, or is kept and refused now."""
        kept = _from_entry(self._cache.get("reply", key.sha256))
        if kept is not None:
            return self._unusable(kept, _refusal(kept, accept), Counter(kept.faults))
        purpose = current_purpose()
        why = self._cache.explain_miss("reply", key, purpose.sample)
        asked_by = f" for {purpose}" if str(purpose) else ""
        return ReplayMissError(
            f"{self._settings.shown}: no reply in the cache{asked_by} "
            f"(replay sends no requests); {why}"
        )

    async def _ask_and_cache(self, key: Key, request: ChatRequest, accept: Accept | None) -> Reply:
        reply = await self._ask(request, accept)
        if self._cache.writes:
            self._cache.put("reply", key, _to_entry(reply), current_purpose().sample)
        return reply

    async def _ask(self, request: ChatRequest, accept: Accept | None) -> Reply:
        """Ask until the reply can be used; tell the model what was wrong with the one before."""
        usage, patience, most = Usage(), self._call.retry.patience(), 1 + self._settings.reasks
        times: int | None = 1
        error: ClientError | None = None
        faults: Counter[str] = Counter()
        for asks in range(1, most + 1):
            try:
                request, reply, used = await self._send(request, times, patience)
            except NotAskedError as not_asked:  # what was wrong with the reply before says more
                raise error or not_asked from None
            except ClientError as failure:
                failure.faults = self._with_late(failure, faults)
                raise
            usage += used
            refusal = _refusal(reply, accept) or _form_given_back(reply, request.schema)
            if refusal is None:
                self._call.unusable.note_usable()
                self._learn(times, request.max_tokens)
                return replace(reply, usage=usage, faults=faults)
            self._call.unusable.note_unusable(reply.text)
            error = self._unusable(reply, refusal, faults, request.max_tokens)
            error.attempts = asks
            if reply.finish_reason == "refused" or _is_loop(reply):
                break
            if reply.finish_reason == "length":
                times = self._next_times(times, is_last=asks + 1 == most)
            else:
                request = _again(request, reply, refusal.why)
        assert error is not None
        raise error

    def _with_late(self, failure: ClientError, faults: Counter[str]) -> Counter[str]:
        """Return ``faults``; counted with them is a failure that timed out alone in flight."""
        if isinstance(failure, CallTimeoutError) and failure.is_alone:
            faults["late"] += 1
            self._call.unusable.note_unusable(failure.message)
        return faults

    async def _send(
        self, request: ChatRequest, times: int | None, patience: Patience
    ) -> tuple[ChatRequest, Reply, Usage]:
        """Return the request as it was answered, its reply, and what that cost.

        The reply may have so many ``times`` the tokens that are usual when it is sent; None: any
        number.
        """

        def send() -> Awaitable[Reply]:
            nonlocal request
            # When it is sent, so that calls that waited ask for less, too: each may be a loop.
            if self._call.was_late_alone and times and self._settings.max_tokens is None:
                self._call.was_late_alone = False
                self._most_tokens = min(self._most_tokens, SHORT_TOKENS)
            limit = times and times * self._most_tokens
            request = replace(request, max_tokens=limit)
            return self._backend.ask(request)

        texts = [message.content for message in request.messages]
        reply, usage = await self._call.ask(texts, send, patience)
        return request, reply, usage

    def _unusable(
        self,
        reply: Reply,
        refusal: _Refusal | None,
        faults: Counter[str],
        max_tokens: int | None = None,
    ) -> ClientError:
        """Return the error of a reply that cannot be used, and count it under ``faults``."""
        faults.update([refusal.kind] if refusal is not None else ())
        error = self._error(reply, refusal.why if refusal is not None else None, max_tokens)
        error.faults = faults
        return error

    def _error(self, reply: Reply, why: str | None, max_tokens: int | None) -> ClientError:
        shown, text = self._settings.shown, shorten(" ".join(reply.text.split()), 200)
        if reply.finish_reason == "refused":
            return RefusedError(
                f"{shown}: the model refused to answer: {text or 'no reason given'}"
            )
        if _is_loop(reply):
            return TruncatedError(
                f"{shown}: the reply repeats itself until it is cut off; it was {text!r}"
            )
        if reply.finish_reason == "length":
            where = self._cut_off_at(max_tokens)
            return TruncatedError(f"{shown}: the reply is cut off {where}; it was {text!r}")
        return InvalidOutputError(f"{shown}: the reply cannot be used: {why}; it was {text!r}")

    def _cut_off_at(self, asked_for: int | None) -> str:
        name, own = f"{self._settings.role}.max_tokens", self._settings.max_tokens
        if asked_for is None:
            return f"where the server ends it; {name} may allow more"
        if own is None:
            return f"at {asked_for} tokens; {name} may allow more"
        if asked_for == own:
            return f"at {name} {own}"
        return f"at {asked_for} tokens, asked for after {name} {own} were too few"

    def _learn(self, times: int | None, enough: int | None) -> None:
        """Note what limit was enough; after a reply without a limit, JUDGE_TOKENS at least."""
        if times != 1 and self._settings.max_tokens is None:
            self._most_tokens = max(self._most_tokens, enough or JUDGE_TOKENS)

    def _next_times(self, times: int | None, *, is_last: bool) -> int | None:
        """Return how many times as long a reply may be after one cut off; None: no limit.

        Later re-asks keep it: a reply to the same question is as long.
        """
        if times is None or (is_last and self._settings.max_tokens is None):
            return None
        return 2 * times


class DirectChat:
    """Asks a model each time, through limits, retries and the budget, and takes any reply.

    For a model under test: what is cut off, or declines, is its answer.
    """

    def __init__(self, settings: ClientSettings, backend: ChatBackend, call: LimitedModel) -> None:
        self._settings = settings
        self._backend = backend
        self._call = call

    async def complete(self, messages: Sequence[Message]) -> Reply:
        """Return the reply to ``messages``; raises ClientError."""
        request = ChatRequest(messages, None, self._settings.max_tokens)
        with in_flight():
            reply, usage = await self._call.ask(
                [message.content for message in messages], lambda: self._backend.ask(request)
            )
        count_answer()
        return replace(reply, usage=usage)


def cached_reply(cache: Cache, key: Key, accept: Accept | None) -> Reply | None:
    """Return the reply in the cache; None also for one that is not acceptable any more."""
    reply = _from_entry(cache.get("reply", key.sha256)) if cache.reads else None
    return None if reply is None or _refusal(reply, accept) else reply


def cached_calls(cache: Cache, settings: ClientSettings) -> Iterator[CachedCall]:
    """Yield what replies of a model in the cache used, whatever its parameters were then."""
    identity = chat_identity(settings)
    wanted = {name: identity[name] for name in ("provider", "endpoint", "model")}
    for key, value in cache.recent("reply", wanted) if cache.reads else ():
        tokens = [value.get(name) for name in ("prompt_tokens", "completion_tokens")]
        prompt, completion = (
            token if type(token) is int and token < _MOST else 0 for token in tokens
        )
        with suppress(LookupError, TypeError, ValueError):  # a key that somebody has edited
            texts = tuple(str(content) for _, content in key["messages"])
            if prompt > 0 and completion >= 0:
                is_one = value.get("calls", 1) == 1
                said = str(value.get("text"))
                yield CachedCall(question_kind(key), texts, prompt, completion, is_one, said)


def question_kind(key: Mapping[str, Any]) -> str:
    """Return what questions with replies of about the same length have in common.

    The metric without its " (reply 2)", of several replies to one question, and the schema.
    """
    return f"{str(key.get('metric')).partition(' (')[0]} {key.get('schema')}"


class _Refusal(NamedTuple):
    """What is wrong with a reply: its name among ``FAULTS``, and in words for the judge."""

    kind: str
    why: str


def _refusal(reply: Reply, accept: Accept | None) -> _Refusal | None:
    """Return what is wrong with a reply, or None for one that can be used."""
    if reply.finish_reason == "refused":
        return _Refusal("declined", "the model refused to answer")
    if reply.finish_reason == "length":
        return _Refusal("cut_off", "it is cut off")
    try:
        if accept is not None:
            accept(reply.text)
    except ValueError as error:
        return _Refusal(getattr(error, "kind", "shape"), str(error))
    return None


def _is_loop(reply: Reply) -> bool:
    """Return whether a reply was cut off in a loop.

    It is not asked for again, with more tokens or in other words: a model that loops once does so
    again, for as long.
    """
    return reply.finish_reason == "length" and repeats_itself(reply.text)


def _form_given_back(reply: Reply, schema: ReplySchema | None) -> _Refusal | None:
    """Return what is wrong with a reply that repeats the example of its form, else None."""
    if schema is None or not gives_back(reply.text, schema):
        return None
    return _Refusal("example", "it gives back the example of a reply, not values in their places")


def _again(request: ChatRequest, reply: Reply, why: str) -> ChatRequest:
    """Return the request that follows a reply which cannot be used."""
    wish = "Reply again" if request.schema is None else "Reply again, with the JSON only"
    turns = [Message("user", f"That reply cannot be used: {why}\n{wish}.")]
    if reply.text:
        turns.insert(0, Message("assistant", reply.text))
    return replace(request, messages=[*request.messages, *turns])


def _shared(reply: Reply) -> Reply:
    """Return the reply for callers who waited for another caller's request."""
    return replace(reply, cached=True, usage=_FROM_CACHE)


def _to_entry(reply: Reply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "model": reply.model,
        "latency_s": round(reply.latency_s, 3),
        "prompt_tokens": reply.usage.prompt_tokens,
        "completion_tokens": reply.usage.completion_tokens,
        **({"calls": reply.usage.calls} if reply.usage.calls > 1 else {}),
        **({"faults": dict(reply.faults)} if reply.faults else {}),
    }


def _from_entry(plain: Mapping[str, Any] | None) -> Reply | None:
    if plain is None or not isinstance(plain.get("text"), str):
        return None
    model, latency_s = str(plain.get("model", "")), plain.get("latency_s", 0.0)
    faults = plain.get("faults")
    return Reply(
        plain["text"],
        _FROM_CACHE,
        cached=True,
        latency_s=latency_s,
        model=model,
        faults=known_counts(faults) if isinstance(faults, dict) else {},
    )

"""The judge that ragas is given, and what a metric asks of it for one sample."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_rageval.clients.accounting import asking, current_purpose
from pytest_rageval.clients.base import ChatClient, ReplySchema, ask
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.errors import listed
from pytest_rageval.metrics.base import declared
from pytest_rageval.metrics.ragas.checks import Check, brief, check_reply, majority, same_verdicts
from pytest_rageval.metrics.ragas.embedder import Embedder
from pytest_rageval.text.echo import NO_EXAMPLES, Examples, refuse_repeated
from pytest_rageval.text.reply import find_objects, is_cut_off, refuse_additions

M = TypeVar("M", bound=BaseModel)


class ImpossibleVerdictError(ValueError):
    """A reply of the right shape with verdicts that cannot be; the text is for the judge."""

    kind: Final = "verdicts"


def read_reply(text: str, model: type[M]) -> M:
    """Return the JSON object in ``text`` as an instance of ``model``.

    Fences, thoughts, surrounding sentences and small mistakes in the JSON are tolerated. Raises
    ValueError, worded for the judge, when no object fits, several different ones do, a key has two
    values, the last JSON has no end, or words around it correct it.
    """
    try:
        found = model.model_validate_json(text)  # as most judges reply
    except ValidationError as error:
        return _found(text, model, error)
    # Pydantic takes the last value of a key that stands twice.
    json.loads(text, object_pairs_hook=_each_once)
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; raises ValueError for a key with two different values."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise ValueError(f"{key} is said twice, and differs: say it once")
    return found


def _found(text: str, model: type[M], error: ValidationError) -> M:
    """Return the one object in ``text`` that fits; ``error`` is that of the whole text."""
    problems = [error] if text.lstrip().startswith("{") else []
    found: list[M] = []
    for plain in find_objects(text):
        try:
            reply = model.model_validate(plain)
        except ValidationError as problem:
            problems.append(problem)
        else:
            found += [reply] if reply not in found else []
    if len(found) > 1:
        raise ValueError("there are several JSON objects in it, which differ")
    if not found:
        raise ValueError(_in_words(problems[0]) if problems else "there is no JSON object in it")
    if is_cut_off(text):
        raise ValueError("its last JSON has no end")
    refuse_additions(text)
    return found[0]


def _in_words(error: ValidationError) -> str:
    first, *others = error.errors(include_url=False, include_input=False, include_context=False)
    where = ".".join(str(part) for part in first["loc"])
    more = f", and {len(others)} more" if others else ""
    return f"{where}: {first['msg']}{more}" if where else f"{first['msg']}{more}"


_Key = tuple[str, type[BaseModel], int]


class Unscorable(Exception):  # noqa: N818  (it describes the sample; nothing went wrong)
    """The sample or the replies leave nothing to score; the text says why."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt of ragas, and the pydantic model of the reply that it asks for."""

    template: Any
    reply: type[BaseModel]
    examples: Examples = NO_EXAMPLES

    def write(self, inputs: Mapping[str, Any]) -> str:
        """Return the prompt with its inputs, exactly as ragas writes it."""
        return str(self.template.to_string(self.template.input_model(**inputs)))


class Judge:
    """Sends the requests of one sample and one metric; it serves as ragas' LLM.

    ``prompts`` are the metric's, by ragas' names. A reply that repeats the example of one is not
    usable, unless the texts ``own`` of the sample say the same. Judges that share ``asked`` send no
    request twice.
    """

    def __init__(
        self,
        client: ChatClient,
        prompts: Mapping[str, Prompt],
        asked: dict[_Key, asyncio.Future[Any]] | None = None,
        own: Sequence[str] = (),
    ) -> None:
        self._client = client
        self.prompts = prompts
        self._own = own
        self._asked = {} if asked is None else asked
        self._turns: Counter[_Key] = Counter()
        self._merged: dict[tuple[str, type[BaseModel]], Any] = {}
        self.failure: ClientError | None = None
        """Why a request of ragas itself failed: some of its metrics swallow exceptions."""

    async def ask(
        self, prompt: str, inputs: Mapping[str, Any], check: Check | None = None, draw: int = 0
    ) -> Any:
        """Return the judge's reply to one of the metric's prompts, as an instance of its model.

        ``check`` raises ValueError for a reply that cannot be right; the judge is then asked again.
        ``draw`` numbers several replies to the same request. Raises ClientError.
        """
        found = self.prompts[prompt]

        def accept(reply: BaseModel) -> None:
            self._check(reply, inputs, check, found.examples)

        return await self._once((found.write(inputs), found.reply, draw), accept)

    def _check(
        self, reply: BaseModel, inputs: Mapping[str, Any], check: Check | None, shown: Examples
    ) -> None:
        """Raise ValueError for a reply that cannot be right."""
        # First: a copied example may have the wrong number of verdicts, too.
        refuse_repeated(reply.model_dump(), shown, [self._own, inputs])
        try:
            check_reply(reply, inputs)
            if check is not None:
                check(reply)
        except ValueError as error:
            raise ImpossibleVerdictError(str(error)) from error

    async def agree(
        self, prompt: str, inputs: Mapping[str, Any], times: int, check: Check | None = None
    ) -> Any:
        """Return the reply with each verdict as most of ``times`` replies have it.

        Raises ClientError where one of them fails: fewer replies would be another majority.
        """
        first = await self.ask(prompt, inputs, check)
        if times == 1:
            return first
        checks = [same_verdicts(first), *([check] if check else [])]

        def all_of(reply: BaseModel) -> None:
            for one in checks:
                one(reply)

        others = await together(
            *(self.ask(prompt, inputs, all_of, draw) for draw in range(1, times))
        )
        found = self.prompts[prompt]
        merged = self._merged[found.write(inputs), found.reply] = majority([first, *others])
        return merged

    async def agenerate(self, prompt: str, response_model: type[BaseModel]) -> Any:
        """Return the reply to a prompt, sent or known already; ragas calls this."""
        if (prompt, response_model) in self._merged:
            return self._merged[prompt, response_model]
        question: _Key = (prompt, response_model, 0)
        # ragas sends a request as often as we drew replies: the nth time it gets draw n.
        turn = self._turns[question]
        self._turns[question] += 1
        known = self._asked.get((prompt, response_model, turn)) or self._asked.get(question)
        if known is not None:
            return await known
        # Some version of ragas may send a request that ours did not.
        try:
            shown = sum((one.examples for one in self.prompts.values()), NO_EXAMPLES)
            return await self._once(question, lambda reply: self._check(reply, {}, None, shown))
        except ClientError as error:
            self.failure = error
            raise

    def generate(self, prompt: str, response_model: type[BaseModel]) -> Any:
        """Refuse: ragas is used asynchronously only."""
        raise NotImplementedError("ragas is used through ascore() only")

    def _once(self, key: _Key, accept: Check) -> Awaitable[Any]:
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(self._complete(key, accept))
        return self._asked[key]

    async def _complete(self, key: _Key, accept: Check) -> Any:
        text, model, draw = key
        known: dict[str, Any] = {}

        def read(reply: str) -> Any:
            if reply not in known:
                found = read_reply(reply, model)
                accept(found)
                known[reply] = found
            return known[reply]

        purpose = current_purpose()
        if draw:
            # The metric is part of the cache key: each draw needs a reply of its own.
            purpose = replace(purpose, metric=f"{purpose.metric} (reply {draw + 1})")
        with asking(purpose):
            return read(await ask(self._client, text, read, reply_schema(model)))


async def together(*asked: Awaitable[Any]) -> list[Any]:
    """Return the results in order; wait for all, then raise the first error in that order.

    So the error does not depend on timing, and every reply reaches the cache.
    """
    results = await asyncio.gather(*asked, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@cache
def reply_schema(model: type[BaseModel]) -> ReplySchema:
    """Return the JSON Schema of a model's replies, the same object each time."""
    return ReplySchema(model.__name__, model.model_json_schema())


_LISTED = 3

Claim = Mapping[str, Any]
"""What was judged, with its ``verdict`` (0 or 1): mostly a ``claim``, with the ``reason``."""


@dataclass(frozen=True, slots=True)
class Request:
    """One sample, and the models to ask. Fields that the metric does not need are empty."""

    judge: Judge
    options: Any
    embedder: Embedder | None = None
    question: str = ""
    answer: str = ""
    contexts: Sequence[str] = ()
    reference: str = ""
    reference_contexts: Sequence[str] = ()
    rubrics: Mapping[str, str] = field(default_factory=dict)

    @property
    def joined_contexts(self) -> str:
        """All contexts in one text, as ragas joins them."""
        return "\n".join(self.contexts)

    @property
    def embeddings(self) -> Embedder:
        """The embedder; RuntimeError where the metric does not declare one."""
        return declared(self.embedder)

    async def claims(self, prompt: str, inputs: Mapping[str, Any], of: str) -> list[str]:
        """Return the statements that the judge finds in a text.

        Raises Unscorable when there are none; ``of`` names the text in the message.
        """
        reply = await self.judge.ask(prompt, inputs)
        found = reply.claims if hasattr(reply, "claims") else reply.statements
        if not found:
            raise Unscorable(f"the judge found no claim in the {of}")
        return list(found)

    async def agreed(
        self, prompt: str, inputs: Mapping[str, Any], check: Check | None = None
    ) -> Any:
        """Return the judge's verdicts: the majority's where ``reproducibility`` is set."""
        times = getattr(self.options, "reproducibility", None) or 1
        return await self.judge.agree(prompt, inputs, times, check)

    async def verdicts(self, prompt: str, context: str, claims: Sequence[str]) -> list[Claim]:
        """Return the judge's verdict on each claim, given the text ``context``."""
        reply = await self.agreed(prompt, {"context": context, "statements": claims})
        return [
            {"claim": claim, "verdict": found.verdict, "reason": found.reason}
            for claim, found in zip(claims, reply.statements, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Finding:
    """The replies as a sentence and as JSON values; ``value``, if set, replaces ragas' own."""

    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)
    value: float | None = None


def counted(found: Sequence[Claim], nouns: str) -> str:
    """Return how many of ``found`` have the verdict 1.

    >>> counted([{"verdict": 1}, {"verdict": 0}], "claims of the answer")
    '1 of 2 claims of the answer is'
    """
    yes = sum(one["verdict"] for one in found)
    return f"{yes} of {len(found)} {nouns} {'is' if yes == 1 else 'are'}"


def quoted(label: str, claims: Sequence[Claim]) -> str:
    """Return a label and the first claims with the judge's reasons; "" without claims.

    >>> quoted("missing", [{"claim": "It rains", "reason": "nothing says so"}])
    '; missing: "It rains" (nothing says so)'
    """
    if not claims:
        return ""
    parts = (
        f'"{brief(claim["claim"])}"' + (f" ({brief(claim['reason'])})" if claim["reason"] else "")
        for claim in claims
    )
    return f"; {label}: {listed(parts, _LISTED)}"

"""One sample's questions to the judge: asked once each, checked, kept; ragas reads them from here.

The objects of this module are what ragas takes for its LLM and its embeddings. Each question is
asked by us first, so that independent ones are asked at once; when ragas then asks it, in its own
order, the reply is there already.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import BaseModel

from pytest_rageval.clients.base import ChatClient, EmbeddingClient, Message, ReplySchema
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.purpose import asking, current_purpose
from pytest_rageval.errors import shorten
from pytest_rageval.metrics.ragas.replies import Check, check_reply, read_reply
from pytest_rageval.metrics.similarity import cosine

_Key = tuple[str, type[BaseModel], int]


class Unscorable(Exception):  # noqa: N818  (it says something of the sample, nothing went wrong)
    """The replies leave nothing that a score could be made of; the text says why."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt of ragas, and the model of the reply that it asks for."""

    template: Any
    reply: type[BaseModel]

    def write(self, inputs: Mapping[str, Any]) -> str:
        """Return the prompt with its inputs filled in, to the letter as ragas writes it."""
        return str(self.template.to_string(self.template.input_model(**inputs)))


class Judge:
    """Asks the questions of one sample and one metric; ragas takes it for its LLM.

    ``prompts`` are those of the metric, by the names that ragas has for them. Judges that share
    ``asked`` ask no question twice.
    """

    def __init__(
        self,
        client: ChatClient,
        prompts: Mapping[str, Prompt],
        asked: dict[_Key, asyncio.Future[Any]] | None = None,
    ) -> None:
        self._client = client
        self.prompts = prompts
        self._asked = {} if asked is None else asked
        self._turns: Counter[_Key] = Counter()
        self.failure: ClientError | None = None
        """Why a question of ragas' own has no reply: some of its metrics swallow exceptions."""

    async def ask(
        self, prompt: str, inputs: Mapping[str, Any], check: Check | None = None, draw: int = 0
    ) -> Any:
        """Return the judge's reply to one of the metric's prompts, as an instance of its model.

        ``check`` raises ValueError for a reply that cannot be right: it is asked for again.
        ``draw`` tells apart several replies to the same question. Raises ClientError.
        """
        found = self.prompts[prompt]

        def accept(reply: BaseModel) -> None:
            check_reply(reply, inputs)
            if check is not None:
                check(reply)

        return await self._once((found.write(inputs), found.reply, draw), accept)

    async def agenerate(self, prompt: str, response_model: type[BaseModel]) -> Any:
        """Return the reply that is there already, or ask: this is what ragas calls."""
        question: _Key = (prompt, response_model, 0)
        turn = self._turns[question]
        self._turns[question] += 1
        known = self._asked.get((prompt, response_model, turn)) or self._asked.get(question)
        if known is not None:
            return await known
        # A version of ragas that asks more than is foreseen here.
        try:
            return await self._once(question, lambda reply: check_reply(reply, {}))
        except ClientError as error:
            self.failure = error
            raise

    def generate(self, prompt: str, response_model: type[BaseModel]) -> Any:
        """Refuse: nothing here waits."""
        raise NotImplementedError("ragas is used through ascore() only")

    def _once(self, key: _Key, accept: Check) -> Awaitable[Any]:
        if key not in self._asked:
            self._asked[key] = asyncio.ensure_future(self._complete(key, accept))
        return self._asked[key]

    async def _complete(self, key: _Key, accept: Check) -> Any:
        text, model, draw = key
        messages = [Message("user", text)]
        known: dict[str, Any] = {}

        def read(reply: str) -> Any:
            if reply not in known:
                found = read_reply(reply, model)
                accept(found)
                known[reply] = found
            return known[reply]

        purpose = current_purpose()
        if draw:
            # The metric is part of the cache key: equal questions must not get one cached reply.
            purpose = replace(purpose, metric=f"{purpose.metric} (reply {draw + 1})")
        with asking(purpose):
            reply = await self._client.complete(messages, schema=reply_schema(model), accept=read)
        return read(reply.text)


class Embedder:
    """Embeds the texts of one sample and one metric, each once, for us and for ragas."""

    def __init__(self, client: EmbeddingClient) -> None:
        self._client = client
        self._vectors: dict[str, Sequence[float]] = {}

    async def fetch(self, texts: Sequence[str]) -> None:
        """Embed those of ``texts`` that are not embedded yet, together.

        Raises ClientError, and Unscorable for a vector that has no direction.
        """
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if not missing:
            return
        for text, vector in zip(missing, await self._client.embed(missing), strict=True):
            if cosine(vector, vector) is None:
                what = shorten(text, 40)
                raise Unscorable(f"the embedding of {what!r} is all zeros, or not finite")
            self._vectors[text] = vector

    async def aembed_text(self, text: str, **_: Any) -> Sequence[float]:
        """Return the vector of a text."""
        await self.fetch([text])
        return self._vectors[text]

    async def aembed_texts(self, texts: Sequence[str], **_: Any) -> list[Sequence[float]]:
        """Return the vectors of texts."""
        await self.fetch(texts)
        return [self._vectors[text] for text in texts]

    def embed_text(self, text: str, **_: Any) -> Sequence[float]:
        """Refuse: nothing here waits."""
        raise NotImplementedError("ragas is used through ascore() only")

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine of two texts that were fetched."""
        found = cosine(self._vectors[one], self._vectors[other])
        return 0.0 if found is None else found


async def together(*asked: Awaitable[Any]) -> list[Any]:
    """Return the results in order; when some fail, the first of them in order, after all ended.

    So the error does not depend on who was faster, and every reply that came is in the cache.
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

"""Models that say what a test has written down for them, without any network."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_rageval.clients.accounting import current_purpose
from pytest_rageval.clients.base import Accept, Message, Reply, ReplySchema, Vector
from pytest_rageval.clients.errors import ClientError, InvalidOutputError

REASKS = 2

Say = Callable[[str], Any]
"""From a prompt to what the judge replies: JSON values, text as it is, or an error to raise."""


class ScriptedJudge:
    """A ChatClient. ``replies`` holds for each schema's name a function or a list of replies.

    The replies of a list are given in turn, the last one for ever. Like the real client it asks
    again, twice, when a reply is not acceptable, and keeps replies by purpose and prompt.
    """

    def __init__(self, replies: Mapping[str, Say | Sequence[Any]]) -> None:
        self._replies = replies
        self._turns: Counter[str] = Counter()
        self._kept: dict[Any, str] = {}
        self.prompts: list[str] = []
        self.schemas: list[str] = []
        self.objects: set[int] = set()
        self.keeps = False

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: ReplySchema | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        assert schema is not None
        assert accept is not None
        key = (str(current_purpose()), messages[-1].content)
        if self.keeps and key in self._kept:
            return Reply(self._kept[key], cached=True)
        self.objects.add(id(schema))
        why = ""
        for _ in range(1 + REASKS):
            text = self._say(schema.name, messages[-1].content)
            try:
                accept(text)
            except ValueError as error:
                why = str(error)
            else:
                self._kept[key] = text
                return Reply(text)
        raise InvalidOutputError(f"the reply cannot be used: {why}")

    def _say(self, name: str, prompt: str) -> str:
        self.prompts.append(prompt)
        self.schemas.append(name)
        replies = self._replies[name]
        if callable(replies):
            said = replies(prompt)
        else:
            said = replies[min(self._turns[name], len(replies) - 1)]
            self._turns[name] += 1
        if isinstance(said, ClientError):
            raise said
        return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


class ScriptedEmbeddings:
    """An EmbeddingClient with the vectors that it is given, in full precision."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors
        self.batches: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        assert all(texts), "an empty text has no embedding"
        self.batches.append(list(texts))
        return [array("d", self._vectors[text]) for text in texts]


def nli(claims: Sequence[str], verdicts: Sequence[int], reason: str = "") -> dict[str, Any]:
    """Return a reply that judges claims."""
    return {
        "statements": [
            {"statement": claim, "reason": reason, "verdict": verdict}
            for claim, verdict in zip(claims, verdicts, strict=False)
        ]
    }

"""What providers of chat completions and embeddings must offer, and which clients metrics get.

Metrics see ``ChatClient`` and ``EmbeddingClient``: cached, limited, retried. A provider offers the
bare ``ChatBackend`` or ``EmbeddingBackend``; to add one, write a module in ``providers/`` with
``CHATS = (ChatProvider(...),)`` or ``EMBEDDINGS = (EmbeddingProvider(...),)``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

from pytest_rageval import extras
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.registry import Registry

Role = Literal["system", "user", "assistant"]
FinishReason = Literal["stop", "length", "refused"]

Vector: TypeAlias = "array[float]"
"""An embedding: ``array('f')``, 32-bit floats; ``numpy.frombuffer(v, 'f4')`` copies nothing."""


def vector_in(text: str) -> Vector:
    """Return the vector that a server, or our cache, wrote as base64; raises ValueError."""
    vector = array("f")
    vector.frombytes(base64.b64decode(text, validate=True))
    return little_endian(vector)


def little_endian(vector: Vector) -> Vector:
    """Swap between this machine's byte order and low byte first; on most machines, unchanged."""
    if sys.byteorder == "big":
        vector = vector[:]
        vector.byteswap()
    return vector


Accept = Callable[[str], object]
"""Looks at the text of a reply and raises ValueError, with what is wrong, if it cannot be used."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, eq=False)
class ReplySchema:
    """The JSON Schema that a reply must follow. Make it once: caches know it by its identity."""

    name: str
    schema: Mapping[str, Any]

    @classmethod
    def of(cls, name: str, **parts: Mapping[str, Any]) -> ReplySchema:
        """Return the schema of an object with all of ``parts``, in their order, and no more."""
        return cls(name, object_schema(**parts))

    @cached_property
    def sha256(self) -> str:
        """The digest of the schema, whatever the order of its keys."""
        return hashlib.sha256(json.dumps(self.schema, sort_keys=True).encode()).hexdigest()

    @cached_property
    def text(self) -> str:
        """The schema as JSON, for servers that need it in the prompt."""
        return json.dumps(self.schema, ensure_ascii=False)


def object_schema(**parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object that has each of ``parts``, and no more."""
    return {
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls used: ``calls`` of a model, ``cached`` free of charge (cache, another's request).

    ``cost_usd`` is the cost of those that have a price, None without any; ``unpriced`` counts the
    calls that have none: what these cost is not known, and not 0.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    cached: int = 0
    cost_usd: float | None = None
    unpriced: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.cached + other.cached,
            _sum(self.cost_usd, other.cost_usd),
            self.unpriced + other.unpriced,
        )


def _sum(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other


def cost_text(cost_usd: float | None, unpriced: float | None) -> str:
    """Return a cost in words; "" where no call has a price.

    >>> cost_text(0.25, 0), cost_text(0.25, 3)
    ('0.2500 USD', 'at least 0.2500 USD (3 calls without a price)')
    """
    if cost_usd is None:
        return ""
    cost = f"{cost_usd:.4f} USD"
    if not unpriced:
        return cost
    calls = "1 call" if unpriced == 1 else f"{unpriced:.0f} calls"
    return f"at least {cost} ({calls} without a price)"


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer.

    ``usage`` is what this question cost, re-asks included; ``latency_s`` is how long the model
    took, also for a reply from the cache; ``model`` is the name that the server gives. Without
    ``is_counted``, ``usage`` is an estimate: a number of tokens was not stated, or cannot be.
    """

    text: str
    usage: Usage = Usage()
    cached: bool = False
    latency_s: float = 0.0
    model: str = ""
    finish_reason: FinishReason = "stop"
    is_counted: bool = field(default=True, compare=False)
    faults: Mapping[str, int] = field(default_factory=dict, compare=False)
    """The replies before this one that could not be used, by what was wrong (``model.FAULTS``)."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of one batch of texts, in their order, and what they cost, as for a reply."""

    vectors: Sequence[Vector]
    usage: Usage = Usage()
    is_counted: bool = field(default=True, compare=False)


class ChatClient(Protocol):
    """Answers a conversation. Safe for many callers in one event loop."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: ReplySchema | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        """Return the reply to ``messages``, from the cache where it has one.

        One that ``accept`` refuses, or that is cut off, is never cached, and asked for again a few
        times, unless it is a loop. Raises ClientError where none can be used.
        """
        ...


async def ask(
    client: ChatClient, prompt: str, accept: Accept, schema: ReplySchema | None = None
) -> str:
    """Return the text of the reply to one message; raises ClientError."""
    reply = await client.complete([Message("user", prompt)], schema=schema, accept=accept)
    return reply.text


class EmbeddingClient(Protocol):
    """Turns texts into vectors. Safe for many callers in one event loop."""

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text, in their order; an empty list for none.

        Raises ClientError, also for a text that is empty.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a provider is asked; ``max_tokens`` bounds the reply, None: the server alone does.

    It takes the place of the settings' bound, and grows after a reply that was cut off.
    """

    messages: Sequence[Message]
    schema: ReplySchema | None = None
    max_tokens: int | None = None


class ChatBackend(Protocol):
    """Sends one request, once. Opens nothing before the first one."""

    async def ask(self, request: ChatRequest) -> Reply:
        """Return the reply, usable or not; raise ClientError or AskAgain."""
        ...

    async def aclose(self) -> None:
        """Close what was opened."""
        ...


class EmbeddingBackend(Protocol):
    """Embeds one batch, once. Opens and loads nothing before the first one."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of a batch; raise ClientError or AskAgain."""
        ...

    async def aclose(self) -> None:
        """Close what was opened."""
        ...


@dataclass(frozen=True, slots=True)
class ChatProvider:
    """A way to get chat completions, as the registry holds it.

    ``check(settings)`` returns what is wrong with them, as far as no request is needed to know;
    ``preload()`` loads what the first request needs; it is called in a thread.
    """

    name: str
    make: Callable[[ClientSettings], ChatBackend]
    check: Callable[[ClientSettings], Sequence[str]]
    aliases: tuple[str, ...] = ()
    preload: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingProvider:
    """A way to get vectors; ``is_local`` says that the model runs in this process."""

    name: str
    make: Callable[[ClientSettings], EmbeddingBackend]
    check: Callable[[ClientSettings], Sequence[str]]
    aliases: tuple[str, ...] = ()
    is_local: bool = False
    preload: Callable[[], None] | None = None


def missing_package(module: str, extra: str, settings: ClientSettings) -> list[str]:
    """Return a problem with the pip command if a package is not installed, else []."""
    if extras.installed(module):
        return []
    command = f'pip install "pytest-rageval[{extra}]"'
    return [f"provider: {settings.provider} needs the package {module}: {command}"]


CHAT_REGISTRY: Registry[ChatProvider] = Registry(
    "judge provider", "pytest_rageval.clients.providers", "CHATS"
)
EMBEDDING_REGISTRY: Registry[EmbeddingProvider] = Registry(
    "embedding provider", "pytest_rageval.clients.providers", "EMBEDDINGS"
)

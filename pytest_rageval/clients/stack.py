"""The clients of one process, put together from settings.

::

    metric ─ CachedChat ─ Flights ─ re-asks ─ Line: Retry ─ Limits ─ Ledger ─ OpenAIChat ─ HTTP
                 │
               Cache                (CachedEmbeddings: batches instead of flights and re-asks)

What is in the cache passes nothing else; replay opens neither sockets nor models.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from pytest_rageval.clients.base import (
    CHAT_REGISTRY,
    EMBEDDING_REGISTRY,
    ChatClient,
    ChatProvider,
    EmbeddingBackend,
    EmbeddingClient,
    EmbeddingProvider,
    Reply,
    Usage,
    Vector,
)
from pytest_rageval.clients.cache import Cache, has_replies
from pytest_rageval.clients.chat import CachedChat, DirectChat
from pytest_rageval.clients.embed import AskBatch, CachedEmbeddings
from pytest_rageval.clients.estimates import TokenGuess
from pytest_rageval.clients.flights import Flights
from pytest_rageval.clients.ledger import Ledger
from pytest_rageval.clients.limits import Limits, open_limits
from pytest_rageval.clients.line import Line
from pytest_rageval.clients.locks import ByteLocks, open_locks
from pytest_rageval.clients.retry import Retry, RetryPolicy
from pytest_rageval.clients.scores import KeptScores
from pytest_rageval.clients.settings import ClientSettings, RunSettings


def check_chat(settings: ClientSettings, run: RunSettings) -> list[str]:
    """Return what is wrong with the settings of a judge, without asking anybody.

    Each text begins with the field it is about. Raises UnknownNameError for the provider.
    """
    provider = CHAT_REGISTRY.get(settings.provider)
    return [*_check_budget(settings, run), *_offline(provider.check(settings), run)]


def check_embedding(settings: ClientSettings, run: RunSettings) -> list[str]:
    """Return what is wrong with the settings of an embedding model, as ``check_chat`` does."""
    provider = EMBEDDING_REGISTRY.get(settings.provider)
    problems = [] if provider.is_local else _check_budget(settings, run)
    return [*problems, *_offline(provider.check(settings), run)]


def preload_clients(
    judge: ClientSettings | None, embedding: ClientSettings | None, run: RunSettings
) -> None:
    """Begin to load what requests to these models need, where it is sure that there will be some.

    A cache with replies in it may have them all; then nothing is loaded in vain.
    """
    reads = run.cache_dir is not None and run.cache_mode not in ("off", "refresh")
    if reads and (run.cache_mode == "replay" or has_replies(run)):
        return
    providers: list[ChatProvider | EmbeddingProvider] = []
    if judge is not None:
        providers.append(CHAT_REGISTRY.get(judge.provider))
    if embedding is not None:
        providers.append(EMBEDDING_REGISTRY.get(embedding.provider))
    for provider in providers:
        if provider.preload is not None:
            provider.preload()


def _offline(problems: Sequence[str], run: RunSettings) -> Sequence[str]:
    return () if run.cache_mode == "replay" else problems


def _check_budget(settings: ClientSettings, run: RunSettings) -> list[str]:
    if run.budget_usd is None or settings.price is not None:
        return []
    return ["price: needed for a budget; USD per million tokens, for example {input: 0.15}"]


class Clients:
    """All clients of this process. Make it once a run, in the process's event loop; close it.

    Equal settings get the same client, so that limits and connections are shared.
    """

    def __init__(self, run: RunSettings) -> None:
        if run.cache_mode == "replay" and run.cache_dir is None:
            raise ValueError("replay needs a cache folder")
        self._run = run
        self._cache = Cache(run)
        self._ledger = Ledger(run.budget_usd, run.shared_dir)
        self._claims = _claims(run)
        self._chats: list[tuple[ClientSettings, CachedChat]] = []
        self._embeddings: list[tuple[ClientSettings, CachedEmbeddings]] = []
        self._limits: list[Limits] = []
        self._closing = AsyncExitStack()
        self.scores = KeptScores(self._cache, self._ledger)
        """The scores in the cache."""

    @property
    def usage(self) -> Usage:
        """What this process has used; ``run_usage(shared_dir)`` sums over all of them."""
        return self._ledger.usage

    @property
    def in_flight(self) -> int:
        """How many requests of this process are being asked now."""
        return sum(limits.in_flight for limits in self._limits)

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong without failing a call, for the summary: a folder that is not written."""
        return tuple(filter(None, (self._cache.problem, self._ledger.problem)))

    def chat(self, settings: ClientSettings) -> ChatClient:
        """Return the client for ``settings``; opens nothing before it is asked."""
        for one, client in self._chats:
            if one == settings:
                return client
        self._chats.append((settings, self._make_chat(settings)))
        return self._chats[-1][1]

    def direct_chat(self, settings: ClientSettings) -> DirectChat:
        """Return a client that asks each time and takes any reply: the model is under test."""
        provider = CHAT_REGISTRY.get(settings.provider)
        backend = provider.make(replace(settings, provider=provider.name))
        self._closing.push_async_callback(backend.aclose)
        return DirectChat(settings, backend, self._line(settings), self._ledger)

    def embedding(self, settings: ClientSettings) -> EmbeddingClient:
        """Return the embedding client for ``settings``; loads nothing before it is asked."""
        for one, client in self._embeddings:
            if one == settings:
                return client
        self._embeddings.append((settings, self._make_embedding(settings)))
        return self._embeddings[-1][1]

    async def aclose(self) -> None:
        """Close connections, threads and files. Cancel those who ask before."""
        await self._closing.aclose()
        self._ledger.close()
        self._cache.close()
        if self._claims is not None:
            self._claims.close()

    def _make_chat(self, settings: ClientSettings) -> CachedChat:
        provider = CHAT_REGISTRY.get(settings.provider)
        settings = replace(settings, provider=provider.name)  # an alias has the same cache keys
        backend = provider.make(settings)
        self._closing.push_async_callback(backend.aclose)
        line = self._line(settings)
        flights: Flights[Reply] = Flights(self._claims)
        return CachedChat(settings, backend, line, self._cache, self._ledger, flights)

    def _make_embedding(self, settings: ClientSettings) -> CachedEmbeddings:
        provider = EMBEDDING_REGISTRY.get(settings.provider)
        settings = replace(settings, provider=provider.name)
        backend = provider.make(settings)
        self._closing.push_async_callback(backend.aclose)
        ask: AskBatch
        if provider.is_local:
            ask = _Direct(backend, self._ledger)
        else:
            ask = _Remote(backend, self._line(settings), self._ledger)
        client = CachedEmbeddings(
            settings, ask, self._cache, self._ledger, is_local=provider.is_local
        )
        self._closing.push_async_callback(client.aclose)
        return client

    def _line(self, settings: ClientSettings) -> Line:
        limits = open_limits(settings, self._run)
        self._limits.append(limits)
        self._closing.callback(limits.close)
        policy = RetryPolicy(retries=settings.retries, max_wait_s=settings.max_wait_s)
        guess = TokenGuess(settings.max_tokens)
        return Line(limits, Retry(policy), self._ledger, guess, settings.price)


class _Direct:
    """Asks a model in this process, which knows no limits, failures or prices."""

    def __init__(self, backend: EmbeddingBackend, ledger: Ledger) -> None:
        self._backend = backend
        self._ledger = ledger

    async def __call__(self, texts: Sequence[str]) -> Sequence[Vector]:
        answer = await self._backend.embed(texts)
        self._ledger.count_for_run(answer.usage)
        return answer.vectors


class _Remote:
    """Asks a server, through the line."""

    def __init__(self, backend: EmbeddingBackend, line: Line, ledger: Ledger) -> None:
        self._backend = backend
        self._line = line
        self._ledger = ledger

    async def __call__(self, texts: Sequence[str]) -> Sequence[Vector]:
        answer, _ = await self._line.ask(
            texts, lambda: self._backend.embed(texts), self._ledger.count_for_run
        )
        return answer.vectors


def _claims(run: RunSettings) -> ByteLocks | None:
    """Return the locks by which processes tell each other what they are asking, if needed."""
    if run.processes == 1 or run.cache_mode not in ("readwrite", "refresh"):
        return None
    return open_locks(run.shared_dir, "claims")

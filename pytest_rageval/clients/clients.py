"""The clients of one process, assembled from settings.

::

    metric ─ CachedChat ─ SingleFlight ─ re-asks ─ LimitedModel ─ OpenAIChat ─ HTTP
                 │                                     │
               Cache                           Retry, Limits, Ledger

CachedEmbeddings sends batches, and needs neither SingleFlight nor re-asks. An answer from the cache
passes no other layer; replay opens no sockets and loads no models.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TypeVar

from pytest_rageval.clients.accounting import Ledger
from pytest_rageval.clients.base import (
    CHAT_REGISTRY,
    EMBEDDING_REGISTRY,
    ChatBackend,
    ChatClient,
    EmbeddingBackend,
    EmbeddingClient,
    Usage,
)
from pytest_rageval.clients.cache import Cache, has_replies
from pytest_rageval.clients.chat import CachedChat, DirectChat
from pytest_rageval.clients.embed import CachedEmbeddings
from pytest_rageval.clients.file_locks import run_locks
from pytest_rageval.clients.http import NOT_SET
from pytest_rageval.clients.limits.limited_call import LimitedModel, UnusableReplies
from pytest_rageval.clients.limits.limits import Limits, limits_name, open_limits
from pytest_rageval.clients.limits.retry import Retry
from pytest_rageval.clients.limits.single_flight import SingleFlight
from pytest_rageval.clients.score_cache import ScoreCache
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.clients.threads import in_background
from pytest_rageval.clients.tokens import TokenGuess

_UNKNOWN = "usage is unknown where a server states no number of tokens that can be: estimated"

BackendT = TypeVar("BackendT", ChatBackend, EmbeddingBackend)


def check_chat(settings: ClientSettings, run: RunSettings) -> list[str]:
    """Return what is wrong with the settings of a chat model, without a request.

    Each text begins with the field it is about. Raises UnknownNameError for an unknown provider.
    """
    provider = CHAT_REGISTRY.get(settings.provider)
    price = "{input: 0.15, output: 0.60}"
    return [*_check_budget(settings, run, price), *_in_the_way(provider.check(settings), run)]


def check_embedding(settings: ClientSettings, run: RunSettings) -> list[str]:
    """Return what is wrong with the settings of an embedding model, as ``check_chat`` does."""
    provider = EMBEDDING_REGISTRY.get(settings.provider)
    problems = [] if provider.is_local else _check_budget(settings, run, "{input: 0.02}")
    return [*problems, *_in_the_way(provider.check(settings), run)]


def preload_clients(
    judge: ClientSettings | None, embedding: ClientSettings | None, run: RunSettings
) -> None:
    """Begin to load what requests to these models need, if there are sure to be some.

    Nothing is loaded if the cache holds replies: it may hold all of them.
    """
    reads = run.cache_dir is not None and run.cache_mode not in ("off", "refresh")
    if reads and (run.cache_mode == "replay" or has_replies(run)):
        return
    for settings, registry in ((judge, CHAT_REGISTRY), (embedding, EMBEDDING_REGISTRY)):
        load = None if settings is None else registry.get(settings.provider).preload
        if load is not None:
            in_background(load)


def _in_the_way(problems: Sequence[str], run: RunSettings) -> Sequence[str]:
    """Return the problems that matter in this run: replay sends nothing, a dry run needs no key."""
    if run.cache_mode == "replay":
        return ()
    return [problem for problem in problems if not (run.is_dry and problem.endswith(NOT_SET))]


def _check_budget(settings: ClientSettings, run: RunSettings, price: str) -> list[str]:
    if run.budget_usd is None or settings.price is not None:
        return []
    return [f"price: needed for a budget; USD per million tokens, for example {price}"]


class Clients:
    """All clients of this process. Make it once a run, in the process's event loop; close it.

    Equal settings get the same client, so that connections are shared (but for ``direct_chat``);
    clients of one model share its limits.
    """

    def __init__(self, run: RunSettings) -> None:
        if run.cache_mode == "replay" and run.cache_dir is None:
            raise ValueError("replay needs a cache folder")
        self._run = run
        self._cache = Cache(run)
        self._ledger = Ledger(run.budget_usd, run.shared_dir)
        self._claims = run_locks(run, "claims") if self._cache.writes else None
        self._chats: list[tuple[ClientSettings, CachedChat]] = []
        self._embeddings: list[tuple[ClientSettings, CachedEmbeddings]] = []
        self._calls: list[tuple[str, LimitedModel]] = []
        self._limits: dict[str, Limits] = {}
        self._closing = AsyncExitStack()
        self.scores = ScoreCache(self._cache, self._ledger)

    @property
    def usage(self) -> Usage:
        """What this process has used; ``run_usage(shared_dir)`` sums over all processes."""
        return self._ledger.usage

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong without failing the run, for the summary.

        Replies or usage that could not be written, usage that is estimated, and time-outs.
        """
        unknown = _UNKNOWN if self._ledger.is_estimate else None
        crowded = (call.limits.problem(role) for role, call in self._calls)
        found = (self._cache.problem, self._ledger.problem, unknown, *dict.fromkeys(crowded))
        return tuple(filter(None, found))

    @property
    def unkept(self) -> str:
        """Why replies that the cache should keep could not be written; "" if none failed."""
        return self._cache.problem or ""

    @property
    def waiting(self) -> str:
        """How long calls wait for a server that is starting, and its error; "" if none does."""
        return next(filter(None, (call.retry.waiting for _, call in self._calls)), "")

    @property
    def flight(self) -> str:
        """What is in flight in words, to follow a number of calls; "" if nothing is."""
        count, oldest_s = self._ledger.in_flight
        now = f", {count} in flight, the oldest for {oldest_s:.0f} s" if count else ""
        return now + (f", {again} sent again" if (again := self._ledger.sent_again) else "")

    def chat(self, settings: ClientSettings) -> ChatClient:
        """Return the client for ``settings``; opens nothing before it is asked."""
        for one, client in self._chats:
            if one == settings:
                return client
        self._chats.append((settings, self._make_chat(settings)))
        return self._chats[-1][1]

    def direct_chat(self, settings: ClientSettings) -> DirectChat:
        """Return a new client that asks each time and takes any reply: the model is under test."""
        settings = replace(settings, max_failures=None)  # no reply is unusable
        backend = self._opened(CHAT_REGISTRY.get(settings.provider).make(settings))
        return DirectChat(settings, backend, self._limited_call(settings))

    def embedding(self, settings: ClientSettings) -> EmbeddingClient:
        """Return the embedding client for ``settings``; loads nothing before it is asked."""
        for one, client in self._embeddings:
            if one == settings:
                return client
        self._embeddings.append((settings, self._make_embedding(settings)))
        return self._embeddings[-1][1]

    async def aclose(self) -> None:
        """Close connections, threads and files. Cancel the callers first."""
        await self._closing.aclose()
        self._ledger.close()
        self._cache.close()
        if self._claims is not None:
            self._claims.close()

    def _make_chat(self, settings: ClientSettings) -> CachedChat:
        provider = CHAT_REGISTRY.get(settings.provider)
        settings = replace(settings, provider=provider.name)  # an alias has the same cache keys
        backend = self._opened(provider.make(settings))
        return CachedChat(
            settings,
            backend,
            self._limited_call(settings),
            self._cache,
            self._ledger,
            SingleFlight(self._claims),
        )

    def _make_embedding(self, settings: ClientSettings) -> CachedEmbeddings:
        provider = EMBEDDING_REGISTRY.get(settings.provider)
        settings = replace(settings, provider=provider.name, max_failures=None)
        backend = self._opened(provider.make(settings))
        # A model in this process has no limits, retries or prices.
        call = None if provider.is_local else self._limited_call(settings)
        client = CachedEmbeddings(settings, backend, call, self._cache, self._ledger)
        self._closing.push_async_callback(client.aclose)
        return client

    def _opened(self, backend: BackendT) -> BackendT:
        self._closing.push_async_callback(backend.aclose)
        return backend

    def _limited_call(self, settings: ClientSettings) -> LimitedModel:
        name = limits_name(settings)
        if name not in self._limits:
            self._limits[name] = open_limits(settings, self._run)
            self._closing.callback(self._limits[name].close)
        shared = self._run.shared_dir if self._run.processes > 1 else None
        call = LimitedModel(
            self._limits[name],
            Retry(settings.retries, settings.max_wait_s),
            self._ledger,
            TokenGuess(settings.max_tokens),
            settings.price,
            UnusableReplies(settings, shared),
        )
        self._calls.append((settings.role, call))
        return call

"""The embedding client that metrics use: the cache, then batches, then the model.

Metrics ask for a few texts at a time; texts that are asked for within a moment are sent together.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pytest_rageval.clients.accounting import (
    Ledger,
    context_for,
    count_answer,
    current_purpose,
    current_scenario,
    in_flight,
)
from pytest_rageval.clients.base import EmbeddingBackend, Usage, Vector, little_endian, vector_in
from pytest_rageval.clients.cache import Cache, Key, vector_key
from pytest_rageval.clients.errors import BadRequestError, ReplayMissError
from pytest_rageval.clients.limits.limited_call import LimitedModel
from pytest_rageval.clients.settings import ClientSettings

GATHER_S = 0.005
"""How long a text waits for others to share its request."""


class CachedEmbeddings:
    """Implements EmbeddingClient over a backend; without ``call`` it is a model in this process."""

    def __init__(
        self,
        settings: ClientSettings,
        backend: EmbeddingBackend,
        call: LimitedModel | None,
        cache: Cache,
        ledger: Ledger,
    ) -> None:
        self._settings = settings
        self._backend = backend
        self._call = call
        self._cache = cache
        self._ledger = ledger
        self._batches = _Batches(self._ask, settings.batch_size, self._keep)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one vector for each text; see EmbeddingClient."""
        if not all(texts):  # no call, so none has failed
            raise BadRequestError(f"{self._settings.shown}: an empty text has no embedding")
        with in_flight():
            return await self._embed(texts)

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        is_local = self._call is None
        keys = {text: vector_key(self._settings, text, is_local=is_local) for text in texts}
        known = {text: cached_vector(self._cache, key) for text, key in keys.items()}
        found = {text: vector for text, vector in known.items() if vector}
        missing = [text for text in keys if text not in found]
        if missing and self._cache.mode == "replay":
            raise self._miss(keys[missing[0]], len(missing))
        is_asked = any(self._batches.is_new(text) for text in missing)
        asked = await self._batches.embed({text: keys[text] for text in missing})
        if texts and not is_asked:  # all are from the cache, or from another caller's request
            self._ledger.count(Usage(cached=1))
        if texts:
            count_answer()
        return [found[text] if text in found else asked[text] for text in texts]

    async def aclose(self) -> None:
        """Cancel what is being asked."""
        await self._batches.aclose()

    async def _ask(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Return the vectors of one batch."""
        if self._call is not None:
            answer, _ = await self._call.ask(texts, lambda: self._backend.embed(texts))
        else:
            answer = await self._backend.embed(texts)
            self._ledger.count(answer.usage)
        return answer.vectors

    def _keep(self, key: Key, vector: Vector) -> None:
        if self._cache.writes:
            self._cache.put("vector", key, _to_entry(vector))

    def _miss(self, key: Key, count: int) -> ReplayMissError:
        purpose = current_purpose()
        asked_by = f" for {purpose}" if str(purpose) else ""
        return ReplayMissError(
            f"{self._settings.shown}: {count} of the vectors are not in the cache{asked_by} "
            f"(replay sends no requests); {self._cache.explain_miss('vector', key)}"
        )


class _Wanted:
    """A text whose vector callers wait for; ``waiting`` is how many."""

    def __init__(self, text: str, key: Key) -> None:
        self.text = text
        self.key = key
        self.scenario = current_scenario()
        self.vector: asyncio.Future[Vector] = asyncio.get_running_loop().create_future()
        self.waiting = 0
        self.batch: asyncio.Task[None] | None = None


class _Batches:
    """Collects texts and sends them together, each once however many callers wait for it.

    A text that no caller waits for any more leaves the queue; a batch of such texts is cancelled.
    The texts of a batch are of one scenario, that of each one's first caller, which pays for it.
    """

    def __init__(
        self,
        ask: Callable[[list[str]], Awaitable[Sequence[Vector]]],
        size: int,
        keep: Callable[[Key, Vector], None],
    ) -> None:
        self._ask = ask
        self._size = size
        self._keep = keep
        self._wanted: dict[str, _Wanted] = {}
        self._queue: list[_Wanted] = []
        self._timer: asyncio.TimerHandle | None = None
        self._running: dict[asyncio.Task[None], list[_Wanted]] = {}

    def is_new(self, text: str) -> bool:
        """Return whether no caller waits for a text yet."""
        return text not in self._wanted

    async def embed(self, texts: Mapping[str, Key]) -> dict[str, Vector]:
        """Return the vectors of texts, given with their keys."""
        wanted = [self._want(text, key) for text, key in texts.items()]
        try:
            return {entry.text: await asyncio.shield(entry.vector) for entry in wanted}
        finally:
            for one in wanted:
                self._leave(one)

    async def aclose(self) -> None:
        """Cancel every batch and wait until they have ended."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for entry in list(self._wanted.values()):
            entry.vector.cancel()

    def _want(self, text: str, key: Key) -> _Wanted:
        one = self._wanted.get(text)
        if one is None:
            one = self._wanted[text] = _Wanted(text, key)
            self._queue.append(one)
            self._send_soon()
        one.waiting += 1
        return one

    def _leave(self, one: _Wanted) -> None:
        one.waiting -= 1
        if one.waiting or one.vector.done():
            return
        if one.batch is None:
            self._queue.remove(one)
            self._forget(one)
            return
        batch = self._running.get(one.batch, ())
        if not any(other.waiting for other in batch):
            one.batch.cancel()
            for other in batch:  # a later caller asks for these again
                self._forget(other)

    def _send_soon(self) -> None:
        if len(self._queue) >= self._size:
            self._send()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(GATHER_S, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batches: dict[str, list[_Wanted]] = {}
        for entry in self._queue:
            batches.setdefault(entry.scenario, []).append(entry)
        self._queue = []
        for scenario, batch in batches.items():
            self._start(scenario, batch)

    def _start(self, scenario: str, batch: list[_Wanted]) -> None:
        # Not in the context of the first caller: the batch serves other samples too.
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._run(batch), context=context_for(scenario))
        self._running[task] = batch
        task.add_done_callback(self._finished)
        for entry in batch:
            entry.batch = task

    async def _run(self, batch: list[_Wanted]) -> None:
        try:
            vectors = await self._ask([entry.text for entry in batch])
        except BadRequestError as error:
            if len(batch) == 1:
                self._fail(batch, error)
            else:
                await self._run_halves(batch)
        except Exception as error:  # noqa: BLE001  (each caller that waits raises it)
            self._fail(batch, error)
        else:
            for one, vector in zip(batch, vectors, strict=True):
                self._keep(one.key, vector)
                one.vector.set_result(vector)

    async def _run_halves(self, batch: list[_Wanted]) -> None:
        """Find the text that the server refuses; the others in its batch get their vectors."""
        middle = len(batch) // 2
        await self._run(batch[:middle])
        await self._run(batch[middle:])

    def _fail(self, batch: list[_Wanted], error: Exception) -> None:
        for entry in batch:
            entry.vector.set_exception(error)
            entry.vector.exception()  # retrieved, or asyncio would warn where no caller waits

    def _finished(self, task: asyncio.Task[None]) -> None:
        for one in self._running.pop(task):
            if not one.vector.done():
                one.vector.cancel()
            self._forget(one)

    def _forget(self, one: _Wanted) -> None:
        if self._wanted.get(one.text) is one:
            del self._wanted[one.text]


def cached_vector(cache: Cache, key: Key) -> Vector | None:
    """Return the vector in the cache, None without one."""
    return _from_entry(cache.get("vector", key.sha256)) if cache.reads else None


def _to_entry(vector: Vector) -> dict[str, Any]:
    return {"float32": base64.b64encode(little_endian(vector).tobytes()).decode("ascii")}


def _from_entry(plain: Mapping[str, Any] | None) -> Vector | None:
    """Return the vector of an entry, or None for an entry that holds none."""
    try:
        return vector_in((plain or {})["float32"]) or None
    except (KeyError, TypeError, ValueError):
        return None

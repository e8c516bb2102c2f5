"""Equal questions that are asked at the same time are sent once, over all processes of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from pytest_rageval.clients.file_locks import ByteLocks

T = TypeVar("T")

_SHORTEST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.1


class SingleFlight(Generic[T]):
    """The first caller asks: others wait for its future, other processes for the lock on a byte."""

    def __init__(self, locks: ByteLocks | None = None) -> None:
        self._locks = locks
        self._calls: dict[str, asyncio.Future[T | None]] = {}

    async def run(
        self,
        sha256: str,
        look: Callable[[], T | None],
        ask: Callable[[], Awaitable[T]],
        share: Callable[[T], T] = lambda result: result,
    ) -> T:
        """Return what ``ask`` returns, or what another caller of the same question got.

        Call it when ``look``, which reads the cache, has found nothing. What another process has
        cached meanwhile is returned as it is, what another caller of this process got as ``share``
        returns it; without locks ``look`` is not called. When the call fails, all who wait for it
        fail with the same error; when it is cancelled, the next caller asks.
        """
        while (call := self._calls.get(sha256)) is not None:
            found = await asyncio.shield(call)
            if found is not None:
                return share(found)
        future = self._calls[sha256] = asyncio.get_running_loop().create_future()
        try:
            result = await self._ask(sha256, look, ask)
        except BaseException as error:
            self._end_without_result(sha256, future, error)
            raise
        del self._calls[sha256]
        future.set_result(result)
        return result

    async def _ask(
        self, sha256: str, look: Callable[[], T | None], ask: Callable[[], Awaitable[T]]
    ) -> T:
        if self._locks is None:
            return await ask()
        async with _locked(self._locks, sha256, look) as found_meanwhile:
            # Another process may have asked between the first look and the lock.
            found = found_meanwhile if found_meanwhile is not None else look()
            return found if found is not None else await ask()

    def _end_without_result(
        self, sha256: str, future: asyncio.Future[T | None], error: BaseException
    ) -> None:
        del self._calls[sha256]
        if isinstance(error, Exception):
            future.set_exception(error)
            future.exception()  # retrieved, so that asyncio does not warn where no caller waits
        else:
            future.set_result(None)


@asynccontextmanager
async def _locked(
    locks: ByteLocks, sha256: str, look: Callable[[], T | None]
) -> AsyncIterator[T | None]:
    """Hold the lock on a question and yield None; or yield, without it, what ``look`` finds."""
    byte = int(sha256[:15], 16)  # 60 bits: an offset in a file has 63
    pause = _SHORTEST_PAUSE_S
    while not locks.try_lock(byte):
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_S)
        found = look()
        if found is not None:
            yield found
            return
    try:
        yield None
    finally:
        locks.unlock(byte)

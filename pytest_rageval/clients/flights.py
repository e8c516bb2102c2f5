"""The same question asked several times at once is sent once, over all processes of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from pytest_rageval.clients.locks import ByteLocks

T = TypeVar("T")

_FIRST_LOOK_S = 0.01
_LAST_LOOK_S = 0.1


class Flights(Generic[T]):
    """Who asks first asks for all: in this process by a future, in the others by a byte's lock."""

    def __init__(self, claims: ByteLocks | None = None) -> None:
        self._claims = claims
        self._flying: dict[str, asyncio.Future[T | None]] = {}

    async def run(
        self,
        sha256: str,
        look: Callable[[], T | None],
        ask: Callable[[], Awaitable[T]],
        share: Callable[[T], T],
    ) -> T:
        """Return what ``ask`` returns, or ``share`` of what another's call returned meanwhile.

        ``look`` finds what another process has kept. When the one who asks fails, all who wait fail
        with the same error; when it is cancelled, the next one asks.
        """
        while (flying := self._flying.get(sha256)) is not None:
            found = await asyncio.shield(flying)
            if found is not None:
                return share(found)
        landing = self._flying[sha256] = asyncio.get_running_loop().create_future()
        try:
            result = await self._ask(sha256, look, ask)
        except BaseException as error:
            self._land(sha256, landing, error)
            raise
        del self._flying[sha256]
        landing.set_result(result)
        return result

    async def _ask(
        self, sha256: str, look: Callable[[], T | None], ask: Callable[[], Awaitable[T]]
    ) -> T:
        if self._claims is None:
            return await ask()
        async with _claim(self._claims, sha256, look) as seen:
            # Between the first look and the claim another process may have been there.
            found = seen if seen is not None else look()
            return found if found is not None else await ask()

    def _land(self, sha256: str, landing: asyncio.Future[T | None], error: BaseException) -> None:
        del self._flying[sha256]
        if isinstance(error, Exception):
            landing.set_exception(error)
            landing.exception()  # seen, also where nobody waits
        else:
            landing.set_result(None)


@asynccontextmanager
async def _claim(
    claims: ByteLocks, sha256: str, look: Callable[[], T | None]
) -> AsyncIterator[T | None]:
    """Hold the lock on a question; yield what ``look`` finds while another process holds it."""
    byte = int(sha256[:15], 16)
    pause = _FIRST_LOOK_S
    while not claims.try_lock(byte):
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LAST_LOOK_S)
        found = look()
        if found is not None:
            yield found
            return
    try:
        yield None
    finally:
        claims.unlock(byte)

"""How hard a model may be asked: requests in flight, requests and tokens per minute, pauses."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pytest_rageval.clients.locks import ByteLocks, open_locks
from pytest_rageval.clients.rates import WINDOW_S, Rates, open_rates
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.clients.slots import LocalPool, SharedPool, Slots


class Limits:
    """The limits of one model. Waiting is fair, cancellable and leaves nothing behind."""

    def __init__(self, slots: Slots, rates: Rates | None, locks: ByteLocks | None = None) -> None:
        self._slots = slots
        self._rates = rates
        self._locks = locks
        self._paused_until = 0.0

    @property
    def in_flight(self) -> int:
        """How many requests of this process have a slot."""
        return self._slots.taken

    @asynccontextmanager
    async def slot(self, order: int = 0) -> AsyncIterator[None]:
        """Hold one of the places for requests in flight; lower orders are served first."""
        slot = await self._slots.acquire(order)
        try:
            yield
        finally:
            self._slots.release(slot)

    async def start(self, tokens: float) -> float:
        """Wait, holding a slot, until a request of about ``tokens`` tokens may be sent.

        Returns that moment, for ``correct``.
        """
        while (pause := self._paused_until - time.monotonic()) > 0.0:
            await asyncio.sleep(pause)
        return await self._rates.start(tokens) if self._rates else 0.0

    def correct(self, start: float, more_tokens: float) -> None:
        """Say how many more tokens, or fewer, the request took that was started then."""
        if self._rates:
            self._rates.correct(start, more_tokens)

    def pause(self, seconds: float) -> None:
        """Start nothing more in this process for so long: the server asked for it."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def close(self) -> None:
        """Cancel those who wait and drop all locks."""
        self._slots.close()
        if self._locks:
            self._locks.close()


def open_limits(settings: ClientSettings, run: RunSettings, window_s: float = WINDOW_S) -> Limits:
    """Return the limits that ``settings`` ask for, over all processes of ``run``.

    Without a shared folder, or where files cannot be locked, each process gets its part of every
    limit, one request in flight at least.
    """
    if run.processes == 1:
        slots = Slots(LocalPool(settings.concurrency))
        return Limits(slots, open_rates(settings.rpm, settings.tpm, None, window_s))
    locks = open_locks(run.shared_dir, _name(settings))
    if locks is None:
        return _divided(settings, run.processes, window_s)
    slots = Slots(SharedPool(locks, settings.concurrency))
    return Limits(slots, open_rates(settings.rpm, settings.tpm, locks, window_s), locks)


def _name(settings: ClientSettings) -> str:
    """Return the name of what these limits are for; other limits of the same model are others."""
    what = (settings.endpoint, settings.model, settings.concurrency, settings.rpm, settings.tpm)
    return f"limits-{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}"


def _divided(settings: ClientSettings, processes: int, window_s: float) -> Limits:
    rpm = None if settings.rpm is None else settings.rpm / processes
    tpm = None if settings.tpm is None else settings.tpm / processes
    slots = Slots(LocalPool(max(settings.concurrency // processes, 1)))
    return Limits(slots, open_rates(rpm, tpm, None, window_s))

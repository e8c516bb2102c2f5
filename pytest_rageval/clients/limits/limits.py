"""The limits of one model: requests in flight, requests and tokens per minute, pauses."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import replace

from pytest_rageval.clients.errors import CallTimeoutError, RateLimitError
from pytest_rageval.clients.file_locks import ByteLocks, open_locks
from pytest_rageval.clients.limits.rates import WINDOW_S, Rates
from pytest_rageval.clients.limits.retry import Patience
from pytest_rageval.clients.limits.slots import LocalPool, SharedPool, Slots
from pytest_rageval.clients.settings import ClientSettings, RunSettings

FIRST_SLOT: ContextVar[asyncio.Event | None] = ContextVar("first_slot", default=None)
"""What is set once a task, or one that it started, may send its first request."""


class Limits:
    """The limits of one model. Waiting is fair, cancellable and leaves nothing behind."""

    def __init__(self, slots: Slots, rates: Rates | None, locks: ByteLocks | None = None) -> None:
        self._slots = slots
        self._rates = rates
        self._locks = locks
        self._paused_until = 0.0
        self._requests = self._timeouts = self._crowd = 0

    @asynccontextmanager
    async def slot(self, order: int = 0) -> AsyncIterator[None]:
        """Hold a slot for one request in flight; lower orders are served first."""
        slot = await self._slots.acquire(order)
        first = FIRST_SLOT.get()
        if first is not None:
            first.set()
        try:
            yield
        finally:
            self._slots.release(slot)

    async def start(self, tokens: float, patience: Patience) -> float:
        """Wait, holding a slot, until a request of about ``tokens`` tokens may be sent.

        A pause uses up the call's ``patience`` and ends when none is left. Returns the moment at
        which the request may be sent, for ``correct``.
        """
        while (pause := patience.take(max(self._paused_until - time.monotonic(), 0.0))) > 0.0:
            await asyncio.sleep(pause)
        return await self._rates.start(tokens) if self._rates else 0.0

    def correct(self, start: float, more_tokens: float) -> None:
        """Count ``more_tokens`` more, or fewer, for the request that was started then."""
        if self._rates:
            self._rates.correct(start, more_tokens)

    @contextmanager
    def pausing(self, patience: Patience) -> Iterator[None]:
        """Run one request inside; if it meets a rate limit, the next ones pause too.

        The time that it took uses up the call's ``patience``. A wait that is too long for this call
        makes no other call wait. If it times out, fewer are in flight from then on.
        """
        began = time.monotonic()
        self._requests += 1
        try:
            yield
        except CallTimeoutError as error:
            in_flight = self._slots.in_flight
            self._timeouts += 1
            self._crowd = max(self._crowd, in_flight)
            if self._slots.room.was_alone(began, in_flight):
                error.set_alone()
            error.counts = not self._slots.room.halve(began, in_flight)
            raise
        except RateLimitError as error:
            patience.take(time.monotonic() - began)
            if error.retry_after_s and error.retry_after_s <= patience.max_wait_s:
                self.pause(error.retry_after_s)
            raise
        else:
            self._slots.room.add_success()

    def problem(self, role: str) -> str | None:
        """Return how many requests of this process timed out and what to write, for the summary."""
        if not self._timeouts:
            return None
        limit = self._slots.room.limit
        found = f"{role}: {self._timeouts} of {self._requests} requests timed out"
        longer = f"{role}.timeout_s is for one request"
        if self._crowd > 1:
            found += f" while {self._crowd} were in flight; at the end {limit} at a time"
            longer = f"write {role}.concurrency: {limit}, or raise {role}.timeout_s"
        return f"{found}: {longer}. Their tokens are estimated"

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

    A shard gets its part of every limit, and so does each process without a shared folder, or on a
    file system without locks: one request in flight at least.
    """
    settings = replace(settings, concurrency=max(settings.concurrency // run.shards, 1))
    locks = open_locks(run.shared_dir, _name(settings)) if run.processes > 1 else None
    parts = run.shards * (run.processes if locks is None else 1)
    rates = None
    if settings.rpm is not None or settings.tpm is not None:
        rpm, tpm = _part(settings.rpm, parts), _part(settings.tpm, parts)
        rates = Rates(rpm, tpm, locks, window_s, parts)
    if locks is None:
        return Limits(Slots(LocalPool(max(settings.concurrency // run.processes, 1))), rates)
    return Limits(Slots(SharedPool(locks, settings.concurrency)), rates, locks)


def _name(settings: ClientSettings) -> str:
    """Return the name of the file of these limits; a model with other limits has another file."""
    what = (settings.endpoint, settings.model, settings.concurrency, settings.rpm, settings.tpm)
    return f"limits-{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}"


def _part(limit: int | None, parts: int) -> float | None:
    return None if limit is None else limit / parts

"""The limits of a model: requests in flight, requests and tokens a minute, pauses."""

from __future__ import annotations

import asyncio
import hashlib
import math
import struct
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from string import Template

from pytest_rageval.clients.errors import CallTimeoutError, RateLimitError
from pytest_rageval.clients.file_locks import ByteLocks, run_locks
from pytest_rageval.clients.limits.retry import Patience
from pytest_rageval.clients.limits.slots import LocalPool, SharedPool, Slots
from pytest_rageval.clients.settings import ClientSettings, RunSettings

WINDOW_S = 60.0
_BINS = 60
_KEPT = _BINS + 1  # a window of 60 whole bins may touch 61 of them


class Windows:
    """How much was booked in each sixtieth of a sliding window, for several capacities at once.

    What is booked in any ``window_s`` seconds never exceeds a capacity, but for a single amount
    above it, and for corrections: whole bins are counted, so the window is up to a sixtieth longer
    than it says. A booking is never before an earlier one.
    Each capacity is one of ``parts`` equal parts of a limit; other processes use up the rest.
    """

    def __init__(
        self, capacities: Sequence[float], window_s: float = WINDOW_S, parts: int = 1
    ) -> None:
        self._capacities = tuple(capacities)
        self._parts = parts
        self._bin_s = window_s / _BINS
        self._newest = 0
        self._bins = [[0.0] * _KEPT for _ in capacities]
        self._format = struct.Struct(f"<{1 + _KEPT * len(self._bins)}d")

    def book(self, now: float, amounts: Sequence[float]) -> float:
        """Return the first moment from ``now`` on (seconds) with room for ``amounts``; take it.

        An amount above its capacity gets a window for itself; where the capacity is a part of a
        limit, as many windows as it takes parts, ``parts`` at most.
        """
        self._advance(math.floor(now / self._bin_s))
        wanted = list(map(min, amounts, self._capacities))
        while not self._has_room(wanted):
            self._advance(self._newest + 1)
        self._add(self._newest, amounts)
        start = max(now, self._newest * self._bin_s)
        if held := self._held(amounts):
            self._advance(self._newest + held)
            self._add(self._newest, amounts)
        return start

    def _held(self, amounts: Sequence[float]) -> int:
        """Return how many bins later an amount above a part is booked once more; 0: it is not.

        So later bookings wait until all windows that it takes have passed.
        """
        filled = max(
            min(amount / capacity, self._parts)
            for amount, capacity in zip(amounts, self._capacities, strict=True)
        )
        return max(math.ceil((filled - 1.0) * _BINS - 1e-9), 0)

    def correct(self, start: float, amounts: Sequence[float]) -> None:
        """Add ``amounts`` to the bin of ``start``; to the newest if that has left the window."""
        at = self._bin_of(start)
        self._add(at if self._is_kept(at) else self._newest, amounts)

    def take_back(self, start: float, amounts: Sequence[float]) -> None:
        """Undo what ``book`` did for ``start``; what has left the window keeps nobody waiting."""
        at = self._bin_of(start)
        for tick in {at, at + self._held(amounts)}:
            if self._is_kept(tick):
                self._add(tick, [-amount for amount in amounts])

    def pack(self) -> bytes:
        """Return everything as bytes, always as many."""
        return self._format.pack(self._newest, *(amount for bins in self._bins for amount in bins))

    def unpack(self, raw: bytes) -> None:
        """Take over what another ``Windows`` packed; bytes of another length are ignored."""
        if len(raw) == self._format.size:
            newest, *amounts = self._format.unpack(raw)
            self._newest = int(newest)
            self._bins = [amounts[start : start + _KEPT] for start in range(0, len(amounts), _KEPT)]

    @property
    def size(self) -> int:
        """How many bytes ``pack`` returns."""
        return self._format.size

    def _advance(self, newest: int) -> None:
        for tick in range(max(self._newest + 1, newest - _KEPT + 1), newest + 1):
            for bins in self._bins:
                bins[tick % _KEPT] = 0.0
        self._newest = max(self._newest, newest)

    def _bin_of(self, start: float) -> int:
        return math.floor(start / self._bin_s + 1e-9)

    def _is_kept(self, tick: int) -> bool:
        return self._newest - _KEPT < tick <= self._newest

    def _has_room(self, wanted: Sequence[float]) -> bool:
        return all(
            sum(bins) + amount <= capacity + 1e-9
            for bins, amount, capacity in zip(self._bins, wanted, self._capacities, strict=True)
        )

    def _add(self, tick: int, amounts: Sequence[float]) -> None:
        for bins, amount in zip(self._bins, amounts, strict=True):
            bins[tick % _KEPT] = max(bins[tick % _KEPT] + amount, 0.0)


_Change = Callable[[float, Sequence[float]], None]

_RECORD_LOCK = 1 << 30
_RETRY_S = 0.001


class Rates:
    """Lets callers start as so many requests and tokens per minute allow; None is no limit.

    With ``locks``, the bookings of all processes are one record in their file, under one of its
    locks: ``time.monotonic`` is one clock for all processes of a machine. While none can be
    written, on a full disk for instance, each process goes on with its own.
    """

    def __init__(
        self,
        rpm: float | None,
        tpm: float | None,
        locks: ByteLocks | None = None,
        window_s: float = WINDOW_S,
        parts: int = 1,
    ) -> None:
        capacities = [math.inf if limit is None else limit for limit in (rpm, tpm)]
        self._windows = Windows(capacities, window_s, parts)
        self._locks = locks
        self._is_unwritten = False
        """Whether the record lacks what was booked last."""

    async def start(self, tokens: float) -> float:
        """Wait until a request of ``tokens`` tokens may start; return that moment.

        What was booked for a caller that is cancelled while it waits is taken back, unless another
        process holds the record just then.
        """
        # The lock is held for microseconds; the loop is not blocked by a process that is stopped.
        while self._locks is not None and not self._locks.try_lock(_RECORD_LOCK):
            await asyncio.sleep(_RETRY_S)
        with self._record():
            start = self._windows.book(time.monotonic(), (1.0, tokens))
        try:
            await asyncio.sleep(start - time.monotonic())
        except asyncio.CancelledError:
            self._change(self._windows.take_back, start, (1.0, tokens))
            raise
        return start

    def correct(self, start: float, more_tokens: float) -> None:
        """Count ``more_tokens`` more, or fewer, for the request that was booked for ``start``."""
        self._change(self._windows.correct, start, (0.0, more_tokens))

    def _change(self, change: _Change, start: float, amounts: Sequence[float]) -> None:
        # A correction that finds the record locked is left out rather than waited for.
        if self._locks is None or self._locks.try_lock(_RECORD_LOCK):
            with self._record():
                change(start, amounts)

    def close(self) -> None:
        """Close the record that is shared."""
        if self._locks:
            self._locks.close()

    @contextmanager
    def _record(self) -> Iterator[None]:
        """Read the shared record, if there is one, which is locked; write it back and unlock it."""
        if self._locks is None:
            yield
            return
        try:
            if not self._is_unwritten:
                self._windows.unpack(self._locks.read(self._windows.size))
            yield
            self._is_unwritten = True
            with suppress(OSError):
                self._locks.write(self._windows.pack())
                self._is_unwritten = False
        finally:
            self._locks.unlock(_RECORD_LOCK)


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
        which the request may be sent, for ``correct``; 0.0 without limits a minute.
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

        They pause for as long as the server asks, and not at all if that is above ``max_wait_s``;
        the time until the limit was met uses up the call's ``patience``. If the request times out,
        fewer may be in flight from then on.
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
            error.uses_up_a_retry = not self._slots.room.halve(began, in_flight)
            raise
        except RateLimitError as error:
            patience.take(time.monotonic() - began)
            if error.retry_after_s and error.retry_after_s <= patience.max_wait_s:
                self.pause(error.retry_after_s)
            raise
        else:
            self._slots.room.add_success()

    def problem(self, role: str) -> str | None:
        """Return how many requests of this process timed out and what to write; None for none."""
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
        if self._rates:
            self._rates.close()


def open_limits(settings: ClientSettings, run: RunSettings, window_s: float = WINDOW_S) -> Limits:
    """Return the limits that ``settings`` ask for, over all processes of ``run``.

    A shard gets its part of every limit, and so does each process without a shared folder, or on a
    file system without locks: one request in flight at least.
    """
    settings = replace(settings, concurrency=max(settings.concurrency // run.shards, 1))
    locks = run_locks(run, limits_name(settings))
    rates = None
    if settings.rpm is not None or settings.tpm is not None:
        record = locks and run_locks(run, _rates_name(settings))
        parts = run.shards * (run.processes if record is None else 1)
        rpm, tpm = _part(settings.rpm, parts), _part(settings.tpm, parts)
        rates = Rates(rpm, tpm, record, window_s, parts)
    if locks is None:
        return Limits(Slots(LocalPool(max(settings.concurrency // run.processes, 1))), rates)
    return Limits(Slots(SharedPool(locks, settings.concurrency)), rates, locks)


def limits_name(settings: ClientSettings) -> str:
    """Return the name of the file of these limits; a model with other limits has another file.

    So has one of another role, or another account: other variables or another query hold its key.
    A process opens it once: locks of a file do not lock out their own process.
    """
    return _digest("limits", settings.role, _account(settings), _what(settings))


def _rates_name(settings: ClientSettings) -> str:
    """Return the name of the file of the rates, which the roles of a model share with ``-n``.

    Rates are those of a model and an account, however many requests a role may have in flight.

    A process may open it more than once: no lock on it is held while anything is awaited.
    """
    return _digest("rates", _account(settings), *_model(settings), settings.rpm, settings.tpm)


def _what(settings: ClientSettings) -> tuple[object, ...]:
    return *_model(settings), settings.concurrency, settings.rpm, settings.tpm


def _account(settings: ClientSettings) -> tuple[object, ...]:
    variables = [Template(value).get_identifiers() for value in settings.headers.values()]
    return settings.api_key_env, settings.url.query, variables


def _model(settings: ClientSettings) -> tuple[object, ...]:
    return settings.endpoint, settings.model


def _digest(kind: str, *parts: object) -> str:
    return f"{kind}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


def _part(limit: int | None, parts: int) -> float | None:
    return None if limit is None else limit / parts

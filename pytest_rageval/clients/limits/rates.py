"""At most so many requests and tokens in any minute, in one process or over all of a run.

A caller books the next free moment and sleeps until then: first come first served, no polling, and
a process that is killed leaves only an unused booking behind.
"""

from __future__ import annotations

import asyncio
import math
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from pytest_rageval.clients.file_locks import ByteLocks

WINDOW_S = 60.0
_BINS = 60
_KEPT = _BINS + 1  # a window of 60 whole bins may touch 61 of them


class Windows:
    """How much was booked in each sixtieth of a sliding window, for several capacities at once.

    The sum over any ``window_s`` seconds never exceeds a capacity: whole bins are counted, so the
    window is up to a sixtieth longer than it says. A booking is never before an earlier one.
    Each capacity is one of so many ``parts`` of a whole, which others use up elsewhere.
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

        An amount above its capacity gets a window for itself, or as many as it takes of a part.
        """
        self._advance(math.floor(now / self._bin_s))
        wanted = list(map(min, amounts, self._capacities))
        while not self._has_room(wanted):
            self._advance(self._newest + 1)
        self._add(self._newest, amounts)
        start = max(now, self._newest * self._bin_s)
        self._hold(amounts)
        return start

    def _hold(self, amounts: Sequence[float]) -> None:
        """Have what is above a part wait for more windows; above the whole, it is the whole."""
        filled = max(
            min(amount / capacity, self._parts)
            for amount, capacity in zip(amounts, self._capacities, strict=True)
        )
        if filled > 1.0:
            self._advance(self._newest + math.ceil((filled - 1.0) * _BINS - 1e-9))
            self._add(self._newest, amounts)

    def correct(self, start: float, amounts: Sequence[float]) -> None:
        """Change what was booked for ``start`` by ``amounts``, or the newest if that has passed."""
        at = math.floor(start / self._bin_s + 1e-9)
        self._add(at if self._newest - _KEPT < at <= self._newest else self._newest, amounts)

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

    def _has_room(self, wanted: Sequence[float]) -> bool:
        return all(
            sum(bins) + amount <= capacity + 1e-9
            for bins, amount, capacity in zip(self._bins, wanted, self._capacities, strict=True)
        )

    def _add(self, tick: int, amounts: Sequence[float]) -> None:
        for bins, amount in zip(self._bins, amounts, strict=True):
            bins[tick % _KEPT] = max(bins[tick % _KEPT] + amount, 0.0)


_RECORD_LOCK = 1 << 30
_RETRY_S = 0.001


class Rates:
    """Lets callers start as so many requests and tokens per minute allow; None is no limit.

    With ``locks``, the bookings of all processes are one record in their file, under one of its
    locks: ``time.monotonic`` is one clock for all processes of a machine. If the record cannot be
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

    async def start(self, tokens: float) -> float:
        """Wait until a request of ``tokens`` tokens may start; return that moment.

        A caller that is cancelled while it waits is not counted.
        """
        # The lock is held for microseconds; the loop is not blocked by a process that is stopped.
        while self._locks is not None and not self._locks.try_lock(_RECORD_LOCK):
            await asyncio.sleep(_RETRY_S)
        with self._record():
            start = self._windows.book(time.monotonic(), (1.0, tokens))
        try:
            await asyncio.sleep(start - time.monotonic())
        except asyncio.CancelledError:
            self._change(start, (-1.0, -tokens))
            raise
        return start

    def correct(self, start: float, more_tokens: float) -> None:
        """Count ``more_tokens`` more, or fewer, for the request that was booked for ``start``."""
        self._change(start, (0.0, more_tokens))

    def _change(self, start: float, amounts: Sequence[float]) -> None:
        # A correction that finds the record locked is left out rather than waited for.
        if self._locks is None or self._locks.try_lock(_RECORD_LOCK):
            with self._record():
                self._windows.correct(start, amounts)

    @contextmanager
    def _record(self) -> Iterator[None]:
        """Read the shared record, if there is one; write it back and unlock it."""
        if self._locks is None:
            yield
            return
        try:
            self._windows.unpack(self._locks.read(self._windows.size))
            yield
            with suppress(OSError):
                self._locks.write(self._windows.pack())
        finally:
            self._locks.unlock(_RECORD_LOCK)

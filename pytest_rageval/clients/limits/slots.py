"""At most N requests at the same time, lowest order first, in one process or over all of a run."""

from __future__ import annotations

import asyncio
import os
import random
import struct
import time
from contextlib import suppress
from heapq import heapify, heappop, heappush
from itertools import count

from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.file_locks import ByteLocks
from pytest_rageval.clients.limits.retry import Outage
from pytest_rageval.errors import error_line

POLL_S = 0.005
"""How often, on average, a process with a queue looks for a slot that another one gave back."""

_LONGEST_S = 120.0
_NO_LOCKS = f"the locks that the processes of a run share could not be taken for {_LONGEST_S:.0f} s"
_ADVICE = "set TMPDIR to a folder on a disk of this machine, or run in one process"


class LocalPool:
    """The slots of one process."""

    is_shared = False

    def __init__(self, limit: int) -> None:
        self.room = Room(limit)
        self.in_flight = 0

    def take(self) -> int | None:
        """Return a slot, or None when none is free; they are all alike."""
        if self.in_flight >= self.room.limit:
            return None
        self.in_flight += 1
        return 0

    def give(self, slot: int) -> None:
        """Take a slot back."""
        self.in_flight -= 1

    def close(self) -> None:
        """Do nothing: the slots end with their process."""


class SharedPool:
    """The slots of all processes that open the same file; each is the lock on one of its bytes."""

    is_shared = True

    def __init__(self, locks: ByteLocks, limit: int) -> None:
        self.room = Room(limit, locks)
        self._locks = locks
        self._most = limit
        self._mine: set[int] = set()
        self._next = os.getpid() % limit  # processes that start at different slots meet less

    def take(self) -> int | None:
        """Return a free slot, or None."""
        limit = self.room.limit
        # Slots above a lowered limit are held for as long as their requests last, and count.
        if limit < self._most and self.in_flight >= limit:
            return None
        for step in range(limit):
            slot = (self._next + step) % limit
            if slot not in self._mine and self._locks.try_lock(slot):
                self._mine.add(slot)
                self._next = slot
                return slot
        return None

    @property
    def in_flight(self) -> int:
        """How many slots all processes hold; it looks at each one."""
        others = (slot for slot in range(self._most) if slot not in self._mine)
        return len(self._mine) + sum(map(self._locks.is_locked, others))

    def give(self, slot: int) -> None:
        """Take a slot back."""
        self._mine.discard(slot)
        self._locks.unlock(slot)
        self._next = slot

    def close(self) -> None:
        """Give all slots back."""
        self._mine.clear()
        self._locks.close()


class Slots:
    """Hands the slots of a pool to those who wait: lowest order first, then first come."""

    def __init__(self, pool: LocalPool | SharedPool) -> None:
        self.room = pool.room
        self._pool = pool
        self._queue: list[tuple[int, int, asyncio.Future[int]]] = []
        self._arrivals = count()
        self._poll_timer: asyncio.TimerHandle | None = None
        self._no_locks = Outage(_LONGEST_S)

    async def acquire(self, order: int = 0) -> int:
        """Return a slot once one is free; a cancelled caller leaves the queue at once.

        Raises ClientError when the locks of a shared pool have failed for two minutes.
        """
        if not self._pool.is_shared and (slot := self._pool.take()) is not None:
            return slot
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        heappush(self._queue, (order, next(self._arrivals), place))
        self._poll_later()
        try:
            return await place
        except asyncio.CancelledError:
            self._leave(place)
            raise

    @property
    def in_flight(self) -> int:
        """How many slots are held, over all processes."""
        return self._pool.in_flight

    def release(self, slot: int) -> None:
        """Give a slot back: to the next in the queue, or to the first process that looks."""
        self._pool.give(slot)
        if self._queue and not self._pool.is_shared:
            self._serve()

    def close(self) -> None:
        """Cancel those who wait and give everything back."""
        for _, _, place in self._queue:
            place.cancel()
        self._queue.clear()
        if self._poll_timer is not None:
            self._poll_timer.cancel()
            self._poll_timer = None
        self._pool.close()

    def _hand_over(self, slot: int) -> bool:
        """Give the slot to the first who still waits; return False if the queue is empty."""
        while self._queue:
            _, _, place = heappop(self._queue)
            if not place.done():  # a task that is being cancelled has not left the queue yet
                place.set_result(slot)
                self._no_locks.end()  # here, too: the next lock may fail before ``_poll`` says so
                return True
        return False

    def _leave(self, place: asyncio.Future[int]) -> None:
        if not place.cancelled():  # a slot was handed over at the moment of the cancellation
            if place.exception() is None:
                self.release(place.result())
            return
        self._queue = [waiting for waiting in self._queue if waiting[2] is not place]
        heapify(self._queue)

    def _poll_later(self) -> None:
        # Slots that processes share are taken at random moments only. If a process passed its own
        # on, or took one at once, it would keep the others waiting for as long as it has calls.
        if self._pool.is_shared and self._poll_timer is None:
            wait_s = POLL_S * random.uniform(0.5, 1.5)
            self._poll_timer = asyncio.get_running_loop().call_later(wait_s, self._poll)

    def _poll(self) -> None:
        self._poll_timer = None
        try:
            self._serve()
        except OSError as error:  # a file system of a network may have no lock for a moment
            self._give_up_after(error)
        else:
            self._no_locks.end()
        if self._queue:
            self._poll_later()

    def _give_up_after(self, error: OSError) -> None:
        """Fail those who wait once taking locks has raised errors for two minutes.

        That another process holds a lock is no error.
        """
        if self._no_locks.lasts_s(time.monotonic()) <= _LONGEST_S:
            return
        for _, _, place in self._queue:
            if not place.done():
                place.set_exception(ClientError(f"{_NO_LOCKS} ({error_line(error)}); {_ADVICE}"))
        self._queue.clear()

    def _serve(self) -> None:
        while self._queue and (slot := self._pool.take()) is not None:
            if not self._hand_over(slot):
                self._pool.give(slot)


_AT = 4096  # where the record is in the file of the locks: that of ``Rates`` is before it
_RECORD = struct.Struct("<4d")
_ROUNDS = 8  # of as many successes as may be in flight, until one request more is allowed
_FINE_S = 0.02
"""How exactly the last success is known while nothing is limited: not each one is written."""


class Room:
    """The requests to one model that may be in flight, ``most`` of them at first.

    Without streaming nobody can tell a queue in the server from a model that takes its time. So a
    time-out halves what is in flight, and eight rounds of successes allow one request more: one
    answer of a thousand that never comes does not slow a run down for good. With ``locks`` the
    numbers are in their file, for all processes; if two write at once, one change is lost.
    """

    def __init__(self, most: int, locks: ByteLocks | None = None) -> None:
        self._most = most
        self._locks = locks
        self._is_unwritten = False
        self._limit, self._halved_at, self._success_at, self._successes = float(most), 0.0, 0.0, 0.0

    @property
    def limit(self) -> int:
        """How many requests may be in flight now, over all processes."""
        if self._locks is not None:
            self._read()
        return int(self._limit)

    def add_success(self) -> None:
        """Note that a request has been answered."""
        now = time.monotonic()
        if now - self._success_at < _FINE_S and self._limit >= self._most:
            return  # exact enough: reading and writing the file is saved
        self._read()
        self._success_at = now
        if self._limit < self._most:
            self._successes += 1.0
            if self._successes >= _ROUNDS * self._limit:
                self._limit, self._successes = self._limit + 1.0, 0.0
        self._write()

    def was_alone(self, began: float, in_flight: int) -> bool:
        """Return whether a request that timed out was the only one from ``began`` until now."""
        self._read()
        return in_flight < 2 and began >= max(self._halved_at, self._success_at)

    def halve(self, began: float, in_flight: int) -> bool:
        """Halve after a request that was sent at ``began`` timed out, one of ``in_flight``.

        Those that were sent before the last halving change nothing more. Returns whether others are
        in flight and one was answered since ``began``: this one may have waited in a queue.
        """
        self._read()
        if began >= self._halved_at:
            self._limit = float(max(1, min(int(self._limit), in_flight) // 2))
            self._halved_at, self._successes = time.monotonic(), 0.0
            self._write()
        return in_flight > 1 and self._success_at > began

    def _read(self) -> None:
        if self._locks is None or self._is_unwritten:
            return
        try:
            raw = self._locks.read(_RECORD.size, _AT)
        except OSError:  # closed at the end of a run: the last numbers known stay
            return
        if len(raw) == _RECORD.size:
            self._limit, self._halved_at, self._success_at, self._successes = _RECORD.unpack(raw)

    def _write(self) -> None:
        if self._locks is not None:
            numbers = (self._limit, self._halved_at, self._success_at, self._successes)
            self._is_unwritten = True
            with suppress(OSError):  # a full disk: each process goes on with its own
                self._locks.write(_RECORD.pack(*numbers), _AT)
                self._is_unwritten = False

"""At most N at the same time, lowest order first, in one process or over all of a run."""

from __future__ import annotations

import asyncio
import os
import random
from heapq import heapify, heappop, heappush
from itertools import count

from pytest_rageval.clients.file_locks import ByteLocks
from pytest_rageval.clients.limits.room import Room

POLL_S = 0.005
"""How often, on average, a process with a queue looks for a slot that another one gave back."""


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
        self._limit = limit
        self._mine: set[int] = set()
        self._next = os.getpid() % limit  # processes that start at different slots meet less

    def take(self) -> int | None:
        """Return a free slot, or None."""
        limit = self.room.limit
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
        others = (slot for slot in range(self._limit) if slot not in self._mine)
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

    async def acquire(self, order: int = 0) -> int:
        """Return a slot as soon as one is free; a cancelled caller leaves the queue at once."""
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
                return True
        return False

    def _leave(self, place: asyncio.Future[int]) -> None:
        if not place.cancelled():  # a slot was handed over at the moment of the cancellation
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
        self._serve()
        if self._queue:
            self._poll_later()

    def _serve(self) -> None:
        while self._queue and (slot := self._pool.take()) is not None:
            if not self._hand_over(slot):
                self._pool.give(slot)

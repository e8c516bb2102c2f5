"""At most N at the same time, lowest order first, in one process or over all of a run."""

from __future__ import annotations

import asyncio
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

from pytest_rageval.clients.locks import ByteLocks

POLL_S = 0.01
"""How often the first in the queue looks for a slot that another process gave back."""


class SlotPool(Protocol):
    """Where slots are taken from."""

    is_shared: bool

    def take(self) -> int | None:
        """Return a free slot, or None."""
        ...

    def give(self, slot: int) -> None:
        """Take a slot back."""
        ...

    def keeps(self) -> bool:
        """Return whether a slot that is given back may go to the next in this process's queue."""
        ...

    def say_waiting(self, waiting: bool) -> None:
        """Tell other processes that somebody here waits for a slot, or no longer."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class LocalPool:
    """The slots of one process."""

    is_shared = False

    def __init__(self, limit: int) -> None:
        self._free = list(range(limit))

    def take(self) -> int | None:
        return self._free.pop() if self._free else None

    def give(self, slot: int) -> None:
        self._free.append(slot)

    def keeps(self) -> bool:
        return True

    def say_waiting(self, waiting: bool) -> None:
        """Nobody else would listen."""

    def close(self) -> None:
        """There is nothing to give back."""


_WAITING = 1 << 20
_BUSY = 1 << 21
_MEMBERS = 1 << 22
_MOST_PROCESSES = 256


class SharedPool:
    """The slots of all processes that open the same file: a slot is the lock on one of its bytes.

    Slots go where the work is. A process keeps what it has as long as no other waits in vain; when
    one does, those with more than their share (the limit divided by the busy processes) give
    slots away as their calls end. Raises OSError where there are no locks.
    """

    is_shared = True

    def __init__(self, locks: ByteLocks, limit: int) -> None:
        self._locks = locks
        self._limit = limit
        self._mine: set[int] = set()
        self._me = self._join()
        self._is_waiting = self._is_busy = False
        self._next = self._me * 7 % limit  # processes that start at different slots meet less

    def take(self) -> int | None:
        if self._others_wait() and not self._is_below_share():
            return None
        for step in range(self._limit):
            slot = (self._next + step) % self._limit
            if slot not in self._mine and self._locks.try_lock(slot):
                self._mine.add(slot)
                self._next = slot
                self._say_busy(busy=True)
                return slot
        return None

    def give(self, slot: int) -> None:
        self._mine.discard(slot)
        self._locks.unlock(slot)
        self._next = slot
        if not self._mine and not self._is_waiting:
            self._say_busy(busy=False)

    def keeps(self) -> bool:
        return not self._others_wait() or len(self._mine) <= self._share()

    def say_waiting(self, waiting: bool) -> None:
        if waiting == self._is_waiting:
            return
        if waiting:
            self._is_waiting = self._locks.try_lock(_WAITING + self._me)
            self._say_busy(busy=True)
        else:
            self._is_waiting = False
            self._locks.unlock(_WAITING + self._me)
            self._say_busy(busy=bool(self._mine))

    def close(self) -> None:
        self._mine.clear()
        self._locks.close()

    def _join(self) -> int:
        for index in range(_MOST_PROCESSES):
            if self._locks.try_lock(_MEMBERS + index):
                return index
        raise OSError(f"more than {_MOST_PROCESSES} processes share one limit")

    def _others_wait(self) -> bool:
        return self._locks.count_others(_WAITING, _MOST_PROCESSES, _WAITING + self._me) > 0

    def _is_below_share(self) -> bool:
        return len(self._mine) < self._share()

    def _share(self) -> int:
        busy = 1 + self._locks.count_others(_BUSY, _MOST_PROCESSES, _BUSY + self._me)
        return -(-self._limit // busy)

    def _say_busy(self, *, busy: bool) -> None:
        if busy and not self._is_busy:
            self._is_busy = self._locks.try_lock(_BUSY + self._me)
        elif not busy and self._is_busy:
            self._is_busy = False
            self._locks.unlock(_BUSY + self._me)


class Slots:
    """Hands the slots of a pool to those who wait: lowest order first, then first come."""

    def __init__(self, pool: SlotPool) -> None:
        self._pool = pool
        self._queue: list[tuple[int, int, asyncio.Future[int]]] = []
        self._arrivals = count()
        self._poll_timer: asyncio.TimerHandle | None = None
        self.taken = 0

    async def acquire(self, order: int = 0) -> int:
        """Return a slot, once there is one; whoever is cancelled leaves the queue at once."""
        if not self._queue and (slot := self._pool.take()) is not None:
            self.taken += 1
            return slot
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        heappush(self._queue, (order, next(self._arrivals), place))
        self._poll_later()
        try:
            return await place
        except asyncio.CancelledError:
            self._leave(place)
            raise

    def release(self, slot: int) -> None:
        """Give a slot back: to the next in the queue, or to another process that has less."""
        self.taken -= 1
        if not (self._queue and self._pool.keeps() and self._hand_over(slot)):
            self._pool.give(slot)

    def close(self) -> None:
        """Cancel those who wait and give everything back."""
        for _, _, place in self._queue:
            place.cancel()
        self._queue.clear()
        self._stop_polling()
        self._pool.close()

    def _hand_over(self, slot: int) -> bool:
        """Give the slot to the first who still waits; return False where nobody does."""
        while self._queue:
            _, _, place = heappop(self._queue)
            if not place.done():  # a task that is being cancelled has not left the queue yet
                self.taken += 1
                place.set_result(slot)
                break
        else:
            return False
        if not self._queue:
            self._stop_polling()
        return True

    def _leave(self, place: asyncio.Future[int]) -> None:
        if not place.cancelled():  # a slot was handed over in the moment of the cancellation
            self.release(place.result())
            return
        self._queue = [waiting for waiting in self._queue if waiting[2] is not place]
        heapify(self._queue)
        if not self._queue:
            self._stop_polling()

    def _poll_later(self) -> None:
        # In one process every free slot is handed over by whoever gives it back.
        if self._pool.is_shared and self._poll_timer is None:
            self._pool.say_waiting(True)
            loop = asyncio.get_running_loop()
            self._poll_timer = loop.call_later(POLL_S, self._poll)

    def _poll(self) -> None:
        self._poll_timer = None
        while self._queue and (slot := self._pool.take()) is not None:
            if not self._hand_over(slot):
                self._pool.give(slot)
        if self._queue:
            self._poll_later()
        else:
            self._stop_polling()

    def _stop_polling(self) -> None:
        if self._poll_timer is not None:
            self._poll_timer.cancel()
            self._poll_timer = None
        if self._pool.is_shared:
            self._pool.say_waiting(False)

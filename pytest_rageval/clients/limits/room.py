"""How many requests may be in flight: as many as asked for, fewer after some timed out."""

from __future__ import annotations

import struct
import time
from contextlib import suppress

from pytest_rageval.clients.file_locks import ByteLocks

_AT = 4096  # in the file of the locks: the record of the rates is before it
_RECORD = struct.Struct("<4d")
_ROUNDS = 8
_FINE_S = 0.02


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
            return  # nobody asks for more: two system calls are saved
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

        Requests that were sent before the last time change nothing more. Returns whether another
        request was answered since: then it may be a queue that this one has waited in.
        """
        self._read()
        if began >= self._halved_at:
            self._limit = float(max(1, min(int(self._limit), in_flight) // 2))
            self._halved_at, self._successes = time.monotonic(), 0.0
            self._write()
        return in_flight > 1 and self._success_at > began

    def _read(self) -> None:
        if self._locks is None:
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
            with suppress(OSError):  # a full disk: each process goes on with its own
                self._locks.write(_RECORD.pack(*numbers), _AT)

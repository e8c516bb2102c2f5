"""Locks on single bytes of a file: they hold between processes and end with their holder.

A record lock of POSIX belongs to a process and is dropped by the kernel when that process ends,
however it ends, so a killed worker never leaves anything locked. It is not held against the same
process, and closing any handle of the file drops all of them: open each file once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl

AVAILABLE = sys.platform != "win32"
"""Whether the system has such locks; Windows' own may not be held on bytes that are read."""

_PROBE = 1 << 40


def open_locks(folder: Path | None, name: str) -> ByteLocks | None:
    """Return the locks in a file of ``folder``, or None where there can be none."""
    if folder is None or not AVAILABLE:
        return None
    try:
        return ByteLocks(folder / name)
    except OSError:  # a file system without locks, or a folder that cannot be written
        return None


class ByteLocks:
    """The locks in one file. Raises OSError where the file system knows no locks."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._try(fcntl.LOCK_SH, _PROBE, 1)
            self.unlock(_PROBE)
        except OSError:
            self.close()
            raise

    def try_lock(self, offset: int) -> bool:
        """Take the lock on the byte at ``offset``; return False where another process has it."""
        return self._try(fcntl.LOCK_EX, offset, 1)

    def unlock(self, offset: int) -> None:
        """Give the lock on the byte at ``offset`` back."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, offset)

    def count_others(self, start: int, length: int, mine: int | None = None) -> int:
        """Return how many of the bytes are locked by other processes, by halving the range.

        ``mine`` is a byte that this process holds, or may hold: it is left alone.
        """
        if mine is not None and start <= mine < start + length:
            before, after = mine - start, start + length - mine - 1
            return self.count_others(start, before) + self.count_others(mine + 1, after)
        if length <= 0 or not self._locked_by_others(start, length):
            return 0
        half = length // 2
        if half == 0:
            return 1
        return self.count_others(start, half) + self.count_others(start + half, length - half)

    def read(self, size: int, offset: int = 0) -> bytes:
        """Return up to ``size`` bytes of the file itself."""
        return os.pread(self._file, size, offset)

    def write(self, data: bytes, offset: int = 0) -> None:
        """Write into the file itself."""
        os.pwrite(self._file, data, offset)

    def close(self) -> None:
        """Close the file and drop all locks."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _locked_by_others(self, start: int, length: int) -> bool:
        # A shared lock fails against the exclusive ones only, not against others who look, too.
        if not self._try(fcntl.LOCK_SH, start, length):
            return True
        fcntl.lockf(self._file, fcntl.LOCK_UN, length, start)
        return False

    def _try(self, kind: int, start: int, length: int) -> bool:
        try:
            fcntl.lockf(self._file, kind | fcntl.LOCK_NB, length, start)
        except (BlockingIOError, PermissionError):
            return False
        return True

"""Locks on single bytes of a file: they hold between processes and end with their process.

A POSIX record lock belongs to a process, and the kernel drops it when that process ends, even when
it is killed. It does not lock out its own process, and closing any handle of the file drops all
locks on it: open each file once.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from pytest_rageval.clients.settings import RunSettings

if sys.platform != "win32":
    import fcntl

AVAILABLE = sys.platform != "win32"
"""Whether the system has such locks; those of Windows forbid reading the locked bytes."""

_PROBE = 1 << 40


def open_locks(folder: Path | None, name: str) -> ByteLocks | None:
    """Return the locks in a file of ``folder``, None if the folder or the system allows none."""
    if folder is None or not AVAILABLE:
        return None
    try:
        return ByteLocks(folder / name)
    except OSError:  # a file system without locks, or a folder that cannot be written
        return None


def run_locks(run: RunSettings, name: str) -> ByteLocks | None:
    """Return the locks that the processes of a run share; None for one process or without any."""
    return open_locks(run.shared_dir, name) if run.processes > 1 else None


class ByteLocks:
    """The locks in one file. Raises OSError if the file system has no locks."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            # All take this one as shared, so it is always free. A file system that says otherwise
            # says so of every lock, and all would wait for ever.
            if not self._try(fcntl.LOCK_SH, _PROBE):
                raise OSError(errno.ENOLCK, "no lock can be taken", str(path))
            self.unlock(_PROBE)
        except OSError:
            self.close()
            raise

    def try_lock(self, offset: int) -> bool:
        """Take the lock on the byte at ``offset``; return False where another process has it."""
        return self._try(fcntl.LOCK_EX, offset)

    def unlock(self, offset: int) -> None:
        """Give the lock on the byte at ``offset`` back."""
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, offset)

    def is_locked(self, offset: int) -> bool:
        """Return whether another process has the lock on the byte at ``offset``."""
        # A shared lock fails against exclusive ones only, not against others that look too.
        if not self._try(fcntl.LOCK_SH, offset):
            return True
        self.unlock(offset)
        return False

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

    def _try(self, kind: int, offset: int) -> bool:
        try:
            fcntl.lockf(self._file, kind | fcntl.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):
            return False
        return True

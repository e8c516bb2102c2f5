"""When to stop asking a model: after too many replies in a row that cannot be used."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pytest_rageval.clients.errors import NotAskedError
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.errors import shorten
from pytest_rageval.model import NOT_ASKED

_SHOWN = 200
_YES, _NO = b"+", b"-"


class UnusableReplies:
    """Counts the replies of one model in a row that cannot be used, over all processes of a run.

    Each reply adds a byte to a file in ``folder``, from the first one on that cannot be used: the
    last bytes are the replies in a row, whichever process got them, and cost the same to read
    however many there are. If the file cannot be written, each process counts alone. Once given up,
    a model is asked no more.
    """

    def __init__(self, settings: ClientSettings, folder: Path | None = None) -> None:
        self._settings = settings
        self._most = settings.max_failures
        self._last = ""
        self._count = 0
        self._is_given_up = False
        what = (settings.provider, settings.endpoint, settings.model, self._most)
        name = f"unusable-{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}"
        self._file = folder / name if folder is not None else None

    def add_usable(self) -> None:
        """Note a reply that can be used: the next ones are counted anew."""
        self._count = 0
        if self._most is not None and self._file is not None and self._file.exists():
            self._append(_YES)

    def add(self, reply: str) -> None:
        """Note a reply that cannot be used."""
        if self._most is not None:
            self._last = shorten(" ".join(reply.split()), _SHOWN)
            self._count += 1
            self._append(_NO)

    def problem(self) -> NotAskedError | None:
        """Return why the model is not asked any more, None if it is."""
        if self._most is None or not (self._is_given_up or self._in_a_row() >= self._most):
            return None
        self._is_given_up = True
        last = f"; one was {self._last!r}" if self._last else ""
        return NotAskedError(
            f"{NOT_ASKED}{self._settings.shown} gave {self._most} replies in a row that cannot be "
            f"used ({self._settings.role}.max_failures is {self._most}; null is never to stop)"
            f"{last}"
        )

    def _in_a_row(self) -> int:
        """Return how many of the last replies cannot be used, up to the largest number."""
        if self._file is None or self._most is None or not self._file.exists():
            return self._count
        try:
            with self._file.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - self._most))
                last = file.read(self._most)
        except OSError:
            return self._count
        return len(last) - len(last.rstrip(_NO))

    def _append(self, byte: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab", buffering=0) as file:
                file.write(byte)
        except OSError:
            self._file = None

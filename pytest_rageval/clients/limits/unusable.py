"""When to stop asking a model: after too many replies that cannot be used, and none that can."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pytest_rageval.clients.errors import NotAskedError
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.errors import shorten
from pytest_rageval.model import NOT_ASKED

_SHOWN = 200


class UnusableReplies:
    """Counts the replies of one model that cannot be used, until one can, over all of a run.

    Each process adds a line for such a reply to a file in ``folder``; a model that has given one
    usable reply is asked to the end. If the file cannot be written, each process counts alone.
    """

    def __init__(self, settings: ClientSettings, folder: Path | None = None) -> None:
        self._settings = settings
        self._most = settings.max_failures
        self._first = ""
        self._count = 0
        self._has_usable = self._most is None
        what = (settings.provider, settings.endpoint, settings.model, self._most)
        name = f"unusable-{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}"
        self._file = folder / name if folder is not None else None

    def add_usable(self) -> None:
        """Note a reply that can be used: from now on nothing is counted."""
        if not self._has_usable:
            self._has_usable = True
            self._append("\n")  # a line that is no reply

    def add(self, reply: str) -> None:
        """Note a reply that cannot be used."""
        if not self._has_usable:
            self._first = self._first or shorten(" ".join(reply.split()), _SHOWN)
            self._count += 1
            self._append(f"{json.dumps(self._first)}\n")

    def problem(self) -> NotAskedError | None:
        """Return why the model is not asked any more, None if it is."""
        if not self._has_usable and self._file is not None and self._file.exists():
            self._read(self._file)
        if self._has_usable or self._most is None or self._count < self._most:
            return None
        return NotAskedError(
            f"{NOT_ASKED}{self._settings.shown} gave {self._count} replies, and none could be used "
            f"({self._settings.role}.max_failures is {self._most}; null is never to stop); the "
            f"first was {self._first!r}"
        )

    def _read(self, file: Path) -> None:
        try:
            lines = file.read_text("ascii").splitlines()
        except OSError:
            return
        self._has_usable = "" in lines
        if lines and not self._has_usable:
            self._count = max(self._count, len(lines))
            self._first = str(json.loads(lines[0]))

    def _append(self, line: str) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab", buffering=0) as file:
                file.write(line.encode("ascii"))  # in one piece, between those of others
        except OSError:
            self._file = None

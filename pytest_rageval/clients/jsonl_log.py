"""JSON lines that many processes keep for each other: each appends to a file of its own.

A line is written by one system call, to a file with one writer. A process that is killed leaves at
most an unfinished last line, which readers skip; nothing is locked, renamed or indexed twice. A
line begins with the digest by which it is found::

    {"sha256": "9f86d0…", ...}
"""

from __future__ import annotations

import errno
import os
import re
import time
from pathlib import Path
from typing import Any

from pytest_rageval.text.codec import read_json

_BINARY = getattr(os, "O_BINARY", 0)
_HEAD = b'{"sha256": "'
_DIGEST = slice(len(_HEAD), len(_HEAD) + 64)
_STAMP = re.compile(r"\d{8}T\d{6}-\d{6}", re.ASCII)
_CLOCK_NS = 100_000_000
"""A folder that changes again within this time may keep its time stamp."""


class JsonlLog:
    """The lines of all files ``*.<kind>.jsonl`` in a folder.

    Of lines with the same digest the one indexed or appended last counts; files from before are
    indexed in the order of ``by_age``. ``name`` is that of this process's
    file, without its suffix; the names of all files of the run contain ``peers``. What the run's
    other processes have added is read for each line that is not found; with ``only_peers`` no files
    of other runs count.
    """

    def __init__(self, folder: Path, kind: str, name: str, peers: str, *, only_peers: bool) -> None:
        self._folder = folder
        self._suffix = f".{kind}.jsonl"
        self._own = f"{name}{self._suffix}"
        self._peers = peers
        self._only_peers = only_peers
        self._places: dict[str, tuple[str, int, int]] | None = None
        self._read: dict[str, int] = {}
        self._peer_files: list[str] = []
        self._listed_ns = -1
        self._met_ns, self._met_at = -1, 0
        self._file: int | None = None
        self._size = 0

    def find(self, sha256: str) -> dict[str, Any] | None:
        """Return the line with this digest as it is now; None without one that is whole."""
        places = self._places if self._places is not None else self._load()
        if sha256 not in places:
            self._follow_peers(places)
        place = places.get(sha256)
        line = parse_line(read_bytes(*place)) if place is not None else None
        return line if line is not None and line.get("sha256") == sha256 else None

    def append(self, sha256: str, content: str) -> None:
        """Write a line; ``content`` is the rest of its object as ASCII. Raises OSError."""
        places = self._places if self._places is not None else self._load()
        line = _HEAD + f'{sha256}", {content}}}\n'.encode("ascii")
        path = f"{self._folder}/{self._own}"
        if self._file is None:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY, 0o666)
        if os.write(self._file, line) < len(line):
            os.ftruncate(self._file, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        places[sha256] = (path, self._size, len(line))
        self._size += len(line)

    def close(self) -> None:
        """Close the file of this process."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _load(self) -> dict[str, tuple[str, int, int]]:
        places = self._places = {}
        for name in self._names():
            if not self._only_peers or self._peers in name:
                self._follow(name, places)
        return places

    def _names(self) -> list[str]:
        """Return the names of the other files, in the order of ``by_age``."""
        names = [path.name for path in self._folder.glob(f"*{self._suffix}")]
        return sorted((name for name in names if name != self._own), key=by_age)

    def _follow_peers(self, places: dict[str, tuple[str, int, int]]) -> None:
        """Index what the other processes of this run have written since."""
        try:
            changed_ns = self._folder.stat().st_mtime_ns
        except OSError:
            return
        if changed_ns != self._listed_ns:
            self._peer_files = [name for name in self._names() if self._peers in name]
            self._listed_ns = changed_ns if self._is_settled(changed_ns) else -1
        for name in self._peer_files:
            self._follow(name, places)

    def _is_settled(self, changed_ns: int) -> bool:
        """Return whether a folder's time is known for so long that a new change has another one."""
        now = time.monotonic_ns()  # the clock that wrote the time may be set
        if changed_ns != self._met_ns:
            self._met_ns, self._met_at = changed_ns, now
        return now - self._met_at > _CLOCK_NS

    def _follow(self, name: str, places: dict[str, tuple[str, int, int]]) -> None:
        """Index the whole lines that a file has beyond what was read of it."""
        path, start = f"{self._folder}/{name}", self._read.get(name, 0)
        raw, at = read_bytes(path, start), 0
        while (end := raw.find(b"\n", at)) >= 0:
            digest = _digest(raw, at, end)
            if digest is not None:
                places[digest] = (path, start + at, end + 1 - at)
            at = end + 1
        self._read[name] = start + at


def by_age(name: str) -> tuple[bool, str]:
    """Return what sorts the names of files, oldest first: by the time that they begin with.

    Files that a user has named otherwise, as those joined to one, are older than all of these.
    """
    return _STAMP.match(name) is not None, name


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Return the object in a line; None for anything else."""
    try:
        value = read_json(line, depth=None)  # at any depth: it was paid for
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _digest(raw: bytes, start: int, end: int) -> str | None:
    """Return the digest at the beginning of a line, also if a user has reformatted the line."""
    if raw.startswith(_HEAD, start):
        found = raw[start + _DIGEST.start : start + _DIGEST.stop]
        return found.decode("ascii", "replace")
    digest = (parse_line(raw[start:end]) or {}).get("sha256")
    return digest if isinstance(digest, str) else None


def read_bytes(path: Path | str, offset: int = 0, length: int = -1) -> bytes:
    """Return so many bytes of a file, all to its end without ``length``, none on an OSError."""
    try:
        with open(path, "rb", buffering=0) as stream:  # noqa: PTH123  (a Path takes longer)
            stream.seek(offset)
            return stream.read(length) or b""
    except OSError:
        return b""

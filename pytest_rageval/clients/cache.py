"""Replies and vectors on disk: one JSON file for each, readable, safe for many processes at once.

::

    <folder>/replies/ab/abcd….json     {"reply": {...},
                                        "sample": "s1",
                                        "key": {...}}
    <folder>/vectors/ab/abef….json     the same, with a base64 of 32-bit floats

A file is written under another name and renamed into place, so it is there as a whole or not at
all, whoever writes at the same time or is killed meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

from pytest_rageval.clients.keys import Key, explain_difference, nearest
from pytest_rageval.clients.settings import CacheMode

Kind = Literal["reply", "vector"]

_FOLDERS: Mapping[Kind, str] = {"reply": "replies", "vector": "vectors"}
_CACHE_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Answers of language models, kept by pytest-rageval. What is deleted is asked for again.\n"
)
_STALE_S = 3600.0  # an unfinished file as old as that belongs to a process that was killed
_READ_ONLY = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_USUAL_BYTES = 32 * 1024
_MOST_COMPARED = 2000
_MOST_LOADED = 20


class Cache:
    """The entries in one folder, used as ``mode`` says.

    off: not at all; read: never written; readwrite; refresh: only entries written since
    ``started_at`` are read; replay: read, and nobody is ever asked. What cannot be written is left
    out: the reply is there, and ``problem`` says what went wrong.
    """

    def __init__(self, folder: Path | None, mode: CacheMode, started_at: float = 0.0) -> None:
        self._folder = folder or Path()
        self.mode: CacheMode = "off" if folder is None else mode
        self._not_before = started_at if mode == "refresh" else 0.0
        self._own: set[str] = set()
        self._me = f"{os.getpid()}-{uuid.uuid4().hex}"
        self._count = count()
        self._index: dict[Kind, _Index] = {}
        self._is_prepared = False
        self.problem: str | None = None

    @property
    def reads(self) -> bool:
        """Whether entries are looked up."""
        return self.mode != "off"

    @property
    def writes(self) -> bool:
        """Whether new entries are kept."""
        return self.mode in ("readwrite", "refresh")

    def get(self, kind: Kind, key: Key) -> dict[str, Any] | None:
        """Return what is kept under ``key``; None where nothing is, or a damaged file."""
        path = self._path(kind, key.sha256)
        try:
            start = self._read_start(path, key)
        except OSError:
            return None
        value = _parse(start[len(_head(kind)) : start.find(b",\n")]) if start else None
        if start and value is None:  # it is long, or somebody has laid the file out anew
            value = (_load(Path(path)) or {}).get(kind)
        return value if isinstance(value, dict) else None

    def put(self, kind: Kind, key: Key, value: Mapping[str, Any], sample: str = "") -> None:
        """Keep ``value`` under ``key``; ``sample`` helps to explain a later miss."""
        # The value has a line for itself: a hit need not parse the key, which is longer.
        text = (
            f'{_head(kind)}{json.dumps(value)},\n"sample": {json.dumps(sample)},\n'
            f'"key": {key.text}}}\n'
        )
        try:
            self._prepare()
            self._write(Path(self._path(kind, key.sha256)), text)
            self._own.add(key.sha256)
        except OSError as error:
            self.problem = self.problem or (
                f"replies are not kept: {self._folder}: {error.strerror or error}"
            )

    def explain_miss(self, kind: Kind, key: Key, sample: str = "") -> str:
        """Return in words why nothing is kept under ``key``: what the nearest entry has else."""
        path = Path(self._path(kind, key.sha256))
        if path.exists():
            return f"the entry {path} is damaged"
        if kind not in self._index:
            self._index[kind] = _Index(self._folder / _FOLDERS[kind])
        found = nearest(key.material, self._index[kind].candidates(key, sample))
        if found is None:
            return f"{self._folder} holds no {_FOLDERS[kind]}"
        return f"the nearest entry differs: {explain_difference(key.material, found)}"

    def _path(self, kind: Kind, sha256: str) -> str:
        # Text: a Path takes longer to make than the file takes to be read.
        return f"{self._folder}/{_FOLDERS[kind]}/{sha256[:2]}/{sha256}.json"

    def _read_start(self, path: str, key: Key) -> bytes:
        """Return the beginning of a file, the value as a rule; nothing of what refresh skips."""
        file = os.open(path, _READ_ONLY)
        try:
            return b"" if self._is_old(file, key) else os.read(file, _USUAL_BYTES)
        finally:
            os.close(file)

    def _is_old(self, file: int, key: Key) -> bool:
        """Return whether refresh leaves this entry out; a coarse clock never ages our own."""
        if not self._not_before or key.sha256 in self._own:
            return False
        return os.fstat(file).st_mtime < self._not_before

    def _prepare(self) -> None:
        if self._is_prepared:
            return
        unfinished = self._folder / "unfinished"
        unfinished.mkdir(parents=True, exist_ok=True)
        for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _CACHE_TAG)):
            if not (self._folder / name).exists():
                self._write(self._folder / name, text)
        for path in unfinished.iterdir():
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _STALE_S:
                    path.unlink()
        self._is_prepared = True

    def _write(self, path: Path, text: str) -> None:
        temporary = Path(f"{self._folder}/unfinished/{self._me}-{next(self._count)}")
        try:
            temporary.write_bytes(text.encode("ascii"))
            try:
                temporary.replace(path)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


class _Index:
    """What is kept in memory of a folder's entries in order to find the one nearest to a miss."""

    def __init__(self, folder: Path) -> None:
        self._all = list(_traces(folder))
        self._of_sample: dict[str, list[_Trace]] = {}
        for trace in self._all:
            self._of_sample.setdefault(trace.sample, []).append(trace)

    def candidates(self, key: Key, sample: str) -> Iterator[Mapping[str, Any]]:
        """Yield the keys of the likeliest entries: of the same sample, else of any."""
        fields = _digests(key.material)
        traces = self._of_sample.get(sample) or self._all[:_MOST_COMPARED]
        for trace in sorted(traces, key=lambda trace: trace.distance(fields))[:_MOST_LOADED]:
            entry = _load(trace.path)
            if entry is not None:
                yield entry["key"]


@dataclass(frozen=True, slots=True)
class _Trace:
    """Where an entry is, for which sample, and a digest of each field of its key."""

    path: Path
    sample: str
    fields: Mapping[str, int]

    def distance(self, fields: Mapping[str, int]) -> int:
        """Return in how many fields another key differs."""
        return sum(self.fields.get(name) != digest for name, digest in fields.items())


def _traces(folder: Path) -> Iterator[_Trace]:
    for path in sorted(folder.glob("*/*.json")):
        entry = _load(path)
        if entry is not None:
            yield _Trace(path, str(entry.get("sample", "")), _digests(entry["key"]))


def _digests(material: Mapping[str, Any]) -> dict[str, int]:
    return {name: hash(repr(part)) for name, part in material.items()}


def _head(kind: Kind) -> str:
    return f'{{"{kind}": '


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _load(path: Path) -> dict[str, Any] | None:
    try:
        entry = _parse(path.read_bytes())
    except OSError:
        return None
    return entry if entry and isinstance(entry.get("key"), dict) else None

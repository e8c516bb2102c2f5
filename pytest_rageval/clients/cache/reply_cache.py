"""The cache of replies: JSON lines on disk, readable, safe for many processes at once.

::

    <folder>/<time>-<run>-<process>.reply.jsonl        {"sha256": "9f86…", "value": {...}}
    <folder>/<time>-<run>-<process>.reply-keys.jsonl   {"sha256": "9f86…", "key": {...}, ...}

The same for vectors, as base64 of 32-bit floats, and for the answers of systems under test; scores
(see ``score_cache``) have no keys. Each process of each run has its own files (see ``jsonl_log``).
Keys only serve to explain a miss, so they have files of their own. Files may be deleted, moved to
another folder or joined.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pytest_rageval.clients.cache.jsonl_log import JsonlLog, parse_line, read_bytes
from pytest_rageval.clients.cache.keys import Key, explain_difference, is_same_text, nearest
from pytest_rageval.clients.settings import CacheMode, RunSettings
from pytest_rageval.model import FAULTS, USABLE

Kind = Literal["reply", "vector", "score", "answer"]
Explained = Literal["reply", "vector", "answer"]
"""What is kept with its keys, so that a miss can be explained."""

_KINDS: tuple[Kind, ...] = ("reply", "vector", "score", "answer")
_PLURALS: Mapping[Explained, str] = {
    "reply": "replies",
    "vector": "vectors",
    "answer": "answers of a target",
}
_CACHE_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Answers of language models, kept by pytest-rageval. What is deleted is asked for again.\n"
)
_MOST_COMPARED = 2000


class Cache:
    """The entries in the run's cache folder, used as its mode says.

    off: not at all; read: never written; readwrite; refresh: only what this run has written is
    read; replay: read, and no request is ever sent. An entry that cannot be written is left out:
    the reply counts all the same, and ``problem`` says what went wrong.
    """

    def __init__(self, run: RunSettings) -> None:
        self._folder = run.cache_dir or Path()
        self.mode: CacheMode = "off" if run.cache_dir is None else run.cache_mode
        self._peers = _peers(run)
        self._name = _own_name(self._peers)
        self._values = {kind: self._open(kind) for kind in _KINDS}
        self._keys = {kind: self._open(f"{kind}-keys") for kind in _PLURALS}
        self._index: dict[Explained, _Index] = {}
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

    def get(self, kind: Kind, sha256: str) -> dict[str, Any] | None:
        """Return what is kept under a digest; None where nothing is, or a damaged line."""
        value = (self._values[kind].find(sha256) or {}).get("value")
        return value if isinstance(value, dict) else None

    def put(self, kind: Explained, key: Key, value: Mapping[str, Any], sample: str = "") -> None:
        """Keep ``value`` under ``key``; ``sample`` helps to explain a later miss."""
        self._append(
            key.sha256,
            # First the key: an entry without one could not be found near a miss.
            (self._keys[kind], f'"sample": {json.dumps(sample)}, "key": {key.text}'),
            (self._values[kind], f'"value": {json.dumps(value)}'),
        )

    def put_score(self, sha256: str, value: Mapping[str, Any] | None) -> None:
        """Keep a score under a digest; with None what older files have under it counts no more."""
        self._append(sha256, (self._values["score"], f'"value": {json.dumps(value)}'))

    def _append(self, sha256: str, *lines: tuple[JsonlLog, str]) -> None:
        try:
            self._prepare()
            for log, content in lines:
                log.append(sha256, content)
        except OSError as error:
            self.problem = self.problem or (
                f"replies are not kept: {self._folder}: {error.strerror or error}"
            )

    def explain_miss(self, kind: Explained, key: Key, sample: str = "") -> str:
        """Return in words why nothing is cached under ``key``: how the nearest entry differs."""
        if kind not in self._index:
            self._index[kind] = _Index(self._folder, f"{kind}-keys")
        found = nearest(key.material, self._index[kind].candidates(sample))
        if found is None:
            return f"{self._folder} holds no {_PLURALS[kind]}"
        has_asked = self._index[kind].has_asked(sample, key.material)
        if not has_asked and not is_same_text(key.material, found):
            return f"nothing was recorded for this {_asked(key.material)}"
        difference = explain_difference(key.material, found)
        if not difference:
            return f"its entry in {self._folder} is damaged"
        return f"the nearest entry differs: {difference}"

    def recent(
        self, kind: Explained, wanted: Mapping[str, Any]
    ) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Yield the entries whose keys have these fields, with their keys; the newest file first.

        Those whose keys the user has deleted are left out.
        """
        for path in sorted(self._folder.glob(f"*.{kind}-keys.jsonl"), reverse=True):
            for line in read_bytes(path).splitlines():
                entry = parse_line(line) or {}
                key, value = entry.get("key"), self.get(kind, str(entry.get("sha256")))
                if not isinstance(key, dict) or value is None:
                    continue
                if all(key.get(name) == one for name, one in wanted.items()):
                    yield key, value

    def close(self) -> None:
        """Close the files."""
        for log in (*self._values.values(), *self._keys.values()):
            log.close()

    def _open(self, kind: str) -> JsonlLog:
        return JsonlLog(
            self._folder, kind, self._name, self._peers, only_peers=self.mode == "refresh"
        )

    def _prepare(self) -> None:
        if self._is_prepared:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _CACHE_TAG)):
            if not (self._folder / name).exists():
                (self._folder / name).write_text(text, encoding="ascii")
        self._is_prepared = True


def known_counts(plain: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts of replies in an entry of the cache, as far as this version knows them."""
    return {
        name: count
        for name, count in plain.items()
        if (name in FAULTS or name == USABLE) and type(count) is int and count > 0
    }


def has_replies(run: RunSettings) -> bool:
    """Return whether there are replies or vectors in the cache folder of a run."""
    folder = run.cache_dir
    return folder is not None and any(any(folder.glob(f"*.{kind}.jsonl")) for kind in _PLURALS)


def _peers(run: RunSettings) -> str:
    """Return what the names of all files of this run have in common."""
    folder = uuid.uuid4().hex if run.shared_dir is None else str(run.shared_dir.absolute())
    name = f"{folder} {run.started_at!r}".encode("utf-8", "replace")
    return f"-{sha256(name).hexdigest()[:8]}-"


def _own_name(peers: str) -> str:
    """Return what the names of the files of this process begin with; later ones sort later."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S-%f}{peers}{os.getpid()}-{uuid.uuid4().hex[:4]}"


def _kind(key: Mapping[str, Any]) -> tuple[str, str]:
    """Return the metric and the name of the schema that a question is asked with, if any."""
    return str(key.get("metric", "")), str(key.get("schema") or "").partition(" ")[0]


def _asked(key: Mapping[str, Any]) -> str:
    about = "question of this metric about this " if key.get("metric") else ""
    return f"{about}sample: it had no answer that could be kept, or it is new"


class _Index:
    """The keys in a folder, to find the one nearest to a miss."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._all: list[Mapping[str, Any]] = []
        self._of_sample: dict[str, list[Mapping[str, Any]]] = {}
        for path in sorted(folder.glob(f"*.{kind}.jsonl")):
            for line in path.read_bytes().splitlines():
                self._add(parse_line(line) or {})

    def candidates(self, sample: str) -> Sequence[Mapping[str, Any]]:
        """Return the keys of the same sample; if there are none, the first of all keys."""
        return self._of_sample.get(sample) or self._all[:_MOST_COMPARED]

    def has_asked(self, sample: str, wanted: Mapping[str, Any]) -> bool:
        """Return whether a sample has an answer to this kind of question; without one, any has."""
        kind = _kind(wanted)
        return not sample or any(_kind(key) == kind for key in self._of_sample.get(sample, ()))

    def _add(self, entry: Mapping[str, Any]) -> None:
        key = entry.get("key")
        if isinstance(key, dict):
            self._all.append(key)
            self._of_sample.setdefault(str(entry.get("sample", "")), []).append(key)

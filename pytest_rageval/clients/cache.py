"""The cache of replies: its keys, and readable JSON lines that many processes write at once.

::

    <folder>/<time>-<run>-<process>.reply.jsonl        {"sha256": "9f86…", "value": {...}}
    <folder>/<time>-<run>-<process>.reply-keys.jsonl   {"sha256": "9f86…", "key": {...}, ...}

The same for vectors, as base64 of 32-bit floats, and for the answers of systems under test; scores
(see ``score_cache``) have no keys. Each process of each run has its own files (see ``jsonl_log``).
A key holds what is asked, the model and its parameters, but not the ``form`` of the reply. Keys on
disk only serve to explain a miss, so they have files of their own. Files may be deleted, moved to
another folder or joined.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from pytest_rageval.clients.accounting import Purpose
from pytest_rageval.clients.base import Message, ReplySchema
from pytest_rageval.clients.jsonl_log import JsonlLog, by_age, parse_line, read_bytes
from pytest_rageval.clients.settings import CacheMode, ClientSettings, RunSettings
from pytest_rageval.errors import shorten
from pytest_rageval.model import FAULTS, USABLE
from pytest_rageval.redaction import looks_secret, names_secret
from pytest_rageval.text.json_value import digests, sorted_json

KEY_FORMAT = 1
"""Part of every key; a higher number makes all older entries unreachable."""

_MOST_TEXTS = 20
_STAMP = "%Y%m%dT%H%M%S-%f"
_STAMP_LENGTH = len("20261121T093011-123456")


@dataclass(frozen=True, slots=True)
class Key:
    """``material`` is readable, ``text`` is the same as JSON, ``sha256`` names the entry."""

    material: Mapping[str, Any]
    text: str
    sha256: str


def chat_key(
    settings: ClientSettings,
    messages: Sequence[Message],
    schema: ReplySchema | None,
    purpose: Purpose,
) -> Key:
    """Return the key of a reply. No user or password is in it; see ``_added`` for the rest."""
    return _key(
        {
            "format": KEY_FORMAT,
            **chat_identity(settings),
            "metric": purpose.metric,
            "metric_version": purpose.version,
            "repeat": purpose.repeat,
            "schema": None if schema is None else f"{schema.name} {schema.sha256}",
            "messages": [[message.role, message.content] for message in messages],
        }
    )


def vector_key(settings: ClientSettings, text: str, *, is_local: bool) -> Key:
    """Return the key of a vector."""
    identity = vector_identity(settings, is_local=is_local)
    return _key({"format": KEY_FORMAT, **identity, "text": text})


def answer_key(identity: Mapping[str, Any], sample: Mapping[str, Any]) -> Key:
    """Return the key of a target's answer: which target, and what it is shown of a row."""
    return _key({"format": KEY_FORMAT, **identity, **_shown(sample)})


def _shown(sample: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in sample.items() if name != "question"}
    return {"text": sample.get("question") or "", "row": rest}


def chat_identity(settings: ClientSettings) -> dict[str, Any]:
    """Return what identifies a judge: another identity has other replies in the cache."""
    return {
        "provider": settings.provider,
        "endpoint": settings.endpoint,
        "model": settings.model,
        "parameters": {
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "seed": settings.seed,
            **_added(settings),
        },
    }


def vector_identity(settings: ClientSettings, *, is_local: bool) -> dict[str, Any]:
    """Return what identifies an embedding model; one in this process has no endpoint.

    ``source`` is a digest of the code of a user's function.
    """
    return {
        "provider": settings.provider,
        "endpoint": None if is_local else settings.endpoint,
        "model": settings.model,
        "parameters": _added(settings),
        **({"source": settings.source_sha256} if settings.source_sha256 else {}),
    }


def _added(settings: ClientSettings) -> dict[str, Any]:
    """Return a digest of each value that is added to requests: it may be a secret."""
    added = {"extra_body": settings.extra_body, "routing": _routing(settings)}
    return {name: digests(values) for name, values in added.items() if values}


_MODEL = re.compile("(?i)(?:deployment|engine|model)(?:[-_]?(?:id|name))?$")


def _routing(settings: ClientSettings) -> dict[str, str]:
    """Return what of headers and query names the model, or its deployment, behind a gateway.

    Variables are left as they are written: a replay need not know them.
    """
    sent = {f"query.{name}": value for name, value in parse_qsl(settings.url.query)}
    sent |= {f"headers.{name}": value for name, value in settings.headers.items()}
    return {name.lower(): value for name, value in sent.items() if _MODEL.search(name)}


def _key(material: dict[str, Any]) -> Key:
    # ASCII, so that a lone surrogate in the user's text is no obstacle.
    text = sorted_json(material)
    return Key(material, text, hashlib.sha256(text.encode("ascii")).hexdigest())


def nearest(
    wanted: Mapping[str, Any], found: Iterable[Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """Return the key that differs least from ``wanted``: in the fewest fields, then in its text.

    None where none is ``found``.
    """
    by_fields = sorted(found, key=lambda other: len(_differing(wanted, other)))
    # To compare texts takes long, so only those of the first keys are compared.
    return min(by_fields[:_MOST_TEXTS], key=lambda other: _rank(wanted, other), default=None)


def _rank(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[int, int]:
    return len(_differing(wanted, other)), _distance(wanted, other)


def explain_difference(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return in words where ``other``, a key in the cache, differs from the one wanted."""
    fields = _differing(wanted, other)
    return "; ".join(_explain(name, wanted.get(name), other.get(name)) for name in fields[:4])


def is_same_text(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two keys are of the same question, whoever was asked it."""
    return _text(wanted) == _text(other)


def _differing(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [name for name in {**wanted, **other} if wanted.get(name) != other.get(name)]


def _text(key: Mapping[str, Any]) -> str:
    messages = key.get("messages") or [["", str(key.get("text", ""))]]
    return "\n".join(content for _, content in messages)


def _distance(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """Return how many characters of the two texts lie between their common ends."""
    one, two = _text(wanted), _text(other)
    prefix = _common(one, two)
    suffix = _common(one[prefix:][::-1], two[prefix:][::-1])
    return len(one) + len(two) - 2 * (prefix + suffix)


def _common(one: str, two: str) -> int:
    """Return how many characters two texts have in common at their beginning, by bisection."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return low


def _explain(name: str, wanted: Any, found: Any) -> str:
    if name == "messages" and isinstance(found, list):
        return _explain_messages(wanted, found)
    if name == "text" and isinstance(found, str):
        return f"the text differs {_explain_text(wanted, found)}"
    if isinstance(wanted, dict) and isinstance(found, dict):  # parameters, options, a row
        place = "" if name == "parameters" else f"{name}: "
        parts = sorted(_differing(wanted, found))
        return "; ".join(f"{place}{_explain_part(part, wanted, found)}" for part in parts)
    if name == "source" and wanted and found:
        return "the function's file has changed"
    if name == "schema" and wanted and found:
        return f"the schema of the reply ({wanted.split()[0]}) has changed"
    return f"{name}: {_plain(wanted)} here, {_plain(found)} in the cache"


def _explain_part(name: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Return how one field of a mapping differs, of a mapping in it only which ones."""
    here, there = wanted.get(name), found.get(name)
    if (here or there) and isinstance(here, dict | None) and isinstance(there, dict | None):
        differing = sorted(_differing(here or {}, there or {}))
        return f"{name} differs: {shorten(', '.join(differing), 60)}"
    if names_secret(name.rpartition(".")[2]) or looks_secret(f"{here} {there}"):
        return f"{name} differs"
    if (one := _plain(here)) != (two := _plain(there)):
        return f"{name}: {one} here, {two} in the cache"
    return f"{name} differs {_explain_text(str(here), str(there))}"


def _explain_messages(wanted: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> str:
    if len(wanted) != len(found):
        return f"{len(wanted)} messages here, {len(found)} in the cache"
    for number, (one, two) in enumerate(zip(wanted, found, strict=True), start=1):
        if one[0] != two[0]:
            return f"message {number} is by {one[0]} here, by {two[0]} in the cache"
        if one[1] != two[1]:
            return f"message {number} differs {_explain_text(one[1], two[1])}"
    return "the messages differ"


def _explain_text(wanted: str, found: str) -> str:
    at = _common(wanted, found)
    start = max(at - 12, 0)
    here, there = (shorten(text[start:] or "", 50) for text in (wanted, found))
    return f"from character {at + 1}: {here!r} here, {there!r} in the cache"


def _plain(value: Any) -> str:
    return "not set" if value is None else shorten(repr(value), 60)


Kind = Literal["reply", "vector", "score", "answer"]
Explained = Literal["reply", "vector", "answer"]
"""What is kept with its keys, so that a miss can be explained."""

_KINDS: tuple[Kind, ...] = ("reply", "vector", "score", "answer")
_PLURALS = {"reply": "replies", "vector": "vectors", "answer": "answers of a target"}
_CACHE_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Answers of language models, kept by pytest-rageval. What is deleted is asked for again.\n"
)
_MOST_COMPARED = 2000


class Cache:
    """The entries in the run's cache folder, used as its mode says.

    off: not at all; read: never written; readwrite: both; refresh: only what this run has written
    is read; replay: read, and no request is ever sent. An entry that cannot be written is left out:
    the reply counts all the same, and ``problem`` says what went wrong.
    """

    def __init__(self, run: RunSettings) -> None:
        self._folder = run.cache_dir or Path()
        self.mode: CacheMode = "off" if run.cache_dir is None else run.cache_mode
        self._peers = _peers(run)
        before = () if self.mode == "off" else self._folder.glob("*.jsonl")
        self._name = _own_name(self._peers, before)
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
        """Return the value under a digest; None without one, and for a damaged line."""
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
        """Keep a score under a digest; None: what older files hold under it no longer counts."""
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
        wanted = key.material
        found = nearest(wanted, self._index[kind].candidates(sample))
        if found is None:
            return f"{self._folder} holds no {_PLURALS[kind]}"
        has_asked = self._index[kind].has_asked(sample, wanted)
        if not has_asked and not is_same_text(wanted, found):
            return f"nothing was recorded for this {_asked(wanted)}"
        if difference := explain_difference(wanted, found):
            return f"the nearest entry differs: {difference}"
        if sorted_json(found) != key.text:  # equal to Python alone
            return "the nearest entry differs: 1, 1.0 and true, or null and nothing, are not alike"
        return f"its entry in {self._folder} is damaged"

    def recent(
        self, kind: Explained, wanted: Mapping[str, Any]
    ) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Yield key and value of entries whose keys have the ``wanted`` fields; newest file first.

        Entries whose keys the user has deleted are left out.
        """
        names = (path.name for path in self._folder.glob(f"*.{kind}-keys.jsonl"))
        for name in sorted(names, key=by_age, reverse=True):
            for line in read_bytes(self._folder / name).splitlines():
                entry = parse_line(line) or {}
                key, value = entry.get("key"), self.get(kind, str(entry.get("sha256")))
                if not isinstance(key, dict) or value is None:
                    continue
                if all(key.get(field) == one for field, one in wanted.items()):
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
    """Return whether a run's cache folder has a file of replies, vectors or answers of targets."""
    folder = run.cache_dir
    return folder is not None and any(any(folder.glob(f"*.{kind}.jsonl")) for kind in _PLURALS)


def _peers(run: RunSettings) -> str:
    """Return what the names of all files of this run have in common."""
    folder = uuid.uuid4().hex if run.shared_dir is None else str(run.shared_dir.absolute())
    name = f"{folder} {run.started_at!r}".encode("utf-8", "replace")
    return f"-{sha256(name).hexdigest()[:8]}-"


def _own_name(peers: str, before: Iterable[Path]) -> str:
    """Return what the names of this process's files begin with: they sort after those from before.

    They do so even if the clock was set back since, or what a refresh has replaced would come back.
    """
    at = max([datetime.now(UTC), *filter(None, map(_later_than, before))])
    return f"{at:{_STAMP}}{peers}{os.getpid()}-{uuid.uuid4().hex[:4]}"


def _later_than(path: Path) -> datetime | None:
    """Return the first time after that in a file's name; None if it was named otherwise."""
    try:
        stamp = datetime.strptime(path.name[:_STAMP_LENGTH], _STAMP)
        return stamp.replace(tzinfo=UTC) + timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


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
            for line in read_bytes(path).splitlines():
                self._add(parse_line(line) or {})

    def candidates(self, sample: str) -> Sequence[Mapping[str, Any]]:
        """Return the keys of the same sample; if there are none, the first of all keys."""
        return self._of_sample.get(sample) or self._all[:_MOST_COMPARED]

    def has_asked(self, sample: str, wanted: Mapping[str, Any]) -> bool:
        """Return whether a sample has an answer to this kind of question; True without a sample."""
        kind = _kind(wanted)
        return not sample or any(_kind(key) == kind for key in self._of_sample.get(sample, ()))

    def _add(self, entry: Mapping[str, Any]) -> None:
        key = entry.get("key")
        if isinstance(key, dict):
            self._all.append(key)
            self._of_sample.setdefault(str(entry.get("sample", "")), []).append(key)

"""Scores kept beside the replies that they were made of, so that those need not be read again.

A line of ``<folder>/<time>-<run>-<process>.score.jsonl``::

    {"sha256": "4c1f…", "value": {"value": 0.5, "reason": "…", "details": {...}, "answers": 2}}

The first 16 digits of the digest name the definition: metric, version, options, packages, models.
The others name the sample's fields and the repeat. ``answers`` is how many replies were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rageval import __version__
from pytest_rageval.clients.base import CHAT_REGISTRY, EMBEDDING_REGISTRY, Usage
from pytest_rageval.clients.cache import Cache
from pytest_rageval.clients.keys import KEY_FORMAT, chat_identity, digest, vector_identity
from pytest_rageval.clients.ledger import Ledger
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.model import Score, json_plain

_HEAD_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Place:
    """Where a score is kept: what it follows from, as a digest."""

    sha256: str


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric's scores follow from, but for the sample, as a digest."""

    head: str

    def place(self, fields: Mapping[str, Any], repeat: int) -> Place:
        """Return where the score is kept that follows from these fields of a sample."""
        rest = digest({"repeat": repeat, "fields": fields})
        return Place(self.head + rest[_HEAD_DIGITS:])


def define(
    parts: Mapping[str, Any], judge: ClientSettings | None, embedding: ClientSettings | None
) -> Definition:
    """Return the definition made of ``parts``, which are JSON-plain, and of the models asked.

    The models count as they do in the keys of their replies. So does the version of this package:
    the wording of reasons may change in any.
    """
    material = {
        "format": KEY_FORMAT,
        "package": __version__,
        "parts": parts,
        "judge": None if judge is None else _chat(judge),
        "embedding": None if embedding is None else _vectors(embedding),
    }
    return Definition(digest(material)[:_HEAD_DIGITS])


def kept_among(run: RunSettings, definitions: Iterable[Definition]) -> set[Definition]:
    """Return the definitions of which the cache holds scores that the run may take from it."""
    found: set[Definition] = set()
    if run.cache_dir is None or run.cache_mode in ("off", "refresh"):
        return found
    wanted = {one: f'{{"sha256": "{one.head}'.encode("ascii") for one in definitions}
    for path in run.cache_dir.glob("*.score.jsonl"):
        if len(found) == len(wanted):
            break
        raw = _read(path)
        found.update(one for one, head in wanted.items() if head in raw)
    return found


class KeptScores:
    """The scores in the cache of a run, used as its mode says; see ``Cache``."""

    def __init__(self, cache: Cache, ledger: Ledger) -> None:
        self._cache = cache
        self._ledger = ledger

    @property
    def is_used(self) -> bool:
        """Whether scores are looked up at all."""
        return self._cache.reads

    def find(self, place: Place) -> Score | None:
        """Return the score in a place, and count the replies that it was made of as cached."""
        kept = self._cache.get_score(place.sha256)
        found = None if kept is None else _from_plain(kept)
        if found is None:
            return None
        score, answers = found
        self._ledger.count(Usage(cached=answers))
        return score

    def forget_older(self, place: Place) -> None:
        """Where the mode is refresh, let what other runs have kept in a place count no more.

        Else it would come back in the next run, over newer replies, if this one gets no score.
        """
        if self._cache.mode == "refresh":
            self._cache.put_score(place.sha256, None)

    def keep(self, place: Place, score: Score, answers: int) -> None:
        """Keep a score without an error; it was made of so many replies."""
        if self._cache.writes and score.error is None:
            self._cache.put_score(place.sha256, _to_plain(score, answers))


def _chat(settings: ClientSettings) -> Mapping[str, Any]:
    provider = CHAT_REGISTRY.get(settings.provider)
    return {**chat_identity(settings), "provider": provider.name}


def _vectors(settings: ClientSettings) -> Mapping[str, Any]:
    provider = EMBEDDING_REGISTRY.get(settings.provider)
    return {**vector_identity(settings, is_local=provider.is_local), "provider": provider.name}


def _to_plain(score: Score, answers: int) -> dict[str, Any]:
    return {
        "value": score.value,
        "reason": score.reason,
        "details": json_plain(score.details),
        "answers": answers,
    }


def _from_plain(plain: Mapping[str, Any]) -> tuple[Score, int] | None:
    """Return a score, which has no name yet, and of how many replies; None for a damaged entry."""
    value, reason, details = plain.get("value"), plain.get("reason"), plain.get("details")
    answers = plain.get("answers")
    if type(answers) is not int or answers < 0:
        return None
    is_whole = (
        isinstance(value, float | None)
        and isinstance(reason, str | None)
        and isinstance(details, dict | None)
    )
    return (Score("", value, reason, details), answers) if is_whole else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""

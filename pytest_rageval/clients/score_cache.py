"""Scores in the cache, so that the replies that they were made of need not be read again.

A line of ``<folder>/<time>-<run>-<process>.score.jsonl``::

    {"sha256": "4c1f…", "value": {"value": 0.5, "reason": "…", "details": {...}, "answers": 2}}

The first 16 digits of the digest name the definition: metric, version, options, packages, models.
The others name the sample's fields and the repeat. ``answers`` is how many replies were read.
``replies`` and ``left_out`` of the score are beside it where there are any. ``null`` in place of
all that: older scores under the digest count no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import ValidationError, convert

from pytest_rageval import __version__
from pytest_rageval.clients.accounting import Ledger
from pytest_rageval.clients.base import CHAT_REGISTRY, EMBEDDING_REGISTRY, Usage
from pytest_rageval.clients.cache import (
    KEY_FORMAT,
    Cache,
    chat_identity,
    known_counts,
    vector_identity,
)
from pytest_rageval.clients.jsonl_log import read_bytes
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.model import Count, LeftOut, Score, Value, plain_details
from pytest_rageval.text.json_value import digest

_HEAD_DIGITS = 16
_CHECKS = 2
"""Add 1 when replies are refused that gave a score before, as those of the prompt's example."""


def define(
    parts: Mapping[str, Any], judge: ClientSettings | None, embedding: ClientSettings | None
) -> str:
    """Return the definition made of ``parts``, which are JSON-plain, and of the models asked.

    The models count as they do in the keys of their replies. So does the version of this package:
    the wording of reasons may change in any. Scores of replies that were checked less are made
    again from the replies in the cache; one that is refused now is asked for again, but in replay,
    where it gives no score.
    """
    material = {
        "checks": _CHECKS,
        "format": KEY_FORMAT,
        "package": __version__,
        "parts": parts,
        "judge": None if judge is None else _chat(judge),
        "embedding": None if embedding is None else _vectors(embedding),
    }
    return digest(material)[:_HEAD_DIGITS]


def score_key(definition: str, fields: Mapping[str, Any], repeat: int) -> str:
    """Return the digest of the score that follows from these fields of a sample."""
    return definition + digest({"repeat": repeat, "fields": fields})[_HEAD_DIGITS:]


def cached_definitions(run: RunSettings, definitions: Iterable[str]) -> set[str]:
    """Return the definitions that the cache holds scores of, if the run may take them from it."""
    if run.cache_dir is None or run.cache_mode in ("off", "refresh"):
        return set()
    wanted = {
        definition: f'{{"sha256": "{definition}'.encode("ascii") for definition in definitions
    }
    found: set[str] = set()
    for path in run.cache_dir.glob("*.score.jsonl"):
        raw = read_bytes(path)
        found.update(one for one, head in wanted.items() if one not in found and head in raw)
    return found


class ScoreCache:
    """The scores in the cache of a run, used as its mode says; see ``Cache``."""

    def __init__(self, cache: Cache, ledger: Ledger) -> None:
        self._cache = cache
        self._ledger = ledger

    @property
    def is_used(self) -> bool:
        """Whether scores are looked up at all."""
        return self._cache.reads

    def find(self, key: str) -> Score | None:
        """Return the score under a key, and count the replies that it was made of as cached.

        In mode refresh, a miss makes the scores of older runs count no more: else the next run
        would prefer them to newer replies if this run gets no score.
        """
        found = _from_entry(self._cache.get("score", key))
        if found is None:
            if self._cache.mode == "refresh":
                self._cache.put_score(key, None)
            return None
        score, answers = found
        self._ledger.count(Usage(cached=answers))
        return score

    def keep(self, key: str, score: Score, answers: int) -> None:
        """Keep a score without an error; it was made of so many replies."""
        if self._cache.writes and score.error is None:
            self._cache.put_score(key, _to_entry(score, answers))


def _chat(settings: ClientSettings) -> Mapping[str, Any]:
    provider = CHAT_REGISTRY.get(settings.provider)
    return {**chat_identity(settings), "provider": provider.name}


def _vectors(settings: ClientSettings) -> Mapping[str, Any]:
    provider = EMBEDDING_REGISTRY.get(settings.provider)
    return {**vector_identity(settings, is_local=provider.is_local), "provider": provider.name}


def _to_entry(score: Score, answers: int) -> dict[str, Any]:
    return {
        "value": score.value,
        "reason": score.reason,
        "details": plain_details(score.details),
        "answers": answers,
        **({"replies": dict(score.replies)} if score.replies else {}),
        **({"left_out": score.left_out} if score.left_out else {}),
    }


class _Entry(Value, frozen=True):
    value: float | None
    reason: str | None
    details: dict[str, Any] | None
    answers: Count
    replies: dict[str, Any] | None = None
    left_out: LeftOut | None = None


def _from_entry(plain: Mapping[str, Any] | None) -> tuple[Score, int] | None:
    """Return a score, which has no name yet, and of how many replies.

    None without an entry, and for a damaged one.
    """
    try:
        entry = convert(plain, _Entry)
    except ValidationError:
        return None
    replies = None if entry.replies is None else known_counts(entry.replies)
    score = Score("", entry.value, entry.reason, entry.details, None, replies, entry.left_out)
    return score, entry.answers

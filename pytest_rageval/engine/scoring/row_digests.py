"""Digests of what a row expects, by which runs notice that it is another row now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.model import ANSWERABLE, NOTHING, Sample, json_plain
from pytest_rageval.scenario.fields import CHECK_FIELDS

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan

NEEDED_AS: Final[Mapping[str, str]] = {
    "reference_ids": "reference_ids",
    "reference_contexts": "reference_contexts",
    "reference_groups": "references",
    **{name: name for name in CHECK_FIELDS},
    "nuggets": "nuggets",
}
"""Each field that has a digest, and what metrics call it where they say what they need."""

_EITHER: Final = frozenset({"reference_ids", "reference_contexts"})
_DIGITS = 16


def reference_digests(sample: Sample, plan: Plan | None = None) -> Mapping[str, str]:
    """Return the first 16 hex digits of a SHA-256 for each field of ``NEEDED_AS`` that it has.

    Those that ``plan`` reads besides have one in any case: to lack them means something, too. The
    order of ids, contexts and cited sources makes no difference: no score follows from it.
    """
    digests = {}
    for field in NEEDED_AS:
        value = getattr(sample, field)
        if value is None or (field in CHECK_FIELDS and not value):
            continue
        if field == "reference_ids":
            value = sorted(value.items())
        is_list = field == "reference_contexts"
        digests[field] = _digest_of_contexts(tuple(value)) if is_list else _digest(value)
    for field in plan.reads if plan is not None else ():
        digests[field] = _digest(_read_in(plan, sample, field))
    return digests or NOTHING


def judges_otherwise(was: Mapping[str, str], now: Mapping[str, str], field: str) -> bool:
    """Return whether a row is judged by another value of ``field`` now, as far as digests tell.

    Also by ids in place of contexts, or the other way round: a metric takes what there is.
    """
    if field in was and field in now:
        return was[field] != now[field]
    before, after = _EITHER & was.keys(), _EITHER & now.keys()
    return field in after and bool(before) and before.isdisjoint(after)


def _read_in(plan: Plan | None, sample: Sample, field: str) -> Any:
    value = getattr(sample, field)
    if field == "answerable" and value is None:
        # A row that does not say it counts as one with an answer, unless a judge is asked.
        rules = plan.answers if plan is not None else None
        return None if rules is not None and rules.asks(ANSWERABLE) else True
    if field == "reference_citations" and value is not None:
        return sorted(map(json.dumps, set(value)))
    return json_plain(value or None) if field in ("history", "reference_groups") else value


@lru_cache(maxsize=1024)
def _digest_of_contexts(contexts: tuple[str, ...]) -> str:
    """Cached: with a corpus, all samples of a document expect the same chunks."""
    return _digest(sorted(contexts))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:_DIGITS]

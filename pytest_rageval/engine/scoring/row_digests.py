"""Digests of what a row expects, by which runs notice that it is another row now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from pytest_rageval.model import ANSWERABLE, NOTHING, Sample, json_plain
from pytest_rageval.scenario.fields import CHECK_FIELDS

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import BoundMetric, Plan

NEEDED_AS: Final[Mapping[str, str]] = {
    "reference_ids": "reference_ids",
    "reference_contexts": "reference_contexts",
    "reference_groups": "references",
    **{name: name for name in CHECK_FIELDS},
    "nuggets": "nuggets",
}
"""Each field that has a digest, and what metrics call it where they say what they need."""

HINTS: Final = "answer_hints"
"""Whether a row that does not say if it can be answered shows that it can: a judge is not heard."""

_EITHER: Final = frozenset({"reference_ids", "reference_contexts"})
_INSTEAD: Final = frozenset({"reference_contexts", "doc_name"})
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
    if plan is not None and plan.reads:
        digests.update({field: _digest(_read_in(plan, sample, field)) for field in plan.reads})
    return digests or NOTHING


def fields_judged_by(plan: Plan, metrics: Collection[str]) -> list[str]:
    """Return the fields that these metrics read, or may read, and of which rows have a digest."""
    named = [one for one in plan.metrics if one.column.name in metrics]
    needs = [frozenset() if sees_all(one) else one.info.names for one in named]
    found = [
        name
        for name, needed_as in NEEDED_AS.items()
        if name not in plan.reads and any(not need or needed_as in need for need in needs)
    ]
    return found + [name for name, readers in plan.reads.items() if readers.intersection(metrics)]


def sees_all(metric: BoundMetric) -> bool:
    """Return whether code of the user's own gets whole samples, and says nothing of ``reads``.

    Metrics that a plugin registers say what they need.
    """
    says_needs = bool(metric.info.needs)
    takes_fields = metric.is_known or getattr(metric.metric, "takes_fields", says_needs)
    return not (takes_fields or metric.info.reads)


def judges_otherwise(
    was: Mapping[str, str], now: Mapping[str, str], field: str, instead: Collection[str] = ()
) -> bool:
    """Return whether a row is judged by another value of ``field`` now, as far as digests tell.

    Also by ids in place of contexts, or the other way round: a metric takes what there is.
    ``instead``: the fields by which it is judged where it has no ids.
    """
    if field in was and field in now:
        return was[field] != now[field]
    before, after = _EITHER & was.keys(), _EITHER & now.keys()
    if before and after and before.isdisjoint(after):
        return field in after
    if field != "reference_ids" or not instead or (field in was) == (field in now):
        return False
    return all(
        field in row or any(row.get(one, NONE) != NONE for one in instead) for row in (was, now)
    )


def in_place_of_ids(plan: Plan, metrics: Collection[str], sample: Sample) -> Collection[str]:
    """Return the fields that these metrics take where a row has no ids.

    Ids are not taken where none are retrieved to compare them with, nor beside citations, which
    come first.
    """
    may_take = plan.target is not None or plan.is_given or sample.retrieved_ids is not None
    infos = [metric.info for metric in plan.metrics if metric.column.name in metrics]
    found = [
        info.or_needs | info.reads
        for info in infos
        if "reference_ids" in info.needs | info.reads
        and not ("reference_citations" in info.reads and sample.reference_citations is not None)
        and (may_take or "retrieved_ids" not in info.needs)
    ]
    return _INSTEAD & frozenset[str]().union(*found)


def _read_in(plan: Plan, sample: Sample, field: str) -> Any:
    rules = plan.answers
    if field == HINTS:
        return rules and sample.answerable is None and rules.shows_answer(sample)
    value = getattr(sample, field)
    if field == "answerable" and value is None:
        # A row that does not say it counts as one with an answer, unless a judge is asked.
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


NONE: Final = _digest(None)
"""The digest of a field that a row lacks."""
EMPTY: Final = _digest([])
"""That of a field in which there is nothing."""

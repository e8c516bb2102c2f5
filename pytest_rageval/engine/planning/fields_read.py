"""What scores follow from, fields and other scores: where these differ, runs do not compare."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_rageval.engine.plan import AnswerRules, BoundMetric, Plan
from pytest_rageval.engine.scoring.row_digests import (
    EMPTY,
    HINTS,
    NEEDED_AS,
    NONE,
    in_place_of_ids,
    reference_digests,
)
from pytest_rageval.errors import shorten
from pytest_rageval.model import ANSWERABLE, Sample, SampleResult

if TYPE_CHECKING:
    from pytest_rageval.results.saved_run import SavedRun


def fields_read(
    rules: AnswerRules | None, metrics: Sequence[BoundMetric]
) -> dict[str, frozenset[str]]:
    """Return by field the names of the metrics that read it, without fields that none reads.

    Only fields of which a row has a digest where a metric reads them, and the hints at an answer.
    """
    readers = {} if rules is None else _by_rules(rules, metrics)
    for field in ("doc_name", "reference_groups"):
        readers[field] = [metric for metric in metrics if _names(metric, field)]
    return {
        name: frozenset(metric.column.name for metric in found)
        for name, found in readers.items()
        if found
    }


def _by_rules(rules: AnswerRules, metrics: Sequence[BoundMetric]) -> dict[str, list[BoundMetric]]:
    # Not at the top: most scenarios do not say how answers cite or refuse.
    from pytest_rageval.engine.scoring.answer_rules import follows_from_answerable, sees_history

    found: dict[str, list[BoundMetric]] = {}
    if rules.refusals is not None:
        found["answerable"] = [
            metric
            for metric in metrics
            if _names(metric, "answerable") or follows_from_answerable(rules, metric)
        ]
        if rules.asks(ANSWERABLE):
            found[HINTS] = [one for one in found["answerable"] if one.info.section != "refusals"]
    if rules.citations is not None:
        name = "reference_citations"
        found[name] = [metric for metric in metrics if _names(metric, name)]
    if rules.turns:
        found["history"] = [metric for metric in metrics if sees_history(rules, metric)]
    return found


def _names(metric: BoundMetric, field: str) -> bool:
    """Return whether a metric says that it reads the field; code that names none may read it."""
    info = metric.info
    return field in info.names or not (metric.is_known or info.needs)


def with_those_read(metrics: Sequence[BoundMetric], names: Collection[str]) -> set[str]:
    """Return these names of metrics, and those whose scores they are made of."""
    named = [metric for metric in metrics if metric.column.name in names]
    found = [metric.metric for metric in named if metric.info.section == "refusals"]
    if not found:
        return {*names}
    # Not at the top: most scenarios do not say how answers refuse.
    from pytest_rageval.metrics.refusals import CragScore

    return {*names, *(one.options.correct for one in found if isinstance(one, CragScore))}


def other_history(
    plan: Plan, metrics: Collection[str], shared: Sequence[Sample], saved: SavedRun
) -> list[str]:
    """Return the samples that have a history in one of the runs, if no row of the other has any.

    Without one in any row, and in versions that recorded nothing, a run has no digest of it.
    """
    # Not at the top: most scenarios have no earlier turns.
    from pytest_rageval.engine.scoring.answer_rules import sees_history

    rows, field = saved.samples, "history"
    if field in plan.reads:
        is_recorded = any(field in row.judged_by for row in rows.values())
        seen = plan.reads[field].intersection(() if is_recorded or not saved.measured else metrics)
        return [one.id for one in shared if one.history and seen & rows[one.id].scores.keys()]
    lost = [one.id for one in shared if rows[one.id].judged_by.get(field, NONE) != NONE]
    spec = plan.info.measured.get("conversation") or {}
    rules = replace(plan.answers or AnswerRules(), history_is_evidence=bool(spec.get("evidence")))
    seeing = {one.column.name for one in plan.metrics if lost and sees_history(rules, one)}
    has_any = any(one.history for one in shared)  # conversation: {turns: 0}
    return [] if has_any or seeing.isdisjoint(metrics) else lost


def lost_or_got(
    plan: Plan, metrics: Collection[str], shared: Sequence[Sample], saved: SavedRun
) -> dict[str, list[str]]:
    """Return by field the samples that have it in one of the runs, and had a score.

    Of the fields that metrics take where a row has them; one that a metric needs leaves it without
    a score. What citations take instead of theirs is seen elsewhere.
    """
    found = {"history": other_history(plan, metrics, shared, saved)}
    taking = {
        one.column.name: (one.info.reads - one.info.needs) & {*NEEDED_AS, "references"}
        for one in plan.metrics
        if one.column.name in metrics and not one.info.section
    }
    if not any(taking.values()) or not saved.measured:
        return found
    for one in shared:
        row = saved.samples[one.id]
        scored = [fields for name, fields in taking.items() if row.scores.get(name) is not None]
        was, now = _held(row.judged_by, row), _held(reference_digests(one), one)
        for name in (was ^ now) & frozenset[str]().union(*scored) - plan.reads.keys():
            found.setdefault(name, []).append(one.id)
    return found


def _held(digests: Mapping[str, str], row: Sample | SampleResult) -> set[str]:
    """Return the fields that a row has; an empty one says nothing."""
    held = {name for name, digest in digests.items() if digest not in (NONE, EMPTY)}
    return {*held, "references"} if row.references else held


def in_place_of_qrels(
    plan: Plan, metrics: Collection[str], shared: Sequence[Sample]
) -> Iterator[str]:
    """Yield in how many samples, once judged by qrels, metrics take ids or texts of the row."""
    found: dict[str, list[str]] = {}
    for one in shared:
        names: Collection[str] = ("reference_ids",)
        if one.reference_ids is None:  # the saved run did retrieve ids
            names = in_place_of_ids(plan, metrics, replace(one, retrieved_ids=()))
        for name in sorted(names):
            if getattr(one, name) is not None:
                found.setdefault(name, []).append(one.id)
    for name, by_row in found.items():
        share = f"{len(by_row)} of {len(shared)} shared samples"
        first = shorten(by_row[0])
        yield f"it was judged by qrels, and {share} are by {name} (first: {first!r})"

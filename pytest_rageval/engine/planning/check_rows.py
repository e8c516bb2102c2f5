"""Checks each row against what the metrics need: it is a case, skipped, or invalid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.metrics.base import MetricInfo, absent_fields, missing_fields
from pytest_rageval.model import Case, InvalidRow, Sample
from pytest_rageval.scenario.fields import NAMED, OF_SEARCH, UNRECORDED_SEARCH
from pytest_rageval.text.json_value import json_text


def told_by_judge(binding: Binding) -> frozenset[str]:
    """Return the fields that a judge fills in where a row does not say them."""
    refusals = binding.scenario.refusals
    is_told = refusals is not None and refusals.answerable == "judge"
    return frozenset({"answerable"}) if is_told else frozenset()


def checked(
    case: Case,
    line: int | None,
    metrics: Sequence[BoundMetric],
    provided: frozenset[str],
    told: frozenset[str],
) -> Case:
    """Return ``case``, or an invalid row when no metric has the fields that it needs.

    A row that is skipped need not have them; one that asks for nothing that is measured is skipped.
    A row whose trace does not record the search is invalid where a metric needs that. ``provided``
    are the fields that a system under test fills in later, ``told`` those that a judge does.
    """
    if isinstance(case, InvalidRow) or case.skip is not None or not metrics:
        return case
    unrecorded = case.metadata.get(UNRECORDED_SEARCH)
    if unrecorded and _needs_search(metrics, provided):
        return invalid(case, line, str(unrecorded))
    lacking, unasked = list[list[str]](), set[str]()
    spared = told
    # A row that cannot be answered, or of which a judge may say so, needs nothing to compare with.
    if case.answerable is False or (told and case.answerable is None):
        spared |= _NOT_OF_UNANSWERABLE
    if provided:  # without a target nothing comes later
        provided |= spared
    for metric in metrics:
        missing = [name for name in missing_fields(case, metric.info) if name not in spared]
        if not missing or (provided and _will_have(case, metric.info, provided)):
            return case
        unasked.update(of_row := metric.info.of_row.intersection(missing))
        lacking.append([] if of_row else missing)
    if not any(lacking):
        reason = f"the row asks for nothing that is measured: {_none_of(sorted(unasked))}"
        return replace(case, skip=reason)
    fields = sorted({field for missing in lacking for field in missing})
    reason = f"{_none_of(fields)}, without which no metric can score it"
    return invalid(case, line, reason)


def _needs_search(metrics: Sequence[BoundMetric], provided: frozenset[str]) -> bool:
    """Return whether metrics need of a search what is not ``provided``."""
    needed = {name for one in metrics for name in one.info.needs | one.info.or_needs}
    return not (needed & OF_SEARCH).issubset(provided)


_NOT_OF_UNANSWERABLE: Final = frozenset(
    {"references", "reference_groups", "reference_contexts", "reference_ids"}
)


def invalid(case: Sample, line: int | None, reason: str) -> InvalidRow:
    """Return the invalid row of a case, with what is known of it."""
    known = {
        name: value
        for name in ("id", "question", "answer", "references", "doc_name")
        if (value := getattr(case, name)) is not None
    }
    return InvalidRow(
        case.id,
        case.index,
        case.row,
        line,
        reason,
        json_text({**known, **case.metadata}),
        case.doc_name,
        case.metadata,
        case.tags,
        xfail=case.xfail,
        question=case.question,
    )


def _none_of(fields: Sequence[str]) -> str:
    return f"no {' and no '.join(NAMED.get(field, field) for field in fields)}"


def _will_have(sample: Sample, info: MetricInfo, provided: frozenset[str]) -> bool:
    """Return whether nothing lacks once the ``provided`` fields are filled in."""
    needs = [info.needs, info.or_needs] if info.or_needs else [info.needs]
    return any(provided.issuperset(absent_fields(sample, need)) for need in needs)

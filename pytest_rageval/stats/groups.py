"""Groups of samples that depend on each other: those with the same value of a field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_rageval.model import (
    CAUSE,
    Case,
    InvalidRow,
    Sample,
    SampleResult,
    ScenarioInfo,
    value_text,
)

_Row = SampleResult | Sample | InvalidRow


def field_value(row: _Row, field: str) -> Any:
    """Return a row's value of ``field``, which may be ``doc_name``; None without a value.

    Where causes of low answers are looked for, no column of the data is called ``cause``.
    """
    if field == CAUSE and isinstance(row, SampleResult) and row.cause is not None:
        return row.cause
    return row.doc_name if field == "doc_name" else row.metadata.get(field)


def group_numbers(info: ScenarioInfo, samples: Iterable[SampleResult]) -> list[int] | None:
    """Return the group number of each sample, None if the scenario has no ``group_by``.

    Samples whose values have the same text are one group; one without a value is its own group.
    """
    if info.group_by is None:
        return None
    known: dict[object, int] = {}
    found = []
    for at, sample in enumerate(samples):
        value = field_value(sample, info.group_by)
        found.append(known.setdefault(at if value is None else value_text(value), len(known)))
    return found


def count_groups(info: ScenarioInfo, samples: Iterable[SampleResult]) -> int | None:
    """Return how many groups ``samples`` form, None if the scenario has no ``group_by``."""
    numbers = group_numbers(info, samples)
    return None if numbers is None else len(set(numbers))


def ungrouped(field: str, cases: Sequence[Case]) -> int:
    """Return how many of ``cases`` have no value of ``field``."""
    return sum(field_value(case, field) is None for case in cases)

"""Rows that a scenario's ``skip`` and ``xfail`` conditions, or their own columns, mark."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.model import Case, value_text
from pytest_rageval.scenario.schema import MarkSpec

FIELDS: Final = ("id", "question", "answer", "doc_name")
"""What a case has besides the further columns of its row."""


def mark_cases(
    cases: Sequence[Case], skip: Sequence[MarkSpec], xfail: Sequence[MarkSpec]
) -> Sequence[Case]:
    """Return ``cases`` with the reason of the first condition that each of them meets.

    A reason in the row itself comes before those of the scenario.
    """
    if not skip and not xfail:
        return cases
    return [_marked(case, skip, xfail) for case in cases]


def meets(case: Case, spec: MarkSpec) -> bool:
    """Return whether all fields that the condition names have one of the values that it wants."""
    return all(matches(case, name, wanted) for name, wanted in spec.where.items())


def _marked(case: Case, skip: Sequence[MarkSpec], xfail: Sequence[MarkSpec]) -> Case:
    return replace(
        case,
        skip=case.skip if case.skip is not None else _reason(case, skip),
        xfail=case.xfail if case.xfail is not None else _reason(case, xfail),
    )


def _reason(case: Case, specs: Sequence[MarkSpec]) -> str | None:
    return next((spec.reason for spec in specs if meets(case, spec)), None)


def matches(case: Case, name: str, wanted: Any) -> bool:
    """Return whether a field has a value, or one of several; ``level: 3`` is the "3" of a CSV."""
    if isinstance(wanted, list):
        return any(matches(case, name, choice) for choice in wanted)
    value = value_of(case, name)
    if value is None or wanted is None:
        return value is wanted
    if isinstance(value, bool) or isinstance(wanted, bool):  # True in Python, TRUE in spreadsheets
        return str(value).lower() == str(wanted).lower()
    if name == "doc_name":
        return unicodedata.normalize("NFC", value) == unicodedata.normalize("NFC", str(wanted))
    return bool(value == wanted) or value_text(value) == value_text(wanted)


def value_of(case: Case, name: str) -> Any:
    """Return a field of a case, or a further column of its row; None where it has none."""
    return getattr(case, name, None) if name in FIELDS else case.metadata.get(name)

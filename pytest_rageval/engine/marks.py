"""Rows that a scenario's ``skip`` and ``xfail`` conditions, or their own columns, mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_rageval.model import Case, Sample
from pytest_rageval.scenario.schema import MarkSpec


def mark_cases(
    cases: Sequence[Case], skip: Sequence[MarkSpec], xfail: Sequence[MarkSpec]
) -> Sequence[Case]:
    """Return ``cases`` with the reason of the first condition that each sample meets.

    A reason in the row itself comes before those of the scenario.
    """
    if not skip and not xfail:
        return cases
    return [_marked(case, skip, xfail) if isinstance(case, Sample) else case for case in cases]


def _marked(sample: Sample, skip: Sequence[MarkSpec], xfail: Sequence[MarkSpec]) -> Sample:
    return replace(
        sample,
        skip=sample.skip if sample.skip is not None else _reason(sample, skip),
        xfail=sample.xfail if sample.xfail is not None else _reason(sample, xfail),
    )


def _reason(sample: Sample, specs: Sequence[MarkSpec]) -> str | None:
    return next((spec.reason for spec in specs if _meets(sample, spec)), None)


def _meets(sample: Sample, spec: MarkSpec) -> bool:
    return all(_equals(_field(sample, name), wanted) for name, wanted in spec.where.items())


def _field(sample: Sample, name: str) -> Any:
    return getattr(sample, name) if name in ("id", "doc_name") else sample.metadata.get(name)


def _equals(value: Any, wanted: Any) -> bool:
    """Compare as text, so that ``level: 3`` finds the "3" of a CSV file too."""
    if isinstance(wanted, list):
        return any(_equals(value, choice) for choice in wanted)
    return value == wanted or (value is not None and str(value) == str(wanted))

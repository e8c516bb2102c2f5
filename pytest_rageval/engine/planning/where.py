"""``--rag-where``: which cases of a scenario run, by the values of their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.marks import matches, value_of
from pytest_rageval.errors import (
    OptionError,
    Problem,
    ScenarioError,
    did_you_mean,
    shorten,
    unknown_name,
)
from pytest_rageval.model import Case, value_text

FIELDS: Final = ("id", "question", "answer", "doc_name")
"""What a case has besides the further columns of its row."""

_CONDITION = re.compile(r"\s*(.*?)\s*(!=|=|~)\s*(.*?)\s*", re.DOTALL)
_LISTED = 10


@dataclass(frozen=True, slots=True)
class Condition:
    """What a case must meet: ``field`` is, is not (``!=``) or contains (``~``) ``value``."""

    field: str
    sign: str
    value: str
    flag: str
    """How the user wrote it."""

    def holds(self, case: Case) -> bool:
        """Return whether a case meets it; a field without a value is and contains nothing."""
        if self.sign == "~":
            found = value_of(case, self.field)
            return found is not None and _folded(self.value) in _folded(value_text(found))
        return matches(case, self.field, self.value) == (self.sign == "=")


def _folded(text: str) -> str:
    return normalize("NFC", text).casefold()


def parse_condition(flag: str, text: str) -> Condition:
    """Return the condition that ``FIELD=VALUE``, ``FIELD!=VALUE`` or ``FIELD~VALUE`` asks for."""
    found = _CONDITION.fullmatch(text)
    if found is None or not found[1]:
        message = "expected FIELD=VALUE, FIELD!=VALUE or FIELD~VALUE, for instance topic=fees"
        raise OptionError([Problem(f"{flag} {shorten(text)}", message)])
    return Condition(found[1], found[2], found[3], f"{flag} {shorten(text)}")


def select(cases: Sequence[Case], conditions: Sequence[Condition]) -> list[Case]:
    """Return the cases that meet all conditions.

    Several values of one field with ``=`` or ``~`` are alternatives.
    """
    wanted: dict[str, list[Condition]] = {}
    refused = []
    for condition in conditions:
        if condition.sign == "!=":
            refused.append(condition)
        else:
            wanted.setdefault(condition.field, []).append(condition)
    return [
        case
        for case in cases
        if all(condition.holds(case) for condition in refused)
        and all(any(one.holds(case) for one in several) for several in wanted.values())
    ]


def check_fields(plans: Sequence[Plan], conditions: Sequence[Condition]) -> None:
    """Raise ScenarioError for fields that the data of a scenario, or of its variants, lack."""
    unknown = [
        Problem(plan.info.path, f"{one.flag}: {unknown_name('field', one.field, known)}")
        for plan in plans
        for one in conditions
        if one.field not in (known := (*FIELDS, *plan.info.metadata_columns))
    ]
    if unknown:
        raise ScenarioError(dict.fromkeys(unknown))


def unmet(plans: Sequence[Plan], conditions: Sequence[Condition]) -> Iterator[str]:
    """Yield a remark on each condition that no case meets, with what there is."""
    cases = [case for plan in plans for case in plan.cases]
    for one in conditions:
        if any(one.holds(case) for case in cases):
            continue
        held = (value_of(case, one.field) for case in cases)
        found = [value_text(value) for value in held if value is not None]
        values = list(dict.fromkeys(found))
        hint = did_you_mean(one.value, values)
        listed = ", ".join(shorten(value, 40) for value in values[:_LISTED])
        more = ", …" if len(values) > _LISTED else ""
        there = f" It is {listed}{more}" if len(values) < len(found) else ""
        yield f"{plans[0].info.path}: {one.flag}: no row meets it.{hint}{there}"

"""``--rag-where``: which cases of a scenario run, by the values of their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from unicodedata import normalize

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.bind_cases import FIELDS, matches, value_of
from pytest_rageval.errors import (
    OptionError,
    Problem,
    ScenarioError,
    did_you_mean,
    listed,
    shorten,
    unknown_name,
)
from pytest_rageval.model import Case, value_text

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
        found = value_of(case, self.field)
        text = None if found is None else normalize("NFC", value_text(found))
        wanted = normalize("NFC", self.value)
        if self.sign == "~":
            return text is not None and wanted.casefold() in text.casefold()
        is_so = text == wanted or matches(case, self.field, self.value)
        return is_so == (self.sign == "=")


def parse_condition(flag: str, text: str) -> Condition:
    """Return the condition that ``FIELD=VALUE``, ``FIELD!=VALUE`` or ``FIELD~VALUE`` asks for.

    Raises OptionError for any other text.
    """
    found = _CONDITION.fullmatch(text)
    if found is None or not found[1]:
        message = "expected FIELD=VALUE, FIELD!=VALUE or FIELD~VALUE, for instance topic=fees"
        raise OptionError([Problem(f"{flag} {shorten(text)}", message)])
    return Condition(found[1], found[2], found[3], f"{flag} {shorten(text)}")


def conditions_for(plan: Plan, conditions: Sequence[Condition]) -> list[Condition]:
    """Return the conditions with the fields that a scenario reads from the columns they name."""
    return [
        replace(condition, field=plan.own_names.get(condition.field, condition.field))
        for condition in conditions
    ]


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
    """Raise ScenarioError for fields that the data of a scenario, or of its variants, lack.

    And for ``answer`` where a system under test has yet to give it.
    """
    problems = [
        Problem(plan.info.path, f"{condition.flag}: {message}")
        for plan in plans
        for condition in conditions
        if (message := _unusable(plan, condition.field))
    ]
    if problems:
        raise ScenarioError(dict.fromkeys(problems))


def _unusable(plan: Plan, name: str) -> str:
    """Return why no samples can be chosen by a field, "" if they can."""
    known = (*FIELDS, *plan.info.metadata_columns)
    own = [column for column, field in plan.own_names.items() if field in known]
    field = plan.own_names.get(name, name)
    if field not in known and field != name:
        names = ", ".join(sorted((*known, *own)))
        return f"{name!r} is read as {field!r}, by which no samples are chosen. Known: {names}"
    if field not in known:
        return unknown_name("field", name, (*known, *own))
    if field == "answer" and plan.target is not None and "answer" in plan.target.provides:
        return (
            "the answers come from the target, which is asked about the samples that are chosen; "
            f"choose them by another field: {', '.join(one for one in known if one != 'answer')}"
        )
    return ""


def unmet(plans: Sequence[Plan], conditions: Sequence[Condition]) -> Iterator[str]:
    """Yield a remark on each condition that no case meets, with the values there if any repeats."""
    asked = [(plan, conditions_for(plan, conditions)) for plan in plans]
    for at, one in enumerate(conditions):
        pairs = [(case, own[at]) for plan, own in asked for case in plan.cases]
        if any(own.holds(case) for case, own in pairs):
            continue
        values_of = (value_of(case, own.field) for case, own in pairs)
        found = [value_text(value) for value in values_of if value is not None]
        values = list(dict.fromkeys(found))
        hint = "" if one.sign == "!=" else did_you_mean(one.value, values)
        some = listed((shorten(value, 40) for value in values), _LISTED)
        there = f" It is {some}" if len(values) < len(found) else ""  # no list of ids
        yield f"{plans[0].info.path}: {one.flag}: no row meets it.{hint}{there}"

"""A scenario's sections validated, and what is wrong with them in the words of its file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from pytest_rageval.errors import Problem, did_you_mean, shorten
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.model_specs import filled_roles
from pytest_rageval.scenario.rewording import existing, model_at, reworded
from pytest_rageval.scenario.schema import Scenario, conflicts
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree, dotted

Positions = Mapping[str, Sequence[int]]

UNREADABLE: Final = DatasetSpec.model_construct()
"""The ``dataset`` of a scenario that has none, or an invalid one."""


def validate(tree: YamlTree) -> tuple[Scenario, Positions, list[Problem]]:
    """Return the scenario, the file positions of list items, and all problems.

    Of a section with problems, the valid parts stay. A required section without any is ``unnamed``,
    ``UNREADABLE`` or an empty list. Positions are those of the lists from which items were dropped.
    """
    try:
        return Scenario.model_validate(tree.data), {}, []
    except ValidationError as error:
        found = error.errors(include_url=False)
    details = [detail for detail in found if detail["loc"]]
    invalid = {detail["loc"] for detail in details}
    problems = [
        _problem(detail, tree)
        for detail in details
        if not _is_of_profile(detail["loc"], tree, invalid)
    ]
    # Without a place are conflicts, which are looked for below, and keys that are no text.
    problems += [
        Problem(tree.where(), f"a key that is no text: {reworded(detail)}")
        for detail in found
        if not detail["loc"] and detail["type"] != "value_error"
    ]
    scenario, positions = _valid_parts(tree.data, {existing(loc, tree.data) for loc in invalid})
    for path, other, message in conflicts(scenario):
        if other not in {loc[0] for loc in invalid}:
            problems.append(Problem(tree.where(path), message))
    return scenario, positions, problems


def _valid_parts(
    data: Mapping[str, Any], invalid: Collection[YamlPath]
) -> tuple[Scenario, Positions]:
    sections: dict[str, Any] = {"name": "unnamed", "dataset": UNREADABLE, "metrics": []}
    positions = {}
    for name, value in filled_roles(_without(data, filter(None, invalid))).items():
        if name in Scenario.model_fields:
            items = len(data[name]) if isinstance(data[name], list) else 0
            kept = [at for at in range(items) if (name, at) not in invalid]
            valid, kept = _valid_part(_section(name), value, kept)
            if valid is not None:
                sections[name] = valid
            if len(kept) < items:
                positions[name] = kept
    return Scenario.model_construct(**sections), positions


def _valid_part(model: TypeAdapter[Any], value: Any, kept: list[int]) -> tuple[Any, list[int]]:
    """Return what is valid in a section, None if nothing is, and which list items were ``kept``."""
    while True:
        try:
            return model.validate_python(value), kept
        except ValidationError as error:
            invalid = {existing(detail["loc"], value) for detail in error.errors()}
        if () in invalid:
            return None, []
        kept = [at for here, at in enumerate(kept) if (here,) not in invalid]
        value = _without(value, invalid)


@cache
def _section(name: str) -> TypeAdapter[Any]:
    field = Scenario.model_fields[name]
    annotation: Any = Annotated[field.annotation, field]
    return TypeAdapter(annotation)


def _without(data: Any, paths: Iterable[YamlPath]) -> Any:
    """Return a copy of ``data`` without what is at ``paths``, all of which exist."""
    inner: dict[str | int, list[YamlPath]] = defaultdict(list)
    for path in paths:
        inner[path[0]].append(path[1:])
    entries = data.items() if isinstance(data, dict) else enumerate(data)
    kept = {
        key: _without(value, inner[key]) if key in inner else value
        for key, value in entries
        if () not in inner.get(key, ())
    }
    return kept if isinstance(data, dict) else list(kept.values())


def _is_of_profile(location: YamlPath, tree: YamlTree, invalid: Collection[YamlPath]) -> bool:
    """Return whether a mistake in a role is one of its profile, where it is reported already."""
    role, *inside = location
    if role not in ("judge", "embedding"):
        return False
    given = tree.data.get(role)
    own = given if isinstance(given, dict) else {"model": given}
    profile = ("models", str(own.get("profile", own.get("model"))))
    return profile in invalid or (*profile, *inside) in invalid


def _problem(detail: ErrorDetails, tree: YamlTree) -> Problem:
    """Return what pydantic found, in the words of a scenario file."""
    location = detail["loc"]
    place = existing(location, tree.data)
    where = tree.where(place)
    if detail["type"] == "extra_forbidden":
        return Problem(where, _unknown_key(location))
    if detail["type"] == "missing":
        hint = _MISSING_HINTS.get(location, "") + tree.hint(str(location[0]))
        return Problem(where, f"{dotted(location)}: {reworded(detail)}{hint}")
    return Problem(where, f"{dotted(place or location)}: {reworded(detail)}")


_MISSING_HINTS: Mapping[YamlPath, str] = {
    ("name",): " (the scenario's name, for instance 'name: support-bot')",
    ("dataset",): " (for instance 'dataset: rows.jsonl')",
    ("metrics",): " (for instance 'metrics: [em, f1]')",
}


def _unknown_key(location: YamlPath) -> str:
    key, parents = str(location[-1]), location[:-1]
    model = model_at(Scenario, parents)
    known = sorted(Scenario.model_fields if model is None else model.model_fields)
    hint = did_you_mean(key, known)
    inside = f" under {dotted(parents)}" if parents else ""
    return f"unknown key {shorten(key)!r}{inside}.{hint} Known: {', '.join(known)}"


def refuse_empty(tree: YamlTree) -> None:
    """Note a problem for each key of ours without a value, ``gates: {em: }``.

    YAML would read null, which removes a gate. Other systems' keys may be empty.
    """
    for path in tree.empty:
        if must_be_filled(path):
            message = (
                "is empty; write a value, or take the key out. Where you mean null, write null"
            )
            tree.problem(path, f"{dotted(path)}: {message}")


def must_be_filled(path: YamlPath) -> bool:
    """Return whether an empty value at ``path`` of a scenario is a mistake.

    Not in a row, where it is a missing one; nor is a variant that changes nothing.

    >>> must_be_filled(("gates", "em")), must_be_filled(("dataset", 0, "answer"))
    (True, False)
    """
    if path[:1] == ("variants",) and path[1:]:
        return must_be_filled(path[2:])
    is_ours = bool(path) and (path[0] in Scenario.model_fields or path[0] == "variants")
    return is_ours and not _is_of_row(path)


def _is_of_row(path: YamlPath) -> bool:
    return (
        path[0] in ("dataset", "answers")
        and len(path) > 1
        and (isinstance(path[1], int) or path[1] == "rows")
    )

"""A scenario's sections validated, and what is wrong with them in the words of its file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from pytest_rageval.errors import Problem, did_you_mean, shorten
from pytest_rageval.model import value_text
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.model_specs import filled_roles
from pytest_rageval.scenario.schema import Scenario, conflicts, is_secret, model_in
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
    scenario, positions = _valid_parts(tree.data, {_existing(loc, tree.data) for loc in invalid})
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
            invalid = {_existing(detail["loc"], value) for detail in error.errors()}
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


def _existing(location: YamlPath, data: Any) -> YamlPath:
    """Return the longest part of ``location`` that exists in ``data``: what to drop."""
    for length, step in enumerate(location):
        if not (step in data if isinstance(data, dict) else _is_item(step, data)):
            return location[:length]
        data = data[step]
    return location


def _is_item(step: str | int, data: Any) -> bool:
    return isinstance(data, list) and isinstance(step, int) and step < len(data)


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
    place = _existing(location, tree.data)
    where = tree.where(place)
    if detail["type"] == "extra_forbidden":
        return Problem(where, _unknown_key(location))
    if detail["type"] == "missing":
        hint = _MISSING_HINTS.get(location, "") + tree.hint(str(location[0]))
        return Problem(where, f"{dotted(location)}: required, and missing{hint}")
    return Problem(where, f"{dotted(place or location)}: {reworded(detail)}")


_MISSING_HINTS: Mapping[YamlPath, str] = {
    ("name",): " (the scenario's name, for instance 'name: support-bot')",
    ("dataset",): " (for instance 'dataset: rows.jsonl')",
    ("metrics",): " (for instance 'metrics: [em, f1]')",
}


def _unknown_key(location: YamlPath) -> str:
    key, parents = str(location[-1]), location[:-1]
    known = sorted(_model_at(parents).model_fields)
    hint = did_you_mean(key, known)
    inside = f" under {dotted(parents)}" if parents else ""
    return f"unknown key {shorten(key)!r}{inside}.{hint} Known: {', '.join(known)}"


def _model_at(location: YamlPath) -> type[BaseModel]:
    """Return the schema model of the value at ``location``."""
    model: type[BaseModel] = Scenario
    for step in location:
        annotation = model.model_fields[step].annotation if step in model.model_fields else None
        model = model_in(annotation) or model
    return model


_EXPECTED = {
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}

_LIMITS = {
    "greater_than_equal": (">=", "ge"),
    "greater_than": (">", "gt"),
    "less_than_equal": ("<=", "le"),
    "less_than": ("<", "lt"),
}


def reworded(detail: ErrorDetails) -> str:
    """Return pydantic's message in the words of a YAML file, with what was found."""
    context, kind = detail.get("ctx", {}), detail["type"]
    # A mapping whose keys cannot be read has no place inside.
    in_model = {*detail["loc"][:1]} <= {"judge", "embedding", "models", "target"}
    found = _shown(detail["input"], in_model and is_secret(detail["loc"]))
    match kind:
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"expected {context['expected']}, found {found}"
        case "too_short":
            return "must not be empty"
        case _ if kind in _LIMITS:
            sign, name = _LIMITS[kind]
            return f"expected a number {sign} {value_text(context[name])}, found {found}"
        case _ if kind in _EXPECTED:
            return f"expected {_EXPECTED[kind]}, found {found}"
    return f"{detail['msg']}, found {found}"


def _shown(value: Any, may_be_secret: bool) -> str:
    """Return a value as messages quote it; only its kind where it may be a secret."""
    if value is None:
        return "nothing"
    if may_be_secret or isinstance(value, dict | list):
        kind = kind_of(value)
        return kind if kind == "text" else f"a {kind}"
    return shorten(repr(value))


def kind_of(value: Any) -> str:
    """Return what YAML calls a value of this type.

    >>> kind_of({}), kind_of("x"), kind_of(1.5)
    ('mapping', 'text', 'float')
    """
    names = {dict: "mapping", list: "list", str: "text", bool: "boolean", int: "number"}
    return names.get(type(value), type(value).__name__)

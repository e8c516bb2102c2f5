"""Instances of the JSON Schema of a reply: what a judge is shown, and what a dry run assumes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_rageval.clients.base import ReplySchema

_DEEPEST: Final = 8
_PUT: Final = "<put "

_WANTED: Final[Mapping[str, str]] = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def instance(schema: ReplySchema, leaf: Callable[[Mapping[str, Any]], Any], items: int) -> Any:
    """Return an object with every property of a schema, and ``items`` entries in each list.

    ``leaf`` gives the value for the schema of a text, a number or a choice.
    """
    definitions = schema.schema.get("$defs", {})

    def made(part: Mapping[str, Any], depth: int) -> Any:
        part = definitions.get(str(part.get("$ref", "")).rpartition("/")[2], part)
        choices = [one for one in part.get("anyOf", ()) if one.get("type") != "null"]
        if choices:
            return made({**part, "anyOf": (), **choices[0]}, depth)
        if depth > _DEEPEST:  # a schema may hold itself
            return None
        if "properties" in part:
            return {name: made(one, depth + 1) for name, one in part["properties"].items()}
        if part.get("type") == "array":
            item = {**part, "type": "string", **part.get("items", {})}  # with what it is about
            return [made(item, depth + 1) for _ in range(items)]
        return {} if part.get("type") == "object" else leaf(part)

    return made(schema.schema, 0)


def shown_example(schema: ReplySchema) -> str:
    """Return the form of a reply as JSON, with what belongs there in place of each value.

    A small model that is shown a JSON Schema gives it back. One that gives this back is noticed:
    the text in place of a number is none, and each text has five words or more, which no row has.
    """
    return json.dumps(instance(schema, _wanted, 1), ensure_ascii=False)


def gives_back(reply: str, schema: ReplySchema) -> bool:
    """Return whether a reply has a text that stands for a value in ``shown_example``."""
    if _PUT not in reply:
        return False
    places: list[str] = []
    instance(schema, lambda part: places.append(_wanted(part)), 1)
    return any(json.dumps(place, ensure_ascii=False)[1:-1] in reply for place in places)


def _wanted(part: Mapping[str, Any]) -> str:
    choices = part.get("enum") or ([part["const"]] if "const" in part else [])
    if choices:
        kind = f"one of {', '.join(map(str, choices))}"
    else:
        kind = _WANTED.get(str(part.get("type")), "your own text") + _limits(part)
    about = str(part.get("description") or part.get("title") or "").strip().rstrip(".")
    return f"{_PUT}{kind} here{about and ': '}{about}>"


def _limits(part: Mapping[str, Any]) -> str:
    low, high = part.get("minimum"), part.get("maximum")
    return "" if low is None or high is None else f" from {low} to {high}"

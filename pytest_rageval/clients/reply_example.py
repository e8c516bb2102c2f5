"""Instances of the JSON Schema of a reply: what a judge is shown, and what a dry run assumes."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_rageval.clients.base import ReplySchema

_DEEPEST: Final = 8

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
    """Return whether a value of a reply is the text that stands for one in ``shown_example``.

    Case, width, blanks, punctuation, JSON's escapes and the first word do not count.
    """
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), reply)
    text = unicodedata.normalize("NFKC", text).lower()
    if "here" not in text:
        return False
    kinds: list[str] = []
    instance(schema, lambda part: kinds.append(_kind(part)), 1)
    rows = (r"\W+".join(re.findall(r"\w+", f"{kind} here".lower())) for kind in set(kinds))
    # A value begins with it, and no more words follow: "Type your own text here" may be a row's.
    return any(re.search(rf"[\"':]\W*(?:put\W+)?{row}\s*[^\w\s]", text) for row in rows)


_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


def _wanted(part: Mapping[str, Any]) -> str:
    about = str(part.get("description") or part.get("title") or "").strip().rstrip(".")
    return f"<put {_kind(part)} here{about and ': '}{about}>"


def _kind(part: Mapping[str, Any]) -> str:
    choices = part.get("enum") or ([part["const"]] if "const" in part else [])
    if choices:
        return f"one of {', '.join(map(str, choices))}"
    return _WANTED.get(str(part.get("type")), "your own text") + _limits(part)


def _limits(part: Mapping[str, Any]) -> str:
    low, high = part.get("minimum"), part.get("maximum")
    return "" if low is None or high is None else f" from {low} to {high}"

"""JSON Schema, as far as checks of answers use it: reading a schema, and why a value does not fit.

What is not known here is refused, so that no rule is left out in silence. Nothing is fetched.
Texts and keys are compared in Unicode's form NFC; a pattern and a length take a text as it is.
"""

from __future__ import annotations

import json
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sized
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.errors import shorten, unknown_name

Search = Callable[[str, str, bool], bool]
"""(pattern, text, ignore_case) -> whether the pattern is found in the text."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "$comment", "title", "description", "default", "examples"}
)
_LIMITS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "minimum": lambda value, end: value >= end,
    "maximum": lambda value, end: value <= end,
    "exclusiveMinimum": lambda value, end: value > end,
    "exclusiveMaximum": lambda value, end: value < end,
}
_SIZES: Final[Mapping[str, tuple[type[Sized], Callable[[Any, Any], bool]]]] = {
    "minLength": (str, lambda size, end: size >= end),
    "maxLength": (str, lambda size, end: size <= end),
    "minItems": (list, lambda size, end: size >= end),
    "maxItems": (list, lambda size, end: size <= end),
}
_KNOWN: Final = (
    *("type", "enum", "const", "required", "properties", "additionalProperties", "items"),
    *("pattern", *_LIMITS, *_SIZES),
)
_DEEPEST: Final = 50


def check_schema(place: str, schema: Any, depth: int = 0) -> None:
    """Raise ValueError for what is no schema, or has a rule that is unknown here or wrong.

    ``place`` is where it stands, for the message.
    """
    if depth > _DEEPEST:
        raise ValueError(f"{place}: a JSON Schema nested more than {_DEEPEST} deep")
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        raise ValueError(f"{place}: expected a JSON Schema, found {shorten(repr(schema))}")
    for key in sorted(schema.keys() - _ANNOTATIONS, key=str):
        _check_rule(place, str(key), schema[key])
    for name, inner in _inner(schema):
        check_schema(f"{place}.{name}", inner, depth + 1)


def _check_rule(place: str, key: str, rule: Any) -> None:
    if key not in _KNOWN:
        raise ValueError(f"{place}: {unknown_name('rule of a JSON Schema', key, _KNOWN)}")
    if not _is_rule(key, rule):
        raise ValueError(f"{place}: {key} cannot be {shorten(repr(rule))}")
    if key == "pattern":
        check_pattern(f"{place}: pattern", rule)


def _is_rule(key: str, rule: Any) -> bool:
    if key == "type":
        names = rule if isinstance(rule, list) else [rule]
        return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)
    if key in ("enum", "required"):
        is_item = _is_json if key == "enum" else lambda name: isinstance(name, str)
        return isinstance(rule, list) and all(map(is_item, rule))
    if key == "properties":
        return isinstance(rule, Mapping) and all(isinstance(name, str) for name in rule)
    if key == "pattern":
        return isinstance(rule, str)
    if key in _LIMITS or key in _SIZES:
        is_number = isinstance(rule, int | float) and not isinstance(rule, bool)
        is_size = is_number and rule >= 0 and rule % 1 == 0
        # Not NaN; math.isnan raises an error for integers beyond 1e308.
        return is_size or (is_number and key in _LIMITS and abs(rule) >= 0)
    return key != "const" or _is_json(rule)


def _is_json(value: Any) -> bool:
    """Return whether ``json_key`` can compare the value: not dates and sets, from Python."""
    try:
        json_key(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, inner in schema.get("properties", {}).items():
        yield f"properties.{shorten(str(name))}", inner
    yield from ((key, schema[key]) for key in ("additionalProperties", "items") if key in schema)


def misfit(value: Any, schema: Any, search: Search) -> str | None:
    """Return why ``value`` does not fit a schema that ``check_schema`` took; None if it fits."""
    return next(_misfits(value, schema, search, "the value"), None)


def _misfits(value: Any, schema: Any, search: Search, where: str) -> Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{where} is not allowed"
        return
    yield from _wrong_value(value, schema, where)
    yield from _wrong_size(value, schema, where)
    pattern = schema.get("pattern", "")
    if isinstance(value, str) and pattern and not search(pattern, value, False):
        yield f"{where} does not match {pattern!r}"
    if isinstance(value, list) and "items" in schema:
        for at, item in enumerate(value):
            yield from _misfits(item, schema["items"], search, f"{where}[{at}]")
    if isinstance(value, dict):
        yield from _wrong_parts(value, schema, search, where)


def _wrong_value(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    named = schema.get("type", [])
    names = named if isinstance(named, list) else [named]
    if names and not any(_is_of(value, name) for name in names):
        yield f"{where} is not of the type {' or '.join(names)}"
    if "enum" in schema and json_key(value) not in map(json_key, schema["enum"]):
        yield f"{where} is none of {schema['enum']}"
    if "const" in schema and json_key(value) != json_key(schema["const"]):
        yield f"{where} is not {schema['const']!r}"


def _wrong_size(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    if _is_of(value, "number"):
        for key, holds in _LIMITS.items():
            if key in schema and not holds(value, schema[key]):
                yield f"{where} breaks {key} {schema[key]}"
    for key, (kind, holds) in _SIZES.items():
        if key in schema and isinstance(value, kind) and not holds(len(value), schema[key]):
            yield f"{where} breaks {key} {schema[key]}"


def _wrong_parts(
    value: dict[str, Any], schema: Mapping[str, Any], search: Search, where: str
) -> Iterator[str]:
    known = {_whole(name): rule for name, rule in schema.get("properties", {}).items()}
    names = set(map(_whole, value))
    yield from (
        f"{where} lacks {name!r}"
        for name in schema.get("required", ())
        if _whole(name) not in names
    )
    for name, part in value.items():
        rule = known.get(_whole(name), schema.get("additionalProperties", True))
        yield from _misfits(part, rule, search, f"{where}.{name}")


def _is_of(value: Any, name: str) -> bool:
    if isinstance(value, bool) and name != "boolean":
        return False
    is_of = isinstance(value, _TYPES[name])
    return is_of and (name != "integer" or value % 1 == 0)


def json_key(value: Any) -> str:
    """Return a text that is equal for equal JSON: 1 is 1.0, é is e and U+0301, true is not 1."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {
            _whole(key) if isinstance(key, str) else key: _whole(part)
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_LONGEST: Final = 10_000  # characters of a pattern


def check_pattern(place: str, pattern: str) -> None:
    """Raise ValueError for what is no regular expression of Python's ``re``, or is too long."""
    problem = _problem(pattern)
    if problem is not None:
        raise ValueError(f"{place}: {shorten(repr(pattern))} is no regular expression: {problem}")


@lru_cache(maxsize=4096)
def _problem(pattern: str) -> str | None:
    if len(pattern) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what may mean something else in a later Python
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None

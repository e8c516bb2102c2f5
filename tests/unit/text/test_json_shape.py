"""A28: JSON Schema of answers, rule by rule, against jsonschema's verdict where it is installed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_rageval.text.json_shape import misfit, read_shape


def fits(value: Any, schema: Any) -> bool:
    read_shape("s", schema)
    return misfit(value, schema, lambda p, text, _: re.search(p, text) is not None) is None


VALUES: list[Any] = [
    *(None, True, False, 0, 1, 1.0, 1.5, -1, 10, "", "a", "abc", "ACCT-1"),
    *([], [1], ["a", 1], {}, {"a": 1}, {"a": "x", "b": 2}, {"b": [1, {"c": None}]}),
]
SCHEMAS: list[Any] = [
    *(True, False, {}),
    *({"type": name} for name in ("object", "array", "string", "number", "integer", "boolean")),
    {"type": ["null", "string"]},
    {"enum": [1, "a", [1]]},
    {"const": True},
    {"const": 1},
    {"minimum": 1, "maximum": 5},
    {"exclusiveMinimum": 1},
    {"exclusiveMaximum": 1},
    {"minLength": 1, "maxLength": 3},
    {"minItems": 1, "maxItems": 1},
    {"pattern": "^ACCT-[0-9]+$", "title": "an account"},
    {"required": ["a"], "properties": {"a": {"type": "integer"}}},
    {"properties": {"a": {}}, "additionalProperties": False},
    {"additionalProperties": {"type": "number"}},
    {"items": {"type": "integer"}},
    {"properties": {"b": {"items": {"properties": {"c": False}}}}},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_verdicts_are_those_of_jsonschema(schema: Any) -> None:
    """[A28] Every schema on every value."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema)
    for value in VALUES:
        assert fits(value, schema) == validator.is_valid(value), value


def test_what_does_not_fit_is_named_with_its_place() -> None:
    """[A28]"""
    schema = {"properties": {"a": {"items": {"type": "string"}}}}
    found = misfit({"a": ["x", 1]}, schema, lambda *_: True)
    assert found == "the value.a[1] is not of the type string"

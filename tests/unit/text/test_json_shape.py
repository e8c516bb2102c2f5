"""A28: JSON Schema of answers, rule by rule, against jsonschema's verdict where it is installed."""

from __future__ import annotations

import datetime
import re
from typing import Any

import pytest

from pytest_rageval.text.json_shape import check_schema, misfit


def fits(value: Any, schema: Any) -> bool:
    check_schema("s", schema)
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


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({1: 2}, "s: unknown rule of a JSON Schema '1'"),
        ({"const": datetime.date(2024, 1, 1)}, "s: const cannot be datetime.date(2024, 1, 1)"),
        ({"const": CIRCLE}, "s: const cannot be [[...]]"),
        ({"enum": [1, {2}]}, "s: enum cannot be [1, {2}]"),
        ({"enum": "ab"}, "s: enum cannot be 'ab'"),
        ({"required": ["a", 1]}, "s: required cannot be ['a', 1]"),
        ({"minLength": -1}, "s: minLength cannot be -1"),
        ({"properties": {200: {"type": "string"}}}, "s: properties cannot be {200: {'type'"),
        ({"maxItems": 1.5}, "s: maxItems cannot be 1.5"),
        ({"maxItems": float("inf")}, "s: maxItems cannot be inf"),
        ({"minimum": float("nan")}, "s: minimum cannot be nan"),
        ({"minimum": True}, "s: minimum cannot be True"),
        (
            {"properties": {"a": {"items": {"format": "date"}}}},
            "s.properties.a.items: unknown rule of a JSON Schema 'format'",
        ),
        ({"additionalProperties": []}, "s.additionalProperties: expected a JSON Schema, found []"),
    ],
)
def test_a_schema_that_is_not_understood_is_refused_with_its_place(
    schema: Any, message: str
) -> None:
    """[A28] Also what only Python can write."""
    with pytest.raises(ValueError, match=rf"^{re.escape(message)}"):
        check_schema("s", schema)


def test_a_schema_is_at_most_fifty_deep() -> None:
    """[A28] 50 `items` around the innermost one."""
    schema: dict[str, Any] = {"minLength": 2.0, "const": [1, None, {"a": 0.5}]}
    for _ in range(50):
        schema = {"items": schema}
    check_schema("s", schema)
    with pytest.raises(ValueError, match="a JSON Schema nested more than 50 deep"):
        check_schema("s", {"items": schema})

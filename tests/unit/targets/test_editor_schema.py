"""E14: what editors are told of a target agrees with what the loader and the types take."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.scenario.schema import json_schema
from pytest_rageval.targets.base import TARGET_REGISTRY
from pytest_rageval.targets.editor_schema import editor_schema

SCENARIO = {"name": "s", "dataset": "rows.jsonl", "metrics": ["em"]}
TARGETS: list[tuple[Any, bool]] = [
    ("my_app:answer", True),
    ("http://127.0.0.1:8000/ask", True),
    (None, True),
    ({"use": "a:b", "options": {"k": 1}, "concurrency": 4}, True),
    ({"url": "http://h", "headers": {"X": "${Y}"}, "body": {"q": "{question}"}}, True),
    ({"type": "http", "fixture": "app_url", "url": "/ask", "x-own": 1}, True),
    ({"fixture": "bot", "timeout_s": 5}, True),
    ({"profile": "local", "prompt": "{contexts}", "retries": 0}, True),
    ({"model": "m", "price": {"input": 1.0}, "cache_answers": True}, True),
    ({"url": "http://h", "hedders": {}}, False),
    ({"type": "htp", "url": "http://h"}, False),
    ({"url": "http://h", "concurrency": 0}, False),
    ({"use": "a:b", "url": "http://h"}, False),
    ({"model": "m", "temperature": -1}, False),
    (7, False),
]


@pytest.mark.parametrize(("target", "is_valid"), TARGETS)
def test_the_schema_says_which_targets_there_are(target: Any, is_valid: bool) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(editor_schema())
    assert validator.is_valid({**SCENARIO, "target": target}) is is_valid


def test_every_type_and_option_is_listed_with_its_meaning() -> None:
    text, *forms = editor_schema()["$defs"]["TargetSpec"]["anyOf"]
    assert text["type"] == "string"
    by_type = {form["properties"]["type"]["enum"][0]: form["properties"] for form in forms}
    assert sorted(by_type) == TARGET_REGISTRY.names()
    for definition in TARGET_REGISTRY:
        assert set(definition.options.model_fields) <= set(by_type[definition.name])
    assert by_type["http"]["answer"]["description"] == "path of the answer: data.answer"


def test_without_the_types_any_option_is_taken() -> None:
    """The scenario's own schema does not know them."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid({**SCENARIO, "target": {"type": "of_a_plugin", "own": 1}})
    assert validator.is_valid({**SCENARIO, "target": "my_app:answer"})
    assert not validator.is_valid({**SCENARIO, "target": {"concurrency": "many"}})

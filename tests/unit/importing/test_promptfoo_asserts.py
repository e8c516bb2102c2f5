"""E22: each assert of promptfoo as a check, a criterion or a metric, or why it is none."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.importing.base import NotTakenError
from pytest_rageval.importing.files import Folder
from pytest_rageval.importing.promptfoo_asserts import Measured, left_over, take

TABLES = tomllib.loads(Path(__file__).with_name("promptfoo_asserts.toml").read_text("utf-8"))

VARIABLES = {"gold": "30 days", "n": 7, "list": ["a", "b"]}


def taken(kind: str, value: Any = None, folder: Path = Path("nowhere"), **keys: Any) -> Any:
    given = {"type": kind, **({} if value is None else {"value": value}), **keys}
    return take(given, VARIABLES, Folder(folder, folder))


@pytest.mark.parametrize(
    ("kind", "value", "check"),
    [
        ("contains", "{{gold}}", {"contains": "30 days"}),
        ("not-icontains", "x {{ n }}", {"not-icontains": "x 7"}),
        ("contains", "{{ '{{type}}' }}", {"contains": "{{type}}"}),
        ("contains", 220, {"contains": "220"}),
        ("contains-any", ["a", "{{gold}}"], {"contains-any": ["a", "30 days"]}),
        ("icontains-all", 'a, "b, c" , d', {"icontains-all": ["a", "b, c", "d"]}),
        ("starts-with", "Yes", {"starts-with": "Yes"}),
        ("equals", True, {"equals": "true"}),
        ("equals", {"a": 1}, {"equals": {"a": 1}}),
        # JavaScript's $ is the very end, and a group has another sign.
        ("regex", r"(?<day>3+)[$]\$$", {"regex": r"(?P<day>3+)[$]\$\Z"}),
        ("not-regex", "sorry", {"not-regex": "sorry"}),
        *(
            ("regex", pattern, {"regex": pattern})
            for pattern in (
                r"(?:a+)+",
                "(?=a)(?!b)a",
                "(?<=a)(?<!b)c",
                "(?i:a)",
                r"\(?i",
                "[*+]+",
                r"\++",
            )
        ),
        ("is-json", None, {"is-json": True}),
        ("is-json", "required: [a]", {"is-json": {"required": ["a"]}}),
        ("contains-json", {"type": "object"}, {"contains-json": {"type": "object"}}),
    ],
)
def test_asserts_that_are_checks(kind: str, value: Any, check: dict[str, Any]) -> None:
    """[E22]"""
    assert taken(kind, value) == check


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    TABLES["patterns_mean_what_they_mean_in_javascript"],
)
def test_patterns_mean_what_they_mean_in_javascript(
    pattern: str, text: str, is_found: bool
) -> None:
    """[E22]"""
    written = taken("regex", pattern)["regex"]
    assert (re.search(written, text) is not None) is is_found


def test_a_latency_is_in_seconds_here_and_weights_stay() -> None:
    """[E22] promptfoo's are milliseconds."""
    assert taken("latency", threshold=8000) == {"max_latency_s": 8.0}
    assert taken("contains", "a", weight=2) == {"contains": "a", "weight": 2.0}


def test_a_value_in_a_file_is_read(tmp_path: Path) -> None:
    """[E22] As text, or as a schema."""
    (tmp_path / "gold.txt").write_text("30 days", encoding="utf-8")
    (tmp_path / "shape.json").write_text('{"type": "object"}', encoding="utf-8")
    assert taken("contains", "file://gold.txt", tmp_path) == {"contains": "30 days"}
    assert taken("is-json", "file://shape.json", tmp_path) == {"is-json": {"type": "object"}}


@pytest.mark.parametrize(
    ("kind", "value", "criteria"),
    [
        ("llm-rubric", "is polite", ["is polite"]),
        ("g-eval", ["is short", "is clear"], ["is short", "is clear"]),
        ("model-graded-closedqa", "names {{gold}}", ["names 30 days"]),
    ],
)
def test_asserts_that_a_judge_decides(kind: str, value: Any, criteria: list[str]) -> None:
    """[E22]"""
    assert taken(kind, value, threshold=0.7) == criteria


def test_asserts_that_are_metrics() -> None:
    """[E22] The threshold of similar is 0.75 when it says none."""
    assert taken("similar", "{{gold}}") == Measured("similar", 0.75, "30 days")
    found = taken("context-faithfulness", threshold=0.9)
    assert found == Measured("context-faithfulness", 0.9)


@pytest.mark.parametrize(
    ("kind", "keys", "reason"),
    [
        ("ruby", {"value": "output.length < 5"}, "runs code"),
        ("python", {"value": "file://check.py"}, "there is no file check.py"),
        ("javascript", {"value": " "}, "its value is no script"),
        ("contains", {"value": "file://check.js:name"}, "runs code"),
        ("contains", {"value": "a", "transform": "output.x"}, "its transform cannot be followed"),
        ("contains", {"value": "{{ gold | upper }}"}, "{{ gold | upper }} is more than a variable"),
        ("contains", {"value": "{% if gold %}a{% endif %}"}, "is more than a variable"),
        ("contains", {"value": "{{nothing}}"}, "no variable 'nothing'"),
        ("contains", {"value": ""}, "its value is no text"),
        ("contains-any", {}, "its value is missing"),
        ("not-contains-all", {"value": None}, "its value is missing"),
        ("equals", {}, "its value is missing"),
        ("is-html", {}, "has no counterpart here"),  # these take no value
        ("not-is-refusal", {}, "has no counterpart here"),
        ("cost", {"threshold": 1}, "has no counterpart here"),
        ("starts-with", {}, "its value is missing"),
        ("contains", {"value": "a", "weight": 0}, "with weight 0 it decides nothing"),
        ("contains", {"value": "file://https://x.org/a.txt"}, "is not on this machine"),
        ("contains", {"value": "file://gone.txt"}, "there is no file gone.txt"),
        ("contains", {"value": "file:///etc/hostname"}, "lies outside of nowhere"),
        ("regex", {"value": "(a"}, "is no regular expression"),
        ("regex", {"value": r"(a)?b\1"}, "it refers back to a group"),
        ("is-json", {"value": {"oneOf": []}}, "unknown rule of a JSON Schema 'oneOf'"),
        ("latency", {}, "expected a number, found None"),
        ("context-recall", {"value": "a"}, "without a threshold it decides nothing"),
        ("llm-rubric", {}, "its value is no text"),
        ("containsAny", {"value": ["a"]}, "has no counterpart here"),
        ("not-llm-rubric", {"value": "a"}, "has no counterpart here"),
    ],
)
def test_asserts_that_are_not_taken_say_why(kind: str, keys: dict[str, Any], reason: str) -> None:
    """[E22]"""
    with pytest.raises(NotTakenError, match=re.escape(reason)):
        taken(kind, **keys)


@pytest.mark.parametrize(
    "pattern", ["(?i)x", "(?>a)", "a++", "a{2}+", "a?+", "(?#x)a", "(?P<a>x)", "(?:a)", "(?<a>x)"]
)
def test_a_pattern_that_javascript_refuses_is_read_as_python_does(pattern: str) -> None:
    """It was meant, and a dropped check would pass every answer."""
    check = taken("not-regex", pattern)
    said = left_over({"type": "not-regex", "value": pattern}, check)
    assert check.keys() == {"not-regex"}
    why = ["JavaScript refuses this; here it is read as Python does"]
    assert [one for _, one in said] == ([] if pattern in ("(?:a)", "(?<a>x)") else why)

"""A15: texts of which only what differs is written anew."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.scenario.yaml.edit import EditError, edited
from pytest_rageval.scenario.yaml.tree import inline_text, parse_yaml

ROWS = tomllib.loads(Path(__file__).with_name("edit.toml").read_text("utf-8"))


def change(text: str, **values: Any) -> str:
    """Return ``text`` with keys at its top set, or removed by None."""
    old = parse_yaml(text, "").data
    new = {key: value for key, value in {**old, **values}.items() if value is not None}
    return edited(text, old, new)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    ROWS["a_value_is_written_in_the_place_of_the_old_one"],
)
def test_a_value_is_written_in_the_place_of_the_old_one(
    text: str, value: Any, expected: str
) -> None:
    assert change(text, a=value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nz: 1\n", "z: 1\n"),
        ("# of a\na: 1\nz: 1 # c\n", "# of a\nz: 1 # c\n"),
        ("z: 1\na:\n  b: |+\n    x\n\n", "z: 1\n"),
        ("z: 1\na:\n  b:\n# end\n", "z: 1\n# end\n"),
        ("{a: 1, z: 1}", "{z: 1}"),
        ("{z: 1, a: 1}", "{z: 1}"),
        ("{z: 1, a: 1,}", "{z: 1}"),
        ("{z: 1, # of z\n a: 1 # of a\n}", "{z: 1 # of z\n  # of a\n}"),
        ("{\n a: 1, # of a\n z: 1\n}", "{\n  # of a\n z: 1\n}"),
    ],
)
def test_a_key_goes_and_comments_stay(text: str, expected: str) -> None:
    assert change(text, a=None) == expected


def test_several_keys_go_from_one_line() -> None:
    assert change("{a: 1, z: 1, b: 2, c: 3}", a=None, b=None, c=None) == "{z: 1}"
    assert change("{a: 1, b: 2, z: 1, c: 3}", a=None, b=None, d=4) == "{z: 1, c: 3, d: 4}"
    assert change("{a: 1, b: 2}", a=None, b=None, d=4) == "{d: 4}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: |+\n  x\n\n", "a: |+\n  x\n\nb: 1\n"),
        ("a: |\n  # no comment\n# one\n", "a: |\n  # no comment\nb: 1\n# one\n"),
        ("a:\n  c: *x # c\n\n# end\n", "a:\n  c: *x # c\nb: 1\n\n# end\n"),
        ("a:\n  - c:\n# end\n", "a:\n  - c:\nb: 1\n# end\n"),
        ("a: {c: 1} # c\n...\n", "a: {c: 1} # c\nb: 1\n...\n"),
        ("a: 'x\n  # no comment'\n", "a: 'x\n  # no comment'\nb: 1\n"),
        ("a:\n  c: 'x\n    # no comment'\n", "a:\n  c: 'x\n    # no comment'\nb: 1\n"),
        ("a:\n  c: 1\n  # d:\n  #  e\n\n# z\n", "a:\n  c: 1\n  # d:\n  #  e\nb: 1\n\n# z\n"),
        ("a:\n  c: 1\n# z: 1\n\n  # d: 1\n# end", "a:\n  c: 1\n# z: 1\n\n  # d: 1\nb: 1\n# end"),
        ("a: 1\r\n # of a", "a: 1\r\n # of a\r\nb: 1"),
    ],
)
def test_a_new_key_follows_the_last_one(text: str, expected: str) -> None:
    text, expected = (
        found.replace("a:\n  c: *x", "x: &x 1\na:\n  c: *x") for found in (text, expected)
    )
    assert change(text, b=1) == expected


def test_a_new_key_of_a_block_stands_before_comments_at_its_own_column() -> None:
    text = "a:\n  c: 1\n  # d: 1\nz: 1\n"
    assert edited(text, {"a": {"c": 1}, "z": 1}, {"a": {"c": 1, "b": 2}, "z": 1}) == (
        "a:\n  c: 1\n  b: 2\n  # d: 1\nz: 1\n"
    )


@pytest.mark.parametrize(
    "text", ["? a\n: 1\n", "a: &x\n  b: 1\nc: 1\n", "a: !!map\n  b: 1\nc: 1\n", "- a\n"]
)
def test_what_cannot_be_changed_in_place_is_said(text: str) -> None:
    with pytest.raises(EditError):
        edited(text, {"a": {"b": 1}}, {"a": {}})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1e-05, "1.0e-05"), (1e16, "1.0e+16"), (0.1, "0.1"), (3, "3"), (True, "true"),
        (float("inf"), ".inf"), (float("-inf"), "-.inf"), ("inf", "inf"), (".inf", '".inf"'),
        (None, "null"), ("plain text", "plain text"), ("yes", "yes"), ("1", '"1"'), ("", '""'),
        ("a: b", '"a: b"'), ("a #b", '"a #b"'), ("null", '"null"'), (" x", '" x"'),
        ("两\n行", '"两\\n行"'), ("\x85\u2028\ufeff", '"\\u0085\\u2028\\ufeff"'), ("😀", '"😀"'),
        ({}, "{}"), ([[], {"a": [1]}], "[[], {a: [1]}]"),
    ],
)  # fmt: skip
def test_values_as_text(value: Any, expected: str) -> None:
    assert inline_text(value) == expected
    assert parse_yaml(f"[{expected}]", "").data == [value]

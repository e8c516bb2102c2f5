"""Paths into a reply: what they reach, and what they say where they do not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.text.json_value import LostPathError, head_of, parse_path, path_in

ROWS = tomllib.loads(Path(__file__).with_name("json_path.toml").read_text("utf-8"))

REPLY: dict[str, Any] = {
    "data": {"answer": "Paris", "hits": [{"text": "a", "tags": ["x"]}, {"text": "b", "tags": []}]},
    "choices": [{"message": {"content": "Rome"}}],
    "a.b": 1,
    "none": None,
    "empty": [],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("data.answer", "Paris"),
        ("$.data.answer", "Paris"),
        ("$", REPLY),
        ("choices[0].message.content", "Rome"),
        ("choices[-1]['message'].content", "Rome"),
        ('["a.b"]', 1),
        ("data.hits[*].text", ["a", "b"]),
        ("data.hits[*].tags[*]", ["x"]),
        ("empty[*].text", []),
        ("none", None),
    ],
)
def test_a_path_reaches_what_it_names(path: str, found: Any) -> None:
    """[A21]"""
    assert parse_path(path).pick(REPLY) == found


@pytest.mark.parametrize(
    ("path", "message"),
    ROWS["a_path_that_leads_nowhere_says_how_far_it_led"],
)
def test_a_path_that_leads_nowhere_says_how_far_it_led(path: str, message: str) -> None:
    """[A21] A key that is not there is no empty answer."""
    with pytest.raises(LostPathError) as caught:
        parse_path(path).pick(REPLY)
    assert str(caught.value) == f"nothing at {path!r}: {message}"


@pytest.mark.parametrize("text", ["", " ", "a..b", "a.", "a[", "a[x]", "a]", "[0]x", "*", "a[1.5]"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a path; write 'data.answer'"):
        parse_path(text)


@pytest.mark.parametrize(
    ("path", "root"), [("data.answer", "data"), ("[0].text", None), ("[*].text", None), ("$", None)]
)
def test_the_root_is_the_key_at_the_top(path: str, root: str | None) -> None:
    assert parse_path(path).root == root


@pytest.mark.parametrize(
    ("column", "head"),
    [
        ("meta.source", "meta"),
        ("hits[*].text", "hits"),
        ("out[-1]", "out"),
        ("answer", "answer"),
        ("Gold answer?", "Gold answer?"),
        ("a..b", "a..b"),
        ("$x", "$x"),
    ],
)
def test_the_column_in_which_a_path_begins(column: str, head: str) -> None:
    """F5: what is no path is the name of a column."""
    assert head_of(column) == head
    assert (path_in(column) is None) == (head == column)


def test_a_path_that_is_lost_behind_every_item_says_so() -> None:
    for path, in_list in (("data.hits[*].txt", True), ("dta.hits[*].text", False)):
        with pytest.raises(LostPathError) as caught:
            parse_path(path).pick(REPLY)
        assert caught.value.in_list is in_list

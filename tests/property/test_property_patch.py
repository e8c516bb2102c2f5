"""A15: whatever a file looks like, a patch changes what it says as asked for, and nothing else."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.scenario.loader import parse_json
from pytest_rageval.scenario.yaml.edit import edited, same
from pytest_rageval.scenario.yaml.tree import inline_text, parse_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["yes", "null", "1", "1e3", "a: b", "x #y", "- a", "", " ", "手册.pdf", "0x1", "~"]
)
NUMBERS = st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = TEXTS | NUMBERS | st.booleans() | st.none()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
MAPPINGS = st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4)
NEWLINES = st.sampled_from(["\n", "\r\n"])


def layout(draw: Any, value: Any, column: int, comments: list[str]) -> list[str]:
    """Return lines of a block mapping at a column, with blanks, comments and flows as they come."""
    lines = []
    for key, part in value.items():
        if draw(st.booleans()):
            comments.append(f"# {len(comments)} über")
            lines.append(" " * draw(st.integers(0, column + 2)) + comments[-1])
        if draw(st.integers(0, 4)) == 0:
            lines.append("")
        gap = " " * draw(st.integers(1, 3))
        name = inline_text(key, draw(st.sampled_from(["", '"', "'"])))
        head, tail = f"{' ' * column}{name}:", ""
        if draw(st.integers(0, 2)) == 0:
            comments.append(f"# {len(comments)} beside")
            tail = " " + comments[-1]
        if isinstance(part, dict) and part and draw(st.booleans()):
            step = draw(st.integers(1, 6))
            lines.append(head + tail)
            lines += layout(draw, part, column + step, comments)
        elif isinstance(part, list) and part and draw(st.booleans()):
            step = draw(st.integers(0, 3))
            lines.append(head + tail)
            lines += [f"{' ' * (column + step)}-{gap}{inline_text(item)}" for item in part]
        elif part is None and draw(st.booleans()):
            lines.append(head + tail)
        else:
            quote = draw(st.sampled_from(["", '"', "'"]))
            lines.append(f"{head}{gap}{inline_text(part, quote)}{tail}")
    return lines


@st.composite
def files(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[str]]:
    """Return a file, what it says, and the comments in it."""
    value, comments = draw(MAPPINGS), []  # type: tuple[dict[str, Any], list[str]]
    newline = draw(NEWLINES)
    text = newline.join(layout(draw, value, 0, comments))
    return text + draw(st.sampled_from(["", newline, newline * 2])), value, comments


@st.composite
def changed(draw: st.DrawFn, value: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return ``value`` with some entries changed, added and taken out."""
    fresh = deepcopy(value)
    for key in list(fresh):
        action = draw(st.sampled_from(["keep", "keep", "change", "remove", "deeper"]))
        if action == "change":
            fresh[key] = draw(VALUES)
        elif action == "remove":
            del fresh[key]
        elif action == "deeper" and isinstance(fresh[key], dict) and depth < 3:
            fresh[key] = draw(changed(fresh[key], depth + 1))
        elif action == "deeper" and isinstance(fresh[key], list):
            fresh[key] += draw(st.lists(VALUES, max_size=2))
    fresh.update(draw(st.dictionaries(TEXTS, VALUES, max_size=2)))
    return fresh or {"kept": 1}


@pytest.mark.full
@given(data=st.data())
def test_the_file_says_what_was_asked_for(data: st.DataObject) -> None:
    text, said, _ = data.draw(files())
    tree = parse_yaml(text, "")
    assert same(tree.data, said)
    wanted = data.draw(changed(said))
    fresh = edited(text, tree.data, wanted)
    found = parse_yaml(fresh, "")
    assert found.problems == tree.problems
    assert same(found.data, wanted), fresh


@pytest.mark.full
@given(data=st.data(), indent=st.sampled_from([None, 1, 2, "\t"]))
def test_json_stays_json(data: st.DataObject, indent: Any) -> None:
    """B12: with one key removed, changed or added after the other."""
    said = data.draw(MAPPINGS)
    text = json.dumps(said, indent=indent)
    tree = parse_json(text, "s.json")
    assert same(tree.data, said)
    wanted = data.draw(changed(said))
    assert same(json.loads(edited(text, tree.data, wanted)), wanted)


@given(data=st.data(), number=NUMBERS)
def test_one_changed_number_leaves_every_other_character(
    data: st.DataObject, number: float
) -> None:
    text, said, comments = data.draw(files())
    tree = parse_yaml(text, "")
    key = data.draw(st.sampled_from(sorted(said)))
    if not isinstance(said[key], dict | list):
        fresh = edited(text, tree.data, {**said, key: number})
        assert all(comment in fresh for comment in comments)
        before, after = text.split("\n"), fresh.split("\n")
        assert len(before) == len(after)
        assert sum(old != new for old, new in zip(before, after, strict=True)) <= 1


@given(value=VALUES, quote=st.sampled_from(["", '"', "'"]))
def test_new_text_is_read_back_as_the_value(value: Any, quote: str) -> None:
    text = inline_text(value, quote)
    assert same(parse_yaml(f"[{text}]", "").data, [value])
    assert same(parse_yaml(f"k: {text}\n", "").data, {"k": value})

"""X3, X4: one limit of depth, and one of numbers, for all that is read."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest
from within_a_minute import within_a_minute

from pytest_rageval.text.codec import (
    MAX_DEPTH,
    LimitError,
    cut_json,
    excess,
    excess_in,
    read_json,
    read_json_rows,
)

DEPTHS = (MAX_DEPTH + 1, 190, 192, 500, 980, 1000, 3000, 100_000)


def nested(depth: int, inside: str = "") -> str:
    """Return JSON that is ``depth`` deep: ``[]`` is 1 deep."""
    return "[" * depth + inside + "]" * depth


def value_of(depth: int) -> Any:
    """Return lists of Python that are ``depth`` deep."""
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_64_levels_are_read() -> None:
    """The limit itself is allowed, for lists and for objects."""
    assert read_json(nested(64)) == value_of(64)
    assert read_json('{"a":' * 64 + "1" + "}" * 64)["a"]["a"]


@pytest.mark.parametrize("depth", DEPTHS)
def test_what_is_deeper_is_one_kind_of_error(depth: int) -> None:
    """Also where Python's own limit ends; the message says what is allowed and what to do."""
    for text in (nested(depth), nested(depth).encode(), '{"a":' * depth + "1" + "}" * depth):
        with pytest.raises(LimitError, match=r"nested more than 64 deep, .* keep the value"):
            read_json(text)


def test_brackets_in_texts_are_no_depth() -> None:
    """A text of code has many of them."""
    assert read_json(json.dumps(["[{" * 1000]))


def test_many_brackets_side_by_side_are_no_depth() -> None:
    """Rows have many lists."""
    assert len(read_json("[" + ",".join(["[]"] * 1000) + "]")) == 1000


def test_a_number_that_python_refuses_is_its_digits() -> None:
    """``int`` reads at most 4,300 digits; those of other numbers stay numbers."""
    assert read_json(f'[{"7" * 5000}, {"7" * 400}, 1, -{"7" * 4300}]') == [
        "7" * 5000, int("7" * 400), 1, "-" + "7" * 4300
    ]  # fmt: skip


def test_broken_json_keeps_pythons_message() -> None:
    """Its place is what the user needs."""
    with pytest.raises(json.JSONDecodeError, match="line 2 column 1"):
        read_json("[1,\n}")


@pytest.mark.parametrize("depth", DEPTHS)
def test_of_rows_only_what_is_too_deep_is_cut(depth: int) -> None:
    """The other rows are read, the deep one is still too deep, and found by its column."""
    rows = read_json_rows(f'[{{"q": "a"}},\n{{"q": "]", "m": {nested(depth, "1")}}}, {{"q": "c"}}]')
    assert [row["q"] for row in rows] == ["a", "]", "c"]
    assert [excess_in(row)[:29] for row in rows] == ["", "'m': nested more than 64 deep", ""]


def test_what_follows_a_cut_stays_at_its_place() -> None:
    """So messages of what is broken elsewhere name the right line and column."""
    deep = nested(500, "1,\n2")
    cut = cut_json(f'{{"a": {deep}, "b": 1')
    assert len(cut) == len(deep) + len('{"a": , "b": 1')
    assert cut.count("\n") == 1
    assert cut.endswith('], "b": 1')


@pytest.mark.full
def test_cutting_takes_no_longer_with_open_quotes() -> None:
    """A text without an end, in the hardest form for a pattern: linear."""
    with within_a_minute():
        cut_json("[" * 100_000 + '"' + "\\" * 1_000_001)


@pytest.mark.parametrize("depth", [*DEPTHS, 64])
def test_values_of_python_have_the_same_limit(depth: int) -> None:
    """In lists, tuples, objects, sets, keys and arrays of objects."""
    is_deep = depth > 64
    assert bool(excess(value_of(depth))) is is_deep
    array = numpy.array([None], dtype=object)
    array[0] = value_of(depth - 1)
    assert bool(excess(array)) is is_deep
    key: Any = ()
    for _ in range(depth - 2):
        key = (key,)
    if depth < 900:  # its hash is Python's own recursion
        assert bool(excess({key: 1})) is is_deep


def test_what_holds_itself_is_too_deep() -> None:
    """Twice even, which would be 2^64 values."""
    value: list[Any] = []
    value += [value, value]
    assert excess_in({"a": 1, "b": value}).startswith("'b': nested")

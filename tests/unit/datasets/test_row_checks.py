"""A28: what rows ask of their answers, as the columns of data have it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_rageval.datasets.base import Row
from pytest_rageval.datasets.key_map import KeyMap
from pytest_rageval.datasets.merged import merged
from pytest_rageval.datasets.save import columns_of, row_of
from pytest_rageval.model import InvalidRow, Sample


def read(*, tabular: bool = False, **fields: Any) -> Any:
    return KeyMap({}).case(Row(1, 2, fields, tabular), 0)


def test_a_cell_holds_one_text_or_a_list_in_json() -> None:
    """[A28]"""
    found = read(tabular=True, must_include="$1,500", must_not_include='["a", "b"]')
    assert (found.must_include, found.must_not_include) == (("$1,500",), ("a", "b"))


@pytest.mark.parametrize(
    "cell",
    [
        *("sorry; cannot", "sorry|cannot", "sorry\ncannot", "sorry, cannot", "13,14"),
        *("抱歉；无法", "抱歉、无法", "抱歉，无法", "آسف، لا"),
    ],
)
def test_a_cell_that_may_hold_several_texts_is_refused(cell: str) -> None:
    """[A28] Taken as one text, must_not_include would hold for every answer."""
    found = read(tabular=True, must_not_include=cell)
    assert isinstance(found, InvalidRow)
    assert 'write texts as JSON, ["first", "second"]' in found.reason
    commas = {",", "，", "、", "،"} & {*cell}  # not found as one text, it is red
    assert isinstance(read(tabular=True, must_include=cell), InvalidRow) != bool(commas)
    assert read(tabular=True, must_include=json.dumps([cell])).must_include == (cell,)
    assert read(must_not_include=cell).must_not_include == (cell,)  # JSON says what it means
    assert read(tabular=True, must_match=cell).must_match == (cell,)


def test_a_list_that_a_json_text_spells_is_that_list() -> None:
    """[A28] As a table that was turned into JSON has it: as one text it would be in no answer."""
    found = read(must_not_include='["sorry"]', must_include="['a', 'b']", must_satisfy=' ["c"]')
    assert (found.must_not_include, found.must_include) == (("sorry",), ("a", "b"))
    assert found.must_satisfy == ("c",)
    cut = read(must_not_include='["sorry')
    assert isinstance(cut, InvalidRow)
    assert cut.reason.startswith("must_not_include: the cell looks like a list")
    kept = read(must_include="[1]", must_match="['\"]x")  # a mark in a text, a pattern
    assert (kept.must_include, kept.must_match) == (("[1]",), ("['\"]x",))


def test_another_name_of_the_field_is_known() -> None:
    """[A28]"""
    assert read(answer_contains=["a"]).must_include == ("a",)


def test_checks_of_merged_rows_all_hold() -> None:
    """[A28] A list in a list would be of alternatives, of which one is enough."""
    rows = [
        Row(1, 1, {"id": "a", "must_include": ["x", "y"], "must_match": ["m"]}),
        Row(2, 2, {"id": "a", "must_include": ["z"], "must_match": ["m"]}),
    ]
    (row,) = merged(rows, "id", {})
    assert row.fields == {"id": "a", "must_include": ["x", "y", "z"], "must_match": ["m"]}


def test_lists_in_the_cells_of_merged_rows_are_read() -> None:
    """[A28] ``["sorry"]`` as one text would be in no answer, nor ``sorry;no``."""
    rows = [
        Row(1, 1, {"id": "a", "must_not_include": '["sorry", "no"]'}, tabular=True),
        Row(2, 2, {"id": "a", "must_not_include": "never"}, tabular=True),
        Row(3, 3, {"id": "b", "must_not_include": "sorry;no"}, tabular=True),
        Row(4, 4, {"id": "b", "must_not_include": "never"}, tabular=True),
    ]
    first, second = merged(rows, "id", {})
    assert isinstance(first, Row)
    assert first.fields == {"id": "a", "must_not_include": ["sorry", "no", "never"]}
    found = KeyMap({}).case(second, 1)
    assert isinstance(found, InvalidRow)
    assert found.reason.startswith("must_not_include: one text with ';', or several? 'sorry;no'")


def test_checks_are_saved_as_they_were() -> None:
    """[A28]"""
    fields = {
        "must_include": ["a", ["b", "c"]],
        "must_match": ["x+"],
        "answer_checks": [{"not-contains": "z"}],
    }
    found = read(**fields)
    assert isinstance(found, Sample)
    again = read(**row_of(found, columns_of({})))
    assert again == found

"""K21, K25: headers in two lines, and columns that are there twice."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_rageval.datasets.formats.headers import joined_names
from pytest_rageval.model import InvalidRow, Sample

Samples = Callable[..., list[Sample]]
Refused = Callable[..., list[str]]

TWO_LINES = "Input,,Gold,Bot,Bot\nid,question,answer,answer,latency\n1,When?,nine,at nine,12\n"


def book(rows: Sequence[Sequence[Any]], *merged: str) -> bytes:
    """Return a workbook with these rows and merged cells."""
    openpyxl = pytest.importorskip("openpyxl")
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for cells in merged:
        made.active.merge_cells(cells)
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("upper", "lower", "names"),
    [
        ("Input||Gold|Bot|Bot", "id|question|answer|answer|latency", True),
        (
            "id|Gold|||",
            "|question|answer|reference|note",
            ["id", "question", "answer", "reference", "note"],
        ),
        ("question|answer||", "When?|nine|a|b", None),
        ("question|answer|reference", "question|answer|reference", None),
        ("a||b|", "one|two|three|four", None),
        ("a|||b", "question|answer||note", None),
        ("a||a|", "question|answer|question|note", None),
    ],
)
def test_two_lines_are_joined_where_that_is_sure(upper: str, lower: str, names: Any) -> None:
    """K21: a group's name only tells equal names apart."""
    if names is True:
        names = ["id", "question", "Gold answer", "Bot answer", "latency"]
    assert joined_names(upper.split("|"), lower.split("|")) == names


def test_a_table_with_two_header_lines(samples: Samples, load: Callable[..., Any]) -> None:
    """K21: the first row is on the third line."""
    keys = {"answer": "Bot answer", "references": "Gold answer"}
    (found,) = samples("r.csv", TWO_LINES, key_map=keys)
    assert (found.id, found.question, found.answer) == ("1", "When?", "at nine")
    assert found.references == ("nine",)
    assert list(load("r.csv", TWO_LINES, key_map=keys).lines) == [3]


def test_a_sheet_with_two_header_lines(samples: Samples, load: Callable[..., Any]) -> None:
    """K21: with cells merged over groups, and over both lines."""
    rows = [["id", "Gold", None, "Bot"], [None, "question", "answer", "answer"], [1, "q", "a", "b"]]
    content = book(rows, "A1:A2", "B1:C1")
    keys = {"answer": "Bot answer", "references": "Gold answer"}
    (found,) = samples("r.xlsx", content, key_map=keys)
    assert (found.id, found.question, found.answer) == ("1", "q", "b")
    assert found.references == ("a",)
    assert list(load("r.xlsx", content, key_map=keys).lines) == [3]


@pytest.mark.parametrize("name", ["r.csv", "r.xlsx"])
def test_a_second_line_that_may_be_names_is_refused(refused: Refused, name: str) -> None:
    """K21: rows never shift in silence."""
    rows = [["Town", None, "Fare", None], ["from", "to", "adult", "child"], ["a", "b", "c", "d"]]
    text = "\n".join(",".join(cell or "" for cell in row) for row in rows)
    (problem,) = refused(name, text if name == "r.csv" else book(rows))
    assert problem.startswith(
        f"{name}:1: line 1 may be a title, and line 2 the names of the columns"
    )


@pytest.mark.parametrize("size", ["A1:C2", "A1", "A1:Z90", ""])
def test_rows_beyond_the_size_that_a_sheet_states_are_rows(samples: Samples, size: str) -> None:
    """[K21] Some programs write it wrong, and some write none."""
    rows = [["id", "question", "answer"], *([str(n), "q", f"a{n}"] for n in range(5))]
    whole, changed = zipfile.ZipFile(io.BytesIO(book(rows))), io.BytesIO()
    with zipfile.ZipFile(changed, "w") as made:
        for name in whole.namelist():
            said = f'<dimension ref="{size}"/>' if size else ""
            sheet = re.sub(rb"<dimension [^>]*/>", said.encode(), whole.read(name))
            made.writestr(name, sheet)
    found = samples("r.xlsx", changed.getvalue())
    assert [one.answer for one in found] == ["a0", "a1", "a2", "a3", "a4"]


def test_a_column_without_a_name_is_still_left_out(samples: Samples) -> None:
    """K21: a data frame's index, and notes beside the table."""
    (found,) = samples("r.csv", ",question,references,\n0,q,a,a note\n")
    assert (found.question, found.references, dict(found.metadata)) == ("q", ("a",), {})


@pytest.mark.parametrize("name", ["r.csv", "r.xlsx"])
def test_two_columns_of_one_name_and_equal_cells_are_one(samples: Samples, name: str) -> None:
    """K25: an index that is a column, too."""
    rows = [["span", "question", "span"], ["a", "q1", "a"], ["b", "q2", "b"]]
    text = "".join(",".join(row) + "\n" for row in rows)
    found = samples(name, text if name == "r.csv" else book(rows))
    assert [(row.question, dict(row.metadata)) for row in found] == [
        ("q1", {"span": "a"}),
        ("q2", {"span": "b"}),
    ]


@pytest.mark.parametrize("name", ["r.csv", "r.xlsx"])
def test_two_columns_of_one_name_that_differ_are_refused(refused: Refused, name: str) -> None:
    """K25: with the line."""
    rows = [["span", "question", "span"], ["a", "q1", "a"], ["b", "q2", "c"]]
    text = "".join(",".join(row) + "\n" for row in rows)
    (problem,) = refused(name, text if name == "r.csv" else book(rows))
    assert (
        problem
        == f"{name}:1: the header names a column twice: span, with different values on line 3"
    )


def test_a_broken_row_does_not_decide_about_twins(load: Callable[..., Any]) -> None:
    """K25: it has other cells."""
    first, second = load("r.csv", "a,question,a\n1,q\n2,q,2\n").cases
    assert isinstance(first, InvalidRow)
    assert isinstance(second, Sample)

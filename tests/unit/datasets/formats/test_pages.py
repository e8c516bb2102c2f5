"""[A30] A document that is one page of an export; others that only look like one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import Sample

Load = Callable[..., Dataset]

ROWS = [
    {"question": "q1", "answer": "a", "references": ["a"]},
    {"question": "q2", "answer": "b", "references": ["b"]},
]
LANGFUSE = {"meta": {"page": 1, "limit": 2, "totalItems": 120, "totalPages": 60}}
ADDRESS = "https://x.org/items?page=2"
LARAVEL = {
    "links": {"first": ADDRESS, "last": ADDRESS, "prev": None, "next": ADDRESS},
    "meta": {"current_page": 1, "last_page": 60, "links": [{"label": "1"}], "per_page": 2},
}


@pytest.mark.parametrize(
    "said",
    [
        {},
        # A document's own pages, as PDF loaders write them.
        {"file": "a.pdf", "total_pages": 12},
        {"file": "a.pdf", "page": 3, "total_pages": 12, "size": 180_400},
        {"metadata": {"producer": "x", "source": "a.pdf", "page": 0, "total_pages": 12}},
        # The next of a dialogue, of a form, of a list by hand.
        {"dialogue": "d1", "next": "greeting"},
        {"next": "Ask Anna for the second half", "metadata": {"next": "v2", "cursor": "row 7"}},
        {"next_page": "Billing and invoices", "page": "Prices"},
        {"page": 2, "next_page": 3, "file": "a.pdf"},
        {"next_question": "q3", "cursor": "open"},
        # A total of another thing; how many rows an evaluation was limited to.
        {"total": 4521, "unit": "tokens"},
        {"total": 0.5, "count": 7, "limit": 100},
        {"limit": 2, "seed": 7},
        {"total": 2, "limit": 5},
        # Whole exports: of one page, of the last page's empty cursor.
        {"meta": {"page": 1, "limit": 50, "totalItems": 2, "totalPages": 1}},
        {"meta": {"page": 1, "limit": 2, "totalItems": 2, "totalPages": 1}},
        {"object": "list", "has_more": False, "last_id": "b"},
        {"next_cursor": None},
        {"count": 2, "next": None, "previous": None},
        {"has_more": False, "next_cursor": "abc"},
        # Pages that were joined below what the first of them said.
        {"meta": {"page": 1, "limit": 1, "totalPages": 2}, "has_more": True},
        {"meta": {"page": 1, "limit": 1, "totalItems": 2, "totalPages": 2}},
        {"has_more": True, "total": 2},
        {"count": 2, "per_page": 1, "next": ADDRESS},
    ],
    ids=str,
)
def test_a_whole_document_is_no_page(load: Load, said: dict[str, Any]) -> None:
    found = load("r.json", json.dumps({"data": ROWS, **said}))
    assert [isinstance(case, Sample) for case in found.cases] == [True, True]
    assert found.warnings == ()


def test_a_page_in_yaml_is_told_as_one_in_json(load: Load) -> None:
    text = "has_more: true\nnext_cursor: abc\ndata:\n- {question: q, answer: a}\n"
    (warning,) = load("r.yaml", text).warnings
    assert "it tells of a next page ('has_more')" in warning


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (LANGFUSE, "it says that it is one of 60 pages"),
        ({"page": 7, "pageSize": 2, "totalPages": 60}, "it says that it is one of 60 pages"),
        ({"limit": 2, "has_more": True}, "it tells of a next page ('has_more')"),
        (
            {"meta": {"per_page": 2}, "next_page_token": "eyJ="},
            "it tells of a next page ('next_page_token')",
        ),
        (LARAVEL, "it tells of a next page ('links.next')"),
        ({"object": "list", "has_more": True}, "it tells of a next page ('has_more')"),
        ({"next_cursor": "abc"}, "it tells of a next page ('next_cursor')"),
        ({"cursors": {"next": "abc"}}, "it tells of a next page ('cursors.next')"),
        (
            {"count": 120, "next": ADDRESS, "previous": None},
            "it tells of a next page ('next')",
        ),
        ({"pagination": {"page": 2, "total_pages": 3}}, "it says that it is one of 3 pages"),
        ({"meta": {"page": 3, "limit": 50, "totalPages": 3}}, "it says that it is one of 3 pages"),
        (
            {"meta": {"page": 1, "limit": 50, "totalItems": 90, "totalPages": 2}},
            "it says that it is one of 2 pages",
        ),
        ({"items_of": "x", "total": 120, "page": 1, "size": 2}, "it says that there are 120 rows"),
    ],
    ids=str,
)
def test_what_says_that_it_is_a_page_is_a_warning(
    load: Load, said: dict[str, Any], reason: str
) -> None:
    """Its other rows are judged by nobody; they may have been left out on purpose."""
    found = load("r.json", json.dumps({"data": ROWS, **said}))
    assert [isinstance(case, Sample) for case in found.cases] == [True, True]
    (warning,) = found.warnings
    assert warning == (
        f"r.json: {reason}, and only the rows in it are read: add the others to the file; "
        "or, if these are all that you want, write rows_at: data (in 'dataset')"
    )


@pytest.mark.parametrize("said", [LANGFUSE, {"has_more": True}, {"next_cursor": "abc"}])
@pytest.mark.parametrize("name", ["r.json", "r.jsonl"])
def test_rows_at_says_that_its_rows_are_all(load: Load, name: str, said: dict[str, Any]) -> None:
    found = load(name, json.dumps({"data": ROWS, **said}, indent=1), rows_at="data")
    assert [isinstance(case, Sample) for case in found.cases] == [True, True]
    assert found.warnings == ()


@pytest.mark.parametrize("said", [LANGFUSE, {"has_more": True}])
def test_a_row_with_a_list_is_no_page(load: Load, said: dict[str, Any]) -> None:
    """One object that is a row, and columns, are no list under a key."""
    row = {**ROWS[0], "passages": [{"text": "a"}, {"text": "b"}], **said}
    assert len(load("r.json", json.dumps(row)).cases) == 1
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    assert load("r.json", json.dumps(columns)).warnings == ()

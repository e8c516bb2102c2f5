"""A17, A18, A19, D3, D7: from columns to fields."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.key_map import parse_contexts
from pytest_rageval.model import InvalidRow, Sample

Row = Callable[..., Any]
Samples = Callable[..., list[Sample]]


@pytest.mark.parametrize("name", ["question", "query", "user_input"])
def test_a_question_in_both_generations_of_names(row: Row, name: str) -> None:
    """A17."""
    assert row({name: "q"}).question == "q"


@pytest.mark.parametrize("name", ["answer", "response", "pred_answer"])
def test_an_answer_in_both_generations_of_names(row: Row, name: str) -> None:
    """A17."""
    assert row({name: "a"}).answer == "a"


@pytest.mark.parametrize(
    "name", ["references", "reference", "ground_truth", "ground_truths", "golden_answers"]
)
def test_references_in_both_generations_of_names(row: Row, name: str) -> None:
    """A17, D3: a bare string is one reference."""
    assert row({name: "a"}).references == ("a",)
    assert row({name: ["a", "b"]}).references == ("a", "b")


@pytest.mark.parametrize("name", ["contexts", "retrieved_contexts"])
def test_contexts_in_both_generations_of_names(row: Row, name: str) -> None:
    """A17."""
    assert row({name: ["a"]}).contexts == ("a",)


@pytest.mark.parametrize("name", ["id", "sample_id"])
def test_an_id_of_any_scalar_is_text(row: Row, name: str) -> None:
    """A17."""
    assert row({name: 7}).id == "7"
    assert row({name: " x "}).id == "x"
    assert row({name: ""}).id == "sample-1"
    assert row({name: None}).id == "sample-1"


def test_every_other_column_is_metadata(row: Row) -> None:
    """A17: what is missing, or no number, is left out."""
    found = row(
        {
            "answer": "a",
            "doc_name": "d.pdf",
            "section_path": "1/2",
            "difficulty": 3,
            "none": None,
            "nan": math.nan,
            "deep": {"x": [math.inf, 1]},
        }
    )
    assert found.doc_name == "d.pdf"
    assert found.metadata == {"section_path": "1/2", "difficulty": 3, "deep": {"x": [None, 1]}}


def test_of_two_columns_for_a_field_the_better_name_wins_where_it_has_a_value(row: Row) -> None:
    assert row({"query": "old", "question": "new"}).question == "new"
    assert row({"query": "old", "question": None}).question == "old"


def test_a_key_map_names_any_column(row: Row) -> None:
    """D7."""
    found = row(
        {"q": "Q", "pred": "A", "gold": ["G"], "question": "other"},
        key_map={"question": "q", "answer": "pred", "references": "gold"},
    )
    assert (found.question, found.answer, found.references) == ("Q", "A", ("G",))
    assert found.metadata == {"question": "other"}


def test_a_key_map_in_ultrarags_words(row: Row) -> None:
    """D7."""
    found = row(
        {"q": "Q", "p": "A", "g": ["G"]}, key_map={"q_ls": "q", "pred_ls": "p", "gt_ls": "g"}
    )
    assert (found.question, found.answer, found.references) == ("Q", "A", ("G",))


def test_a_column_that_the_key_map_gives_to_one_field_is_no_alias_of_another(row: Row) -> None:
    """D7: OpenQA's ``answer`` holds the golden answers."""
    found = row({"answer": ["G"], "prediction": "A"}, key_map={"references": "answer"})
    assert (found.answer, found.references) == (None, ("G",))
    found = row(
        {"answer": ["G"], "prediction": "A"},
        key_map={"references": "answer", "answer": "prediction"},
    )
    assert (found.answer, found.references) == ("A", ("G",))


def test_a_key_map_may_lead_into_objects(row: Row) -> None:
    """D7: meta.source; a column of that very name comes first."""
    found = row({"meta": {"source": "d.pdf", "x": 1}}, key_map={"doc_name": "meta.source"})
    assert found.doc_name == "d.pdf"
    found = row(
        {"meta.source": "flat", "meta": {"source": "deep"}}, key_map={"doc_name": "meta.source"}
    )
    assert found.doc_name == "flat"
    found = row({"meta": "text", "answer": "a"}, key_map={"doc_name": "meta.source"})
    assert found.doc_name is None


@pytest.mark.parametrize(
    ("value", "flat", "groups"),
    [
        ("a", ("a",), None),
        (["a", "b"], ("a", "b"), None),
        ([["a", "b"], ["c"]], ("a", "b", "c"), (("a", "b"), ("c",))),
        ([["a"], "b"], ("a", "b"), (("a",), ("b",))),
        ([["a"], []], ("a",), (("a",),)),
        ([1, 2.5, True], ("1", "2.5", "True"), None),
        (["", "a"], ("", "a"), None),
        ([], None, None),
        ([[]], None, None),
        ("", None, None),
        (None, None, None),
        ([None], None, None),
        ([None, "a"], ("a",), None),
        ([math.nan, "a"], ("a",), None),
        (math.nan, None, None),
        (42, ("42",), None),
    ],
)
def test_references_flat_and_in_groups(row: Row, value: Any, flat: Any, groups: Any) -> None:
    """A19, D1, D3: nested lists are answer groups, flattened for all metrics but stringem."""
    found = row({"references": value, "answer": "a"})
    assert (found.references, found.reference_groups) == (flat, groups)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('["a", "b"]', ("a", "b")),
        ("['a', 'b']", ("a", "b")),
        ("a", ("a",)),
        ("[a", ("[a",)),
        ("[sic] a", ("[sic] a",)),
        ("[1984]", ("1984",)),
        ("[]", None),
        ("[[]]", None),
    ],
)
def test_a_cell_of_a_table_may_spell_a_list(samples: Samples, cell: str, expected: Any) -> None:
    """A18: a cell can hold no list."""
    quoted = '"' + cell.replace('"', '""') + '"'
    (found,) = samples("r.csv", f"answer,references\nx,{quoted}\n")
    assert found.references == expected


def test_json_text_in_a_json_file_is_text(row: Row) -> None:
    assert row({"references": '["a", "b"]'}).references == ('["a", "b"]',)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", " ", "b "], ("a", "b")),
        ("a\n\nb\r\n\r\nc", ("a", "b", "c")),
        ('["a", "b"]', ("a", "b")),
        ("['a', None]", ("a",)),
        ([{"text": "a"}, {"contents": "b"}, {"page_content": "c", "score": 1}], ("a", "b", "c")),
        ([["a"], ["b", ["c"]]], ("a", "b", "c")),
        ({"text": "a"}, ("a",)),
        ([1, None, 2.5], ("1", "2.5")),
        ([math.nan, "a"], ("a",)),
        ("[]", ()),
        ("[ ]", ()),
        ("nan", ()),
        ("", ()),
        (None, ()),
        ([], ()),
    ],
)
def test_contexts_in_every_form(value: Any, expected: tuple[str, ...]) -> None:
    """A18: a JSON list, a Python literal list, paragraphs, objects with a passage."""
    assert parse_contexts(value) == expected


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"answer": ["a"]}, "answer must be text, found a list"),
        ({"answer": {"text": "a"}}, "answer must be text, found an object"),
        ({"question": ["q"]}, "question must be text, found a list"),
        ({"references": [{"text": "a"}]}, "a reference must be text, found an object"),
        ({"references": [[["a"]]]}, "a reference must be text, found a list"),
        ({"contexts": [{"body": "a"}]}, "a context is an object without a text under text, "),
        ({"id": [1]}, "id must be text, found a list"),
        ({"doc_name": {}}, "doc_name must be text, found an object"),
        ({"tags": [["a"]]}, "a tag must be text, found a list"),
        ({"skip": [1]}, "skip must be text, found a list"),
    ],
)
def test_a_value_that_its_field_cannot_have_makes_the_row_invalid(
    row: Row, fields: dict[str, Any], reason: str
) -> None:
    """A19: with the reason and what stood there."""
    found = row(fields)
    assert isinstance(found, InvalidRow)
    assert found.reason.startswith(reason)
    assert found.raw == repr(fields)


def test_an_invalid_row_keeps_the_id_that_it_has(row: Row) -> None:
    """A2, A19."""
    found = row({"id": "q7", "answer": ["a"]})
    assert (found.id, found.row, found.index) == ("q7", 1, 0)


def test_an_empty_answer_is_an_answer(row: Row) -> None:
    """A19: ``""`` in JSON is not missing."""
    assert row({"answer": ""}).answer == ""


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        ("slow", ("slow",)),
        ("slow, zh;hard", ("slow", "zh", "hard")),
        (["slow", "zh", "slow"], ("slow", "zh")),
        ('["slow", "zh"]', ("slow", "zh")),
        ("[]", ()),
        ("", ()),
        (None, ()),
        ([None, " a "], ("a",)),
        (3, ("3",)),
    ],
)
def test_tags_in_every_form(row: Row, value: Any, tags: tuple[str, ...]) -> None:
    """E7."""
    assert row({"tags": value, "answer": "a"}).tags == tags


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (True, ""),
        (False, None),
        ("true", ""),
        ("Yes", ""),
        ("1", ""),
        (1, ""),
        ("false", None),
        ("No", None),
        ("0", None),
        (0, None),
        ("", None),
        ("  ", None),
        (None, None),
        ("flaky source", "flaky source"),
    ],
)
@pytest.mark.parametrize("name", ["skip", "xfail"])
def test_skip_and_xfail_columns(row: Row, name: str, value: Any, reason: str | None) -> None:
    """E7: a reason, or a yes or no as tables and JSON spell it."""
    assert getattr(row({name: value, "answer": "a"}), name) == reason

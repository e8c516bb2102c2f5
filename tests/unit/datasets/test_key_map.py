"""A17, A18, A19, D3, D7: from columns to fields."""

from __future__ import annotations

import csv
import io
import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.base import Row as DataRow
from pytest_rageval.datasets.cells import parse_contexts
from pytest_rageval.datasets.key_map import KeyMap
from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

ROWS = tomllib.loads(Path(__file__).with_name("key_map.toml").read_text("utf-8"))

Row = Callable[..., Any]
Samples = Callable[..., list[Sample]]
Load = Callable[..., Dataset]


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


def test_a_whole_number_is_one_text_as_a_float_too(row: Row) -> None:
    """[E23] Data frames, and the JSON they write, have floats where a value is missing."""
    numbers = [2024.0, -0.0, 2.5, 1e300, 2**53 + 1, "1.0"]
    texts = ("2024", "0", "2.5", "1e+300", "9007199254740993", "1.0")
    assert row({"references": numbers}).references == texts


@pytest.mark.parametrize("name", ["contexts", "retrieved_contexts"])
def test_contexts_in_both_generations_of_names(row: Row, name: str) -> None:
    """A17."""
    assert row({name: ["a"]}).contexts == ("a",)


@pytest.mark.parametrize("name", ["id", "sample_id"])
def test_an_id_of_any_scalar_is_text(row: Row, name: str) -> None:
    """A17."""
    assert row({name: 7}).id == row({name: 7.0}).id == "7"
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


@pytest.mark.parametrize(
    ("path", "answer"), [("out.a[0].t", "x"), ("out.a[-1].t", "y"), ("$.out.a[1].t", "y")]
)
def test_a_key_map_may_lead_into_lists(row: Row, path: str, answer: str) -> None:
    """F5."""
    found = row({"out": {"a": [{"t": "x"}, {"t": "y"}]}}, key_map={"answer": path})
    assert found.answer == answer


def test_a_key_map_may_take_every_item_of_a_list(row: Row) -> None:
    """F5: and the rest of the items stays metadata."""
    hits = [{"text": "a", "score": 1}, {"text": "b", "score": 2}]
    found = row({"hits": hits}, key_map={"contexts": "hits[*].text"})
    assert found.contexts == ("a", "b")
    assert found.metadata == {"hits": [{"score": 1}, {"score": 2}]}
    plain = row({"hits": [{"text": "a"}]}, key_map={"contexts": "hits[*].text"})
    assert plain.metadata == {}


def test_an_item_without_what_the_others_have_makes_the_row_invalid(load: Load) -> None:
    """F5: a context that is left out would move all after it up."""
    rows = '{"hits": [{"text": "a"}, {"txt": "b"}]}\n{"hits": []}\n{"answer": "a"}'
    cases = load("qa.jsonl", rows, key_map={"contexts": "hits[*].text"}).cases
    assert isinstance(cases[0], InvalidRow)
    assert cases[0].reason.startswith("contexts: nothing at 'hits[*].text': at hits[*] there are")
    assert [case.contexts for case in cases[1:] if isinstance(case, Sample)] == [(), None]


@pytest.mark.parametrize(
    ("rows", "answers", "said"),
    ROWS["of_two_names_of_a_field_the_first_filled_one_counts"],
)
def test_of_two_names_of_a_field_the_first_filled_one_counts(
    load: Load, rows: str, answers: list[str], said: list[str]
) -> None:
    """F5: two that are filled differently are said."""
    found = load("qa.jsonl", rows)
    assert [case.answer for case in found.cases if isinstance(case, Sample)] == answers
    assert list(found.warnings) == said


@pytest.mark.parametrize(
    ("key_map", "keys", "said"),
    [
        ({"answer": "v2"}, {}, ["citations"]),
        ({"response": "v2"}, {}, ["citations"]),
        ({"answer": "v2", "citations": "citations"}, {}, []),
        ({"answer": "v2"}, {"brought": ["citations"]}, []),
        ({"answer": "answer"}, {}, []),
        ({"answer": "v2"}, {"of_answers": frozenset()}, []),
        ({"references": "v2"}, {}, []),
        ({"answer": "v2", "references": "answer"}, {}, []),
        ({"answer": "other"}, {}, ["citations"]),
        ({}, {}, []),
    ],
)
def test_what_stands_beside_another_answer_is_told(
    tmp_path: Path, key_map: dict[str, str], keys: dict[str, Any], said: list[str]
) -> None:
    """Citations of the answer of before would be judged as those of the new one."""
    row = {"answer": "x", "v2": "y", "other": "z", "citations": ["a"], "confidence": 0.5}
    (tmp_path / "qa.jsonl").write_text(json.dumps(row), encoding="utf-8")
    spec = DatasetSpec(path="qa.jsonl", key_map=key_map)
    keys = {"of_answers": frozenset({"citations"}), **keys}
    warnings = load_dataset(spec, tmp_path, "s.yaml:2", **keys).warnings
    answer = key_map.get("answer", "v2")
    assert list(warnings) == [
        f"qa.jsonl: {name!r} counts for {answer!r}, though 'answer' is there, too. If it is of "
        f"{answer!r}, write key_map: {{{name}: {name}}}, else name its own column"
        for name in said
    ]


def test_a_key_map_may_lead_into_objects(row: Row, load: Load) -> None:
    """D7: meta.source; a column of that very name comes first."""
    found = row({"meta": {"source": "d.pdf", "x": 1}}, key_map={"doc_name": "meta.source"})
    assert found.doc_name == "d.pdf"
    found = row(
        {"meta.source": "flat", "meta": {"source": "deep"}}, key_map={"doc_name": "meta.source"}
    )
    assert found.doc_name == "flat"
    mapped = {"doc_name": "meta.source"}
    rows = '{"meta": "text", "answer": "a"}\n{"meta": {"source": null}}'
    found = load("qa.jsonl", rows, key_map=mapped).cases[0]
    assert (found.doc_name, found.metadata) == (None, {"meta": "text"})


def test_what_the_key_map_takes_out_of_an_object_is_no_metadata(row: Row) -> None:
    """D7: the rest of the object is; nothing is left of one that held fields only."""
    mapped = {"doc_name": "meta.source", "answer": "meta.pred.text", "contexts": "search.hits"}
    meta = {"source": "d.pdf", "page": 3, "pred": {"text": "a", "model": "m"}, "none": None}
    found = row({"meta": meta, "search": {"hits": ["c"]}, "level": 1}, key_map=mapped)
    assert (found.doc_name, found.answer, found.contexts) == ("d.pdf", "a", ("c",))
    assert found.metadata == {
        "meta": {"page": 3, "pred": {"model": "m"}, "none": None},
        "level": 1,
    }


def test_a_column_of_which_no_row_leaves_anything_is_no_column_of_metadata(load: Load) -> None:
    """D7, A12: it would stand empty in scores.csv."""
    rows = (
        '{"pred": {"text": "a"}, "meta": {"source": "d"}, "level": 1}\n'
        '{"pred": null, "meta": {"page": 1}, "level": 1}\n'
    )
    found = load("qa.jsonl", rows, key_map={"doc_name": "meta.source", "answer": "pred.text"})
    assert found.metadata_columns == ("meta", "level")


@pytest.mark.parametrize(
    ("value", "flat", "groups"),
    [
        ("a", ("a",), None),
        (["a", "b"], ("a", "b"), None),
        ([["a", "b"], ["c"]], ("a", "b", "c"), (("a", "b"), ("c",))),
        ([["a"], "b"], ("a", "b"), (("a",), ("b",))),
        ([["a"], []], ("a",), (("a",),)),
        ([1, 2.5, True], ("1", "2.5", "True"), None),
        (["", "a"], ("a",), None),
        (["", " \n"], None, None),
        (" ", None, None),
        ([["a"], [""]], ("a",), (("a",),)),
        ([["a", ""], ["b"]], ("a", "b"), (("a",), ("b",))),
        ([["", ""]], None, None),
        ({"text": ["a", ""], "answer_start": [1, 2]}, ("a",), None),
        ([{"text": "a"}, {"text": " "}], ("a",), None),
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
    """A19, D1, D3: nested lists are answer groups, flattened for all metrics but stringem.

    A blank reference is missing, as null is: it would be a part of every answer.
    """
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
        ('["a", ""]', ("a",)),
        ('["", " "]', None),
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
        ([[{"text": "a"}, 0.9], ({"page_content": "b"}, 0.1)], ("a", "b")),  # with their scores
        ([["Revenue", 12.5]], ("Revenue", "12.5")),  # the line of a table
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
        ({"references": [{"span": "a"}]}, "a reference is an object without answer, text, value, "),
        ({"references": [[["a"]]]}, "a reference must be text, found a list"),
        ({"contexts": [{"body": "a"}]}, "a context is an object without a text under text, "),
        ({"id": [1]}, "id must be text, found a list"),
        ({"doc_name": {}}, "doc_name must be text, found an object"),
        ({"tags": [["a"]]}, "a tag must be text, found a list"),
        ({"skip": [1]}, "skip must be text, found a list"),
        # D5: a search that cannot be read.
        (
            {"reference_ids": {"a": 1.5}},
            "a grade in reference_ids must be a whole number, found 1.5",
        ),
        (
            {"reference_ids": {"a": "2"}},
            "a grade in reference_ids must be a whole number, found '2'",
        ),
        (
            {"reference_ids": {"a": True}},
            "a grade in reference_ids must be a whole number, found True",
        ),
        ({"reference_ids": {"a": math.inf}}, "a grade in reference_ids must be a whole number"),
        ({"reference_ids": {"a": 10**9}}, "a grade in reference_ids must be"),
        ({"reference_ids": {"a": -(10**9)}}, "a grade in reference_ids must be"),
        ({"reference_ids": {"a": 1e300}}, "a grade in reference_ids must be"),
        ({"reference_ids": '{"a": '}, "reference_ids is not a JSON object: '{\"a\": '"),
        ({"reference_ids": "{'a': 1, 'b'}"}, "reference_ids is not a JSON object: "),
        ({"reference_ids": [{"name": "a"}]}, "a document is an object without an id under id, "),
        (
            {"reference_ids": [{"name": "a", "grade": None}]},
            "a document is an object without an id ",
        ),
        ({"reference_ids": [{"id": "a", "grade": "high"}]}, "a grade in reference_ids must be"),
        ({"retrieved_ids": [{"text": "a"}]}, "a document is an object without an id under id, "),
        ({"retrieved_ids": {"a": 1}}, "a document is an object without an id under id, "),
        ({"retrieved_ids": [{"id": None}]}, "an id must be text, found null"),
    ],
)
def test_a_value_that_its_field_cannot_have_makes_the_row_invalid(
    row: Row, fields: dict[str, Any], reason: str
) -> None:
    """A19: with the reason and what stood there."""
    found = row(fields)
    assert isinstance(found, InvalidRow)
    assert found.reason.startswith(reason)
    assert json.loads(found.raw) == fields


def test_an_invalid_row_keeps_the_id_that_it_has(row: Row) -> None:
    """A2, A19."""
    found = row({"id": "q7", "answer": ["a"]})
    assert (found.id, found.row, found.index) == ("q7", 1, 0)


def test_an_invalid_row_keeps_its_document_marks_tags_and_metadata(row: Row) -> None:
    """E4, E7: what slices, weights and ``-m`` ask about it is known."""
    found = row(
        {"answer": ["a"], "doc_name": "a.pdf", "lang": "de", "tags": "slow", "skip": "lost"}
    )
    assert isinstance(found, InvalidRow)
    assert (found.doc_name, found.tags, found.skip, found.xfail) == (
        "a.pdf",
        ("slow",),
        "lost",
        None,
    )
    assert found.metadata == {"lang": "de"}


def test_a_row_with_a_flawed_list_keeps_what_else_it_says(row: Row) -> None:
    """Whatever is read behind the list, as the second name of the question is."""
    fields = {"id": "q7", "q": {"text": "Is it?"}, "skip": "not now", "tags": "slow"}
    hits = [{"text": "a"}, {"no": 1}]
    paths = {"contexts": "hits[*].text", "question": "q.text"}
    for key_map in (paths, dict(reversed(paths.items()))):
        found = row({**fields, "hits": hits}, key_map=key_map)
        assert isinstance(found, InvalidRow)
        assert found.reason.startswith("contexts: nothing at 'hits[*].text'")
        assert (found.id, found.question, found.skip) == ("q7", "Is it?", "not now")
        assert found.tags == ("slow",)


def test_an_invalid_row_keeps_its_question(row: Row) -> None:
    """[U1] A report can say which question it was."""
    found = row({"question": "How long?", "answer": ["a"]})
    assert isinstance(found, InvalidRow)
    assert found.question == "How long?"


def test_an_invalid_row_lacks_what_cannot_be_read(row: Row) -> None:
    found = row({"question": ["q"], "doc_name": ["a.pdf"], "xfail": "known"})
    assert isinstance(found, InvalidRow)
    assert (found.question, found.doc_name, found.xfail) == (None, None, "known")


def test_the_text_of_an_invalid_row_is_json(row: Row) -> None:
    """A19: as the row of a JSON file is written."""
    found = row({"question": "wörter?", "answer": ["a"], "ok": None})
    assert isinstance(found, InvalidRow)
    assert found.raw == '{"question": "wörter?", "answer": ["a"], "ok": null}'


def test_a_document_is_named_in_nfc(row: Row) -> None:
    """A14: macOS writes the accent behind its letter."""
    assert row({"answer": "a", "doc_name": "Cafe\u0301.pdf"}).doc_name == "Caf\u00e9.pdf"


@pytest.mark.parametrize("name", ["contexts", "reference_contexts"])
def test_contexts_that_are_nan_are_missing(samples: Samples, name: str) -> None:
    """A19: what data frames write for nothing; an empty list is a search without a result."""
    first, second = samples("r.csv", f"id,answer,{name}\na,x,nan\nb,x,[]\n")
    assert (getattr(first, name), getattr(second, name)) == (None, ())


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
        *((false, None) for false in ("n", "N", "F", "0.0", 0.0, "-", "n/a", "none", "否")),
        *((true, "") for true in ("y", "T", "1.0", 1.0, "是")),
        ("flaky source", "flaky source"),
    ],
)
@pytest.mark.parametrize("name", ["skip", "xfail"])
def test_skip_and_xfail_columns(row: Row, name: str, value: Any, reason: str | None) -> None:
    """E7: a reason, or a yes or no as tables and JSON spell it."""
    assert getattr(row({name: value, "answer": "a"}), name) == reason


# Retrieval


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (["a", "b"], ("a", "b")),
        ("a", ("a",)),
        ("a; b ;", ("a", "b")),
        ('["a", "b"]', ("a", "b")),
        ("['a', 'b']", ("a", "b")),
        ([7, 8.5, "x"], ("7", "8.5", "x")),
        (7, ("7",)),
        ([{"id": "a", "score": 0.9}, {"doc_id": "b"}], ("a", "b")),
        ([{"docid": "a"}, {"chunk_id": "b"}, {"_id": "c"}], ("a", "b", "c")),
        (["文档::一", "[1]"], ("文档::一", "[1]")),
        (["a", None, math.nan, "b"], ("a", "b")),
        ([], ()),
        ("", ()),
        # One that nobody expects keeps its rank; a blank name of an object is passed over.
        (["", "b"], ("", "b")),
        ([{"id": " ", "source": "b.md"}], ("b.md",)),
        # Twice: the better rank is kept.
        (["b", "a", "b"], ("b", "a")),
        # Pairs with a score, which took up a rank.
        ([["a", 0.9], ["b", 1], ["c", 0.8]], ("a", "b", "c")),
        ([[17, 0.91], None, [4, 0.8]], ("17", "4")),
        ([[1, 2.0], [3, 4.0]], ("1", "2", "3", "4")),  # perhaps groups
        ([["a", 1], ["b", 0]], ("a", "1", "b", "0")),  # perhaps grades
        ("[({'id': 'a'}, 0.9), ({'id': 'b'}, 0.1)]", ("a", "b")),
        ([["a", "b"], [7, 8.5], ["c", 9]], ("a", "b", "7", "8.5", "c", "9")),
    ],
)
def test_retrieved_ids_in_every_form(row: Row, value: Any, ids: tuple[str, ...]) -> None:
    """A17, D4: best first; a search without results is one that found nothing."""
    assert row({"retrieved_ids": value}).retrieved_ids == ids


@pytest.mark.parametrize(
    ("value", "grades"),
    [
        ({"a": 2, "b": 0, "c": -1}, {"a": 2, "b": 0, "c": -1}),
        ({"a": 2.0}, {"a": 2}),
        ({5: 1}, {"5": 1}),
        (["a", "b"], {"a": 1, "b": 1}),
        ("a", {"a": 1}),
        ("a; b", {"a": 1, "b": 1}),
        (7, {"7": 1}),
        ('["a", "b"]', {"a": 1, "b": 1}),
        ('{"a": 2}', {"a": 2}),
        # Python's text, as to_csv of pandas has it
        ("{'a': 2, 'b': None}", {"a": 2}),
        ("{'a', 'b'}", {"a": 1, "b": 1}),
        # Parquet's structures have every key in every row
        ({"a": 2, "b": None, "c": math.nan}, {"a": 2}),
        ([{"id": "a", "grade": 3}, {"doc_id": "b", "relevance": 0}], {"a": 3, "b": 0}),
        ([{"_id": "a", "rel": 2}, {"docid": "b"}, "c"], {"a": 2, "b": 1, "c": 1}),
        (["a", "a", {"id": "a", "grade": 1}], {"a": 1}),
        ([None, "a"], {"a": 1}),
        (["", "a", " "], {"a": 1}),
        ({"": 1, "a": 2}, {"a": 2}),
        ([{"id": "", "title": "a"}, {"id": "", "grade": 2}], {"a": 1}),
        # Nothing is judged: the field is missing.
        ([""], None),
        ('[""]', None),
        ({" ": 1}, None),
        ([], None),
        ({}, None),
        ("", None),
        ([None], None),
        ({"a": None}, None),
        (None, None),
        ([{"id": "a"}, {"id": "b", "grade": 0}], {"a": 1, "b": 0}),
        ([{"id": "a", "title": None, "rel": 2.0}], {"a": 2}),
        ([{"id": "a", "grade": 3, "rel": None}], {"a": 3}),
        ([{"id": "a", "score": 0.0, "page": None}], {"a": 1}),
        ([{"id": "", "grade": None}, {"id": "b", "relevance": 1}], {"b": 1}),
        ([{"id": "a", "grade": 1}, {"id": "b", "grade": None}], {"a": 1}),
        ([{"id": "a", "grade": float("nan"), "rel": None}], None),
        ([{"id": "a", "grade": None, "rel": 2}], {"a": 2}),
    ],
)
def test_reference_ids_in_every_form(row: Row, value: Any, grades: Any) -> None:
    """A17, D4: with grades where the data have some."""
    assert row({"reference_ids": value, "answer": "a"}).reference_ids == grades


@pytest.mark.parametrize(
    "name", ["reference_ids", "reference_context_ids", "relevant_ids", "qrels"]
)
def test_ids_in_both_generations_of_names(row: Row, name: str) -> None:
    """A17."""
    assert row({name: ["a"]}).reference_ids == {"a": 1}
    assert row({"retrieved_context_ids": ["a"]}).retrieved_ids == ("a",)


@pytest.mark.parametrize(
    ("cell", "retrieved", "grades"),
    [
        ("a;b", ("a", "b"), {"a": 1, "b": 1}),
        ('["a;b", "c"]', ("a;b", "c"), {"a;b": 1, "c": 1}),
        ("['a', 'b']", ("a", "b"), {"a": 1, "b": 1}),
        ("7", ("7",), {"7": 1}),
        ("007", ("007",), {"007": 1}),
    ],
)
def test_ids_in_cells_of_a_table(
    samples: Samples, cell: str, retrieved: tuple[str, ...], grades: dict[str, int]
) -> None:
    """A18."""
    quoted = '"' + cell.replace('"', '""') + '"'
    (found,) = samples("r.csv", f"retrieved_ids,reference_ids\n{quoted},{quoted}\n")
    assert (found.retrieved_ids, found.reference_ids) == (retrieved, grades)


@pytest.mark.parametrize(
    ("cell", "is_told"),
    [
        ("d1,d2", True),
        ("d1|d2", True),
        ("d 1\nd 2", True),
        ("https://a.b/c,https://a.b/d", True),
        ("d1;d2,d3", False),
        ("https://a.b/c,d", False),
        ("Paris, France", False),
        ("faq.pdf, terms.PDF", True),
        ("d9, d9", True),
        ("d8, d9", False),
        ("Acme Inc., faq.pdf", False),
        ('["d1,d2"]', False),
        ("d1", False),
    ],
)
def test_a_cell_that_may_be_several_ids_is_said(load: Load, cell: str, is_told: bool) -> None:
    """A18: nothing divides ids but ``;``, ``split`` and lists."""
    table = io.StringIO()
    csv.writer(table).writerows([["id", "reference_ids"], [1, "d9"], [2, cell], [3, cell]])
    told = (
        f"r.csv:3: 'reference_ids' seems to hold several ids, and is read as one, {cell!r}: "
        'divide them by \';\', or write a list, ["a", "b"]'
    )
    assert load("r.csv", table.getvalue()).warnings == ((told,) if is_told else ())
    assert load("r.csv", table.getvalue(), split={"reference_ids": ","}).warnings == ()


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        *(("sorry; cannot", ";"), ("I don't know; I cannot", ";"), ("抱歉；无法", "；")),
        *(("a|b", "|"), ("Washington, D.C., USA", ""), ("sorry, but", ""), ("甲、乙双方", "")),
        *(("Fish &amp; chips", ""), ("text/html; charset=utf-8", ""), ("rm -rf /; ls", "")),
        *(("DROP TABLE users;", ""), ("&nbsp;", ""), ("$1,500", "")),
    ],
)
def test_a_text_in_json_that_may_be_several_is_said(load: Load, text: str, mark: str) -> None:
    """[A28] Taken as one text, must_not_include would hold for every answer."""
    given = [{"must_not_include": value} for value in ("a", text, text)]
    told = (
        f"r.json: row 2: 'must_not_include' is one text with {mark!r}, {text!r}, and fails only "
        'where an answer has all of it: write several as a list, ["first", "second"], and one as '
        '["first, second"]'
    )
    assert load("r.json", json.dumps(given)).warnings == ((told,) if mark else ())
    nested = json.dumps([{"checks": {"no": value["must_not_include"]}} for value in given])
    mapped = load("r.json", nested, key_map={"must_not_include": "checks.no"}).warnings
    at_path = told.replace("'must_not_include'", "'checks.no'")
    assert mapped == ((at_path,) if mark else ())
    assert load("r.json", json.dumps(given), split={"must_not_include": ","}).warnings == ()
    listed = [{"must_not_include": [text], "must_include": text}]
    assert load("r.json", json.dumps(listed)).warnings == ()


def test_ids_in_json_are_as_they_are_written(load: Load) -> None:
    """A18: a list was possible."""
    assert load("r.jsonl", '{"retrieved_ids": ["a,b"], "reference_ids": "a,b"}').warnings == ()


def test_grades_in_a_cell_of_a_table(samples: Samples) -> None:
    """A18, D4: as a JSON object."""
    content = 'retrieved_ids,reference_ids\na,"{""a"": 2, ""b"": 0}"\n'
    (found,) = samples("r.csv", content)
    assert found.reference_ids == {"a": 2, "b": 0}


def test_a_blank_cell_is_a_missing_search_and_no_empty_one(samples: Samples) -> None:
    """A19."""
    first, second = samples("r.csv", 'id,retrieved_ids,reference_ids\nx,,a\ny,"[]",\n')
    assert (first.retrieved_ids, first.reference_ids) == (None, {"a": 1})
    assert (second.retrieved_ids, second.reference_ids) == ((), None)


def test_a_document_that_is_judged_in_two_ways_makes_the_row_invalid(row: Row) -> None:
    """D5: as in qrels; judged twice in the same way, it is judged."""
    assert isinstance(
        row({"reference_ids": [{"id": "a", "grade": 1}, {"id": "a", "grade": 2}]}), InvalidRow
    )


# Contexts that name their document


@pytest.mark.parametrize(
    ("value", "docs"),
    [
        (
            [{"text": "x", "doc_name": "a.pdf"}, {"text": "y", "source": "b.pdf"}],
            ("a.pdf", "b.pdf"),
        ),
        ([{"text": "x", "file_name": "a.pdf"}, "y"], ("a.pdf", None)),
        ([{"page_content": "x", "metadata": {"source": "a.pdf", "page": 3}}], ("a.pdf",)),
        ([{"contents": "x", "title": "a.pdf"}], ("a.pdf",)),
        ([{"text": "x", "doc_name": " ", "document": "a.pdf"}], ("a.pdf",)),
        (
            [{"text": "x", "doc_name": 7, "metadata": "none"}, {"text": "y", "source": "b"}],
            (None, "b"),
        ),
        (["x", "y"], None),
        ([{"text": "x"}], None),
        ([[" ", ["x"]]], None),
        ([["", ["x"]], ["b", ["y"]]], (None, "b")),
        ([], ()),
        # A context that is blank goes with its document.
        ([{"text": " ", "source": "a.pdf"}, {"text": "y", "source": "b.pdf"}], ("b.pdf",)),
    ],
)
def test_the_documents_of_contexts(row: Row, value: Any, docs: Any) -> None:
    """A18, B4: as many as contexts, where any of them names one."""
    found = row({"contexts": value})
    assert found.context_docs == docs
    assert docs is None or len(docs) == len(found.contexts)


def test_blank_contexts_keep_their_places_where_answers_cite_places() -> None:
    """[2] of the answer is "b", whatever the first one holds."""
    given = ["", {"text": "b", "source": "b.pdf"}, None]

    def read(contexts: Any, fields: frozenset[str] = frozenset()) -> Any:
        fields_of_row = {"answer": "x [2]", "contexts": contexts}
        return KeyMap({}, of_answers=fields).case(DataRow(1, 1, fields_of_row), 0)

    cited, plain = read(given, frozenset({"citations"})), read(given)
    assert (cited.contexts, cited.context_docs) == (("", "b", ""), (None, "b.pdf", None))
    assert (plain.contexts, plain.context_docs) == (("b",), ("b.pdf",))
    assert read(["", " "], frozenset({"citations"})).contexts == ()


def test_contexts_of_one_cell_have_no_documents(samples: Samples) -> None:
    (found,) = samples("r.csv", "contexts\n\"['a', 'b']\"\n")
    assert (found.contexts, found.context_docs) == (("a", "b"), None)


def test_a_key_map_may_lead_into_json_in_a_cell(load: Load) -> None:
    """W5: and what is not used of it stays metadata, as it is written."""
    cell = '"{""text"": ""x"", ""hits"": [{""t"": ""a""}, {""t"": ""b""}]}"'
    key_map = {"answer": "out.text", "contexts": "out.hits[*].t"}
    (sample,) = load("r.csv", f"out\n{cell}\n", key_map=key_map).cases
    assert isinstance(sample, Sample)
    assert (sample.answer, sample.contexts) == ("x", ("a", "b"))
    assert sample.metadata == {"out": '{"text": "x", "hits": [{"t": "a"}, {"t": "b"}]}'}


def test_a_path_into_a_cell_that_is_no_json_leads_nowhere(refused: Callable[..., Any]) -> None:
    """W5: the message shows the cell."""
    (problem,) = refused("r.csv", "answer,out\nx,plain\n", key_map={"references": "out.text"})
    assert "for 'references', no row has anything at 'out.text': at out there is 'plain'" in problem


def test_ids_in_lists_of_lists_are_all_ids(row: Row, load: Load) -> None:
    """W5: AutoRAG's retrieval_gt; also spelled in a cell."""
    assert row({"reference_ids": [["a", "b"], ["c"]]}).reference_ids == {"a": 1, "b": 1, "c": 1}
    assert row({"retrieved_ids": [["a"], [["b"]], None]}).retrieved_ids == ("a", "b")
    (sample,) = load("r.csv", "answer,reference_ids\nx,\"[['a'], ['b']]\"\n").cases
    assert isinstance(sample, Sample)
    assert sample.reference_ids == {"a": 1, "b": 1}

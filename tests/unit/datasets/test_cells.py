"""W1, W4: lists that cells of a table spell, and what is left of one; titled passages."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from others_data import others_data

from pytest_rageval.datasets.cells import (
    contexts_and_docs,
    opens_list,
    parse_contexts,
    value_in_text,
)
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample

TABLES = tomllib.loads(Path(__file__).with_name("cells.toml").read_text("utf-8"))

Samples = Callable[..., list[Sample]]
Invalid = Callable[..., dict[int, InvalidRow]]
Load = Callable[..., Dataset]


def _table(**cells: str) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([["answer", *cells], ["x", *cells.values()]])
    return text.getvalue()


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ("['a' 'b']", ("a", "b")),
        ("['a'\n 'b']", ("a", "b")),
        ("['a', 'b']", ("a", "b")),
        ("[\"it's\" 'b']", ("it's", "b")),
        ("array(['a', 'b'], dtype=object)", ("a", "b")),
        ("[array(['a', 'b'], dtype='<U1'), array(['c'])]", ("a", "b", "c")),
        ("[list(['a', 'b'])]", ("a", "b")),
        ("('a', 'b')", ("a", "b")),
        ("('a',)", ("a",)),
        ("{'a', 'b'}", ("a", "b")),
        ("['a', nan]", ("a",)),
        ("['a' None 'b']", ("a", "b")),
        ('["a", NaN]', ("a",)),
        ("[np.str_('a'), np.str_('b')]", ("a", "b")),
        (r"['a\'s', 'b\\n']", ("a's", "b\\n")),
        ("['a [1] b', 'c']", ("a [1] b", "c")),
        (r"[b'a', b'\xc3\xa9', B'\'']", ("a", "é", "'")),
        (r"['\d+ a', 'b']", (r"\d+ a", "b")),  # no escape: Python warns of it
        ("['it\\'s\r\nfine\n']", ("it's\r\nfine",)),
        ("[r'a\nb', R'\\n', rb'\\d']", ("a\nb", "\\n", "\\d")),
        ("['a\\\nb', 'c\\\\\r\nd', 'e\\\\\\\r\nf']", ("ab", "c\\\r\nd", "e\\f")),
        ("{}", ()),
        ('{"text": [], "doc_name": []}', ()),
        ('{"34": {"text": "a"}, "7": {"text": "b"}}', ("a", "b")),
        ('{"0": "a", "1": "b"}', ("a", "b")),
        ('{"text": "a", "id": 3}', ("a",)),
        ("[]", ()),
    ],
)
@pytest.mark.parametrize("name", TABLES["contexts_are_read_from_every_spelling"])
def test_contexts_are_read_from_every_spelling(
    samples: Samples, name: str, cell: str, texts: tuple[str, ...]
) -> None:
    """W1: as one context, they made a hit_rate of 0.40 one of 0.00."""
    (found,) = samples("r.csv", _table(**{name: cell}))
    assert getattr(found, name) == texts


def test_documents_of_langchain_keep_their_source(samples: Samples) -> None:
    """W1."""
    cell = (
        "[Document(metadata={'source': 'a.pdf', 'page': 3}, page_content=\"it's\"), "
        "Document(page_content='y', id='7')]"
    )
    (found,) = samples("r.csv", _table(contexts=cell))
    assert (found.contexts, found.context_docs) == (("it's", "y"), ("a.pdf", None))


@pytest.mark.parametrize(
    ("cell", "ids"),
    [
        ("['a' 'b']", ("a", "b")),
        ("[1 2 3]", ("1", "2", "3")),
        ("(1, 2)", ("1", "2")),
        ("{'a'}", ("a",)),
        ("array([7, 8])", ("7", "8")),
        ("a (b)", ("a (b)",)),
        ("(a)", ("(a)",)),
        ("[-1 -2.5]", ("-1", "-2.5")),
    ],
)
def test_ids_are_read_from_every_spelling(
    samples: Samples, cell: str, ids: tuple[str, ...]
) -> None:
    """W1."""
    (found,) = samples("r.csv", _table(retrieved_ids=cell, reference_ids=cell))
    assert found.retrieved_ids == ids
    assert found.reference_ids == dict.fromkeys(ids, 1)


def test_references_are_read_from_numpys_spelling(samples: Samples) -> None:
    """W1: also groups of answers."""
    first, second = (
        samples("r.csv", _table(references=cell))[0] for cell in ("['a' 'b']", "[['a' 'b'] ['c']]")
    )
    assert first.references == ("a", "b")
    assert second.reference_groups == (("a", "b"), ("c",))


BROKEN = [
    "['first passage', 'second pass",
    '["first passage", "second pass',
    "[['a', 'b'], ['c",
    "[{'text': 'a'}, {'te",
    "('a', 'b",
    '{"34": {"text": "a',
    "array(['a', 'b",
    "[Document(page_content='a', meta",
    "[Document(page_content='a', 'b')]",
    "['a' 'b' ... 'y' 'z']",
    "[a, b]",
    "['it's', 'b']",
    "{a and b}",
    "[2020-12-31]",
    "[1+2]",
]


@pytest.mark.parametrize("cell", BROKEN)
@pytest.mark.parametrize(
    "name", ["contexts", "reference_contexts", "references", "retrieved_ids", "reference_ids"]
)
def test_what_is_left_of_a_list_makes_the_row_invalid(
    invalid: Invalid, name: str, cell: str
) -> None:
    """W1: never one text; the reason says how to write it."""
    (row,) = invalid("r.csv", _table(**{name: cell})).values()
    assert row.reason.startswith(f"{name}: the cell looks like a list and cannot be read as one")
    assert '["first", "second"]' in row.reason


@pytest.mark.parametrize(
    "text",
    [
        "[2] See the appendix",
        "[2] See [3]",
        "(German: Haus) is a house",
        "(2019)",
        "{x} and {y}",
        "[sic",
        "array of texts",
        "a|b",
        "'quoted' text",
    ],
)
def test_text_that_begins_with_a_bracket_is_text(samples: Samples, text: str) -> None:
    """W1: 9 % of real long texts do."""
    (found,) = samples("r.csv", _table(contexts=text, references=text))
    assert (found.contexts, found.references) == ((text,), (text,))


def test_a_list_that_is_cut_off_in_a_json_file_is_text(load: Load) -> None:
    """W1: JSON has lists of its own."""
    (case,) = load("r.jsonl", json.dumps({"references": "['a", "answer": "x"})).cases
    assert isinstance(case, Sample)
    assert case.references == ("['a",)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


@pytest.mark.full
def test_no_real_text_is_taken_for_a_list() -> None:
    """W1: questions, answers and passages of eight public data sets."""
    files = sorted(others_data("data").glob("*/*.jsonl"))
    found = [
        text
        for file in files
        for line in file.read_text("utf-8").splitlines()
        for text in _texts(json.loads(line))
    ]
    assert len(found) > 20_000
    assert sum(text.startswith(("[", "(", "{")) for text in found) > 100
    assert [text for text in found if opens_list(text) or value_in_text(text) is not None] == []


@pytest.mark.parametrize(
    ("header", "contexts"),
    [
        ("input,actual_output,expected_output,retrieval_context", ("a", "b")),
        ("query,actual_output,expected_output,retrieval_context", ("a|b",)),
        ("input,actual_output,expected_output,found", ("a|b",)),
    ],
)
def test_the_separator_of_deepeval_counts_in_its_own_tables_only(
    samples: Samples, header: str, contexts: tuple[str, ...]
) -> None:
    """W1: ``input`` and ``actual_output`` beside ``retrieval_context``."""
    columns = header.split(",")
    key_map = {"question": columns[0], "answer": "actual_output", "contexts": columns[3]}
    (found,) = samples("r.csv", f"{header}\nq,x,y,a|b\n", key_map=key_map)
    assert found.contexts == contexts


def test_in_json_lines_of_deepeval_contexts_are_parted_too(samples: Samples) -> None:
    """W1: there they are one text; in JSON they are a list, whose items stay whole."""
    row = {"input": "q", "actual_output": "x", "expected_output": "y"}
    rows = [{**row, "retrieval_context": value} for value in ("a|b", ["a|b", "c"])]
    joined, listed = samples("r.jsonl", "\n".join(map(json.dumps, rows)))
    assert (joined.contexts, listed.contexts) == (("a", "b"), ("a|b", "c"))
    (other,) = samples("o.jsonl", json.dumps({"answer": "x", "contexts": "a|b"}))
    assert other.contexts == ("a|b",)


# W4


def test_a_title_with_its_sentences_is_one_passage(samples: Samples) -> None:
    """W4: HotpotQA's form was five contexts."""
    value = [["Ed Wood", ["Ed Wood is a film.", " It is from 1994."]], ["Doris", ["A town."]]]
    row = {"answer": "x", "contexts": value, "reference_contexts": value}
    (found,) = samples("r.jsonl", json.dumps(row))
    assert found.contexts == ("Ed Wood is a film. It is from 1994.", "A town.")
    assert found.context_docs == ("Ed Wood", "Doris")
    assert found.reference_contexts == found.contexts


def test_sentences_without_blanks_get_them() -> None:
    """W4."""
    assert parse_contexts([["T", ["One.", "Two."]]]) == ("One. Two.",)


def test_an_object_of_sentences_alone_is_one_passage() -> None:
    """Its only key was taken for a column, and its sentences for objects without a text."""
    assert parse_contexts([{"text": " ", "sentences": ["One.", "Two."]}]) == ("One. Two.",)
    assert parse_contexts({"sentences": ["One.", " Two."]}) == ("One. Two.",)
    assert parse_contexts({"sentences": [["One.", " Two."], ["Three."]]}) == ("One. Two.", "Three.")


def test_a_blank_text_is_not_taken_before_a_filled_one() -> None:
    """W4: the passage was lost."""
    blank = {"text": "", "content": " "}
    assert parse_contexts([{"text": "", "content": "one"}, blank, {"passage": "2"}]) == ("one", "2")


def test_other_nested_lists_are_flat_as_before() -> None:
    """W4: a list with a text and a list is no title where its neighbours are none."""
    assert parse_contexts([["a", ["b"]], "c"]) == ("a", "b", "c")
    assert parse_contexts([["a", "b"], ["c", "d"]]) == ("a", "b", "c", "d")


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_passage_leaves_its_neighbours_their_titles(missing: object) -> None:
    """W4: the titles became contexts."""
    value = [["Paris", ["x"]], missing, ["Lyon", ["y"]]]
    assert contexts_and_docs(value) == (("x", "y"), ("Paris", "Lyon"))
    placed = contexts_and_docs(value, keeps_places=True)
    assert placed == (("x", "", "y"), ("Paris", None, "Lyon"))
    assert contexts_and_docs([missing], keeps_places=True) == ((), ())


# dataset.blank_answer


@pytest.mark.parametrize(
    ("keys", "answers"),
    [
        ({}, (None, "a")),
        ({"blank_answer": "missing"}, (None, "a")),
        ({"blank_answer": "empty"}, ("", "a")),
    ],
)
def test_a_blank_cell_is_the_empty_answer_where_the_scenario_says_so(
    samples: Samples, keys: dict[str, str], answers: tuple[str | None, ...]
) -> None:
    """G9: blank_answer."""
    found = samples("r.csv", "references,pred\nx,\ny,a\n", key_map={"answer": "pred"}, **keys)
    assert tuple(sample.answer for sample in found) == answers


def test_a_table_without_a_column_of_answers_has_no_empty_ones(samples: Samples) -> None:
    """G9: a target may give them. In JSON, null is missing whatever the key says."""
    (found,) = samples("r.csv", "references\nx\n", blank_answer="empty")
    assert found.answer is None
    (found,) = samples("r.jsonl", '{"answer": null, "references": "x"}', blank_answer="empty")
    assert found.answer is None

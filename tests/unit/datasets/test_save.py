"""Rows that are written read back as the samples that they were made of."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.datasets.answer_fields import read_answer_fields
from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.datasets.save import columns_of, row_of, rows_text
from pytest_rageval.model import Case, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

PLAIN = columns_of({})
SAMPLES = [
    Sample(
        "one",
        question='What, "exactly"?',
        answer=" a\r\nb ",
        contexts=("c1", "c2"),
        context_docs=(None, "d;2"),
        references=("x", "y", "z"),
        reference_groups=(("x", "y"), ("z",)),
        reference_contexts=("e",),
        retrieved_ids=("7", "a;b"),
        reference_ids={"7": 2, "b": 0},
        doc_name="手册.pdf",
        tags=("slow", "a, b"),
    ),
    Sample("two", question="=1+1", answer="[1]", references=("[x]",), contexts=(), context_docs=()),
    Sample("three", question="q", skip="", xfail="known, since May"),
    Sample("four", question="q", answer="nan", references=("nan", "-"), contexts=("nan",)),
    Sample("five"),
    Sample("six", question="q", answer=""),
    Sample("seven", question="'", answer=" \n"),
    Sample("eight", contexts=("x", "y", "z"), retrieved_ids=("a", "b")),
]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[Case]]:
    """Return a function that writes rows to a file and reads it as a data set."""

    def again(rows: list[dict[str, Any]], suffix: str, **spec: Any) -> list[Case]:
        path = tmp_path / f"rows{suffix}"
        path.write_text("".join(rows_text(rows, suffix)), encoding="utf-8", newline="")
        dataset = load_dataset(DatasetSpec(path=path.name, **spec), tmp_path, "s.yaml:1")
        return list(dataset.cases)

    return again


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv"])
def test_samples_come_back_as_they_were(read: Callable[..., list[Case]], suffix: str) -> None:
    """[A21] Every field of them, in every format."""
    found = read([row_of(sample, PLAIN) for sample in SAMPLES], suffix)
    expected = [replace(sample, index=at, row=at + 1) for at, sample in enumerate(SAMPLES)]
    assert found == expected


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv"])
@pytest.mark.parametrize("ids", ["aab", "aba", ["a", "a", None, "b"]])
def test_ids_come_back_in_their_places(
    read: Callable[..., list[Case]], suffix: str, ids: Sequence[str | None]
) -> None:
    """A citation of the file means what it meant in the run that wrote it."""
    once = tuple(dict.fromkeys(filter(None, ids)))
    contexts = tuple("wxyz"[: len(ids)])
    placed: dict[str, Any] = {"retrieved_ids": once, "context_ids": tuple(ids)}
    sample = Sample("s", contexts=contexts, citations=(3,), **placed)
    key_map = {"citations": "cited"}
    assert read([row_of(sample, columns_of(key_map))], suffix, key_map=key_map) == [sample]


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_metadata_keep_their_types_where_the_format_has_any(
    read: Callable[..., list[Case]], suffix: str
) -> None:
    metadata = {"level": 3, "share": 0.5, "open": True, "where": {"page": [1, 2]}, "lang": "zh"}
    (found,) = read([row_of(Sample("s", question="q", metadata=metadata), PLAIN)], suffix)
    assert isinstance(found, Sample)
    assert found.metadata == metadata
    (table,) = read([row_of(Sample("s", question="q", metadata={"level": 3}), PLAIN)], ".csv")
    assert isinstance(table, Sample)
    assert table.metadata == {"level": "3"}


def test_the_columns_are_those_of_the_key_map(read: Callable[..., list[Case]]) -> None:
    """[D7] The same scenario reads the file as it read the data."""
    key_map = {"question": "q", "references": "meta.gold", "answer": "answers"}
    columns = columns_of(key_map)
    sample = Sample("s", question="Q", answer="A", references=("r",), metadata={"meta": {"x": 1}})
    row = row_of(sample, columns)
    assert list(row) == ["id", "q", "meta.gold", "answers", "meta"]
    (found,) = read([row], ".jsonl", key_map=key_map)
    assert isinstance(found, Sample)
    assert (found.question, found.answer, found.references) == ("Q", "A", ("r",))


@pytest.mark.parametrize(
    ("value", "answerable"), [("unanswerable", False), ("Answerable", True), ("true", False)]
)
def test_a_whole_word_says_what_it_says_in_any_column(value: str, answerable: bool) -> None:
    columns = columns_of({"answerable": "is_impossible"})
    found = read_answer_fields({"answerable": value}, frozenset({"answerable"}), columns)
    assert found == {"answerable": answerable}


@pytest.mark.parametrize(
    ("field", "column", "value", "written"),
    [
        ("answerable", "is_impossible", False, True),
        ("answerable", "has_answer", False, False),
        ("answerable", "Is Impossible", False, True),
        ("answerable", "meta.is_impossible[0]", False, True),
        ("answerable", "is_impossible.value", False, True),
        ("answerable", "unanswerable.answerable", False, False),
        ("confidence", "confidence", 0.9, 0.9),
        ("confidence", "p_answer", 0.9, 0.9),
        ("confidence", "my_na_prob", 0.9, 0.9),
        ("confidence", "meta.na_prob", 0.9, 0.1),
        ("confidence", "na_prob", None, None),
        ("confidence", "na_prob", 0.9, 0.1),
        ("confidence", "na_prob", 0.0, 1.0),
    ],
)
def test_a_column_that_says_the_opposite_has_the_opposite(
    field: str, column: str, value: Any, written: Any
) -> None:
    """As it is read: ``na_prob`` is 1 minus the confidence."""
    columns = columns_of({field: column})
    row = row_of(replace(SAMPLES[4], **{field: value}), columns)
    assert row.get(column) == written
    values = {field: row[column]} if column in row else {}
    again = read_answer_fields(values, frozenset({field}), columns)
    assert again.get(field) == pytest.approx(value)


def test_a_field_whose_column_is_taken_has_another_name() -> None:
    """The column ``answer`` holds the question here."""
    assert columns_of({"question": "answer"})["answer"] == "response"


def test_what_is_missing_is_left_out() -> None:
    assert row_of(Sample("s"), PLAIN) == {"id": "s"}


def test_a_table_has_the_columns_of_all_rows() -> None:
    text = "".join(rows_text([{"id": "a", "x": None}, {"id": "b", "y": [1]}], ".csv"))
    assert list(csv.reader(io.StringIO(text))) == [
        ["id", "x", "y"],
        ["a", "", ""],
        ["b", "", "[1]"],
    ]


def test_a_list_of_no_rows_is_one() -> None:
    assert json.loads("".join(rows_text([], ".json"))) == []


def test_no_cell_is_a_formula_and_all_texts_come_back(read: Callable[..., list[Case]]) -> None:
    """[R6] OWASP's list of how formulas begin, and texts that begin with a quote already."""
    starts = ["=1+1", "+1", "-1", "@SUM(A1)", "'=1", "''-ing", "'s", "plain", "- \t-"]
    rows = [
        {"id": f"q{at}", "question": text, "answer": text, "references": ["x"], "=head": text}
        for at, text in enumerate(starts)
    ]
    text = "".join(rows_text(rows, ".csv"))
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    cases = read(rows, ".csv")
    found = [case for case in cases if isinstance(case, Sample)]
    assert [(one.question, one.answer, one.metadata["=head"]) for one in found] == [
        (text, text, text) for text in starts
    ]
    assert all(list(one.metadata) == ["=head"] for one in found)


def test_quotes_of_other_tables_stay(tmp_path: Path) -> None:
    """[R6] Only the column that the writer adds says that a leading quote is not of the text."""
    (tmp_path / "own.csv").write_text("id,answer\nq1,'-ing\n", encoding="utf-8")
    (case,) = load_dataset(DatasetSpec(path="own.csv"), tmp_path, "x").cases
    assert isinstance(case, Sample)
    assert case.answer == "'-ing"

"""W6, A27: columns that are read by the names of other tools, and those that are not."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import Sample
from pytest_rageval.scenario.column_names import read_field
from pytest_rageval.scenario.fields import BESIDE_ANSWERS, BESIDE_GOLD, FIELD_ALIASES, LIKELY_NAMES

Load = Callable[..., Dataset]

PASSAGE = "Refunds are paid within five days of the request, without any fee."
GOLD = {"expected_answer": "five days"}


@pytest.fixture
def read(load: Load) -> Callable[..., Mapping[str, str]]:
    """Return a function from rows to the columns that are read by likely names."""

    def read_rows(*rows: Mapping[str, Any], **keys: Any) -> Mapping[str, str]:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        return load("rows.jsonl", text, **keys).likely

    return read_rows


Read = Callable[..., Mapping[str, str]]


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("Reference Answer", "references"),
        ("referenceAnswer ", "references"),
        ("groundtruth", "references"),
        ("ground_truths ", "references"),
        ("question(问题)", "question"),
        ("Output（模型输出）", "answer"),
        ("ground_truth(参考答案)", "references"),
        ("question (Deutsch: Frage)", None),
        ("Réponse attendue", "references"),
        ("reponse_attendue", "references"),
        ("用户问题", "question"),
        ("问", "question"),
        ("答", "answer"),
        *((name, "doc_name") for name in ("来源文档", "来源文件", "出处", "src")),
        *((name, "doc_name") for name in ("Quelle", "Dokument", "Źródło", "zrodło", "Источник")),
        ("Quelle (Gold)", None),
        # What is gold and what is given must not be confused.
        ("answer(参考答案)", None),
        ("answer (gold)", None),
        ("answer(标准)", None),
        ("input/output", None),
        ("answers", None),
        ("best answer", None),
        ("expectd_answer", None),
        ("", None),
    ],
)
def test_a_name_is_read_in_all_its_spellings_and_never_misspelt(
    column: str, field: str | None
) -> None:
    """W6."""
    found = read_field(column)
    assert (found[0] if found else None) == field


def test_no_name_is_of_two_fields() -> None:
    """W6: each name in the tables is read as the field that it stands under."""
    for tables in (FIELD_ALIASES, LIKELY_NAMES):
        for field, names in tables.items():
            if field not in ("tags", "skip", "xfail"):
                assert [name for name in names if (read_field(name) or ("",))[0] != field] == []
    assert {read_field(name) and read_field(name)[0] for name in BESIDE_GOLD} == {"answer"}  # type: ignore[index]
    assert set(BESIDE_ANSWERS) <= set(LIKELY_NAMES["contexts"])


def test_other_names_are_read_and_stay_metadata(load: Load) -> None:
    """W6: `by` and `skip.where` know them by their own names."""
    row = {"User Query": "q?", "ragAnswer": "a", "标准答案": "b", "source": "fees.pdf"}
    found = load("rows.json", json.dumps([row]))
    (sample,) = found.cases
    assert isinstance(sample, Sample)
    assert (sample.question, sample.answer, sample.references) == ("q?", "a", ("b",))
    assert sample.doc_name == "fees.pdf"
    assert sample.metadata == row
    assert found.likely == {
        "question": "User Query",
        "answer": "ragAnswer",
        "references": "标准答案",
        "doc_name": "source",
    }


def test_a_documented_name_wins_even_if_its_column_is_empty_or_taken(read: Read) -> None:
    """W6: the ruling is about names, not about values."""
    assert read({"query": None, "input": "q", "answer": "a"}) == {}
    assert (
        read({"question": "q", "answer": "G", "prediction": "A"}, key_map={"references": "answer"})
        == {}
    )
    assert read({"q": "x", "input": "y", "answer": "a"}, key_map={"question": "q"}) == {}


def test_the_best_name_counts_and_a_column_of_the_key_map_is_not_taken_again(read: Read) -> None:
    """W6: one column for a field, one field for a column."""
    row = {"question": "q", "expected": "a", "expected_answer": "b"}
    assert read(row) == {"references": "expected_answer"}
    assert read(row, key_map={"doc_name": "expected_answer"}) == {"references": "expected"}


@pytest.mark.parametrize(
    "name", ["Answer", "answer(回答)", "output", "model_answer", "actual_answer", "respuesta"]
)
def test_some_names_are_answers_only_beside_a_column_of_references(read: Read, name: str) -> None:
    """W6: alone they are as often the gold."""
    assert read({"question": "q", name: "a"}) == {}
    assert read({"question": "q", name: "a", **GOLD})["answer"] == name
    assert read({"question": "q", name: "a", "gold": "b"}, key_map={"references": "gold"}) == {
        "answer": name
    }


def test_the_actual_answer_beside_a_predicted_one_is_not_the_systems(read: Read) -> None:
    """W6: of two names for the answer, the one that cannot be the gold counts."""
    row = {"question": "q", "reference": "x", "actual_answer": "G", "predicted_answer": "A"}
    assert read(row) == {"answer": "predicted_answer"}


def test_training_data_are_not_read(read: Read) -> None:
    """W6: in Alpaca's form the output is what a model should learn."""
    row = {"instruction": "q", "input": "a log line", "output": "gold", "ideal": "x"}
    assert read(row) == {"references": "ideal"}


def test_context_is_gold_in_deepeval_and_retrieved_beside_answers_and_references(
    read: Read,
) -> None:
    """W6."""
    deepeval = {"input": "q", "actualOutput": "a", "expectedOutput": "b", "context": [PASSAGE]}
    found = read({**deepeval, "retrievalContext": [PASSAGE]})
    assert (found["reference_contexts"], found["contexts"]) == ("context", "retrievalContext")
    assert read({"question": "q", "response": "a", "reference": "b", "context": PASSAGE}) == {
        "contexts": "context"
    }
    assert read({"question": "q", "answer": "a", "context": PASSAGE}) == {}
    assert read({"question": "q", "reference": "a", "context": PASSAGE}) == {}


@pytest.mark.parametrize(
    ("column", "value", "field"),
    [
        ("relevant_chunks", [PASSAGE], "reference_contexts"),
        ("relevant_chunks", ["c1", "c7"], "reference_ids"),
        ("relevant_chunks", [{"text": "short"}], "reference_contexts"),
        ("correct_chunks", ["c1"], "reference_ids"),
        ("correct_chunks", [PASSAGE], "reference_contexts"),
        ("retrieved_docs", ["a b.pdf"], "retrieved_ids"),
        ("retrieved_docs", [{"page_content": PASSAGE}], "contexts"),
        ("expected_sources", ["Alphabet p.88"], "reference_ids"),
        ("expected_sources", [PASSAGE], None),
        ("evidence", PASSAGE, "reference_contexts"),
        ("evidence", "p12", None),
        ("evidence", [3, 7], None),
        ("retrieval_context", ["Paris"], "contexts"),
    ],
)
def test_values_tell_texts_from_ids(read: Read, column: str, value: Any, field: str | None) -> None:
    """W6: `relevant_chunks` are passages in some data and ids in others."""
    assert read({"question": "q", column: value}) == ({field: column} if field else {})


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("expected", {"name": "Jones"}),
        ("expected", True),
        ("correct_answer", "FALSE"),
        ("input", {"question": "q"}),
        ("input", ["q"]),
        ("actual_output", ["a"]),
        ("source", {"file": "a.pdf"}),
        ("source", "x" * 201),
        ("source", "two\nlines"),
    ],
)
def test_a_column_whose_values_its_field_cannot_have_is_left_alone(
    read: Read, column: str, value: Any
) -> None:
    """W6."""
    assert read({"answer": "a", column: value}) == {}


def test_an_id_is_read_only_where_it_is_of_one_row(read: Read) -> None:
    """W6: a gold document's id would refuse the data as repeated."""
    assert read({"qid": "a", "answer": "x"}, {"qid": "b", "answer": "x"}) == {"id": "qid"}
    assert read({"qid": "a", "answer": "x"}, {"qid": "a", "answer": "x"}) == {}
    assert read({"qid": "a", "answer": "x"}, {"answer": "x"}) == {}


def test_a_cell_that_spells_a_list_is_looked_into(load: Load) -> None:
    """W6: tables have no lists."""
    text = io.StringIO()
    rows = [["question", "relevant_chunks"], ["q", f"['{PASSAGE}']"]]
    csv.writer(text).writerows(rows)
    assert load("rows.csv", text.getvalue()).likely == {"reference_contexts": "relevant_chunks"}


def test_rows_that_lack_the_column_lack_the_field(load: Load) -> None:
    """W6: in JSON Lines each row may have other columns."""
    rows = [{"question": "q", "expected": "a"}, {"question": "q"}]
    found = load("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert [case.references for case in found.cases if isinstance(case, Sample)] == [("a",), None]


def test_other_names_may_be_turned_off(read: Read) -> None:
    """W6: where a column means something else."""
    assert read({"answer": "a", "source": "x"}, other_names=False) == {}

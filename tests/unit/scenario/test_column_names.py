"""W2, F10: which field a column's name speaks of, and what is proposed for a missing one."""

from __future__ import annotations

import pytest

from pytest_rageval.scenario.column_names import (
    LIKELY_NAMES,
    column_meant,
    likely_field,
    proposed_columns,
    snake_case,
)
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.scenario.yaml.tree import pair_text, parse_yaml


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("expectedUrls", "expected_urls"),
        ("Expected Output", "expected_output"),
        ("RAG-Answer", "rag_answer"),
        ("referenceResponse", "reference_response"),
        ("标准答案", "标准答案"),
        ("_", ""),
    ],
)
def test_names_are_compared_in_lower_snake_case(name: str, snake: str) -> None:
    """F10."""
    assert snake_case(name) == snake


@pytest.mark.parametrize(
    ("column", "field"),
    [
        ("pred", "answer"),
        ("Prediction", "answer"),
        ("actual_output", "answer"),
        ("answr", "answer"),
        ("expected", "references"),
        ("expectedOutput", "references"),
        ("groundTruth", "references"),
        ("groundtruth", "references"),
        ("input", "question"),
        ("retrieval_context", "contexts"),
        ("reference_id", "reference_ids"),
        ("retrieved_id", "retrieved_ids"),
        ("golden_answer", "references"),
        # Gold, or anything else
        ("answers", None),
        ("ideal_answer", None),
        ("true_answer", None),
        ("best_answer", None),
        ("doc_ids", None),
        ("answer_start", None),
        ("", None),
    ],
)
def test_a_column_speaks_of_one_field_at_most(column: str, field: str | None) -> None:
    """W2, F10."""
    assert likely_field(column) == field


def test_each_likely_name_is_of_one_field_and_none_is_read_already() -> None:
    """W2: else a column could be proposed for two."""
    names = [name for found in LIKELY_NAMES.values() for name in found]
    read = {name for found in FIELD_ALIASES.values() for name in found}
    assert len(names) == len(set(names))
    assert read.isdisjoint(names)
    assert [name for name in names if snake_case(name) != name] == []


def test_the_better_name_is_proposed_and_no_column_twice() -> None:
    """W2."""
    free = ["output", "model_answer", "ideal", "expected_answer", "relevant_doc_ids"]
    found = proposed_columns(["answer", "references", "reference_ids", "retrieved_ids"], free, ())
    assert found == {
        "answer": "model_answer",
        "references": "expected_answer",
        "reference_ids": "relevant_doc_ids",
    }


@pytest.mark.parametrize(
    ("wanted", "free", "served", "found"),
    [
        (["contexts"], ["context"], ["answer", "references"], {"contexts": "context"}),
        (["contexts"], ["context"], ["question", "references"], {}),
        (["contexts"], ["context"], ["question", "answer"], {}),
        (["contexts"], ["retrieval_context"], [], {"contexts": "retrieval_context"}),
    ],
)
def test_a_context_is_what_was_retrieved_only_beside_answers_and_references(
    wanted: list[str], free: list[str], served: list[str], found: dict[str, str]
) -> None:
    """W2: in data that a system has yet to answer it is gold."""
    assert proposed_columns(wanted, free, served) == found


@pytest.mark.parametrize(
    ("written", "field", "free", "meant"),
    [
        ("anwser", "answer", ["golden_answers", "answers"], None),
        ("reply_txt", "answer", ["reply_text"], "reply_text"),
        ("gold", "answer", ["golds", "gold_answer"], "golds"),
        ("id", "retrieved_ids", ["relevant_ids"], None),
    ],
)
def test_a_mapped_name_is_never_guessed_to_be_another_field(
    written: str, field: str, free: list[str], meant: str | None
) -> None:
    """W2."""
    assert column_meant(written, field, free) == meant


@pytest.mark.parametrize(
    "column",
    ["pred", "Gold: A", "a b", "用户 问题", 'q"t\\', "no", "7", "a,b", "{x}", " x", "a\tb"],
)
def test_the_line_to_paste_reads_back(column: str) -> None:
    """F10: it is a whole key_map."""
    text = pair_text("key_map", {"answer": column, "references": "x"})
    assert parse_yaml(text, "").data == {"key_map": {"answer": column, "references": "x"}}

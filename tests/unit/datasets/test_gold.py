"""K11, K13, K14: gold as objects, aliases, and texts that a mark divides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

Row = Callable[..., Sample | InvalidRow]


@pytest.mark.parametrize(
    ("gold", "references"),
    [
        (
            [{"text": "14 euros", "answer_start": 4}, {"text": "14", "answer_start": 4}],
            ("14 euros", "14"),
        ),
        ({"text": ["14 euros", "14"], "answer_start": [4, 4]}, ("14 euros", "14")),
        ([{"answer": "14", "provenance": [{"title": "Bikes"}]}, {"provenance": [{}]}], ("14",)),
        ({"value": 14, "normalized": "fourteen"}, ("14",)),
        ([{"text": []}, {"text": ["pier 4"]}], ("pier 4",)),
        ({"text": [], "answer_start": []}, None),
        ([{"content": "a"}, "b"], ("a", "b")),
        ({"answer": "yes", "text": "yes"}, ("yes",)),
        ({"answer": None, "text": "yes"}, ("yes",)),
        ({"answer": "", "text": ["yes"], "value": []}, ("yes",)),
        ({"answer": " ", "text": "yes"}, ("yes",)),
        ({"answer": "\u00a0", "text": "yes"}, ("yes",)),
        ({"answer": "\u200b", "text": "yes"}, ("yes",)),
        ({"answer": "\ufeff \u3000", "text": "\u00a0"}, None),
        ({"text": ["\u200b", "yes", "\u2060"]}, ("yes",)),
        (["\u200b", "\u00a0", "yes"], ("yes",)),
        ("\u200b", None),
        ("\u00a0\u200d", None),
        # What shows is a reference, as it is.
        ({"answer": 0}, ("0",)),
        ({"answer": False}, ("False",)),
        (
            ["-", "√", "。", "\u200bParis", "می\u200cرود", "👩\u200d🔬", "\u00a0a\u00a0b"],
            ("-", "√", "。", "\u200bParis", "می\u200cرود", "👩\u200d🔬", "\u00a0a\u00a0b"),
        ),
    ],
)
def test_references_in_objects_are_read_by_role(
    row: Row, gold: Any, references: tuple[str, ...] | None
) -> None:
    """K13: SQuAD, its form at Hugging Face, KILT, TriviaQA, NQ."""
    found = row({"question": "q", "references": gold})
    assert isinstance(found, Sample)
    assert found.references == references


SAY_NO = (
    ("isCorrect", False), ("Correct", "N"), ("is_correct", 0), ("correct", "F"), ("correct", "no."),
    ("correct", "错误"), ("correct", "不是"), ("correct", "nein"), ("isAnswer", False),
    ("correct", "❌"), ("correct", "-1"), ("correct", 0.0), ("is_true", False), ("isWrong", True),
    ("incorrect", "yes"), ("Label", "incorrect"), ("Label", "no"), ("valid", "f"), ("right", 0),
)  # fmt: skip
SAY_NO_NO = (
    ("isCorrect", True), ("correct", "Yes."), ("correct", "对"), ("correct", 3), ("correct", None),
    ("correct", " "), ("correct", float("nan")), ("correct", "0.5"), ("correct", {"by": "no"}),
    ("correction", "no"), ("Label", "n"), ("label", "F"), ("label", "否"), ("right", 120),
    ("right", "edge"), ("valid", "2024-01-01"), ("wrong", False), ("incorrect", "Milan"),
    ("correct", "✅"), ("correct", "✔️"), ("correct", "wahr"), ("correct", "n/a"),
    ("correct", "100%"), ("correct", "Rome"), ("correct", "B"), ("correct", "partly"),
    ("label", -1), ("wrong", "n/a"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("gold", "reason"),
    [
        (
            [{"text": "a"}, {"start": 3}],
            "an object without answer, text, value, content, found 'start'",
        ),
        (
            {"answer": "yes", "text": "The whole passage."},
            "an object with 'answer' and 'text'; name",
        ),
        ({}, None),
        # Alternatives with a mark, however it is spelled; a mark that says yes is none.
        *(
            ([{"text": "Rome", key: mark}], f"an object with '{key}': {mark!r}, so it is no right")
            for key, mark in SAY_NO
        ),
        ([{"text": "Rome", "label": 0}], "the path to the text, COLUMN.text, or of objects"),
        *(([{"text": "Rome", key: mark}], None) for key, mark in SAY_NO_NO),
        # The columns of such alternatives; other lists say nothing about each text.
        (
            {"text": ["Rome", "Milan"], "is_correct": [True, False]},
            "with 'is_correct': [True, False], so not each of its texts is a right answer",
        ),
        *(
            ({"text": ["Rome", "Milan"], "wrong": [no, yes]}, "so not each of its texts")
            for no, yes in ((False, True), (0, 1), (0.0, 1.0), ("no", "yes"), ("false", "True"))
        ),
        ({"text": ["Rome", "Milan"], "is_correct": [None, "0"]}, "so not each of its texts"),
        ({"text": ["Rome", "Roma"], "is_correct": [True, True]}, None),
        ({"answer": ["No"], "incorrect": ["Yes", "Maybe"]}, None),
        # Answers of yes and no, of which no mark can be told.
        *(
            ({"answer": ["No"], key: [word]}, None)
            for key, word in (("incorrect", "Yes"), ("incorrect", "true"), ("correct", "no"))
        ),
        ({"answer": ["Yes", "No"], "incorrect": ["no", "yes"]}, None),
        *(
            ({"text": ["Yes", "No"], "correct": [yes, no]}, "so not each of its texts")
            for yes, no in (("true", "false"), ("1", "0"), ("yes", "no"))
        ),
        ({"text": ["No", "b"], "is_wrong": ["y", "n"]}, "so not each of its texts"),
        ({"text": ["No", "False"], "label": ["no", "false"]}, None),
        ({"text": ["Rome", "Milan"], "label": [1, 0]}, None),
        ({"text": ["Rome", "Milan"], "right": [0, 12]}, None),
        ({"text": ["a", "b"], "correct": [0]}, None),
        ({"text": ["Rome"], "labels": [0, 7]}, None),
    ],
)
def test_an_object_that_cannot_be_read_is_an_invalid_row(
    row: Row, gold: Any, reason: str | None
) -> None:
    """K13: never a dropped item."""
    found = row({"question": "q", "answer": "a", "references": gold})
    assert (reason is None) == isinstance(found, Sample)
    assert reason is None or (isinstance(found, InvalidRow) and reason in found.reason)


@pytest.mark.parametrize(
    ("gold", "ids"),
    [
        (
            [{"source": "a.pdf", "page": 3}, {"source": "b.pdf", "page": 1}],
            {"a.pdf": 1, "b.pdf": 1},
        ),
        ({"source": "a.pdf", "page": 3}, {"a.pdf": 1}),
        ([{"title": "T", "url": "http://x/1"}], {"http://x/1": 1}),
        ([{"id": None, "title": "T"}], {"T": 1}),
        ([{"document_id": 7, "title": "T", "grade": 2}], {"7": 2}),
        ({"source": 2, "d1": 1}, {"source": 2, "d1": 1}),
        ({"id": 7, "grade": 2}, {"7": 2}),
        ({"doc_id": 0, "page": 3}, {"0": 1}),
        ({"id": None, "grade": None}, None),
    ],
)
def test_expected_documents_in_objects_have_one_id(
    row: Row, gold: Any, ids: dict[str, int]
) -> None:
    """K13: an id made for it, else where it is from; an object of numbers is of grades."""
    found = row({"question": "q", "reference_ids": gold})
    assert isinstance(found, Sample)
    assert found.reference_ids == ids


@pytest.mark.parametrize(
    "gold",
    [
        [["Tea", ["From nine.", " Not on Mondays."]], ["Bikes", ["14 euros."]]],
        {
            "title": ["Tea", "Bikes"],
            "sentences": [["From nine.", " Not on Mondays."], ["14 euros."]],
        },
        {"text": ["From nine. Not on Mondays.", "14 euros."], "title": ["Tea", "Bikes"]},
        [{"content": "From nine. Not on Mondays."}, {"passage": "14 euros."}],
    ],
)
def test_expected_passages_in_objects(row: Row, gold: Any) -> None:
    """K13: pairs of a title and sentences, also as columns."""
    found = row({"question": "q", "reference_contexts": gold})
    assert isinstance(found, Sample)
    assert found.reference_contexts == ("From nine. Not on Mondays.", "14 euros.")


@pytest.mark.parametrize(
    ("fields", "references"),
    [
        ({"gold": "WHO", "more": ["W.H.O.", "WHO", ""]}, ("WHO", "W.H.O.")),
        ({"gold": "WHO", "more": None}, ("WHO",)),
        ({"gold": "WHO", "more": "W.H.O."}, ("WHO", "W.H.O.")),
        ({"gold": None, "more": ["W.H.O."]}, ("W.H.O.",)),
        ({"gold": ["a"], "more": [{"text": "b"}]}, ("a", "b")),
    ],
)
def test_aliases_are_further_references(
    row: Row, fields: dict[str, Any], references: tuple[str, ...]
) -> None:
    """K14: after the first, none twice."""
    found = row({"question": "q", **fields}, key_map={"references": "gold", "aliases": "more"})
    assert isinstance(found, Sample)
    assert found.references == references
    assert dict(found.metadata) == {}


def test_a_column_is_aliases_only_by_key_map(row: Row) -> None:
    """K14: never by its name."""
    found = row({"question": "q", "references": "a", "aliases": ["b"]})
    assert isinstance(found, Sample)
    assert (found.references, dict(found.metadata)) == (("a",), {"aliases": ["b"]})


def test_aliases_of_groups_are_refused(row: Row) -> None:
    """K14: of which group?"""
    found = row({"references": [["a"], ["b"]], "more": ["c"]}, key_map={"aliases": "more"})
    assert isinstance(found, InvalidRow)
    assert "write the aliases into the groups" in found.reason


def test_aliases_that_no_row_has_are_refused(refused: Callable[..., list[str]]) -> None:
    """K14: as any mapped column."""
    keys = {"key_map": {"aliases": "alias"}}
    (problem,) = refused("r.jsonl", '{"references": "a", "aliases": ["b"]}', **keys)
    assert "no row has the column 'alias' for 'aliases'. Did you mean 'aliases'?" in problem


def test_the_answer_is_no_alias() -> None:
    """K14: compared with itself it is always right."""
    with pytest.raises(ValueError, match="gives the column 'a' to 'answer' and to 'aliases'"):
        DatasetSpec(path="r.csv", key_map={"answer": "a", "aliases": "a"})


CSV = "question,references,must_include,reference_ids\nq,2014/2016 / ,a;b,d1|d2\n"


def test_a_mark_divides_the_texts_of_a_field(samples: Callable[..., list[Sample]]) -> None:
    """K11: stripped, blanks left out."""
    split = {"references": "/", "must_include": ";", "reference_ids": "|"}
    (found,) = samples("r.csv", CSV, split=split)
    assert found.references == ("2014", "2016")
    assert found.reference_ids == {"d1": 1, "d2": 1}
    assert found.must_include == ("a", "b")


def test_only_texts_are_divided(row: Row) -> None:
    """K11: a list, and a cell that spells one, are as they are."""
    for value in ("2014 or 2016", ["2014", "2016"]):
        found = row({"references": value}, split={"ground_truth": " or "})
        assert isinstance(found, Sample)
        assert found.references == ("2014", "2016")
    found = row({"references": ["2014 or 2016"]}, split={"references": " or "})
    assert isinstance(found, Sample)
    assert found.references == ("2014 or 2016",)


def test_a_spelled_list_is_not_divided(samples: Callable[..., list[Sample]]) -> None:
    """K11: the list says where its texts end."""
    (found,) = samples("r.csv", 'references\n"[""a/b"", ""c""]"\n', split={"references": "/"})
    assert found.references == ("a/b", "c")


def test_merged_rows_are_divided_first(samples: Callable[..., list[Sample]]) -> None:
    """K11: each row has its own cell."""
    text = "qid,question,references,reference_ids\n1,q,a/b,d1/d2\n1,q,a/b,d3\n"
    marks = {"references": "/", "reference_ids": "/"}
    (found,) = samples("r.csv", text, split=marks, merge_rows="qid")
    assert found.references == ("a", "b")
    assert found.reference_ids == {"d1": 1, "d2": 1, "d3": 1}


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (
            {"answer": "/"},
            "'answer' is no field with a list that can be divided: expected references",
        ),
        ({"gold": "/"}, "'gold' is no field with a list"),
        ({"references": " "}, "the mark of 'references' is blank"),
        ({"references": "/", "ground_truth": ";"}, "'ground_truth' is a second name of"),
    ],
)
def test_a_split_of_another_field_is_refused(split: dict[str, str], message: str) -> None:
    """K11."""
    with pytest.raises(ValueError, match=message):
        DatasetSpec(path="r.csv", split=split)

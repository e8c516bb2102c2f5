"""W5, A27: rows in the shapes that people's files have, and what to write where it is unclear."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.formats.json_shapes import NoRowsError, rows_in
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.text.row_checks import checks_of

Load = Callable[..., Dataset]
Samples = Callable[..., list[Sample]]
Invalid = Callable[..., dict[int, InvalidRow]]
Refused = Callable[..., list[str]]

ROWS: list[dict[str, Any]] = [
    {"question": "q1", "answer": "a", "references": ["a"]},
    {"question": "q2", "answer": "b", "references": ["c"]},
]
TURNS = [{"question": "q1", "answer": "a"}, {"question": "q2", "answer": "b"}]
READ = [("q1", "a", ("a",)), ("q2", "b", ("c",))]


def texts(samples: list[Sample]) -> list[Any]:
    return [(sample.question, sample.answer, sample.references) for sample in samples]


@pytest.mark.parametrize(
    "document",
    [
        {"examples": ROWS},
        {"version": 2, "ks": [1, 5], "meta": {"by": "x"}, "items": ROWS},
        {name: [row[name] for row in ROWS] for name in ROWS[0]},
        {name: {"0": ROWS[0][name], "1": ROWS[1][name]} for name in ROWS[0]},
        {name: {"x": ROWS[0][name], "y": ROWS[1][name]} for name in ROWS[0]},
        {
            "columns": ["question", "answer", "references"],
            "index": [0, 1],
            "data": [list(row.values()) for row in ROWS],
        },
    ],
    ids=["examples", "among others", "columns", "pandas", "pandas with an index", "split"],
)
def test_shapes_that_are_read_by_themselves(samples: Samples, document: Any) -> None:
    """W5."""
    assert texts(samples("r.json", json.dumps(document))) == READ


@pytest.mark.parametrize(
    "beside",
    [
        {"labels": ["x", "y"]},
        {"contexts": ["c1", "c2"]},
        {"question": ["x", "y"]},
        {"question": ["x", "y"], "references": ["x", "y"]},
        {"question": ["x", "y"], "contexts": [["c1"], ["c2"]]},
        {"errors": []},
        {"errors": ["timeout"], "ids": ["a", "b", "c"]},
        {"answer": ["x", "y"], "references": ["x", "y"]},
    ],
    ids=str,
)
def test_a_list_of_rows_is_no_column(samples: Samples, beside: dict[str, Any]) -> None:
    """W5: whatever lists of the same length stand beside it."""
    assert texts(samples("r.json", json.dumps({"data": ROWS, **beside}))) == READ


@pytest.mark.parametrize(
    ("document", "columns"),
    [
        ({"messages": [{"role": "user", "content": "q"}] * 2, "references": ["x", "y"]}, "role"),
        ({"documents": [{"text": "t"}] * 2, "questions": ["x", "y"]}, "text"),
        ({"corpus": [{"id": "a", "text": "t"}], "query": ["x"], "references": ["y"]}, "text"),
        ({"items": [{"frage": "q", "antwort": "a"}] * 2, "contexts": ["x", "y"]}, "frage"),
    ],
)
def test_a_list_of_other_objects_beside_a_column_is_the_rows(
    load: Load, document: dict[str, Any], columns: str
) -> None:
    assert columns in load("r.json", json.dumps(document)).columns


def test_two_lists_of_objects_are_no_columns(refused: Refused) -> None:
    document = {"questions": ROWS, "documents": [{"text": "a"}, {"text": "b"}]}
    (problem,) = refused("r.json", json.dumps(document))
    assert "write rows_at: questions or rows_at: documents" in problem


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": [{"source": "x"}, {"source": "y"}]},
        {"metadata": [{"id": 7, "topic": "x"}, {}], "scores": [{"f1": 1.0}, {"f1": 0.5}]},
        {"grades": [{"a": 1}, {"b": 2}]},
    ],
    ids=str,
)
def test_a_column_of_objects_is_one_beside_those_of_questions_and_answers(
    samples: Samples, more: dict[str, Any]
) -> None:
    """W5: ``orient="list"`` of a data frame with metadata; the other columns were lost."""
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    found = samples("r.json", json.dumps({**columns, **more}))
    assert texts(found) == READ
    assert [dict(one.metadata) for one in found] == [
        {name: column[at] for name, column in more.items()} for at in (0, 1)
    ]


def test_rows_by_id_have_their_key_as_id(samples: Samples) -> None:
    """W5: a row's own id is kept."""
    found = samples("r.json", json.dumps({"a-1": ROWS[0], "a-2": {**ROWS[1], "id": "own"}}))
    assert [sample.id for sample in found] == ["a-1", "own"]
    assert texts(found) == READ


@pytest.mark.parametrize(
    ("own", "expected"), [(0, "0"), (7, "7"), ("", "a-1"), (None, "a-1"), (False, "a-1")]
)
@pytest.mark.parametrize("rows_at", [None, "[*]"])
def test_a_row_by_id_has_its_own_id_if_it_is_a_text_or_a_number(
    samples: Samples, own: Any, expected: str, rows_at: str | None
) -> None:
    """W5: the number 0 is an id, too."""
    document = {"a-1": {**ROWS[0], "id": own}, "a-2": ROWS[1]}
    found = samples("r.json", json.dumps(document), rows_at=rows_at)
    assert [sample.id for sample in found] == [expected, "a-2"]


@pytest.mark.parametrize(
    ("document", "rows_at"),
    [
        ({"runs": [{"seconds": 3}], "rows": ROWS}, "rows"),
        ({"data": {"eval": {"rows": ROWS}}}, "data.eval.rows"),
        ({"parts": [{"qas": ROWS[:1]}, {"qas": ROWS[1:]}]}, "parts[*].qas"),
        ([{"rows": ROWS}], "[0].rows"),
        ({"by id": {"x": ROWS[0], "y": ROWS[1]}, "rows": [{}]}, '["by id"]'),
    ],
)
@pytest.mark.parametrize("name", ["r.json", "r.yaml"])
def test_rows_at_says_where_the_rows_are(
    samples: Samples, name: str, document: Any, rows_at: str
) -> None:
    """W5: JSON is YAML, too."""
    assert texts(samples(name, json.dumps(document), rows_at=rows_at)) == READ


def test_objects_by_id_without_a_known_column_need_rows_at(
    samples: Samples, refused: Refused
) -> None:
    """W5: settings look the same."""
    document = json.dumps({"x": {"was?": "q1"}, "y": {"was?": "q2"}})
    (problem,) = refused("r.json", document)
    assert problem.endswith("if each value is a row, write rows_at: \"$\" (in 'dataset')")
    found = samples("r.json", document, rows_at="$", key_map={"question": "was?"})
    assert [(sample.id, sample.question) for sample in found] == [("x", "q1"), ("y", "q2")]


def test_a_map_of_texts_by_id_has_values(samples: Samples) -> None:
    """W5: as a file of answers has it."""
    document = json.dumps({"answers": {"x": "five", "y": "six"}, "n": 2})
    found = samples("r.json", document, rows_at="answers", key_map={"answer": "value"})
    assert [(sample.id, sample.answer) for sample in found] == [("x", "five"), ("y", "six")]


LLAMAINDEX = {
    "queries": {"q-1": "first?", "q-2": "second?"},
    "corpus": {"d-1": "one", "d-2": "two", "d-3": "three"},
    "relevant_docs": {"q-1": ["d-1", "d-3"], "q-2": ["d-2"]},
    "mode": "text",
}


def test_the_questions_of_llamaindex_have_their_documents(samples: Samples) -> None:
    """W5: EmbeddingQAFinetuneDataset."""
    first, second = samples("r.json", json.dumps(LLAMAINDEX))
    assert (first.id, first.question) == ("q-1", "first?")
    assert first.reference_ids == {"d-1": 1, "d-3": 1}
    assert first.reference_contexts == ("one", "three")
    assert second.reference_ids == {"d-2": 1}


def test_relevant_documents_of_no_question_are_refused(refused: Refused) -> None:
    """W5: a lost row never passes silently."""
    relevant = {**LLAMAINDEX["relevant_docs"], "q-9": ["d-1"]}  # type: ignore[dict-item]
    (problem,) = refused("r.json", json.dumps({**LLAMAINDEX, "relevant_docs": relevant}))
    assert problem == (
        "r.json: 'relevant_docs' has 'q-9', which 'queries' lacks; each needs a query: add it, or "
        "remove the id"
    )


WRITE = "if the rows are in it, write {} (in 'dataset')"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"a": ROWS, "b": ROWS}, "if the rows are in it, write rows_at: a or rows_at: b"),
        ({"data": {"rows": ROWS}}, "write rows_at: data.rows (in 'dataset')"),
        ({"my data": {"x.y": ROWS}}, 'write rows_at: "[\\"my data\\"][\\"x.y\\"]" (in'),
        ({"question": "q1"}, "found an object; one row is a list of one object: put [ ] around it"),
        (
            {**ROWS[0], "history": [{"question": "x", "references": ["z"]}]},
            "in 'history' questions with 'references'; if the object is the row, put [ ] around",
        ),
        ({**ROWS[0], "messages": [{"question": "x", "must_include": "z"}]}, "rows_at: messages"),
        ({**ROWS[0], "a": ROWS, "b": ROWS}, "write rows_at: a or rows_at: b"),
        ({"a": 1, "b": "x"}, "found an object with 'a', 'b'"),
        ({"question": ["a", "b"], "answer": ["c"]}, "found an object"),
        ({}, "found an object"),
        # A27: rows that may be elsewhere, too, would not be tested, and nobody would know.
        (
            {"part1": ROWS, "part2": [*ROWS, None]},
            WRITE.format('rows_at: part1 or rows_at: part2 or rows_at: "[*]"'),
        ),
        (
            {"part1": ROWS, "part2": ["old", ROWS[0]]},
            WRITE.format('rows_at: part1 or rows_at: part2 or rows_at: "[*]"'),
        ),
        (
            {"results": ROWS, "failed": {"rows": ROWS}},
            WRITE.format("rows_at: results or rows_at: failed.rows"),
        ),
        ({"rows": [*ROWS, None]}, WRITE.format("rows_at: rows")),
    ],
)
def test_what_is_unclear_is_refused_with_the_line_to_write(
    refused: Refused, document: Any, message: str
) -> None:
    """W5, W8."""
    (problem,) = refused("r.json", json.dumps(document))
    assert message in problem


@pytest.mark.parametrize("name", ["r.json", "r.jsonl", "r.yaml"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"passages": [{"text": "From 9 to 5."}], "n": {"x": 1}},
        {"history": TURNS},
        {"chatHistory": TURNS[:1], "passages": [{"text": "From 9 to 5."}]},
        {"input": [{"role": "user", "content": "Hello"}]},
    ],
)
def test_one_object_that_is_a_row_is_one(samples: Samples, name: str, more: Any) -> None:
    """K27: it has a question and another field; lists in it, but of turns, have no questions."""
    document = {"question": "When?", "answer": "At nine.", **more}
    (found,) = samples(name, json.dumps(document, indent=1))
    assert (found.question, found.answer) == ("When?", "At nine.")


@pytest.mark.parametrize(
    "document",
    [
        {"history": ROWS},
        {"query": "refund questions", "messages": ROWS},
        {"query": "support", "history": TURNS},
        {"prompt": "Answer briefly.", "input": ROWS},
        {"prompt": "Answer briefly.", "answer": "see below", "input": ROWS},
    ],
)
def test_a_caption_of_rows_is_no_row(document: dict[str, Any]) -> None:
    """Without an answer of its own, or with rows that are no turns; the rows were lost."""
    assert [row["question"] for row in rows_in(document, None, "dataset")] == ["q1", "q2"]


def test_a_document_with_one_list_of_questions_is_no_row(samples: Samples) -> None:
    document = {"query": "How good is it?", "answer": "see below", "items": ROWS}
    assert texts(samples("r.json", json.dumps(document))) == READ


@pytest.mark.parametrize(
    ("rows_at", "message"),
    [
        ("rowz", "dataset.rows_at: nothing at 'rowz': at its top there are 'rows', 'n'. Did you"),
        ("n", "dataset.rows_at: 'n' is a number, not a list of objects"),
        ("rows[7]", "dataset.rows_at: nothing at 'rows[7]'"),
    ],
)
def test_a_path_that_leads_to_no_rows_is_refused(
    refused: Refused, rows_at: str, message: str
) -> None:
    """W5."""
    for name in ("r.json", "r.jsonl"):
        document = json.dumps({"rows": ROWS, "n": 3}, indent=1)
        (problem,) = refused(name, document, rows_at=rows_at)
        assert message in problem


def test_a_document_without_rows_that_is_called_json_lines_says_so(refused: Refused) -> None:
    """Its lines are no broken rows."""
    document = json.dumps({"n": 3, "m": {"x": 1}}, indent=1)
    (problem,) = refused("r.jsonl", document)
    assert [problem.replace("r.jsonl", "r.json")] == refused("r.json", document)


def test_rows_at_is_for_documents(refused: Refused) -> None:
    """W5."""
    (problem,) = refused("r.csv", "answer\nx\n", rows_at="rows")
    told = "csv has no keys; rows_at is for json, jsonl, yaml"
    assert problem == f"s.yaml:2: dataset.rows_at: {told}"


def test_a_key_that_is_there_twice_outside_of_rows_is_refused(refused: Refused) -> None:
    """W5: the first value would be lost, with its rows."""
    row = json.dumps(ROWS[0])
    (problem,) = refused("r.json", f'{{"x": {row}, "x": {row}}}')
    assert problem == "r.json: the key 'x' is there twice in one object"
    (problem,) = refused("r.jsonl", f'{{\n"rows": [{row}],\n"rows": [{row}]\n}}')
    assert problem == "r.jsonl: the key 'rows' is there twice in one object"
    twice = f'[{{"rows": [{row}], "rows": [{row}]}}]'
    for rows_at in ("[0].rows", "[*].rows", "[*].rows[*]"):
        (problem,) = refused("r.json", twice, rows_at=rows_at)
        assert problem == "r.json: the key 'rows' is there twice in one object"
    columns = '{"question": {"0": "a", "0": "b"}, "answer": {"0": "c"}}'
    assert "the key '0' is there twice" in refused("r.json", columns)[0]


def test_a_key_that_is_there_twice_in_a_row_under_a_key_makes_it_invalid(invalid: Invalid) -> None:
    """W5: as in a plain list."""
    found = invalid("r.json", '{"rows": [{"answer": "x", "answer": "y"}, {"answer": "z"}]}')
    assert {number: row.reason for number, row in found.items()} == {
        1: "the key 'answer' is there twice in one object"
    }


def test_a_split_row_of_another_width_is_invalid(invalid: Invalid) -> None:
    """W5: its cells are not shifted."""
    found = invalid("r.json", '{"columns": ["answer", "question"], "data": [["a"], ["b", "q"]]}')
    assert [row.reason for row in found.values()] == ["expected an object, found a list"]


def test_yaml_rows_have_lines_and_text_is_not_changed(load: Load) -> None:
    """W5: `no` is an answer."""
    text = "version: 2\nquestions:\n- question: q1\n  answer: no\n- {question: q2, answer: 12:30}\n"
    found = load("r.yml", text)
    assert [(case.question, getattr(case, "answer", None)) for case in found.cases] == [
        ("q1", "no"),
        ("q2", "12:30"),
    ]
    assert list(found.lines) == [3, 5]


def test_a_decimal_of_yaml_keeps_its_text_where_a_text_is_wanted(load: Load) -> None:
    """A reference 3.10 was 3.1, so that the right answer failed and the wrong one passed."""
    row = (
        "{id: 1.50, answer: 3.10, references: [3.10, -.50], contexts: [2.50], tags: 4.20,"
        " must_include: [3.10], doc_name: 2.0, reference_ids: {a: 2.0},"
        " answer_checks: [{equals: 2.50, weight: 1.50}, {contains: 3.10}],"
        " cost: 2.50, more: {cost: [3.250]}}"
    )
    (found,) = load("r.yaml", f"- {row}\n").cases
    assert isinstance(found, Sample)
    assert [found.id, found.answer, found.doc_name] == ["1.50", "3.10", "2"]
    assert [found.references, found.contexts] == [("3.10", "-.50"), ("2.50",)]
    assert [found.must_include, found.tags] == [("3.10",), ("4.20",)]
    assert found.reference_ids == {"a": 2}
    numbers = [found.metadata["cost"], *found.metadata["more"]["cost"]]
    assert ([*map(type, numbers)], numbers) == ([float, float], [2.5, 3.25])
    equals, contains = checks_of(found.answer_checks or ())
    assert (equals.value, equals.weight, contains.value) == ("2.50", 1.5, ("3.10",))


def test_a_whole_number_of_yaml_keeps_its_text_where_a_text_is_wanted(load: Load) -> None:
    """An id 2024_01 was 202401, which no other file has; an answer 0x1F was 31."""
    row = (
        "{id: 2024_01, answer: 0x1F, references: [0x1F, 10_00], contexts: [0b11], tags: 1_0,"
        " doc_name: 2024_02, retrieved_ids: [1_01], reference_ids: [10_1], must_include: [-1_0]}"
    )
    (found,) = load("r.yaml", f"- {row}\n").cases
    assert isinstance(found, Sample)
    assert [found.id, found.answer, found.doc_name] == ["2024_01", "0x1F", "2024_02"]
    assert [found.references, found.contexts] == [("0x1F", "10_00"), ("0b11",)]
    assert [found.retrieved_ids, found.reference_ids] == [("1_01",), {"10_1": 1}]
    assert [found.must_include, found.tags] == [("-1_0",), ("1_0",)]


def test_numbers_of_yaml_are_numbers_where_numbers_are_wanted(load: Load) -> None:
    """However they are written: grades, weights, and columns of one's own."""
    row = (
        "{id: 1, answer: 7, references: [+7, -3], reference_ids: {a: 0x2, b: 1_0},"
        " answer_checks: [{equals: 7, weight: 1_0}], latency: 1_000, more: {cost: [0x1F, 2_0]}}"
    )
    (found,) = load("r.yaml", f"- {row}\n").cases
    assert isinstance(found, Sample)
    assert (found.id, found.answer, found.references) == ("1", "7", ("7", "-3"))
    assert found.reference_ids == {"a": 2, "b": 10}
    numbers = [found.metadata["latency"], *found.metadata["more"]["cost"]]
    assert ([*map(type, numbers)], numbers) == ([int, int, int], [1000, 31, 20])
    assert [check.weight for check in checks_of(found.answer_checks or ())] == [10]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a: [", "r.yaml:2: not valid YAML"),
        ("- a: 1\n  a: 2\n", "r.yaml:2: duplicate key 'a'"),
        ("- a: &x [*x]\n", "an alias that contains itself"),
        ("a,\n" * 300_001, "r.yaml: more than 300,000 values; save the rows as JSON Lines"),
    ],
)
def test_yaml_that_cannot_be_used_is_refused(refused: Refused, text: str, message: str) -> None:
    """W5: no bombs."""
    assert message in refused("r.yaml", text)[0]


LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.json", LINES),
        ("r.jsonl", json.dumps(ROWS)),
        ("r.jsonl", "\ufeff" + json.dumps(ROWS, indent=2)),
        ("r.jsonl", json.dumps({"rows": ROWS}, indent=2)),
        ("r.txt", LINES),
        ("r.txt", json.dumps(ROWS)),
        ("r.golden", json.dumps({"rows": ROWS}, indent=2)),
        ("r.jsonl", f"# made by hand\n// twice\n{LINES}"),
        ("r.jsonl", f"\ufeff# made by hand\n{LINES}"),
    ],
)
def test_the_content_counts_where_the_suffix_is_another(
    samples: Samples, name: str, content: str
) -> None:
    """W5."""
    assert texts(samples(name, content)) == READ


def test_broken_lines_of_json_lines_stay_invalid_rows(invalid: Invalid) -> None:
    """W5: also where the file is called .json, or begins with a bracket."""
    assert [*invalid("r.json", f"{LINES}{{broken\n")] == [3]
    assert [*invalid("r.jsonl", f"[1]\n{LINES}")] == [1]
    assert [*invalid("r.jsonl", f"{{broken\n{LINES}")] == [1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "r.csv",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            "r.csv: a pointer of Git LFS, not the data of 12,345 bytes; get them with: git lfs",
        ),
        (
            "r.parquet",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",
            "r.parquet: a pointer of Git LFS, not the data; get them with: git lfs pull",
        ),
        ("r.csv", b"PAR1\x15\x04", "r.csv: a Parquet file; write dataset.format: parquet"),
        ("r.json", b"PK\x03\x04\x14", "another zip archive; write dataset.format: xlsx"),
        ("r.jsonl", b"\x1f\x8b\x08\x00", "packed with gzip: its name must end in .gz"),
        ("r.csv", b'[{"answer": "x"}]', "JSON, not a table; write dataset.format: json"),
        ("r.csv", b'{"answer": "x"}\n', "JSON, not a table; write dataset.format: json"),
        ("r.json", b"<!DOCTYPE html>\n<html>", "a web page, not the data; download the file"),
    ],
)
def test_a_file_of_another_kind_is_named(
    refused: Refused, name: str, content: bytes, message: str
) -> None:
    """W5: by its first bytes."""
    (problem,) = refused(name, content)
    assert message in problem


def test_a_list_of_other_objects_is_no_second_place(samples: Samples) -> None:
    """A27: of models, for instance."""
    document = {"config": {"models": [{"name": "m"}], "ks": [1]}, "results": ROWS}
    assert texts(samples("r.json", json.dumps(document))) == READ


def test_a_column_twice_is_refused(refused: Refused) -> None:
    """A27: the last one would win."""
    columns = ["question", "answer", "answer", "references"]
    document = {"columns": columns, "data": [["q", "WRONG", "five days", "five days"]]}
    (problem,) = refused("r.json", json.dumps(document))
    assert "'columns' names a column twice: 'answer'; rename one of them" in problem


def test_a_section_without_rows_at_is_told_to_save_the_list() -> None:
    """Only a data set, answers and a corpus can say where their rows are."""
    document = {"labels": [{"id": "q-1", "value": 1}], "notes": [{"text": "old"}]}
    with pytest.raises(NoRowsError) as refused:
        rows_in(document, None, "human")
    assert str(refused.value) == (
        "expected a list of objects, found an object (the list at labels? save it as a file of its "
        "own)"
    )
    assert rows_in(document["labels"], None, "human") == document["labels"]

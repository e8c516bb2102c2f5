"""K23: rows at any path, with what the objects above them say of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.formats.json_shapes import NoRowsError, rows_in
from pytest_rageval.datasets.formats.rows_at import row_paths
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.scenario.overrides import set_override

SQUAD = {
    "version": "1.1",
    "data": [
        {
            "title": "Tea",
            "id": "article-1",
            "paragraphs": [
                {
                    "context": "Tea is served from nine.",
                    "qas": [
                        {"id": "t1", "question": "When?", "answers": [{"text": "from nine"}]},
                        {"id": "t2", "question": "What?", "answers": [{"text": "tea"}]},
                    ],
                }
            ],
        },
        {
            "title": "Bikes",
            "paragraphs": [{"context": "Bikes cost 14.", "qas": [{"question": "How much?"}]}],
        },
    ],
}
SUITES = {
    "by": "me",
    "suites": [
        {"name": "hours", "id": 7, "tags": ["a", "b"], "tests": [{"question": "q1"}]},
        {"name": "prices", "meta": {"x": 1}, "tests": [{"question": "q2", "name": "own"}]},
    ],
}
UNDER_KEYS = {"tea": {"qas": [{"question": "q1"}]}, "bikes": {"qas": [{"question": "q2"}]}}


def test_a_question_has_the_plain_values_of_the_objects_above_it() -> None:
    """K13: not those of the whole file, which are the same for all."""
    first, _, last = rows_in(SQUAD, "data[*].paragraphs[*].qas", "dataset")
    assert first == {
        "id": "t1",
        "question": "When?",
        "answers": [{"text": "from nine"}],
        "context": "Tea is served from nine.",
        "title": "Tea",
        "parent_id": "article-1",
    }
    assert last == {"question": "How much?", "context": "Bikes cost 14.", "title": "Bikes"}


def test_the_row_and_the_nearest_object_count() -> None:
    """K13: lists of texts are joined, objects are not."""
    assert rows_in(SUITES, "suites[*].tests", "dataset") == [
        {"question": "q1", "name": "hours", "parent_id": 7, "tags": ["a", "b"]},
        {"question": "q2", "name": "own"},
    ]


@pytest.mark.parametrize(
    ("document", "rows_at", "rows"),
    [
        (
            UNDER_KEYS,
            "[*].qas",
            [
                {"question": "q1", "parent_key": "tea"},
                {"question": "q2", "parent_key": "bikes"},
            ],
        ),
        (
            {"version": 2, "tea": [{"question": "q1"}], "bikes": [{"question": "q2"}]},
            "[*]",
            [
                {"question": "q1", "parent_key": "tea"},
                {"question": "q2", "parent_key": "bikes"},
            ],
        ),
        (
            {"a": {"question": "q1"}, "b": {"question": "q2", "id": "own"}},
            "[*]",
            [{"question": "q1", "id": "a"}, {"question": "q2", "id": "own"}],
        ),
        (
            {"a": "five", "b": "six"},
            "[*]",
            [{"id": "a", "value": "five"}, {"id": "b", "value": "six"}],
        ),
        ({"version": 2, **UNDER_KEYS}, "[*].qas[0]", None),
    ],
)
def test_every_goes_over_the_values_of_an_object(
    document: Any, rows_at: str, rows: list[Any] | None
) -> None:
    """K23: the key of a value is the id of the row that it is."""
    expected = rows or [
        {"question": "q1", "parent_key": "tea"},
        {"question": "q2", "parent_key": "bikes"},
    ]
    assert rows_in(document, rows_at, "dataset") == expected


def test_what_is_no_row_is_an_invalid_row(load: Callable[..., Dataset]) -> None:
    """K23: never passed over in silence."""
    document = {"a": {"question": "q1"}, "b": "to do"}
    _, second = load("r.json", json.dumps(document), rows_at="[*]").cases
    assert isinstance(second, InvalidRow)
    assert second.reason == "expected an object, found text"


@pytest.mark.parametrize("failed", ["timeout", 5])
def test_what_is_no_list_below_every_is_an_invalid_row(
    load: Callable[..., Dataset], failed: Any
) -> None:
    document = {"tea": {"rows": [{"question": "q1"}]}, "bikes": {"rows": failed}}
    first, second = load("r.json", json.dumps(document), rows_at="[*].rows").cases
    assert isinstance(first, Sample)
    assert isinstance(second, InvalidRow)


@pytest.mark.parametrize(
    "name",
    ["answer", "Answer", "generated_answer", "expected_output", "Reference Answer", "标准答案"],
)
def test_a_row_has_no_answer_or_reference_of_an_object_above_it(name: str) -> None:
    document = {"groups": [{"topic": "t", name: "no", "items": [{"question": "q1"}]}]}
    assert rows_in(document, "groups[*].items", "dataset") == [{"question": "q1", "topic": "t"}]


def test_parents_with_the_same_id_give_no_row_its_id(
    samples: Callable[..., list[Sample]],
) -> None:
    """K23: ids of parents repeat."""
    document = [{"ID": "p", "rows": [{"question": "q1"}, {"question": "q2"}]}]
    found = samples("r.json", json.dumps(document), rows_at="[*].rows")
    assert [(sample.id, dict(sample.metadata)) for sample in found] == [
        ("sample-1", {"parent_id": "p"}),
        ("sample-2", {"parent_id": "p"}),
    ]


def test_joined_rows_of_yaml_have_their_lines(load: Callable[..., Dataset]) -> None:
    """K23: the line of the row, not of what lies above it."""
    text = "suites:\n- name: a\n  tests:\n  - question: q1\n  - question: q2\n"
    assert list(load("r.yaml", text, rows_at="suites[*].tests").lines) == [4, 5]


def test_a_joined_row_with_a_key_twice_is_invalid(invalid: Callable[..., Any]) -> None:
    """K23: as any row is."""
    text = (
        '{"s": [{"name": "a", "tests": [{"question": "x", "question": "y"}, {"question": "z"}]}]}'
    )
    found = invalid("r.json", text, rows_at="s[*].tests")
    assert [*found] == [1]


@pytest.mark.parametrize(
    ("document", "path", "count"),
    [
        (SQUAD, "data[*].paragraphs[*].qas", 3),
        (SUITES, "suites[*].tests", 2),
        (UNDER_KEYS, "[*].qas", 2),
        ([{"rows": [{"q": 1}, {"q": 2}]}], "$[*].rows", 2),
        ({"my data": {"x.y": [{"q": 1}]}}, '["my data"]["x.y"]', 1),
        ({'a "b"': [{"q": 1}]}, "['a \"b\"']", 1),
    ],
)
def test_the_longest_list_is_the_first_path(document: Any, path: str, count: int) -> None:
    """K23: and each path can be read."""
    paths = row_paths(document)
    assert paths[0].rows == count
    assert (paths[0].path.removeprefix("$"), count) == (path.removeprefix("$"), count)
    assert all(len(rows_in(document, found.path, "dataset")) >= found.rows for found in paths)


def test_records_are_no_rows_by_key() -> None:
    """K23: the parts of a row, though they are alike."""
    turn = {"input": {"text": "a", "lang": "en"}, "output": {"text": "b", "lang": "en"}}
    assert [found.path for found in row_paths([turn, turn])] == ["$"]


def test_columns_are_those_of_most_rows() -> None:
    """K23: two of three rows have an id."""
    (found,) = (path for path in row_paths(SQUAD) if path.rows == 3)
    assert found.columns == ("id", "question", "answers", "context", "title", "parent_id")


def test_a_refusal_has_the_paths() -> None:
    """K23: as data, for who proposes one."""
    with pytest.raises(NoRowsError) as caught:
        rows_in({"data": SUITES}, None, "dataset")
    assert [path.path for path in caught.value.paths] == ["data.suites[*].tests", "data.suites"]


@pytest.mark.parametrize("flag", ["dataset.rows_at=[*].qas", "dataset.rows_at='[*].qas'"])
def test_a_path_needs_no_quotes_on_the_command_line(flag: str) -> None:
    """K23: [ begins a list in YAML."""
    assert set_override("--rag-set", flag).value == "[*].qas"


def test_no_row_has_its_answer_from_above() -> None:
    """A row that lacks one is not answered: another's would be judged in its place."""
    document = {
        "runs": [{"answer": "five days", "reference": "x", "note": "n", "qas": [{"q": "Who?"}]}]
    }
    (row,) = rows_in(document, "runs[*].qas", "dataset")
    assert row == {"q": "Who?", "note": "n"}


TALKS = [
    {"question": "x", "turns": [{"question": "q1"}, {"question": "q2"}]},
    {"question": "x", "turns": [{"question": "q3"}]},
]


@pytest.mark.parametrize("name", ["r.json", "r.jsonl"])
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TALKS),
        "\n".join(map(json.dumps, TALKS)),
        "\n".join(json.dumps(talk, indent=1) for talk in TALKS),
    ],
    ids=["a list", "a line each", "indented"],
)
def test_a_path_goes_into_one_value_after_the_other(
    samples: Callable[..., list[Sample]], name: str, text: str
) -> None:
    """K23: they are the list that they would be in brackets; no line is a row."""
    found = samples(name, text, rows_at="[*].turns")
    assert [sample.question for sample in found] == ["q1", "q2", "q3"]


def test_a_path_goes_into_the_only_line_of_json_lines(
    samples: Callable[..., list[Sample]],
) -> None:
    """K23: as into any document."""
    (first, second) = samples("r.jsonl", json.dumps(TALKS[0]) + "\n", rows_at="turns")
    assert (first.question, second.question) == ("q1", "q2")


def test_a_path_that_lines_lack_is_refused(refused: Callable[..., list[str]]) -> None:
    """K23: with the one that they have."""
    (problem,) = refused("r.jsonl", "\n".join(map(json.dumps, TALKS)), rows_at="turns")
    assert "dataset.rows_at: " in problem

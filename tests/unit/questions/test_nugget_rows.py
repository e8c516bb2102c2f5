"""The file of nuggets beside rows: which rows lack a list, and what stays as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.errors import UserError
from pytest_rageval.model import InvalidRow, Sample
from pytest_rageval.questions.nugget_rows import (
    NuggetFile,
    answered_of,
    joined_scenario,
    nuggets_beside,
)
from pytest_rageval.questions.nuggets import Nugget, NuggetList
from pytest_rageval.questions.scenario_text import judge_line

LIST = NuggetList([Nugget("Within 30 days.", "vital")])
COLUMN = [{"text": "Within 30 days.", "importance": "vital"}]


def row(name: str, **more: Any) -> Sample:
    fields = {"question": f"What of {name}?", "references": (f"It is {name}.",), **more}
    return Sample(name, **fields)


def lines(file: NuggetFile, **lists: NuggetList) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.text(lists)]


def test_rows_lack_a_list_that_have_references_and_neither_nuggets_nor_a_line() -> None:
    cases = [
        row("a"),
        row("own", nuggets=({"text": "x", "importance": "vital"},)),
        row("no", answerable=False),
        row("bare", references=None),
        row("blank", references=(" ",)),
        row("listed"),
        row("again"),
        InvalidRow("sample-8", 7, 8, 8, "no question"),
    ]
    file = NuggetFile(cases, [{"id": "listed", "nuggets": ["x"]}, {"id": "again"}])
    assert [sample.id for sample in file.open] == ["a", "again"]
    assert file.bare == 3


def test_the_file_has_a_line_for_each_row_and_keeps_what_it_has() -> None:
    own = {"id": "b", "nuggets": ["mine"], "note": "by hand"}
    file = NuggetFile([row("a"), row("b"), row("c", answerable=False)], [own], ["gone"])
    first, *rest = lines(file, a=LIST)
    assert first == own
    assert rest[0].pop("nuggets_of")
    assert rest == [
        {"id": "a", "nuggets": COLUMN, "nuggets_made_by": "model"},
        {"id": "c"},
        {"id": "gone"},  # a person rejected it, and it is joined all the same
    ]


def test_an_invalid_row_has_a_line_if_it_has_an_id() -> None:
    """Else the join would say that its line is missing, in place of what is wrong with it."""
    broken = [InvalidRow(name, at, at + 1, at + 1, "no") for at, name in enumerate("aab")]
    cases = [*broken[:2], row("a"), InvalidRow("sample-4", 3, 4, 4, "no"), broken[2]]
    known = [{"id": "b", "note": "x"}]
    file = NuggetFile(cases, known)
    first, second = lines(file, a=LIST)
    assert (first, second["id"], second["nuggets"]) == (known[0], "a", COLUMN)
    assert lines(NuggetFile(cases[1:2])) == [{"id": "a"}]


def test_no_column_says_that_a_model_made_the_question() -> None:
    (made,) = lines(NuggetFile([row("a")]), a=LIST)
    assert "made_by" not in made


def test_a_line_without_a_list_gets_one_in_its_place() -> None:
    file = NuggetFile([row("7"), row("b")], [{"id": 7, "note": "x"}, {"id": "b"}])
    first, second = lines(file, **{"7": LIST})
    assert (first["id"], first["note"], first["nuggets"]) == (7, "x", COLUMN)
    assert second == {"id": "b"}


def test_a_changed_reference_is_told_and_a_list_by_hand_is_not() -> None:
    (made,) = lines(NuggetFile([row("a")]), a=LIST)
    known = [made, {"id": "b", "nuggets": ["x"]}]
    assert NuggetFile([row("a"), row("b")], known).changed == []
    changed = row("a", references=("It is another.",))
    assert NuggetFile([changed, row("b")], known).changed == ["a"]


def test_lists_of_rows_that_are_not_there_are_told() -> None:
    file = NuggetFile([row("a")], [{"id": "a"}, {"id": "z"}, {"id": "r"}], ["r"])
    assert file.gone == ["z"]


def test_a_broken_file_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "rows-nuggets.jsonl"
    path.write_text('{"id": "a"}\n{"nuggets": []}\n', "utf-8")
    with pytest.raises(UserError, match=r"rows-nuggets\.jsonl, row 2: no 'id'"):
        NuggetFile.of([], path)


def test_the_file_is_beside_the_data() -> None:
    assert nuggets_beside(Path("d/Golden.v2.jsonl.gz")) == Path("d/Golden.v2-nuggets.jsonl")


def test_a_reference_and_the_expected_contexts_are_what_nuggets_rest_on() -> None:
    found = answered_of(row("a", references=("30 days",), reference_contexts=("In 30 days.",)))
    assert found.texts == ['The answer to "What of a?" is: 30 days', "In 30 days."]
    assert list(found.answers) == ["30 days"]


def test_what_a_model_answered_supports_no_nugget() -> None:
    metadata = {"made_by": "model", "reference_contexts": ["All of the passage."]}
    made = row("a", reference_contexts=("passage",), metadata=metadata)
    assert answered_of(made).texts == ["All of the passage."]


def test_a_scenario_offers_no_second_file_to_join() -> None:
    text = "name: a\n# Or a second file has them, and no target is needed:  answers: x\nb: 1\n"
    joined = joined_scenario(text, "a-nuggets.jsonl", ClientSettings("gpt-4o"))
    assert joined.startswith("name: a\nb: 1\n")
    assert joined.count("answers:") == 1
    assert "\nanswers: {path: a-nuggets.jsonl, key: id}\n" in joined
    assert "\n# judge: {model: gpt-4o, controls: require}\n" in joined


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        ({"api_key_env": "OPENAI_API_KEY"}, ""),
        ({"api_key_env": "MY_KEY"}, ", api_key_env: MY_KEY"),
        ({"provider": "python"}, ", provider: python"),
        ({"base_url": "https://u:pw@h.test/v1?key=1"}, ', base_url: "https://h.test/v1"'),
    ],
)
def test_the_line_judge_is_of_the_model_that_checked(settings: dict[str, str], keys: str) -> None:
    """Without key and password."""
    line = judge_line(ClientSettings("m", **settings))  # type: ignore[arg-type]
    assert line == f"judge: {{model: m{keys}, controls: require}}"

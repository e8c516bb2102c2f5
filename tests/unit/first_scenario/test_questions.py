"""K10, K18: each option that a message prints was tried, and decides what was asked."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval.datasets.proposer.draft import Way
from pytest_rageval.errors import ScenarioError
from pytest_rageval.first_scenario.propose import Proposal, propose
from pytest_rageval.first_scenario.questions import UndecidedError, option, quoted_option

ASKED = [f"Is it number {at}?" for at in range(6)]
LONG = [f"It is number {at}, as far as anybody in this shop can tell you." for at in range(6)]
OTHER = [f"That is {at} of them, and the rest is on the way to you by now." for at in range(6)]
SHORT = [f"number {at}" for at in range(6)]


def rows_of(**columns: list[Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


OPEN: dict[str, Any] = {
    "two systems": rows_of(question=ASKED, expected=SHORT, gpt_answer=LONG, claude_answer=OTHER),
    "two documented": rows_of(question=ASKED, references=SHORT, answer=LONG, response=OTHER),
    "two golds": rows_of(question=ASKED, gold_a=SHORT, gold_b=OTHER, answer=LONG),
    "gold or answer": rows_of(question=ASKED, answer=LONG, contexts=[[text] for text in OTHER]),
    "no question": rows_of(headline=ASKED, expected=SHORT),
    "no gold": rows_of(question=ASKED, solution=SHORT, level=[1, 2, 3, 4, 5, 6]),
    "document": rows_of(question=ASKED, document=[f"d{at % 2}.md" for at in range(6)]),
    "a blank": rows_of(question=ASKED, answer=LONG, generated_answer=[*SHORT[:5], None]),
    "dataset example": rows_of(input=[{"question": text} for text in ASKED],
                               output=[{"answer": text} for text in SHORT]),
    "keywords": rows_of(question=ASKED, keywords=[[text] for text in SHORT], response=LONG),
    "odd names": rows_of(**{"Question": ASKED, "The right one (it's)": LONG, "level": SHORT}),
    "chat": [
        {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": said}]}
        for text, said in zip(ASKED, LONG, strict=True)
    ],
    "yes and no": rows_of(question=ASKED, response=LONG, expected=["yes", "no"] * 3),
    "two places": {
        name: rows_of(question=ASKED, expected=SHORT) for name in ("train", "test")
    },
}  # fmt: skip


def options_in(message: str) -> list[str]:
    """Return the options in a message as a shell passes them on."""
    quoted = r'"(--rag-set=[^"]+)"|(--rag-set=[^\s"]+?)(?=[.,;)]?(?:\s|$))'
    return [first or second for first, second in re.findall(quoted, message)]


def given_of(option: str) -> dict[str, Any]:
    path, _, value = option.removeprefix("--rag-set=").partition("=")
    keys = path.split(".")
    if keys[0] == "variants":
        return {"variants": value.split(",")}
    read = yaml.safe_load(value)
    return {"key_map": {keys[2]: read}} if keys[1] == "key_map" else {keys[1]: read}


def asked(file: Path, given: dict[str, Any]) -> Iterator[tuple[str, Proposal | str]]:
    """Yield each option of the question about a file, and what comes of it."""
    with pytest.raises(UndecidedError) as caught:
        propose(file, file.parent, given)
    for line in options_in(str(caught.value)):
        more = given_of(line)
        key_map = {**given.get("key_map", {}), **more.pop("key_map", {})}
        try:
            yield line, propose(file, file.parent, {**given, **more, "key_map": key_map})
        except UndecidedError as error:
            yield line, str(error)


@pytest.mark.parametrize(
    "name", ["$HOME is it", "it's", 'a "b"', "a`b`", "[x] y", "a, b", "答案 一"]
)
def test_an_option_is_what_a_shell_passes_on(tmp_path: Path, name: str) -> None:
    """Whatever is in a column's name: pasted, it names the column."""
    line = option(Way("", "references", name))
    (passed,) = shlex.split(line)
    assert given_of(passed) == {"key_map": {"references": name}}
    run = subprocess.run(["sh", "-c", f"printf %s {line}"], capture_output=True, check=True)
    assert run.stdout.decode() == passed


@pytest.mark.full
@pytest.mark.parametrize("name", OPEN)
def test_each_printed_option_answers_the_question(tmp_path: Path, name: str) -> None:
    """With it the data are read, or something else is asked; nothing is refused for it."""
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(OPEN[name]), encoding="utf-8")
    outcomes = dict(asked(file, {}))
    assert outcomes, "an option is printed"
    assert any(isinstance(outcome, Proposal) for outcome in outcomes.values())
    with pytest.raises(UndecidedError) as caught:
        propose(file, tmp_path, {})
    for line, outcome in outcomes.items():
        assert outcome != str(caught.value), line
    for line, outcome in outcomes.items():
        if isinstance(outcome, Proposal) and ".key_map." in line:
            field, _, column = line.partition(".key_map.")[2].partition("=")
            assert outcome.mapped.fields[field].column == yaml.safe_load(column)


def test_texts_to_hold_and_texts_to_avoid_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    rows = rows_of(question=ASKED, response=LONG, keywords=SHORT, wrong_topic_keywords=SHORT)
    file.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(UndecidedError) as caught:
        propose(file, tmp_path, {})
    option = "texts in {0!r}, add --rag-set=dataset.key_map.{1}={0}."
    assert f"each of the {option.format('keywords', 'must_include')}" in str(caught.value)
    avoided = option.format("wrong_topic_keywords", "must_not_include")
    assert f"none of the {avoided}" in str(caught.value)


def test_an_option_that_would_fail_is_not_printed(tmp_path: Path) -> None:
    """K18: lists of numbers in lists are no answer, though the name says so."""
    file = tmp_path / "rows.json"
    rows = rows_of(question=ASKED, solution=[[[1]]] * 6)
    file.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        propose(file, tmp_path, {})
    assert "solution" not in " ".join(options_in(str(caught.value)))


def test_the_answers_of_two_systems_are_variants_by_one_option(tmp_path: Path) -> None:
    """K1: both are named, and each has its own key map."""
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(OPEN["two systems"]), encoding="utf-8")
    text = propose(file, tmp_path, {"variants": ["gpt_answer", "claude_answer"]}).text
    data = yaml.safe_load(text)
    assert data["variants"] == {
        name: {"dataset": {"key_map": {"answer": name}}} for name in ("gpt_answer", "claude_answer")
    }


def test_variants_have_different_names_whatever_their_columns_are(tmp_path: Path) -> None:
    """Of others the file that was written could not be collected."""
    file = tmp_path / "rows.json"
    systems = ["GPT 4", "GPT-4", "GPT-4-2", "!!!"]
    rows = [{**dict.fromkeys(systems, "a"), **row} for row in OPEN["two systems"]]
    file.write_text(json.dumps(rows), encoding="utf-8")
    text = propose(file, tmp_path, {"variants": systems}).text
    assert [*yaml.safe_load(text)["variants"]] == ["GPT-4", "GPT-4-2", "GPT-4-2-2", "answers"]


def test_a_table_without_a_header_is_refused(tmp_path: Path) -> None:
    """Its first row would be lost, and a question would name a column."""
    file = tmp_path / "rows.csv"
    file.write_text(
        "What is it?,a shop\nWho are you?,a clerk\nHow so?,by train\n", encoding="utf-8"
    )
    with pytest.raises(UndecidedError, match="the first line looks like data"):
        propose(file, tmp_path, {})


def test_what_was_left_out_is_listed_with_its_option(tmp_path: Path) -> None:
    """K7: beside the proposal, so that nothing is left out in silence."""
    file = tmp_path / "rows.json"
    rows = [
        {"question": f"{text} {word}", "expected": f"so {at}", "expect": word}
        for at, text in enumerate(ASKED)
        for word in ("answer", "refuse")
    ]
    file.write_text(json.dumps(rows), encoding="utf-8")
    lines = propose(file, tmp_path, {}).open_lines
    assert any(
        "'expect' repeats 'answer', 'refuse'" in line
        and "--rag-set=dataset.key_map.references=expect" in line
        for line in lines
    )


def test_lists_of_lists_are_groups_or_asked_to_be_alternatives(tmp_path: Path) -> None:
    """The line that says so is printed, and works."""
    file = tmp_path / "rows.json"
    rows = rows_of(question=ASKED, answers=[[[text], [f"no. {text}"]] for text in SHORT])
    file.write_text(json.dumps(rows), encoding="utf-8")
    found = propose(file, tmp_path, {})
    assert found.measures.metrics[0] == "stringem"
    (line,) = (line for line in found.open_lines if "lists of lists" in line)
    (flat,) = options_in(line)
    assert propose(file, tmp_path, given_of(flat)).measures.metrics[0] == "coverem"


def test_rows_that_mostly_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """Something else is meant, then."""
    file = tmp_path / "rows.json"
    rows = rows_of(question=ASKED, expected=SHORT, answer=[["a", "b"]] * 6)
    file.write_text(json.dumps(rows), encoding="utf-8")
    given = {"key_map": {"answer": "answer"}}
    with pytest.raises(ScenarioError, match="answer"):
        propose(file, tmp_path, given)


def test_rows_under_all_keys_are_taken_together(tmp_path: Path) -> None:
    """A list under one of the keys is only a part of them."""
    file = tmp_path / "rows.json"
    rows = rows_of(question=ASKED, expected=SHORT)
    document = {"first town": rows[:3], "second": rows[3:5], "third": rows[5:]}
    file.write_text(json.dumps({"all": document}), encoding="utf-8")
    found = propose(file, tmp_path, {})
    assert found.table.rows == 6
    assert yaml.safe_load(found.text)["dataset"]["rows_at"] == "all[*]"


def test_a_path_is_what_a_shell_passes_on() -> None:
    """Also with a key in quotes."""
    (passed,) = shlex.split(quoted_option("rows_at", 'sets["a.b"].rows'))
    assert given_of(passed) == {"rows_at": 'sets["a.b"].rows'}


@pytest.mark.parametrize("is_of_inspect", [True, False])
def test_messages_are_no_rows(tmp_path: Path, *, is_of_inspect: bool) -> None:
    """K27: a row for each message has no question beside its answer."""
    rows = rows_of(message_id=SHORT, role=["user", "assistant"] * 3, content=LONG)
    ids = {"sample_id": "a", "eval_id": "b"} if is_of_inspect else {}
    data = tmp_path / "messages.jsonl"
    data.write_text("\n".join(json.dumps({**row, **ids}) for row in rows), "utf-8")
    with pytest.raises(UndecidedError, match="each row is a message of a conversation") as caught:
        propose(data, tmp_path, {})
    assert ("inspect log dump" in str(caught.value)) is is_of_inspect


def test_the_rows_of_two_systems_are_not_taken_together(tmp_path: Path) -> None:
    """Their questions repeat: one mean would be of both."""
    file = tmp_path / "rows.json"
    rows = rows_of(question=ASKED, expected=SHORT, response=LONG)
    file.write_text(json.dumps({"gpt4": rows, "claude": rows}), encoding="utf-8")
    with pytest.raises(UndecidedError, match="the rows may be in several places"):
        propose(file, tmp_path, {})


def test_alternatives_that_are_marked_as_wrong_are_no_gold(tmp_path: Path) -> None:
    """A wrong answer would be right: the rows are invalid, and the file is refused."""
    file = tmp_path / "rows.json"
    gold = [{"text": "five days", "correct": True}, {"text": "two weeks", "correct": False}]
    rows = rows_of(question=ASKED, answers=[gold] * 6, response=LONG)
    file.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(ScenarioError, match="so it is no right answer"):
        propose(file, tmp_path, {})


def test_rows_that_are_too_deep_are_named_as_the_reason(tmp_path: Path) -> None:
    """Not an empty list of columns."""
    file = tmp_path / "rows.jsonl"
    file.write_text('{"question": ' + "[" * 900 + "]" * 900 + "}\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="no row can be read|none of"):
        propose(file, tmp_path, {})


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_the_tests_of_suites_are_found(tmp_path: Path, suffix: str) -> None:
    """The list with questions, by its path; the name of its suite is a column."""
    rows = rows_of(question=ASKED, expected=SHORT)
    suites = {"suites": [{"name": "a", "tests": rows[:4]}, {"name": "b", "tests": rows[4:]}]}
    file = tmp_path / f"rows.{suffix}"
    file.write_text(json.dumps(suites), encoding="utf-8")  # which is YAML, too
    found = propose(file, tmp_path, {})
    assert found.table.rows == 6
    assert yaml.safe_load(found.text)["dataset"]["rows_at"] == "suites[*].tests"
    assert found.table["name"].distinct == ("a", "b")


def test_the_runs_of_several_systems_are_asked_about(tmp_path: Path) -> None:
    """Each by its position; together they would be one mean."""
    rows = rows_of(question=ASKED, expected=SHORT, response=LONG)
    file = tmp_path / "rows.json"
    runs = [{"system": "old", "rows": rows}, {"system": "new", "rows": rows}]
    file.write_text(json.dumps({"version": 2, "runs": runs}), encoding="utf-8")
    with pytest.raises(UndecidedError, match="the rows may be in several places") as caught:
        propose(file, tmp_path, {})
    paths = [given_of(line)["rows_at"] for line in options_in(str(caught.value))]
    assert paths == ["runs[*].rows", "runs[0].rows", "runs[1].rows"]
    assert propose(file, tmp_path, {"rows_at": paths[1]}).table.rows == 6


def test_rows_of_several_systems_are_said_to_be_one_mean(tmp_path: Path) -> None:
    """A row for each question and model: both count together unless gates part them."""
    rows = rows_of(question=ASKED, expected=SHORT, response=LONG)
    file = tmp_path / "rows.json"
    both = [{**row, "model": name} for name in ("small", "large") for row in rows]
    file.write_text(json.dumps(both), encoding="utf-8")
    (line,) = propose(file, tmp_path, {}).open_lines
    assert "for several values of 'model' (small, large): a mean is of all" in line
    assert "--rag-where model=VALUE" in line
    file.write_text(json.dumps(both[:6]), encoding="utf-8")
    assert propose(file, tmp_path, {}).open_lines == ()

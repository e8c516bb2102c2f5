"""A27, W6: two columns that speak of one field, in one file or in two, where a run could be green.

Read silently, the gold would be scored against itself, or the answers of an older run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.errors import ScenarioError
from pytest_rageval.model import Sample

MakePlan = Callable[..., Plan]
Rows = Sequence[Mapping[str, Any]]
Asked = Callable[..., str]

GOLD = [{"id": 1, "question": "q", "answer": "five days", "ground_truth": "five days"}]


def jsonl(rows: Rows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def scenario(more: str, dataset: str = "", metrics: str = "f1") -> str:
    return f"name: s\ndataset: {{path: gold.jsonl{dataset}}}\nmetrics: [{metrics}]\n{more}"


@pytest.fixture
def asked(plan: MakePlan) -> Asked:
    """Return a function from one file, or two, to the message that refuses them; "" for none."""

    def refuse(rows: Rows, given: Rows | None = None, more: str = "", **keys: str) -> str:
        files = {"gold.jsonl": jsonl(rows), "bot.jsonl": jsonl(given or [])}
        answers = "answers: bot.jsonl\n" if given is not None and not more else more
        try:
            plan(scenario(answers, **keys), files)
        except ScenarioError as error:
            return "\n".join(map(str, error.problems))
        return ""

    return refuse


@pytest.mark.parametrize(
    "column", ["bot_answer", "output", "Answer", "response", "prediction", "模型回答"]
)
def test_answers_of_two_files_are_refused(asked: Asked, column: str) -> None:
    """The older answers of the data set would be scored, whatever the second file says."""
    message = asked(GOLD, [{"id": 1, column: "WRONG"}])
    assert message == (
        f"gold.jsonl:1: 1 row has different values in 'answer' (gold.jsonl) and {column!r} "
        "(bot.jsonl), both names of 'answer': which one is what your system said? Write key_map: "
        f"{{answer: {column}}} or key_map: {{answer: answer}} (in 'dataset')"
    )
    chosen = f", key_map: {{answer: {column}}}"
    assert asked(GOLD, [{"id": 1, column: "WRONG"}], dataset=chosen) == ""
    assert asked(GOLD, [{"id": 1, column: "five days"}]) == ""


def test_gold_of_two_files_is_refused(asked: Asked) -> None:
    """What a bot cites as its reference would be the gold."""
    gold = [{"id": 1, "question": "q", "expected_output": "GOLD"}]
    message = asked(gold, [{"id": 1, "answer": "five", "reference": "five"}])
    assert "'reference' (bot.jsonl) and 'expected_output' (gold.jsonl)" in message
    assert "which one is the right answer? Write key_map: {references: expected_output}" in message
    assert asked(gold, [{"id": 1, "answer": "five", "reference": ["GOLD", "gold"]}]) == ""


@pytest.mark.parametrize("prefix", ["bot_", "new_"])
def test_a_prefix_without_its_key_map_is_refused(asked: Asked, prefix: str) -> None:
    """Told apart, and then not told which one counts."""
    more = f"answers: {{path: bot.jsonl, prefix: {prefix}}}\n"
    given = [{"id": 1, "answer": "WRONG", "question": "Q"}]
    assert f"{{answer: {prefix}answer}}" in asked(GOLD, given, more)
    told = f", key_map: {{answer: {prefix}answer, references: answer}}"
    assert asked(GOLD, given, more, dataset=told) == ""


@pytest.mark.parametrize("given", [{"respons": "WRONG"}, {}, {"answer": None, "tags": "a"}])
def test_a_second_file_that_gives_nothing_is_refused(
    asked: Asked, given: dict[str, str | None]
) -> None:
    """A misspelt column: the answers of the data set are not those that were meant."""
    message = asked(GOLD, [{"id": 1, **given}])
    assert message.startswith(
        "bot.jsonl: no column of it is read, and 'answer' of gold.jsonl would be scored. Write "
        "key_map: {answer: YOUR_COLUMN}, or key_map: {answer: answer} if that is right (in "
        "'dataset'). Columns: "
    )
    assert asked(GOLD, [{"id": 1, **given}], dataset=", key_map: {answer: answer}") == ""
    system = "answers: bot.jsonl\ntarget: {type: fixture, fixture: bot}\n"
    assert asked(GOLD, [{"id": 1, **given}], system) == ""


def test_a_second_file_may_give_what_the_rows_lack(asked: Asked) -> None:
    """Gold for answers, what a search found, and the same answers once more."""
    bot = [{"id": 1, "question": "q", "answer": "five days"}]
    assert asked(bot, [{"id": 1, "reference": "six"}]) == ""
    assert asked(GOLD, [{"id": 1, "answer": "five days"}]) == ""
    found = [{"id": 1, "retrieved_ids": ["d1"], "question": "q"}]
    judged = [{**GOLD[0], "reference_ids": ["d1"]}]
    assert asked(judged, found, metrics="f1, recall@1") == ""
    # 'context' of golden data is what should be found, and a prompt is more than its question.
    gold = [{"id": 1, "question": "q", "context": ["c"], "reference": "r"}]
    given = [{"id": 1, "answer": "a", "contexts": ["d"], "prompt": "Answer: q"}]
    assert asked(gold, given, metrics="f1, hit_rate", dataset=", key_map: {factual: context}") == ""


@pytest.mark.parametrize(
    ("gold", "column"),
    [
        *(("answer", name) for name in ("model_output", "bot_answer", "prediction", "response")),
        *(("Answer", name) for name in ("model_answer", "generated_answer", "output")),
    ],
)
def test_answers_beside_answers_in_one_file_are_refused(
    asked: Asked, gold: str, column: str
) -> None:
    """``answer`` is the gold in half of such files: gold against gold is always right."""
    row = {"question": "q", gold: "five days", column: "WRONG", "ground_truth_answer": "five days"}
    message = asked([row])
    assert f"1 row has different values in {gold!r} and {column!r}, both names of" in message
    assert f"Write key_map: {{answer: {column}}} or key_map: {{answer: {gold}}}" in message
    assert asked([row], dataset=f", key_map: {{answer: {column}}}") == ""
    assert asked([row], dataset=", other_names: false") != ""  # no gold is left
    assert asked([{**row, column: " five days "}]) == ""


def test_the_gold_may_be_among_the_answers(asked: Asked) -> None:
    """Without references, the message has the line for that, too."""
    message = asked([{"question": "q", "answer": "G", "model_answer": "A"}])
    line = "key_map: {answer: model_answer, references: answer} if 'answer' is the right answer"
    assert line in message


def test_columns_that_differ_in_case_are_refused(asked: Asked) -> None:
    """One of them would be chosen by the alphabet."""
    rest = {"answer": "a", "id": 1}
    assert "'REFERENCE' and 'Reference'" in asked([{**rest, "Reference": "a", "REFERENCE": "b"}])
    assert "'answer' and 'Answer'" in asked([{**rest, "Answer": "b", "reference": "b"}])
    twins = {"retrieved_ids": ["d1"], "Retrieved IDs": ["d2"], "reference_ids": ["d1"]}
    assert "'Retrieved IDs'" in asked([twins], metrics="recall@1")


def test_other_columns_of_one_file_are_metadata(asked: Asked) -> None:
    """A name that cannot be the gold comes before one that can; a flag is no reference."""
    said = {"input": "q", "actual_output": "a", "prediction": "4", "expected_output": "a"}
    assert asked([{**said, "truth": "4"}]) == ""
    assert asked([{"Answer": "a", "model_output": "b", "expected": "a"}]) == ""
    flagged = {"answer": "a", "reference": "a", "truth": True, "prompt": "Q", "question": "q"}
    assert asked([flagged]) == ""
    routes = [{"answer": f"a{at}", "reference": f"b{at}", "expected": "sql"} for at in range(5)]
    assert asked(routes) == ""
    assert "'reference' and 'expected'" in asked(routes[:4])
    assert "'reference' and 'expected'" in asked([{**row, "reference": "rag"} for row in routes])
    trained = {"instruction": "i", "output": "o", "answer": "a", "reference": "a"}
    assert asked([trained]) == ""


def test_what_no_metric_reads_is_no_matter(plan: MakePlan) -> None:
    """And nothing else of the rows changes."""
    rows = [{"answer": "a", "output": "b", "retrieved_ids": ["d1"], "reference_ids": ["d1"]}]
    made = plan(scenario("", metrics="recall@1"), {"gold.jsonl": jsonl(rows)})
    assert [case.answer for case in made.cases if isinstance(case, Sample)] == ["a"]

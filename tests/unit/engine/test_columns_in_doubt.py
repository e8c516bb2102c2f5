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


@pytest.mark.parametrize(
    "given", [{"respons": "WRONG"}, {}, {"reply": "WRONG", "contexts": ["c"], "retrieved_ids": []}]
)
def test_a_second_file_without_answers_is_refused(
    asked: Asked, given: dict[str, str | None]
) -> None:
    """A misspelt column: the answers of the data set are not those that were meant."""
    message = asked(GOLD, [{"id": 1, **given}])
    columns = ", ".join(map(repr, ["id", *given][1:])) or "none but the key"
    assert message == (
        "bot.jsonl: no column of it is read as 'answer', and 'answer' of gold.jsonl would be "
        "scored. Write key_map: {answer: YOUR_COLUMN}, or key_map: {answer: answer} if that is "
        f"right (in 'dataset'). Columns: {columns}"
    )
    assert asked(GOLD, [{"id": 1, **given}], dataset=", key_map: {answer: answer}") == ""
    rewritten = asked(GOLD, [{"id": 1, **given, "user_query": "Q?"}])
    assert "no column of it is read as 'answer'" in rewritten
    system = "answers: bot.jsonl\ntarget: {type: fixture, fixture: bot}\n"
    assert asked(GOLD, [{"id": 1, **given}], system) == ""


def test_a_second_file_may_give_what_the_rows_lack(asked: Asked) -> None:
    """Gold for answers, what a search found, and the same answers once more."""
    bot = [{"id": 1, "question": "q", "answer": "five days"}]
    told = ", key_map: {answer: answer}"
    assert asked(bot, [{"id": 1, "reference": "six"}], dataset=told) == ""
    assert asked(GOLD, [{"id": 1, "answer": "five days"}]) == ""
    form = [{"id": 1, "question": "q", "answer": "", "reference": "r"}]
    assert asked(form, [{"id": 1, "response": "a"}]) == ""
    found = [{"id": 1, "retrieved_ids": ["d1"], "question": "q"}]
    judged = [{**GOLD[0], "reference_ids": ["d1"]}]
    assert asked(judged, found, metrics="recall@1") == ""
    assert asked(judged, found, metrics="f1, recall@1", dataset=told) == ""
    run = [{"id": 1, "retrieved_ids": ["d1"]}]
    assert asked(run, [{"id": 1, "reference_ids": ["d1"]}], metrics="recall@1") == ""
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


ROW = {"question": "q", "answer": "five days", "ground_truth": "five days"}


@pytest.mark.full
@pytest.mark.parametrize(
    "said",
    [
        *(None, "", " ", [], {}, "Sorry, I cannot help.", ["WRONG"], {"text": "WRONG"}, True, 0.1),
        ["five days", "WRONG"],
    ],
)
@pytest.mark.parametrize("more", [{}, {"instruction": "Be brief"}])
def test_whatever_a_systems_column_holds_it_may_be_meant(
    asked: Asked, said: Any, more: dict[str, str]
) -> None:
    """A broken system writes nothing, the same to everything, or an object; the gold is right."""
    rows = [{**ROW, "output": said, **more}] * 12
    assert "12 rows have " in asked(rows)
    assert "{answer: output} or key_map: {answer: answer}" in asked(rows)
    assert asked(rows, dataset=", key_map: {answer: answer}") == ""
    half = [{**ROW, "output": "five days"}, {**ROW, "output": said}]
    assert asked(half).startswith("gold.jsonl:2: 1 row has ")
    assert asked([{**ROW, "output": "five days"}] * 2) == ""


def test_the_message_speaks_of_blanks(asked: Asked) -> None:
    """Or a user would look for two answers."""
    assert "1 row has a value in one only, or different ones, in 'answer'" in asked(
        [{**ROW, "generated_answer": None}]
    )


def test_rows_of_several_sources_may_have_one_name_or_the_other(asked: Asked) -> None:
    """A row with both, or a name without any value, is in doubt again."""
    first, second = {"question": "q", "reference": "a"}, {"question": "r", "reference": "b"}
    assert asked([{**first, "answer": "a"}, {**second, "response": "b"}]) == ""
    mixed = [{**first, "answer": "a", "response": "c"}, {**second, "response": "b"}]
    assert "both names of 'answer'" in asked(mixed)
    blank = [{**first, "answer": "a", "response": ""}, {**second, "answer": "b", "response": ""}]
    assert "both names of 'answer'" in asked(blank)


def test_two_columns_of_a_system_are_refused(asked: Asked) -> None:
    """Neither has a documented name, or the first of two has no value."""
    said = {"input": "q", "expected_output": "a"}
    assert "'actual_output' and 'prediction'" in asked(
        [{**said, "actual_output": "a", "prediction": "b"}]
    )
    assert "'answer' and 'response'" in asked([{**said, "answer": "", "response": "a"}])


@pytest.mark.parametrize(("blank", "answer"), [(None, "invalid"), ([], "invalid"), ("", "")])
def test_what_a_second_file_does_not_give_is_missing(
    plan: MakePlan, blank: Any, answer: str
) -> None:
    """The data set's own answer is not scored where the system failed; "" is an empty answer."""
    gold = [{**ROW, "id": at} for at in (1, 2, 3)]
    given = [{"id": 1, "answer": "five days"}, {"id": 2, "answer": blank}, {"id": 3, "error": "x"}]
    files = {"gold.jsonl": jsonl(gold), "bot.jsonl": jsonl(given)}
    cases = plan(scenario("answers: bot.jsonl\n"), files).cases
    read = [case.answer if isinstance(case, Sample) else "invalid" for case in cases]
    assert read == ["five days", answer, "invalid"]


@pytest.mark.parametrize("blank", [None, ""])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_second_file_may_not_be_blank_under_another_name(
    asked: Asked, blank: str | None, rows: int
) -> None:
    """In all rows, or where it failed; the same of retrieved ids."""
    gold = [{**ROW, "id": at, "retrieved_ids": ["d"], "reference_ids": ["d"]} for at in (1, 2)]
    given = [{"id": at, "bot_answer": blank if at <= rows else "five days"} for at in (1, 2)]
    assert f"{rows} row" in asked(gold, given)
    found = [{"id": at, "retrieved_doc_ids": [] if at <= rows else ["d"]} for at in (1, 2)]
    assert "key_map: {retrieved_ids: retrieved_doc_ids}" in asked(gold, found, metrics="recall@1")


def test_two_golds_are_refused_under_any_names(asked: Asked) -> None:
    """Neither has a documented name; a flag, a route and an object are no references."""
    message = asked([{"问题": "q", "模型回答": "五天", "标准答案": "五天", "参考答案": "金"}])
    assert "'标准答案' and '参考答案'" in message
    rows = [{"answer": "five", "reference_answer": "five", "expected": "no such thing"}] * 9
    assert "'reference_answer' and 'expected'" in asked(rows)
    assert asked([{**ROW, "truth": True, "expected": {"tool": "rag"}}]) == ""
    routes = [{"answer": f"a{at}", "reference": f"b{at}", "expected": "sql"} for at in range(5)]
    assert asked(routes) == ""
    assert "'reference' and 'expected'" in asked(routes[:4])
    assert "'reference' and 'expected'" in asked([{**row, "reference": "rag"} for row in routes])


def test_what_no_metric_reads_is_no_matter(plan: MakePlan) -> None:
    """And nothing else of the rows changes."""
    rows = [{"answer": "a", "output": "b", "retrieved_ids": ["d1"], "reference_ids": ["d1"]}]
    made = plan(scenario("", metrics="recall@1"), {"gold.jsonl": jsonl(rows)})
    assert [case.answer for case in made.cases if isinstance(case, Sample)] == ["a"]


def right(answer: str, references: Sequence[str] = ()) -> float:
    return float(answer in references)


def said(answer: str) -> float:
    return float(bool(answer))


OWN = f"{{use: '{__name__}:%s', name: own}}"


@pytest.mark.parametrize(
    ("metrics", "is_asked"),
    [
        ("crag_score", True),
        (OWN % "right", True),
        (OWN % "said" + ", {crag_score: {correct: own}}", False),
    ],
)
def test_references_that_a_metric_can_do_without_are_asked_for(
    asked: Asked, metrics: str, is_asked: bool
) -> None:
    """crag_score computes acc itself, and takes none by a metric that reads none."""
    rows = [{"id": 1, "answer": "x", "reference": "x", "ground_truth": "y"}]
    assert ("which one is the right answer?" in asked(rows, metrics=metrics)) == is_asked
    assert is_asked or not asked(rows, metrics=metrics)

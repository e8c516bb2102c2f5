"""G8: a judge grades the documents that nobody judged; a reply that cannot be read is no grade."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from made_metrics import made
from scripted_models import ScriptedJudge

from pytest_rageval.clients.errors import ConnectionFailed, RefusedError
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.filling import (
    FilledMetric,
    Filling,
    Grade,
    Graded,
    grade_documents,
    grade_prompt,
    grade_schema,
    read_grade,
    usual_grades,
)
from pytest_rageval.model import Sample

ROWS = tomllib.loads(Path(__file__).with_name("filling.toml").read_text("utf-8"))

TEXTS = {name: f"text of {name}" for name in ("a", "b", "c", "d")}
SAMPLE = Sample(
    "q", question="When?", retrieved_ids=("a", "b", "c", "x"), reference_ids={"b": 3, "d": 0}
)


def filling(**other: Any) -> Filling:
    return Filling(**{"k": 3, "grades": (0, 1, 2, 3), "texts": TEXTS, "checked": {}, **other})


def judge(replies: Mapping[str, Any]) -> ScriptedJudge:
    """Return a judge that replies by the name of the document."""

    def reply(prompt: str) -> Any:
        name = prompt.rpartition("text of ")[2][0]
        said = replies[name]
        return {"grade": said, "reason": f"it is {name}"} if isinstance(said, int) else said

    return ScriptedJudge({"relevance_grade": reply})


def graded(asked: ScriptedJudge, **other: Any) -> Graded:
    return asyncio.run(grade_documents(SAMPLE, filling(**other), Models(judge=asked)))


def test_holes_among_the_first_k_are_graded_once_each() -> None:
    """b is judged, x is beyond k, d was not retrieved."""
    asked = judge({"a": 2, "c": 0})
    found = graded(asked)
    assert found.holes == {"a": Grade(2, "it is a"), "c": Grade(0, "it is c")}
    assert len(asked.prompts) == 2


def test_judged_documents_are_graded_for_the_check_and_change_no_figure() -> None:
    found = graded(judge({"a": 2, "c": 0, "b": 1, "d": 0}), checked={"q": ["b", "d"]})
    assert found.details(SAMPLE)["checked"] == [["b", 3, 1], ["d", 0, 0]]
    assert found.grades == {"a": 2, "c": 0}


def test_a_hole_without_a_text_stays_one() -> None:
    found = graded(judge({"a": 1, "c": 1}), k=4)
    assert found.no_text == ["x"]
    assert "x" not in found.holes


def test_a_text_is_that_of_the_corpus_else_of_the_context_in_its_place() -> None:
    sample = Sample("q", retrieved_ids=("a", "x"), contexts=("one", "two"))
    assert [filling().text_of(sample, name) for name in ("a", "x", "y")] == ["text of a", "two", ""]
    short = Sample("q", retrieved_ids=("a", "x"), contexts=("two",))
    assert filling().text_of(short, "x") == ""  # nobody knows which context is missing


def test_an_unreadable_reply_is_asked_for_again_and_leaves_a_hole() -> None:
    asked = judge({"a": "relevant", "c": 3})
    found = graded(asked)
    assert found.details(SAMPLE)["unread"] == ["a"]
    assert found.grades == {"c": 3}
    assert len(asked.prompts) == 3 + 1


@pytest.mark.parametrize("error", [ConnectionFailed("gone"), RefusedError("declined")])
def test_any_other_failure_fails_the_whole(error: Exception) -> None:
    with pytest.raises(type(error)):
        graded(judge({"a": error, "c": 3}))


def test_nothing_is_asked_about_a_query_of_which_nobody_judged_anything() -> None:
    sample = Sample("q", question="?", retrieved_ids=("a",), reference_ids={})
    asked = judge({"a": 3})
    found = asyncio.run(grade_documents(sample, filling(), Models(judge=asked)))
    assert (found, asked.prompts) == (Graded(), [])


def metric(name: str, of: Filling) -> FilledMetric:
    measure = made(name)
    return FilledMetric(measure.name, measure, of)


@pytest.mark.parametrize("name", ["ndcg@3", "map(rel=2)", "precision@2", "mrr", "rbp", "judged@4"])
def test_the_figure_is_that_of_the_measure_with_the_grades_among_the_judgements(name: str) -> None:
    found = asyncio.run(
        metric(f"{name}+filled", filling()).ascore(SAMPLE, Models(judge=judge({"a": 2, "c": 0})))
    )
    judged = {"b": 3, "d": 0, "a": 2, "c": 0}
    whole = Sample("q", retrieved_ids=SAMPLE.retrieved_ids, reference_ids=judged)
    plain: Any = metric(name, filling())._measure
    assert found.metric == f"{name}+filled"
    assert found.value == plain.score(whole, None).value
    assert SAMPLE.reference_ids == {"b": 3, "d": 0}


def test_a_figure_says_how_many_judgements_are_the_judges() -> None:
    """Of a, b and c, in the first three, a and c are; of all four one stays a hole."""
    of_judge = Graded({"a": Grade(2), "c": Grade(0)})
    found = metric("ndcg@3+filled", filling()).score_of(SAMPLE, of_judge).details
    assert found == {"judgements": 3, "by_judge": 2}
    found = metric("map+filled", filling()).score_of(SAMPLE, of_judge).details
    assert found is not None
    assert (found["judgements"], found["by_judge"], found["holes"]) == (3, 2, 1)


def test_of_repeats_the_middle_grade_counts_the_lower_of_two() -> None:
    """2, 0, 3: 2. 3 and one that cannot be read, and 1: 1. None that can: a hole."""
    rounds = [
        Graded({"a": Grade(a), "b": Grade(b), "c": Grade(None)})
        for a, b in ((2, 3), (0, None), (3, 1))
    ]
    assert [grade.value for grade in Graded.middle(rounds).holes.values()] == [2, 1, None]


def test_the_judges_grades_become_those_of_people() -> None:
    assert graded(judge({"a": 1, "c": 2}), grades=(0, 0, 1, 1)).grades == {"a": 0, "c": 1}
    assert [usual_grades(highest) for highest in (1, 2, 3, 4)] == [
        (0, 0, 1, 1), (0, 0, 1, 2), (0, 1, 2, 3), None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ('{"grade": "2", "reason": "a 3 needs more"}', 2),
        ('{"reason": "grade 1 is for less", "grade": 3}', 3),
        ("**Final score: 0**", 0),
        ('{"score": 2, "reason": "final score 3"}', 2),
        ('{"M": 2, "T": 1, "O": 1}', 1),
        ("Grade: 3/3", 3),
        ("M: 1\nT: 0\nO: 1", 1),
        ("类别：2", 2),
        ("等级：1\n文档有关，但没有回答。", 1),
        ("<think>maybe 3</think>\n1", 1),
    ],
)
def test_a_grade_is_read_in_whatever_form(reply: str, grade: int) -> None:
    assert read_grade(reply) == grade


@pytest.mark.parametrize(
    "reply",
    ROWS["a_grade_is_never_guessed"],
)
def test_a_grade_is_never_guessed(reply: str) -> None:
    with pytest.raises(ValueError, match="."):
        read_grade(reply)


def test_a_server_is_told_which_grades_there_are() -> None:
    grade = {"type": "integer", "minimum": 0, "maximum": 3}
    assert grade_schema().schema["properties"]["grade"] == grade


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_text_ends_its_part_of_the_prompt(language: Any) -> None:
    prompt = grade_prompt(language, "why {document}?", "x</document><query-1>")
    assert "<document-2>\nx</document><query-1>\n</document-2>" in prompt
    assert "<query-2>\nwhy {document}?\n</query-2>" in prompt
    assert json.dumps({"grade": 0})[2:7] in prompt


def test_the_prompt_is_in_the_language_of_the_question() -> None:
    sample = Sample("q", question="何时？", retrieved_ids=("a",), reference_ids={"d": 1})
    asked = judge({"a": 3})
    asyncio.run(grade_documents(sample, filling(), Models(judge=asked)))
    assert "请评定" in asked.prompts[0]

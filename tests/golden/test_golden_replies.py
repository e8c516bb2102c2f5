"""B5, B6: replies to DB-GPT's judge, and those of real judges with the verdicts people noted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.text.reply import (
    UnreadableReplyError,
    read_reason,
    read_score,
    read_verdict,
)

# What DB-GPT's parser gives 0.0, because the first line is not a number to Python's float().
MISREAD = {
    "得分: 4.0\n理由": 4.0,  # a label
    "4.0分\n理由": 4.0,  # a unit
    "4/5\nreason": 4.0,  # a fraction of the scale
    "\n4.0\nreason": 4.0,  # a blank line before it
    "4.0 because it is good": 4.0,  # words behind it
    "**4.0**\nreason": 4.0,  # Markdown
    "```\n4.0\n```": 4.0,  # a fence
    "4,5\ncomma": 4.5,  # a decimal comma
    "<think>hmm</think>\n4.0\nok": 4.0,  # thoughts
}
# What states no score from 0 to 5. DB-GPT takes the first four as they are, the others as 0.0.
NO_SCORE = {
    "7\nout of range": "outside of 0 to 5",
    "-1\nneg": "outside of 0 to 5",
    "nan\nx": "no score",
    "inf\nx": "no score",
    "": "no score",
    "request llm failed (1) timeout": "no score",
}


@pytest.fixture
def dbgpt_cases(reference: Callable[[str], Any]) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = reference("dbgpt_metrics.json")["answer_relevancy_parse"]
    return cases


def test_every_reply_to_dbgpts_judge_is_accounted_for(dbgpt_cases: list[dict[str, Any]]) -> None:
    """B6: 23 replies, of which its parser reads 8 rightly."""
    assert len(dbgpt_cases) == 23
    replies = {case["response"] for case in dbgpt_cases}
    assert replies >= {*MISREAD, *NO_SCORE}
    assert len(replies - {*MISREAD, *NO_SCORE}) == 8


def test_what_dbgpts_parser_reads_rightly_is_read_the_same(
    dbgpt_cases: list[dict[str, Any]],
) -> None:
    """B5, B6: the score and, where there is one, the feedback."""
    for case in dbgpt_cases:
        if case["response"] not in {*MISREAD, *NO_SCORE}:
            assert read_score(case["response"], 0, 5) == case["score"], case
            assert (read_reason(case["response"]) or None) == case["feedback"], case


def test_what_dbgpts_parser_misreads_is_read_as_a_person_would(
    dbgpt_cases: list[dict[str, Any]],
) -> None:
    """B6."""
    for case in dbgpt_cases:
        if case["response"] in MISREAD:
            assert case["score"] == 0.0, case
            assert read_score(case["response"], 0, 5) == MISREAD[case["response"]], case


def test_what_states_no_score_is_refused(dbgpt_cases: list[dict[str, Any]]) -> None:
    """B6: DB-GPT scores these, 7.0 and NaN included."""
    for case in dbgpt_cases:
        if case["response"] in NO_SCORE:
            with pytest.raises(UnreadableReplyError, match=NO_SCORE[case["response"]]):
                read_score(case["response"], 0, 5)
            assert math.isnan(float(case["score"])) or float(case["score"]) not in range(1, 6)


# Replies of GPT-4 in which no verdict is stated, by hand inspection.
UNSTATED = {
    "nq301-0353": "The candidate's answer is unclear and inconsistent.",
    "nq301-1175": "The candidate provides a date, not a location.",
}
DECLINED = {"nq301-0067", "nq301-0497"}  # "I cannot determine if ...", recorded as no verdict
# Recorded as a yes, but the reply begins "No, the candidate is not entirely correct."
MISRECORDED = {"nq301-0027"}

# The sentences that follow contradict their first word: "No, the candidate is correct."
CONTRADICTORY = {
    "No, the candidate is correct. The 2017 col",
    "No, the candidate is correct. The largest ",
}


@pytest.fixture
def replies(shared_data: Callable[[str], Path]) -> Callable[[str], Iterator[tuple[str, str, Any]]]:
    """Return a function from a judge's name to the id, text and recorded verdict of its replies."""
    path = shared_data("openqa-eval/judged_nq301.jsonl")

    def read(judge: str) -> Iterator[tuple[str, str, Any]]:
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            yield row["id"], row["judges"][f"{judge}_text"], row["judges"][judge]

    return read


def _verdict(reply: str) -> bool | None:
    try:
        return read_verdict(reply)
    except UnreadableReplyError:
        return None


@pytest.mark.parametrize(("judge", "stated"), [("gpt-4", 1485), ("text-davinci-003", 1490)])
def test_real_judges_are_read_as_people_noted_their_verdicts(
    replies: Callable[[str], Iterator[tuple[str, str, Any]]], judge: str, stated: int
) -> None:
    """B6: all stated verdicts of 1,490 replies; the exceptions are named above, by hand."""
    agreed, differing, unread = set(), set(), set()
    for name, reply, recorded in replies(judge):
        verdict = _verdict(reply)
        if verdict is None:
            unread.add(name)
        else:
            (agreed if verdict == bool(recorded) else differing).add(name)
    is_gpt_4 = judge == "gpt-4"
    assert unread == ({*UNSTATED, *DECLINED} if is_gpt_4 else set())
    assert differing == (MISRECORDED if is_gpt_4 else set())
    assert len(agreed) == stated


@pytest.mark.parametrize(
    ("judge", "least", "contradictory"),
    [("gpt-4", 1450, CONTRADICTORY), ("text-davinci-003", 670, set())],
)
def test_their_sentences_say_the_same_without_the_first_word(
    replies: Callable[[str], Iterator[tuple[str, str, Any]]],
    judge: str,
    least: int,
    contradictory: set[str],
) -> None:
    """B6: "the candidate is not correct" is harder than "No"; unread is right, misread is not."""
    agreed, differing = 0, set()
    for name, reply, recorded in replies(judge):
        verdict = _verdict(re.sub(r"(?i)^(?:yes|no)\b[,.]?\s*", "", reply))
        if verdict is not None and name not in MISRECORDED:
            agreed += verdict == bool(recorded)
            differing |= {reply[:42]} if verdict != bool(recorded) else set()
    assert differing == contradictory
    assert agreed >= least

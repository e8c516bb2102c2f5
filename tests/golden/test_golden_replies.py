"""B5, B6: replies to DB-GPT's judge are read as its parser reads them, or as a person would."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.text.reply import (
    UnreadableReplyError,
    read_reason,
    read_score,
)

# What DB-GPT's parser gives 0.0, because the first line is not a number to Python's float().
MISREAD = {
    "得分: 4.0\n理由": 4.0,  # a label
    "4.0分\n理由": 4.0,  # a unit
    "4/5\nreason": 4.0,  # a fraction of the scale
    "\n4.0\nreason": 4.0,  # a blank line before it
    "**4.0**\nreason": 4.0,  # Markdown
    "```\n4.0\n```": 4.0,  # a fence
    "4,5\ncomma": 4.5,  # a decimal comma
    "<think>hmm</think>\n4.0\nok": 4.0,  # thoughts
}
# What states no score from 0 to 5. DB-GPT takes 7, -1, nan and inf as they are, the others as 0.0.
NO_SCORE = {
    "7\nout of range": "outside of 0 to 5",
    "-1\nneg": "outside of 0 to 5",
    "4.0 because it is good": "no score",  # a sentence
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

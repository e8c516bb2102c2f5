"""A28: criteria in words that a row brings along, said to be met or not by a judge."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_models import ScriptedJudge

from pytest_rageval.clients.errors import InvalidOutputError
from pytest_rageval.metrics.base import Models, NoOptions
from pytest_rageval.metrics.criteria import MetOrNot, MustSatisfy
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.reply import UnreadableReplyError

SAMPLE = Sample(
    "s", question="q?", answer="No.", must_satisfy=("refuses {answer}", "offers help", "is polite")
)


def ask(say: Any) -> tuple[Score, list[str]]:
    judge = ScriptedJudge({"rubric_score": say})
    score = asyncio.run(MustSatisfy("shown", NoOptions()).ascore(SAMPLE, Models(judge)))
    return score, judge.prompts


def test_the_score_is_the_share_of_criteria_that_are_met() -> None:
    """[A28] One question for each, with the criterion to the letter."""

    def say(prompt: str) -> dict[str, Any]:
        return {"reason": "no offer", "score": 0 if "offers help" in prompt else 1}

    score, prompts = ask(say)
    assert score.value == 2 / 3
    assert score.reason == "1 of 3 not met: 'offers help': no offer"
    assert [one["met"] for one in (score.details or {})["criteria"]] == [True, False, True]
    assert len(prompts) == 3
    assert "refuses {answer}" in prompts[0]
    assert "<answer>\nNo.\n</answer>" in prompts[0]


@pytest.mark.parametrize(
    "reply",
    [
        '{"reason": "r", "score": [1]}',
        '{"reason": "r", "score": "1 (if charitable, else 0)"}',
        '{"reason": "r", "score": {"value": 1}}',
        '{"reason": "r", "score: 1',
        '```json\n{"reason": "r", "score": 1',
    ],
)
def test_a_hedged_or_cut_reply_is_no_verdict(reply: str) -> None:
    """[A28] Read loosely, each of them would be a criterion that is met."""
    with pytest.raises(InvalidOutputError):
        ask(lambda _: reply)


@pytest.mark.parametrize(
    "reply",
    [
        *('{"score": 1}', '{"reason": "r", "score": "1"}', "Score: 1", '{"score": 1.0,}', "1"),
        *('{"score": "1/1"}', "```json\n{'score': 1}\n```", "<think>{no</think>Score: 1"),
        'It says {as asked}. {"score": 1}',
    ],
)
def test_a_plain_verdict_is_read_in_many_forms(reply: str) -> None:
    """[A28]"""
    assert ask(lambda _: reply)[0].value == 1.0


@pytest.mark.parametrize(
    "reply",
    [
        *("1. The answer does not name a fee.", "1: no", "1 - not met", "(1) No fee.", "I say 1"),
        *("结论 1：没有提到费用。", "Level 1: it meets the criterion. It does not do so."),
        *("Score: 1\nActually the criterion is not met.", "Score: 1\nHmm, it should be 0."),
        *("Score: 1 (met partly; should be 0)", '{"met": false, "score": 1}'),
        *("得分：1。但是应该给0分。", "得分：1\n等一下，没提费用，应为0。"),
        '{"score": 1, "reason": "On reflection the fee is missing, so it should be 0."}',
    ],
)
def test_the_number_of_a_list_is_no_verdict(reply: str) -> None:
    """[R8] It made wrong answers green; the judge is asked again."""
    rubric = MetOrNot({}, {}, high=1.0)
    with pytest.raises(UnreadableReplyError):
        rubric.read(reply)


@pytest.mark.parametrize("reply", ["Level: 1", "等级：1", "等级为1", "1", "The level is 1."])
def test_a_level_that_is_called_so_is_a_verdict(reply: str) -> None:
    assert MetOrNot({}, {}, high=1.0).read(reply) == 1.0


def test_the_reason_of_a_refusal_says_not() -> None:
    """The highest of three levels is that the answer refuses."""
    reply = '{"score": 2, "reason": "It is polite; however, it does not answer."}'
    assert MetOrNot({}, {}, high=2.0).read(reply) == 2.0

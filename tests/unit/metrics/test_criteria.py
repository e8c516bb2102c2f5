"""A28: criteria in words that a row brings along, said to be met or not by a judge."""

from __future__ import annotations

import asyncio
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scripted_models import ScriptedJudge

from pytest_rageval.clients.errors import InvalidOutputError
from pytest_rageval.metrics.base import Models, NoOptions
from pytest_rageval.metrics.criteria import FewLevels, MustSatisfy
from pytest_rageval.model import Sample, Score
from pytest_rageval.text.reply import UnreadableReplyError

REPLIES = tomllib.loads((Path(__file__).parent / "criteria.toml").read_text("utf-8"))
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


@pytest.mark.parametrize("reply", REPLIES["a_plain_verdict_is_read_in_many_forms"])
def test_a_plain_verdict_is_read_in_many_forms(reply: str) -> None:
    """[A28]"""
    assert ask(lambda _: reply)[0].value == 1.0


@pytest.mark.parametrize("reply", REPLIES["the_number_of_a_list_is_no_verdict"])
def test_the_number_of_a_list_is_no_verdict(reply: str) -> None:
    """[R8] It made wrong answers green; the judge is asked again."""
    rubric = FewLevels({}, {}, high=1.0)
    with pytest.raises(UnreadableReplyError):
        rubric.read(reply)


@pytest.mark.parametrize("reply", ["Level: 1", "等级：1", "等级为1", "1", "The level is 1."])
def test_a_level_that_is_called_so_is_a_verdict(reply: str) -> None:
    assert FewLevels({}, {}, high=1.0).read(reply) == 1.0


def test_the_reason_of_a_refusal_says_not() -> None:
    """The highest of three levels is that the answer refuses."""
    reply = '{"score": 2, "reason": "It is polite; however, it does not answer."}'
    assert FewLevels({}, {}, high=2.0).read(reply) == 2.0


@pytest.mark.parametrize("reason", REPLIES["what_a_reason_says_of_the_answer_takes_nothing_back"])
def test_what_a_reason_says_of_the_answer_takes_nothing_back(reason: str) -> None:
    """Honest verdicts were refused three times, and the row was an error."""
    reply = f'{{"reason": "{reason}", "score": 1}}'
    assert FewLevels({}, {}, high=1.0).read(reply) == 1.0
    assert FewLevels({}, {}, high=1.0).read(f"<think>{reason} Wait, not met.</think>{reply}") == 1.0


@pytest.mark.parametrize("reason", REPLIES["what_a_reason_says_of_a_part_leaves_a_0"])
def test_what_a_reason_says_of_a_part_leaves_a_0(reason: str) -> None:
    """The samples that fail were errors."""
    assert FewLevels({}, {}, high=1.0).read(f'{{"reason": "{reason}", "score": 0}}') == 0.0


def test_a_score_and_a_reason_behind_it_are_a_verdict() -> None:
    reply = '{"score": 1, "reason": "The answer says that one must wait; it is not refundable."}'
    assert FewLevels({}, {}, high=1.0).read(reply) == 1.0
    for reply in (
        '{"reason": "ok", "met": true, "score": 1}',
        '{"reason": "It names the fee.", "verdict": "met", "score": 1}',
        '{"reason": "不错，符合标准。", "score": 1}',
        '{"criterion": "names the fee", "reason": "It does.", "score": 1}',
    ):
        assert FewLevels({}, {}, high=1.0).read(reply) == 1.0
    reply = '{"reason": "Only a part of the criterion is met.", "score": 0}'
    assert FewLevels({}, {}, high=1.0).read(reply) == 0.0


@pytest.mark.parametrize("reply", REPLIES["what_contradicts_the_score_is_no_verdict"])
def test_what_contradicts_the_score_is_no_verdict(reply: str) -> None:
    """In both directions alike."""
    with pytest.raises(UnreadableReplyError):
        FewLevels({}, {}, high=1.0).read(reply)


def test_a_long_reply_is_read_at_once() -> None:
    """It took 20 seconds for 47 kB: what takes a verdict back was looked for from each word on."""
    from time import perf_counter

    begun = perf_counter()
    for piece in ("Wait, it is there. ", "wait ", "但是", "no, "):
        with suppress(UnreadableReplyError):
            FewLevels({}, {}, high=1.0).read("Score: 1\n" + piece * (50_000 // len(piece)))
    assert perf_counter() - begun < 8

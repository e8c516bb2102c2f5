"""A28: criteria in words that a row brings along, said to be met or not by a judge."""

from __future__ import annotations

import asyncio
from contextlib import suppress
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
        *("1. The answer does not name a fee.", "1: no", "1 - not met", "(1) No fee."),
        *("结论 1：没有提到费用。", "Level 1: it meets the criterion. It does not do so."),
        *("Score: 1\nActually the criterion is not met.", "Score: 1\nHmm, it should be 0."),
        *("Score: 1 (met partly; should be 0)", '{"met": false, "score": 1}'),
        *("得分：1。但是应该给0分。", "得分：1\n等一下，没提费用，应为0。"),
        '{"score": 1, "reason": "On reflection the fee is missing, so it should be 0."}',
        *("Score: 1. The criterion is not met.", "得分：1\n不满足该标准。", "Score: 1 - not met"),
        *('{"score": 1, "criterion_met": "no"}', '{"score": 1, "verdict": "partially met"}'),
        *(
            '{"score": 1, "是否符合": "否"}',
            '{"met": true, "score": 0}',
            '{"score": 1, "level": 0}',
        ),
        '{"reason": "It names no fee. The criterion is not met.", "score": 1}',
        '{"reason": "没有提到费用，不满足该标准。", "score": 1}',
        *('{"score": 0, "total_score": 1}', '{"得分": 0, "总分": 1}'),
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


@pytest.mark.parametrize(
    "reason",
    [
        "It gives the deadline. However, it does not name the fee, which was not asked for.",
        "It says that one must wait 30 days and cannot get the fee back, as asked.",
        "答案说明可以退款，但是不退运费，满足该标准。",
        "答案列出了姓名、电话等等，没有遗漏。",
        "The answer says that the risk level is 0.",
        "答案说明了台风等级为5。",
        "Says the final score was 0:0.",
        'The answer says "no fee", as asked.',
        "未推荐竞争对手。",
        "没有提到价格。",
        "Not a single price is mentioned.",
        "Partially: the deadline is there.",
        "期限应为0元之外的费用。",
    ],
)
def test_what_a_reason_says_of_the_answer_takes_nothing_back(reason: str) -> None:
    """Honest verdicts were refused three times, and the row was an error."""
    reply = f'{{"reason": "{reason}", "score": 1}}'
    assert MetOrNot({}, {}, high=1.0).read(reply) == 1.0
    assert MetOrNot({}, {}, high=1.0).read(f"<think>{reason} Wait, not met.</think>{reply}") == 1.0


@pytest.mark.parametrize(
    "reason",
    [
        "The criterion is partially met: the date is there, the fee is not.",
        "The criterion is met only in part: the fee is missing.",
        "The answer does not show that the criterion is met.",
        "答案仅部分满足该标准，缺少手续费。",
        "答案未能满足该标准。",
        "不足以满足该标准。",
        "期限应为14天。",
    ],
)
def test_what_a_reason_says_of_a_part_leaves_a_0(reason: str) -> None:
    """The samples that fail were errors."""
    assert MetOrNot({}, {}, high=1.0).read(f'{{"reason": "{reason}", "score": 0}}') == 0.0


def test_a_score_and_a_reason_behind_it_are_a_verdict() -> None:
    reply = '{"score": 1, "reason": "The answer says that one must wait; it is not refundable."}'
    assert MetOrNot({}, {}, high=1.0).read(reply) == 1.0
    for reply in (
        '{"reason": "ok", "met": true, "score": 1}',
        '{"reason": "It names the fee.", "verdict": "met", "score": 1}',
        '{"reason": "不错，符合标准。", "score": 1}',
        '{"criterion": "names the fee", "reason": "It does.", "score": 1}',
    ):
        assert MetOrNot({}, {}, high=1.0).read(reply) == 1.0
    reply = '{"reason": "Only a part of the criterion is met.", "score": 0}'
    assert MetOrNot({}, {}, high=1.0).read(reply) == 0.0


@pytest.mark.parametrize(
    "reply",
    [
        *("Score: 1\n\nNot met.", "Score: 1\nVerdict: not met", "1\n\nNo, the fee is missing."),
        *('{"理由": "…", "评分": "1（部分满足）"}', '{"Score": "1 (partially met)"}'),
        *('{"decision": "not met", "score": 1}', '{"判定": "不满足", "score": 1}'),
        '{"reason": "The answer does not meet the criterion.", "score": 1}',
        '{"reason": "The answer meets only a part of the criterion.", "score": 1}',
        '{"reason": "The requirement is not met.", "score": 1}',
        '{"reason": "Only partially met.", "score": 1}',
        '{"reason": "答案没有完全满足该标准，缺少手续费。", "score": 1}',
        '{"reason": "答案未能满足该标准。", "score": 1}',
        '{"reason": "Das Kriterium ist nicht erfüllt.", "score": 1}',
        '{"reason": "x", "score": 1}\n\nHold on, that is the deadline; the fee is missing.',
        '{"meets_it": "No, the fee is missing", "score": 1}',
        '{"reason": "Criterion not met: the fee is missing.", "score": 1}',
        '{"reason": "The criterion has not been met.", "score": 1}',
        '{"reason": "The answer fails the criterion.", "score": 1}',
        '{"reason": "The answer only partially meets the criterion.", "score": 1}',
        '{"reason": "Therefore, the score is 0.", "score": 1}',
        '{"reason": "答案未提及费用，不符合要求。", "score": 1}',
        *('{"verdict": "incorrect", "score": 1}', '{"met": "missing", "score": 1}'),
        '{"reason": "x", "score": 1}\n\nNot met.',
        '{"reason": "The criterion has been met.", "score": 0}',
        '{"met": "yes, in line 1", "score": 0}',
        *('{"points": 0, "total": 1}', '{"score": 1, "total": 2}'),
        '{"score": 1, "met": "no"}',
        '{"score": 1, "met": 0}',
        '{"score": 1, "satisfied": false}',
        '{"score": 1, "verdict": "未满足"}',
        '{"score": 0, "met": true}',
        '{"score": 0, "result": "pass"}',
        '{"score": 1}\n\nCorrection: not met.',
        '{"score": 1}\n\n更正：未满足。',
        '{"score": 1}\n\nNo: the fee is absent.',
        "Score: 0\nActually the criterion is met.",
        '{"score": 0, "reason": "On reflection it is there, so it should be 1."}',
        "Score: 1 (partially)",
        '{"score": 0.5}',
    ],
)
def test_what_contradicts_the_score_is_no_verdict(reply: str) -> None:
    """In both directions alike."""
    with pytest.raises(UnreadableReplyError):
        MetOrNot({}, {}, high=1.0).read(reply)


def test_a_long_reply_is_read_at_once() -> None:
    """It took 20 seconds for 47 kB: what takes a verdict back was looked for from each word on."""
    from time import perf_counter

    begun = perf_counter()
    for piece in ("Wait, it is there. ", "wait ", "但是", "no, "):
        with suppress(UnreadableReplyError):
            MetOrNot({}, {}, high=1.0).read("Score: 1\n" + piece * (50_000 // len(piece)))
    assert perf_counter() - begun < 8

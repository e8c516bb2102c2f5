"""B6: replies of real judges are read as the verdicts that people noted for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from others_data import others_data

from pytest_rageval.text.reply import UnreadableReplyError, read_verdict

JUDGED = others_data("data/openqa-eval/judged_nq301.jsonl")

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


def replies(judge: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the id, text and recorded verdict of a judge's replies."""
    for line in JUDGED.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield row["id"], row["judges"][f"{judge}_text"], row["judges"][judge]


def _verdict(reply: str) -> bool | None:
    try:
        return read_verdict(reply)
    except UnreadableReplyError:
        return None


@pytest.mark.full
@pytest.mark.parametrize(("judge", "stated"), [("gpt-4", 1485), ("text-davinci-003", 1490)])
def test_real_judges_are_read_as_people_noted_their_verdicts(judge: str, stated: int) -> None:
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


@pytest.mark.full
@pytest.mark.parametrize(
    ("judge", "least", "contradictory"),
    [("gpt-4", 1450, CONTRADICTORY), ("text-davinci-003", 670, set())],
)
def test_their_sentences_say_the_same_without_the_first_word(
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

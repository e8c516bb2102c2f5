"""B10: a metric of the user's own that asks the judge: cached, repeated, counted as all are."""

from __future__ import annotations

import sys

import pytest
from judged_project import JudgedProject

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full


METRICS = """
from pytest_rageval import Message

async def tone(sample, judge, *, word="tone"):
    reply = await judge.complete([Message("user", f"{word}: {sample.answer}")], accept=float)
    return float(reply.text), f"judged {reply.text}"

async def counted(sample):
    counted.calls = getattr(counted, "calls", 0) + 1
    return counted.calls / 100
"""
TONE = {"use": "qa_metrics:tone"}


@pytest.fixture
def own(judged: JudgedProject, monkeypatch: pytest.MonkeyPatch) -> JudgedProject:
    """Return a project with metrics beside the scenario."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (judged.path / "qa_metrics.py").write_text(METRICS)
    return judged


def test_the_judge_is_asked_through_our_client(own: JudgedProject) -> None:
    own.scenario(["0.5", "0.25"], metrics=[TONE], gates={"tone": 0.3})
    own.loop_back().assert_outcomes(passed=4)  # two samples, the gates tone.mean and unscored
    samples = own.project.results()["samples"]
    assert [sample["scores"] for sample in samples] == [{"tone": 0.5}, {"tone": 0.25}]
    assert samples[0]["reasons"] == {"tone": "judged 0.5"}
    assert sorted(own.asked) == ["tone: 0.25", "tone: 0.5"]
    assert own.usage["calls"] == 2


def test_replies_are_kept_and_scores_are_not(own: JudgedProject) -> None:
    own.scenario(["0.5"], metrics=[TONE])
    own.pytest()
    changed = METRICS.replace("return float(reply.text)", "return float(reply.text) / 5")
    (own.path / "qa_metrics.py").write_text(changed)
    sys.modules.pop("qa_metrics", None)
    own.server.forget()
    own.pytest().assert_outcomes(passed=1)
    assert own.asked == []
    assert own.project.results()["samples"][0]["scores"] == {"tone": 0.1}


def test_repeats_are_for_what_asks_a_model(own: JudgedProject) -> None:
    """C6. Another async function has no opinion that could change."""
    metrics = [TONE, {"use": "qa_metrics:counted"}]
    own.scenario(["0.5"], metrics=metrics, judge={"repeats": 3})
    own.pytest().assert_outcomes(passed=1)
    assert len(own.asked) == 3
    (sample,) = own.project.results()["samples"]
    assert sample["details"]["tone"]["repeats"]["values"] == [0.5, 0.5, 0.5]
    assert sample["scores"]["counted"] == 0.01

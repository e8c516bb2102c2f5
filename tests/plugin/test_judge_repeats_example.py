"""[R5] [R6] A weak judge that copies the example out of the prompt: nothing is green, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from judged_project import JudgedProject

from pytest_rageval.clients import score_cache
from pytest_rageval.metrics.ragas import judge as ragas_judge

pytest.importorskip("ragas")
pytest_plugins = ["judged_project"]

TOLD = "Albert Einstein, born on 14 March 1879, was a German-born theoretical physicist, "
TOLD += "widely held to be one of the greatest and most influential scientists of all time."


def copied(body: Mapping[str, Any]) -> str:
    """Return what the example of ragas' prompt says, whatever the row."""
    schema = json.dumps(body["response_format"])
    if "classifications" in schema:
        one = {"statement": TOLD, "reason": "It is in the context.", "attributed": 1}
        return json.dumps({"classifications": [one]})
    return json.dumps({"statements": ["Albert Einstein was a German-born theoretical physicist."]})


def honest_reply(body: Mapping[str, Any]) -> str:
    """Return what a judge says of the row itself; the reason may be said of any row."""
    reason = "There is no supporting evidence for this in the given context."
    one = {"statement": "The plant is watered on Thursdays.", "reason": reason, "attributed": 0}
    return json.dumps({"classifications": [one]})


def rows(count: int = 12) -> list[dict[str, Any]]:
    return [
        {
            "question": f"On which day is plant {at} watered?",
            "answer": f"Plant {at} is watered on Mondays.",
            "contexts": ["The office plant is watered on Tuesdays."],
            "references": [f"Plant {at} is watered on Thursdays."],
        }
        for at in range(count)
    ]


def check(judged: JudgedProject, result: pytest.RunResult) -> None:
    """12 rows, 2 metrics, 3 replies for each: 72 replies, none of them usable."""
    result.assert_outcomes(errors=12, failed=2)
    found = judged.project.results()
    for name in ("context_recall", "faithfulness"):
        assert found["metrics"][name]["n"] == 0
        assert found["metrics"][name]["replies"] == {"usable": 0, "example": 36}
    for sample in found["samples"]:
        assert set(sample["scores"].values()) == {None}
        assert "it repeats the example of the prompt" in sample["errors"]["context_recall"]
        assert sample["replies"]["faithfulness"] == {"example": 3}
    said = result.stdout.str()
    assert (
        "context_recall: 36 of 36 replies could not be used (100 %): repeats the prompt's "
        "example 36"
    ) in said
    assert "would allow it" not in said
    # One case in full, one line for the others; the totals are those of pytest.
    assert said.count("ERROR at setup of") == 1
    result.stdout.fnmatch_lines(["s0 and 11 more cases: ERROR (context_recall: repeats*; faith*"])


@pytest.mark.parametrize("way", ["pytest", "loop_back"])
def test_nothing_is_green(judged: JudgedProject, way: str) -> None:
    judged.server.options.answer = copied
    judged.scenario(
        rows(),
        metrics=["context_recall", "faithfulness"],
        gates={"context_recall": 0.5},
        judge={"reasks": 2, "max_failures": None},
    )
    check(judged, getattr(judged, way)())
    summary = (judged.project.folder() / "summary.md").read_text()
    assert "36 of 36 replies could not be used" in summary


@pytest.mark.parametrize("honest", [True, False])
def test_a_cache_of_unchecked_replies(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch, honest: bool
) -> None:
    """[R5] As an earlier version kept them, scores included: what is right replays, an echo not."""
    judged.server.options.answer = honest_reply if honest else copied
    judged.scenario(rows(3), metrics=["context_recall"], gates={"context_recall": 0.0})
    with monkeypatch.context() as before:
        before.setattr(ragas_judge, "refuse_repeated", lambda *_: None)
        before.setattr(score_cache, "_CHECKS", 0)
        judged.pytest().assert_outcomes(passed=5)
    asked = len(judged.asked)
    replayed = judged.pytest("--rag-cache=replay")
    if honest:
        replayed.assert_outcomes(passed=5)
    else:
        replayed.assert_outcomes(errors=3, failed=2)
        assert judged.project.results()["metrics"]["context_recall"]["n"] == 0
        assert "it repeats the example of the prompt" in judged.errors["s0"]
    assert len(judged.asked) == asked


@pytest.mark.parametrize("way", ["pytest", "loop_back"])
def test_replies_that_were_asked_again_are_counted(judged: JudgedProject, way: str) -> None:
    """[R6] 4 replies, one of them no number; a run from the cache says the same."""
    judged.scenario(["0.5", "once prose|0.6", "0.7"])
    found = []
    for _ in range(2):
        result = getattr(judged, way)()
        result.assert_outcomes(passed=3)
        result.stdout.fnmatch_lines(
            ["graded: 1 of 4 replies could not be used (25 %): not the shape asked for 1"]
        )
        found.append(judged.project.results()["metrics"]["graded"]["replies"])
    assert found == [{"usable": 3, "shape": 1}] * 2
    assert len(judged.asked) == 4


def test_without_such_replies_nothing_is_said(judged: JudgedProject) -> None:
    judged.scenario(["0.5", "0.6"])
    assert "could not be used" not in judged.pytest().stdout.str()
    assert "replies" not in judged.project.results()["metrics"]["graded"]


@pytest.mark.parametrize("way", ["pytest", "loop_back"])
def test_28_of_30_are_told_once(judged: JudgedProject, way: str) -> None:
    """[R6] Two usable replies come first; after 20 others in a row the judge is given up."""
    judged.scenario(
        ["0.5", "0.6", *(f"prose|0.{at}" for at in range(10, 38))],
        gates={"graded": 0.1},
        judge={"reasks": 0, "concurrency": 1},
    )
    result = getattr(judged, way)()
    result.assert_outcomes(passed=2 + 1, errors=28, failed=1)
    said = result.stdout.str()
    assert said.count("ERROR at setup of") == 2  # one of a reply, one that was not asked
    result.stdout.fnmatch_lines(
        [
            "s2 and 19 more cases: ERROR (graded: not the shape asked for); -v shows each",
            "s22 and 7 more cases: ERROR (graded: not asked); -v shows each",
            "  the judge was given up: graded not asked on 8 of 30 samples, for instance: judge *",
            "  graded failed on 20 of 30 samples*",
            "graded: 20 of 22 replies could not be used (90 %): not the shape asked for 20",
        ]
    )
    assert "would allow it" not in said
    assert said.count("ERROR qa.rageval.yaml::") == 28
    assert judged.pytest("-v").stdout.str().count("ERROR at setup of") == 28

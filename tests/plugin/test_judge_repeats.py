"""C6: a judge that is asked several times, and whether its verdict is stable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from judged_project import JudgedProject

pytest_plugins = ["judged_project"]


def _says(judged: JudgedProject, replies: Mapping[str, Sequence[str]]) -> None:
    """Let the judge change its mind: for each answer of a sample, what it says in turn."""
    turns: Counter[str] = Counter()

    def answer(body: Mapping[str, Any]) -> str:
        prompt = str(body["messages"][0]["content"]).rpartition(": ")[2]
        turns[prompt] += 1
        said = replies[prompt]
        return said[(turns[prompt] - 1) % len(said)]

    judged.server.options.answer = answer


def test_the_summary_says_how_many_verdicts_would_flip(judged: JudgedProject) -> None:
    """[C6] a is on both sides of 0.5, b and c are not; the mean of a, 0.55, passes."""
    _says(judged, {"a": ["0.4", "0.7"], "b": ["0.6", "0.9"], "c": ["0.1", "0.2"]})
    judged.scenario(["a", "b", "c"], thresholds={"graded": 0.5}, judge={"repeats": 2})
    result = judged.loop_back()
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["2 repeats: 1 of 3 samples pass in some and fail in others"])


@pytest.mark.full
def test_repeats_that_are_not_in_the_cache_are_errors_in_replay(judged: JudgedProject) -> None:
    """[C6, E9] Kept was one of three for each sample: a mean of that one is another figure."""
    judged.scenario(["0.9", "0.2"], gates={"graded": 0.1})
    judged.pytest().assert_outcomes(passed=4)
    result = judged.pytest("--rag-cache=replay", "--rag-set", "judge.repeats=3")
    result.assert_outcomes(errors=2, failed=2)
    assert all(error.startswith("replay: ") for error in judged.errors.values())


def test_a_budget_that_ends_among_the_repeats_turns_no_gate_green(judged: JudgedProject) -> None:
    """[C6, E10] 3 USD a call, twice for each of two samples, and 10 to spend: three calls."""
    price = {"input": 1_000_000, "output": 0}
    judge = {"price": price, "concurrency": 1, "repeats": 2}
    judged.scenario(["0.10", "0.11"], gates={"graded": 0, "unscored": 1}, judge=judge)
    judged.pytest("--rag-budget", "10")
    assert len(judged.asked) == 3
    assert list(judged.project.outcomes().values()) == ["passed", "error"]
    assert set(judged.project.gates().values()) == {"failed"}

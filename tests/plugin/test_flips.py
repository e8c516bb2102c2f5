"""F8: how sure the verdict of a gate on a mean is, and gates that a second run may not turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from judged_project import JudgedProject

from pytest_rageval import RunSettings, UserError, evaluate

pytest_plugins = ["judged_project"]

# Ten answers, the last two with one of two verdicts each way: mean .9, sd √(2 · .25)/10 = .070711.
ROWS = [*(f"q{at}: 1" for at in range(8)), "x: flips", "y: flips"]


@pytest.fixture
def flipping(judged: JudgedProject) -> JudgedProject:
    """Return a project whose judge says 1, and first 0 and then 1 of the answers that flip."""
    turns: Counter[str] = Counter()

    def answer(body: Mapping[str, Any]) -> str:
        prompt = str(body["messages"][0]["content"])
        turns[prompt] += 1
        return str((turns[prompt] - 1) % 2) if prompt.endswith("flips") else "1"

    judged.server.options.answer = answer
    return judged


def scenario(flipping: JudgedProject, gate: Any, **keys: Any) -> Any:
    return flipping.scenario(ROWS, gates={"graded": gate}, judge={"repeats": 2}, **keys)


def test_a_page_does_not_decide_it_again(flipping: JudgedProject) -> None:
    """It says what the run said; a gate without max_flip follows the weights."""
    from pytest_rageval.reports.page.data import plain_gates

    flipping.load_conftest()
    run = RunSettings(cache_dir=flipping.path / "kept")
    bounded = evaluate(scenario(flipping, {"min": 0.8, "max_flip": 0.2}), run=run)
    (gate,) = [one for one in plain_gates(bounded) if one["name"] == "graded.mean"]
    assert (gate["kind"], gate["targets"]) == ("as_run", ["graded"])
    free = evaluate(scenario(flipping, 0.8), run=run)
    (gate,) = [one for one in plain_gates(free) if one["name"] == "graded.mean"]
    assert (gate["kind"], gate["remark"]) == ("mean", "a second run would differ in 16 %")


def test_max_flip_is_refused_where_nothing_repeats(flipping: JudgedProject) -> None:
    """tests/unit/gates/test_max_flip.py has the other mistakes; here, only em weighs anything."""
    flipping.load_conftest()
    path = flipping.scenario(
        [{"answer": "1", "references": ["1"]}],
        metrics=["graded", "em"],
        metric_weights={"graded": 0, "em": 1},
        gates={"weighted_score": {"min": 0.8, "max_flip": 0.1}},
        judge={"repeats": 2},
    )
    with pytest.raises(UserError) as caught:
        evaluate(path)
    (problem,) = caught.value.problems
    assert problem.message == (
        "gates.weighted_score.max_flip: needs repeats, and no judge is asked for "
        "weighted_score; they are known of graded"
    )
    line = int(str(problem).split(":")[1])
    assert "max_flip" in path.read_text("utf-8").splitlines()[line - 1]

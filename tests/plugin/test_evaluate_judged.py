"""[B11] What ``evaluate`` writes about a run with a judge, and that its parts can be used alone."""

from __future__ import annotations

import json

import pytest
from judged_project import JudgedProject

from pytest_rageval import RunSettings, evaluate

pytest_plugins = ["judged_project"]


@pytest.fixture(autouse=True)
def _metrics(judged: JudgedProject) -> None:
    """Add the judged metrics to this process."""
    judged.load_conftest()


def test_what_the_judge_was_asked_stands_in_the_results(judged: JudgedProject) -> None:
    """[B11, E10] Two calls; the second time the cache answers."""
    path, runs = judged.scenario(["0.9", "0.2"]), judged.path / "runs"
    run = RunSettings(cache_dir=judged.path / "kept")
    usages = []
    for _ in range(2):
        result = evaluate(path, run=run, write_to=runs)
        (latest,) = runs.glob("*/latest")
        written = json.loads((latest / "results.json").read_text("utf-8"))
        assert written["metrics"]["graded"]["mean"] == result.metrics["graded"].mean
        usages.append(written["run"]["usage"])
    assert [(usage["calls"], usage["cached"]) for usage in usages] == [(2, 0), (0, 2)]


def test_what_went_wrong_without_failing_anything_is_a_remark(judged: JudgedProject) -> None:
    """[B11, E9] A cache that cannot be kept, for there is a file where its folder should be."""
    (judged.path / "kept").write_text("a file")
    run = RunSettings(cache_dir=judged.path / "kept")
    result = evaluate(judged.scenario(["0.9"]), run=run)
    assert result.metrics["graded"].mean == 0.9
    (remark,) = result.info.remarks
    assert remark.startswith("models: ")
    assert "kept" in remark

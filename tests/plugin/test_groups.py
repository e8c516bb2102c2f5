"""S2: samples in groups, from the scenario to the terminal and the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    metrics: [em]
    dataset: qa.jsonl
    group_by: question_id
    gates: {em: {lower_bound: 0.05}}
"""


def test_the_run_says_how_many_groups_there_are(project: Project, run: Run) -> None:
    """S2: five answers to each of four questions; four in twenty rows are wrong."""
    project.scenario(SCENARIO)
    rows = [
        {"id": f"r{at}", "answer": "no" if at < 4 else "yes", "references": ["yes"]}
        | ({"question_id": at // 5} if at else {})
        for at in range(20)
    ]
    project.rows(rows)
    result = run()
    assert result.ret == pytest.ExitCode.OK
    line = "20 samples in 5 groups (question_id)"
    assert line in result.outlines
    remark = "1 of 20 rows have no 'question_id': each is a group of its own (group_by)"
    assert remark in result.outlines
    assert project.results()["groups"] == {"field": "question_id", "n": 5}
    em = project.results()["metrics"]["em"]
    # m = 0.8; sums of residuals -0.8, -2.2, 1, 1, 1: v = 5/4 · 8.48/400 = 0.0265,
    # n_eff = 0.16/v = 6.0377, t(0.975; 4) = 2.776445: 0.631763 - 0.343546.
    assert em["mean"] == 0.8
    assert em["ci_low"] == pytest.approx(0.288217, abs=1e-5)
    assert "n 20 in 5 groups" in project.results()["gates"][0]["message"]
    summary = (project.folder() / "summary.md").read_text("utf-8")
    assert "- groups: 20 samples in 5 groups (`question_id`)" in summary

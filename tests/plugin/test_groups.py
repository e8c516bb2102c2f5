"""S2: samples in groups, from the scenario to the terminal and the files."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green

SCENARIO = """
    name: qa
    metrics: [em]
    dataset: qa.jsonl
    group_by: question_id
    gates: {em: {lower_bound: 0.05}}
"""


@pytest.mark.full
def test_the_run_says_how_many_groups_there_are(project: Project, run: Run) -> None:
    """S2: five answers to each of four questions; four in twenty rows are wrong."""
    project.scenario(SCENARIO)
    rows = [
        {"id": f"r{at}", "answer": "no" if at < 4 else "yes", "references": ["yes"]}
        | ({"question_id": at // 5} if at else {})
        for at in range(20)
    ]
    project.rows(rows)
    result = green(run())
    line = "20 samples in 5 groups (question_id)"
    assert line in result.outlines
    remark = "1 of 20 rows have no 'question_id': each is a group of its own (group_by)"
    assert remark in result.outlines
    assert project.results()["groups"] == {"field": "question_id", "n": 5}
    em = project.results()["metrics"]["em"]
    # Means 0, 1/4, 1, 1, 1 with weights 1, 4, 5, 5, 5, and one more of 0 with 92/20 = 4.6. M <= c
    # where 5(1 - c)·Gamma(3) <= Σ a·E, a = c, 4c - 1, 4.6c: P = Σ A·(a/(a + 5(1 - c)))³, A = the
    # product of a/(a - a') over the other two. It is 0.025 at c = 0.278297.
    assert em["mean"] == 0.8
    assert em["ci_low"] == pytest.approx(0.278297, abs=1e-5)
    assert "n 20 in 5 groups" in project.results()["gates"][0]["message"]
    summary = (project.folder() / "summary.md").read_text("utf-8")
    assert "- groups: 20 samples in 5 groups (`question_id`)" in summary

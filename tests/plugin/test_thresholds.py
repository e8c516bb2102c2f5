"""A sample below a threshold is FAILED, with a table instead of a traceback."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, red

# "in Paris": em 0; acc 1 because it contains Paris. Weighted: (1*0 + 3*1) / 4 = 0.75.
PARTLY = """
    name: qa
    metrics: [em, acc]
    metric_weights: {em: 1, acc: 3}
    thresholds: {weighted_score: BOUND}
    dataset:
      - id: partly
        question: Which city is the capital of France?
        answer: in Paris
        references: [Paris, Lutetia]
        contexts: [France is a country., Its capital is Paris.]
"""


def test_a_score_at_its_threshold_passes(project: Project, run: Run) -> None:
    """[A10, A11] 0.75 >= 0.75, within 1e-9; -v shows the score beside the outcome."""
    project.scenario(PARTLY.replace("BOUND", "0.7500000001"))
    result = green(run("-v"))
    result.assert_outcomes(passed=1)
    assert "PASSED 0.75" in result.stdout.str()
    assert project.outcomes() == {"partly": "passed"}


@pytest.mark.full
def test_a_score_below_its_threshold_fails_the_case(project: Project, run: Run) -> None:
    """[A10, E1] 0.75 < 0.8; the short summary quotes the verdict.

    Only cases go without a traceback: an ordinary failure keeps its own.
    """
    project.scenario(PARTLY.replace("BOUND", "0.8"))
    project.pytester.makepyfile(test_plain="def test_plain():\n    assert 1 == 2")
    result = red(run())
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines_random(
        ["FAILED qa.rageval.yaml::partly*weighted_score 0.7500 < 0.8000", "E *assert 1 == 2"]
    )
    lines = result.outlines
    start = lines.index("weighted_score 0.7500 < 0.8000")
    assert [line.split()[0] for line in lines[start : start + 13] if line.strip()] == [
        *("weighted_score", "question", "metric", "em", "acc", "weighted_score"),
        *("answer", "references", "[2]", "contexts", "[2]"),
    ]
    assert "Traceback" not in result.stdout.str()
    assert "items.py" not in result.stdout.str()
    assert project.outcomes() == {"partly": "failed"}

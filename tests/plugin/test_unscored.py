"""What cannot be scored is ERROR when something asks about it: not a pass, and not a zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# The metric raises for "broken" and is 1 for "fine"; em is 0 and 1.
TWO = """
    name: qa
    metrics: [em, raises]
    ASKED
    dataset:
      - {id: fine, answer: Paris, references: [Paris]}
      - {id: broken, answer: raise, references: [Paris]}
"""


@pytest.fixture(autouse=True)
def _broken_metrics(project: Project) -> None:
    project.with_broken_metrics()


@pytest.mark.full
@pytest.mark.parametrize("asked", ["thresholds: {raises: 0.5}", "gates: {raises: 0.5}"])
def test_an_unscored_metric_that_is_asked_about_is_an_error(
    project: Project, run: Run, asked: str
) -> None:
    """[A20, E1, G1] By a threshold or by a gate; the short summary quotes the exception's text.

    The gate on unscored samples, 1/2 > 0, is red as well: "broken" has no weighted score.
    """
    project.scenario(TWO.replace("ASKED", asked))
    result = run()
    result.assert_outcomes(passed=1 + asked.startswith("gates"), errors=1, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*= ERRORS =*",
            "raises unscored: RuntimeError: the judge is away (conftest.py:*)",
            "ERROR qa.rageval.yaml::broken*raises unscored: RuntimeError: the judge is away (*",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "\n    raise " not in result.stdout.str()
    assert project.outcomes() == {"fine": "passed", "broken": "error"}


@pytest.mark.full
def test_without_any_judge_every_sample_must_have_its_weighted_score(project: Project) -> None:
    """[A6, A11, A20, G1] That of em alone would be another one; the error is on record.

    The table says how many are unscored: em has 2 of 2, the other metric 1 of 2, its mean is 1.
    """
    project.scenario(TWO.replace("ASKED", "thresholds: {}"))
    result = project.pytest()
    result.assert_outcomes(passed=1, errors=1, failed=1)
    result.stdout.fnmatch_lines(["em *0.5000*2/2", "raises *1.0000*1/2 *(1 unscored)"])
    _, broken = project.results()["samples"]
    assert broken["scores"] == {"em": 0.0, "raises": None}
    assert broken["weighted_score"] is None
    assert broken["errors"] == {"raises": "RuntimeError: the judge is away (conftest.py:14)"}
    _, row = project.table("scores.csv")
    assert row["raises"] == ""
    assert row["error"] == "raises: RuntimeError: the judge is away (conftest.py:14)"
    metric = project.results()["metrics"]["raises"]
    assert (metric["mean"], metric["n"], metric["unscored"]) == (1.0, 1, 1)

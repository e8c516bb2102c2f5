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


@pytest.mark.parametrize("asked", ["thresholds: {raises: 0.5}", "gates: {raises: 0.5}"])
def test_an_unscored_metric_that_is_asked_about_is_an_error(
    project: Project, run: Run, asked: str
) -> None:
    """[A20, E1] By a threshold or by a gate; the short summary quotes the exception's text."""
    project.scenario(TWO.replace("ASKED", asked))
    result = run()
    result.assert_outcomes(passed=1 + 2 * asked.startswith("gates"), errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*= ERRORS =*",
            "raises unscored: RuntimeError: the judge is away",
            "ERROR qa.rageval.yaml::broken*raises unscored: RuntimeError: the judge is away",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    assert "conftest.py:" not in result.stdout.str()
    assert project.outcomes() == {"fine": "passed", "broken": "error"}


def test_an_unscored_metric_that_nobody_asks_about_is_left_out(project: Project) -> None:
    """[A6, A20] The weighted score of "broken" is that of em alone, 0; the error is on record."""
    project.scenario(TWO.replace("ASKED", "thresholds: {}"))
    project.pytest().assert_outcomes(passed=2)
    _, broken = project.results()["samples"]
    assert broken["scores"] == {"em": 0.0, "raises": None}
    assert broken["weighted_score"] == 0.0
    assert broken["errors"] == {"raises": "RuntimeError: the judge is away"}
    _, row = project.table("scores.csv")
    assert row["raises"] == ""
    assert row["error"] == "raises: RuntimeError: the judge is away"


def test_the_table_says_how_many_are_unscored(project: Project) -> None:
    """[A11, A20] em has 2 of 2, the other metric 1 of 2; its mean is that of the one, 1."""
    project.scenario(TWO.replace("ASKED", "thresholds: {}"))
    result = project.pytest()
    result.stdout.fnmatch_lines(["em *0.5000*2/2", "raises *1.0000*1/2 *(1 unscored)"])
    metric = project.results()["metrics"]["raises"]
    assert (metric["mean"], metric["n"], metric["unscored"]) == (1.0, 1, 1)


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("silent", "no claims in the answer"),
        ("toohigh", "1.5 is outside the range 0..1"),
        ("notanumber", "[Nn]a[Nn]"),
    ],
)
def test_what_is_no_score_is_unscored_with_the_reason(
    project: Project, metric: str, reason: str
) -> None:
    """[A20] None, a value out of range and NaN; nothing is scored at all, so the run is red."""
    project.scenario(
        f"""
        name: qa
        metrics: [{metric}]
        dataset: [{{id: only, answer: Paris}}]
        """
    )
    result = project.pytest()
    # The gate on unscored samples is never absent when it fails.
    result.assert_outcomes(errors=1, failed=1)
    result.stdout.fnmatch_lines([f"ERROR qa.rageval.yaml::only*{reason}*"])
    (sample,) = project.results()["samples"]
    assert sample["scores"] == {metric: None}
    assert sample["weighted_score"] is None


def test_a_row_without_the_field_that_a_threshold_needs_is_an_error(project: Project) -> None:
    """[A20] em needs references; the second row has none, and says so."""
    project.scenario(
        """
        name: qa
        metrics: [em, silent, witness]
        thresholds: {em: 0.5}
        dataset:
          - {id: full, answer: Paris, references: [Paris]}
          - {id: bare, answer: Paris}
        """
    )
    result = project.pytest()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["ERROR qa.rageval.yaml::bare*em unscored*references*"])


def test_a_sample_that_no_metric_scores_is_an_error_without_any_threshold(project: Project) -> None:
    """[A20] One of two; the gate on unscored samples, 1/2 > 0, is red as well."""
    project.scenario(TWO.replace("ASKED", "").replace("[em, raises]", "[raises]"))
    result = project.pytest()
    result.assert_outcomes(passed=1, errors=1, failed=1)
    assert project.gates() == {"unscored": "failed"}

"""What tables say of scores that are missing, or stand for answers that are."""

from __future__ import annotations

from pytest_rageval.model import MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.reports.missing import missing_figures
from pytest_rageval.stats.aggregate import summarize_scenario


def said(*answers_empty: bool) -> list[str]:
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("rated"),))
    samples = [
        SampleResult(
            f"s{at}",
            at,
            weighted_score=0.0,
            scores={"rated": 0.0},
            reasons={"rated": "empty answer"} if empty else {},
        )
        for at, empty in enumerate(answers_empty)
    ]
    result = summarize_scenario(info, samples, complete=True)
    return list(map(str, missing_figures(result)))


def test_the_worst_score_of_empty_answers_names_the_key_that_takes_it_away() -> None:
    """[U6] A run that it turns red says so, and how many there are."""
    assert said(True, False, True) == [
        "2 of 3 answers are empty and have the worst score of metrics that ask a model "
        "('empty_answer: null' leaves that to each metric)"
    ]
    assert said(True, False)[0].startswith("1 of 2 answer is empty and has the worst score")
    assert said(False) == []

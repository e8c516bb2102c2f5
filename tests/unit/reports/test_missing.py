"""What tables say of scores that are missing, or stand for answers that are."""

from __future__ import annotations

from pytest_rageval.model import MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.reports.missing import missing_figures
from pytest_rageval.stats.summary import summarize_scenario


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


def told(*errors: str) -> list[str]:
    columns = (MetricColumn("f1"), MetricColumn("em"))
    info = ScenarioInfo("s", "s.yaml", "s.yaml", columns, target="app:f")
    samples = [
        SampleResult(f"s{at}", at, scores={"f1": None, "em": None}, errors={"target": error})
        for at, error in enumerate(errors)
    ]
    return list(map(str, missing_figures(summarize_scenario(info, samples, complete=True))))


def test_a_function_that_is_to_be_written_is_told_once() -> None:
    """[E22] Not for each metric, nor with a traceback; where others failed, each metric says it."""
    unwritten = "app:f: NotImplementedError: write it\n  app.py:2 in f: raise"
    assert told(unwritten, unwritten) == [
        "2 of 2 samples are not answered, for instance: app:f: NotImplementedError: write it"
    ]
    assert [line.partition(",")[0] for line in told("app:f: OSError: down", unwritten)] == [
        "f1 failed on 2 of 2 samples",
        "em failed on 2 of 2 samples",
    ]

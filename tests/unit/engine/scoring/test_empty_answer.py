"""G9: an empty answer counts the same wherever it comes from, as ``empty_answer`` says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.evaluate import run_case
from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.engine.scoring.ask_target import TargetReply
from pytest_rageval.engine.scoring.judge_sample import judge_sample
from pytest_rageval.engine.scoring.window import Judgement
from pytest_rageval.engine.verdict.sample_verdict import reasons_unjudged
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricInfo, Models
from pytest_rageval.model import MetricColumn, Sample, SampleResult, Score

EMPTY = Sample("s", question="q", answer="", contexts=("c",), references=("x",))


class NeverAsked:
    """A judged metric; asking it about an empty answer is the mistake."""

    async def ascore(self, sample: Sample, models: Models) -> Score:
        raise AssertionError("asked about an empty answer")


def judged(name: str, needs: str = "answer", **column: Any) -> BoundMetric:
    info = MetricInfo(name, frozenset({needs}), asks=frozenset({"judge"}), empty_is_worst=True)
    return BoundMetric(MetricColumn(name, **column), info, NeverAsked())


@pytest.fixture
def scored(plan: Callable[..., Plan]) -> Callable[..., SampleResult]:
    """Return a function from a rule, an answer and judged metrics to the result of the sample."""

    def score(rule: str, *metrics: BoundMetric, answer: str = "", asked: bool = False) -> Any:
        text = f"name: s\nmetrics: [em]\nempty_answer: {rule}\n"
        made = plan(text + "dataset: [{answer: x, references: [x]}]\n")
        both = (*made.metrics, *metrics)
        info = replace(made.info, metrics=tuple(metric.column for metric in both))
        made = replace(made, info=info, metrics=both)
        sample = replace(EMPTY, answer=answer)
        scores = asyncio.run(judge_sample(made, sample, Models()))
        answered = TargetReply(sample) if asked else None
        return run_case(made, sample, Judgement(scores, answered=answered))

    return score


@pytest.mark.parametrize("asked", [False, True], ids=["data", "target"])
@pytest.mark.parametrize("answer", ["", " \n"])
def test_worst_is_the_worst_end_of_the_range_and_nobody_is_asked(
    scored: Callable[..., SampleResult], answer: str, asked: bool
) -> None:
    """0 of 0..1, 5 of 0..5 where lower is better; without an end there is no score."""
    found = scored(
        "worst",
        judged("relevant"),
        judged("noise", ends=(0.0, 5.0), higher_is_better=False),
        judged("cosine", ends=(-1.0, 1.0)),
        judged("open", ends=(None, 1.0)),
        answer=answer,
        asked=asked,
    )
    assert found.scores == {"em": 0.0, "relevant": 0.0, "noise": 5.0, "cosine": -1.0, "open": None}
    assert found.reasons["relevant"] == "empty answer"
    assert found.errors == {}


@pytest.mark.parametrize("asked", [False, True], ids=["data", "target"])
def test_missing_is_as_no_answer_at_all(scored: Callable[..., SampleResult], asked: bool) -> None:
    found = scored("missing", judged("relevant"), asked=asked)
    assert found.scores == {"em": None, "relevant": None}
    assert found.reasons == dict.fromkeys(found.scores, "the row has no answer")
    assert found.outcome == "error"


@pytest.mark.parametrize("asked", [False, True], ids=["data", "target"])
def test_error_is_a_case_without_an_answer(
    scored: Callable[..., SampleResult], asked: bool
) -> None:
    found = scored("error", judged("relevant"), asked=asked)
    assert found.scores == {"em": None, "relevant": None}
    assert found.errors == {"target": "the answer is empty (empty_answer: error)"}
    assert found.outcome == "error"


def test_a_metric_of_the_search_alone_is_scored_as_usual(
    plan: Callable[..., Plan], scored: Callable[..., SampleResult]
) -> None:
    """It does not look at the answer: it is asked, here in vain."""
    found = scored("worst", judged("search", needs="contexts"))
    assert found.scores == {"em": 0.0, "search": None}
    assert list(found.errors) == ["search"]
    assert found.errors["search"].startswith("AssertionError: asked about an empty answer (")


def test_a_row_with_an_empty_answer_is_invalid_where_it_is_missing(
    plan: Callable[..., Plan],
) -> None:
    """As a row without the field."""
    made = plan(
        "name: s\nmetrics: [em]\nempty_answer: missing\n"
        "dataset: [{answer: '', references: [x]}, {answer: x, references: [x]}]\n"
    )
    first, second = (run_case(made, case) for case in made.cases)
    assert first.invalid == "no answer, without which no metric can score it"
    assert second.outcome == "passed"
    assert reasons_unjudged(made, first) == [f"invalid row: {first.invalid}"]


JUDGING = ["faithfulness", "answer_relevancy", "llm_answer_relevancy", "semantic_similarity"]
LEXICAL = ["em", "f1", "rouge-l", "bleu", "string_similarity"]


@pytest.mark.parametrize("name", [*JUDGING, *LEXICAL])
def test_what_judges_an_answer_gives_the_worst_to_an_empty_one(name: str) -> None:
    """Lexical metrics score it by their own definition."""
    assert METRIC_REGISTRY.get(name).info.empty_is_worst == (name in JUDGING)


@pytest.mark.parametrize(
    "text",
    [
        "name: s\nmetrics: [em]\njudge_model: m\ndataset: [{answer: x, references: [x]}]\n",
        "scene_key: app\nevaluate_metrics: [em]\ndatasets: [{answer: x, references: [x]}]\n",
    ],
    ids=["rag_eval", "dbgpt"],
)
def test_scenarios_of_other_systems_leave_it_to_the_metric(
    plan: Callable[..., Plan], text: str
) -> None:
    assert plan(text).empty_answer is None
    assert plan(text + "empty_answer: worst\n").empty_answer == "worst"

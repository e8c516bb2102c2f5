"""B9: the result rows of DB-GPT, one for each sample and metric."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import ScenarioResult
from pytest_rageval.model import Bound, MetricColumn, RunInfo, SampleResult
from pytest_rageval.reports.base import REPORT_REGISTRY, RunFolder

Rows = Callable[..., list[dict[str, Any]]]

KEYS = [
    "query", "prediction", "contexts", "score", "passing", "metric_name", "prediction_cost",
    "raw_dataset", "feedback",
]  # fmt: skip
HIT = MetricColumn(
    "hit_rate",
    definition="hit_rate v1 (match=exact)",
    written="RetrieverHitRateMetric",
    retrieves=True,
)
F1 = MetricColumn("f1", definition="f1 v1 (tokenizer=auto)")


@pytest.fixture
def rows(result: Callable[..., ScenarioResult], tmp_path: Path) -> Rows:
    """Return a function from samples to the rows that the report writes about them."""

    def write(samples: list[SampleResult], *metrics: MetricColumn, **fields: Any) -> Any:
        run = RunInfo("r", "", "", "0", latency_s={"a": 0.0123, "b": 2.0})
        made = result(samples, *metrics, **fields)
        REPORT_REGISTRY.get("dbgpt").write(made, run, RunFolder(tmp_path, tmp_path))
        text = (tmp_path / "evaluation_rows.json").read_text(encoding="utf-8")
        assert text.count("\n") == (len(samples) + 2 if samples else 1), "one sample a line"
        response = json.loads(text)
        groups = response.pop("data")
        assert response == {"success": True, "err_code": None, "err_msg": None}
        assert [len(group) for group in groups] == [len(made.metrics)] * len(samples)
        return [row for group in groups for row in group]

    return write


def test_a_sample_has_a_row_for_each_metric(rows: Rows) -> None:
    """[F7, B9] Of f1 the prediction is the answer, of hit_rate what was retrieved."""
    sample = SampleResult(
        "a",
        0,
        question="谁?",
        answer="我",
        contexts=("found",),
        references=("他",),
        doc_name="d.pdf",
        metadata={"topic": "x"},
        scores={"hit_rate": 1.0, "f1": 0.25},
        reasons={"f1": "half of it"},
        expected=("wanted", "too"),
    )
    hit, f1 = rows([sample], HIT, F1, thresholds={"f1": Bound(min=0.5)})
    assert list(hit) == list(f1) == KEYS
    raw = {"id": "a", "query": "谁?", "doc_name": "d.pdf", "references": ["他"]}
    raw |= {"factual": ["wanted", "too"], "topic": "x"}
    assert hit == {
        "query": "谁?",
        "prediction": ["found"],
        "contexts": ["wanted", "too"],
        "score": 1.0,
        "passing": None,
        "metric_name": "RetrieverHitRateMetric",
        "prediction_cost": 12,
        "raw_dataset": raw,
        "feedback": None,
    }
    assert (f1["prediction"], f1["contexts"], f1["raw_dataset"]) == ("我", ["found"], raw)
    assert (f1["score"], f1["passing"], f1["feedback"]) == (0.25, False, "half of it")


def test_passing_is_the_threshold_and_nothing_without_a_score(rows: Rows) -> None:
    """B9: 0.5 reaches 0.5; an error is not passed and not failed, and says why."""
    samples = [
        SampleResult("a", 0, scores={"f1": 0.5}),
        SampleResult("b", 1, scores={"f1": None}, errors={"f1": "RuntimeError: away"}),
        SampleResult("c", 2, scores={"f1": None}, errors={"row": "no answer"}, invalid="no answer",
                     raw='{"x": 1}'),
    ]  # fmt: skip
    found = rows(samples, F1, thresholds={"f1": Bound(min=0.5)})
    assert [row["passing"] for row in found] == [True, None, None]
    assert [row["score"] for row in found] == [0.5, None, None]
    assert [row["feedback"] for row in found] == [None, "RuntimeError: away", "no answer"]
    assert found[2]["raw_dataset"] == '{"x": 1}'


def test_passing_without_a_threshold_is_what_the_metric_returned(rows: Rows) -> None:
    """[F7] False also above the threshold and without a score; True overrules no threshold."""
    samples = [
        SampleResult("a", 0, scores={"f1": 0.5}, details={"f1": {"passing": False}}),
        SampleResult("b", 1, scores={"f1": 0.4}, details={"f1": {"passing": True}}),
        SampleResult("c", 2, scores={"f1": None}, details={"f1": {"passing": False}}),
    ]
    assert [row["passing"] for row in rows(samples, F1)] == [False, True, False]
    above = {"f1": Bound(min=0.5)}
    found = rows(samples, F1, thresholds=above)
    assert [row["passing"] for row in found] == [False, False, False]


def test_the_cost_is_the_time_of_the_answer_where_one_was_asked_for(rows: Rows) -> None:
    """B9: else that of the scoring, in milliseconds."""
    samples = [
        SampleResult("a", 0, scores={"f1": 1.0}),
        SampleResult("b", 1, scores={"f1": 1.0}, answer_latency_s=1.5),
        SampleResult("c", 2, scores={"f1": 1.0}),
    ]
    assert [row["prediction_cost"] for row in rows(samples, F1)] == [12, 1500, 0]


def test_of_ids_the_first_that_were_found_are_the_prediction(rows: Rows) -> None:
    """B9, D4."""
    details = {"retrieval": {"retrieved": 2, "first": [["d2", 1], ["d9", None]]}}
    (row,) = rows([SampleResult("a", 0, scores={"hit_rate": 1.0}, details=details)], HIT)
    assert (row["prediction"], row["contexts"]) == (["d2", "d9"], None)


def test_a_metric_of_somebody_else_is_about_answers(rows: Rows) -> None:
    """B9, B10."""
    own = MetricColumn("mine", definition="somebodys v1 ()")
    (row,) = rows([SampleResult("a", 0, answer="x", scores={"mine": 1.0})], own)
    assert row["prediction"] == "x"


def test_a_retriever_metric_of_ones_own_is_about_what_was_retrieved(rows: Rows) -> None:
    """[F7] The prediction is what was retrieved, the contexts what was expected."""
    own = MetricColumn("mine", retrieves=True)
    sample = SampleResult("a", 0, contexts=("x",), scores={"mine": 1.0}, expected=("wanted",))
    (row,) = rows([sample], own)
    assert (row["prediction"], row["contexts"], row["metric_name"]) == (["x"], ["wanted"], "mine")


def test_no_samples_are_an_empty_list(rows: Rows) -> None:
    assert rows([], F1) == []

"""[B9, B12] An evaluation request of DB-GPT as a scenario, and the rows that it expects back."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.plugin.conftest import Project, Run

# The second question finds an expected context at rank 2, the third none.
REQUEST: dict[str, Any] = {
    "scene_key": "recall",
    "scene_value": "147",
    "sys_code": "xx",
    "context": {"top_k": 2},
    "evaluate_metrics": ["RetrieverHitRateMetric", "RetrieverMRRMetric"],
    "datasets": [
        {"query": "时间分辨率?", "contexts": ["75 毫秒"], "prediction": ["75 毫秒", "其他"]},
        {"query": "保修?", "contexts": ["两年", "三年"], "prediction": ["其他", "三年"]},
        {"query": "退货?", "contexts": ["三十天"], "prediction": ["其他", "一年", "三十天"]},
    ],
}


@pytest.fixture
def request_file(project: Project) -> Project:
    """Return a project with a request as DB-GPT's clients send it."""
    project.file("recall.json", json.dumps(REQUEST, indent=2))
    return project


def rows(project: Project) -> list[dict[str, Any]]:
    text = (project.folders("recall")[-1] / "evaluation_rows.json").read_text("utf-8")
    return [row for group in json.loads(text)["data"] for row in group]


def test_a_request_runs_as_it_is(request_file: Project, run: Run) -> None:
    """[B1, B2, B8, B12] top_k cuts the third question's only hit off."""
    result = run("--rag-scenario=recall.json", "-W", "default", "--rag-report=dbgpt")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*sys_code: not used: DB-GPT's own account*"])
    result.stdout.fnmatch_lines(["*scene_value: the space '147' of a running DB-GPT is not asked*"])
    samples = request_file.results("recall")["samples"]
    assert [sample["scores"] for sample in samples] == [
        {"hit_rate": 1.0, "mrr": 1.0},
        {"hit_rate": 1.0, "mrr": 0.5},
        {"hit_rate": 0.0, "mrr": 0.0},
    ]


@pytest.mark.full
def test_the_rows_are_those_of_db_gpt(request_file: Project, run: Run) -> None:
    """[B9, F7] One for each question and metric, on request."""
    run("--rag-scenario=recall.json", "-W", "default")
    assert not list(request_file.path.glob("**/evaluation_rows.json"))
    run(
        "--rag-scenario=recall.json",
        "-W",
        "default",
        "--rag-report=dbgpt",
        "--rag-threshold=RetrieverMRRMetric=0.6",
    ).assert_outcomes(passed=1, failed=2)
    found = rows(request_file)
    assert [(row["metric_name"], row["score"], row["passing"]) for row in found] == [
        ("RetrieverHitRateMetric", 1.0, None),
        ("RetrieverMRRMetric", 1.0, True),
        ("RetrieverHitRateMetric", 1.0, None),
        ("RetrieverMRRMetric", 0.5, False),
        ("RetrieverHitRateMetric", 0.0, None),
        ("RetrieverMRRMetric", 0.0, False),
    ]
    assert all(isinstance(row.pop("prediction_cost"), int) for row in found)
    assert found[2] == {
        "query": "保修?",
        "prediction": ["其他", "三年"],
        "contexts": ["两年", "三年"],
        "score": 1.0,
        "passing": None,
        "metric_name": "RetrieverHitRateMetric",
        "raw_dataset": {"id": "sample-2", "query": "保修?"},
        "feedback": None,
    }


OWN = """
from pytest_rageval.metrics.dbgpt import EvaluationResult, RetrieverEvaluationMetric

class Share(RetrieverEvaluationMetric):
    def sync_compute(self, prediction, contexts=None, query=None):
        found = [text for text in contexts if text in prediction]
        return EvaluationResult(score=len(found) / len(contexts), passing=len(found) > 1)
"""


@pytest.mark.full
def test_the_rows_of_a_retriever_metric_of_ones_own(
    request_file: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[F7] What was retrieved (as top_k leaves it), and all that was expected, nothing cut."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    expected = [str(number) * 400 for number in range(5)]
    row = {"query": "?", "contexts": expected, "prediction": [expected[4], expected[0], "other"]}
    one = {**row, "prediction": expected[:1]}
    metrics = [{"use": "share:Share"}]
    request = {**REQUEST, "evaluate_metrics": metrics, "datasets": [row, one]}
    request_file.file("recall.json", json.dumps(request))
    request_file.file("share.py", OWN)
    arguments = ("--rag-scenario=recall.json", "-W", "default")
    run(*arguments, "--rag-report=dbgpt").assert_outcomes(passed=1, failed=1)
    assert [
        (row["prediction"], row["contexts"], row["score"], row["passing"])
        for row in rows(request_file)
    ] == [(row["prediction"][:2], expected, 0.4, True), (one["prediction"], expected, 0.2, False)]
    first = request_file.results("recall")["samples"][0]
    assert len(first["details"]["retrieval"]["first_expected"]) == 3
    assert "expected" not in first

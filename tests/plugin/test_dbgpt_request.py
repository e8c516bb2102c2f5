"""[B9, B12] An evaluation request of DB-GPT as a scenario, and the rows that it expects back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
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
    parsed: list[dict[str, Any]] = json.loads(text)
    return parsed


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


def test_the_rows_are_those_of_db_gpt(request_file: Project, run: Run) -> None:
    """[B9] One for each question and metric, on request."""
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
        ("hit_rate", 1.0, None),
        ("mrr", 1.0, True),
        ("hit_rate", 1.0, None),
        ("mrr", 0.5, False),
        ("hit_rate", 0.0, None),
        ("mrr", 0.0, False),
    ]
    assert all(isinstance(row.pop("prediction_cost"), int) for row in found)
    assert found[2] == {
        "query": "保修?",
        "prediction": ["其他", "三年"],
        "contexts": ["两年", "三年"],
        "score": 1.0,
        "passing": None,
        "metric_name": "hit_rate",
        "raw_dataset": {"id": "sample-2", "query": "保修?"},
        "feedback": None,
    }


def test_the_rows_are_the_same_with_workers(request_file: Project) -> None:
    """[B9, E2] But for what they cost."""
    arguments = ("--rag-scenario=recall.json", "-W", "default", "--rag-report=dbgpt")
    request_file.pytest(*arguments)
    plain = rows(request_file)
    request_file.pytest(*arguments, "-n", "2")
    spread = rows(request_file)
    for row in [*plain, *spread]:
        del row["prediction_cost"]
    assert plain == spread


def test_a_request_without_predictions_says_what_to_do(request_file: Project) -> None:
    """[A21, B12] As DB-GPT's documentation has it; the space would have to be asked."""
    bare = [{"query": "AWEL?", "doc_name": "awel.md"}]
    request_file.file("recall.json", json.dumps({**REQUEST, "datasets": bare}, indent=2))
    result = request_file.pytest("--rag-scenario=recall.json")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*no row has a 'prediction', and the space*'target'*"])
    result.stdout.no_fnmatch_line("*Traceback*")

"""D4, D5: TREC files as tests: one case for each judged query, the same figures with workers."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    qrels_path: qrels.txt
    run_path: run.txt
    metrics: [mrr, "ndcg@2"]
"""
# mrr 1, 1/2, 0; ndcg@2 1, 1/log2(3), 0.
QRELS = "q1 0 d1 1\nq2 0 d2 1\nq2 0 d9 0\nq3 0 d3 1\n"
RUN = "q1 Q0 d1 1 2 r\nq2 Q0 d9 1 2 r\nq2 Q0 d2 2 1 r\nq3 Q0 d8 1 1 r\n"


@pytest.fixture
def trec(project: Project) -> Project:
    """Return a project with three judged queries."""
    project.scenario(SCENARIO)
    project.file("qrels.txt", QRELS)
    project.file("run.txt", RUN)
    return project


def test_each_judged_query_is_a_case(trec: Project, run: Run) -> None:
    """[D4] With its score beside its outcome."""
    result = run("-v")
    result.assert_outcomes(passed=3)
    for query in ("q1", "q2", "q3"):
        assert f"qa.rageval.yaml::{query} " in result.stdout.str()
    samples = trec.results()["samples"]
    assert [sample["scores"]["mrr"] for sample in samples] == [1.0, 0.5, 0.0]
    assert trec.results()["metrics"]["mrr"]["mean"] == 0.5


def test_a_selection_of_queries_scores_them_as_a_run_of_all(trec: Project, run: Run) -> None:
    """[E4] The batch is of all queries, whatever is asked for; the gate stays undecided."""
    trec.scenario(SCENARIO + "    gates: {mrr: 0.9}\n")
    result = run("-k", "q2")
    result.assert_outcomes(passed=1, skipped=2)
    assert [sample["scores"]["mrr"] for sample in trec.results()["samples"]] == [0.5]


def test_parameters_of_ultrarag_are_a_scenario(project: Project, plain: Run) -> None:
    """[D9] Its evaluation server's file for TREC data, with the run to compare with."""
    project.file("qrels.txt", QRELS)
    project.file("run_a.txt", RUN)
    project.file("run_b.txt", "q1 Q0 d1 1 2 r\n")
    project.scenario(
        """
        evaluation:
          save_path: output/evaluate_results.json
          qrels_path: qrels.txt
          run_path: run_a.txt
          ks: [1, 2]
          ir_metrics: [mrr, ndcg]
          run_new_path: run_a.txt
          run_old_path: run_b.txt
          n_resamples: 1000
        """
    )
    averages = project.path / "output" / "evaluate_results.json"
    result = plain("-W", "default")
    assert result.parseoutcomes()["passed"] == 3
    assert list(project.results()["metrics"]) == ["mrr", "ndcg@1", "ndcg@2"]
    found = json.loads(averages.read_text("utf-8"))  # as its tool for two runs writes it
    assert (found["mrr"]["A_mean"], found["mrr"]["B_mean"]) == pytest.approx((0.5, 1 / 3))
    comparison = project.results()["comparison"]
    assert (comparison["baseline"], comparison["test"]) == ("run_b.txt", "permutation")
    assert comparison["metrics"]["mrr"]["B_mean"] == pytest.approx(1 / 3)

"""D4, D5: TREC files as tests: one case for each judged query, the same figures with workers."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
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


@pytest.mark.full
def test_workers_give_the_same_results_json(project: Project, run: Run) -> None:
    """[D4, E2] 60 queries, graded, with ties, missing and unjudged ones, compared with a run."""
    draw = random.Random(5)
    qrels, old, new = [], [], []
    for query in range(60):
        qrels += [
            f"q{query} 0 d{document} {draw.choice((-1, 0, 0, 1, 1, 2, 3))}\n"
            for document in draw.sample(range(200), 12)
        ]
        for lines, start in ((old, 2), (new, 0)):
            if query % 20 != start:
                documents = draw.sample(range(200), 40)
                lines += [
                    f"q{query} Q0 d{name} 0 {draw.randrange(20) / 4} r\n" for name in documents
                ]
    project.file("qrels.txt", "".join(qrels))
    project.file("run.txt", "".join(new) + "q999 Q0 d1 0 1 r\n")
    project.file("old.txt", "".join(old))
    project.scenario(
        """
        name: qa
        qrels_path: qrels.txt
        run_path: run.txt
        ir_metrics: [mrr, map, recall, ndcg, precision]
        thresholds: {map: 0.01}
        compare: {run_old_path: old.txt, metrics: [map, ndcg@10, weighted_score]}
        gates:
          map: {lower_bound: 0.01, quantile: {0.25: 0.02}}
          no_regression: {metrics: [map, "ndcg@10"], mode: non_inferior, max_drop: 0.1}
        """
    )
    first = project.pytest("-W", "ignore", "-p", "no:xdist")
    second = run("-W", "ignore")
    assert project.without_run(0) == project.without_run(1)
    assert first.parseoutcomes() == second.parseoutcomes()
    assert first.ret == second.ret
    results = project.results()
    assert results["counts"]["scored"] == 60
    assert results["counts"]["failed"] > 3
    assert results["comparison"]["metrics"]["map"]["n"] == 60
    assert {gate["name"] for gate in results["gates"]} == {
        "map.lower_bound",
        "map.quantile.0.25",
        "no_regression",
        "unscored",
    }


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

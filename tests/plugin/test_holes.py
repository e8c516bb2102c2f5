"""What nobody judged: said beside the figures, in gates, in a file, with workers and in shards."""

from __future__ import annotations

from typing import Any

import pytest
from sharded import files, merge, run_shards

from pytest_rageval import evaluate
from tests.plugin.conftest import Project, Run, interrupted

pytestmark = pytest.mark.full

SCENARIO = """
    name: qa
    qrels_path: qrels.txt
    run_path: run.txt
    metrics: [ndcg@2, P@2, judged@2]
    gates: {precision@2: 0.6}
"""
NUMBER = 12
# Each query has a good and a bad document, in this order; odd queries find a new one first.
QRELS = "".join(f"q{at:02} 0 good 1\nq{at:02} 0 bad 0\n" for at in range(NUMBER))
OLD = "".join(f"q{at:02} Q0 good 1 2 r\nq{at:02} Q0 bad 2 1 r\n" for at in range(NUMBER))
NEW = "".join(
    f"q{at:02} Q0 {'new' if at % 2 else 'good'} 1 2 r\nq{at:02} Q0 bad 2 1 r\n"
    for at in range(NUMBER)
)
# precision@2: half of the queries 1/2 for sure, the others 0 or 1/2.
OPEN = "25 % of the top 2 have no judgement: between 0.2500 and 0.5000"


@pytest.fixture
def search(project: Project) -> Project:
    project.scenario(SCENARIO)
    project.file("qrels.txt", QRELS)
    project.file("run.txt", NEW)
    return project


def test_holes_are_said_in_the_gate_and_in_a_line(search: Project, run: Run) -> None:
    result = run()
    result.assert_outcomes(passed=NUMBER + 1, failed=1)
    text = " ".join(result.stdout.str().split())
    assert f"precision@2 0.2500, {OPEN}" in text
    assert f"0.2500 < 0.6000 ({OPEN})" in text
    assert "75 % judged" in text
    assert search.results()["samples"][1]["details"]["precision@2"] == {
        "k": 2, "judged": 0.5, "holes": 1, "low": 0.0, "high": 0.5,
    }  # fmt: skip
    assert "precision@2" not in search.results()["samples"][0]["details"]
    assert search.results()["metrics"]["judged@2"]["mean"] == 0.75


def test_holes_are_listed_to_be_judged(search: Project, run: Run) -> None:
    run()
    lines = (search.folder() / "holes.tsv").read_text("utf-8").splitlines()
    assert lines[:2] == ["query\tdocument\trank\tgrade", "q01\tnew\t1\t"]
    assert len(lines) == 1 + NUMBER // 2


REGRESSION = """
    compare: COMPARE
    gates: {no_regression: {baseline: NAME, metrics: [precision@2]}}
"""
UNDECIDED = "cannot be decided: 6 holes in the top 2 decide it: judge these (holes.tsv)"


def compared(search: Project, compare: str, name: str) -> None:
    """Write the scenario with a gate that compares with another run."""
    gates = REGRESSION.replace("COMPARE", compare).replace("NAME", name)
    search.scenario(SCENARIO.replace("    gates: {precision@2: 0.6}\n", gates))


def test_a_fall_from_a_saved_run_that_they_may_explain_is_undecided(
    search: Project, run: Run
) -> None:
    """Six queries fell from 1/2 to 0, unless the new document is good."""
    search.file("run.txt", OLD)
    search.pytest("--rag-save-failed=main")
    search.file("run.txt", NEW)
    compared(search, "main", "main")
    result = run()
    result.assert_outcomes(passed=NUMBER + 1, failed=1)
    assert UNDECIDED in " ".join(result.stdout.str().split())


def test_once_they_are_judged_it_is_decided(search: Project, run: Run) -> None:
    """Against an older TREC run, whose share judged is on no record."""
    search.file("old.txt", OLD)
    compared(search, "{run_old_path: old.txt}", "old.txt")
    assert UNDECIDED in " ".join(run().stdout.str().split())
    search.file("qrels.txt", QRELS + "".join(f"q{at:02} 0 new 0\n" for at in range(NUMBER)))
    text = " ".join(search.pytest().stdout.str().split())
    assert "precision@2: worse, A 0.2500, B 0.5000" in text
    assert "holes" not in text


def test_shards_and_evaluate_say_the_same(search: Project) -> None:
    alone: Any = evaluate(search.path / "qa.rageval.yaml")
    assert OPEN in alone.gates[0].message
    search.pytest()
    whole = files(search.path / ".rageval")
    (search.path / ".rageval").rename(search.path / "whole")
    merge(search, run_shards(search, ["1/2", "2/2"]))
    assert files(search.path / ".rageval") == whole
    assert any(name.endswith("holes.tsv") for name in whole)


def test_infap_is_refused_without_a_pool(search: Project) -> None:
    search.scenario(SCENARIO.replace("judged@2", "infAP"))
    result = interrupted(search.pytest())
    result.stdout.fnmatch_lines(["*qa.rageval.yaml:*metrics?2?: infap estimates by documents of*"])
    search.file("qrels.txt", QRELS + "q01 0 new -1\n")
    assert search.pytest().ret == pytest.ExitCode.TESTS_FAILED
    assert search.results()["metrics"]["infap"]["n"] == NUMBER

"""Whoever scores the samples, and in whichever order: same figures, same files, same verdicts."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    metrics: [em, f1, rouge-l, raises]
    metric_weights: {em: 0.1, f1: 0.35, rouge-l: 0.7, raises: 0.0}
    doc_weights: {doc-0.pdf: 0.1, doc-1.pdf: 0.2, doc-2.pdf: 3.3}
    thresholds: {f1: 0.2}
    gates: {weighted_score: 0.3, f1: 0.9, by: {doc_name: {f1: 0.2}}}
    dataset: {path: qa.jsonl, on_invalid: skip}
"""

REVERSED = """
    def pytest_collection_modifyitems(items):
        if "REVERSED" in os.environ:
            items.reverse()
"""
"""In every run: results.json has a digest of conftest.py, which defines a metric (V6)."""

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "and", "双源CT"]


def _rows() -> list[dict[str, object]]:
    """Return 40 rows with F1s of many different fractions, and some that go another way."""
    rows: list[dict[str, object]] = []
    for at in range(40):
        answer = " ".join(WORDS[at % 7 : at % 7 + at % 5 + 1])
        reference = " ".join(WORDS[at % 3 : at % 3 + at % 6 + 2])
        row = {"id": f"q{at}", "answer": answer, "references": [reference]}
        rows.append({**row, "doc_name": f"doc-{at % 4}.pdf", "level": at % 3})
    rows[5]["skip"] = "not yet"
    rows[6]["xfail"] = "known"
    rows[7]["answer"] = ["a", "list"]
    rows[8]["answer"] = "raise"
    rows[9]["question"] = "odd \ud800 question"
    return rows


@pytest.fixture
def busy(project: Project) -> Project:
    """Return a project with 40 samples of all kinds and gates that pass and fail."""
    project.with_broken_metrics(REVERSED)
    project.scenario(SCENARIO)
    project.rows(_rows())
    return project


def test_two_workers_give_the_same_to_the_last_byte(
    busy: Project, workers: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E2] results.json without "run", scores.csv, invalid.csv, the totals, the exit status."""
    first = busy.pytest("-p", "no:xdist")
    monkeypatch.setenv("REVERSED", "1")
    second = workers()
    plain, distributed = busy.folders()
    assert busy.without_run(0) == busy.without_run(1)
    for name in ("scores.csv", "invalid.csv", "scenario.snapshot.yaml"):
        assert (plain / name).read_bytes() == (distributed / name).read_bytes(), name
    assert first.parseoutcomes() == second.parseoutcomes()
    assert first.ret == second.ret == pytest.ExitCode.TESTS_FAILED
    assert busy.results()["counts"]["ran"] == 40


@pytest.mark.full
def test_results_that_loop_back_are_those_of_a_worker(busy: Project, plain: Run, run: Run) -> None:
    """[E2] What most tests of this folder run: one process, and one worker in the account."""
    plain()
    assert busy.results()["run"]["workers"] == 0
    run()
    assert busy.results()["run"]["workers"] == 1
    assert busy.without_run(0) == busy.without_run(1)


@pytest.mark.parametrize("dist", ["loadfile", "worksteal"])
@pytest.mark.full
def test_every_way_to_distribute_gives_the_same_verdicts(
    busy: Project, workers: Run, dist: str
) -> None:
    """[E2] Also where one worker gets all, or takes over from the other."""
    busy.pytest()
    workers(f"--dist={dist}")
    assert busy.without_run(0) == busy.without_run(1)

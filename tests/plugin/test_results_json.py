"""``results.json`` has the keys and figures of the contract, for complete runs and for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

# em: 1, 0, 1 (passed, failed, xfailed by the row), skipped, invalid.
# Documents: a.pdf weighs 3, the others 1.
MIXED = """
    name: qa
    metrics: [em]
    doc_weights: {a.pdf: 3}
    thresholds: {em: 0.5}
    gates: {em: {min: 0.8}}
    dataset: qa.jsonl
"""
ROWS = [
    {"id": "right", "question": "Q?", "answer": "Paris", "references": ["Paris", "Lutetia"],
     "contexts": ["one", "two"], "doc_name": "a.pdf", "level": 3},
    {"id": "wrong", "answer": "Rome", "references": ["Paris"]},
    {"id": "known", "answer": "Rome", "references": ["Paris"], "xfail": "issue 7"},
    {"id": "skipped", "answer": "Rome", "references": ["Paris"], "skip": "no answer yet"},
    {"id": "invalid", "answer": ["a", "list"], "references": ["Paris"]},
]  # fmt: skip


@pytest.fixture
def mixed(project: Project) -> Project:
    """Return a project that was run with a row of every kind."""
    project.scenario(MIXED)
    project.rows(ROWS)
    project.pytest()
    return project


def test_the_top_level_has_the_keys_of_the_contract(mixed: Project) -> None:
    """[A12] Comparison is null without a baseline."""
    results = mixed.results()
    assert set(results) == {
        "schema", "scenario", "run", "complete", "counts", "metrics", "weighted_score", "avg",
        "gates", "comparison", "samples",
    }  # fmt: skip
    assert results["schema"] == 1
    assert results["comparison"] is None
    assert results["complete"] is True


def test_the_scenario_is_named_and_hashed(mixed: Project) -> None:
    """[A12] With SHA-256 digests of what ran."""
    scenario = mixed.results()["scenario"]
    assert set(scenario) == {
        "name", "path", "snapshot_sha256", "dataset_sha256", "overridden", "judgements_sha256",
        "definitions",
    }  # fmt: skip
    assert (scenario["name"], scenario["path"]) == ("qa", "qa.rageval.yaml")
    assert len(scenario["snapshot_sha256"]) == len(scenario["dataset_sha256"]) == 64
    assert scenario["judgements_sha256"] == "", "rows hold what they are judged by"
    assert scenario["definitions"] == {"em": "em v1 (tokenizer=auto)"}


def test_the_run_has_what_depends_on_time_and_machine(mixed: Project) -> None:
    """[A12] No model was asked, so there is no usage."""
    run = mixed.results()["run"]
    assert set(run) == {
        "id", "started_at", "finished_at", "version", "workers", "latency_s",
        "answer_latency_s", "usage",
    }  # fmt: skip
    assert run["workers"] == 0
    assert run["usage"] is None
    assert all(seconds >= 0 for seconds in run["latency_s"].values())


def test_counts_add_up(mixed: Project) -> None:
    """[A12] Five rows, one of each outcome; three have a score."""
    assert mixed.results()["counts"] == {
        "samples": 5,
        "ran": 5,
        "scored": 3,
        "passed": 1,
        "failed": 1,
        "error": 1,
        "skipped": 1,
        "xfailed": 1,
        "invalid": 1,
    }


def test_means_are_over_the_scored_samples(mixed: Project) -> None:
    """[A8] em 1, 0, 0: plain 1/3; with weights 3, 1, 1: 3/5. The invalid row is unscored."""
    results = mixed.results()
    metric = results["metrics"]["em"]
    assert set(metric) == {
        "mean", "weighted_mean", "weight", "n", "unscored", "std", "ci_low", "ci_high",
    }  # fmt: skip
    assert metric["mean"] == pytest.approx(1 / 3, abs=1e-15)
    assert metric["weighted_mean"] == pytest.approx(0.6, abs=1e-15)
    assert (metric["weight"], metric["n"], metric["unscored"]) == (1.0, 3, 1)
    # Variance of 1, 0, 0 with n - 1: ((2/3)^2 + 2*(1/3)^2) / 2 = 1/3.
    assert metric["std"] == pytest.approx((1 / 3) ** 0.5, abs=1e-15)
    assert 0 <= metric["ci_low"] < 0.6 < metric["ci_high"] <= 1
    overall = results["weighted_score"]
    assert set(overall) == {"mean", "n", "unscored", "ci_low", "ci_high"}
    assert overall["mean"] == pytest.approx(0.6, abs=1e-15)
    assert results["avg"] == {"avg_em": metric["mean"]}


def test_gates_have_figures_and_a_sentence(mixed: Project) -> None:
    """[A10] 0.6 < 0.8; one of the four that were to be scored has no score: 0.25 > 0."""
    em, unscored = mixed.results()["gates"]
    assert set(em) == {"name", "outcome", "observed", "bound", "message"}
    assert (em["name"], em["outcome"], em["bound"]) == ("em.mean", "failed", 0.8)
    assert em["observed"] == pytest.approx(0.6, abs=1e-15)
    assert "0.6000 < 0.8000" in em["message"]
    assert (unscored["name"], unscored["outcome"]) == ("unscored", "failed")
    assert (unscored["observed"], unscored["bound"]) == (0.25, 0.0)


def test_samples_are_in_dataset_order_with_all_that_is_known(mixed: Project) -> None:
    """[A12] The first one in full; the outcomes of all."""
    samples = mixed.results()["samples"]
    expected = {
        "id": "right",
        "index": 0,
        "doc_name": "a.pdf",
        "sample_weight": 3.0,
        "weighted_score": 1.0,
        "outcome": "passed",
        "question": "Q?",
        "answer": "Paris",
        "contexts": ["one", "two"],
        "references": ["Paris", "Lutetia"],
        "scores": {"em": 1.0},
        "reasons": {},
        "details": {},
        "errors": {},
    }
    assert {key: samples[0][key] for key in expected} == expected
    assert [(sample["index"], sample["outcome"]) for sample in samples] == [
        (0, "passed"),
        (1, "failed"),
        (2, "xfailed"),
        (3, "skipped"),
        (4, "error"),
    ]


def test_a_row_that_is_expected_to_fail_says_why(project: Project) -> None:
    """[E7] By its own column, with a reason or without, or by the scenario; passed or not."""
    project.scenario("""
        name: qa
        metrics: [em]
        thresholds: {em: 1}
        xfail: [{where: {id: three}, reason: tables are hard}]
        dataset:
          - {id: one, answer: a, references: [a]}
          - {id: two, answer: a, references: [a], xfail: true}
          - {id: three, answer: b, references: [a]}
          - {id: four, answer: b, references: [a], xfail: issue 41}
    """)
    project.pytest().assert_outcomes(passed=1, xpassed=1, xfailed=2)
    samples = project.results()["samples"]
    assert "xfail" not in samples[0]
    assert [(sample["xfail"], sample["outcome"]) for sample in samples[1:]] == [
        ("", "passed"),
        ("tables are hard", "xfailed"),
        ("issue 41", "xfailed"),
    ]


def test_what_was_not_scored_is_null(mixed: Project) -> None:
    """[A6] The skipped and the invalid row, never 0."""
    skipped, invalid = mixed.results()["samples"][3:]
    for sample in (skipped, invalid):
        assert sample["weighted_score"] is None
        assert sample["scores"] == {"em": None}
    assert invalid["errors"] != {}


def test_numbers_that_json_does_not_know_never_occur(project: Project) -> None:
    """[A19] NaN and Infinity in metadata of the data; the parser of this test refuses them."""
    (project.path / "qa.jsonl").write_text(
        '{"answer": "a", "references": ["a"], "level": NaN, "deep": {"x": [Infinity]}}\n', "utf-8"
    )
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl")
    project.pytest().assert_outcomes(passed=1)
    assert project.results()["counts"]["passed"] == 1


def test_the_number_of_workers_is_on_record(project: Project) -> None:
    """[E2] One worker, which ran both cases; a plain run has none."""
    project.rows([{"answer": "a", "references": ["a"]}] * 2)
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl")
    project.pytest("-n", "1")
    assert project.results()["run"]["workers"] == 1

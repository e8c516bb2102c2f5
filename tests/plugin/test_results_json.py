"""``results.json`` has the keys and figures of the contract, for complete runs and for others."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run

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


@pytest.mark.full
def test_a_run_with_a_row_of_every_kind(project: Project, run: Run) -> None:
    """[A6, A8, A12] Five rows, one of each outcome; three have a score: em 1, 0, 0.

    Plain 1/3; with weights 3, 1, 1: 3/5. The variance of 1, 0, 0 with n - 1 is
    ((2/3)^2 + 2*(1/3)^2) / 2 = 1/3. The skipped and the invalid row have null, never 0.
    """
    project.scenario(MIXED)
    project.rows(ROWS)
    run()
    results = project.results()
    assert (results["schema"], results["comparison"], results["complete"]) == (1, None, True)
    assert results["scenario"]["definitions"] == {"em": "em v1 (tokenizer=auto)"}
    assert results["run"]["usage"] is None
    assert all(seconds >= 0 for seconds in results["run"]["latency_s"].values())
    assert results["counts"] == {
        "samples": 5,
        "ran": 5,
        "scored": 3,
        "passed": 1,
        "failed": 1,
        "error": 1,
        "skipped": 1,
        "xfailed": 1,
        "invalid": 1,
        "in_figures": 3,
        "not_run": 0,
    }
    metric = results["metrics"]["em"]
    assert metric["mean"] == pytest.approx(1 / 3, abs=1e-15)
    assert metric["weighted_mean"] == pytest.approx(0.6, abs=1e-15)
    assert (metric["weight"], metric["n"], metric["unscored"], metric["failed"]) == (1.0, 3, 1, 1)
    assert metric["std"] == pytest.approx((1 / 3) ** 0.5, abs=1e-15)
    assert 0 <= metric["ci_low"] < 0.6 < metric["ci_high"] <= 1
    assert results["weighted_score"]["mean"] == pytest.approx(0.6, abs=1e-15)
    # 0.6 < 0.8; one of the four that were to be scored has no score: 0.25 > 0.
    em, unscored = results["gates"]
    assert (em["name"], em["outcome"], em["bound"]) == ("em.mean", "failed", 0.8)
    assert "0.6000 < 0.8000" in em["message"]
    assert (unscored["name"], unscored["outcome"]) == ("unscored", "failed")
    assert (unscored["observed"], unscored["bound"]) == (0.25, 0.0)
    samples = results["samples"]
    assert [(sample["index"], sample["outcome"], sample["scores"]) for sample in samples] == [
        (0, "passed", {"em": 1.0}),
        (1, "failed", {"em": 0.0}),
        (2, "xfailed", {"em": 0.0}),
        (3, "skipped", {"em": None}),
        (4, "error", {"em": None}),
    ]
    assert samples[4]["errors"] != {}


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


def test_a_run_that_nothing_could_fail_says_so(project: Project) -> None:
    """It is not judged: whoever reads the file must not take it for passed."""
    text = "name: qa\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n"
    project.file("qa.rageval.yaml", text)
    assert project.pytest().ret == pytest.ExitCode.OK
    assert project.results("qa")["judged"] is False
    assert "  not judged  " in "\n".join(project.pytest("--rag-history").outlines)
    project.file("qa.rageval.yaml", f"{text}gates: {{em: 1}}\n")
    assert project.pytest().ret == pytest.ExitCode.OK
    assert "judged" not in project.results("qa")

"""E21: the causes of low answers, from the scenario to terminal, files and gates."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval import evaluate
from tests.plugin.conftest import Project, Run

RIGHT, WRONG = "Faust is a play by Goethe.", "Don Carlos is a play by Schiller."
ROWS: list[dict[str, Any]] = [
    {"id": "good", "answer": "Goethe", "references": ["Goethe"], "contexts": [WRONG]},
    {"id": "lost", "answer": "Schiller", "references": ["Goethe"], "contexts": [WRONG]},
    {"id": "mute", "answer": "", "references": ["Goethe"], "contexts": [RIGHT]},
    {"id": "made up", "answer": "Schiller", "references": ["Goethe"], "contexts": [RIGHT]},
    {"id": "bare", "answer": "Schiller", "references": ["Goethe"]},
]
SCENARIO = """
    name: qa
    dataset: qa.jsonl
    metrics: [em]
    thresholds: {em: 0.5}
    diagnose: true
    gates: {by: {cause: {em: 0.5}}}
"""
CAUSES = {
    "good": "",
    "lost": "retrieval",
    "mute": "generation",
    "made up": "unfaithful",
    "bare": "unknown",
}


@pytest.mark.full
def test_low_answers_have_a_cause_wherever_they_are_shown(project: Project, run: Run) -> None:
    """E21: over xdist's transport; ``evaluate`` finds the same."""
    path = project.scenario(SCENARIO)
    project.rows(ROWS)
    shown = run("--rag-report=html")
    shown.stdout.fnmatch_lines(
        [
            "cause: retrieval, no context holds the reference",
            "of 4 low answers 1 retrieval, 1 generation, 1 unfaithful, 1 unknown",
            "retrieval: no context holds the reference (lost)",
            "generation: the contexts hold the reference, and the answer is empty (mute)",
            "unknown: no contexts (bare)",
        ]
    )
    samples = {one["id"]: one for one in project.results()["samples"]}
    every = {"retrieval": 1, "generation": 1, "unfaithful": 1, "unknown": 1}
    assert project.results()["causes"] == every
    assert {name: one.get("cause", "") for name, one in samples.items()} == CAUSES
    assert samples["bare"]["cause_reason"] == "no contexts"
    assert {row["sample_id"]: row["cause"] for row in project.table("scores.csv")} == CAUSES
    assert "- unknown: no contexts (bare)\n" in (project.folder() / "summary.md").read_text()
    assert "the contexts hold the reference" in (project.folder() / "report.html").read_text()
    assert project.gates()["by.cause.em.mean"] == "failed"
    shown.stdout.fnmatch_lines(["4 of 5 values of cause: generation: 0.0000 < 0.5000; *"])
    found = evaluate(path)
    assert {one.sample_id: one.cause or "" for one in found.samples} == CAUSES


def test_a_refusal_is_one_by_the_scenarios_own_rules(project: Project) -> None:
    """E21: a text under ``also`` gives no answer, also where the documents hold none."""
    refusal = "Dazu liegen mir leider keine Angaben vor."
    rows = [
        {"id": "known", "answer": refusal, "references": ["Goethe"], "contexts": [RIGHT]},
        {"id": "none", "answer": f"{refusal} Goethe.", "contexts": [RIGHT], "answerable": False},
    ]
    path = project.scenario(f"""
        name: qa
        dataset: qa.jsonl
        metrics: [acc]
        refusals: {{also: ["{refusal}"]}}
        thresholds: {{acc: 0.5}}
        diagnose: true
    """)
    project.rows(rows)
    assert {one.sample_id: one.cause_reason for one in evaluate(path).samples} == {
        "known": "the contexts hold the reference, and the answer refuses",
        "none": "the documents hold no answer, and the answer gives one",
    }

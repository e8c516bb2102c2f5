"""Rows that rule a metric out: no group of them, and no pair of two runs, is missed for it."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, green

ROWS = [
    {"id": f"a{at}", "question": "q", "answer": "It is 7.", "answerable": True, "kind": "fact"}
    | {"reference_contexts": ["seven"], "contexts": ["seven" if at != 3 else "eight"]}
    for at in range(6)
] + [
    {"id": f"u{at}", "question": "q", "answer": "The documents do not say.", "answerable": False}
    | {"kind": "trap", "reference_contexts": [], "contexts": ["x"]}
    for at in range(2)
]
SCENARIO = """
name: qa
dataset: qa.jsonl
metrics: [recall@5, refusal]
refusals: phrases
gates:
"""


@pytest.mark.full
@pytest.mark.parametrize("lost", [0, 1])
def test_rows_that_rule_every_metric_out_are_missed_nowhere(project: Project, lost: int) -> None:
    """By no pair of weighted scores, and by no gate on their kind; a score that is lost is."""
    project.rows(ROWS)
    project.scenario(
        SCENARIO.replace("refusal]", "mrr]")
        + "  no_regression: {metrics: [weighted_score], max_drop: 0.2}\n"
        "  pass_rate: 0.5\n"
        "  by: {kind: {weighted_score: 0.5, pass_rate: 0.5, unscored: 0}}\n"
        "thresholds: {recall@5: 0.5}\ntolerate: pass_rate\ncompare: {baseline: main}"
    )
    project.pytest("--rag-save=main")
    project.rows(ROWS[lost:])
    result = project.pytest()
    assert (result.ret == 0) == (lost == 0)
    result.stdout.fnmatch_lines(["*n 5; 2 rows rule it out*" if lost else "*n 6; 2 rows rule it*"])


@pytest.mark.full
def test_nothing_is_offered_where_the_rows_without_an_answer_are_skipped(project: Project) -> None:
    """A system that only searches."""
    project.rows([{name: row[name] for name in row if name != "answer"} for row in ROWS])
    search = "name: qa\ndataset: qa.jsonl\nmetrics: [recall@5]\ngates: {recall@5: 0.8}\n"
    project.scenario(search)
    offered = "*the column 'answerable' is not read*"
    project.pytest().stdout.fnmatch_lines([offered])
    project.scenario(search + "skip: [{where: {kind: trap}}]\n")
    result = green(project.pytest())
    result.stdout.no_fnmatch_line(offered)

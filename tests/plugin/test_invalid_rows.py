"""A row that is no sample is a case that says why, and a row of ``invalid.csv``."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Project, Run, red

pytestmark = pytest.mark.full

SCENARIO = """
    name: qa
    metrics: [em]
    gates: {em: 1}
    dataset: {path: qa.jsonl, on_invalid: MODE}
"""

# The second line is cut off, the third has a list for an answer, the fourth no references.
LINES = [
    json.dumps({"id": "right", "answer": "Paris", "references": ["Paris"]}),
    '{"id": "cut", "answer": "Par',
    json.dumps({"id": "list", "answer": ["Paris"], "references": ["Paris"]}),
    json.dumps({"id": "bare", "answer": "Paris"}),
]


@pytest.fixture
def invalid(project: Project) -> Project:
    """Return a project with one valid and three invalid rows."""
    (project.path / "qa.jsonl").write_text("\n".join(LINES) + "\n", "utf-8")
    return project


def test_invalid_rows_are_errors_by_default(invalid: Project, run: Run) -> None:
    """[A19] Three errors; the gate on unscored samples, 3/4 > 0, is red as well.

    The files say where they are, why, and what is there.
    """
    invalid.scenario(SCENARIO.replace(", on_invalid: MODE", ""))
    result = red(run())
    result.assert_outcomes(passed=2, errors=3, failed=1)
    assert invalid.outcomes() == {
        "right": "passed",
        "sample-2": "error",
        "list": "error",
        "bare": "error",
    }
    assert invalid.gates() == {"em.mean": "passed", "unscored": "failed"}
    for expected in (
        "ERROR qa.rageval.yaml::sample-2 *invalid row (line 2)*",
        "ERROR qa.rageval.yaml::list *invalid row (line 3): answer must be text*",
        "ERROR qa.rageval.yaml::bare *invalid row*references*",
    ):
        result.stdout.fnmatch_lines([expected])
    assert "Traceback" not in result.stdout.str()
    table = invalid.table("invalid.csv")
    assert [(row["sample_id"], row["row"], row["line"]) for row in table] == [
        ("sample-2", "2", "2"),
        ("list", "3", "3"),
        ("bare", "4", "4"),
    ]
    assert "answer must be text" in table[1]["reason"]
    assert "references" in table[2]["reason"]
    assert "Par" in table[0]["raw"]
    row = invalid.table("scores.csv")[2]
    assert (row["sample_id"], row["em"], row["outcome"]) == ("list", "", "error")
    assert "answer must be text" in row["error"]


# Nine good rows of a document, and one whose answer was lost.
GOOD = [
    {"id": f"a{at}", "answer": "x", "references": ["x"], "doc_name": "a.pdf", "lang": "de"}
    for at in range(9)
]
LOST = {"id": "a9", "references": ["x"], "doc_name": "a.pdf", "lang": "de"}
LIST = {**LOST, "answer": ["x"]}


@pytest.mark.parametrize("row", [LOST, LIST], ids=["no-answer", "a-list"])
def test_an_invalid_row_belongs_to_its_document_and_tags(
    project: Project, run: Run, row: dict[str, object]
) -> None:
    """[A19, E4, E7] 1 of 10 rows of a.pdf is not scored, which is 0.1 <= 0.2; ``-m`` selects it."""
    project.rows([*GOOD, {**row, "tags": ["slow"]}])
    project.scenario("""
        name: qa
        dataset: qa.jsonl
        metrics: [em]
        doc_weights: {a.pdf: 2}
        gates: {unscored: 0.2, by: {doc_name: {unscored: 0.2}, lang: {unscored: 0.2}}}
    """)
    run().assert_outcomes(passed=12, errors=1)
    assert project.gates() == dict.fromkeys(
        ["unscored", "by.doc_name.unscored", "by.lang.unscored"], "passed"
    )
    found = project.results()["samples"][9]
    assert (found["doc_name"], found["sample_weight"]) == ("a.pdf", 2.0)
    assert found["metadata"] == {"lang": "de"}
    project.pytest("-m", "slow")
    assert project.outcomes() == {"a9": "error"}


def test_an_invalid_row_that_is_expected_to_fail_counts_as_unscored(project: Project) -> None:
    """[E7, A19] As a sample does; on_invalid: xfail alone says that rows may be none."""
    project.rows([*GOOD, {**LOST, "xfail": "tables are cut in two"}])
    text = "name: qa\ndataset: {path: qa.jsonl, on_invalid: MODE}\nmetrics: [em]\n"
    project.scenario(text.replace("MODE", "fail"))
    project.pytest().assert_outcomes(passed=9, xfailed=1, failed=1)
    assert project.gates() == {"unscored": "failed"}
    project.scenario(text.replace("MODE", "xfail"))
    project.pytest().assert_outcomes(passed=9, xfailed=1)

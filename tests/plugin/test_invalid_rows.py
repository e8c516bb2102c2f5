"""A row that is no sample is a case that says why, and a row of ``invalid.csv``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

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
    """[A19] Three errors; the gate on unscored samples, 3/4 > 0, is red as well."""
    invalid.scenario(SCENARIO.replace(", on_invalid: MODE", ""))
    result = run()
    result.assert_outcomes(passed=2, errors=3, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
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


@pytest.mark.parametrize("mode", ["skip", "xfail"])
def test_invalid_rows_may_be_skipped_or_expected(invalid: Project, mode: str) -> None:
    """[A19] Then they count in no mean, and the gates hold: 1 case and 2 gates pass."""
    invalid.scenario(SCENARIO.replace("MODE", mode))
    result = invalid.pytest("-rsx")
    counted = {"skip": "skipped", "xfail": "xfailed"}[mode]
    result.assert_outcomes(passed=3, **{counted: 3})
    assert result.ret == pytest.ExitCode.OK
    counts = invalid.results()["counts"]
    assert (counts["invalid"], counts[counted], counts["passed"]) == (3, 3, 1)
    assert invalid.results()["metrics"]["em"]["unscored"] == 0
    assert "answer must be text" in result.stdout.str()


@pytest.mark.parametrize("mode", ["fail", "skip", "xfail"])
def test_invalid_csv_says_where_and_why(invalid: Project, mode: str) -> None:
    """[A19] Row, line and reason of each, and what stood there."""
    invalid.scenario(SCENARIO.replace("MODE", mode))
    invalid.pytest()
    table = invalid.table("invalid.csv")
    assert [(row["sample_id"], row["row"]) for row in table] == [
        ("sample-2", "2"),
        ("list", "3"),
        ("bare", "4"),
    ]
    assert [row["line"] for row in table[:2]] == ["2", "3"]
    assert "answer must be text" in table[1]["reason"]
    assert "references" in table[2]["reason"]
    assert "Par" in table[0]["raw"]


def test_the_line_of_a_row_without_needed_fields_is_known(invalid: Project) -> None:
    """[A19] It could be read, yet no metric can score it: line 4 all the same."""
    invalid.scenario(SCENARIO.replace("MODE", "fail"))
    invalid.pytest()
    assert invalid.table("invalid.csv")[2]["line"] == "4"


def test_invalid_csv_is_empty_without_invalid_rows(project: Project) -> None:
    """[A19] Only the header."""
    (project.path / "qa.jsonl").write_text(LINES[0], "utf-8")
    project.scenario(SCENARIO.replace("MODE", "fail"))
    project.pytest()
    text = (project.folder() / "invalid.csv").read_text("utf-8")
    assert text.splitlines() == ["sample_id,row,line,reason,raw"]


def test_scores_csv_has_invalid_rows_too(invalid: Project) -> None:
    """[A19] With the reason in the error column and no score."""
    invalid.scenario(SCENARIO.replace("MODE", "fail"))
    invalid.pytest()
    row = invalid.table("scores.csv")[2]
    assert (row["sample_id"], row["em"], row["outcome"]) == ("list", "", "error")
    assert "answer must be text" in row["error"]


def test_a_blank_cell_is_missing_and_never_the_text_nan(project: Project) -> None:
    """[A19] In CSV; an empty text in JSON is an empty answer, which scores 0."""
    (project.path / "qa.csv").write_text("answer,references\nParis,Paris\n,Paris\n", "utf-8")
    project.scenario("name: qa\nmetrics: [em]\ndataset: {path: qa.csv, on_invalid: skip}")
    project.pytest().assert_outcomes(passed=1, skipped=1)
    (row,) = project.table("invalid.csv")
    assert "answer" in row["reason"]
    (project.path / "qa.jsonl").write_text('{"answer": "", "references": ["Paris"]}', "utf-8")
    project.scenario("name: json\nmetrics: [em]\ndataset: qa.jsonl", "json")
    project.pytest("json.rageval.yaml").assert_outcomes(passed=1)
    assert project.results("json")["metrics"]["em"]["mean"] == 0.0


@pytest.mark.parametrize("mode", ["fail", "skip", "xfail"])
def test_data_without_any_valid_row_is_no_data(project: Project, mode: str) -> None:
    """[A19, E12] Whatever ``on_invalid`` says: it would be green without testing anything."""
    (project.path / "qa.jsonl").write_text("\n".join(LINES[1:3]), "utf-8")
    project.scenario(SCENARIO.replace("MODE", mode))
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*qa.jsonl: none of 2 rows is valid*"])


def test_a_field_of_invalid_rows_only_is_not_called_absent(project: Project) -> None:
    """[E12] "no such field; did you mean the column 'references'?" would contradict itself."""
    (project.path / "qa.jsonl").write_text("\n".join(LINES[2:]), "utf-8")
    project.scenario(SCENARIO.replace("MODE", "fail"))
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "did you mean the column 'references'" not in result.stdout.str()


def test_an_odd_reason_reaches_the_controller(project: Project) -> None:
    """[A19, E2] A lone surrogate in what stood there."""
    (project.path / "qa.jsonl").write_text(
        f'{LINES[0]}\n{{"id": "odd", "answer": ["\\ud800"], "references": ["a"]}}\n', "utf-8"
    )
    project.scenario(SCENARIO.replace("MODE", "fail"))
    result = project.pytest("-n", "1")
    result.assert_outcomes(passed=2, errors=1, failed=1)
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()

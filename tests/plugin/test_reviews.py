"""Made questions go to people and come back: rejected ones leave, edited ones change."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.reports.labels.review_sheet import ReviewSheet
from pytest_rageval.text.printable import csv_text, quoted, unquoted
from tests.plugin.conftest import Project, green, interrupted, red

pytestmark = pytest.mark.full

KEYS = "path: questions.jsonl, key_map: {reference_contexts: evidence}"
SCENARIO = f"""
    name: qa
    dataset: {{{KEYS}, reviews: [questions-review*.csv]}}
    metrics: [em]
    gates: {{em: 0.7, by: {{made_by: {{em: 0.1}}}}}}
"""


def made(at: int, **more: Any) -> dict[str, Any]:
    """Return the row of a question that a model made; that of an even number is answered right."""
    return {
        "id": f"refunds-{at}",
        "question": f"=How long do refunds take in region {at}?",
        "references": [f"{at} days"],
        "reference_contexts": [f"In region {at} they take {at} days. Ask us."],
        "evidence": [f"In region {at} they take {at} days."],
        "doc_name": "refunds.md",
        "section_path": "Refunds > Times",
        "question_type": "single",
        "made_by": "model",
        "answer": f"{at} days" if at % 2 == 0 else "no idea",
        **more,
    }


def sheet(project: Project) -> Path:
    """Return the newest table to be reviewed."""
    sheets = (project.path / ".rageval").glob("*/reviews/questions-review-2*.csv")
    return max(sheets, key=lambda sheet: sheet.stat().st_mtime_ns)


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def hand_in(
    project: Project, says: Mapping[str, Mapping[str, str]], name: str = "questions-review-ann"
) -> None:
    """Fill in the newest table by id, and put it beside the scenario."""
    rows = rows_of(sheet(project))
    for row in rows:
        row |= {"reviewer": "Ann", **says.get(row["id"], {"verdict": "accept"})}
    text = "".join(
        csv_text(
            [
                ReviewSheet.columns,
                *([row[column] for column in ReviewSheet.columns] for row in rows),
            ]
        )
    )
    project.file(f"{name}.csv", text)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_reviews_come_back_into_each_run(project: Project, workers: str) -> None:
    """Of five questions one was made by people: it is never drawn."""
    real = {"id": "real", "question": "Q?", "references": ["A"], "answer": "A", "evidence": ["E"]}
    project.scenario(SCENARIO)
    project.rows(
        [*(made(at) for at in range(1, 5)), {**real, "made_by": "people"}], "questions.jsonl"
    )
    result = project.pytest("-n", workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # 3 of 5
    before = project.results()["scenario"]["dataset_sha256"]

    result = project.pytest("--rag-label=9")
    table = sheet(project)
    shown = table.relative_to(project.path).as_posix()
    result.stdout.fnmatch_lines(
        [
            "qa: 4 of 4 made questions drawn to review; 0 reviewed before",
            f"table {shown}",
            f"page  {shown.removesuffix('.csv')}.html",
            "review on the page in a browser and press Download, or fill in 'verdict' (accept,",
            "reject or edit) and 'reviewer' of the table in a spreadsheet; then put *",
            "qa.rageval.yaml: runs read it from there (questions-review[*].csv)",
        ],
        consecutive=True,
    )
    assert not (project.path / ".rageval" / "qa" / "labels").exists()
    found = rows_of(table)
    assert sorted(row["id"] for row in found) == [f"refunds-{at}" for at in range(1, 5)]
    assert {unquoted(row["question"]) for row in found} == {
        f"=How long do refunds take in region {at}?" for at in range(1, 5)
    }
    assert {row["verdict"] + row["reviewer"] for row in found} == {""}

    hand_in(
        project,
        {
            "refunds-1": {"verdict": "reject"},
            "refunds-3": {"verdict": "edit", "question": quoted("-3?"), "reference": "no idea"},
            "refunds-4": {"verdict": ""},
        },
    )
    result = green(project.pytest("-n", workers))
    result.stdout.fnmatch_lines(
        ["*dataset.reviews: 1 row rejected, 1 question edited by people (questions-review-ann.csv)"]
    )
    run = project.results()
    assert [sample["id"] for sample in run["samples"]] == [
        *("refunds-2", "refunds-3", "refunds-4", "real")
    ]
    assert run["samples"][1]["question"] == "-3?"
    assert run["samples"][1]["scores"] == {"em": 1.0}
    assert run["scenario"]["dataset_sha256"] != before
    assert run["metrics"]["em"]["n"] == 4

    result = project.pytest("--rag-label=9")
    result.stdout.fnmatch_lines(["qa: 1 of 3 made questions drawn to review; 2 reviewed before"])
    hand_in(project, {}, "questions-review-bo")
    result = project.pytest("--rag-label=9")
    result.stdout.fnmatch_lines(
        ["qa: 3 made questions, and people reviewed all that are in the data"]
    )


def test_a_question_that_changed_is_reviewed_again(project: Project) -> None:
    """The rejected one is back, which is said; so are a mistake and its line."""
    project.scenario(SCENARIO)
    project.rows([made(2), made(4)], "questions.jsonl")
    project.pytest("--rag-label=2")
    hand_in(project, {"refunds-2": {"verdict": "reject"}})
    project.rows([made(2, question="How long?"), made(4)], "questions.jsonl")
    result = project.pytest("-Wdefault")
    assert len(project.results()["samples"]) == 2
    said = "reviews of 1 row are of an earlier wording and not counted (refunds-2): review *"
    result.stdout.fnmatch_lines([f"*dataset.reviews: {said}"])
    project.pytest("--rag-label=2", "-Wdefault")
    assert [row["id"] for row in rows_of(sheet(project))] == ["refunds-2"]
    hand_in(project, {"refunds-2": {"verdict": "no"}}, "questions-review-bo")
    result = interrupted(project.pytest())
    result.stdout.fnmatch_lines(
        ["*questions-review-bo.csv:2: 'refunds-2': verdict 'no': expected accept, edit, reject.*"]
    )


@pytest.mark.parametrize(
    ("reviews", "line"),
    [
        (
            "",
            "qa.*, and write there:  dataset: {..., reviews: [[]questions-review[*].csv[]]}",
        ),
        (", reviews: ann.csv", "qa.rageval.yaml, and add it to dataset.reviews there"),
    ],
)
def test_a_scenario_that_would_not_read_the_file_is_told_what_to_write(
    project: Project, reviews: str, line: str
) -> None:
    project.file("ann.csv", f"{','.join(ReviewSheet.columns)}\n")
    project.scenario(f"name: qa\ndataset: {{{KEYS}{reviews}}}\nmetrics: [em]\n")
    project.rows([made(2)], "questions.jsonl")
    project.pytest("--rag-label=1").stdout.fnmatch_lines([line])


def test_answers_are_labelled_too_where_the_scenario_says_so(project: Project) -> None:
    """Variants have their questions in common: one sheet for all."""
    text = (
        f"name: qa\ndataset: {{{KEYS}}}\nmetrics: [em]\nhuman: {{of: em, levels: [0, 1]}}\n"
        "variants: {a: {}, b: {top_k: 3}}\n"
    )
    project.file("qa.rageval.yaml", text)
    project.rows([made(2), made(3)], "questions.jsonl")
    project.pytest()
    result = project.pytest("--rag-label=1")
    result.stdout.fnmatch_lines(
        ["qa: 1 of 2 made questions *", "qa::a: 1 of 2 answers *", "qa::b: 1 of 2 answers *"]
    )
    base = project.path / ".rageval" / "qa"
    assert len([*base.glob("reviews/*.html")]) == 1
    assert len([*base.glob("*/labels/*.html")]) == 2


def test_a_rejected_question_is_missing_in_a_comparison_with_an_older_run(project: Project) -> None:
    """As any row that left the data: it is named, and of 11 rows two are too many for a gate."""
    project.scenario(SCENARIO)
    project.rows([made(at) for at in range(2, 23, 2)], "questions.jsonl")
    assert project.pytest("--rag-save=main").ret == pytest.ExitCode.OK
    project.pytest("--rag-label=20")
    compare = ("--rag-compare=main", "--rag-compare-fail=em:0.02")
    hand_in(project, {"refunds-4": {"verdict": "reject"}})
    result = green(project.pytest(*compare))
    result.stdout.fnmatch_lines(["1 sample only in main: refunds-4"])
    hand_in(project, {f"refunds-{at}": {"verdict": "reject"} for at in (4, 6)})
    result = red(project.pytest(*compare))
    result.stdout.fnmatch_lines(["*only 9 of the 11 samples of main have a score in both runs*"])
    assert project.pytest("--rag-save=main").ret == pytest.ExitCode.OK
    assert project.pytest(*compare).ret == pytest.ExitCode.OK


def test_named_questions_are_drawn_also_once_they_were_reviewed(project: Project) -> None:
    project.scenario(SCENARIO)
    project.rows([made(at) for at in range(1, 5)], "questions.jsonl")
    project.pytest("--rag-label=9")
    hand_in(project, {})
    result = project.pytest("--rag-label=9")
    result.stdout.fnmatch_lines(["*people reviewed all that are in the data"])
    result = project.pytest("--rag-label=9", "qa.rageval.yaml::refunds-3")
    result.stdout.fnmatch_lines(["qa: 1 of 4 made questions drawn to review; 4 reviewed before"])
    assert [row["id"] for row in rows_of(sheet(project))] == ["refunds-3"]

"""``--rag-label`` draws answers for people to label: it runs no test and asks nobody."""

from __future__ import annotations

import csv
import tomllib
from pathlib import Path

import pytest
from judged_project import JudgedProject

from tests.plugin.conftest import Project, green, interrupted, wrong_use

ROWS = tomllib.loads(Path(__file__).with_name("label_sheet.toml").read_text("utf-8"))

pytest_plugins = ["judged_project"]

SCENARIO = "name: {0}\nmetrics: [em]\ndataset: [{{id: a, answer: x, references: [x]}}]\n"


def sheets(base: Path) -> list[Path]:
    """Return the tables that were written, oldest first."""
    return sorted(base.glob("*/labels/*.csv"))


@pytest.mark.full
def test_it_runs_no_test_and_asks_nobody(judged: JudgedProject) -> None:
    """Also with xdist's options in addopts, without starting a worker; two draws, two sheets.

    Of two metrics, people label the one that asks a model.
    """
    rows = [{"answer": f"0.{at}", "references": ["0.1"]} for at in range(5)]
    judged.scenario(rows, metrics=["em", "graded"], thresholds={"graded": 0.2})
    judged.project.file("test_it.py", "def test_fails(): assert 0\n")
    judged.pytest("qa.rageval.yaml")
    asked = len(judged.asked)
    judged.project.file("pytest.ini", "[pytest]\naddopts = -n 2 --dist=load --rag-cache=off\n")
    for _ in range(2):
        result = green(judged.pytest("--rag-label=3"))
        assert result.parseoutcomes() == {}
    assert (asked, len(judged.asked)) == (5, 5)
    assert len(judged.project.folders()) == 1
    assert "worker" not in result.stdout.str()
    first, second = sheets(judged.path / ".rageval")
    place = second.relative_to(judged.path)
    result.stdout.fnmatch_lines(
        [
            "qa: 3 of 5 answers drawn for graded; 0 have a label",
            f"run   .rageval/qa/{judged.project.folder().name}",
            "drawn uniformly",
            f"table {place}",
            f"page  {place.with_suffix('.html')}",
            "label the table in a spreadsheet, or the page in a browser and press Download; then:",
            "  pytest qa.rageval.yaml --rag-labels=THE-FILE.csv",
        ]
    )
    for table in (first, second):
        with table.open(encoding="utf-8-sig", newline="") as stream:
            found = list(csv.DictReader(stream))
        assert {row["id"] for row in found} <= {f"s{at}" for at in range(5)}
        assert [(row["metric"], row["label"]) for row in found] == [("graded", "")] * 3


@pytest.mark.full
def test_each_scenario_has_its_sheet_or_none_has(project: Project) -> None:
    """One that never ran keeps the others from being written, and is told what to run.

    A scenario of a test function has one, too; so has one that is named, in another output folder.
    """
    project.file("a.rageval.yaml", SCENARIO.format("one"))
    project.file("b.rageval.yaml", SCENARIO.format("two"))
    project.file("bot.yaml", SCENARIO.format("bot"))
    project.tested_by("rageval.check('x')", of="bot.yaml")
    project.pytest("a.rageval.yaml", "test_bot.py")
    base = project.path / ".rageval"
    result = wrong_use(project.pytest("--rag-label=1"))
    result.stderr.fnmatch_lines(
        [
            "ERROR: --rag-label: b.rageval.yaml: no complete run in .rageval/two to draw from. "
            "Run it first: pytest b.rageval.yaml"
        ]
    )
    assert sheets(base) == []
    result = green(project.pytest("a.rageval.yaml", "test_bot.py", "--rag-label", "1"))
    assert [path.parent.parent.name for path in sheets(base)] == ["bot", "one"]
    base.rename(project.path / "out")
    args = ("--rag-scenario=a.rageval.yaml", "--rag-output=out", "--rag-set=metrics=[em,f1]")
    result = project.pytest(*args, "--rag-label=1")
    result.stderr.fnmatch_lines(
        [
            "ERROR: --rag-label: a.rageval.yaml: 2 metrics: em, f1. Say which of them people are "
            "to label: human: {of: em, levels: [0, 1]}"
        ]
    )
    assert project.pytest(*args[:2], "--rag-label=1", "--rag-strict").ret == pytest.ExitCode.OK
    assert len(sheets(project.path / "out")) == 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--rag-label=0"],
            "--rag-label 0: expected a whole number from 1 on; write --rag-label=*",
        ),
        (["--rag-label"], "--rag-label: expected a whole number from 1 on; write --rag-label=20*"),
        (["--rag-label", "a.rageval.yaml"], "--rag-label a.rageval.yaml: expected a whole number*"),
        (
            ["--rag-label=5", "--rag-strict", "test_it.py"],
            "--rag-label: no scenario was collected. a.rageval.yaml was not selected: *",
        ),
    ],
)
def test_wrong_use_says_what_to_write(project: Project, args: list[str], message: str) -> None:
    """Exit status 4, and nothing runs."""
    project.file("a.rageval.yaml", SCENARIO.format("one"))
    project.file("test_it.py", "def test_it(): pass\n")
    result = wrong_use(project.pytest(*args))
    result.stderr.fnmatch_lines([f"ERROR: {message}"])
    assert project.wrote_nothing


@pytest.mark.full
def test_a_scenario_with_mistakes_ends_it(project: Project) -> None:
    """As always with exit status 2, and without a sheet for the others."""
    project.file("a.rageval.yaml", SCENARIO.format("one"))
    project.pytest()
    project.file("b.rageval.yaml", "name: b\nmetrics: [nosuch]\ndataset: []\n")
    for more in ([], ["--continue-on-collection-errors"]):
        result = interrupted(project.pytest("--rag-label=1", *more))
        result.stdout.fnmatch_lines(["*unknown metric 'nosuch'*"])
    assert sheets(project.path / ".rageval") == []


SAID = "      from all samples, also those that were not selected: labels are to tell of all"
TAGGED = [
    {"id": f"q{at}", "answer": "x", "references": ["x"], "tags": ["a" if at < 2 else "b"]}
    for at in range(4)
]


@pytest.mark.full
@pytest.mark.parametrize(
    ("args", "is_said"),
    ROWS["answers_are_drawn_from_all_samples_and_that_is_said"],
)
def test_answers_are_drawn_from_all_samples_and_that_is_said(
    project: Project, args: list[str], is_said: bool
) -> None:
    """A draw among some of them would correct the mean of all by labels of these."""
    text = "name: qa\nmetrics: [em]\nvariants: {dense: {}, bm25: {}}\ndataset: qa.jsonl\n"
    project.file("qa.rageval.yaml", text)
    project.rows([*TAGGED, {"id": "q4", "skip": "later", "answer": "x", "references": ["x"]}])
    assert project.pytest().ret == pytest.ExitCode.OK
    result = green(project.pytest("--rag-label=4", *args))
    assert any(line.startswith("qa::dense: ") for line in result.outlines)
    assert (SAID in result.stdout.str()) is is_said

"""What a run leaves behind: a folder with its files, and a link to the newest one."""

from __future__ import annotations

import os
import re

import pytest

from pytest_rageval.reports.base import REPORT_REGISTRY
from tests.plugin.conftest import Project, Run, green

ONE = """
    name: qa
    description: one question
    metrics: [em, f1]
    dataset: [{id: right, answer: Paris, references: [Paris], level: easy}]
"""

NOT_OF_EVERY_RUN = {"filled.qrels", "holes.tsv", "ultrarag.json"}
"""Reports that a scenario has to give a reason for; all others that are not asked for are there."""
FILES = {each.name for each in REPORT_REGISTRY if not each.on_request} - NOT_OF_EVERY_RUN


@pytest.mark.usefixtures("steady_clock")
def test_the_folder_holds_every_file(project: Project, run: Run) -> None:
    """[A12] All files, no temporary ones, named after the start in UTC; two runs have two.

    ``20261121T093011-123456`` is in the folder's name and in the files. ``latest`` leads to the
    second run.
    """
    project.scenario(ONE)
    run()
    assert {entry.name for entry in project.folder().iterdir()} == FILES
    found = project.results()["run"]
    name = project.folder().name
    assert re.fullmatch(r"\d{8}T\d{6}-\d{6}", name)
    assert found["id"] == name
    assert found["started_at"].endswith("+00:00")
    digits = re.sub(r"\D", "", found["started_at"])
    assert digits.startswith(name[:8] + name[9:15])
    assert found["started_at"] <= found["finished_at"]
    run()
    base = project.path / ".rageval"
    _, second = project.folders()
    assert (base / "qa" / "latest").resolve() == second
    names = {folder.name for folder in project.folders()}
    assert {entry.name for entry in (base / "qa").iterdir()} == {"latest", *names}
    # Version control and backups pass the folder by: bford.info/cachedir.
    assert "*" in (base / ".gitignore").read_text("utf-8").splitlines()
    tag = (base / "CACHEDIR.TAG").read_text("utf-8")
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_gitignore_of_the_user_is_kept(project: Project) -> None:
    """[A12] Someone may want the runs in version control."""
    project.scenario(ONE)
    project.pytester.mkdir(".rageval").joinpath(".gitignore").write_text("# mine\n", "utf-8")
    project.pytest()
    assert (project.path / ".rageval" / ".gitignore").read_text("utf-8") == "# mine\n"


@pytest.mark.full
def test_the_snapshot_runs_as_the_scenario_did(project: Project) -> None:
    """[A12] Inline rows and defaults included; run again, it gives the same figures."""
    project.scenario(ONE)
    project.pytest()
    snapshot = (project.folder() / "scenario.snapshot.yaml").read_text("utf-8")
    project.scenario(snapshot.replace("name: qa", "name: again"), "again")
    result = project.pytest("--rag-scenario=again.rageval.yaml")
    result.assert_outcomes(passed=1)
    assert project.results("again")["samples"] == project.results()["samples"]


def test_a_folder_that_cannot_be_written_is_said(project: Project) -> None:
    """[A12] A file is in the way: the table says so, the outcomes stand."""
    project.scenario(ONE)
    (project.path / "taken").write_text("a file", "utf-8")
    result = project.pytest("--rag-output=taken")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["run *not written*"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


@pytest.mark.full
def test_later_runs_clean_up_and_say_where_latest_is_a_folder(project: Project) -> None:
    """[R9] The run is written; it was "not written" before."""
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl\n")
    project.rows([{"id": "a", "answer": "x", "references": ["x"]}])
    project.pytest()
    first = project.folder()
    left = first / ".results.json.0123456789abcdef"
    left.touch()
    os.utime(left, (0, 0))
    latest = first.parent / "latest"
    latest.unlink()
    latest.mkdir()
    (latest / "mine.txt").touch()
    result = green(project.pytest())
    result.stdout.fnmatch_lines(
        ["run  .rageval/qa/2*", "latest NOT set to this run: */latest is a folder; move it away"]
    )
    assert not left.exists()
    assert (project.folders()[-1] / "results.json").exists()
    assert (latest / "mine.txt").exists()

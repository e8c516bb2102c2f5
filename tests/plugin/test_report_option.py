"""[E15] Reports that are written on request only: --rag-report, RAGEVAL_REPORT, rageval_reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    metrics: [em]
    dataset:
      - {id: a, answer: Paris, references: [Paris]}
"""
A_REPORT = """
    from pytest_rageval.reports.base import REPORT_REGISTRY

    class Postcard:
        name = "postcard.txt"
        aliases = ("postcard",)
        on_request = True

        def write(self, result, run, folder):
            folder.put(self.name, [f"{result.info.name} {result.weighted_score.mean}"])

    if REPORT_REGISTRY.canonical("postcard") is None:
        REPORT_REGISTRY.add(Postcard())
"""


@pytest.fixture(autouse=True)
def _own_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out again the report that a run in this process adds."""
    from pytest_rageval.reports.base import REPORT_REGISTRY

    own = {entry.name: entry for entry in REPORT_REGISTRY}
    monkeypatch.setattr(REPORT_REGISTRY, "_entries", own)
    monkeypatch.setattr(REPORT_REGISTRY, "_aliases", dict(REPORT_REGISTRY._aliases))


@pytest.fixture
def reporting(project: Project) -> Project:
    """Return a project whose conftest.py adds a report."""
    text = "\n".join(line[4:] for line in A_REPORT.splitlines())
    (project.path / "conftest.py").write_text(text, encoding="utf-8")
    project.scenario(SCENARIO)
    return project


def test_a_report_on_request_is_written_only_then(reporting: Project, run: Run) -> None:
    run()
    assert not list(reporting.path.glob("**/postcard.txt"))
    assert run("--rag-report=postcard").ret == pytest.ExitCode.OK
    assert (reporting.folders()[-1] / "postcard.txt").read_text("utf-8") == "qa 1.0"


@pytest.mark.parametrize("text", ["md, postcard.txt", "postcard,postcard"])
def test_several_names_stand_between_commas(reporting: Project, text: str) -> None:
    """Those that are always written may be named, too."""
    assert reporting.pytest(f"--rag-report={text}").ret == pytest.ExitCode.OK
    assert (reporting.folder() / "postcard.txt").exists()
    assert (reporting.folder() / "summary.md").exists()


def test_the_ini_file_and_the_environment_ask_for_it(
    reporting: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    reporting.pytest("-o", "rageval_reports=postcard")
    assert (reporting.folder() / "postcard.txt").exists()
    monkeypatch.setenv("RAGEVAL_REPORT", "postcard")
    reporting.pytest("-o", "rageval_output=other")
    assert list(reporting.path.glob("other/qa/2*/postcard.txt"))


def test_an_unknown_report_is_wrong_use(reporting: Project) -> None:
    """[E12] With the nearest name, before anything is run."""
    result = reporting.pytest("--rag-report=metadata.jsn")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--rag-report: unknown report 'metadata.jsn'" in result.stderr.str()
    assert "Did you mean 'metadata.json'?" in result.stderr.str()


def test_a_short_name_is_guessed(reporting: Project) -> None:
    """What users type is the short name."""
    result = reporting.pytest("--rag-report=postcrad")
    assert "Did you mean 'postcard'?" in result.stderr.str()

"""E22: a red run ends with how to change the command, and with the place of the page."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run

SCENARIO = "name: qa\ndataset: qa.jsonl\nmetrics: [em]\nthresholds: {em: 0.5}\n"
HINT = "the same command "


@pytest.fixture
def scenario(project: Project) -> Project:
    """Return a project whose scenario has two of three answers wrong."""
    project.file("my bot.yaml", SCENARIO)
    project.rows(
        [{"id": f"q{at}", "answer": text, "references": ["x"]} for at, text in enumerate("xyz")]
    )
    return project


def last_lines(result: pytest.RunResult) -> list[str]:
    """Return the lines about what is next, without the words before them."""
    lines = [line for line in result.outlines if line.startswith(("next  ", "page  "))]
    after = [line for line in result.outlines if line.startswith(("FAILED", "ERROR", *lines))]
    assert after[len(after) - len(lines) :] == lines  # below pytest's own short summary
    return [line[6:] for line in lines]


@pytest.mark.full
def test_the_command_runs_what_failed(scenario: Project, run: Run, plain: Run) -> None:
    """[E22] Changed as the line says, it runs the two samples."""
    result = run("my bot.yaml", "--rag-strict")
    hint, page = last_lines(result)
    assert hint == HINT + "with --lf, without --rag-strict"
    assert page == HINT + "with --rag-report=html"
    again = plain("my bot.yaml", "--lf", "--rag-report=html")
    again.assert_outcomes(failed=2)
    [page] = last_lines(again)  # --lf is there
    assert page == f".rageval/qa/{scenario.folders()[-1].name}/report.html"
    assert (scenario.path / page).is_file()
    assert last_lines(plain("my bot.yaml", "-qq")) == []
    # The web app and the tools for agents say it in their own way.
    assert last_lines(plain("my bot.yaml", "-p", "pytest_rageval.plugin.child")) == []
    assert last_lines(plain("my bot.yaml", "-x"))[0] == HINT + "with --ff"
    # Without pytest's cache there is no --lf.
    assert len(last_lines(plain("my bot.yaml", "-p", "no:cacheprovider"))) == 1


@pytest.mark.full
def test_a_green_run_ends_as_before(scenario: Project, plain: Run) -> None:
    """[E22] A test beside the scenario that fails is no failure of the scenario."""
    scenario.rows([{"id": "a", "answer": "x", "references": ["x"]}])
    scenario.file("test_other.py", "def test_it():\n    assert False\n")
    assert last_lines(plain("my bot.yaml")) == []
    assert last_lines(plain("my bot.yaml", "test_other.py")) == []

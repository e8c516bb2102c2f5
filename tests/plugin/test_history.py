"""E15: the history of a scenario: kept by every run, listed by --rag-history."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

SCENARIO = """
    name: qa
    metrics: [em, acc]
    gates: {em: 0.5}
    dataset: qa.jsonl
"""
RIGHT = {"answer": "Paris", "references": ["Paris"]}
WRONG = {"answer": "in Paris", "references": ["Paris"]}  # em 0, acc 1


@pytest.fixture
def scenario(project: Project) -> Project:
    """Return a project whose scenario has two rows, the second of which em finds wrong."""
    project.scenario(SCENARIO)
    project.rows([RIGHT, WRONG])
    return project


def kept(project: Project) -> list[tuple[str, float]]:
    """Return the runs in the database, as (folder, em)."""
    with closing(sqlite3.connect(project.path / ".rageval" / "history.sqlite")) as database:
        return database.execute(
            "SELECT folder, weighted_mean FROM metrics WHERE name = 'em' ORDER BY folder"
        ).fetchall()


# What a run leaves


def test_every_run_is_added(scenario: Project, run: Run) -> None:
    """By the controller alone; what is there is what results.json has."""
    run()
    scenario.rows([RIGHT, RIGHT])
    run()
    first, second = (f"qa/{folder.name}" for folder in scenario.folders())
    assert kept(scenario) == [(first, 0.5), (second, 1.0)]
    assert {entry.name for entry in (scenario.path / ".rageval").iterdir()} == {
        ".gitignore",
        "CACHEDIR.TAG",
        "history.sqlite",
        "qa",
    }


def test_a_history_that_cannot_be_kept_is_a_remark(scenario: Project, run: Run) -> None:
    """The run is as green as it was, its files are there, and the file is left alone."""
    path = scenario.path / ".rageval" / "history.sqlite"
    path.parent.mkdir()
    content = b"notes of mine\n" * 300
    path.write_bytes(content)
    result = run()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["gate em.mean *", "run  *", "not in history.sqlite: *is damaged, or no history*"]
    )
    assert scenario.results()["weighted_score"]["mean"] == 0.75
    assert path.read_bytes() == content


def test_a_locked_history_is_picked_up_later(
    scenario: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By --rag-history, or by whatever needs the trend."""
    scenario.pytest()
    path = scenario.path / ".rageval" / "history.sqlite"
    monkeypatch.setattr("pytest_rageval.reports.history.record.__kwdefaults__", {"timeout_s": 0.05})
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        result = scenario.pytest()
    result.stdout.fnmatch_lines(["not in history.sqlite: *another process keeps it locked*"])
    assert result.ret == pytest.ExitCode.OK
    assert len(kept(scenario)) == 1
    scenario.pytest("--rag-history").stdout.fnmatch_lines(["qa: 2 runs"])
    assert len(kept(scenario)) == 2


def test_without_a_scenario_no_database_is_loaded(project: Project) -> None:
    """[E13] Not even its package; nor is it by a run that only collects."""
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{answer: a, references: [a]}]")
    project.conftest(
        """
        import sys

        def pytest_unconfigure(config):
            print("loaded:", "sqlite3" in sys.modules, file=sys.stderr)
        """
    )
    result = project.pytester.runpytest_subprocess("--collect-only", "-p", "no:langsmith_plugin")
    result.stderr.fnmatch_lines(["loaded: False"])


# --rag-history


def test_it_lists_the_runs_and_runs_no_tests(
    scenario: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """em 1/2, then one row alone, then 0/2; the gate wants 0.5. Partial runs are no trend."""
    scenario.pytest()
    scenario.pytest("qa.rageval.yaml::sample-1")
    monkeypatch.setenv("GITHUB_SHA", "c0ffee" + "0" * 34)
    scenario.rows([WRONG, WRONG])
    scenario.pytest("--rag-gate=acc=0.5")
    result = scenario.pytest("--rag-history")
    assert result.ret == pytest.ExitCode.OK
    ids = [folder.name for folder in scenario.folders()]
    result.stdout.fnmatch_lines(
        [
            "qa: 3 runs",
            "run * started (UTC) * verdict * gates * passed * weighted_score * em *acc * commit",
            f"{ids[0]} *-*-* *:*  passed   *2 passed *2/2 *0.7500 *0.5000  1.0000",
            f"{ids[1]} * undecided  2 of 2 undecided *1/2 *partial: 1 of 2 samples",
            f"{ids[2]} * FAILED   *1 of 3 FAILED *0.0000  1.0000  c0ffee00  overridden: gates.acc",
            "",
            "weighted_score  █▁  0.5000..0.7500  last -0.2500",
            "em              █▁  0.0000..0.5000  last -0.5000",
            "acc             ▄▄  1.0000..1.0000  last +0.0000",
        ]
    )
    assert "test session starts" not in result.stdout.str()


@pytest.mark.parametrize("place", ["option", "ini"])
def test_it_looks_where_the_runs_are(scenario: Project, place: str) -> None:
    """Beside them the history lies; a name that no run there has is wrong use."""
    if place == "ini":
        scenario.file("pytest.ini", "[pytest]\nrageval_output = elsewhere\n")
    args = ["--rag-output=elsewhere"] if place == "option" else []
    scenario.pytest(*args)
    assert (scenario.path / "elsewhere" / "history.sqlite").is_file()
    assert scenario.wrote_nothing
    scenario.pytest("--rag-history", *args).stdout.fnmatch_lines(["qa: 1 run"])
    result = scenario.pytest("--rag-history=qb", *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --rag-history: unknown scenario 'qb'. *elsewhere"])
    assert "Traceback" not in result.stderr.str()

"""E15: the history of a scenario: kept by every run, listed by --rag-history."""

from __future__ import annotations

import csv

import pytest

from tests.plugin.conftest import Project, Run, green, wrong_use

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


def kept(project: Project) -> list[tuple[str, str, str]]:
    """Return folder, em and its definition of the runs in the file."""
    with (project.path / ".rageval" / "history.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "em"]
    return [(row["folder"], row["weighted_mean"], row["definition"]) for row in rows]


pytestmark = pytest.mark.usefixtures("steady_clock")

# What a run leaves


@pytest.mark.full
def test_every_run_is_added(scenario: Project, run: Run) -> None:
    """By the controller alone; what is there is what results.json has."""
    run()
    scenario.rows([RIGHT, RIGHT])
    run()
    first, second = (f"qa/{folder.name}" for folder in scenario.folders())
    em = "em v1 (tokenizer=auto)"
    assert kept(scenario) == [(first, "0.5", em), (second, "1.0", em)]
    assert {entry.name for entry in (scenario.path / ".rageval").iterdir()} == {
        ".gitignore",
        "CACHEDIR.TAG",
        "history.csv",
        "qa",
    }


# --rag-history


@pytest.mark.full
def test_it_lists_the_runs_and_runs_no_tests(
    scenario: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """em 1/2, then one row alone, then 0/2; the gate wants 0.5. Partial runs are no trend."""
    scenario.pytest()
    scenario.pytest("qa.rageval.yaml::sample-1")
    monkeypatch.setenv("GITHUB_SHA", "c0ffee" + "0" * 34)
    scenario.rows([WRONG, WRONG])
    scenario.pytest("--rag-gate=acc=0.5")
    result = green(scenario.pytest("--rag-history"))
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


@pytest.mark.full
@pytest.mark.parametrize("place", ["option", "ini"])
def test_it_looks_where_the_runs_are(scenario: Project, place: str) -> None:
    """Beside them the history lies; a name that no run there has is wrong use."""
    if place == "ini":
        scenario.file("pytest.ini", "[pytest]\nrageval_output = elsewhere\n")
    args = ["--rag-output=elsewhere"] if place == "option" else []
    scenario.pytest(*args)
    assert (scenario.path / "elsewhere" / "history.csv").is_file()
    assert scenario.wrote_nothing
    scenario.pytest("--rag-history", *args).stdout.fnmatch_lines(["qa: 1 run"])
    result = wrong_use(scenario.pytest("--rag-history=qb", *args))
    result.stderr.fnmatch_lines(["ERROR: --rag-history: unknown scenario 'qb'. *elsewhere"])
    assert "Traceback" not in result.stderr.str()


@pytest.mark.full
@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_clock_that_was_set_back_is_said(scenario: Project, run: Run, *, links: bool) -> None:
    """Runs stand in the order of their clocks: the last line is not the run that was made last."""
    run()
    first = scenario.folder().name
    run()
    latest = scenario.folders()[0].with_name("latest")
    results = latest.resolve() / "results.json"
    if not links:
        latest.unlink()
        latest.write_text(results.parent.name + "\n")
    scenario.pytest("--rag-history=qa").stdout.no_fnmatch_line("*a clock that was set back")
    results.write_text(results.read_text("utf-8").replace('"started_at": "20', '"started_at": "19'))
    scenario.pytest("--rag-history=qa").stdout.fnmatch_lines(
        [
            "20* 19* passed *",
            f"{first} *20* passed *",
            f"* was written last, and began before {first} by its clock: *clock that was set back",
        ]
    )


def test_a_run_that_cannot_be_read_is_named(scenario: Project, run: Run) -> None:
    """The trend would be drawn over the gap."""
    run()
    run()
    first, second = scenario.folders()
    path = first / "results.json"
    path.write_bytes(path.read_bytes()[:300])
    shown = scenario.pytest("--rag-history")
    shown.stdout.fnmatch_lines(
        [
            "qa: 1 run",
            f"left out: qa/{first.name}: results.json is cut off, or of another version; "
            "delete such a folder, or move it away",
        ]
    )
    assert second.name in shown.stdout.str()

"""E15: the history of a scenario: kept by every run, listed by --rag-history."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_rageval.model import Counts, MetricSummary, WeightedSummary
from pytest_rageval.plugin.history import history_lines, sparkline
from pytest_rageval.plugin.names import cells
from pytest_rageval.reports.history import trend_of
from pytest_rageval.reports.run_points import RunPoint

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


def test_the_trend_is_there_for_a_report(scenario: Project, run: Run) -> None:
    run()
    (point,) = trend_of(scenario.path / ".rageval", "qa")
    results = scenario.results()
    assert point.run_id == results["run"]["id"]
    assert point.started_at == results["run"]["started_at"]
    assert point.weighted_score.mean == results["weighted_score"]["mean"] == 0.75
    assert {name: metric.weighted_mean for name, metric in point.metrics.items()} == {
        "em": 0.5,
        "acc": 1.0,
    }


def test_each_output_folder_has_its_own(project: Project) -> None:
    """It lies beside the runs that it is of."""
    project.rows([RIGHT, WRONG])
    project.scenario(SCENARIO + "    output_dir: runs/deep\n")
    project.pytest()
    project.pytest("--rag-output=elsewhere")
    assert len(trend_of(project.path / "runs" / "deep", "qa")) == 1
    assert (project.path / "runs" / "deep" / "history.sqlite").is_file()
    assert (project.path / "elsewhere" / "history.sqlite").is_file()
    assert not (project.path / ".rageval").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"notes of mine\n" * 300, "is damaged, or no history"), (None, "unable to open")],
)
def test_a_history_that_cannot_be_kept_is_a_remark(
    scenario: Project, run: Run, content: bytes | None, said: str
) -> None:
    """The run is as green as it was, its files are there, and the file is left alone."""
    path = scenario.path / ".rageval" / "history.sqlite"
    path.parent.mkdir()
    path.mkdir() if content is None else path.write_bytes(content)
    result = run()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["gate em.mean *", "run  *", f"not in history.sqlite: *{said}*"])
    assert scenario.results()["weighted_score"]["mean"] == 0.75
    assert path.is_dir() if content is None else path.read_bytes() == content


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
    result = project.pytester.runpytest_subprocess("--collect-only")
    result.stderr.fnmatch_lines(["loaded: False"])


# --rag-history


def test_it_lists_the_runs_and_draws_the_trend(
    scenario: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """em 1/2, then 2/2, then 0/2; the gate wants 0.5."""
    for rows in ([RIGHT, WRONG], [RIGHT, RIGHT], [WRONG, WRONG]):
        scenario.rows(rows)
        scenario.pytest()
    monkeypatch.setenv("GITHUB_SHA", "c0ffee" + "0" * 34)
    scenario.rows([RIGHT, RIGHT])
    scenario.pytest("--rag-metric-weight=acc=0", "--rag-metric-weight=em=1")
    result = scenario.pytest("--rag-history")
    assert result.ret == pytest.ExitCode.OK
    ids = [folder.name for folder in scenario.folders()]
    result.stdout.fnmatch_lines(
        [
            "qa: 4 runs",
            "run * started (UTC) * verdict * gates * passed * weighted_score * em *acc * commit",
            f"{ids[0]} *-*-* *:*  passed   2 passed *2/2 *0.7500 *0.5000  1.0000",
            f"{ids[1]} *-*-* *:*  passed   2 passed *2/2 *1.0000 *1.0000  1.0000",
            f"{ids[2]} *-*-* *:*  FAILED   1 of 2 FAILED *2/2 *0.5000 *0.0000  1.0000",
            f"{ids[3]} *1.0000  1.0000  c0ffee00  overridden: metric_weights.acc, *.em",
            "",
            "weighted_score  ▅█▁█  0.5000..1.0000  last +0.5000",
            "em              ▅█▁█  0.0000..1.0000  last +1.0000",
            "acc             ▄▄▄▄  1.0000..1.0000  last +0.0000",
        ]
    )


def test_a_partial_run_is_listed_and_no_part_of_the_trend(scenario: Project) -> None:
    scenario.pytest()
    scenario.pytest("qa.rageval.yaml::sample-1")
    scenario.pytest()
    result = scenario.pytest("--rag-history", "qa")
    result.stdout.fnmatch_lines(
        [
            "* passed     2 passed *",
            "* undecided  2 of 2 undecided *1/2 *1.0000 *partial: 1 of 2 samples",
            "* passed     2 passed *",
            "weighted_score  ▄▄  0.7500..0.7500  last +0.0000",
        ]
    )


def test_folders_come_in_and_go(scenario: Project) -> None:
    """One that was copied from another machine, one that was deleted."""
    scenario.pytest()
    scenario.pytest()
    first, second = scenario.folders()
    shutil.copytree(first, first.with_name("20260101T000000-000000"))
    shutil.rmtree(second)
    result = scenario.pytest("--rag-history")
    listed = re.findall(r"^2026\S+", result.stdout.str(), re.MULTILINE)
    assert sorted(listed) == ["20260101T000000-000000", first.name]
    assert [folder for folder, _ in kept(scenario)] == [f"qa/{name}" for name in sorted(listed)]


def test_the_database_can_be_deleted(scenario: Project) -> None:
    scenario.pytest()
    scenario.pytest()
    before = scenario.pytest("--rag-history").outlines
    (scenario.path / ".rageval" / "history.sqlite").unlink()
    assert scenario.pytest("--rag-history").outlines == before
    assert len(kept(scenario)) == 2


def test_a_damaged_database_is_made_anew(scenario: Project) -> None:
    scenario.pytest()
    scenario.pytest()
    before = scenario.pytest("--rag-history").outlines
    path = scenario.path / ".rageval" / "history.sqlite"
    path.write_bytes(path.read_bytes()[:5000])
    result = scenario.pytest("--rag-history")
    result.stdout.fnmatch_lines(["qa: 2 runs", "*history.sqlite: was damaged, and was made anew *"])
    assert scenario.pytest("--rag-history").outlines == before
    assert len(kept(scenario)) == 2


def test_a_file_that_is_no_database_is_named_and_the_runs_listed(scenario: Project) -> None:
    scenario.pytest()
    path = scenario.path / ".rageval" / "history.sqlite"
    path.write_bytes(b"notes of mine\n" * 300)
    result = scenario.pytest("--rag-history")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["qa: 1 run", "*history.sqlite: is damaged*"])
    assert path.read_bytes().startswith(b"notes of mine")


def test_one_scenario_can_be_named(scenario: Project) -> None:
    """All its runs are listed then; without a name the ten newest of each."""
    scenario.scenario(SCENARIO.replace("name: qa", "name: 双源CT"), "other")
    for _ in range(2):
        scenario.pytest()
    (folder, _) = scenario.folders()
    for number in range(10):
        shutil.copytree(folder, folder.with_name(f"2026010{number}T000000-000000"))
    result = scenario.pytest("--rag-history")
    result.stdout.fnmatch_lines(["qa: 12 runs, the newest 10 of them", "双源CT: 2 runs"])
    result = scenario.pytest("--rag-history=qa")
    result.stdout.fnmatch_lines(["qa: 12 runs"])
    result.stdout.no_fnmatch_line("双源CT*")


def test_a_name_that_no_run_has_is_wrong_use(scenario: Project) -> None:
    """[E12] Exit status 4, with the nearest guess and what there is."""
    scenario.scenario(SCENARIO.replace("name: qa", "name: support-bot"), "other")
    scenario.pytest()
    result = scenario.pytest("--rag-history=suport-bot")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: --rag-history: unknown scenario 'suport-bot'. Did you mean 'support-bot'? "
            "Known: qa, support-bot. Runs are in *.rageval"
        ]
    )
    assert "Traceback" not in result.stderr.str()


def test_where_nothing_ran_it_says_so(project: Project) -> None:
    """And makes no folder; a name is wrong use there, too."""
    result = project.pytest("--rag-history")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["no runs in *.rageval (--rag-output names another folder)"])
    assert project.pytest("--rag-history=qa").ret == pytest.ExitCode.USAGE_ERROR
    assert project.wrote_nothing


@pytest.mark.parametrize("place", ["option", "ini"])
def test_it_looks_where_the_runs_are(scenario: Project, place: str) -> None:
    if place == "ini":
        scenario.file("pytest.ini", "[pytest]\nrageval_output = elsewhere\n")
    args = ["--rag-output=elsewhere"] if place == "option" else []
    scenario.pytest(*args)
    scenario.pytest("--rag-history", *args).stdout.fnmatch_lines(["qa: 1 run"])


def test_no_tests_are_run(scenario: Project, plain: Run) -> None:
    """Nor collected, nor are workers started."""
    plain()
    before = scenario.folders()
    result = plain("--rag-history")
    assert result.ret == pytest.ExitCode.OK
    assert scenario.folders() == before
    assert "test session starts" not in result.stdout.str()


def test_any_terminal_can_show_it(scenario: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that knows ASCII only gets other characters to draw with, and names in escapes."""
    scenario.scenario(SCENARIO.replace("name: qa", "name: 双源CT"))
    for _ in range(2):
        scenario.pytest()
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = scenario.pytester.runpytest_subprocess("--rag-history")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines([r"\u53cc\u6e90CT: 2 runs", "weighted_score  ::  *"])


# The lines


def point(at: int, **means: float | None) -> RunPoint:
    """Return a run with the weighted score and metrics that are named."""
    metrics = {
        name: MetricSummary(mean, mean, 1.0, 1, 0, None, None, None) for name, mean in means.items()
    }
    score = next(iter(means.values()))
    return RunPoint(
        f"s/r{at}", f"r{at}", "s", f"2026-11-{at:02}T09:30:11.5+00:00", True,
        Counts(1, 1, 1, 1), WeightedSummary(score, 1, 0, None, None), metrics,
    )  # fmt: skip


def offset(line: str, text: str) -> int:
    """Return the terminal cell at which ``text`` begins."""
    return cells(line[: line.index(text)])


def test_columns_align_with_chinese_names() -> None:
    """[A11] Such a character takes two cells; a metric that a run lacks is a dash."""
    lines = list(history_lines([point(1, em=0.5), point(2, 准确率=0.25, em=1.0)]))
    head, first, second = lines[2:5]
    assert offset(head, "em ") == offset(second, "1.0000") == first.rindex("0.5000")
    assert offset(head, "准确率") == second.rindex("0.2500") == first.rindex("-")
    trends = lines[6:9]
    assert [line.split()[0] for line in trends] == ["weighted_score", "em", "准确率"]
    # The blocks begin two cells behind the longest name, weighted_score with 14; ▁ is em's 0.5.
    assert offset(trends[0], "█") == offset(trends[1], "▁") == 16
    assert offset(trends[2], "▄") == 17


def test_a_name_of_two_lines_is_one_line() -> None:
    lines = list(history_lines([point(1, **{"a\n::b\x1b[31m": 0.5})]))
    assert "\x1b" not in "".join(lines)
    assert all("\n" not in line for line in lines)


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([0.0, 1.0], "▁█"),
        ([0.7, 0.71, 0.72], "▁▅█"),
        ([0.5], "▄"),
        ([0.5, 0.5], "▄▄"),
        ([None, 0.5, None, 1.0], " ▁ █"),
        ([None], " "),
        ([], ""),
        ([-1.7e308, 1.7e308], "▄▄"),
    ],
)
def test_a_sparkline_has_a_character_for_each_value(values: list[float | None], drawn: str) -> None:
    """From the lowest to the highest of them; a missing one is a gap, and never the lowest."""
    assert sparkline(values) == drawn


def test_a_trend_of_many_runs_is_cut_to_the_newest() -> None:
    """Forty fit beside the figures; the range is of what is drawn."""
    lines = list(history_lines([point(at, em=at / 100) for at in range(1, 61)]))
    (line,) = [line for line in lines if line.startswith("em ")]
    assert len(re.findall("[▁-█]", line)) == 40
    assert "0.2100..0.6000" in line


def test_a_path_is_a_part_of_the_messages(project: Project) -> None:
    """So that one sees which folder was looked into."""
    result = project.pytest("--rag-history", "--rag-output=no/such")
    assert str(Path("no", "such")) in result.stdout.str()

"""E22: ``--rag-dry-run`` says what a run would ask and decide; it never looks like a verdict."""

from __future__ import annotations

import os

import pytest
from judged_project import JudgedProject

import pytest_rageval.engine.scoring.forecast
import pytest_rageval.plugin.dry_run  # noqa: F401
from tests.plugin.conftest import Project, Run, green, interrupted, wrong_use

RUBRIC = {"rubric": {"prompt": "Score it. {query} {context} The score is: {answer}"}}
pytest_plugins = ["judged_project"]

ROWS = [{"question": "is it?", "contexts": ["it is"], "answer": text} for text in ("1", "2", "2")]


@pytest.mark.full
def test_what_it_says_is_what_a_run_then_asks(
    judged: JudgedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E22] Three samples with two questions among them are two calls, as the server counts."""
    price = {"price": {"input": 1_000_000, "output": 0}, "max_tokens": 100}
    judged.scenario(ROWS, metrics=[RUBRIC], judge=price, gates={"weighted_score": 0.1})
    judged.path.joinpath("test_other.py").write_text("def test_it():\n    raise SystemExit\n")
    result = judged.pytest("--rag-dry-run", "--junitxml=j.xml", "-n", "2", "--rag-budget=0.1")
    assert result.ret == pytest.ExitCode.OK
    assert judged.asked == []
    assert judged.project.wrote_nothing
    assert not judged.path.joinpath("j.xml").exists()
    assert result.parseoutcomes().keys() <= {"no", "deselected"}
    result.stdout.fnmatch_lines(
        [
            "*rageval: qa, dry run*",
            "samples   3 of 3 would run",
            "judge     m: about 2 calls, 1 answer in the cache, "
            "about * tokens of prompts and 20 to 200 of replies, * USD",
            "gates     would be decided: weighted_score, unscored",
            "--rag-budget 0.1 would stop this run: it costs * USD",
            "DRY RUN: nothing was asked, scored or judged. A run: 1 scenario, 3 samples, *",
            "*no tests ran in*",
        ]
    )
    monkeypatch.delenv("JUDGE_KEY")
    without = green(judged.pytest("--rag-dry-run"))
    without.stdout.fnmatch_lines(
        [
            "judge     m: about 2 calls*",
            "needs     judge.*: the environment variable JUDGE_KEY is not*",
        ]
    )
    monkeypatch.setenv("JUDGE_KEY", "sk-test-0123456789")
    judged.pytest()
    assert len(judged.asked) == 2
    again = judged.pytest("--rag-dry-run", "-k", "s0", "-q")
    again.stdout.fnmatch_lines(
        [
            "samples   1 of 3 would run",
            "judge     m: 0 calls, 1 answer in the cache, 0 tokens, 0 USD",
            "gates     not decided (1 of 3 samples): weighted_score, unscored",
        ]
    )
    assert len(judged.asked) == 2


@pytest.mark.full
def test_it_chooses_as_the_run_would(project: Project, plain: Run) -> None:
    """[E22] Options that ask for quality are no usage error; the gate over variants needs all."""
    project.rows(
        [{"id": name, "answer": "x", "references": ["x"], "topic": name} for name in "abcd"]
        + [{"id": "e", "answer": "x", "references": ["x"], "skip": "not yet", "topic": "a"}]
    )
    project.scenario(
        "name: qa\ndataset: qa.jsonl\nmetrics: [em]\ngates: {em: 0.1}\n"
        "variants: {one: {}, two: {metrics: [em, f1]}}\nbest: {of: em, at_least: one}\n"
    )
    whole = green(plain("--rag-dry-run", "--rag-fail-under", "0.9", "--rag-save", "main"))
    whole.stdout.fnmatch_lines(
        [
            "*rageval: qa::two, dry run*",
            "samples   4 of 5 would run, 1 skipped",
            "asks      nobody",
            "gate best of qa: would be decided",
        ]
    )
    gates = ("qa.rageval.yaml::two::gate:em.mean", "qa.rageval.yaml::gate:best")
    without = plain("--rag-dry-run", *(f"--deselect={one}" for one in gates))
    without.stdout.fnmatch_lines(
        [
            "*rageval: qa::two, dry run*",
            "gates     deselected, not decided: em.mean",
            "gates     would be decided: unscored",
            "gate best of qa: deselected, not decided",
        ]
    )
    part = plain(
        "--rag-dry-run", "--rag-variant=two", "--rag-where=topic=a", "--rag-limit=3", "--rag-strict"
    )
    assert part.ret == pytest.ExitCode.OK
    part.stdout.fnmatch_lines(
        [
            "samples   1 of 5 would run",
            "gates     would fail, being undecided (strict) (1 of 5 samples): *",
            "gate best of qa: would fail, being undecided (strict)",
            "DRY RUN: nothing was asked*A run: 1 variant, 1 sample",
        ]
    )
    assert project.wrote_nothing


@pytest.mark.full
def test_a_scenario_that_cannot_run_stays_red(project: Project, plain: Run) -> None:
    """[E22] And one that is not there is no green run."""
    project.scenario("name: qa\ndataset: none.jsonl\nmetrics: [em]\n")
    result = interrupted(plain("--rag-dry-run", "--continue-on-collection-errors"))
    result.stdout.fnmatch_lines(["DRY RUN: nothing was asked, scored or judged: see the errors*"])
    project.rows([{"id": "a", "answer": "x", "references": ["x"]}])
    project.scenario("name: qa\ndataset: qa.jsonl\nmetrics: [em]\n")
    assert plain("--rag-dry-run", "--rag-compare=main").ret == pytest.ExitCode.USAGE_ERROR
    first = plain(
        "--rag-dry-run", "--rag-compare=main", "--rag-save=main", "--rag-compare-fail=em:0.1"
    )
    first.stdout.fnmatch_lines(["gates     not decided, there is no saved run yet: compare_fail*"])
    project.file("test_other.py", "def test_it():\n    assert True\n")
    nothing = plain("--rag-dry-run", "--rag-strict", "-k", "test_it")
    assert nothing.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    nothing.stdout.fnmatch_lines(["DRY RUN: *no case of a scenario is selected.*"])


def test_neither_the_target_nor_what_it_needs_is_started(project: Project, plain: Run) -> None:
    """[E22] Its module is imported, as in any collection; its function is not called."""
    project.file("app.py", "def answer(question):\n    open('asked.txt', 'w').close()\n")
    project.conftest(
        "def pytest_terminal_summary(terminalreporter, config):\n"
        "    found = config.pluginmanager.has_plugin('rageval-look-ahead')\n"
        "    terminalreporter.write_line(f'looks ahead: {found}')\n"
    )
    project.rows([{"question": "is it?", "references": ["x"]}])
    project.scenario("name: qa\ndataset: qa.jsonl\nmetrics: [em]\ntarget: {use: 'app:answer'}\n")
    result = plain("--rag-dry-run")
    result.stdout.fnmatch_lines_random(["target    app:answer: 1 question", "looks ahead: False"])
    assert not (project.path / "asked.txt").exists()


@pytest.mark.parametrize("place", ["pytest.ini", "PYTEST_ADDOPTS"])
def test_left_over_it_is_no_green_run(
    project: Project, plain: Run, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """[E22] From a file or a variable, no run of CI would ever judge anything."""
    project.rows([{"answer": "x", "references": ["x"]}])
    project.scenario("name: qa\ndataset: qa.jsonl\nmetrics: [em]\n")
    if place == "pytest.ini":
        project.file("pytest.ini", "[pytest]\naddopts = --rag-dry-run -q\n")
    else:
        monkeypatch.setenv(place, f"{os.environ[place]} --rag-dry-run")
    result = wrong_use(plain())
    result.stderr.fnmatch_lines([f"ERROR: --rag-dry-run: found in *{place}: every run would *"])
    assert plain("--rag-dry-run").ret == pytest.ExitCode.OK

"""Quality was asked for, and no scenario was there to judge: wrong use, never green."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, red, wrong_use


@pytest.fixture(autouse=True)
def _plain_test(project: Project) -> None:
    project.file("test_plain.py", "def test_plain():\n    pass\n")


def scenario(project: Project) -> None:
    project.file("hidden/.keep", "")
    project.scenario(
        "name: qa\nmetrics: [em]\ndataset: [{id: a, answer: x, references: [x]}]\n", "hidden/qa"
    )


def test_a_scenario_whose_cases_are_deselected_judges_nothing(project: Project) -> None:
    """[G5] -k leaves the plain test alone."""
    scenario(project)
    assert project.pytest("-k", "plain", "--rag-gate=em=0").ret == pytest.ExitCode.USAGE_ERROR


def test_what_is_set_for_all_runs_is_no_question(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[G5] In addopts, an ini value, a variable: a project may be strict, and run other tests."""
    options = "--rag-strict --rag-fail-under=0.5"
    project.file("pytest.ini", f"[pytest]\naddopts = {options}\nrageval_strict = true\n")
    monkeypatch.setenv("RAGEVAL_FAIL_UNDER", "0.5")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--rag-gate=f1=0.5 -p no:hypothesispytest")
    assert project.pytest().ret == pytest.ExitCode.OK
    assert project.pytest("--collect-only", "--rag-strict").ret == pytest.ExitCode.OK
    project.file("args.txt", "--rag-strict\n")
    monkeypatch.setenv("PYTEST_ADDOPTS", "@args.txt -p no:hypothesispytest")
    assert project.pytest().ret == pytest.ExitCode.OK


def test_a_file_of_arguments_is_the_command_line(project: Project, run: Run) -> None:
    """[G5] As for the commands."""
    project.file("args.txt", "--rag-strict\n--rag-fail-under=0.9\n")
    result = wrong_use(run("@args.txt", "test_plain.py"))
    result.stdout.fnmatch_lines(["ERROR: --rag-fail-under, --rag-strict: no case of a scenario*"])


def test_a_test_function_over_a_scenario_is_one(project: Project) -> None:
    """[G5] Its gates judge."""
    project.file("eval.yaml", "name: qa\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
    project.tested_by("rageval.check('x')", of="eval.yaml")
    assert project.pytest("--rag-fail-under=0.5").ret == pytest.ExitCode.OK


@pytest.mark.full
def test_the_end_says_which_values_were_overridden_and_from_where(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[G10] A limit from the environment makes a part of the run."""
    rows = "".join(f"  - {{id: s{at}, answer: x, references: [x]}}\n" for at in range(4))
    project.scenario(f"name: qa\nmetrics: [em]\ngates: {{em: 0.5}}\ndataset:\n{rows}")
    monkeypatch.setenv("RAGEVAL_LIMIT", "1")
    result = project.pytest("--rag-gate=em=0.4")
    result.stdout.fnmatch_lines(
        [
            "partial run: 1 of 4 samples",
            "gate em.mean *skipped 1 of 4 samples ran, so far 1.0000",
            "overridden: gates.em (--rag-gate), dataset.limit (RAGEVAL_LIMIT)",
        ]
    )
    assert project.pytest("--rag-strict").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_a_run_that_only_sets_up_judges_nothing(project: Project, option: str) -> None:
    """[G5] Quality was asked for, and no case ran."""
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
    result = wrong_use(project.pytest("qa.rageval.yaml", option, "--rag-fail-under=0.9"))
    said = f"so nothing was judged. {option} runs none: leave it out"
    result.stdout.fnmatch_lines([f"ERROR: --rag-fail-under: no case of a scenario ran, {said}"])


@pytest.mark.full
def test_a_scenario_none_of_whose_cases_is_selected_is_named(project: Project, run: Run) -> None:
    """[G5, G12] Strict, its gates fail; the other scenario alone would be green."""
    for name, answer in (("a", "x"), ("b", "wrong")):
        project.scenario(
            f"name: {name}\nmetrics: [em]\ngates: {{em: 0.5}}\n"
            f"dataset: [{{id: {name}-1, answer: {answer}, references: [x]}}]\n",
            name,
        )
    result = green(run("-k", "a-1"))
    result.stdout.fnmatch_lines(["NOT DECIDED: b, none of its 1 cases was selected"])
    result = red(run("-k", "a-1", "--rag-strict"))
    result.stdout.fnmatch_lines(["FAILED b.rageval.yaml::gate:em.mean*0 of 1 samples ran*"])


@pytest.mark.parametrize("name", ["rageval_strict", "rageval_fast", "rageval_github"])
def test_an_ini_value_that_is_neither_true_nor_false_is_wrong_use(
    project: Project, name: str
) -> None:
    """V8: without a traceback, before anything runs."""
    project.pytester.makeini(f"[pytest]\n{name} = maybe")
    result = wrong_use(project.pytest())
    result.stderr.fnmatch_lines([f"*{name}: expected true (1, *) or false (0, *), found *maybe*"])
    assert "Traceback" not in result.stderr.str()

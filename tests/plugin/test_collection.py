"""Scenario files are collected like test files, by the patterns of ``rageval_files``."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, red

ONE = """
    name: NAME
    metrics: [em]
    dataset: [{id: right, answer: Paris, references: [Paris]}]
"""


def _collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_both_suffixes_are_collected_at_any_depth(project: Project) -> None:
    """[A1] ``*.rageval.yaml`` and ``*.rageval.yml``; other YAML files are not scenarios."""
    project.scenario(ONE, "first")
    project.pytester.makefile(".rageval.yml", second=ONE.replace("name: ", "name: 2-"))
    project.pytester.makefile(".yaml", other=ONE)
    deep = project.pytester.mkdir("deep")
    (deep / "third.rageval.yaml").write_text(ONE.replace("name: ", "name: 3-"), "utf-8")
    result = project.pytest("--collect-only", "-q")
    assert _collected(result) == [
        "deep/third.rageval.yaml::right",
        "first.rageval.yaml::right",
        "second.rageval.yml::right",
    ]


def test_ini_patterns_replace_the_default_ones(project: Project) -> None:
    """[A1] With ``rageval_files = eval_*.yaml`` a ``*.rageval.yaml`` is an ordinary file."""
    project.pytester.makeini("[pytest]\nrageval_files = eval_*.yaml *.scenario")
    project.scenario(ONE, "first")
    project.pytester.makefile(".yaml", eval_bot=ONE)
    project.pytester.makefile(".scenario", third=ONE.replace("name: ", "name: 3-"))
    result = project.pytest("--collect-only", "-q")
    assert _collected(result) == ["eval_bot.yaml::right", "third.scenario::right"]


def test_scenarios_run_beside_ordinary_tests(project: Project, run: Run) -> None:
    """[A1] One run, one total: a function and a case pass, a function fails."""
    project.scenario(ONE.replace("NAME", "qa"))
    project.pytester.makepyfile(
        """
        def test_passes(): pass
        def test_fails(): assert 0
        """
    )
    result = red(run())
    result.assert_outcomes(passed=2, failed=1)
    assert project.results()["counts"]["samples"] == 1


def test_a_failing_ordinary_test_leaves_the_gates_decided(project: Project) -> None:
    """[E3, E4] All samples ran, whatever became of other tests."""
    project.scenario(ONE.replace("NAME", "qa") + "    gates: {em: 1.0}\n")
    project.pytester.makepyfile("def test_fails(): assert 0")
    project.pytest()
    assert project.gates()["em.mean"] == "passed"


@pytest.mark.full
def test_without_scenarios_pytest_is_as_without_the_plugin(project: Project) -> None:
    """[E13] No table, no folder, pytest's own exit statuses."""
    assert project.pytest().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    project.pytester.makepyfile("def test_passes(): pass")
    result = green(project.pytest())
    result.stdout.no_fnmatch_line("*rageval: *")
    assert project.wrote_nothing


@pytest.mark.parametrize("option", ["--rag-no-fast", "-q"])
def test_hooks_of_another_folder_are_not_called(option: str, project: Project) -> None:
    """[A1] Also where its conftest.py is loaded after the scenario was collected."""
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{answer: x, references: [x]}]\n")
    project.file("z/conftest.py", "def pytest_runtest_logstart(nodeid): print('met', nodeid)\n")
    project.file("z/test_it.py", "def test_it(): pass\n")
    result = green(project.pytest("-s", option))
    result.stdout.fnmatch_lines(["*met z/test_it.py::test_it"])
    result.stdout.no_fnmatch_line("*met qa*")

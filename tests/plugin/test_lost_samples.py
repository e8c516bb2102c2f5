"""Samples that get lost against the user's will: a crashed worker, Ctrl-C."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, interrupted, red

SCENARIO = """
    name: qa
    metrics: [crashes]
    gates: {crashes: 0.5}
    dataset: qa.jsonl
"""


def _samples(project: Project, **answers: str) -> None:
    project.rows([{"id": name, "answer": answer} for name, answer in answers.items()])


def test_a_crashed_worker_fails_the_gates_and_names_what_was_lost(
    project: Project, workers: Run
) -> None:
    """[E4] Of six samples all score 1 but c, which takes its process along."""
    project.with_broken_metrics()
    project.scenario(SCENARIO)
    _samples(project, a="", b="", c="crash", d="", e="", f="")
    result = red(workers())
    # Five cases pass, the crash is a failure of pytest-xdist's own, both gates fail.
    result.assert_outcomes(passed=5, failed=1 + 2)
    result.stdout.fnmatch_lines(["FAILED *::gate:crashes.mean*5 of 6 samples ran*1 lost*: c"])
    assert project.gates() == {"crashes.mean": "failed", "unscored": "failed"}
    assert project.results()["complete"] is False
    assert sorted(project.outcomes()) == ["a", "b", "d", "e", "f"]


@pytest.mark.full
def test_what_a_test_function_lost_is_of_the_run_whose_parameter_it_has(
    project: Project, workers: Run
) -> None:
    """[E4] The node id of such a case does not begin with that of its run."""
    project.rows([{"id": name, "answer": "x", "references": ["x"]} for name in "abc"])
    project.file("qa.yaml", "name: qa\nmetrics: [em]\ngates: {em: 0.1}\ndataset: qa.jsonl\n")
    project.file(
        "test_qa.py",
        "import os, pytest\n\n@pytest.mark.parametrize('k', ['fast', 'slow'])\n"
        "@pytest.mark.rag_scenario('qa.yaml')\ndef test_it(rag_sample, rageval, k):\n"
        "    if (rag_sample.id, k) == ('c', 'fast'):\n        os._exit(1)\n    rageval.check()\n",
    )
    result = red(workers("-k", "not b"))
    said = "1 lost (a worker crashed?): test_qa.py::test_it?c-fast?"
    result.stdout.fnmatch_lines([f"FAILED *(fast)::gate:em.mean*1 of 3 samples ran*{said}"])
    assert set(project.gates("qa[slow]").values()) == {"skipped"}


@pytest.mark.full
def test_a_run_that_only_crashes_is_red(project: Project) -> None:
    """[E4] Nothing came back from any worker."""
    project.with_broken_metrics()
    project.scenario(SCENARIO)
    _samples(project, a="crash")
    result = red(project.pytest("-n", "1"))
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    assert "gate:crashes.mean PASSED" not in result.stdout.str()


INTERRUPT = """
import pytest

def pytest_runtest_call(item):
    if item.name == "c":
        raise KeyboardInterrupt
"""

FIVE = """
    name: qa
    metrics: [em]
    gates: {em: 0.5}
    dataset:
      - {id: a, answer: Paris, references: [Paris]}
      - {id: b, answer: Paris, references: [Paris]}
      - {id: c, answer: Paris, references: [Paris]}
      - {id: d, answer: Paris, references: [Paris]}
      - {id: e, answer: Paris, references: [Paris]}
"""


# Ctrl-C comes when the controller has the first result: with two workers, "c" could be faster.
AFTER_A_REPORT = """
import os
import pathlib
import time

SEEN = pathlib.Path(__file__).with_name("seen")

def pytest_runtest_logreport(report):
    if report.when == "teardown" and "PYTEST_XDIST_WORKER" not in os.environ:
        SEEN.touch()

def pytest_runtest_call(item):
    if item.name == "c":
        for _ in range(600):
            if SEEN.exists():
                break
            time.sleep(0.05)
        raise KeyboardInterrupt
"""


def test_ctrl_c_writes_the_files_and_passes_no_gate(project: Project, workers: Run) -> None:
    """[E4, A12] In the third case: the table is printed, the exit status is that of Ctrl-C."""
    project.conftest(AFTER_A_REPORT)
    project.scenario(FIVE)
    result = interrupted(workers("-v"))
    result.stdout.fnmatch_lines(["==* rageval: qa *==", "em *1.0000*", "gate em.mean *skipped*"])
    assert "passed" not in project.gates().values()
    results = project.results()
    assert results["complete"] is False
    assert results["counts"]["samples"] == 5
    assert 1 <= results["counts"]["ran"] < 5
    assert not any("::gate:" in line and "PASSED" in line for line in result.outlines)


@pytest.mark.full
def test_ctrl_c_while_a_metric_scores_passes_no_gate(project: Project) -> None:
    """[E4] It is no error of the metric's; the two samples before are on record, in whole files."""
    project.with_broken_metrics()
    project.scenario(SCENARIO.replace("crashes", "interrupted"))
    _samples(project, a="", b="", c="interrupt", d="")
    interrupted(project.pytest())
    assert project.outcomes() == {"a": "passed", "b": "passed"}
    assert set(project.gates().values()) == {"skipped"}
    assert {entry.name for entry in project.folder().iterdir()} == {
        "results.json",
        "scores.csv",
        "invalid.csv",
        "summary.md",
        "metadata.json",
        "scenario.snapshot.yaml",
    }


@pytest.mark.full
def test_ctrl_c_before_any_case_writes_nothing(project: Project) -> None:
    """[E4] There is nothing to say."""
    project.conftest(INTERRUPT.replace('"c"', '"a"'))
    project.scenario(FIVE)
    interrupted(project.pytest())
    assert project.wrote_nothing


@pytest.mark.full
def test_an_internal_error_of_another_plugin_passes_no_gate(project: Project) -> None:
    """[E4] In its report hook, in the third case."""
    project.conftest(
        """
        def pytest_runtest_logreport(report):
            if report.nodeid.endswith("::c"):
                raise RuntimeError("another plugin is broken")
        """
    )
    project.scenario(FIVE)
    result = project.pytest()
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert not any("::gate:" in line and "PASSED" in line for line in result.outlines)
    if project.folders():
        assert "passed" not in project.gates().values()

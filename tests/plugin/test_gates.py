"""Gates are test outcomes: in the totals, in ``-v``, in JUnit XML and in the exit status."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project, Run

# em is 1 for "right" and 0 for "wrong": the mean is 1/2.
TWO = """
    name: qa
    metrics: [em]
    gates: {em: GATE}
    dataset:
      - {id: right, answer: Paris, references: [Paris]}
      - {id: wrong, answer: Rome, references: [Paris]}
"""


def test_gates_that_hold_are_passed_tests(project: Project, run: Run) -> None:
    """[A10, E3] 0.5 >= 0.5; the gate on unscored samples comes with it: 2 cases and 2 gates."""
    project.scenario(TWO.replace("GATE", "0.5"))
    result = run("-v")
    result.assert_outcomes(passed=4)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.re_match_lines([r".*qa\.rageval\.yaml::gate:em\.mean .*"])
    assert project.gates() == {"em.mean": "passed", "unscored": "passed"}


def test_a_gate_that_does_not_hold_fails_the_run(project: Project, run: Run) -> None:
    """[A10, E3] No case fails, 0.5 < 0.6 does: the last line and the exit status agree."""
    project.scenario(TWO.replace("GATE", "0.6"))
    result = run()
    result.assert_outcomes(passed=3, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*= FAILURES =*",
            "0.5000 < 0.6000",
            "gate em.mean*FAILED*0.5000 < 0.6000",
            "FAILED qa.rageval.yaml::gate:em.mean*0.5000 < 0.6000",
            "*1 failed, 3 passed*",
        ]
    )
    assert project.gates() == {"em.mean": "failed", "unscored": "passed"}


@pytest.mark.full
def test_a_slice_that_is_too_low_is_named(project: Project) -> None:
    """[E5, E3] a.pdf: (1 + 1)/2 = 1, b.pdf: (1 + 0)/2 = 0.5 < 0.6; overall 0.75 is enough."""
    project.scenario(
        """
        name: qa
        metrics: [em]
        gates: {em: 0.75, by: {doc_name: {em: 0.6}}}
        dataset:
          - {doc_name: a.pdf, answer: Paris, references: [Paris]}
          - {doc_name: a.pdf, answer: Paris, references: [Paris]}
          - {doc_name: b.pdf, answer: Paris, references: [Paris]}
          - {doc_name: b.pdf, answer: Rome, references: [Paris]}
        """
    )
    result = project.pytest()
    result.assert_outcomes(passed=4 + 2, failed=1)
    result.stdout.fnmatch_lines(["FAILED *::gate:by.doc_name.em.mean*b.pdf: 0.5000 < 0.6000*"])
    assert project.gates()["by.doc_name.em.mean"] == "failed"


def test_progress_ends_at_100_percent(project: Project, run: Run) -> None:
    """[E3] Gates are counted among the tests, so that no line shows more."""
    project.scenario(TWO.replace("GATE", "0.5"))
    shown = [int(found) for found in re.findall(r"\[ *(\d+)%\]", run().stdout.str())]
    assert shown
    assert shown[-1] == 100
    assert max(shown) == 100


@pytest.mark.full
def test_gates_of_several_scenarios_are_decided_apart(project: Project, run: Run) -> None:
    """[E3] The same data; 0.5 holds in one scenario and 0.6 fails in the other."""
    project.scenario(TWO.replace("GATE", "0.5").replace("name: qa", "name: low"), "low")
    project.scenario(TWO.replace("GATE", "0.6").replace("name: qa", "name: high"), "high")
    result = run()
    result.assert_outcomes(passed=4 + 3, failed=1)
    result.stdout.fnmatch_lines(["FAILED high.rageval.yaml::gate:em.mean*"])
    assert project.gates("low")["em.mean"] == "passed"
    assert project.gates("high")["em.mean"] == "failed"


@pytest.mark.full
def test_bounds_and_quantiles_are_outcomes_too(project: Project, run: Run) -> None:
    """[E3, E5] em 1 and 0, seven and one: the mean is 0.875, its bound is lower, a tenth is 0."""
    project.rows(
        [
            {"id": f"r{at}", "answer": "Paris" if at else "Rome", "references": ["Paris"]}
            for at in range(8)
        ]
    )
    project.scenario(
        """
        name: qa
        metrics: [em]
        gates: {em: {mean: 0.8, lower_bound: 0.8, quantile: {0.1: 0.5, 0.2: 0.5}}}
        dataset: qa.jsonl
        """
    )
    result = run("-v")
    result.assert_outcomes(passed=8 + 3, failed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert project.gates() == {
        "em.mean": "passed",
        "em.lower_bound": "failed",
        "em.quantile.0.1": "failed",
        "em.quantile.0.2": "passed",
        "unscored": "passed",
    }
    result.stdout.fnmatch_lines(
        [
            "gate em.lower_bound *FAILED * < 0.8000 (95 % interval * of the mean 0.8750, n 8)",
            "gate em.quantile.0.1 *FAILED *0.0000 < 0.5000 (n 8)",
        ]
    )

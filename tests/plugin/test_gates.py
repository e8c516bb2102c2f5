"""Gates are test outcomes: in the totals, in ``-v``, in JUnit XML and in the exit status."""

from __future__ import annotations

import re

from tests.plugin.conftest import Project, Run, green, red

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
    result = green(run("-v"))
    result.assert_outcomes(passed=4)
    result.stdout.re_match_lines([r".*qa\.rageval\.yaml::gate:em\.mean .*"])
    assert project.gates() == {"em.mean": "passed", "unscored": "passed"}


def test_a_gate_that_does_not_hold_fails_the_run(project: Project, run: Run) -> None:
    """[A10, E3] No case fails, 0.5 < 0.6 does: the last line and the exit status agree."""
    project.scenario(TWO.replace("GATE", "0.6"))
    result = red(run())
    result.assert_outcomes(passed=3, failed=1)
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


def test_progress_ends_at_100_percent(project: Project, run: Run) -> None:
    """[E3] Gates are counted among the tests, so that no line shows more."""
    project.scenario(TWO.replace("GATE", "0.5"))
    shown = [int(found) for found in re.findall(r"\[ *(\d+)%\]", run().stdout.str())]
    assert shown
    assert shown[-1] == 100
    assert max(shown) == 100

"""F6: ``stop``: no more calls once every gate is certain, and what is said of such a run."""

from __future__ import annotations

from typing import Any

import pytest
from judged_project import JudgedProject

from tests.plugin.conftest import red, wrong_use

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full

# At a bound of 0.5, 22 of 40 are enough: 22 · 0.9 + 0.231 = 20.031 of 40.
GOOD = [f"0.9{at:02}" for at in range(40)]
ENOUGH = 22


@pytest.fixture
def stopping(judged: JudgedProject) -> JudgedProject:
    """Return a project whose judge answers two calls at a time."""
    judged.server.options.latency_s = 0.01
    return judged


def scenario(judged: JudgedProject, answers: Any = GOOD, **keys: Any) -> None:
    plain = {"gates": {"graded": 0.5}, "judge": {"concurrency": 2}, "stop": "decided"}
    judged.scenario(answers, **{**plain, **keys})


def test_nothing_is_asked_once_the_gates_are_decided(stopping: JudgedProject) -> None:
    """At most the two calls in flight more, and those that were answered meanwhile."""
    scenario(stopping)
    result = stopping.loop_back("-rs")
    asked = len(stopping.asked)
    assert ENOUGH <= asked <= ENOUGH + 8
    result.assert_outcomes(passed=asked + 2, skipped=40 - asked)
    result.stdout.fnmatch_lines(
        [
            f"stopped when the verdict was certain: all figures are of the {asked} of 40 samples*",
            f"gate graded.mean * passed * >= 0.5000; of the {asked} of 40 samples asked",
            f"SKIPPED [[]{40 - asked}] qa.rageval.yaml: not asked: decided",
        ]
    )
    found = stopping.project.results()
    assert found["complete"] is False
    assert found["counts"]["ran"] == found["metrics"]["graded"]["n"] == asked
    assert (found["counts"]["samples"], found["counts"]["skipped"]) == (40, 40 - asked)
    assert found["samples"][-1]["reasons"] == {"graded": "not asked: decided"}
    summary = (stopping.project.folder() / "summary.md").read_text("utf-8")
    assert "**passed**: 2 gates passed" in summary
    assert "**stopped when the verdict was certain" in summary
    # The replies are in the cache, and count as any others.
    stopping.server.forget()
    assert stopping.pytest().ret == 0
    assert stopping.usage["cached"] >= ENOUGH
    assert len(stopping.asked) <= 8


def test_a_run_that_stopped_is_no_baseline(stopping: JudgedProject) -> None:
    scenario(stopping)
    result = red(stopping.pytest("--rag-save=main"))
    result.stdout.fnmatch_lines(
        ["baseline main NOT saved: * of 40 samples were not asked; a stopped run is never saved *"]
    )


def test_a_draw_from_runs_that_stopped_says_how_to_ask_all(stopping: JudgedProject) -> None:
    """The command that it names makes a run to draw from."""
    scenario(stopping)
    stopping.pytest()
    command = "qa.rageval.yaml --rag-set stop=null"
    result = wrong_use(stopping.pytest("--rag-label=5"))
    result.stderr.fnmatch_lines(
        [f"*The runs there stopped early; run all samples once: pytest {command}"]
    )
    stopping.pytest(*command.split())
    assert stopping.project.results()["complete"] is True
    assert stopping.pytest("--rag-label=5").ret == pytest.ExitCode.OK


def test_workers_stop_on_what_they_scored_together(stopping: JudgedProject) -> None:
    """Each scores 20 of 40 at most; 22 are needed."""
    stopping.server.options.latency_s = 0.05
    scenario(stopping)
    stopping.distributed()
    found = stopping.project.results()
    assert found["counts"]["ran"] == len(stopping.asked)
    assert ENOUGH <= len(stopping.asked) < 36
    assert set(stopping.project.gates().values()) == {"passed"}
    assert list(stopping.temporary.iterdir()) == []


def test_a_part_of_the_samples_decides_nothing(stopping: JudgedProject) -> None:
    scenario(stopping, GOOD[:8], gates={"graded": 0.1})
    stopping.pytest("--rag-limit=6").assert_outcomes(passed=6, skipped=2)
    assert len(stopping.asked) == 6
    assert set(stopping.project.gates().values()) == {"skipped"}
    rest = stopping.pytest("--deselect=qa.rageval.yaml::s0", "--rag-cache=off")
    rest.assert_outcomes(passed=7, skipped=2, deselected=1)
    assert set(stopping.project.gates().values()) == {"skipped"}


def test_an_error_is_followed_by_all_others(stopping: JudgedProject) -> None:
    """The run is red anyway; to be run again, a sample must have been run."""
    scenario(stopping, ["400|0.9", *GOOD[:9]], gates={"graded": 0.1})
    stopping.pytest().assert_outcomes(passed=10, errors=1, failed=1)
    assert stopping.project.results()["complete"] is True


def test_gates_of_hooks_need_every_sample(stopping: JudgedProject) -> None:
    stopping.with_conftest("def pytest_rageval_gates(result): return []\n")
    scenario(stopping, GOOD[:4], gates={"graded": 0.1})
    result = stopping.pytest()
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        ["stop: nothing stops early: the gates of *conftest.py need every*"]
    )


TARGET = """
@pytest.fixture
def app():
    with open(HERE / "log.txt", "a") as log:
        log.write("made\\n")

    def ask(question):
        return "0.9"

    return ask
"""


def test_the_system_under_test_is_not_asked_either(stopping: JudgedProject) -> None:
    """A fixture for each case alone: it is made three times, for 1 + 1 + 1 of 6 at 0.4."""
    stopping.with_conftest(TARGET)
    rows = [{"question": f"q{at}", "references": ["0.9"]} for at in range(6)]
    keys = {"target": {"fixture": "app"}, "metrics": ["em"], "gates": {"em": 0.4}}
    stopping.scenario(rows, judge=False, stop="decided", **keys)
    stopping.pytest().assert_outcomes(passed=3 + 2, skipped=3)
    assert (stopping.path / "log.txt").read_text() == "made\n" * 3

"""``stop`` where a run is held against a saved one: no more calls once a regression is certain."""

from __future__ import annotations

from typing import Any

import pytest
from judged_project import JudgedProject

from tests.plugin.conftest import green

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full


def answers(least: float, count: int) -> list[str]:
    """Return answers that score a little more than ``least``, no two of them alike."""
    return [f"{least + at / 100_000:.7f}" for at in range(count)]


def scenario(judged: JudgedProject, rows: list[str], **options: Any) -> None:
    """Write a scenario that is held against ``main``, in mode any unless told otherwise."""
    stop = options.pop("stop", "decided")
    gate = {"baseline": "main", "metrics": ["graded"], "mode": "any", **options}
    keys = {"gates": {"no_regression": gate}, "judge": {"concurrency": 2}, "stop": stop}
    judged.scenario(rows, **keys)


def saved(judged: JudgedProject, rows: list[str], stop: Any = "decided") -> None:
    """Save a run of all samples as ``main``: there is nothing yet to stop for."""
    judged.server.options.latency_s = 0.01
    scenario(judged, rows, stop=stop)
    result = judged.pytest("--rag-save=main")
    result.stdout.fnmatch_lines(["baseline main saved: *"])
    assert len(judged.asked) == len(rows)
    judged.server.forget()


def test_a_run_that_fell_is_not_asked_to_the_end(judged: JudgedProject) -> None:
    """0.9 before, 0 now: after 6 of 40 the rest, 1 at best, gains 34 · 0.1 of the 6 · 0.9 lost."""
    saved(judged, answers(0.9, 40))
    scenario(judged, answers(0.0, 40))
    result = judged.loop_back()
    asked = len(judged.asked)
    assert 5 <= asked <= 14
    result.stdout.fnmatch_lines(
        [f"stopped when the verdict was certain: all figures are of the {asked} of 40 samples*"]
    )
    found = judged.project.results()
    message = found["gates"][0]["message"]
    assert message.startswith("graded: fell by 0.9000, more than max_drop 0.0000 (mode any)")
    assert message.endswith(f"; of the {asked} of 40 samples asked")
    assert f", n {asked} " in message
    assert found["complete"] is False
    assert judged.project.gates() == {"no_regression": "failed", "unscored": "passed"}


@pytest.mark.parametrize("stop", ["decided", 0.05])
def test_the_run_that_is_saved_first_asks_about_every_sample(
    judged: JudgedProject, stop: Any
) -> None:
    saved(judged, answers(0.5, 6), stop)
    assert judged.project.results()["complete"] is True


def test_a_run_as_good_as_main_passes_before_all_is_asked(judged: JudgedProject) -> None:
    """At an error bound of 0.05, and its verdict is that of two processes."""
    saved(judged, answers(0.5, 100))
    scenario(judged, answers(0.500001, 100), stop=0.05, max_drop=0.2)
    result = green(judged.pytest())
    assert 30 <= len(judged.asked) <= 85
    alone = judged.project.gates()
    assert alone == {"no_regression": "passed", "unscored": "passed"}
    assert "cannot be decided" not in "\n".join(result.outlines)
    judged.server.forget()
    judged.distributed("--rag-cache=off")
    assert 30 <= len(judged.asked) < 100
    assert judged.project.gates() == alone


def test_the_short_form_of_the_command_line_stops_too(judged: JudgedProject) -> None:
    """``--rag-compare-fail`` in mode significant does not; ``compare_fail`` may name another."""
    saved(judged, answers(0.9, 40))
    gates = {"compare_fail": {"graded": {"max_drop": 0.1, "mode": "any"}}}
    judged.scenario(
        answers(0.0, 40), gates=gates, compare="main", judge={"concurrency": 2}, stop="decided"
    )
    judged.pytest()
    assert len(judged.asked) <= 16
    assert judged.project.gates()["compare_fail.graded"] == "failed"

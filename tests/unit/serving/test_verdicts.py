"""The verdict of a run that was started for somebody: passed only if everything was judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_rageval.model import Counts, WeightedSummary
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.serving.verdicts import Verdict, joint_verdict, point_verdict, run_verdict
from pytest_rageval.serving.web.live_runs import verdict_of

COUNTS = Counts(2, 2, 2, 0, 0, 0, 0, 0, 0)


def point(
    *, complete: bool = True, skipped: int = 0, skipped_cases: int = 0, **counts: int
) -> RunPoint:
    return RunPoint(
        "qa/1",
        "1",
        "qa",
        "2026",
        complete,
        replace(COUNTS, skipped=skipped_cases, **counts),
        WeightedSummary(None, 0, 0, None, None),
        {},
        gates_skipped=skipped,
    )


@pytest.mark.parametrize(
    ("status", "found", "verdict"),
    [
        (0, [point()], "passed"),
        (0, [point(complete=False)], "partial"),
        (0, [point(complete=False, ran=1, passed=1)], "partial"),
        (0, [point(complete=False, ran=1, passed=1, skipped_cases=1)], "passed"),  # stop
        (0, [point(skipped=1)], "partial"),
        (0, [point(), point(skipped=1)], "partial"),
        (0, [point(scored=0)], "empty"),
        (0, [replace(point(), judged=False)], "unjudged"),
        (0, [replace(point(), judged=False), point()], "unjudged"),
        (0, [replace(point(), judged=False), point(skipped=1)], "partial"),
        (0, [replace(point(failed=1), judged=False)], "failed"),  # by a hook, or a mark
        (0, [replace(point(complete=False), judged=False)], "partial"),
        (0, [None], "error"),
        (0, [replace(point(), counts=replace(COUNTS, scored=0)), point(complete=False)], "partial"),
        (0, [point(), None], "error"),
        (0, [], "error"),
        (1, [point()], "failed"),
        (1, [None], "failed"),
        (1, [point(complete=False)], "failed"),
        (1, [], "error"),  # a metric that ends the process
        (2, [point(failed=1)], "failed"),  # -x
        (2, [point()], "error"),
        (3, [point()], "error"),
        (4, [], "error"),
        (5, [], "empty"),
        (-9, [point()], "error"),
        (None, [], "error"),
    ],
)
def test_only_a_whole_good_run_has_passed(
    status: int | None, found: list[RunPoint | None], verdict: str
) -> None:
    """[A24, E25] Pytest's exit status alone is not enough: nothing may have been judged."""
    saved = [None if one is None else point_verdict(one) for one in found]
    assert run_verdict(status, saved) == verdict
    events = [{"event": "result", "point": one and {"verdict": one}} for one in saved]
    shown = "error" if verdict == "empty" else verdict
    assert verdict_of(status, events) == shown


def test_a_run_that_nothing_judged_is_left_to_the_gate_best() -> None:
    assert run_verdict(0, ["unjudged", "unjudged"], [{"outcome": "passed"}]) == "passed"


@pytest.mark.parametrize(
    ("verdicts", "best", "joint"),
    [
        (["unjudged", "unjudged"], None, "unjudged"),
        (["unjudged", "unjudged"], "passed", "passed"),
        (["unjudged", "passed"], None, "unjudged"),
        (["unjudged", "passed"], "passed", "passed"),
        (["unjudged", "passed"], "partial", "partial"),
        (["unjudged", "partial"], None, "partial"),
        (["unjudged", None], None, "partial"),
        (["unjudged", "failed"], None, "failed"),
        (["passed", "passed"], "failed", "failed"),
        ([None, None], None, None),
    ],
)
def test_variants_that_nothing_could_fail_leave_the_verdict_to_the_gate_best(
    verdicts: list[Verdict | None], best: Verdict | None, joint: Verdict | None
) -> None:
    """As a run of them all does: one that nothing judged has not passed."""
    assert joint_verdict(verdicts, best) == joint
    if None not in verdicts:
        gate = [] if best is None else [{"outcome": {"partial": "skipped"}.get(best, best)}]
        assert run_verdict(0, verdicts, gate) == joint

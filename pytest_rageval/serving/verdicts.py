"""The verdict of a saved run, and of one that a child has just ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pytest_rageval.model import GateOutcome
from pytest_rageval.results.run_point import RunPoint

Verdict = Literal["passed", "failed", "partial", "empty", "error"]


def point_verdict(point: RunPoint) -> Verdict:
    """Return the verdict of a saved run: ``passed`` only if all of it was judged."""
    if point.failed:
        return "failed"
    if not (point.complete or point.counts.not_asked) or point.gates_skipped:
        return "partial"
    return "passed" if point.counts.scored else "empty"


def gate_verdict(outcome: GateOutcome) -> Verdict:
    """Return what the gate ``best`` makes of the verdict of variants that ran together."""
    return "partial" if outcome == "skipped" else outcome


def joint_verdict(verdicts: Sequence[Verdict | None]) -> Verdict | None:
    """Return the verdict of all variants of a scenario; None stands for one that never ran.

    ``passed`` only if each of them is, and None if none of them ran.
    """
    if not any(verdicts):
        return None
    if "failed" in verdicts:
        return "failed"
    return "passed" if set(verdicts) == {"passed"} else "partial"


def run_verdict(status: int | None, saved: Sequence[Verdict | None]) -> Verdict:
    """Return the verdict of a run from pytest's exit ``status``, and from what it saved.

    ``saved`` has the verdict of each scenario, variant and gate ``best`` that came to its end, None
    where nothing could be saved; ``status`` is None if pytest could not be started.
    """
    if "failed" in saved or (status == 1 and saved):
        return "failed"
    if status == 5:
        return "empty"
    if status != 0 or not saved or None in saved:
        return "error"
    return next((verdict for verdict in saved if verdict not in ("passed", None)), "passed")

"""The verdict of a saved run, and of one that a child has just ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pytest_rageval.results.run_point import RunPoint

Verdict = Literal["passed", "failed", "partial", "empty", "error"]


def point_verdict(point: RunPoint) -> Verdict:
    """Return the verdict of a saved run: ``passed`` only if all of it was judged."""
    if point.failed:
        return "failed"
    if not (point.complete or point.counts.not_asked) or point.gates_skipped:
        return "partial"
    return "passed" if point.counts.scored else "empty"


def run_verdict(status: int | None, saved: Sequence[Verdict | None]) -> Verdict:
    """Return the verdict of a run from pytest's exit ``status``, and from what it saved.

    ``saved`` has the verdict of each scenario that came to its end, None where nothing could be
    saved; ``status`` is None if pytest could not be started.
    """
    if "failed" in saved or (status == 1 and saved):
        return "failed"
    if status == 5:
        return "empty"
    if status != 0 or not saved or None in saved:
        return "error"
    return next((verdict for verdict in saved if verdict not in ("passed", None)), "passed")

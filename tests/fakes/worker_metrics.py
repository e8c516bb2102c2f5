"""Metrics that a worker imports: of every kind of score that there is, and what ends a worker."""

from __future__ import annotations

import os
import time

from pytest_rageval import Sample, Score

_PAD: list[str] = []


def moody(sample: Sample) -> Score | float:
    """Return a score, or raise, as the first word of the answer says."""
    mood = (sample.answer or "").partition(" ")[0]
    if mood == "raise":
        raise RuntimeError(f"no score for {sample.id}")
    if mood == "none":
        return Score("moody", None, reason="nothing to say")
    if mood == "details":
        return Score("moody", 0.5, details={"a": {2, 1}, "b": float("nan"), 3: ("x",)})
    if mood == "high":
        return 7.0
    return 1.0


def scratch(sample: Sample) -> float:
    """Return 1.0 where no other thread uses the module at the same time."""
    _PAD.append(sample.id)
    time.sleep(0.005)
    is_own = [sample.id] == _PAD
    _PAD.clear()
    return float(is_own)


def deadly(sample: Sample) -> float:
    """Return 1.0, or end the process."""
    if sample.answer == "die":
        os._exit(3)
    return 1.0

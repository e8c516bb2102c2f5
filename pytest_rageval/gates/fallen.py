"""The samples that are worse than in a baseline, to look at where a gate fails."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pytest_rageval.gates.base import LISTED, WorstSamples, weighing
from pytest_rageval.model import TOLERANCE, Baseline, SampleResult, ScenarioResult
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted

_OF_EACH: Final = 3
"""How many samples, and how many metrics, are listed if a gate is about several metrics."""


def fallen(
    result: ScenarioResult, baseline: Baseline, higher_is_better: Mapping[str, bool]
) -> list[WorstSamples]:
    """Return the samples that are worse than in the baseline, of each metric that is worse."""
    # It imports numpy, which runs without a comparison need not load.
    from pytest_rageval.stats.comparison import paired_scores

    found = []
    for target, up in higher_is_better.items():
        both = [
            (*paired_scores(result.info, sample, baseline, target), sample)
            for sample in weighing(result)
        ]
        pairs = [
            (ours, theirs, sample)
            for ours, theirs, sample in both
            if is_scored(ours) and is_scored(theirs)
        ]
        found.append(_falls(target, pairs, baseline.name, up=up))
    several = [worst for worst in found if worst is not None]
    listed = LISTED if len(several) == 1 else _OF_EACH
    return [replace(worst, rows=worst.rows[:listed]) for worst in several[:_OF_EACH]]


def _falls(
    target: str, pairs: Sequence[tuple[float, float, SampleResult]], baseline: str, *, up: bool
) -> WorstSamples | None:
    """Return the samples that are worse now; None if the metric as a whole is not worse."""
    gains = [(ours - theirs) if up else (theirs - ours) for ours, theirs, _ in pairs]
    weighed = (gain * pair[2].sample_weight for gain, pair in zip(gains, pairs, strict=True))
    if math.fsum(weighed) >= 0.0:
        return None
    worse = sorted((gain, at) for at, gain in enumerate(gains) if gain < -TOLERANCE)
    better = sum(gain > TOLERANCE for gain in gains)
    down, rise = ("fell", "rose") if up else ("rose", "fell")
    heading = f"{target}: {len(worse)} {down}, {better} {rise} of {counted(len(pairs), 'sample')}"
    rows = tuple(
        (f"{pairs[at][1]:.4f} -> {pairs[at][0]:.4f}", pairs[at][2]) for _, at in worse[:LISTED]
    )
    return WorstSamples(f"{heading} ({baseline} -> this run); the worst:", rows)

"""Finds the worst samples to look at when a gate failed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.model import TOLERANCE, Baseline, Bound, SampleResult, ScenarioResult
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted

LISTED: Final = 5
_OF_EACH: Final = 3
"""How many samples, and how many metrics, are listed if a gate is about several metrics."""


@dataclass(frozen=True, slots=True)
class WorstSamples:
    """``rows`` are samples with their figures, worst first; ``heading`` says how many there are."""

    heading: str
    rows: tuple[tuple[str, SampleResult], ...]


def beyond(
    result: ScenarioResult, target: str, bound: Bound, observed: float | None
) -> list[WorstSamples]:
    """Return the samples beyond the bound, on the side of the observed figure."""
    is_above = bound.min is None or (
        bound.max is not None and observed is not None and observed > bound.max
    )
    end = Bound(max=bound.max) if is_above else Bound(min=bound.min)
    known = [
        (score, sample)
        for sample in _weighing(result)
        if is_scored(score := score_of(sample, target))
    ]
    found = [(score, sample) for score, sample in known if not end.holds(score)]
    found.sort(key=lambda row: -row[0] if is_above else row[0])
    if not found:
        return []
    side, extreme = ("above", "highest") if is_above else ("below", "lowest")
    heading = f"{target} is {side} {end.end:g} in {len(found)} of {counted(len(known), 'sample')}"
    rows = tuple((f"{score:.4f}", sample) for score, sample in found[:LISTED])
    return [WorstSamples(f"{heading}; the {extreme}:", rows)]


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
            for sample in _weighing(result)
        ]
        pairs = [
            (ours, theirs, sample)
            for ours, theirs, sample in both
            if is_scored(ours) and is_scored(theirs)
        ]
        found.append(_falls(target, pairs, baseline.name, up=up))
    several = [one for one in found if one is not None]
    listed = LISTED if len(several) == 1 else _OF_EACH
    return [replace(one, rows=one.rows[:listed]) for one in several[:_OF_EACH]]


def _falls(
    target: str, pairs: Sequence[tuple[float, float, SampleResult]], baseline: str, *, up: bool
) -> WorstSamples | None:
    """Return the samples that are worse now; None if the metric as a whole is not worse."""
    gains = [(ours - theirs) if up else (theirs - ours) for ours, theirs, _ in pairs]
    weighed = (gain * one[2].sample_weight for gain, one in zip(gains, pairs, strict=True))
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


def _weighing(result: ScenarioResult) -> list[SampleResult]:
    return [sample for sample in result.samples if sample.is_expected and sample.sample_weight]

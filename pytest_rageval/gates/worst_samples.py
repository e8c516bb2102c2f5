"""The samples to look at where a gate fails: beyond its bound, the lowest, worse than before."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_rageval.model import (
    TOLERANCE,
    Baseline,
    Bound,
    MetricColumn,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted

LISTED: Final = 5
"""How many samples are listed."""

_OF_EACH: Final = 3
"""How many metrics, and samples of each, are listed where several metrics are worse."""


@dataclass(frozen=True, slots=True)
class WorstSamples:
    """``rows`` are samples with their figures, worst first; ``heading`` says what they are."""

    heading: str
    rows: tuple[tuple[str, SampleResult], ...]


def beyond(
    result: ScenarioResult, target: str, bound: Bound, observed: float | None
) -> list[WorstSamples]:
    """Return the samples beyond the end of the bound that decides on the observed figure."""
    end = bound.side(-math.inf if observed is None else observed)
    is_above = end.min is None
    known = [
        (score, sample)
        for sample in weighing(result)
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


def lowest(result: ScenarioResult, column: MetricColumn) -> WorstSamples:
    """Return the samples with the worst scores of a metric, without those of the best score."""
    scores = ((score_of(sample, column.name), sample) for sample in weighing(result))
    known = [(column.to_unit(score), score, sample) for score, sample in scores if is_scored(score)]
    known = sorted((one for one in known if one[0] < 1.0), key=lambda one: one[0])
    rows = tuple((f"{score:.4f}", sample) for _, score, sample in known[:LISTED])
    return WorstSamples(f"the worst scores of {column.name}:", rows)


def weighing(result: ScenarioResult) -> list[SampleResult]:
    """Return the samples that count in a mean: to be scored, and with a weight above 0."""
    return [sample for sample in result.samples if sample.is_expected and sample.sample_weight]


def fallen(
    result: ScenarioResult, baseline: Baseline, higher_is_better: Mapping[str, bool]
) -> list[WorstSamples]:
    """Return the samples that are worse than in the baseline, for metrics that are worse.

    Five for one metric; three for each of the first three, if several are worse.
    """
    # It imports numpy, which runs without a comparison need not load.
    from pytest_rageval.stats.comparison import scored_pairs

    found = []
    for target, up in higher_is_better.items():
        pairs = scored_pairs(result.info, weighing(result), baseline, target)
        found.append(_falls(target, pairs, baseline.name, up=up))
    several = [worst for worst in found if worst is not None]
    listed = LISTED if len(several) == 1 else _OF_EACH
    return [replace(worst, rows=worst.rows[:listed]) for worst in several[:_OF_EACH]]


def _falls(
    target: str, pairs: Sequence[tuple[SampleResult, float, float]], baseline: str, *, up: bool
) -> WorstSamples | None:
    """Return the samples that are worse now; None if the metric as a whole is not worse."""
    gains = [(ours - theirs) if up else (theirs - ours) for _, ours, theirs in pairs]
    weighed = (gain * pair[0].sample_weight for gain, pair in zip(gains, pairs, strict=True))
    if math.fsum(weighed) >= 0.0:
        return None
    worse = sorted((gain, at) for at, gain in enumerate(gains) if gain < -TOLERANCE)
    better = sum(gain > TOLERANCE for gain in gains)
    down, rise = ("fell", "rose") if up else ("rose", "fell")
    heading = f"{target}: {len(worse)} {down}, {better} {rise} of {counted(len(pairs), 'sample')}"
    rows = tuple(
        (f"{pairs[at][2]:.4f} -> {pairs[at][1]:.4f}", pairs[at][0]) for _, at in worse[:LISTED]
    )
    return WorstSamples(f"{heading} ({baseline} -> this run); the worst:", rows)

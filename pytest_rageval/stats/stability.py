"""Counts verdicts that change when a judge is asked several times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_rageval.model import REPEATS, SampleResult, ScenarioInfo
from pytest_rageval.stats.verdict import shortfalls
from pytest_rageval.stats.weights import weighted_mean


@dataclass(frozen=True, slots=True)
class Stability:
    """Of ``samples`` judged ``repeats`` times, ``flips`` pass in some and fail in other repeats."""

    repeats: int
    samples: int
    flips: int


def stability(info: ScenarioInfo, samples: Iterable[SampleResult]) -> Stability | None:
    """Return how stable the verdicts are, None if nothing was asked more than once."""
    metrics = [column.name for column in info.metrics]
    judged = [(sample, found) for sample in samples if (found := repeats_of(sample, metrics))]
    if not judged:
        return None
    counts = [len(values) for _, found in judged for values in found.values()]
    flips = sum(_flips(info, sample, found) for sample, found in judged)
    return Stability(max(counts), len(judged), flips)


def repeats_of(sample: SampleResult, metrics: Iterable[str]) -> dict[str, list[float | None]]:
    """Return the values of all repeats for each of ``metrics`` that was asked more than once."""
    if not sample.details:
        return {}
    found = {metric: _values(sample.details.get(metric)) for metric in metrics}
    return {metric: values for metric, values in found.items() if values is not None}


def _values(details: Any) -> list[float | None] | None:
    """Return the values of the repeats that make a score, None if there are none.

    A user's metric may have anything under ``repeats`` in its details.
    """
    repeats = details.get(REPEATS) if isinstance(details, Mapping) else None
    if not isinstance(repeats, Mapping) or set(repeats) != {"values", "spread"}:
        return None
    values = repeats["values"]
    if not isinstance(values, list) or len(values) < 2 or not _is_known(repeats["spread"]):
        return None
    return values if all(map(_is_known, values)) else None


def _is_known(value: Any) -> bool:
    """Return whether a value is a number or null."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _flips(
    info: ScenarioInfo, sample: SampleResult, repeats: Mapping[str, list[float | None]]
) -> bool:
    """Return whether some repeats meet the thresholds and others miss them.

    A repeat without a score has no verdict.
    """
    whole = min(map(len, repeats.values()))
    asked = [
        at for at in range(whole) if all(values[at] is not None for values in repeats.values())
    ]
    verdicts = {bool(shortfalls(as_in(info, sample, repeats, at), info.thresholds)) for at in asked}
    return len(verdicts) > 1


def as_in(
    info: ScenarioInfo, sample: SampleResult, repeats: Mapping[str, list[Any]], at: int
) -> SampleResult:
    """Return the sample as it would be if it had been judged in repeat ``at`` only."""
    scores = dict(sample.scores)
    scores.update({metric: values[at] for metric, values in repeats.items()})
    overall = weighted_mean(
        (
            None if (value := scores.get(column.name)) is None else column.to_unit(value),
            column.weight,
        )
        for column in info.metrics
    )
    return replace(sample, scores=scores, weighted_score=overall)

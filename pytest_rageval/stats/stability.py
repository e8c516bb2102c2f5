"""How stable verdicts are when a judge is asked several times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_rageval.model import REPEATS, SampleResult, ScenarioInfo
from pytest_rageval.stats.verdict import shortfalls
from pytest_rageval.stats.weights import weighted_mean


@dataclass(frozen=True, slots=True)
class Stability:
    """Of ``samples`` judged ``repeats`` times, ``flips`` pass in some and fail in others."""

    repeats: int
    samples: int
    flips: int


def stability(info: ScenarioInfo, samples: Iterable[SampleResult]) -> Stability | None:
    """Return how stable the verdicts are, None where nothing was asked more than once."""
    judged = [(sample, found) for sample in samples if (found := _repeats(sample))]
    if not judged:
        return None
    counts = [len(values) for _, found in judged for values in found.values()]
    flips = sum(_flips(info, sample, found) for sample, found in judged)
    return Stability(max(counts), len(judged), flips)


def _repeats(sample: SampleResult) -> dict[str, list[float | None]]:
    """Return the values of every repeat for each metric that was asked more than once."""
    return {
        metric: found[REPEATS]["values"]
        for metric, found in sample.details.items()
        if isinstance(found, Mapping) and REPEATS in found
    }


def _flips(
    info: ScenarioInfo, sample: SampleResult, repeats: Mapping[str, list[float | None]]
) -> bool:
    """Return whether the thresholds would be met in some repeats and missed in others."""
    # A repeat without a score is no verdict.
    whole = min(map(len, repeats.values()))
    asked = [
        at for at in range(whole) if all(values[at] is not None for values in repeats.values())
    ]
    verdicts = {
        bool(shortfalls(_as_in(info, sample, repeats, at), info.thresholds)) for at in asked
    }
    return len(verdicts) > 1


def _as_in(
    info: ScenarioInfo, sample: SampleResult, repeats: Mapping[str, list[Any]], at: int
) -> SampleResult:
    """Return the sample as it would be if it had been judged in repeat ``at`` only."""
    scores = dict(sample.scores)
    scores.update({metric: values[at] for metric, values in repeats.items() if at < len(values)})
    overall = weighted_mean(
        (
            None if (value := scores.get(column.name)) is None else column.to_unit(value),
            column.weight,
        )
        for column in info.metrics
    )
    return replace(sample, scores=scores, weighted_score=overall)

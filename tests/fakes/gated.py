"""Scored samples, and the verdicts of gates on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import GateResult, MetricColumn, SampleResult, ScenarioResult

Result = Callable[..., ScenarioResult]


def scored(*scores: float | None, metric: str = "f1", **fields: Any) -> list[SampleResult]:
    """Return samples with these scores of two metrics; ``fields`` are values one a sample."""
    return [
        SampleResult(
            f"s{at}",
            at,
            "error" if score is None else "passed",
            weighted_score=score,
            scores={metric: score, "em": score},
            **{name: values[at] for name, values in fields.items()},
        )
        for at, score in enumerate(scores)
    ]


def check(
    result: Result,
    options: Mapping[str, Any],
    samples: Sequence[SampleResult],
    *metrics: MetricColumn,
    **fields: Any,
) -> dict[str, GateResult]:
    """Return the verdicts of the gates of ``options`` by name."""
    made = result(samples, *metrics, **fields)
    found = {gate.name: gate.check(made) for gate in make_gates(options, made.info)}
    assert [verdict.name for verdict in found.values()] == list(found)
    return found

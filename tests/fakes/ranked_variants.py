"""Runs of variants as values: any scores, metrics and marks of samples, no pytest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_rageval.model import Contest, MetricColumn, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.summary import summarize_scenario

Scores = Sequence[float | None]


def run_of(
    variant: str,
    scores: Scores | Mapping[str, float | None],
    column: MetricColumn | None = None,
    marks: Mapping[str, Mapping[str, Any]] | None = None,
    **info: Any,
) -> ScenarioResult:
    """Return a run whose samples s0, s1, ... have these scores, of f1 unless a column says else.

    ``marks`` are more fields of samples by id, ``info`` of the scenario.
    """
    named = scores if isinstance(scores, Mapping) else {f"s{at}": x for at, x in enumerate(scores)}
    metric = column or MetricColumn("f1", definition="f1 1")
    samples = [
        SampleResult(
            name,
            at,
            **{
                "weighted_score": score,
                "scores": {metric.name: score},
                "errors": {metric.name: "down"} if score is None else {},
                **(marks or {}).get(name, {}),
            },
        )
        for at, (name, score) in enumerate(named.items())
    ]
    known = {"metrics": (metric,), "total": len(samples), "variant": variant, **info}
    return summarize_scenario(ScenarioInfo("qa", "qa.yaml", "qa.yaml", **known), samples, True)


def contest_of(*names: str, of: str = "f1", **options: Any) -> Contest:
    return Contest(names, of, **options)

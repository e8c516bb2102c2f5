"""Runs of variants of one scenario, made from scores: to be ranked, and shown side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.model import (
    Bound,
    Contest,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.aggregate import summarize_scenario
from pytest_rageval.stats.weights import resolve_weight, weighted_mean

F1, EM = MetricColumn("f1", 0.7), MetricColumn("em", 0.3)


def variant(
    name: str,
    samples: Sequence[SampleResult],
    columns: Sequence[MetricColumn] = (F1, EM),
    *,
    doc_weights: Mapping[str, float] | None = None,
    **fields: Any,
) -> ScenarioResult:
    """Return a complete run of a variant; a sample fails whose f1 is below 0.5."""
    thresholds = {"f1": Bound(min=0.5)} if any(one.name == "f1" for one in columns) else {}
    info = ScenarioInfo(
        "support-bot",
        "bot.rageval.yaml",
        "bot.rageval.yaml",
        tuple(columns),
        **{
            "thresholds": thresholds,
            "gates": {"weighted_score": 0.5},
            "doc_weights": dict(doc_weights or {}),
            "variant": name,
            "total": len(samples),
            "selected": len(samples),
            **fields,
        },
    )
    weighed = [_weighed(info, sample) for sample in samples]
    n = len(weighed)
    return decide_gates(summarize_scenario(info, weighed, complete=True), Extent(n, n, n))


def _weighed(info: ScenarioInfo, sample: SampleResult) -> SampleResult:
    """Return a sample with its weight, weighted score, and outcome."""
    own = {column.name: sample.scores.get(column.name) for column in info.metrics}
    parts = [
        (None if (score := own[column.name]) is None else column.to_unit(score), column.weight)
        for column in info.metrics
    ]
    has_failed = any(column.weight > 0 and column.name in sample.errors for column in info.metrics)
    f1 = own.get("f1")
    is_low = f1 is not None and "f1" in info.thresholds and f1 < 0.5
    weighted = None if has_failed else weighted_mean(parts)
    outcome = sample.outcome
    if outcome == "passed":
        outcome = "error" if weighted is None else "failed" if is_low else "passed"
    return replace(
        sample,
        scores=own,
        weighted_score=weighted,
        sample_weight=resolve_weight(info.doc_weights, sample.doc_name),
        outcome=outcome,
    )


def reweighed(
    ran: ScenarioResult, metrics: Mapping[str, float], docs: Mapping[str, float]
) -> ScenarioResult:
    """Return what the run of a variant would be with other weights."""
    columns = [replace(one, weight=metrics[one.name]) for one in ran.info.metrics]
    samples = [
        replace(one, outcome="passed" if one.outcome in ("failed", "error") else one.outcome)
        for one in ran.samples
    ]
    fields = {
        name: getattr(ran.info, name)
        for name in ("gates", "group_by", "diagnose", "contest", "metadata_columns", "description")
    }
    return variant(ran.info.variant, samples, columns, doc_weights=docs, **fields)


def contest_of(results: Sequence[ScenarioResult], **options: Any) -> Contest:
    """Return the contest of these variants, in their order."""
    return Contest(tuple(one.info.variant for one in results), **options)

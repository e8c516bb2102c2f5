"""The layout of ``results.json``: its version, its keys, and one sample per line.

Except for ``run``, equal runs give equal bytes, and ``diff`` can compare two runs.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from pytest_rageval.model import (
    CAUSES,
    WEIGHTED_SCORE,
    Agreement,
    Comparison,
    GateResult,
    MetricColumn,
    MetricComparison,
    RunInfo,
    SampleResult,
    ScenarioResult,
    json_plain,
)
from pytest_rageval.stats.groups import count_groups
from pytest_rageval.stats.replies import reply_counts
from pytest_rageval.text.limits import MAX_DEPTH, read_json

RESULTS_SCHEMA: Final = 1
"""The version that is written, and the newest that is read."""

DEEPEST: Final = 2 * MAX_DEPTH
"""How deep the file may be nested: its rows are ``MAX_DEPTH`` deep at most."""

_SAMPLES_BEGIN: Final = '"samples": [\n'


def results_chunks(result: ScenarioResult, run: RunInfo) -> Iterator[str]:
    """Yield the text of the file in parts."""
    yield "{\n"
    for key, value in _head(result, run).items():
        yield f"{_dump(key)}: {_dump(value)},\n"
    yield _SAMPLES_BEGIN
    last = len(result.samples) - 1
    for at, sample in enumerate(result.samples):
        yield _dump(sample_dict(sample)) + ("\n" if at == last else ",\n")
    yield "]}\n"


def read_head(path: Path) -> Mapping[str, Any]:
    """Return what ``results_chunks`` wrote, with an empty list of samples.

    Raises OSError, ValueError or LookupError for a file that this version did not write.
    """
    lines: list[str] = []
    with path.open(encoding="utf-8-sig") as stream:
        for line in stream:
            if line == _SAMPLES_BEGIN:
                lines.append('"samples": []}')
                break
            lines.append(line)
    head: Mapping[str, Any] = read_json("".join(lines), depth=DEEPEST)
    if head["schema"] != RESULTS_SCHEMA:
        raise ValueError(f"schema {head['schema']!r}")
    return head


def _head(result: ScenarioResult, run: RunInfo) -> dict[str, Any]:
    info = result.info
    return {
        "schema": RESULTS_SCHEMA,
        **({"variant": info.variant} if info.variant else {}),
        "scenario": {
            "name": info.name,
            "path": info.path,
            "snapshot_sha256": info.snapshot_sha256,
            "dataset_sha256": info.dataset_sha256,
            "overridden": list(info.overridden),
            "judgements_sha256": info.judgements_sha256,
            "measured": dict(info.measured),
            "definitions": {column.name: column.definition for column in info.metrics},
            "scales": {column.name: _scale(column) for column in info.metrics},
            "thresholds": {name: asdict(bound) for name, bound in info.thresholds.items()},
        },
        "run": {
            "id": run.id,
            "started_at": run.started_at,
            "finished_at": run.finished_at,
            "version": run.version,
            "workers": run.workers,
            "latency_s": dict(run.latency_s),
            "answer_latency_s": _plain(run.answer_latency_s),
            "usage": _plain(run.usage),
        },
        "complete": result.complete,
        "counts": asdict(result.counts),
        **_causes(result),
        **_groups(result),
        "metrics": {
            name: {**asdict(summary), **_corrected(result, name), **_replies(result, name)}
            for name, summary in result.metrics.items()
        },
        "weighted_score": {**asdict(result.weighted_score), **_corrected(result, WEIGHTED_SCORE)},
        "avg": {f"avg_{name}": summary.mean for name, summary in result.metrics.items()},
        "gates": [gate_dict(gate) for gate in result.gates],
        "comparison": comparison_dict(result.comparison),
        **_controls(result),
        **_agreement(result),
    }


def _scale(column: MetricColumn) -> dict[str, Any]:
    """Return how a score enters the weighted score; None is an end of an unbounded range."""
    return {
        "range": [end if math.isfinite(end) else None for end in column.range],
        "higher_is_better": column.higher_is_better,
        "as_is": column.as_is,
    }


def read_columns(head: Mapping[str, Any]) -> tuple[MetricColumn, ...]:
    """Return the metrics of a saved run, from what ``read_head`` returns; raises as it does.

    A run of an earlier version has no ``scales``: its metrics are taken for those from 0 to 1.
    """
    scenario = head["scenario"]
    return tuple(
        _column(
            name,
            found["weight"],
            scenario.get("definitions", {}).get(name, ""),
            scenario.get("scales", {}).get(name, _scale(MetricColumn(name))),
        )
        for name, found in head["metrics"].items()
    )


def _column(name: str, weight: float, definition: str, scale: Mapping[str, Any]) -> MetricColumn:
    low, high = scale["range"]
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    return MetricColumn(
        name,
        weight,
        ends,
        scale["higher_is_better"],
        definition=definition,
        as_is=scale["as_is"],
    )


def _groups(result: ScenarioResult) -> dict[str, Any]:
    found = count_groups(result.info, result.samples)
    return {} if found is None else {"groups": {"field": result.info.group_by, "n": found}}


def _causes(result: ScenarioResult) -> dict[str, Any]:
    """Return how many low answers have which cause; {} where nobody asked for causes."""
    if result.info.diagnose is None:
        return {}
    found = Counter(sample.cause for sample in result.samples)
    return {"causes": {cause: found[cause] for cause in CAUSES if found[cause]}}


def _corrected(result: ScenarioResult, name: str) -> dict[str, Any]:
    """Return the mean of a metric that labels correct, {} where it has none."""
    if name not in result.corrected:
        return {}
    plain = asdict(result.corrected[name])
    plain["lambda"] = plain.pop("share")
    return {"corrected": plain}


def _replies(result: ScenarioResult, name: str) -> dict[str, Any]:
    """Return how many replies of the judge were usable and not, {} where all of them were."""
    found = reply_counts(result.samples, name)
    return {"replies": found} if found else {}


def _agreement(result: ScenarioResult) -> dict[str, Any]:
    if not result.agreement:
        return {}
    return {
        "agreement": {
            name: {**asdict(found), "cells": _cells(found, result)}
            for name, found in result.agreement.items()
        }
    }


def _controls(result: ScenarioResult) -> dict[str, Any]:
    if not result.controls:
        return {}
    return {"controls": {name: found.to_dict() for name, found in result.controls.items()}}


def _cells(found: Agreement, result: ScenarioResult) -> dict[str, list[str]]:
    """Return the samples on which judge and people differ, by the cell of the confusion table."""
    return {
        cell: [result.samples[at].sample_id for at in positions]
        for cell, positions in found.cells.items()
        if len(set(cell.split(","))) > 1
    }


def _plain(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else dict(values)


def comparison_dict(comparison: Comparison | None) -> dict[str, Any] | None:
    """Return a comparison in the layout of the file, with UltraRAG's names for the two means."""
    if comparison is None:
        return None
    return {
        "baseline": comparison.baseline,
        "test": comparison.test,
        "alpha": comparison.alpha,
        "correction": comparison.correction,
        "metrics": {name: _metric_dict(found) for name, found in comparison.metrics.items()},
        "only_here": list(comparison.only_a),
        "only_in_baseline": list(comparison.only_b),
    }


def _metric_dict(found: MetricComparison) -> dict[str, Any]:
    plain = asdict(found)
    if found.groups is None:
        del plain["groups"]
    return {"A_mean": plain.pop("a_mean"), "B_mean": plain.pop("b_mean"), **plain}


def gate_dict(gate: GateResult) -> dict[str, Any]:
    """Return a gate in the layout of the file."""
    plain = asdict(gate)
    del plain["margin"]
    return plain


def sample_dict(sample: SampleResult) -> dict[str, Any]:
    """Return a sample in the layout of the file."""
    return {
        "id": sample.sample_id,
        "index": sample.index,
        "doc_name": sample.doc_name,
        "sample_weight": sample.sample_weight,
        "weighted_score": sample.weighted_score,
        "outcome": sample.outcome,
        **({} if sample.xfail is None else {"xfail": sample.xfail}),
        "question": sample.question,
        "answer": sample.answer,
        "contexts": sample.contexts,
        "references": sample.references,
        **({"judged_by": sample.judged_by} if sample.judged_by else {}),
        "metadata": sample.metadata or {},
        "scores": sample.scores or {},
        "reasons": sample.reasons or {},
        "details": json_plain(sample.details) if sample.details else {},
        "errors": sample.errors or {},
        **({"replies": sample.replies} if sample.replies else {}),
        **({"cause": sample.cause, "cause_reason": sample.cause_reason} if sample.cause else {}),
    }


# json.dumps with these arguments would make an encoder for every sample.
_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode

"""``results.json``: the whole result; but for ``run``, equal runs give equal bytes.

One sample a line, so that two runs can be compared with ``diff``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pytest_rageval.model import GateResult, RunInfo, SampleResult, ScenarioResult, json_plain
from pytest_rageval.reports.base import RunFolder

SCHEMA = 1


class ResultsJson:
    """Writes ``results.json``."""

    name = "results.json"
    aliases = ()

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write the file."""
        folder.put(self.name, _chunks(result, run))


def _chunks(result: ScenarioResult, run: RunInfo) -> Iterator[str]:
    yield "{\n"
    for key, value in _head(result, run).items():
        yield f"{_dump(key)}: {_dump(value)},\n"
    yield '"samples": [\n'
    last = len(result.samples) - 1
    for at, sample in enumerate(result.samples):
        yield _dump(sample_dict(sample)) + ("\n" if at == last else ",\n")
    yield "]}\n"


def _head(result: ScenarioResult, run: RunInfo) -> dict[str, Any]:
    info = result.info
    return {
        "schema": SCHEMA,
        "scenario": {
            "name": info.name,
            "path": info.path,
            "snapshot_sha256": info.snapshot_sha256,
            "dataset_sha256": info.dataset_sha256,
            "overridden": list(info.overridden),
        },
        "run": {
            "id": run.id,
            "started_at": run.started_at,
            "finished_at": run.finished_at,
            "version": run.version,
            "workers": run.workers,
            "latency_s": dict(run.latency_s),
            "usage": dict(run.usage) if run.usage is not None else None,
        },
        "complete": result.complete,
        "counts": asdict(result.counts),
        "metrics": {name: asdict(summary) for name, summary in result.metrics.items()},
        "weighted_score": asdict(result.weighted_score),
        "avg": {f"avg_{name}": summary.mean for name, summary in result.metrics.items()},
        "gates": [gate_dict(gate) for gate in result.gates],
        "comparison": None,
    }


def gate_dict(gate: GateResult) -> dict[str, Any]:
    """Return a gate as the file has it."""
    return {
        "name": gate.name,
        "outcome": gate.outcome,
        "observed": gate.observed,
        "bound": gate.bound,
        "message": gate.message,
    }


def sample_dict(sample: SampleResult) -> dict[str, Any]:
    """Return a sample as the file has it."""
    return {
        "id": sample.sample_id,
        "index": sample.index,
        "doc_name": sample.doc_name,
        "sample_weight": sample.sample_weight,
        "weighted_score": sample.weighted_score,
        "outcome": sample.outcome,
        "question": sample.question,
        "answer": sample.answer,
        "contexts": sample.contexts,
        "references": sample.references,
        "metadata": sample.metadata or {},
        "scores": sample.scores or {},
        "reasons": sample.reasons or {},
        "details": json_plain(sample.details) if sample.details else {},
        "errors": sample.errors or {},
    }


# Made once: json.dumps with these arguments would make an encoder for every sample.
_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode


REPORTS = (ResultsJson(),)

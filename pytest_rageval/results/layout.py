"""The layout of ``results.json``: its version, its keys, and one sample per line.

Except for ``run``, equal runs give equal bytes, and ``diff`` can compare two runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_rageval.model import (
    CAUSES,
    FILLED_AS,
    NOTHING,
    WEIGHTED_SCORE,
    Agreement,
    Bound,
    Cause,
    Comparison,
    ControlVerdict,
    Counts,
    Estimate,
    GateResult,
    MadeQuestions,
    MetricColumn,
    MetricSummary,
    RunInfo,
    SampleResult,
    Sampling,
    ScenarioResult,
    Value,
    WeightedSummary,
    json_plain,
)
from pytest_rageval.stats.summary import reply_counts
from pytest_rageval.stats.verdict import is_judged
from pytest_rageval.stats.weights import count_groups
from pytest_rageval.text.codec import as_json, from_json, to_json

RESULTS_SCHEMA: Final = 1
"""The version that is written, and the only one that is read."""

_SAMPLES_BEGIN: Final = '"samples": [\n'


class Scale(Value, frozen=True):
    """How the scores of a metric enter the weighted score; None is an end that is open."""

    range: tuple[float | None, float | None] = (0.0, 1.0)
    higher_is_better: bool = True
    as_is: bool = False


class SavedScenario(Value, frozen=True, kw_only=True):
    """What a run says of its scenario; earlier versions did not save what has a default."""

    name: str
    path: str
    test: str = ""
    """The test function over its samples; "" for a run of the file itself."""
    snapshot_sha256: str = ""
    dataset_sha256: str = ""
    overridden: tuple[str, ...] = ()
    judgements_sha256: str = ""
    measured: Mapping[str, Any] = NOTHING
    definitions: Mapping[str, str] = NOTHING
    scales: Mapping[str, Scale] | None = None
    thresholds: Mapping[str, Bound] = NOTHING
    doc_weights: Mapping[str, float] | None = None
    bands: tuple[float, float] = (0.8, 0.6)


class Grouping(Value, frozen=True):
    """By which field samples depend on each other."""

    field: str


class SavedHead(Value, frozen=True, kw_only=True):
    """What the file says of a run, without its samples; what has a default may be missing."""

    schema: int
    scenario: SavedScenario
    run: RunInfo
    complete: bool
    judged: bool = True
    """Whether something judged answers; written only where nothing did."""
    counts: Counts
    metrics: Mapping[str, MetricSummary]
    weighted_score: WeightedSummary
    gates: tuple[GateResult, ...]
    variant: str = ""
    groups: Grouping | None = None
    causes: Mapping[Cause, int] | None = None
    """How many low answers have which cause; None where nobody asked for causes."""
    controls: Mapping[str, ControlVerdict] = NOTHING
    comparisons: tuple[Comparison, ...] = ()
    sample: Sampling | None = None
    """Which rows of the data were asked; None where all were."""
    made: MadeQuestions | None = None
    """How many questions a model wrote; None without any, and in runs of earlier versions."""
    estimates: Mapping[str, Estimate] = NOTHING

    @property
    def columns(self) -> tuple[MetricColumn, ...]:
        """The metrics; one of an earlier version, without a scale, is taken to be from 0 to 1."""
        scales, definitions = self.scenario.scales or NOTHING, self.scenario.definitions
        return tuple(
            MetricColumn(
                name,
                metric.weight,
                (scale := scales.get(name, Scale())).range,
                scale.higher_is_better,
                definition=definitions.get(name, ""),
                as_is=scale.as_is,
                filled=FILLED_AS in definitions.get(name, ""),
            )
            for name, metric in self.metrics.items()
        )


class ResultsFile(SavedHead, frozen=True, kw_only=True):
    """The whole file."""

    samples: Sequence[SampleResult]


def results_chunks(result: ScenarioResult, run: RunInfo) -> Iterator[str]:
    """Yield the text of the file in parts."""
    yield "{\n"
    for key, value in _head(result, run).items():
        yield f"{to_json(key)}: {to_json(value, 0)},\n"
    yield _SAMPLES_BEGIN
    last = len(result.samples) - 1
    for at, sample in enumerate(result.samples):
        yield to_json(sample_dict(sample), 0) + ("\n" if at == last else ",\n")
    yield "]}\n"


def read_head(path: Path) -> SavedHead:
    """Return what ``results_chunks`` wrote but for the samples, which are not read.

    Raises OSError, or ValueError for what is no such file, or one of another schema.
    """
    lines: list[str] = []
    with path.open(encoding="utf-8-sig") as stream:
        for line in stream:
            if line == _SAMPLES_BEGIN:
                lines.append('"samples": []}')
                break
            lines.append(line)
    head = from_json("".join(lines), SavedHead)
    if head.schema != RESULTS_SCHEMA:
        raise ValueError(f"schema {head.schema}")
    return head


def _head(result: ScenarioResult, run: RunInfo) -> dict[str, Any]:
    info = result.info
    return {
        "schema": RESULTS_SCHEMA,
        **_known(variant=info.variant),
        "scenario": SavedScenario(
            name=info.name,
            path=info.path,
            test="" if info.is_of_file else info.nodeid,
            snapshot_sha256=info.snapshot_sha256,
            dataset_sha256=info.dataset_sha256,
            overridden=info.overridden,
            judgements_sha256=info.judgements_sha256,
            measured=info.measured,
            definitions={column.name: column.definition for column in info.metrics},
            scales={
                column.name: Scale(column.ends, column.higher_is_better, column.as_is)
                for column in info.metrics
            },
            thresholds=info.thresholds,
            doc_weights=info.doc_weights,
            bands=info.bands,
        ),
        "run": {
            "id": run.id,
            "started_at": run.started_at,
            "finished_at": run.finished_at,
            "version": run.version,
            "workers": run.workers,
            "latency_s": run.latency_s,
            "answer_latency_s": run.answer_latency_s,
            "usage": run.usage,
        },
        "complete": result.complete,
        **({} if is_judged(result) else {"judged": False}),
        "counts": result.counts,
        **_known(made=info.made),
        **_sample(result),
        **_causes(result),
        **_groups(result),
        "metrics": {
            name: {
                **as_json(summary),
                **_known(
                    corrected=result.corrected.get(name),
                    # How many replies of the judge were usable and not; none where all were.
                    replies=reply_counts(result.samples, name),
                ),
            }
            for name, summary in result.metrics.items()
        },
        "weighted_score": {
            **as_json(result.weighted_score),
            **_known(corrected=result.corrected.get(WEIGHTED_SCORE)),
        },
        "avg": {f"avg_{name}": summary.mean for name, summary in result.metrics.items()},
        "gates": [gate_dict(gate) for gate in result.gates],
        "comparison": None if result.comparison is None else comparison_dict(result.comparison),
        "comparisons": [comparison_dict(comparison) for comparison in result.comparisons],
        **_known(controls=result.controls, agreement=_agreement(result)),
    }


def _known(**values: Any) -> dict[str, Any]:
    """Return what is neither empty nor None: earlier versions wrote no such key."""
    return {name: value for name, value in values.items() if value}


def _groups(result: ScenarioResult) -> dict[str, Any]:
    found = count_groups(result.info, result.samples)
    return {} if found is None else {"groups": {"field": result.info.group_by, "n": found}}


def _causes(result: ScenarioResult) -> dict[str, Any]:
    """Return how many low answers have which cause; {} where nobody asked for causes."""
    if result.info.diagnose is None:
        return {}
    found = Counter(sample.cause for sample in result.samples)
    return {"causes": {cause: found[cause] for cause in CAUSES if found[cause]}}


def _sample(result: ScenarioResult) -> dict[str, Any]:
    """Return which rows were asked and the means estimated over all, {} where all were asked."""
    found = result.info.sample
    if found is None:
        return {}
    named = ("n", "seed", "against", "rows")
    sample = {**{name: getattr(found, name) for name in named}, "drawn": sorted(found.drawn)}
    return {"sample": sample, "estimates": result.estimates}


def _agreement(result: ScenarioResult) -> dict[str, Any]:
    return {
        name: {**as_json(found), "cells": _cells(found, result)}
        for name, found in result.agreement.items()
    }


def _cells(found: Agreement, result: ScenarioResult) -> dict[str, list[str]]:
    """Return the samples on which judge and people differ, by the cell of the confusion table."""
    return {
        cell: [result.samples[at].sample_id for at in positions]
        for cell, positions in found.cells.items()
        if len(set(cell.split(","))) > 1
    }


def comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison in the layout of the file, with UltraRAG's names for the two means."""
    found: dict[str, Any] = as_json(comparison)
    for metric in found["metrics"].values():
        if metric["groups"] is None:
            del metric["groups"]
    if comparison.looks == 1:
        del found["looks"]
    return found


def gate_dict(gate: GateResult) -> dict[str, Any]:
    """Return a gate as the file has it: no margin, and no empty baseline, metric, flip chance."""
    found: dict[str, Any] = as_json(gate)
    del found["margin"]
    for name in ("baseline", "metric", "flip_chance"):
        if not found[name]:
            del found[name]
    return found


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
        **({"left_out": sample.left_out} if sample.left_out else {}),
        **({} if sample.confidence is None else {"confidence": sample.confidence}),
        **({"cause": sample.cause, "cause_reason": sample.cause_reason} if sample.cause else {}),
    }

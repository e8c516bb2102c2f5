"""``evaluation_rows.json``: a row for each sample and metric, with the keys of DB-GPT's results.

But for ``prediction_cost``, equal runs give equal bytes. One row a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pytest_rageval.metrics.registry import METRIC_REGISTRY
from pytest_rageval.model import (
    RETRIEVAL,
    MetricColumn,
    RunInfo,
    SampleResult,
    ScenarioResult,
    json_plain,
)
from pytest_rageval.reports.base import RunFolder
from pytest_rageval.stats.weights import is_scored


class EvaluationRows:
    """Writes ``evaluation_rows.json``, where it is asked for."""

    name = "evaluation_rows.json"
    aliases = ("dbgpt",)
    on_request = True

    def write(self, result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
        """Write the file: a list, samples in dataset order, metrics in the scenario's."""
        folder.put(self.name, _chunks(result, run))


def _chunks(result: ScenarioResult, run: RunInfo) -> Iterator[str]:
    before = "[\n"
    for row in evaluation_rows(result, run):
        yield before + json.dumps(row, ensure_ascii=False, allow_nan=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def evaluation_rows(result: ScenarioResult, run: RunInfo) -> Iterator[dict[str, Any]]:
    """Yield the rows: what was asked, what came of it, what it was compared with, and the score.

    Of a metric of retrieval, ``prediction`` is what was retrieved and ``contexts`` what was
    expected (as far as the results show it); of all others, the answer and its contexts.
    ``passing`` is None where the metric has no threshold or no score. Milliseconds.
    """
    of_retrieval = {column.name: _is_of_retrieval(column) for column in result.info.metrics}
    for sample in result.samples:
        raw, cost = _raw(sample), _cost_ms(sample, run)
        for name, retrieves in of_retrieval.items():
            score = sample.scores.get(name)
            yield {
                "query": sample.question,
                **(_retrieved(sample) if retrieves else _answered(sample)),
                "score": score if is_scored(score) else None,
                "passing": _passing(result, name, score),
                "metric_name": name,
                "prediction_cost": cost,
                "raw_dataset": raw,
                "feedback": sample.reasons.get(name) or _error(sample, name),
            }


def _is_of_retrieval(column: MetricColumn) -> bool:
    """Return whether a metric compares what was retrieved, and looks at no answer."""
    name = METRIC_REGISTRY.canonical(column.definition.partition(" ")[0])
    if name is None:
        return False
    info = METRIC_REGISTRY.get(name).info
    needs = info.needs | info.or_needs
    return "answer" not in needs and bool(needs & {"contexts", "retrieved_ids", "context_docs"})


def _answered(sample: SampleResult) -> dict[str, Any]:
    return {"prediction": sample.answer, "contexts": _listed(sample.contexts)}


def _retrieved(sample: SampleResult) -> dict[str, Any]:
    shown = sample.details.get(RETRIEVAL, {})
    found = _listed(sample.contexts)
    if found is None and "first" in shown:
        found = [document for document, _grade in shown["first"]]
    return {"prediction": found, "contexts": _listed(shown.get("first_expected"))}


def _listed(texts: Any) -> list[Any] | None:
    return None if texts is None else list(texts)


def _passing(result: ScenarioResult, name: str, score: float | None) -> bool | None:
    bound = result.info.thresholds.get(name)
    return None if bound is None or score is None else bound.holds(score)


def _cost_ms(sample: SampleResult, run: RunInfo) -> int:
    """Return how long the answer took where it was asked for, else the scoring."""
    scoring = run.latency_s.get(sample.sample_id, 0.0)
    answer = sample.answer_latency_s
    return round(1000 * (scoring if answer is None else answer))


def _raw(sample: SampleResult) -> Any:
    """Return the row as it was read, without what stands beside it already."""
    if sample.invalid is not None:
        return sample.raw
    known = {
        "id": sample.sample_id,
        "query": sample.question,
        "doc_name": sample.doc_name,
        "references": sample.references,
    }
    named = {key: value for key, value in known.items() if value is not None}
    return json_plain({**named, **sample.metadata})


def _error(sample: SampleResult, name: str) -> str | None:
    return sample.errors.get(name) or sample.errors.get("row") or sample.errors.get("target")


REPORTS = (EvaluationRows(),)

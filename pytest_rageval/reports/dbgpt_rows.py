"""``evaluation_rows.json``: DB-GPT's response, a row for each sample and metric under its keys.

Except for ``prediction_cost``, equal runs give equal bytes. One sample per line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pytest_rageval.model import (
    RETRIEVAL,
    RunInfo,
    SampleResult,
    ScenarioResult,
    json_plain,
)
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.run_paths import EVALUATION_ROWS
from pytest_rageval.stats.verdict import passing_of
from pytest_rageval.stats.weights import is_scored


def _chunks(result: ScenarioResult, run: RunInfo) -> Iterator[str]:
    yield '{"success": true, "err_code": null, "err_msg": null, "data": ['
    before = "\n"
    for rows in evaluation_rows(result, run):
        yield before + json.dumps(rows, ensure_ascii=False, allow_nan=False)
        before = ",\n"
    yield "]}\n" if before == "\n" else "\n]}\n"


def evaluation_rows(result: ScenarioResult, run: RunInfo) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of each sample in dataset order, one for each metric; times in milliseconds.

    For a retrieval metric, ``prediction`` is what was retrieved and ``contexts`` what was expected;
    for others, the answer and its contexts. ``passing`` is False if the metric returned that, else
    it follows from the threshold, else from the metric; None without either, or without a score.
    """
    answers = not all(column.retrieves for column in result.info.metrics)
    for sample in result.samples:
        raw, cost = _raw(sample, answers=answers), _cost_ms(sample, run)
        rows = []
        for column in result.info.metrics:
            name = column.name
            score = sample.scores.get(name)
            errors = (sample.errors.get(key) for key in (name, "row", "target"))
            rows.append(
                {
                    "query": sample.question,
                    **_predicted(sample, retrieves=column.retrieves),
                    "score": score if is_scored(score) else None,
                    "passing": _passing(result, sample, name, score),
                    "metric_name": column.written or name,
                    "prediction_cost": cost,
                    "raw_dataset": raw,
                    "feedback": sample.reasons.get(name) or next(filter(None, errors), None),
                }
            )
        yield rows


def _predicted(sample: SampleResult, *, retrieves: bool) -> dict[str, Any]:
    if not retrieves:
        return {"prediction": sample.answer, "contexts": _listed(sample.contexts)}
    shown = sample.details.get(RETRIEVAL, {})
    found = _listed(sample.contexts)
    if found is None and "first" in shown:
        found = [document for document, _grade in shown["first"]]
    return {"prediction": found, "contexts": _listed(sample.expected)}


def _listed(texts: Any) -> list[Any] | None:
    return None if texts is None else list(texts)


def _passing(
    result: ScenarioResult, sample: SampleResult, name: str, score: float | None
) -> bool | None:
    bound, own = result.info.thresholds.get(name), passing_of(sample, name)
    if own is False:
        return False
    if score is None:
        return None
    return own if bound is None else bound.holds(score)


def _cost_ms(sample: SampleResult, run: RunInfo) -> int:
    """Return how long the target took to answer; without a target, how long scoring took."""
    scoring = run.latency_s.get(sample.sample_id, 0.0)
    answer = sample.answer_latency_s
    return round(1000 * (scoring if answer is None else answer))


def _raw(sample: SampleResult, *, answers: bool) -> Any:
    """Return the row as it was read.

    Where ``answers`` are evaluated, ``factual`` are the expected contexts, else the retrieved ones.
    """
    if sample.invalid is not None:
        return sample.raw
    known = {
        "id": sample.sample_id,
        "query": sample.question,
        "doc_name": sample.doc_name,
        "references": sample.references,
        "factual": _listed(sample.expected or sample.contexts) if answers else None,
    }
    named = {key: value for key, value in known.items() if value is not None}
    return json_plain({**named, **sample.metadata})


def _write(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    folder.put(EVALUATION_ROWS, _chunks(result, run))


REPORTS = (Report(EVALUATION_ROWS, _write, aliases=("dbgpt",), on_request=True),)

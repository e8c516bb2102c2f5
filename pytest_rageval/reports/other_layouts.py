"""Results in the layouts of other tools: UltraRAG's result file, DB-GPT's response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_rageval.model import (
    RETRIEVAL,
    MetricComparison,
    RunInfo,
    SampleResult,
    ScenarioResult,
    json_plain,
)
from pytest_rageval.reports.base import Report, RunFolder, write_atomically
from pytest_rageval.run_paths import EVALUATION_ROWS, of_variant
from pytest_rageval.stats.verdict import passing_of
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.text.codec import read_json


def _write_ultrarag(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the file that ``save_path`` names, relative to ``folder.root``; none without it.

    Each variant has its own: ``results.json`` becomes ``results-dense.json``. A run of pytest has
    taken ``save_path`` out: ``SavePaths`` of the plugin writes the file.
    """
    if result.info.save_path is not None:
        path = of_variant(folder.root / result.info.save_path, result.info.variant)
        write_ultrarag(result, path)


def write_ultrarag(result: ScenarioResult, path: Path) -> None:
    """Write scores and means, or a comparison, as UltraRAG's result file. Raises OSError."""
    text = json.dumps(_ultrarag_figures(result), ensure_ascii=False, indent=4)
    write_atomically(path, [text, "\n"])


def samples_in(path: Path) -> int:
    """Return the most scores that UltraRAG's file lists of a metric; 0 if none, or no such file."""
    try:
        kept = read_json(path.read_bytes())
    except (OSError, ValueError):
        return 0
    lists = kept.values() if isinstance(kept, dict) else ()
    return max((_known(scores) for scores in lists if isinstance(scores, list)), default=0)


def _known(scores: list[Any]) -> int:
    return sum(score is not None for score in scores)


def _ultrarag_figures(result: ScenarioResult) -> dict[str, Any]:
    if not result.info.judgements_sha256:
        lists = {
            name: [sample.scores.get(name) for sample in result.samples] for name in result.metrics
        }
        return lists | {f"avg_{name}": found.mean for name, found in result.metrics.items()}
    if result.comparison is None:
        return {_trec_name(name): found.mean for name, found in result.metrics.items()}
    compared, alpha = result.comparison.metrics, result.comparison.alpha
    return {
        _trec_name(name): _two_runs(compared[name], alpha)
        for name in result.metrics
        if name in compared
    }


def _two_runs(found: MetricComparison, alpha: float) -> dict[str, Any]:
    """Return UltraRAG's keys for a metric in two runs; the p-value is not adjusted."""
    return {
        "A_mean": found.a_mean,
        "B_mean": found.b_mean,
        "diff": found.diff,
        "p_value": found.p_value,
        "significant": found.p_value is not None and found.p_value < alpha,
    }


def _trec_name(name: str) -> str:
    """Return UltraRAG's name of a metric.

    >>> _trec_name("precision@10"), _trec_name("ndcg@10")
    ('P@10', 'ndcg@10')
    """
    return f"P@{name.removeprefix('precision@')}" if name.startswith("precision@") else name


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
        raw, cost = _raw_row(sample, answers=answers), _cost_ms(sample, run)
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
    """Return how long the target took to answer; where none did, how long scoring took."""
    scoring = run.latency_s.get(sample.sample_id, 0.0)
    answer = sample.answer_latency_s
    return round(1000 * (scoring if answer is None else answer))


def _raw_row(sample: SampleResult, *, answers: bool) -> Any:
    """Return the text of an invalid row; of a sample, what is known of its row, and the metadata.

    ``factual`` is there only where ``answers`` are evaluated: the expected contexts or, without
    any, the retrieved ones.
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


def _write_dbgpt(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    folder.put(EVALUATION_ROWS, _chunks(result, run))


REPORTS = (
    Report("ultrarag.json", _write_ultrarag),
    Report(EVALUATION_ROWS, _write_dbgpt, aliases=("dbgpt",), on_request=True),
)

"""``scores.csv`` and ``invalid.csv``: one line per sample, safe to open in a spreadsheet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from pytest_rageval.model import CAUSE, RunInfo, SampleResult, ScenarioResult
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.stats.verdict import shown_errors
from pytest_rageval.text.printable import csv_text, quoted

_LEADING = ("sample_id", "question", "answer", "doc_name")
_TRAILING = ("weighted_score", "sample_weight", "outcome", "error")


def _write_scores(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the scores of every case with its metadata; an unscored metric is a blank cell."""
    metrics = list(result.metrics)
    metadata = result.info.metadata_columns
    taken = {*_LEADING, *metrics, *_TRAILING}
    shown = [f"metadata.{column}" if column in taken else column for column in metadata]
    causes = [] if result.info.diagnose is None else [CAUSE]
    header = [*_LEADING, *shown, *metrics, *_TRAILING, *causes]
    rows = (
        [*_score_row(sample, metadata, metrics), *(sample.cause for _ in causes)]
        for sample in result.samples
    )
    folder.put("scores.csv", csv_lines(header, rows))


def _write_invalid(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the invalid rows with the reason; only the header where there are none."""
    rows = (
        [sample.sample_id, sample.row, sample.line, sample.invalid, sample.raw]
        for sample in result.samples
        if sample.invalid is not None
    )
    folder.put("invalid.csv", csv_lines(["sample_id", "row", "line", "reason", "raw"], rows))


def _score_row(sample: SampleResult, metadata: Sequence[str], metrics: Sequence[str]) -> list[Any]:
    errors = "; ".join(f"{name}: {text}" for name, text in shown_errors(sample).items())
    return [
        sample.sample_id,
        sample.question,
        sample.answer,
        sample.doc_name,
        *(sample.metadata.get(column) for column in metadata),
        *(sample.scores.get(metric) for metric in metrics),
        sample.weighted_score,
        sample.sample_weight,
        sample.outcome,
        errors,
    ]


def csv_lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Return a table as CSV text, record by record."""
    return csv_text([_cell(value) for value in row] for row in chain([header], rows))


_dump = json.JSONEncoder(ensure_ascii=False, default=str).encode


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, int | float):
        return value
    return quoted(value if isinstance(value, str) else _dump(value))


REPORTS = (Report("scores.csv", _write_scores), Report("invalid.csv", _write_invalid))

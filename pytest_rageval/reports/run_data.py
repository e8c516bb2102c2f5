"""What programs and spreadsheets read of a run: its results, metadata, scenario and scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from pytest_rageval.model import CAUSE, RunInfo, SampleResult, ScenarioResult
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.results.layout import results_chunks
from pytest_rageval.stats.verdict import shown_errors
from pytest_rageval.text.printable import csv_text, one_line, quoted


def _write_results(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the whole result, for programs and for later comparisons."""
    folder.put("results.json", results_chunks(result, run))


def _write_metadata(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the run in a few keys, for tools that list runs."""
    counts = result.counts
    plain = {
        "run_id": run.id,
        "scenario_name": result.info.name,
        **({"variant": result.info.variant} if result.info.variant else {}),
        "description": result.info.description,
        "scenario_path": result.info.path,
        "mode": "online" if result.info.target else "offline",
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "version": run.version,
        "commit": run.commit,
        "dataset_sha256": result.info.dataset_sha256,
        "complete": result.complete,
        "valid_samples": counts.ran - counts.invalid,
        "invalid_samples": counts.invalid,
        "overridden": list(result.info.overridden),
        "warnings": list(result.info.warnings),
    }
    folder.put("metadata.json", [json.dumps(plain, ensure_ascii=False, indent=2), "\n"])


def _write_snapshot(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the scenario as it ran, after overrides."""
    overridden = [f"# overridden: {path}\n" for path in result.info.overridden]
    folder.put("scenario.snapshot.yaml", [*overridden, result.info.snapshot])


_LEADING = ("sample_id", "question", "answer", "doc_name")
_TRAILING = ("weighted_score", "sample_weight", "outcome", "error")


def _write_scores(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the scores of every case with its metadata; an unscored metric is a blank cell."""
    metrics = list(result.metrics)
    metadata = result.info.metadata_columns
    causes = [] if result.info.diagnose is None else [CAUSE]
    ours = {*_LEADING, *_TRAILING, *causes}
    measured = [f"score.{name}" if name in ours else name for name in metrics]
    taken = {*ours, *metrics, *measured}
    shown = [f"metadata.{column}" if column in taken else column for column in metadata]
    header = [*_LEADING, *shown, *measured, *_TRAILING, *causes]
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


def _write_holes(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write which of the first results nobody judged, with a blank grade; nothing without any."""
    if not any(column.retrieves for column in result.info.metrics):
        return
    # Not at the top: most scenarios have no ranking.
    from pytest_rageval.stats.holes import first_holes

    rows = [
        (one_line(sample.sample_id), one_line(name), str(rank), "")
        for sample in result.samples
        for rank, name in first_holes(sample)
    ]
    if rows:
        header = ("query", "document", "rank", "grade")
        folder.put("holes.tsv", ("\t".join(row) + "\n" for row in (header, *rows)))


def _write_filled(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    """Write the grades of the judge that filled holes, as qrels; nothing without any."""
    if not any(column.filled for column in result.info.metrics):
        return
    # Not at the top: most scenarios have no holes filled.
    from pytest_rageval.stats.filled import grades_of_judge

    lines = [
        f"{one_line(query)}\tJ\t{one_line(name)}\t{grade}\n"
        for query, name, grade in grades_of_judge(result.samples)
    ]
    if lines:
        folder.put("filled.qrels", lines)


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


_NUMBERS: Final = (int, float)  # a union would be built anew for each cell
_dump = json.JSONEncoder(ensure_ascii=False, default=str).encode


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, _NUMBERS):
        return value
    return quoted(value if isinstance(value, str) else _dump(value))


REPORTS = (
    Report("results.json", _write_results, aliases=("json",)),
    Report("metadata.json", _write_metadata),
    Report("scenario.snapshot.yaml", _write_snapshot),
    Report("scores.csv", _write_scores),
    Report("invalid.csv", _write_invalid),
    Report("holes.tsv", _write_holes),
    Report("filled.qrels", _write_filled),
)

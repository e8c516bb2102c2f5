"""Writes samples as the rows of a data set that reads back as the same samples."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.datasets.cells import is_filled
from pytest_rageval.model import Sample, SampleResult, ScenarioResult, answer_digest
from pytest_rageval.scenario.column_names import says_opposite
from pytest_rageval.scenario.fields import FIELD_ALIASES, OF_ANSWERS
from pytest_rageval.text.json_value import head_of
from pytest_rageval.text.printable import QUOTE_COLUMN, csv_text, kept

_ORDER: Final = (
    *("id", "question", "doc_name", "skip", "xfail", "references", "answer", "contexts"),
    *("reference_contexts", "retrieved_ids", "must_include", "must_not_include", "must_match"),
    *("answer_checks", "must_satisfy", "tags", "answerable", "citations", "reference_citations"),
    *("history", "confidence", "nuggets", "reference_ids"),
)
"""The fields of a row, in the order in which they are written."""


def columns_of(key_map: Mapping[str, str]) -> dict[str, str]:
    """Return for each field of a sample the column that a reader with ``key_map`` expects."""
    taken = {part for column in key_map.values() for part in (column, head_of(column))}
    return {
        name: key_map.get(name)
        or next((alias for alias in aliases if alias not in taken), aliases[0])
        for name, aliases in (FIELD_ALIASES | OF_ANSWERS).items()
    }


def row_of(sample: Sample, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return a row with all values of a sample; missing ones are left out.

    Metadata are in the columns that they came from; contexts are objects that name their document.
    """
    known: dict[str, Any] = {name: getattr(sample, name) for name in _ORDER}
    known["references"] = sample.reference_groups or sample.references
    known["contexts"] = _contexts(sample)
    known["retrieved_ids"] = sample.context_ids or sample.retrieved_ids
    known["tags"] = sample.tags or None
    known["reference_ids"] = sample.reference_ids and dict(sample.reference_ids)
    for name in ("history", "nuggets"):
        known[name] = known[name] and [dict(part) for part in known[name]]
    if sample.answerable is not None and says_opposite("answerable", columns["answerable"]):
        known["answerable"] = not sample.answerable
    if sample.confidence is not None and says_opposite("confidence", columns["confidence"]):
        known["confidence"] = round(1.0 - sample.confidence, 12)
    if sample.cited_sentences is not None:
        known["answer"] = [
            {"text": text, "citations": [c - 1 if isinstance(c, int) else c for c in cited]}
            for text, cited in sample.cited_sentences
        ]
    known |= {name: True for name in ("skip", "xfail") if known[name] == ""}
    filled = {columns[name]: value for name, value in known.items() if value is not None}
    metadata = {name: part for name, part in sample.metadata.items() if name not in filled}
    return {**filled, **metadata}


def _contexts(sample: Sample) -> list[dict[str, str]] | None:
    if sample.contexts is None:
        return None
    docs = sample.context_docs or (None,) * len(sample.contexts)
    return [
        {"text": text} if doc is None else {"text": text, "doc_name": doc}
        for text, doc in zip(sample.contexts, docs, strict=True)
    ]


def saved_rows(
    result: ScenarioResult, label_columns: Sequence[str]
) -> tuple[list[Mapping[str, Any]], int]:
    """Return the rows of a run with its answers, and how many may have labels of another answer.

    A label in a column is about the answer that was in its row; for a label that the run did not
    count, that answer is not known. If any row has such labels, those of all rows are left out: the
    others would be no random draw. A row without an answer has no labels.
    """
    heads = frozenset(map(head_of, label_columns))
    pairs = [(sample, row) for sample in result.samples if (row := sample.dataset_row) is not None]
    answered = [(sample, row) for sample, row in pairs if sample.answer is not None]
    others = sum(
        any(map(_says, map(row.get, heads))) and not _is_of_answer(sample, result, heads)
        for sample, row in answered
    )
    rows = (
        {k: v for k, v in row.items() if k not in heads} if others or sample.answer is None else row
        for sample, row in pairs
    )
    return list(rows), others


def _says(value: Any) -> bool:
    """Return whether a cell has a label: in a list or an object of them, too."""
    if isinstance(value, Mapping):
        value = list(value.values())
    return any(map(_says, value)) if isinstance(value, list | tuple) else is_filled(value)


def _is_of_answer(sample: SampleResult, result: ScenarioResult, heads: Collection[str]) -> bool:
    """Return whether a label in a row's columns is known to be about the run's answer."""
    digest = answer_digest(sample.answer, sample.contexts)
    of_metrics = (human.labels.get(sample.sample_id, ()) for human in result.info.human)
    labels = (label for labels in of_metrics for label in labels)
    return any(label.digest == digest and head_of(label.annotator) in heads for label in labels)


def rows_text(rows: Sequence[Mapping[str, Any]], suffix: str) -> Iterator[str]:
    """Yield the text of a data file, ``.jsonl``, ``.json`` or ``.csv``, in parts.

    In CSV, a list or object is written as JSON. Texts that a spreadsheet would run as formulas,
    and blank ones, are quoted, which an extra column tells the reader.
    """
    if suffix == ".csv":
        yield from _table(rows)
        return
    is_list = suffix == ".json"
    yield "[\n" if is_list else ""
    for at, row in enumerate(rows):
        yield _dump(row) + (",\n" if is_list and at < len(rows) - 1 else "\n")
    yield "]\n" if is_list else ""


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    header = list(dict.fromkeys(name for row in rows for name in row))
    table: list[list[Any]] = [header, *([row.get(name) for name in header] for row in rows)]
    if any(isinstance(value, str) and value != kept(value) for row in table for value in row):
        table = [[*(kept(v) if isinstance(v, str) else v for v in row), None] for row in table]
        table[0][-1] = QUOTE_COLUMN
    yield from csv_text(
        [value if value is None or isinstance(value, str) else _dump(value) for value in row]
        for row in table
    )


_dump = json.JSONEncoder(ensure_ascii=False, default=str).encode

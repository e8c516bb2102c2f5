"""The sheet in which people label answers: as CSV, and as plain data for the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from pytest_rageval.text.printable import csv_text, quoted

COLUMNS: Final = (
    *("question", "contexts", "answer", "id"),
    *("metric", "annotator", "label", "note", "drawn", "digest"),
)
"""The columns of a sheet. The page that downloads one has them too (label.js)."""

_MARK: Final = "\ufeff"  # without it spreadsheets take UTF-8 for an old code page


@dataclass(frozen=True, slots=True)
class LabelRow:
    """An answer to be labelled: ``digest`` is its ``answer_digest``, ``drawn`` as in ``Label``."""

    sample_id: str
    question: str
    contexts: Sequence[str]
    answer: str
    digest: str
    drawn: str


@dataclass(frozen=True, slots=True)
class LabelSheet:
    """What people are asked to label, in this order; nothing in it is from the judge."""

    scenario: str
    metric: str
    levels: Sequence[float]
    rows: Sequence[LabelRow]
    file_name: str
    annotator: str = ""
    meanings: Sequence[str] = ()
    """What the levels mean, in their order, or nothing."""
    question: str = ""
    """What is asked about each answer."""


def sheet_csv(sheet: LabelSheet) -> Iterator[str]:
    """Yield the sheet as CSV text, with labels and notes left blank.

    It begins with a byte order mark; texts are quoted as ``text.csv_text.quoted`` has it.
    """
    yield _MARK
    yield from csv_text(chain([COLUMNS], (_cells(sheet, row) for row in sheet.rows)))


def _cells(sheet: LabelSheet, row: LabelRow) -> list[str]:
    contexts = "\n\n".join(f"[{at}] {text}" for at, text in enumerate(row.contexts, 1))
    texts = (row.question, contexts, row.answer, row.sample_id, sheet.metric, sheet.annotator)
    return [*map(quoted, texts), "", "", row.drawn, row.digest]

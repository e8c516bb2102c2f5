"""Made questions for people to review: as CSV, and as a page with the passages behind them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Final

from pytest_rageval.datasets.answer_fields import nuggets_of
from pytest_rageval.datasets.reviews import (
    ACCEPT,
    EDIT,
    REJECT,
    evidence_of,
    passages_of,
    reference_of,
    review_digest,
)
from pytest_rageval.model import Sample
from pytest_rageval.reports.page.assemble import page_of
from pytest_rageval.text.printable import csv_text, quoted

COLUMNS: Final = (
    *("id", "question", "reference", "evidence"),
    *("doc_name", "section_path", "question_type"),
    *("verdict", "reviewer", "note", "digest"),
)
"""The columns of a file of reviews. The page that downloads one has them too (review_sheet.js)."""

_MARK: Final = "\ufeff"  # without it spreadsheets take UTF-8 for an old code page


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A question to be reviewed; ``digest`` is its ``review_digest``."""

    sample_id: str
    question: str
    reference: str
    evidence: Sequence[str]
    passages: Sequence[str]
    """What the evidence is quoted from; only the page shows it."""
    doc_name: str
    section_path: str
    question_type: str
    digest: str
    nuggets: Sequence[Mapping[str, str]] = ()
    """What an answer has to say; only the page shows it, to be read."""

    @classmethod
    def of(cls, sample: Sample) -> ReviewRow:
        """Return the row of a question."""
        return cls(
            sample.id,
            sample.question or "",
            reference_of(sample),
            evidence_of(sample),
            passages_of(sample),
            sample.doc_name or "",
            str(sample.metadata.get("section_path", "")),
            str(sample.metadata.get("question_type", "")),
            review_digest(sample),
            nuggets_of(sample),
        )


@dataclass(frozen=True, slots=True)
class ReviewSheet:
    """The questions that people are asked to review, in this order."""

    scenario: str
    description: str
    rows: Sequence[ReviewRow]
    file_name: str
    annotator: str = ""


def review_csv(sheet: ReviewSheet) -> Iterator[str]:
    """Yield the sheet as CSV text, with verdicts, names and notes left blank.

    It begins with a byte order mark; texts are quoted as ``text.csv_text.quoted`` has it.
    """
    yield _MARK
    yield from csv_text(chain([COLUMNS], map(_cells, sheet.rows)))


def _cells(row: ReviewRow) -> list[str]:
    texts = (row.sample_id, row.question, row.reference, "\n\n".join(row.evidence))
    places = (row.doc_name, row.section_path, row.question_type)
    return [*map(quoted, (*texts, *places)), "", "", "", row.digest]


REVIEW_SCRIPTS: Final = (
    "words.js",
    "review_words.js",
    "elements.js",
    "frame.js",
    "label.js",
    "review_sheet.js",
    "review_start.js",
)
"""In an order in which each may use those before it."""


def review_page_chunks(sheet: ReviewSheet) -> Iterator[str]:
    """Yield the text of the page in parts: one file, in which no text is cut."""
    return page_of(
        sheet.scenario,
        REVIEW_SCRIPTS,
        lambda _: _data(sheet),
        (
            "This page needs JavaScript. Review in the CSV file of the same name instead.",
            "此页面需要 JavaScript；也可在同名的 CSV 文件中审核。",
        ),
    )


def _data(sheet: ReviewSheet) -> dict[str, Any]:
    """Return the sheet as JSON types; a browser keeps its reviews under ``key``."""
    rows = "\n".join(f"{row.sample_id} {row.digest}" for row in sheet.rows)
    digest = hashlib.sha256(rows.encode(errors="backslashreplace")).hexdigest()[:12]
    key = f"rageval {sheet.file_name} {digest}"
    return {**asdict(sheet), "levels": [ACCEPT, REJECT, EDIT], "key": key}

"""Data files with a passage in each row: JSON, JSON Lines, CSV and TSV, read as a corpus is."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row, row_place
from pytest_rageval.datasets.cells import PASSAGE_KEYS, passage_document
from pytest_rageval.datasets.corpus import first_of
from pytest_rageval.datasets.load import reader_of
from pytest_rageval.questions.documents.base import (
    DocumentFormat,
    Part,
    Piece,
    ReadFile,
    UnreadableError,
)
from pytest_rageval.questions.documents.cut import LONGEST, SHORTEST, cut, width
from pytest_rageval.questions.documents.lines import Parts, lines_of
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.stats.wording import counted

_WIDEST_PASSAGE: Final = 20 * LONGEST
"""A text that is wider is no passage of a retriever, and is cut."""


def _read(path: Path) -> ReadFile:
    """Return the passages of a data file; raises UserError, or UnreadableError without any."""
    file = DataFile(path, path.name, DatasetSpec(path=path.name), "corpus")
    pieces: list[Piece] = []
    too_short: list[Piece] = []
    lost: list[str] = []
    rows = 0
    for row in reader_of(file, path.name, "corpus").read(file):
        rows += 1
        found = _pieces(row)
        if isinstance(found, str):
            lost.append(f"{row_place(path.name, row.line, row.number)}: {found}")
        else:
            pieces += found.pieces
            too_short += found.too_short
    if not pieces and not too_short:
        raise UnreadableError(_nothing(rows, lost))
    unread = f"{len(lost)} of {counted(rows, 'row')} cannot be read ({lost[0]})" if lost else ""
    return ReadFile(pieces, too_short, unread)


def _nothing(rows: int, lost: list[str]) -> str:
    if not rows:
        return "no rows"
    return f"no passages in {counted(rows, 'row')} ({lost[0]})"


def _pieces(row: Row | BrokenRow) -> ReadFile | str:
    """Return what is found in a row, as if it were a file, or what the row lacks."""
    if isinstance(row, BrokenRow):
        return row.reason
    found = first_of(row.fields, PASSAGE_KEYS)
    if found is None:
        return f"no text under one of {', '.join(PASSAGE_KEYS)}"
    text = _writable(found).strip()
    document = _writable(passage_document(row.fields) or "")
    title = _writable(first_of(row.fields, ("title",)) or "")
    headings = (title,) if title and title != document else ()
    wide = width(text)
    if wide <= _WIDEST_PASSAGE:
        whole = [Piece(text, headings, document)]
        return ReadFile((), whole) if wide < SHORTEST else ReadFile(whole)
    result = cut(text, _paragraphs(text))
    pieces, too_short = (
        [Piece(piece.text, headings, document) for piece in found]
        for found in (result.pieces, result.too_short)
    )
    return ReadFile(pieces, too_short)


def _paragraphs(text: str) -> list[Part]:
    parts = Parts()
    for line in lines_of(text):
        parts.add(line)
    parts.end()
    return parts.found


def _writable(text: str) -> str:
    r"""Return the text with lone surrogates, which JSON can hold, written as \udXXX."""
    return text.encode("utf-8", "backslashreplace").decode()


FORMATS = (
    DocumentFormat("JSON", ("json",), _read, max_mb=256),
    DocumentFormat("JSON Lines", ("jsonl", "ndjson"), _read, max_mb=256),
    DocumentFormat("CSV", ("csv",), _read, max_mb=256),
    DocumentFormat("TSV", ("tsv",), _read, max_mb=256),
)

"""The chunks of a knowledge base, which questions about their document should retrieve."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rageval.datasets.base import BrokenRow, Row, row_place
from pytest_rageval.datasets.columns.passages import DOCUMENT_KEYS, PASSAGE_KEYS, passage_document
from pytest_rageval.datasets.load import data_file, reader_of
from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.scenario.data_specs import CorpusSpec, DatasetSpec

_LISTED = 5


@dataclass(frozen=True)
class Corpus:
    """The texts of the chunks of each document, in file order; names are in Unicode NFC."""

    shown: str
    chunks: Mapping[str, tuple[str, ...]]

    def of_document(self, doc_name: str) -> tuple[str, ...] | None:
        """Return the chunks of a document, None if it has none."""
        return self.chunks.get(unicodedata.normalize("NFC", doc_name))


def load_corpus(spec: CorpusSpec, base_dir: Path, where: str) -> Corpus:
    """Return the chunks in the file of ``spec``, whose path is relative to ``base_dir``.

    The file may have any data format; each row needs a text and a ``doc_name``. Raises
    ScenarioError that names the rows without them.
    """
    as_dataset = DatasetSpec(**dict(spec))
    file = data_file(as_dataset, base_dir, where, "corpus")
    found: dict[str, dict[str, None]] = {}
    problems: list[Problem] = []
    for row in reader_of(file, where, "corpus").read(file):
        chunk = _chunk(row)
        if isinstance(chunk, str):
            problems.append(Problem(row_place(file.shown, row.line, row.number), chunk))
        else:
            doc_name, text = chunk
            found.setdefault(unicodedata.normalize("NFC", doc_name), {})[text] = None
    if not found and not problems:
        problems.append(Problem(file.shown, "no chunks: an empty corpus expects nothing"))
    if problems:
        more = len(problems) - _LISTED
        rest = [Problem(file.shown, f"and {more} more")] if more > 0 else []
        raise ScenarioError([*problems[:_LISTED], *rest])
    return Corpus(file.shown, {name: tuple(texts) for name, texts in found.items()})


def _chunk(row: Row | BrokenRow) -> tuple[str, str] | str:
    """Return document and text of a chunk, or what it lacks."""
    if isinstance(row, BrokenRow):
        return row.reason
    doc_name = passage_document(row.fields)
    text = _text(row.fields)
    if doc_name is None:
        return f"a chunk needs its document under one of {', '.join(DOCUMENT_KEYS)}"
    if text is None:
        return f"a chunk needs a text under one of {', '.join(PASSAGE_KEYS)}"
    return doc_name, text


def _text(fields: Mapping[str, Any]) -> str | None:
    texts = (fields[key].strip() for key in PASSAGE_KEYS if isinstance(fields.get(key), str))
    return next((text for text in texts if text), None)

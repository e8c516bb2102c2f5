"""The corpus: the chunks that a row should find, and the texts of documents by id."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row, row_place
from pytest_rageval.datasets.cells import DOCUMENT_KEYS, PASSAGE_KEYS, is_missing, passage_document
from pytest_rageval.datasets.load import Dataset, data_file, reader_of
from pytest_rageval.errors import Problem, ScenarioError, listed, shorten
from pytest_rageval.model import Case, InvalidRow, value_text
from pytest_rageval.scenario.column_names import name_key
from pytest_rageval.scenario.data_specs import CorpusSpec, DatasetSpec

_LISTED: Final = 5
_IDS: Final = ("id", "docid", "documentid", "docno", "corpusid", "chunkid", "passageid", "pid")
"""The columns that name a document, without case and punctuation: ``_id`` is an ``id``."""


@dataclass(frozen=True)
class Corpus:
    """The texts of the chunks of each document, in file order; names are stripped and in NFC."""

    shown: str
    chunks: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...] = ()
    """What the reader of the file says of it: that it is one page of several, for instance."""

    def of_document(self, doc_name: str) -> tuple[str, ...] | None:
        """Return the chunks of a document, None if it has none."""
        return self.chunks.get(unicodedata.normalize("NFC", doc_name).strip())


def load_corpus(spec: CorpusSpec, base_dir: Path, where: str) -> Corpus:
    """Return the chunks in the file of ``spec``, whose path is relative to ``base_dir``.

    The file may have any data format; each row needs a text and names its document
    (DOCUMENT_KEYS, else an id). Equal chunks of a document count once. Raises ScenarioError for a
    file that is empty or cannot be read, and naming the first rows without text or document.
    """
    as_dataset = DatasetSpec(**dict(spec))
    file = data_file(as_dataset, base_dir, where, "corpus")
    found: dict[str, dict[str, None]] = {}  # texts by document: a dict is an ordered set
    problems: list[Problem] = []
    for row in reader_of(file, where, "corpus").read(file):
        chunk = _chunk(row)
        if isinstance(chunk, str):
            problems.append(Problem(row_place(file.shown, row.line, row.number), chunk))
        else:
            doc_name, text = chunk
            found.setdefault(doc_name, {})[text] = None
    if not found and not problems:
        problems.append(Problem(file.shown, "no chunks: an empty corpus expects nothing"))
    if problems:
        more = len(problems) - _LISTED
        rest = [Problem(file.shown, f"and {more} more")] if more > 0 else []
        raise ScenarioError([*problems[:_LISTED], *rest])
    chunks = {name: tuple(texts) for name, texts in found.items()}
    return Corpus(file.shown, chunks, tuple(file.notes))


def with_expected_contexts(dataset: Dataset, corpus: Corpus) -> Dataset:
    """Return the data with the chunks of each row's document as its reference contexts.

    Rows that have some, or name no document, keep what they have. Warnings are the notes of the
    corpus, and one that names documents without chunks.
    """
    unknown: dict[str, None] = {}
    cases = [_with_expected(case, corpus, unknown) for case in dataset.cases]
    warnings = [*dataset.warnings, *corpus.notes]
    if unknown:
        names = listed(map(shorten, unknown), _LISTED)
        warnings.append(f"{corpus.shown} has no chunk of these documents: {names}")
    return replace(dataset, cases=cases, warnings=tuple(warnings))


def corpus_texts(
    spec: CorpusSpec, base_dir: Path, where: str, wanted: Collection[str] | None
) -> dict[str, str]:
    """Return the texts of the ``wanted`` documents, of all for None; chunks of one are joined.

    Documents are called by their ids first: ``retrieved_ids`` are ids, and are compared as they are
    written. A title stands above the text. Rows without a name or a text are left out. Raises
    ScenarioError for a file that cannot be read.
    """
    file = data_file(DatasetSpec(**dict(spec)), base_dir, where, "corpus")
    found: dict[str, list[str]] = {}
    for row in rows_in(file, where, "corpus"):
        name = first_of(row.fields, _IDS) or _document(row.fields)
        text = first_of(row.fields, PASSAGE_KEYS)
        if name is None or text is None or (wanted is not None and name not in wanted):
            continue
        title = first_of(row.fields, ("title",))
        found.setdefault(name, []).append(f"{title}\n{text}" if title not in (None, name) else text)
    return {name: "\n\n".join(parts) for name, parts in found.items()}


def rows_in(file: DataFile, where: str, section: str) -> Iterator[Row]:
    """Yield the rows of a data file; raises ScenarioError at one that cannot be read."""
    for row in reader_of(file, where, section).read(file):
        if isinstance(row, BrokenRow):
            place = row_place(file.shown, row.line, row.number)
            raise ScenarioError([Problem(place, row.reason)])
        yield row


_key = cache(name_key)


def first_of(fields: Mapping[str, Any], names: Collection[str]) -> str | None:
    """Return the first filled text, or number as text, under one of these names; None without any.

    Case and punctuation of names do not count.
    """
    known = {_key(column): value for column, value in fields.items()}
    for name in names:
        value = known.get(_key(name))
        if isinstance(value, str | int | float) and not is_missing(value):
            text = value if isinstance(value, str) else value_text(value)
            if text.strip():
                return text
    return None


def _with_expected(case: Case, corpus: Corpus, unknown: dict[str, None]) -> Case:
    if isinstance(case, InvalidRow) or case.reference_contexts is not None or case.doc_name is None:
        return case
    chunks = corpus.of_document(case.doc_name)
    if chunks is None:
        unknown[case.doc_name] = None
        return case
    return replace(case, reference_contexts=chunks)


def _chunk(row: Row | BrokenRow) -> tuple[str, str] | str:
    """Return document and text of a chunk, or what it lacks."""
    if isinstance(row, BrokenRow):
        return row.reason
    doc_name = _document(row.fields) or first_of(row.fields, _IDS)
    text = first_of(row.fields, PASSAGE_KEYS)
    if doc_name is None:
        return f"a chunk needs its document under one of {', '.join(DOCUMENT_KEYS)}, or an id"
    if text is None:
        return f"a chunk needs a text under one of {', '.join(PASSAGE_KEYS)}"
    return unicodedata.normalize("NFC", doc_name).strip(), text.strip()


def _document(fields: Mapping[str, Any]) -> str | None:
    return passage_document(fields) or first_of(fields, DOCUMENT_KEYS)

"""Reads judgements and runs that are no TREC files: with a header, in three columns, as JSON Lines.

BEIR's judgements are ``query-id, corpus-id, score``; runs of MS MARCO have the columns query,
document and rank, others query, document and score.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from pytest_rageval.datasets.base import DataFile
from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.model import MAX_GRADE
from pytest_rageval.scenario.column_names import name_key
from pytest_rageval.text.codec import read_json

_QUERY: Final = frozenset({"queryid", "qid", "query", "topicid", "topic"})
_DOCUMENT: Final = frozenset(
    {"corpusid", "docid", "documentid", "passageid", "pid", "docno", "chunkid", "doc"}
)
_VALUE: Final = frozenset({"score", "relevance", "rel", "grade", "relevancescore", "label"})
_RANK: Final = frozenset({"rank"})
_OF_NO_USE: Final = (
    frozenset({"0", "q0", "iter", "iteration"})
    | {"tag", "run", "runid", "runname", "runtag", "system"}
    | {"", "index", "unnamed0"}  # what pandas writes before the columns
)
"""Columns that say nothing of a judgement; any other one of numbers may be the grade or score."""

_FLAGS: Final = frozenset({"true", "false"})
_WORDS: Final = _FLAGS | {"yes", "no", "y", "n", "relevant", "irrelevant", "not relevant"}
"""What may be the judgement where no column is named after one."""

_LISTED: Final = 5
_HEADER_LINES: Final = 1000
"""In how many lines the first is looked for that is neither blank nor a comment."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns are: positions, or keys of an object."""

    query: Any
    document: Any
    value: Any = None
    is_rank: bool = False
    """Whether ``value`` is the column of ranks."""
    delimiter: str | None = None
    is_json: bool = False
    has_header: bool = True
    names: tuple[str, ...] = ()
    """The names of all columns; () without a header."""
    spare: tuple[tuple[str, Any], ...] = ()
    """Name, and position or key, of each column of unknown meaning."""


def read_table_qrels(file: DataFile) -> dict[str, dict[str, int]] | None:
    """Return the grades by query and document; None for a file that is no such table.

    Without a column of grades, each document is relevant. Raises ScenarioError with the first
    problems of the file, as for TREC files.
    """
    layout = _layout(file)
    if layout is None or not layout.has_header:
        return None  # three columns may be those of TREC without the grade
    if layout.is_rank:
        raise file.refuse("a column 'rank', and no 'score': is this a run, and no judgements?")
    found = _Entries(file, layout, _grade).by_query("judged", "grade")
    return {
        query: {document: int(grade) for document, grade in judged.items()}
        for query, judged in found.items()
    }


def read_table_run(file: DataFile) -> dict[str, tuple[str, ...]] | None:
    """Return the documents of each query, best first; None for a file that is no such table.

    Ordered by score as TREC runs are, or by rank. Three columns without a header end in a rank if
    that is 1, 2, 3 ... (or 0, 1, 2 ...), in any order, for every query, else in a score. Raises
    ScenarioError with the first problems, and where such numbers fall from line to line (3, 2, 1):
    they may be ranks or scores.
    """
    layout = _layout(file)
    if layout is None:
        return None
    if layout.value is None:
        raise file.refuse("a run needs a column 'score' or 'rank'")
    found = _Entries(file, layout, _float).by_query("retrieved", "score")
    is_rank = layout.is_rank or (
        not layout.has_header
        and any(all(_are_ranks(scores, first) for scores in found.values()) for first in (0, 1))
    )
    if is_rank and not layout.has_header and _all_fall(found.values()):
        raise file.refuse(
            "the third column counts down in every query: is it a rank, or a score? Write a first "
            "line that says so, with tabs where the others have them: qid docid score (or rank)"
        )
    return {query: _ranked(scores, is_rank=is_rank) for query, scores in found.items()}


def are_judgements(columns: Sequence[str]) -> bool:
    """Return whether a table with these columns holds judgements of documents for queries.

    >>> are_judgements(["query-id", "corpus-id", "score"]), are_judgements(["query", "answer"])
    (True, False)
    >>> are_judgements(["query", "doc", "answer"]), are_judgements(["qid", "docid", "rank"])
    (False, False)
    """
    found = _named(columns)
    has_rank = not _RANK.isdisjoint(map(name_key, columns))
    return found is not None and not (has_rank or found.spare)


def _ranked(scores: dict[str, float], *, is_rank: bool) -> tuple[str, ...]:
    if is_rank:
        return tuple(sorted(scores, key=lambda document: scores[document]))
    pairs = sorted(((score, document) for document, score in scores.items()), reverse=True)
    return tuple(document for _, document in pairs)


def _are_ranks(scores: dict[str, float], first: int) -> bool:
    return sorted(scores.values()) == list(range(first, first + len(scores)))


def _all_fall(found: Collection[dict[str, float]]) -> bool:
    """Return whether values fall from line to line in each query that has several."""
    several = [[*scores.values()] for scores in found if len(scores) > 1]
    return bool(several) and all(one == sorted(one, reverse=True) for one in several)


def _layout(file: DataFile) -> _Layout | None:
    with file.open() as stream:
        lines = (stream.readline(file.max_row_bytes) for _ in range(_HEADER_LINES))
        texts = (line.removeprefix(b"\xef\xbb\xbf").rstrip() for line in lines)
        first = next((text for text in texts if text and text.lstrip()[:1] != b"#"), b"")
    text = first.decode(errors="replace")
    if text.lstrip().startswith("{"):
        return _json_layout(text)
    for delimiter in ("\t", ",", None):
        cells = _split(text, delimiter)
        found = _named(cells)
        if found is not None:
            return replace(found, delimiter=delimiter)
    for delimiter in ("\t", None):  # without a header, any CSV of three columns would pass
        cells = _split(text, delimiter)
        if len(cells) == 3 and cells[1] != "Q0" and _float(cells[2]) is not None:
            return _Layout(0, 1, 2, delimiter=delimiter, has_header=False)
    return None


def _json_layout(text: str) -> _Layout | None:
    try:
        row = read_json(text)
    except ValueError:
        return None
    names = list(row) if isinstance(row, dict) else []
    found = _named(names)
    if found is None:
        return None
    key = None if found.value is None else names[found.value]
    return replace(
        found,
        query=names[found.query],
        document=names[found.document],
        value=key,
        is_json=True,
        spare=tuple((name, name) for name, _ in found.spare),
    )


def _named(cells: Sequence[str]) -> _Layout | None:
    """Return the positions of the columns in a header; None for a line that is none."""
    keys = list(map(name_key, cells))

    def at(names: frozenset[str]) -> int | None:
        return next((place for place, key in enumerate(keys) if key in names), None)

    query, document, value, rank = at(_QUERY), at(_DOCUMENT), at(_VALUE), at(_RANK)
    if query is None or document is None:
        return None
    spare = tuple(
        (cell, place)
        for place, (cell, key) in enumerate(zip(cells, keys, strict=True))
        if place not in (query, document, value, rank) and key not in _OF_NO_USE
    )
    is_rank = value is None and rank is not None
    place = rank if value is None else value
    return _Layout(query, document, place, is_rank, names=tuple(cells), spare=spare)


def _split(text: str, delimiter: str | None) -> list[str]:
    if delimiter == ",":
        try:
            return next(csv.reader([text]), [])
        except csv.Error:  # a carriage return in a cell
            return []
    return [cell.strip() for cell in text.split(delimiter)]


@dataclass
class _Entries:
    """The rows of a table, and what is wrong with them."""

    file: DataFile
    layout: _Layout
    convert: Callable[[Any], float | None]
    _problems: list[tuple[int, str]] = field(default_factory=list)
    _numbers: dict[str, None] = field(default_factory=dict)
    _texts: set[str] = field(default_factory=set)
    """The columns of unknown meaning that hold a number, and those that hold a text, in any row."""

    def by_query(self, done: str, column: str) -> dict[str, dict[str, float]]:
        """Return the values by query and document; raises ScenarioError with what is wrong.

        ``done`` and ``column`` are words for messages: no document may be ``done`` twice for a
        query, and ``column`` is what the column of values is called.
        """
        found: dict[str, dict[str, float]] = {}
        for line, query, document, number in self._read():
            known = found.setdefault(query, {})
            if document in known:
                message = f"document {document!r} is {done} twice for query {query!r}"
                self._problems.append((line, message))
            known[document] = number
        self._refuse_spare(column)
        self._finish(found)
        return found

    def _read(self) -> Iterator[tuple[int, str, str, float]]:
        """Yield line, query, document and value of each row that has them."""
        is_header = self.layout.has_header and not self.layout.is_json
        with self.file.text() as stream:
            for line, raw in enumerate(stream, start=1):
                text = raw.removeprefix("\ufeff").strip("\r\n")
                if not text.strip() or text.lstrip().startswith("#"):
                    continue
                if is_header:
                    is_header = False
                    continue
                entry = self._entry(text)
                if isinstance(entry, str):
                    self._problems.append((line, entry))
                else:
                    yield (line, *entry)

    def _refuse_spare(self, value: str) -> None:
        """Raise ScenarioError for columns of numbers alone: one of them may be the ``value``."""
        numbers = [name for name in self._numbers if name not in self._texts]
        if numbers:
            listed = ", ".join(map(repr, numbers[:_LISTED]))
            place = self.layout.value
            if place is not None and not self.layout.is_rank:
                read = place if self.layout.is_json else self.layout.names[place]
                raise self.file.refuse(
                    f"the {value} may be in {read!r} or in {listed}: take away what is of no use"
                )
            spare = [name for name, _ in self.layout.spare]
            known = ", ".join(repr(name) for name in self.layout.names if name not in spare)
            raise self.file.refuse(
                f"is {listed} the {value}, or of no use? Call the column of the {value} 'score', "
                f"and take away the others; read are {known}"
            )

    def _note_spare(self, cells: Any) -> None:
        flags = _WORDS if self.layout.value is None else _FLAGS
        for name, place in self.layout.spare:
            cell = cells.get(place) if self.layout.is_json else cells[place]
            text = "" if cell is None else str(cell).strip()
            if text.lower() in flags or _float(cell if text else None) is not None:
                self._numbers[name] = None
            elif text:
                self._texts.add(name)

    def _finish(self, found: object) -> None:
        """Raise ScenarioError if there is any problem, or nothing was found."""
        if self._problems:
            shown = self.file.shown
            problems = [
                Problem(f"{shown}:{line}", message)
                for line, message in islice(self._problems, _LISTED)
            ]
            more = len(self._problems) - _LISTED
            rest = [Problem(shown, f"and {more:,} more")] if more > 0 else []
            raise ScenarioError([*problems, *rest])
        if not found:
            raise self.file.refuse("empty: a header and no rows")

    def _entry(self, text: str) -> tuple[str, str, float] | str:
        """Return query, document and value of a row, or what is wrong with it."""
        try:
            cells: Any = (
                read_json(text) if self.layout.is_json else _split(text, self.layout.delimiter)
            )
            if self._has_more(cells):
                raise LookupError
            query, document = cells[self.layout.query], cells[self.layout.document]
            written = 1 if self.layout.value is None else cells[self.layout.value]
            self._note_spare(cells)
        except (ValueError, LookupError, TypeError):
            return f"not a row with the columns of the first line: {shorten(text)!r}"
        names = [_id(query), _id(document)]
        if None in names:
            odd = (query, document)[names.index(None)]
            if odd is None or isinstance(odd, str):
                return f"an empty query or document id: {shorten(text)!r}"
            return f"a query or document id is a text or a whole number, found {shorten(repr(odd))}"
        value = self.convert(written)
        if value is None:
            kind = "a whole number" if self.convert is _grade else "a number"
            return f"{shorten(repr(written))} is not {kind}: {shorten(text)!r}"
        return str(names[0]), str(names[1]), value

    def _has_more(self, cells: Any) -> bool:
        """Return whether a row has cells, or keys, that the first line does not have."""
        if not self.layout.has_header:
            return any(cells[3:]) and not cells[3].startswith("#")
        names = self.layout.names
        more = set(cells) - set(names) if self.layout.is_json else cells[len(names) :]
        return any(more)


def _id(value: Any) -> str | None:
    is_name = isinstance(value, str | int) and not isinstance(value, bool)
    return (str(value).strip() or None) if is_name else None


def _float(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) or "_" in str(value) else number


def _grade(value: Any) -> float | None:
    number = _float(value)
    is_whole = number is not None and abs(number) <= MAX_GRADE and number.is_integer()
    return number if is_whole else None

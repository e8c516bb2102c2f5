r"""Reads TREC qrels and run files and checks every line, about as fast as a plain loop over them.

A run may have millions of lines. So a file is read in blocks, and a block of well-formed lines with
equally many columns is split at once. Any other block is read line by line, with the same rules:

- UTF-8, with or without a byte order mark; ``\n`` or ``\r\n``; gzip if the name ends in ``.gz``.
  Blank lines and lines that begin with ``#`` are ignored.
- A line with tabs between all columns is split at tabs only, so that ids may hold blanks; any other
  line at ASCII white space. Anything after the last column is ignored.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import gt
from typing import Generic, Literal, NamedTuple, TypeVar

from pytest_rageval.datasets.base import DataFile
from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.model import MAX_GRADE

Qrels = dict[str, dict[str, int]]
"""Query to document to grade, both in file order."""

# Lists of larger blocks exceed what malloc keeps ready: 128 KB take 1.7 times as long.
_BLOCK_BYTES = 2**15
_LISTED = 5
_BOM = b"\xef\xbb\xbf"
_END = b"\0"
_USE_TABS = "an id with blanks needs tabs between all columns"


def read_qrels(file: DataFile) -> Qrels:
    """Return the judgements of a file with the columns query, iteration, document, grade.

    A grade is a whole number, ``1.0`` and ``-1`` too, of ``MAX_GRADE`` at most without its sign.
    Raises ScenarioError with the first problems of the file: too few columns, another grade, a
    document judged twice for a query, no entry.
    """
    reading = _Reading(file, _QRELS)
    qrels: Qrels = {}
    for query, documents, grades in reading.entries():
        judged = qrels.setdefault(query, {})
        known = len(judged)
        judged.update(zip(documents, grades, strict=True))
        reading.count_repeated(query, known + len(documents) - len(judged))
    reading.finish(is_empty=not qrels)
    if _count_up(qrels.values()) and _are_scored(file):
        raise file.refuse(
            "is this a run, and not a qrels file? The fourth column counts up in every query, and "
            "the fifth has scores; if these are judgements, leave out what is behind the grade"
        )
    return qrels


def _count_up(found: Collection[dict[str, int]]) -> bool:
    """Return whether values count from 1, or 0, in each query, of which one has several."""
    listed = [[*grades.values()] for grades in found]
    return max(map(len, listed)) > 1 and any(
        all(one == [*range(first, first + len(one))] for one in listed) for first in (0, 1)
    )


def _are_scored(file: DataFile) -> bool:
    """Return whether each line has the columns of a run, the fifth a number with a point."""
    for block in _blocks(file):
        for _, line, entry in _lines(block, _QRELS):
            columns = _split(line, len(_RUN.columns)) if entry is not None else []
            is_scored = len(columns) >= len(_RUN.columns) and b"." in columns[4]
            if columns and not (is_scored and _number(columns[4]) is not None):
                return False
    return True


def read_run(
    file: DataFile, only: Container[str] | None = None, scores_as: Literal["d", "f"] = "d"
) -> dict[str, tuple[str, ...]]:
    """Return each query's documents in the order in which trec_eval ranks them.

    The order is by score (a double; with "f" rounded to 32 bits) descending, then by document id
    descending, ids compared by code point; the rank column is ignored, but must be a number. The
    columns are query, Q0, document, rank, score, tag. Queries are in the order of their first
    lines. A query that is not in ``only`` has an empty tuple, and no other has; its lines are
    checked too, except for repeated documents. Raises ScenarioError with the first problems of the
    file: too few columns, a rank or score that is not a number, a document retrieved twice for a
    query, no entry.
    """
    reading = _Reading(file, _RUN)
    retrieved: dict[str, tuple[list[str], array[float]]] = {}
    for query, documents, scores in reading.entries():
        if query not in retrieved:
            retrieved[query] = ([], array(scores_as))
        if only is None or query in only:
            retrieved[query][0].extend(documents)
            retrieved[query][1].extend(scores)
    run: dict[str, tuple[str, ...]] = {}
    for query in tuple(retrieved):
        all_documents, all_scores = retrieved.pop(query)
        reading.count_repeated(query, len(all_documents) - len(set(all_documents)))
        run[query] = _ranked(all_documents, all_scores)
    reading.finish(is_empty=not run)
    return run


def _ranked(documents: list[str], scores: Sequence[float]) -> tuple[str, ...]:
    if all(map(gt, scores, islice(scores, 1, None))):
        return tuple(documents)
    pairs = sorted(zip(scores, documents, strict=True), reverse=True)
    return tuple(document for _, document in pairs)


Value = TypeVar("Value", bound=float)


@dataclass(frozen=True, slots=True)
class _Layout(Generic[Value]):
    """A kind of file: its columns, and how to read the value of a document.

    ``values`` takes the columns of many lines in one list, and their number per line with the end
    mark; it raises ValueError if any line must be read by itself. ``value`` takes the columns of
    one line and raises _LineError. ``twice`` is the verb in messages on repeated documents.
    """

    columns: tuple[str, ...]
    twice: str
    values: Callable[[list[bytes], int], list[Value]]
    value: Callable[[list[bytes]], Value]


class _LineError(Exception):
    """A line is wrong; the text is the user's message."""


class _Block(NamedTuple):
    """Whole lines of a file, with the number and the offset of the first one."""

    text: bytes
    line: int
    offset: int


class _Reading(Generic[Value]):
    """One reading of a file, and the problems found in it."""

    def __init__(self, file: DataFile, layout: _Layout[Value]) -> None:
        self._file = file
        self._layout = layout
        self._problems: list[tuple[int, str]] = []
        self._found = 0
        self._repeated: set[str] = set()

    def entries(self) -> Iterator[tuple[str, list[str], list[Value]]]:
        """Yield a query with its documents and values, for each run of lines with one query."""
        for block in _blocks(self._file):
            alike = _lines_alike(block.text, self._layout)
            queries, documents, values = alike or self._line_by_line(block)
            start = 0
            for query, group in groupby(queries):
                end = start + len(list(group))
                yield query.decode(), documents[start:end], values[start:end]
                start = end

    def count_repeated(self, query: str, count: int) -> None:
        """Record that ``count`` lines of a query repeat a document."""
        if count:
            self._repeated.add(query)
            self._found += count

    def finish(self, is_empty: bool) -> None:
        """Raise ScenarioError if there is any problem."""
        if self._repeated:
            self._problems += islice(self._repetitions(), _LISTED)
        if self._found:
            raise self._error()
        if is_empty:
            form = " ".join(self._layout.columns)
            raise self._file.refuse(f"empty: expected lines with the columns {form}")

    def _line_by_line(self, block: _Block) -> tuple[list[bytes], list[str], list[Value]]:
        queries: list[bytes] = []
        documents: list[str] = []
        values: list[Value] = []
        for number, _, entry in _lines(block, self._layout):
            if isinstance(entry, _LineError):
                self._found += 1
                if len(self._problems) < _LISTED:
                    self._problems.append((number, str(entry)))
            elif entry is not None:
                query, document, value = entry
                queries.append(query)
                documents.append(document)
                values.append(value)
        return queries, documents, values

    def _repetitions(self) -> Iterator[tuple[int, str]]:
        """Read the file again and yield the lines that repeat a document of their query."""
        first_lines: dict[tuple[bytes, str], int] = {}
        repeated = {query.encode() for query in self._repeated}
        for block in _blocks(self._file):
            for number, line, entry in _lines(block, self._layout):
                if isinstance(entry, _LineError) or entry is None or entry[0] not in repeated:
                    continue
                first = first_lines.setdefault(entry[:2], number)
                if first != number:
                    yield number, self._repetition(line, entry[0], entry[1], first)

    def _repetition(self, line: bytes, query: bytes, document: str, first: int) -> str:
        message = f"document {_shown(document)} is {self._layout.twice} twice for query"
        # Ids with blanks, "part 1" and "part 2", would be the same document "part".
        is_shifted = len(line.split()) > len(self._layout.columns) and b"\t" not in line
        hint = f"; {_USE_TABS}" if is_shifted else ""
        return f"{message} {_shown(query)}, first on line {first}{hint}"

    def _error(self) -> ScenarioError:
        shown = self._file.shown
        listed = sorted(self._problems)[:_LISTED]
        problems = [Problem(f"{shown}:{line}", message) for line, message in listed]
        if self._found > len(problems):
            problems.append(Problem(shown, f"and {self._found - len(problems):,} more"))
        return ScenarioError(problems)


def _blocks(file: DataFile) -> Iterator[_Block]:
    """Yield the file in blocks of whole lines, each ending in a line feed."""
    line, offset = 1, 0
    with file.open() as stream:
        while text := stream.read(_BLOCK_BYTES):
            if not text.endswith(b"\n"):
                rest = stream.readline(file.max_row_bytes)
                if len(rest) == file.max_row_bytes and not rest.endswith(b"\n"):
                    long = line + text.count(b"\n")
                    raise file.refuse(file.too_long, long)
                text += rest
            if offset == 0 and text.startswith(_BOM):
                text, offset = text[len(_BOM) :], len(_BOM)
            yield _Block(text if text.endswith(b"\n") else text + b"\n", line, offset)
            line += text.count(b"\n")
            offset += len(text)


def _lines_alike(
    text: bytes, layout: _Layout[Value]
) -> tuple[list[bytes], list[str], list[Value]] | None:
    """Return queries, documents and values of well-formed lines of equal width, else None.

    Each line gets an end mark as one more column, and all are split at once. If there are as many
    marks as lines, at equal distances, then all lines have equally many columns.
    """
    if _has_odd_lines(text):
        return None
    columns = _split_all(text)
    lines = text.count(b"\n")
    width = columns.index(_END) + 1
    if (
        width <= len(layout.columns)
        or len(columns) != lines * width
        or columns[width - 1 :: width].count(_END) != lines
    ):
        return None
    try:
        text.decode()
        values = layout.values(columns, width)
    except ValueError:
        return None
    # Decoding all ids as one string is faster than decoding each.
    documents = b"\n".join(columns[2::width]).decode().split("\n")
    return columns[0::width], documents, values


def _has_odd_lines(text: bytes) -> bool:
    return (
        _END in text
        or (b"#" in text and (text.startswith(b"#") or b"\n#" in text))
        or (b"\r" in text and text.count(b"\r") != text.count(b"\r\n"))
    )


def _split_all(text: bytes) -> list[bytes]:
    if b"\t" not in text:
        return text.replace(b"\n", b" " + _END + b" ").split()
    columns = text.replace(b"\n", b"\t" + _END + b"\t").split(b"\t")
    columns = list(map(bytes.strip, columns[:-1]))
    # An empty column: no layout has lines of an end mark only, so each line is read by itself.
    return [_END] if b"" in columns else columns


def _lines(
    block: _Block, layout: _Layout[Value]
) -> Iterator[tuple[int, bytes, tuple[bytes, str, Value] | _LineError | None]]:
    """Yield number and text of each line, and its query, document and value.

    Instead of these three, the error of a wrong line, or None for a line to ignore.
    """
    offset = block.offset
    for number, line in enumerate(block.text[:-1].split(b"\n"), block.line):
        try:
            yield number, line, _entry(line.rstrip(b"\r"), offset, layout)
        except _LineError as error:
            yield number, line, error
        offset += len(line) + 1


def _entry(line: bytes, offset: int, layout: _Layout[Value]) -> tuple[bytes, str, Value] | None:
    _check_text(line, offset)
    if line.startswith(b"#") or not line.strip():
        return None
    columns = _split(line, len(layout.columns))
    if len(columns) < len(layout.columns):
        form = f"{len(layout.columns)} columns ({' '.join(layout.columns)})"
        is_qrels = len(columns) == len(_QRELS.columns)
        guess = "; is this a qrels file, and not a run?" if is_qrels else ""
        raise _LineError(f"expected {form}, found {len(columns)}: {_shown(line)}{guess}")
    if not columns[0] or not columns[2]:
        raise _LineError(f"an empty query or document id: {_shown(line)}")
    return columns[0], columns[2].decode(), layout.value(columns)


def _check_text(line: bytes, offset: int) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        found = f"byte 0x{line[error.start]:02x} at offset {offset + error.start}"
        raise _LineError(f"not UTF-8: {found}; save the file as UTF-8") from error
    if b"\0" in line:
        at = offset + line.index(b"\0")
        raise _LineError(f"a null byte at offset {at}; if the file is UTF-16, save it as UTF-8")
    if b"\r" in line:
        raise _LineError("a carriage return inside the line; save the file with the line end \\n")


def _split(line: bytes, wanted: int) -> list[bytes]:
    columns = [*map(bytes.strip, line.split(b"\t"))]
    if len(columns) >= wanted:
        return columns
    words = line.split()
    if wanted == len(_QRELS.columns) == len(columns) + 1 == len(words):
        is_iteration = words[1].isdigit() or words[1].upper() == b"Q0"
        if not is_iteration and _number(columns[2]) is not None:
            # Split at blanks, an id would lose its first word.
            found = f"3 columns between tabs, and an id with a blank: {_shown(line)}"
            raise _LineError(f"{found}; add a 0 between tabs as the second column")
    is_run = wanted == len(_RUN.columns) == len(columns) + 1
    has_blank = is_run and b" " in columns[0] + columns[2]
    if has_blank and columns[3].isdigit() and _number(columns[4]) is not None:
        # Split at blanks, an id would lose its last word, and a rank be the score.
        found = f"5 columns between tabs, and an id with a blank: {_shown(line)}"
        raise _LineError(f"{found}; add the tag of the run behind a tab")
    return words


def _grades(columns: list[bytes], width: int) -> list[int]:
    if width > len(_RUN.columns) and not {b"Q0", b"q0"}.isdisjoint(columns[1::width]):
        raise ValueError("perhaps a run")
    grades = _numbers(columns[3::width], int)
    if max(grades) > MAX_GRADE or min(grades) < -MAX_GRADE:
        raise ValueError("too large")
    return grades


def _grade(columns: list[bytes]) -> int:
    if (
        len(columns) >= len(_RUN.columns)
        and columns[1].upper() == b"Q0"
        and _number(columns[4]) is not None
    ):
        raise _LineError(f"is this a run, and not a qrels file? {_shown(b' '.join(columns))}")
    grade = _number(columns[3])
    if grade is None or abs(grade) > MAX_GRADE or not grade.is_integer():
        hint = "" if len(columns) == len(_QRELS.columns) else f"; {_USE_TABS}"
        found = f"grade {_shown(columns[3])}"
        raise _LineError(f"{found} is not a whole number up to {MAX_GRADE}{hint}")
    return int(grade)


def _scores(columns: list[bytes], width: int) -> list[float]:
    if not b"".join(columns[3::width]).isdigit():
        raise ValueError("a rank to look at")
    return _numbers(columns[4::width], float)


def _score(columns: list[bytes]) -> float:
    if not columns[3].isdigit() and _number(columns[3]) is None:
        raise _LineError(f"rank {_shown(columns[3])} is not a number; {_USE_TABS}")
    score = _number(columns[4])
    if score is None:
        raise _LineError(f"score {_shown(columns[4])} is not a number (12.5, 1e-3, inf ...)")
    return score


def _numbers(texts: list[bytes], convert: Callable[[bytes], Value]) -> list[Value]:
    if b"_" in b"".join(texts):
        raise ValueError("1_000 is a number in Python only")
    numbers = list(map(convert, texts))
    total = sum(numbers)
    if total != total:  # noqa: PLR0124  (NaN is not itself)
        raise ValueError("NaN, or both infinities")
    return numbers


def _number(text: bytes) -> float | None:
    """Return the number that ``text`` spells, None for other text and for NaN."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number != number or b"_" in text else number  # noqa: PLR0124


def _shown(text: bytes | str) -> str:
    return repr(shorten(text if isinstance(text, str) else text.decode()))


_QRELS = _Layout(("query", "iteration", "document", "grade"), "judged", _grades, _grade)
_RUN = _Layout(("query", "Q0", "document", "rank", "score", "tag"), "retrieved", _scores, _score)

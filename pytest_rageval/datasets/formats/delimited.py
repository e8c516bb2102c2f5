"""CSV and TSV with a header line; a blank cell is read as None, never as an empty text."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final, TextIO

from pytest_rageval.datasets.base import BlankLines, BrokenRow, DataFile, DatasetReader, Row
from pytest_rageval.datasets.formats.headers import Header, needs_second, read_header
from pytest_rageval.datasets.formats.promptfoo_tables import one_output_a_row, with_own_names
from pytest_rageval.errors import shorten
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.text.printable import QUOTE_COLUMN, as_kept, unquoted

_MARKS: Final = ";\t|"
"""What may separate the cells of a ``.csv`` instead of a comma."""

_EXCEL_MARK: Final = re.compile(r'"?sep=(.)"?\s*')
_HEADER_LINES: Final = 20


def read_delimited(file: DataFile, delimiter: str) -> Iterator[Row | BrokenRow]:
    """Yield a row for each record that is not blank; in promptfoo's tables, for each output."""
    before = csv.field_size_limit(file.max_row_bytes)
    try:
        with file.text() as stream:
            records = _Records(file, stream, is_tsv=delimiter == "\t")
            mark = records.excel_mark()
            records.begin(file.spec.delimiter or mark or _sniffed(records, delimiter))
            yield from one_output_a_row(_rows(file, records, delimiter), file)
    finally:
        csv.field_size_limit(before)


def _sniffed(records: _Records, usual: str) -> str:
    """Return the delimiter of the header: if no comma divides it, the only mark that does."""
    cells = records.header(",")
    # A comma inside quotes that begin after another mark splits the quoted text.
    is_torn = any(cell.count('"') % 2 for cell in cells)
    if usual != "," or (len(cells) > 1 and not is_torn):
        return usual
    found = [mark for mark in _MARKS if len(records.header(mark)) > 1]
    return found[0] if len(found) == 1 else ","


def delimiter_hint(columns: Sequence[str], spec: DatasetSpec, usual: str = ",") -> str:
    """Return which ``delimiter`` to write if another one would give more columns, else "".

    Where the one in use is inside quotes around the whole header, return that they are to go.
    ``usual`` separates where the scenario names no delimiter.

    >>> delimiter_hint(["answer|references"], DatasetSpec(path="qa.csv"))
    'If "|" separates the cells, write dataset.delimiter: "|"'
    """
    header = "\n".join(columns)
    marks = [mark for mark in f"{_MARKS}," if header.count(mark) >= max(1, len(columns))]
    used = spec.delimiter or usual
    if used in marks and len(columns) == 1:
        shown = used.replace("\t", "\\t")
        return (
            f'The header is one cell in quotes: take them away if "{shown}" separates names in it'
        )
    if not marks or used in marks:
        return ""
    mark = max(marks, key=header.count).replace("\t", "\\t")
    return f'If "{mark}" separates the cells, write dataset.delimiter: "{mark}"'


def _rows(file: DataFile, records: _Records, usual: str) -> Iterator[Row | BrokenRow]:
    found = _header(file, records)
    header = found.names
    is_quoted = QUOTE_COLUMN in header
    if is_quoted:
        header = ["" if name == QUOTE_COLUMN else unquoted(name) for name in header]
    number, records.width = 0, len(header)
    twins = dict(found.twins)
    nameless = [at for at, name in enumerate(found.names) if not name and at not in twins]
    blank = BlankLines(file)
    while (cells := records.following()) is not None:
        if isinstance(cells, str):
            number += 1
            yield BrokenRow(number, records.line, cells, records.text())
        elif any(cell.strip() for cell in cells):
            number += 1
            blank.end()
            if found.is_again(cells):
                reason = "repeats the header, as tables do that were joined; delete this line"
                yield BrokenRow(number, records.line, reason, records.text())
            elif len(cells) == len(header):
                found.refuse_differing_twins(file, cells, records.line)
                for at in [at for at in nameless if _is_lost(cells[at].strip(), at)]:
                    nameless.remove(at)
                    file.notes.append(
                        f"{file.shown}:{records.line}: column {at + 1} has no name, and is not read"
                    )
                texts = map(as_kept if is_quoted else _or_missing, cells)
                yield _row(header, texts, number, records.line)
            else:
                reason = f"has {len(cells)} cells where the header has {len(header)}{records.span}"
                hint = delimiter_hint(header, file.spec, usual)
                reason += f". {hint}" if hint else ""
                yield BrokenRow(number, records.line, reason, records.text())
        else:
            blank.note(records.line)


_COUNTED: Final = re.compile(r"[-+#]?[\d,]+(?:\.0*)?")


def _is_lost(cell: str, at: int) -> bool:
    """Return whether a cell below no name is lost; the row counter of a data frame is not."""
    return bool(cell) and (at > 0 or not _COUNTED.fullmatch(cell))


def _header(file: DataFile, records: _Records) -> Header:
    first = records.following()
    if first is None or isinstance(first, str):
        raise file.refuse(first or "empty: not even a header line")
    first = with_own_names(first)
    found = read_header(file, first, records.header() if needs_second(first) else [])
    if found.lines > 1:
        records.following()
    return found


class _Records:
    """The records of a table and their first lines; for a broken record, the reason.

    An extra quote joins many lines into one record. Its first line is then broken, and the others
    are read again, each alone, so that no row is lost: one that is no row by itself is broken, too.
    """

    def __init__(self, file: DataFile, text: TextIO, *, is_tsv: bool) -> None:
        self._file = file
        self._is_tsv = is_tsv
        self._limit = file.max_row_bytes
        self._text = text
        self._delimiter = ","
        self._of_record: list[str] = []
        self._again = [self._read().removeprefix("\ufeff")]
        """Lines to read again after a broken one, the last line first."""
        self._next_line = 1
        self.line = 1
        self.width = 0
        """How many cells the header has, once it is read."""
        self._alone = range(0)
        """The lines to read alone, as they were in a broken record that began just before them."""
        self._is_told = False
        self._may_be_rows = False
        """Whether that record's first line is long enough for a row, so that a quote was extra."""

    def begin(self, delimiter: str) -> None:
        """Read with this delimiter."""
        self._delimiter = delimiter
        self._read_on()

    def excel_mark(self) -> str:
        """Return the delimiter of a first line ``sep=;``, which Excel reads; "" without one."""
        found = _EXCEL_MARK.fullmatch(self._again[0])
        if found is None:
            return ""
        self._again[0] = self._read()
        self._next_line = 2
        return found[1]

    def header(self, delimiter: str = "") -> list[str]:
        """Return the next record's cells with this delimiter; [] if it cannot be read.

        Without a delimiter, with that of the table. The record stays the next one.
        """
        self._of_record.clear()
        lines = islice(self._lines(), _HEADER_LINES)
        try:
            return next(csv.reader(lines, delimiter=delimiter or self._delimiter, strict=True), [])
        except csv.Error:
            return []
        finally:
            self._again += reversed(self._of_record)
            self._of_record.clear()

    def following(self) -> list[str] | str | None:
        """Return the cells of the next record, or why it is broken; None after the last.

        Raises ScenarioError if a quote is still open at the end of the file.
        """
        self.line = self._next_line
        self._of_record.clear()
        try:
            if self.line in self._alone:
                return self._line_alone()
            found = next(self._records, None)
        except csv.Error as error:
            return self._break_first_line(str(error))
        if found is not None and (reason := self._swallowed_rows(found)):
            return self._break_first_line(reason, is_closed=True)
        self._next_line = self.line + len(self._of_record)
        if self._of_record[1:] and self.width > 1 and not self._is_told:
            self._note_rows_in_cell()
        return found

    def _note_rows_in_cell(self) -> None:
        """Note a record each of whose lines may be a row: a table in a cell looks the same."""
        if any(line.count(self._delimiter) != self.width - 1 for line in self._of_record):
            return
        rows = [line.split(self._delimiter) for line in self._of_record]
        # Some rows may have blank cells, if others have none.
        blank = sum(not all(map(str.strip, row)) for row in rows)
        has_keys = all(row[0].strip() for row in rows)
        may_be = (self._delimiter != "," and self.width > 2) or _have_like_keys(rows)
        if has_keys and may_be and len(rows) - blank > 2 * bool(blank):
            self._is_told = True
            self._file.notes.append(
                f"{self._file.shown}:{self.line}: a cell holds lines that look like rows, and ends "
                f"on line {self._next_line - 1}; if they are rows, close the quote on line "
                f"{self.line}, or write one that belongs to a text twice"
            )

    def _swallowed_rows(self, cells: list[str]) -> str:
        """Return why rows may stand between two quotes that are of a text, "" if none do.

        Most tools write ``.tsv`` without quoting: then the lines of both quotes are whole rows.
        Elsewhere the record has fewer or more cells than the header, and one of its lines may have
        enough.
        """
        if len(self._of_record) == 1 or not self.width:
            return ""
        first, *between, last = (line.count("\t") == self.width - 1 for line in self._of_record)
        is_odd = self._is_tsv and first and last and (any(between) or not between)
        if len(cells) == self.width:
            return "a cell holds lines that look like rows, and ends" if is_odd else ""
        found = f"it has {len(cells)} cells where the header has {self.width}"
        found = f"over {len(self._of_record)} lines, {found}, and ends"
        return found if any(map(self._is_long, self._of_record)) else ""

    def _is_long(self, line: str) -> bool:
        return line.count(self._delimiter) >= self.width - 1

    def _line_alone(self) -> list[str] | str:
        """Return the cells of one line; why it is broken if it may be a part of a cell."""
        line = next(self._lines())
        self._next_line += 1
        mark = re.escape(self._delimiter)
        cell = rf'(?:"[^"]*(?:""[^"]*)*"|(?! )[^"{mark}]*)'  # in prose, a blank follows a comma
        row = rf"{cell}(?:{mark}{cell}){{{self.width - 1}}}\s*"
        if not line.strip() or (self._may_be_rows and re.fullmatch(row, line)):
            return next(csv.reader([line], delimiter=self._delimiter, strict=True))
        first = self._alone.start - 1
        return f"a row, or a part of a cell of line {first}; is the quote on line {first} closed?"

    def _break_first_line(self, error: str, *, is_closed: bool = False) -> str:
        """Return why the first line of a record is broken; its other lines are read again.

        Each is read alone, but for the last one if a quote in it may open a cell, and the record is
        not ``is_closed``. In a .tsv whose first line is a whole row, they are read as usual.
        """
        first, final = self._of_record[0], self._of_record[-1]
        last = self.line + len(self._of_record) - 1
        self._next_line = self.line + 1
        if self._of_record[1:] and not (self._is_tsv and first.count("\t") == self.width - 1):
            begins = not is_closed and re.search(rf'(?:^|{re.escape(self._delimiter)})"', final)
            self._alone = range(self._next_line, last if begins else last + 1)
            self._may_be_rows = self._is_long(first)
        self._set_back()
        self._read_on()
        return self._broken(error, last)

    @property
    def span(self) -> str:
        """From which line to which the record goes, in brackets; "" if it is one line."""
        return f" (lines {self.line} to {self._next_line - 1})" if self._of_record[1:] else ""

    def text(self) -> str:
        """Return the beginning of the record in the file; for a broken one, of its line."""
        return shorten("".join(self._of_record).rstrip("\r\n"), 500)

    def _set_back(self) -> None:
        """Arrange that all lines of the record but the first are read again."""
        lines = self._of_record
        lines.reverse()
        self._of_record = [lines.pop()]
        if self._again:
            self._again += lines
        else:  # not copied: they may be millions
            self._again = lines

    def _read_on(self) -> None:
        self._records = csv.reader(self._lines(), delimiter=self._delimiter, strict=True)

    def _lines(self) -> Iterator[str]:
        """Yield the next lines, each noted as of the record; raises csv.Error for one too long."""
        while line := self._again.pop() if self._again else self._read():
            self._of_record.append(line)
            if len(line) > self._limit:
                raise csv.Error("field larger than a row may be")
            yield line

    def _read(self) -> str:
        """Return the next line of the file; a line that is too long is cut."""
        line = self._text.readline(self._limit + 1)
        rest = line if len(line) > self._limit else ""
        while rest and not rest.endswith(("\n", "\r")):
            rest = self._text.readline(self._limit)
        return line

    def _broken(self, error: str, last: int) -> str:
        if "unexpected end" in error:
            message = (
                f"the quote in this row is not closed: all that follows, to line {last}, would be "
                "one cell; close it, or write a quote that belongs to the text twice"
            )
            raise self._file.refuse(message, self.line)
        reason = (
            self._file.too_long if "field larger" in error else f"not a valid table row: {error}"
        )
        if last == self.line:
            return reason
        return f"{reason} on line {last}; is the quote on line {self.line} closed?"


def _have_like_keys(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether most of two lines or more, cut at their commas, begin as the first one does.

    Prose, addresses and amounts have commas too; in prose, a blank follows one.
    """
    first, *others = (_signs(row[0]) for row in rows)
    is_prose = any(cell.startswith(" ") for row in rows for cell in row[1:])
    return not is_prose and len(others) > 1 and 2 * others.count(first) > len(others)


def _signs(cell: str) -> set[str]:
    """Return the kinds of signs in a cell; of a sentence, those at both ends, of a question, ?."""
    text = cell.strip('" ')
    if text.endswith(("?", "？")):
        return {"?"}
    ends = text if text.isascii() and " " not in text else f"{text[:1]} {text[-1:]}"
    return {"0" if sign.isdigit() else "a" if sign.isalpha() else sign for sign in ends}


def _or_missing(cell: str) -> str | None:
    return cell if cell.strip() else None


def _row(header: list[str], cells: Iterable[str | None], number: int, line: int) -> Row:
    fields = {
        name: cell
        for name, cell in zip(header, cells, strict=True)
        if name  # a column without a name is not read
    }
    return Row(number, line, fields, tabular=True)


READERS = (
    DatasetReader("csv", partial(read_delimited, delimiter=","), hint=delimiter_hint, is_text=True),
    DatasetReader(
        *("tsv", partial(read_delimited, delimiter="\t"), ("tab",)),
        hint=partial(delimiter_hint, usual="\t"),
        is_text=True,
    ),
)

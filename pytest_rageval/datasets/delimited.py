"""CSV and TSV with a header line; a blank cell is missing, never an empty answer."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row
from pytest_rageval.errors import shorten


class DelimitedReader:
    """Reads text tables; quoted cells may hold line breaks."""

    def __init__(self, name: str, delimiter: str, aliases: tuple[str, ...] = ()) -> None:
        self.name = name
        self.aliases = aliases
        self._delimiter = delimiter

    def read(self, file: DataFile) -> Iterator[Row | BrokenRow]:
        """Yield a row for each record that is not blank."""
        with file.open() as stream:
            text = file.decode(stream.read())
        before = csv.field_size_limit(file.max_row_bytes)
        try:
            yield from _rows(file, _Records(file, text, self._delimiter))
        finally:
            csv.field_size_limit(before)


def _rows(file: DataFile, records: _Records) -> Iterator[Row | BrokenRow]:
    header = records.following()
    if header is None or isinstance(header, str):
        raise file.refuse(header or "empty: not even a header line")
    header = check_header(file, header)
    number = 0
    while (cells := records.following()) is not None:
        if isinstance(cells, str):
            number += 1
            yield BrokenRow(number, records.line, cells, records.text())
        elif any(cell.strip() for cell in cells):
            number += 1
            if len(cells) == len(header):
                yield _row(header, cells, number, records.line)
            else:
                reason = f"has {len(cells)} cells where the header has {len(header)}"
                yield BrokenRow(number, records.line, reason, records.text())


class _Records:
    """The records of a table with the line that each begins on; text in place of a broken one.

    A quote too many makes one record of many lines. Only the first of them is taken for broken,
    so that none of the rows in the others is lost.
    """

    def __init__(self, file: DataFile, text: str, delimiter: str) -> None:
        self._file = file
        self._text = io.StringIO(text, newline="")
        self._delimiter = delimiter
        self._start = 0
        self.line = 1
        self._read_on(lines_before=0)

    def following(self) -> list[str] | str | None:
        """Return the cells of the next record, or why it is broken; None behind the last.

        Raises ScenarioError where a quote is open at the end of the file.
        """
        self.line = self._lines_before + self._records.line_num + 1
        self._start = self._text.tell()
        try:
            return next(self._records, None)
        except csv.Error as error:
            last = self._lines_before + self._records.line_num
            self._text.seek(self._start)
            self._text.readline()
            self._read_on(lines_before=self.line)
            return self._broken(str(error), last)

    def text(self) -> str:
        """Return the beginning of the record as the file has it; of a broken one, its line."""
        length = self._text.tell() - self._start
        self._text.seek(self._start)
        return shorten(self._text.read(length).rstrip("\r\n"), 500)

    def _read_on(self, lines_before: int) -> None:
        self._lines_before = lines_before
        self._records = csv.reader(self._text, delimiter=self._delimiter, strict=True)

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


def check_header(file: DataFile, header: Sequence[str]) -> list[str]:
    """Return the column names without the blanks around them.

    Raises ScenarioError when there is none, or when two columns have the same name.
    """
    names = [name.strip() for name in header]
    if not any(names):
        raise file.refuse("the header line is blank", 1)
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise file.refuse(f"the header names a column twice: {', '.join(twice)}", 1)
    return names


def _row(header: list[str], cells: list[str], number: int, line: int) -> Row:
    fields = {
        name: cell if cell.strip() else None
        for name, cell in zip(header, cells, strict=True)
        if name  # a column without a name is the row counter of a data frame
    }
    return Row(number, line, fields, tabular=True)


READERS = (DelimitedReader("csv", ","), DelimitedReader("tsv", "\t", aliases=("tab",)))

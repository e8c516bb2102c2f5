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
            records = csv.reader(
                io.StringIO(text, newline=""), delimiter=self._delimiter, strict=True
            )
            yield from _rows(file, records)
        finally:
            csv.field_size_limit(before)


def _rows(file: DataFile, records: Iterator[list[str]]) -> Iterator[Row | BrokenRow]:
    reader = _Records(file, records)
    header = reader.following()
    if header is None or isinstance(header, str):
        raise file.refuse(header or "empty: not even a header line")
    header = check_header(file, header)
    number = 0
    while (cells := reader.following()) is not None:
        if isinstance(cells, str):
            number += 1
            yield BrokenRow(number, reader.line, cells)
        elif any(cell.strip() for cell in cells):
            number += 1
            yield _row(header, cells, number, reader.line)


class _Records:
    """The records of a table with the line that each begins on; text in place of a broken one."""

    def __init__(self, file: DataFile, records: Iterator[list[str]]) -> None:
        self._file = file
        self._records = records
        self.line = 1

    def following(self) -> list[str] | str | None:
        self.line = self._records.line_num + 1  # type: ignore[attr-defined]
        try:
            return next(self._records, None)
        except csv.Error as error:
            if "field larger" in str(error):
                return f"longer than {self._file.spec.max_row_mb:g} MB (dataset.max_row_mb)"
            return f"not a valid table row: {error}"


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


def _row(header: list[str], cells: list[str], number: int, line: int) -> Row | BrokenRow:
    if len(cells) != len(header):
        reason = f"has {len(cells)} cells where the header has {len(header)}"
        return BrokenRow(number, line, reason, shorten(repr(cells), 500))
    fields = {
        name: cell if cell.strip() else None
        for name, cell in zip(header, cells, strict=True)
        if name  # a column without a name is the row counter of a data frame
    }
    return Row(number, line, fields, tabular=True)


READERS = (DelimitedReader("csv", ","), DelimitedReader("tsv", "\t", aliases=("tab",)))

"""Excel workbooks: one sheet with a header row (extra ``xlsx``)."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Iterator
from typing import Any

from pytest_rageval import extras
from pytest_rageval.datasets.base import BrokenRow, DataFile, Row
from pytest_rageval.datasets.delimited import check_header
from pytest_rageval.errors import unknown_name


class XlsxReader:
    """Reads ``.xlsx`` workbooks: values as Excel last computed them, a blank cell is missing."""

    name = "xlsx"
    aliases = ("xlsm",)

    def read(self, file: DataFile) -> Iterator[Row | BrokenRow]:
        """Yield a row for each row of the sheet that is not blank."""
        openpyxl = extras.require("openpyxl", extra="xlsx", purpose=f"reading {file.shown}")
        with file.open() as stream:
            packed = io.BytesIO(stream.read())
        try:
            book = openpyxl.load_workbook(packed, read_only=True, data_only=True)
            yield from _rows(file, _sheet(book, file))
            book.close()
        except _DAMAGE as error:
            raise file.refuse(f"not a readable workbook: {error}") from error


# A damaged workbook fails in the archive, in its XML (whose error is a SyntaxError) or in a value.
_DAMAGE = (zipfile.BadZipFile, LookupError, SyntaxError, TypeError, ValueError, OSError)


def _rows(file: DataFile, sheet: Any) -> Iterator[Row | BrokenRow]:
    records = sheet.iter_rows(values_only=True)
    header = check_header(file, [str(_cell(cell) or "") for cell in next(records, ())])
    number = 0
    for line, record in enumerate(records, start=2):
        cells = [_cell(cell) for cell in record]
        if any(cell is not None for cell in cells):
            number += 1
            yield _row(file, header, cells, number, line)


def _sheet(book: Any, file: DataFile) -> Any:
    wanted = file.spec.sheet
    if wanted is None:
        return book.worksheets[0]
    if wanted not in book.sheetnames:
        raise file.refuse(unknown_name("sheet", wanted, book.sheetnames))
    return book[wanted]


def _row(
    file: DataFile, header: list[str], cells: list[Any], number: int, line: int
) -> Row | BrokenRow:
    if sum(len(cell) for cell in cells if isinstance(cell, str)) > file.max_row_bytes:
        return BrokenRow(number, line, file.too_long)
    padded = cells + [None] * (len(header) - len(cells))
    named = {name: cell for name, cell in zip(header, padded, strict=False) if name}
    return Row(number, line, named, tabular=True)


def _cell(value: Any) -> Any:
    """Return a cell as JSON-plain data: dates as ISO text, blank text as missing."""
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return str(value)
    if isinstance(value, str):
        return value if value.strip() else None
    return value


READERS = (XlsxReader(),)

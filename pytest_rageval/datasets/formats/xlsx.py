"""Excel workbooks: one sheet with a header row (extra ``xlsx``)."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from pytest_rageval import extras
from pytest_rageval.datasets.base import BrokenRow, DataFile, DatasetReader, Row
from pytest_rageval.datasets.formats.delimited import check_header
from pytest_rageval.errors import unknown_name


def read_xlsx(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield the rows of the sheet that are not blank, with values as Excel last computed them."""
    openpyxl = extras.require("openpyxl", extra="xlsx", purpose=f"reading {file.shown}")
    with file.open(is_whole=True) as stream:
        packed = io.BytesIO(stream.read())
    limit = file.max_bytes(is_whole=True)
    try:
        # A member of an archive has at most the size in its directory.
        with zipfile.ZipFile(packed) as archive:
            if sum(member.file_size for member in archive.infolist()) > limit:
                raise file.too_large(limit)
        book = openpyxl.load_workbook(packed, read_only=True, data_only=True)
        sheet = _sheet(book, file)
        yield from _rows(file, sheet, _merged(packed, sheet))
        book.close()
    except _DAMAGE as error:
        raise file.refuse(f"not a readable workbook: {error}") from error


# A damaged workbook fails in the archive, in its XML (whose error is a SyntaxError) or in a value.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, LookupError, SyntaxError, TypeError, ValueError),
    *(AttributeError, OSError, NotImplementedError),
)


class _Range(NamedTuple):
    """Merged cells: only the first one has a value."""

    top: int
    bottom: int
    left: int
    right: int
    ref: str


_MERGED = re.compile(
    rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"'
)


def _merged(packed: io.BytesIO, sheet: Any) -> list[_Range]:
    """Return the merged cells of a sheet, from the top; openpyxl omits them when streaming rows."""
    part = getattr(sheet, "_worksheet_path", None)
    if part is None:
        return []
    found, rest = [], b""
    with zipfile.ZipFile(packed) as archive, archive.open(part) as stream:
        while chunk := stream.read(2**20):
            text, end = rest + chunk, 0
            for match in _MERGED.finditer(text):
                left, top, right, bottom = (group.decode() for group in match.groups())
                ref, end = f"{left}{top}:{right}{bottom}", match.end()
                found.append(_Range(int(top), int(bottom), _number(left), _number(right), ref))
            rest = text[max(end, len(text) - 200) :]
    return sorted(found)


def _number(letters: str) -> int:
    """Return the number of a column from 1: 27 for AA."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _rows(file: DataFile, sheet: Any, merged: list[_Range]) -> Iterator[Row | BrokenRow]:
    records = sheet.iter_rows(values_only=True)
    header = check_header(file, [str(_cell(cell) or "") for cell in next(records, ())])
    named = {at for at, name in enumerate(header, start=1) if name}
    # Notes next to the table may be merged, cells of the table may not.
    merged = [one for one in merged if not named.isdisjoint(range(one.left, one.right + 1))]
    if merged and merged[0].top == 1:
        raise file.refuse(f"the header's cells {merged[0].ref} are merged; {_UNMERGE}")
    number, at, open_ranges = 0, 0, list[_Range]()
    for line, record in enumerate(records, start=2):
        open_ranges = [one for one in open_ranges if one.bottom >= line]
        while at < len(merged) and merged[at].top <= line:
            open_ranges.append(merged[at])
            at += 1
        cells = [_cell(cell) for cell in record]
        if any(cell is not None for cell in cells):
            number += 1
            lost = [one for one in open_ranges if line > one.top or one.right > one.left]
            if lost:
                yield BrokenRow(number, line, f"the cells {lost[0].ref} are merged; {_UNMERGE}")
            else:
                yield _row(file, header, cells, number, line)


_UNMERGE = "only the first of them has a value: unmerge them, and fill in each one"


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
    """Return a cell as JSON-plain data: dates as ISO text, blank text as missing.

    A date without a time, which a workbook stores as midnight, becomes a date.
    """
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return str(value)
    if isinstance(value, str):
        return value if value.strip() else None
    return value


READERS = (DatasetReader("xlsx", read_xlsx, aliases=("xlsm",)),)

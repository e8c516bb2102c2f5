"""Excel workbooks: one sheet with a header row (extra ``xlsx``)."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from pytest_rageval import extras
from pytest_rageval.datasets.base import BrokenRow, DataFile, DatasetReader, Row
from pytest_rageval.datasets.formats.headers import Header, needs_second, read_header
from pytest_rageval.errors import unknown_name
from pytest_rageval.model import duration_text


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
        yield from _rows(file, sheet, _gaps(packed, sheet))
        book.close()
    except _DAMAGE as error:
        raise file.refuse(f"not a readable workbook: {error}") from error


# A damaged workbook fails in the archive, in its XML (whose error is a SyntaxError) or in a value.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, LookupError, SyntaxError, TypeError, ValueError),
    *(AttributeError, OSError, NotImplementedError, RuntimeError),  # one that is encrypted
)


class _Gap(NamedTuple):
    """Cells that a spreadsheet program shows as filled, though the file has no value for them."""

    top: int
    bottom: int
    left: int
    right: int
    what: str
    repair: str

    def covers(self, line: int) -> bool:
        """Return whether it takes a value from this line: the first merged cell has its own."""
        return self.repair != _UNMERGE or line > self.top or self.right > self.left


_UNMERGE = "only the first of them has a value: unmerge them, and fill in each one"
_SAVE = (
    "the file does not hold its value: open it in a spreadsheet program and save it there, or "
    "export CSV"
)
_CELLS = rb"([A-Z]{1,3})(\d{1,7})"
_GAP = re.compile(
    rb'<(?:\w+:)?mergeCell\s[^>]*?ref="' + _CELLS + rb":" + _CELLS + rb'"'
    rb'|<(?:\w+:)?c\s([^>]*?\br="' + _CELLS + rb'"[^>]*)>\s*<(?:\w+:)?f\b[^>]*(?:/>|>[^<]*</[^>]*>)'
    rb"\s*(<(?:\w+:)?v\s*(?:/>|>\s*</[^>]*>))?\s*</(?:\w+:)?c>"
)
_LONGEST = 2**16  # a cell with its formula, which has at most 8,192 characters


def _gaps(packed: io.BytesIO, sheet: Any) -> list[_Gap]:
    """Return merged cells and formulas without a value, from the top; openpyxl shows neither."""
    part = getattr(sheet, "_worksheet_path", None)
    if part is None:
        return []
    found, rest = list[_Gap](), b""
    with zipfile.ZipFile(packed) as archive, archive.open(part) as stream:
        while chunk := stream.read(2**20):
            text, end = rest + chunk, 0
            for match in _GAP.finditer(text):
                found += _gap(match)
                end = match.end()
            rest = text[max(end, len(text) - _LONGEST) :]
    return sorted(found)


def _gap(match: re.Match[bytes]) -> Iterator[_Gap]:
    left, top, right, bottom, cell, column, line, value = (
        (group or b"").decode() for group in match.groups()
    )
    if left:
        what = f"cells {left}{top}:{right}{bottom} are merged"
        yield _Gap(int(top), int(bottom), _number(left), _number(right), what, _UNMERGE)
    elif not (value and 't="str"' in cell):  # which is an empty text, and saved
        what, at = f"cell {column}{line} is a formula", _number(column)
        yield _Gap(int(line), int(line), at, at, what, _SAVE)


def _number(letters: str) -> int:
    """Return the number of a column from 1: 27 for AA."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def _rows(file: DataFile, sheet: Any, gaps: list[_Gap]) -> Iterator[Row | BrokenRow]:
    width = sheet.max_column or 0
    # Some programs write too small a size: rows beyond it would be lost.
    sheet.reset_dimensions()
    head, records = _header(file, sheet.iter_rows(values_only=True), width, gaps)
    header = head.names
    gaps = _in_table(file, head, gaps)
    number, at, open_gaps = 0, 0, list[_Gap]()
    for line, record in enumerate(records, start=head.lines + 1):
        open_gaps = [open_gap for open_gap in open_gaps if open_gap.bottom >= line]
        while at < len(gaps) and gaps[at].top <= line:
            open_gaps.append(gaps[at])
            at += 1
        cells = [_cell(cell) for cell in record]
        lost = [open_gap for open_gap in open_gaps if open_gap.covers(line)]
        is_formula = any(gap.repair == _SAVE for gap in lost)
        if is_formula or any(cell is not None for cell in cells):
            number += 1
            if lost:
                yield BrokenRow(number, line, f"the {lost[0].what}; {lost[0].repair}")
            else:
                head.refuse_differing_twins(file, cells + [None] * (len(header) - len(cells)), line)
                yield _row(file, header, cells, number, line)


def _header(
    file: DataFile, records: Iterator[Any], width: int, gaps: list[_Gap]
) -> tuple[Header, Iterator[Any]]:
    """Return the header, of ``width`` columns at least, and the records after it."""
    names = _texts(next(records, ()), width)
    if gaps and gaps[0].top == 1 and gaps[0].repair == _SAVE:
        # Its column would have no name, and be no part of the table.
        raise file.refuse(f"the header's {gaps[0].what}; {_SAVE}")
    second = next(records, None) if needs_second(names) else None
    head = read_header(file, names, _texts(second or (), len(names)))
    return head, records if second is None or head.lines > 1 else chain([second], records)


def _in_table(file: DataFile, head: Header, gaps: list[_Gap]) -> list[_Gap]:
    """Return the gaps in columns of the table; raises ScenarioError for one in the header."""
    named = {at for at, name in enumerate(head.names, start=1) if name}
    # Notes next to the table may have gaps, the table may not.
    gaps = [gap for gap in gaps if not named.isdisjoint(range(gap.left, gap.right + 1))]
    # Cells are merged over a group of columns, or over both lines of a header.
    gaps = [gap for gap in gaps if head.lines == 1 or gap.bottom > 2 or gap.repair == _SAVE]
    if gaps and gaps[0].top <= head.lines:
        raise file.refuse(f"the header's {gaps[0].what}; {gaps[0].repair}")
    return gaps


def _texts(cells: Iterable[Any], width: int = 0) -> list[str]:
    """Return cells of a header as text; at least ``width`` of them."""
    texts = [str(_cell(cell) or "") for cell in cells]
    return texts + [""] * (width - len(texts))


def _sheet(book: Any, file: DataFile) -> Any:
    wanted = file.spec.sheet
    if wanted is None:  # a hidden one is what a macro or an export has left behind
        seen = (sheet for sheet in book.worksheets if sheet.sheet_state == "visible")
        return next(seen, book.worksheets[0])
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


_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
"""A character that XML cannot hold, or a line break, as Excel writes it."""


def _cell(value: Any) -> Any:
    """Return a cell as JSON-plain data: dates as ISO text, blank text as missing.

    A date without a time, which a workbook stores as midnight, becomes a date.
    """
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return duration_text(value)
    if isinstance(value, str):
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value) if "_x" in value else value
        if text is not value:  # the halves of an emoji are two of them
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return text if text.strip() else None
    return value


READERS = (DatasetReader("xlsx", read_xlsx, aliases=("xlsm",)),)

"""Excel workbooks: one sheet with a header row (extra ``xlsx``)."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, takewhile
from typing import Any, Final, NamedTuple

from pytest_rageval import extras
from pytest_rageval.datasets.base import BrokenRow, DataFile, DatasetReader, Row
from pytest_rageval.datasets.formats.headers import Header, needs_second, read_header
from pytest_rageval.errors import listed, unknown_name
from pytest_rageval.model import duration_text
from pytest_rageval.scenario.column_names import name_key, read_field
from pytest_rageval.scenario.fields import CHECK_FIELDS, FIELD_OF


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
        """Return whether a cell of this line lacks its value: of merged ones, the first has it."""
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
    elif not (value and 't="str"' in cell):  # else its value is an empty text
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
    head, records = _header(file, sheet.iter_rows(), width, gaps)
    header = head.names
    _note_sheets(file, sheet, header)
    gaps = _in_table(file, head, gaps)
    notes, nameless = _CellNotes(file, header), _nameless(head)
    number, at, open_gaps = 0, 0, list[_Gap]()
    for line, record in enumerate(records, start=head.lines + 1):
        open_gaps = [open_gap for open_gap in open_gaps if open_gap.bottom >= line]
        while at < len(gaps) and gaps[at].top <= line:
            open_gaps.append(gaps[at])
            at += 1
        cells = [None if cell.data_type == "e" else _cell(cell.value) for cell in record]
        lost = [open_gap for open_gap in open_gaps if open_gap.covers(line)]
        # A formula is content, though its value is not there; a merged cell may be a blank one.
        is_formula = any(gap.repair == _SAVE for gap in lost)
        if is_formula or any(cell is not None for cell in cells) or notes.has_error(record):
            number += 1
            if lost:
                yield BrokenRow(number, line, f"the {lost[0].what}; {lost[0].repair}")
            elif _is_again(head, record):
                reason = "repeats the header, as tables do that were joined; delete this line"
                yield BrokenRow(number, line, reason)
            else:
                head.refuse_differing_twins(file, cells + [None] * (len(header) - len(cells)), line)
                _note_nameless(file, nameless, cells, line)
                notes.look_at(record, line)
                row = _row(file, header, cells, number, line)
                flaw = notes.flaw(record)
                yield replace(row, flaw=flaw) if flaw and isinstance(row, Row) else row


def _header(
    file: DataFile, records: Iterator[Any], width: int, gaps: list[_Gap]
) -> tuple[Header, Iterator[Any]]:
    """Return the header, of ``width`` columns at least, and the records after it."""
    first = next(records, ())
    names = _texts(first, width)
    if gaps and gaps[0].top == 1 and gaps[0].repair == _SAVE:
        # Its column would have no name, and be no part of the table.
        raise file.refuse(f"the header's {gaps[0].what}; {_SAVE}")
    second = next(records, None) if needs_second(names) else None
    head = read_header(file, names, _texts(second or (), len(names)))
    # The names of a data frame's columns may be numbers, of which ``_texts`` drops the 0.
    if head.lines == 1 and "0" not in head.names:
        numbered = {at for at, cell in enumerate(first) if type(cell.value) is int}
        head = replace(
            head,
            names=[name or "0" * (at in numbered) for at, name in enumerate(head.names)],
        )
    return head, records if second is None or head.lines > 1 else chain([second], records)


def _in_table(file: DataFile, head: Header, gaps: list[_Gap]) -> list[_Gap]:
    """Return the gaps in columns of the table; raises ScenarioError for one in the header."""
    named = {at for at, name in enumerate(head.names, start=1) if name}
    # Notes next to the table may have gaps, the table may not.
    gaps = [gap for gap in gaps if not named.isdisjoint(range(gap.left, gap.right + 1))]
    # A header of two lines may merge cells: over a group of columns, or over both lines.
    gaps = [gap for gap in gaps if head.lines == 1 or gap.bottom > 2 or gap.repair == _SAVE]
    if gaps and gaps[0].top <= head.lines:
        raise file.refuse(f"the header's {gaps[0].what}; {gaps[0].repair}")
    return gaps


def _is_again(head: Header, record: Sequence[Any]) -> bool:
    """Return whether a row has the names of the header; one name alone may be a value."""
    named = [at for at, name in enumerate(head.names) if name]
    if len(named) < 2 or len(record) <= named[1]:
        return False
    if str(record[named[0]].value).strip() != head.names[named[0]]:
        return False  # nearly every row
    return head.is_again(_texts(record[: len(head.names)], len(head.names)))


def _nameless(head: Header) -> list[int]:
    """Return the places of columns without a name between others; notes stand at the sides."""
    named = [at for at, name in enumerate(head.names) if name]
    twins = {at for at, _ in head.twins}
    return [at for at in range(named[0], named[-1]) if not head.names[at] and at not in twins]


def _note_nameless(file: DataFile, nameless: list[int], cells: list[Any], line: int) -> None:
    """Add a note for each of these columns that has a value; it is not looked at again."""
    for at in [at for at in nameless if at < len(cells) and cells[at] is not None]:
        nameless.remove(at)
        file.notes.append(f"{file.shown}:{line}: column {at + 1} has no name, and is not read")


def _texts(cells: Iterable[Any], width: int = 0) -> list[str]:
    """Return cells of a header as text, "" for a blank one or 0; at least ``width`` of them."""
    texts = [str(_cell(cell.value) or "") for cell in cells]
    return texts + [""] * (width - len(texts))


def _sheet(book: Any, file: DataFile) -> Any:
    wanted = file.spec.sheet
    if wanted is None:  # a hidden one is what a macro or an export has left behind
        seen = (sheet for sheet in book.worksheets if sheet.sheet_state == "visible")
        return next(seen, book.worksheets[0])
    if wanted not in book.sheetnames:
        raise file.refuse(unknown_name("sheet", wanted, book.sheetnames))
    return book[wanted]


_LINES_ABOVE: Final = 6
"""In how many lines of another sheet the names of columns are looked for, below a title."""


def _note_sheets(file: DataFile, read: Any, header: Sequence[str]) -> None:
    """Add a note if other sheets, that can be seen, have rows below two names of the header."""
    if file.spec.sheet is not None or file.section not in ("dataset", "answers", "corpus"):
        return
    found, names = [], {name_key(name) for name in header} - {""}
    for sheet in read.parent.worksheets:
        if sheet.sheet_state == "visible" and sheet.title != read.title:
            with suppress(*_DAMAGE):  # the sheet that is read may be sound
                lines = map(_texts, sheet.iter_rows(max_row=2 * _LINES_ABOVE))
                above = takewhile(lambda texts: len(names & {*map(name_key, texts)}) < 2, lines)
                if sum(1 for _ in above) < _LINES_ABOVE and any(map(any, lines)):
                    found.append(repr(sheet.title))
    if found:
        way = "to read another, write dataset.sheet: NAME"
        way = way if file.section == "dataset" else "put all rows into the first"
        file.notes.append(
            f"{file.shown}: only the sheet {read.title!r} is read; {listed(found, 3)} "
            f"{'has' if len(found) == 1 else 'have'} rows below such names, too: {way}"
        )


def _row(
    file: DataFile, header: list[str], cells: list[Any], number: int, line: int
) -> Row | BrokenRow:
    if sum(len(cell) for cell in cells if isinstance(cell, str)) > file.max_row_bytes:
        return BrokenRow(number, line, file.too_long)
    padded = cells + [None] * (len(header) - len(cells))
    named = {name: cell for name, cell in zip(header, padded, strict=False) if name}
    return Row(number, line, named, tabular=True)


_PERCENT: Final = re.compile(r"[#,0]*0(?:\.[0#]+)? ?%")
_GROUPED: Final = re.compile(r"[#0],[#0]{3}")
_CLOCK: Final = re.compile(r"(?:\[\$[^\]]*\])?hh?:mm(?:;@)?", re.IGNORECASE)
_LITERAL: Final = re.compile(r'\\|"|\[\$[^\]]*\]')
"""What marks a sign of a number format as one to show, and the language it is for."""

_SAID: Final = re.compile(r"\d\s?%|(?<![\d:])\d\d?:\d\d(?![\d:])")
"""A percent or a time in a text: what is compared with it should say it that way, too."""

_JUDGING: Final = {*CHECK_FIELDS, "doc_name", "skip", "xfail"}
"""The fields whose loss nothing else would tell: what a row is judged by, and how it counts."""


class _CellNotes:
    """What cells hide: errors, and values that are read in another form than they are shown in.

    Of each kind, the first one becomes a note.
    """

    def __init__(self, file: DataFile, names: Sequence[str]) -> None:
        self._file = file
        known = FIELD_OF | {column: name for name, column in file.spec.key_map.items()}
        fields = [known.get(name) or (read_field(name) or ("",))[0] for name in names]
        self._named = {at for at, name in enumerate(names) if name}
        self._compared = [at for at, name in enumerate(fields) if name in ("answer", "references")]
        self._judging = [at for at, name in enumerate(fields) if name in _JUDGING]
        searched = {*CHECK_FIELDS} - {"must_satisfy"}  # which a judge reads
        self._checks = [at for at, name in enumerate(fields) if name in searched]
        self._untold = [self._of_error, self._of_shown, self._of_check]

    def look_at(self, record: Sequence[Any], line: int) -> None:
        """Add what is to be told of a row to the notes of the file."""
        for tell in [*self._untold]:
            if text := tell(record):
                self._untold.remove(tell)
                self._file.notes.append(f"{self._file.shown}:{line}: {text}")

    def has_error(self, record: Sequence[Any]) -> bool:
        """Return whether a column of the table has an error: such a row is not blank."""
        return self._error(record) is not None

    def flaw(self, record: Sequence[Any]) -> str:
        """Return why a row cannot be a sample, "" if it can: a check in a broken cell is lost."""
        cells = (record[at] for at in self._judging if at < len(record))
        cell = next((cell for cell in cells if cell.data_type == "e"), None)
        return "" if cell is None else f"the cell {cell.coordinate} has the error {cell.value}"

    def _error(self, record: Sequence[Any]) -> Any:
        errors = [at for at, cell in enumerate(record) if cell.data_type == "e"]
        return next((record[at] for at in errors if at in self._named), None)

    def _of_error(self, record: Sequence[Any]) -> str:
        if (cell := self._error(record)) is None:
            return ""
        return (
            f"the cell {cell.coordinate} has the error {cell.value}: such a cell is read as blank; "
            "mend its formula, or format it as text if it is one"
        )

    def _of_shown(self, record: Sequence[Any]) -> str:
        """Return what is to be told; "" also where the text beside it has no percent or time."""
        cells = [record[at] for at in self._compared if at < len(record)]
        shown = [cell for cell in cells if _shows_another(cell)]
        others = [str(cell.value) for cell in cells if cell not in shown and cell.value is not None]
        if not shown or not (any(map(_SAID.search, others)) or len(cells) < 2):
            return ""
        return _said_of(shown[0])

    def _of_check(self, record: Sequence[Any]) -> str:
        """Return what is to be told of a check, which is looked for in the text of an answer."""
        checks = (record[at] for at in self._checks if at < len(record))
        found = next((cell for cell in checks if _shows_another(cell, as_text=True)), None)
        return "" if found is None else _said_of(found)


def _said_of(cell: Any) -> str:
    is_day = isinstance(cell.value, datetime.date)
    kind = "date" if is_day else "time" if isinstance(cell.value, datetime.time) else "number"
    kind = "percent" if kind == "number" and _PERCENT.search(_number_format(cell)) else kind
    return (
        f"the cell {cell.coordinate} shows a {kind} and is read as {_cell(cell.value)}; if answers "
        "say it as it is shown, format the column as text and type it anew"
    )


def _shows_another(cell: Any, *, as_text: bool = False) -> bool:
    """Return whether a cell shows a percent, or a time without seconds.

    ``as_text``: also a date in another form than ISO's, or a number with marks for thousands.
    """
    if type(cell.value) in {int, float}:
        form = _number_format(cell)
        is_grouped = as_text and abs(cell.value) >= 1000 and _GROUPED.search(form) is not None
        return is_grouped or _PERCENT.search(form) is not None
    if isinstance(cell.value, datetime.date):
        form = _LITERAL.sub("", _number_format(cell)).lower()
        is_iso = "yyyy-mm-dd" in form and "T" not in _cell(cell.value)
        return as_text and not is_iso
    is_time = isinstance(cell.value, datetime.time) and not cell.value.second
    return is_time and _CLOCK.fullmatch(_number_format(cell)) is not None


def _number_format(cell: Any) -> str:
    try:
        return str(cell.number_format)
    except LookupError:  # of a style that the file does not define
        return ""


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

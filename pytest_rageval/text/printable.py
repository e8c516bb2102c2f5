"""Texts made fit to show: safe in any output, as wide as wanted, quoted for a spreadsheet."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import accumulate, takewhile
from typing import Final

_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # they change the order of what follows
)
# GitHub Actions runs commands in any output: "::" at the beginning of a line, "##[" anywhere.
# A blank before it may become a line break.
_COMMAND = re.compile(r"^(\s*)::|(?<=\s)::(?=\w)|##\[", re.MULTILINE)


def printable(text: str) -> str:
    r"""Return ``text`` with unsafe characters written as ``\xNN`` or ``\uNNNN``.

    These are control characters (which could clear the screen or forge colours), also CR and the
    line separators of Unicode, changes of the writing direction, lone surrogates, which cannot be
    encoded, and the first sign of a command of a CI service. ``\n`` and tabs are kept.

    >>> printable("::add-mask::e"), printable("a\u202eb")
    ('\\x3a:add-mask::e', 'a\\u202eb')
    """
    shown = _UNPRINTABLE.sub(_escape, text)
    return _COMMAND.sub(_inert, shown) if "::" in shown or "##[" in shown else shown


def one_line(text: str) -> str:
    r"""Return ``printable(text)`` in one line: runs of white space become one space.

    >>> one_line("a\n::error::b")
    'a \\x3a:error::b'
    """
    return " ".join(printable(text).split())


def short_line(text: str, width: int) -> str:
    """Return ``one_line`` of the first ``4 * width`` characters of ``text``, usually too wide.

    It is for ``cut`` to make it fit; "…" at its end says that there was more.
    """
    text = text.lstrip()
    most = 4 * width  # white space and characters that take no cell need more than they show
    return one_line(text) if len(text) <= most else f"{one_line(text[:most])}…"


def wrappable(text: str) -> str:
    r"""Return ``printable(text)`` without any ``::``: pytest may break a line inside a word.

    >>> wrappable("a::error::b")
    'a\\x3a\\x3aerror\\x3a\\x3ab'
    """
    return printable(text).replace("::", r"\x3a\x3a")


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def _inert(found: re.Match[str]) -> str:
    return "\\x23#[" if found.group() == "##[" else f"{found[1] or ''}\\x3a:"


def cells(text: str) -> int:
    """Return how many terminal cells ``text`` takes.

    >>> cells("f1"), cells("准确率")
    (2, 6)
    """
    return sum(map(_cells_of, text))


def pad(text: str, width: int) -> str:
    """Return ``text`` with spaces up to ``width`` cells."""
    return text + " " * max(0, width - cells(text))


def cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells, with an ellipsis if it was cut.

    One character is kept: below 3 cells it may be wider.

    >>> cut("退款需要多少天", 8), cut("refund", 8)
    ('退款需…', 'refund')
    """
    if len(_beginning(text, width)) == len(text):
        return text
    return _beginning(text, width - 1) + "…"


def wrapped(text: str, width: int) -> list[str]:
    """Return ``text`` in lines of at most ``width`` cells, broken at blanks.

    A word longer than a line is broken, as Chinese sentences are. Lines are made ``printable``:
    that may make one wider.

    >>> wrapped("2 of 2 values: 退款政策.pdf", 10)
    ['2 of 2', 'values:', '退款政策.p', 'df']
    """
    lines: list[str] = []
    line = ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if cells(joined) <= width:
            line = joined
            continue
        lines += [line] if line else []
        *heads, line = _pieces(word, width)
        lines += heads
    return [printable(one) for one in (*lines, line) if one]


def _beginning(text: str, width: int) -> str:
    """Return as many characters as fit into ``width`` cells, at least one."""
    ends = takewhile(lambda end: end <= width, accumulate(map(_cells_of, text)))
    return text[: max(1, sum(1 for _ in ends))]


def _pieces(word: str, width: int) -> Iterator[str]:
    """Yield a word in pieces of at most ``width`` cells, of one character at least."""
    start = taken = 0
    for at, character in enumerate(word):
        size = _cells_of(character)
        taken += size
        if taken > width and at > start:
            yield word[start:at]
            start, taken = at, size
    yield word[start:]


def _cells_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # combining, or invisible
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


QUOTE_COLUMN: Final = "'"
"""The name of an empty column that marks a table: ``quoted`` was applied to all its texts."""

# A spreadsheet takes a cell that begins with one of these for a formula and runs it.
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
_BLANK: Final = re.compile(r"'*\s*")


def quoted(text: str) -> str:
    """Return ``text`` as a cell that no spreadsheet takes for a formula.

    >>> quoted("=1+1"), quoted("'=1"), quoted("a=1")
    ("'=1+1", "''=1", 'a=1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unquoted(cell: str) -> str:
    """Return the text that ``quoted`` turned into ``cell``."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def kept(text: str) -> str:
    """Return ``text`` as a cell that ``as_kept`` reads back: quoted, and so is a blank one.

    >>> kept(""), kept("'"), kept("=1"), kept("a")
    ("'", "''", "'=1", 'a')
    """
    return f"'{text}" if _BLANK.fullmatch(text) else quoted(text)


def as_kept(cell: str) -> str | None:
    """Return the text that ``kept`` turned into ``cell``, None for a cell without one."""
    if not cell.strip():
        return None
    return cell[1:] if _BLANK.fullmatch(cell) else unquoted(cell)


def csv_text(rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield each row as a record with its line end, CR LF (RFC 4180); a lone CR is quoted.

    None is an empty cell; other values are written as ``str``.
    """
    writer = csv.writer(_Echo())
    for row in rows:
        yield writer.writerow(row)


class _Echo:
    """A file whose ``write`` returns the text, so that ``csv.writer`` only formats."""

    def write(self, text: str) -> str:
        return text

"""Texts in the cells of tables: their width in a terminal, their form in a CSV file."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from pytest_rageval.text.printable import printable


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

    >>> cut("退款需要多少天", 8), cut("refund", 8)
    ('退款需…', 'refund')
    """
    return text if cells(text) <= width else _beginning(text, width - 1) + "…"


def wrapped(text: str, width: int) -> list[str]:
    """Return ``text`` in lines of at most ``width`` cells, broken at blanks.

    A word longer than a line is broken, as Chinese sentences are. No line begins with a command of
    a CI service; where one would, it is wider.

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
        while cells(word) > width:
            head = _beginning(word, width)
            lines.append(head)
            word = word[len(head) :]  # noqa: PLW2901  (the rest of it)
        line = word
    return [printable(one) for one in (*lines, line) if one]


def _beginning(text: str, width: int) -> str:
    """Return as many characters as fit into ``width`` cells, at least one."""
    ends = accumulate(map(_cells_of, text))
    fitting = sum(end <= width for end in ends)
    return text[: max(1, fitting)]


def _cells_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # combining, or invisible
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


QUOTE_COLUMN: Final = "'"
"""The name of an empty column that marks a table: ``quoted`` was applied to all its texts."""

# A spreadsheet takes a cell that begins with one of these for a formula and runs it.
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")


def quoted(text: str) -> str:
    """Return ``text`` as a cell that no spreadsheet takes for a formula.

    >>> quoted("=1+1"), quoted("'=1"), quoted("a=1")
    ("'=1+1", "''=1", 'a=1')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unquoted(cell: str) -> str:
    """Return the text that ``quoted`` turned into ``cell``."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


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

"""Writes rows as CSV text, and quotes texts that a spreadsheet would run."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import Final

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

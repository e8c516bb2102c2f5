"""Rows as CSV text."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence


def csv_text(rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield each row as a record with its line end, CR LF (RFC 4180); a lone CR is quoted.

    None is an empty cell, whatever is no text its ``str``.
    """
    writer = csv.writer(_Echo())
    for row in rows:
        yield writer.writerow(row)


class _Echo:
    """A file that hands back what is written to it, so that the writer becomes a formatter."""

    def write(self, text: str) -> str:
        return text

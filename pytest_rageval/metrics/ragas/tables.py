"""Two tables in CSV: whether what is to be compared is there; ragas compares it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from io import StringIO
from typing import Any, Final

from pytest_rageval.errors import listed
from pytest_rageval.metrics.ragas.backend import TextMetric
from pytest_rageval.model import Score

_FENCE: Final = re.compile(r"(?s)\s*(```|~~~)[^\n]*\n(.*?)\s*\1\s*")
_Cells = Sequence[Sequence[str]]


class TableMetric(TextMetric):
    """Scores 0 where rows lack a column, or columns a row: ragas compares what both tables have.

    Blanks around cells, and a fence around the whole table, do not count.
    """

    def _score(self, metric: Any, answer: str, reference: str) -> Score:
        given, wanted = _cells(answer), _cells(reference)
        by_rows = metric.mode == "rows"
        if given and wanted:
            names, expected = (Counter(map(str.lower, table[0])) for table in (given, wanted))
            missing = [*(expected - names).elements()]
            if missing and (by_rows or not expected & names):
                lacking = listed(map(repr, missing), 3)
                return Score(self._name, 0.0, f"the answer is no table with the columns {lacking}")
            if by_rows and len(given) == len(wanted) == 1:
                return Score(self._name, 1.0, "both tables have these columns, and no row")
            if not by_rows and len(given) != len(wanted):
                counts = f"{len(given) - 1} rows, the reference {len(wanted) - 1}"
                return Score(self._name, 0.0, f"the answer has {counts}: no column is equal")
        return super()._score(metric, _text(given), _text(wanted))


def _cells(text: str) -> _Cells:
    """Return the rows of a text, without those that have nothing in them."""
    fenced = _FENCE.fullmatch(text)
    lines = StringIO(fenced[2] if fenced else text, newline="")
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, skipinitialspace=True)]
    return [row for row in rows if len(row) > 1 or any(row)]


def _text(table: _Cells) -> str:
    written = StringIO()
    csv.writer(written, lineterminator="\n").writerows(table)
    return written.getvalue()

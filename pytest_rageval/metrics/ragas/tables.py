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

_BOM: Final = "\ufeff"
_FENCE: Final = re.compile(r"(?s)\s*(`{3,}|~{3,})[^\n]*\n(.*?)\s*\1\s*")
_UNNAMED: Final = re.compile(r"(unnamed: \d+)?")
_Cells = Sequence[Sequence[str]]


class TableMetric(TextMetric):
    """Scores 0 where rows lack a column, or columns a row: ragas compares what both tables have.

    Blanks around cells, and a fence around the whole table, do not count.
    """

    def _score(self, metric: Any, answer: str, reference: str) -> Score:
        (given, answer), (wanted, reference) = _read(answer), _read(reference)
        by_rows = metric.mode == "rows"
        if given and wanted:
            names, expected = (_names(table) for table in (given, wanted))
            missing = [*(expected - names).elements()]
            if missing and (by_rows or not expected & names):
                lacking = listed(map(repr, missing), 3)
                return Score(self._name, 0.0, f"the answer is no table with the columns {lacking}")
            if by_rows and len(given) == len(wanted) == 1:
                return Score(self._name, 1.0, "both tables have these columns, and no row")
        score = super()._score(metric, answer, reference)
        is_read = score.value is not None and given and wanted
        if is_read and not by_rows and len(given) != len(wanted):
            counts = f"{len(given) - 1} rows, the reference {len(wanted) - 1}"
            return Score(self._name, 0.0, f"the answer has {counts}: no column is equal")
        return score


def _names(table: _Cells) -> Counter[str]:
    """Return the columns that have a name; an index has none, or that which pandas gives it."""
    names = map(str.lower, table[0])
    return Counter(name for name in names if not _UNNAMED.fullmatch(name))


def _read(text: str) -> tuple[_Cells, str]:
    """Return the rows of a text that have something in them, and the text for ragas.

    It is as written where nothing but a fence is left out: ragas refuses an open quote.
    """
    fenced = _FENCE.fullmatch(text.removeprefix(_BOM))
    written = (fenced[2] if fenced else text).removeprefix(_BOM)
    try:
        rows, cells = (
            list(csv.reader(StringIO(written, newline=""), skipinitialspace=skips))
            for skips in (False, True)
        )
    except csv.Error:
        return [], written
    cells = [[cell.strip() for cell in row] for row in cells]
    cells = [row for row in cells if len(row) > 1 or any(row)]
    return cells, written if cells == rows else _text(cells)


def _text(table: _Cells) -> str:
    written = StringIO()
    csv.writer(written, lineterminator="\n").writerows(table)
    return written.getvalue()

"""What control rows ask the judge of support tables: whether the contexts support the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.table import (
    WORTH,
    Key,
    Measure,
    Statement,
    SupportTable,
    context,
)
from pytest_rageval.model import SUPPORT, Score


def _cell(table: SupportTable) -> Key:
    """Return the whole answer, as one statement, and all contexts together."""
    places = range(1, len(table.row.contexts) + 1)
    return Statement("sentence", 1, table.row.answer), context(*places)


def _wants(table: SupportTable) -> Iterator[Key]:
    yield _cell(table)


def _score(name: str, table: SupportTable) -> Score:
    cell = table.cells[_cell(table)]
    return Score(name, WORTH[cell.level], cell.reason)


SUPPORT_ITSELF: Final = SupportMetric(SUPPORT, Measure(frozenset(), _wants, _score))
"""Scores a sample by how far its contexts support its answer: 0, 0.5 or 1."""

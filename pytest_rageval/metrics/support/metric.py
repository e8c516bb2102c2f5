"""A metric whose score follows from the support table of a sample, and what control rows ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_rageval.errors import describe_error
from pytest_rageval.metrics.base import AnswerKind, AnswerReading, Models
from pytest_rageval.metrics.support.fill import fill_table
from pytest_rageval.metrics.support.table import (
    WORTH,
    Key,
    Measure,
    Statement,
    SupportRow,
    SupportTable,
    context,
)
from pytest_rageval.model import SUPPORT, Sample, Score
from pytest_rageval.text.citation_markers import CitationRule
from pytest_rageval.text.citations import read_citations


class SupportMetric:
    """Scores samples by a measure of their support tables."""

    def __init__(self, name: str, measure: Measure) -> None:
        self.name = name
        self.measure = measure

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the score of a sample whose table no other metric reads.

        Raises the first error of what the score needs, mostly a ClientError.
        """
        table = await fill_table(row_of(sample), [self.measure], models)
        failure = self.failure(table)
        if failure is not None:
            raise failure
        return self.measure.score(self.name, table)

    def failure(self, table: SupportTable) -> Exception | None:
        """Return the first error of a cell or of statements that the score needs, else None."""
        for origin in sorted(self.measure.origins):
            if origin in table.failed:
                return table.failed[origin]
        wanted = (table.failed.get(key) for key in self.measure.wants(table))
        return next((error for error in wanted if error is not None), None)

    def score_of(self, table: SupportTable) -> Score:
        """Return the score of a table in which nothing failed that it needs, or its own error."""
        try:
            return self.measure.score(self.name, table)
        except Exception as error:  # noqa: BLE001  (the error of this score alone)
            return Score(self.name, None, error=describe_error(error))


def row_of(sample: Sample) -> SupportRow:
    """Return the row of a sample of which no scenario says how it cites or refuses."""
    cited = read_citations(sample.answer or "", CitationRule(), len(sample.contexts or ()))
    kind: AnswerKind = "answered" if (sample.answer or "").strip() else "empty"
    return SupportRow(sample, cited.stripped, AnswerReading(kind, cited))


def _cell(table: SupportTable) -> Key:
    """Return the cell of the whole answer, as one statement, and all contexts together."""
    places = range(1, len(table.row.contexts) + 1)
    return Statement("sentence", 1, table.row.answer), context(*places)


def _wants(table: SupportTable) -> Iterator[Key]:
    yield _cell(table)


def _score(name: str, table: SupportTable) -> Score:
    cell = table.cells[_cell(table)]
    return Score(name, WORTH[cell.level], cell.reason)


SUPPORT_ITSELF: Final = SupportMetric(SUPPORT, Measure(frozenset(), _wants, _score))
"""Scores a sample by how far its contexts support its answer: 0, 0.5 or 1."""

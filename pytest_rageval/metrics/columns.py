"""A column of the data, or what a target's answer took, as a metric: ``{column: latency_s}``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions, ScoringContext
from pytest_rageval.model import Sample, Score, is_no_value

OF_TARGET: Final = ("target.latency_s", "target.cost_usd")
"""What the answer of a target took, in seconds and US dollars."""

OF_SAMPLE: Final = ("answer", "answerable", "confidence")
"""Fields of a sample that may be numbers: their columns need not be metadata."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BLANK: Final = ("", "nan", "null", "none")
_TRUTH: Final = {"true": 1.0, "false": 0.0}

Ends = Sequence[float | None]


class ColumnMetric:
    """Returns the number that the row itself holds in a column."""

    def __init__(self, name: str, options: NoOptions, column: str) -> None:
        self._name = name
        self._column = column

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the number; a blank cell is unscored, and text an error that names the row."""
        if self._column in OF_TARGET:
            return self._of_target(context)
        cell = value_in(sample, self._column)
        if is_blank(cell):
            return Score(self._name, None, reason=f"the row has no {self._column}")
        number = number_in(cell)
        if number is None:
            found = f"expected a number, found {shorten(repr(cell))}"
            return Score(self._name, None, error=f"row {sample.row}, {self._column}: {found}")
        return Score(self._name, number)

    def _of_target(self, context: ScoringContext) -> Score:
        if context.latency_s is None:
            return Score(self._name, None, reason="the answer was not asked for now (cached)")
        taken = context.latency_s if self._column == OF_TARGET[0] else context.cost_usd
        number = None if is_blank(taken) else number_in(taken)
        if number is None:
            return Score(self._name, None, reason="the target states no cost (price, or cost_usd)")
        return Score(self._name, number)


def value_in(sample: Sample, column: str) -> Any:
    """Return what a row holds in a column, None where it has none."""
    if column in sample.metadata:
        return sample.metadata[column]
    return getattr(sample, column) if column in OF_SAMPLE else None


def is_blank(cell: Any) -> bool:
    """Return whether a cell is empty, null or NaN, also written as text: nan, null, none."""
    is_text = isinstance(cell, str)
    return cell is None or (cell.strip().lower() in _BLANK if is_text else is_no_value(cell))


def number_in(cell: Any) -> float | None:
    """Return the finite number in a cell, also one that is written as text; None for other values.

    >>> number_in("2.5"), number_in(True), number_in("False"), number_in("2,5")
    (2.5, 1.0, 0.0, None)
    """
    if isinstance(cell, str):
        text = cell.strip()
        number = float(text) if _NUMBER.fullmatch(text) else _TRUTH.get(text.lower())
    else:
        number = float(cell) if isinstance(cell, bool | int | float) else None
    return number if number is not None and math.isfinite(number) else None


def column_metric(
    column: str, ends: Ends | None, *, higher_is_better: bool = True
) -> MetricDefinition:
    """Return the metric of a column; without ``ends``, and where one is None, it is unbounded."""
    low, high = ends or (None, None)
    info = MetricInfo(
        column,
        needs=frozenset(),
        range=(-math.inf if low is None else low, math.inf if high is None else high),
        higher_is_better=higher_is_better,
        column=column,
    )
    made = partial(ColumnMetric, column=column)
    return MetricDefinition(info, made, source=f"column {column}")

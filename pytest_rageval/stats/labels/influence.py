"""Intervals of coefficients of agreement: how far each sample moves the figure of a table.

A table says how often, or with what weight, samples have each pair of values. Where a coefficient
is smooth, its error is the mean of its influence over the samples (the delta method): that is the
interval of Fleiss, Cohen and Everitt (1969) for kappa, of Gwet (2008) for AC1, of DeLong et al.
(1988) for the area under the curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_rageval.stats.intervals import t_quantile
from pytest_rageval.stats.summary import Groups

Table = Sequence[Sequence[float]]

Cell = tuple[int, int]
"""Row and column."""

Unit = Mapping[Cell, float]
"""The weight that a sample, or a group of those that depend on each other, has in each cell."""

Z_95: Final = 1.959963984540054
"""The normal quantile of 95 % intervals."""

_ADDED: Final = 2.0
"""How many samples, or groups, are added to a table, spread over its cells."""


class Influence(NamedTuple):
    """A coefficient of a table, and how fast it moves as a sample of each cell gains weight.

    The mean of ``cells`` over the table is 0.
    """

    value: float
    cells: Table


Measure = Callable[[Table], Influence]
"""Takes a table without empty cells."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Samples counted by cell: the sum of the table is how many independent ones they are worth.

    ``units`` are the groups that make up the table, on its scale; None where each sample stands for
    itself, in one cell. ``alike_by_chance``, in 0..1, is the likeness within groups that
    independent samples would show: 1/m with m of equal weight.
    """

    table: Table
    units: Sequence[Unit] | None
    alike_by_chance: float = 1.0

    @classmethod
    def of(
        cls, samples: Sequence[Unit], rows: int, columns: int, groups: Groups = None
    ) -> Counted | None:
        """Return the table of ``samples``; those of one group are not independent.

        Units of unequal weight count as the number of equal ones that say as much (Kish 1965).
        None without any weight.
        """
        units = samples if groups is None else _merged(samples, groups)
        sizes = [math.fsum(unit.values()) for unit in units]
        squares = sum_of_squares(sizes)
        if squares == 0.0:
            return None
        within = sum_of_squares(weight for sample in samples for weight in sample.values())
        scale = math.fsum(sizes) / squares
        units = [{cell: weight * scale for cell, weight in unit.items()} for unit in units]
        table = _summed(units, rows, columns)
        return cls(table, None if groups is None else units, within / squares)

    @property
    def size(self) -> float:
        """How many independent samples, or groups, the table is worth."""
        return math.fsum(map(math.fsum, self.table))


def table_interval(
    measure: Measure, counted: Counted | None, value: float | None, lowest: float = -1.0
) -> tuple[float, float] | None:
    """Return the 95 % interval of the coefficient ``value`` of a table.

    Two samples, or groups, are added and spread over all cells (with two levels, half of one on
    each): otherwise the interval of perfect agreement has no width, and that of a small table is
    too short. Half of one on each of 25 cells would drown the data. The interval lies within
    ``lowest``..1 and holds ``value``.

    With groups, the variance is that of their sums, and the quantile that of t with their number
    (``Counted.size``) less 1. An added group is taken to be as alike within as those that are
    there, and not less than one of independent samples would be: groups of the same mix, whose sums
    do not vary, would leave no width. None if the groups are worth fewer than two, and without a
    table or a value.
    """
    if counted is None or value is None:
        return None
    table, units, size = counted.table, counted.units, counted.size
    if units is not None and size < 2.0:
        return None
    per_cell = _ADDED / (len(table) * len(table[0]))
    centre, cells = measure([[cell + per_cell for cell in row] for row in table])
    added = per_cell * sum_of_squares(influence for row in cells for influence in row)
    independent = _table_squares(cells, table)
    quantile, variance = Z_95, independent
    if units is not None:
        of_groups = sum_of_squares(_influence_of(unit, cells) for unit in units)
        variance = size / (size - 1.0) * of_groups
        # 1 if each group lies in one cell. If no cell moves the coefficient, no sum varies.
        alike = variance / independent if independent > 0.0 else 0.0
        added *= min(max(alike, counted.alike_by_chance), 1.0)
        quantile = t_quantile(0.975, size - 1.0)
    half = quantile * math.sqrt(variance + added) / (size + _ADDED)
    return min(max(centre - half, lowest), value), max(min(centre + half, 1.0), value)


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the sum of the products of two rows of numbers."""
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _merged(samples: Sequence[Unit], groups: Sequence[int]) -> list[Unit]:
    units: dict[int, dict[Cell, float]] = {}
    for sample, group in zip(samples, groups, strict=True):
        unit = units.setdefault(group, {})
        for cell, weight in sample.items():
            unit[cell] = unit.get(cell, 0.0) + weight
    return [unit for unit in units.values() if unit]


def _summed(units: Iterable[Unit], rows: int, columns: int) -> list[list[float]]:
    parts: dict[Cell, list[float]] = {}
    for unit in units:
        for cell, weight in unit.items():
            parts.setdefault(cell, []).append(weight)
    return [
        [math.fsum(parts.get((row, column), ())) for column in range(columns)]
        for row in range(rows)
    ]


def _influence_of(unit: Unit, cells: Table) -> float:
    return math.fsum(weight * cells[row][column] for (row, column), weight in unit.items())


def _table_squares(cells: Table, table: Table) -> float:
    return math.fsum(
        weight * value * value
        for line, weights in zip(cells, table, strict=True)
        for value, weight in zip(line, weights, strict=True)
    )


def sum_of_squares(values: Iterable[float]) -> float:
    """Return the sum of the squares."""
    return math.fsum(value * value for value in values)

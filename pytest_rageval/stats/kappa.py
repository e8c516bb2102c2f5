"""Coefficients of agreement of two raters, from the table of how often they gave which levels.

A table has a row for each level of the first rater and a column for each of the second. Weights
are 1 where they agree; quadratic ones are 1 - ((i - j)/(k - 1))² for the levels at positions i and
j of k, others 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

Table = Sequence[Sequence[float]]

Z_95: Final = 1.959963984540054
"""The normal quantile of 95 % intervals."""

_ADDED: Final = 2.0


def cohen_kappa(table: Table, *, quadratic: bool = False) -> float | None:
    """Return Cohen's kappa (1960; weighted: 1968), None where both raters use one level only.

    >>> cohen_kappa([[4, 1], [1, 4]])
    0.6
    """
    rows, columns = _margins(table)
    n = math.fsum(rows)
    away = _distances(len(table), quadratic=quadratic)
    expected = _total(away, [[row * column for column in columns] for row in rows])
    return None if expected == 0.0 else 1.0 - n * _total(away, table) / expected


def kappa_interval(table: Table, kappa: float, *, quadratic: bool = False) -> tuple[float, float]:
    """Return the 95 % interval of ``kappa`` by Fleiss, Cohen and Everitt (1969).

    Two samples are spread over all cells, half a one on each cell of two levels: otherwise the
    interval of perfect agreement has no width, and that of a small table is too short. (Half a one
    on each of 25 cells would drown the data.) It lies within -1..1 and holds ``kappa``.
    """
    more = _ADDED / len(table) ** 2
    smoothed = [[cell + more for cell in row] for row in table]
    centre, variance = _smooth_kappa(smoothed, quadratic=quadratic)
    half = Z_95 * math.sqrt(variance)
    return min(max(centre - half, -1.0), kappa), max(min(centre + half, 1.0), kappa)


def gwet_ac(table: Table, *, quadratic: bool = False) -> float:
    """Return Gwet's AC1 (2008), with quadratic weights AC2; a table of one level gives 1.

    >>> round(gwet_ac([[0, 5], [5, 90]]), 4)
    0.8895
    """
    rows, columns = _margins(table)
    n, k = math.fsum(rows), len(table)
    away = _distances(k, quadratic=quadratic)
    used = [(row + column) / (2.0 * n) for row, column in zip(rows, columns, strict=True)]
    weights = k * k - math.fsum(map(math.fsum, away))
    chance = weights / (k * (k - 1)) * math.fsum(share * (1.0 - share) for share in used)
    return 1.0 - _total(away, table) / n / (1.0 - chance)


def _smooth_kappa(table: Table, *, quadratic: bool) -> tuple[float, float]:
    """Return the kappa of a table without empty cells, and its variance.

    With D and E the mean distance found and expected, kappa is 1 - D/E; its variance is that of
    d/E - D(a + b)/E² over the samples, where a and b are the mean distances of a sample's row from
    the columns' margin and of its column from the rows'.
    """
    rows, columns = _margins(table)
    n = math.fsum(rows)
    away = _distances(len(table), quadratic=quadratic)
    by_row = [_dot(line, columns) / n for line in away]
    by_column = [_dot(line, rows) / n for line in away]
    expected = _dot(by_row, rows) / n
    ratio = _total(away, table) / n / expected
    influence = [
        [(d - ratio * (a + b)) / expected for d, b in zip(line, by_column, strict=True)]
        for line, a in zip(away, by_row, strict=True)
    ]
    squares = [[value * value for value in line] for line in influence]
    return 1.0 - ratio, max(_total(squares, table) / n - ratio * ratio, 0.0) / n


def _distances(k: int, *, quadratic: bool) -> list[list[float]]:
    """Return 1 minus the weight of each cell."""
    if quadratic:
        return [[((i - j) / (k - 1)) ** 2 for j in range(k)] for i in range(k)]
    return [[float(i != j) for j in range(k)] for i in range(k)]


def _margins(table: Table) -> tuple[list[float], list[float]]:
    return [math.fsum(row) for row in table], [math.fsum(row) for row in zip(*table, strict=True)]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _total(values: Table, table: Table) -> float:
    return math.fsum(_dot(one, other) for one, other in zip(values, table, strict=True))

"""Coefficients of agreement of two raters, from the table of how often they gave which levels.

A table has a row for each level of the first rater and a column for each of the second. Weights
are 1 where they agree; quadratic ones are 1 - ((i - j)/(k - 1))² for the levels at positions i and
j of k, others 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_rageval.stats.influence import Influence, Table


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


def kappa_influence(table: Table, *, quadratic: bool = False) -> Influence:
    """Return the kappa of a table without empty cells, and the influence of each cell.

    With D and E the mean distance found and expected, kappa is 1 - D/E, and a sample at the
    distance d moves it by D(a + b)/E² - d/E - D/E, where a and b are the mean distances of its row
    from the columns' margin and of its column from the rows'. (Fleiss, Cohen and Everitt 1969.)
    """
    rows, columns = _margins(table)
    n = math.fsum(rows)
    away = _distances(len(table), quadratic=quadratic)
    by_row = [_dot(line, columns) / n for line in away]
    by_column = [_dot(line, rows) / n for line in away]
    expected = _dot(by_row, rows) / n
    ratio = _total(away, table) / n / expected
    cells = [
        [(ratio * (a + b) - d) / expected - ratio for d, b in zip(line, by_column, strict=True)]
        for line, a in zip(away, by_row, strict=True)
    ]
    return Influence(1.0 - ratio, cells)


def gwet_ac(table: Table, *, quadratic: bool = False) -> float:
    """Return Gwet's AC1 (2008), with quadratic weights AC2; a table of one level gives 1.

    >>> round(gwet_ac([[0, 5], [5, 90]]), 4)
    0.8895
    """
    away = _distances(len(table), quadratic=quadratic)
    n = math.fsum(map(math.fsum, table))
    chance = _chance_factor(away) * math.fsum(share * (1.0 - share) for share in _shares(table))
    return 1.0 - _total(away, table) / n / (1.0 - chance)


def ac_influence(table: Table, *, quadratic: bool = False) -> Influence:
    """Return ``gwet_ac`` of a table, and the influence of each cell (Gwet 2008).

    With D the mean distance found and E = 1 - cΣp(1 - p) that of chance, the coefficient is
    1 - D/E; a sample moves D by d - D, and E by -c times the mean over its two levels of
    (1 - 2p) - Σp(1 - 2p).
    """
    away = _distances(len(table), quadratic=quadratic)
    used, factor = _shares(table), _chance_factor(away)
    expected = 1.0 - factor * math.fsum(share * (1.0 - share) for share in used)
    found = _total(away, table) / math.fsum(map(math.fsum, table))
    slopes = [1.0 - 2.0 * share for share in used]
    middle = _dot(slopes, used)
    cells = [
        [
            (found - d) / expected - found / expected**2 * factor * ((a + b) / 2.0 - middle)
            for d, b in zip(line, slopes, strict=True)
        ]
        for line, a in zip(away, slopes, strict=True)
    ]
    return Influence(1.0 - found / expected, cells)


def _distances(k: int, *, quadratic: bool) -> list[list[float]]:
    """Return 1 minus the weight of each cell."""
    if quadratic:
        return [[((i - j) / (k - 1)) ** 2 for j in range(k)] for i in range(k)]
    return [[float(i != j) for j in range(k)] for i in range(k)]


def _shares(table: Table) -> list[float]:
    """Return how much both raters use each level."""
    rows, columns = _margins(table)
    n = math.fsum(rows)
    return [(row + column) / (2.0 * n) for row, column in zip(rows, columns, strict=True)]


def _chance_factor(away: Table) -> float:
    k = len(away)
    return (k * k - math.fsum(map(math.fsum, away))) / (k * (k - 1))


def _margins(table: Table) -> tuple[list[float], list[float]]:
    return [math.fsum(row) for row in table], [math.fsum(row) for row in zip(*table, strict=True)]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


def _total(values: Table, table: Table) -> float:
    return math.fsum(_dot(one, other) for one, other in zip(values, table, strict=True))

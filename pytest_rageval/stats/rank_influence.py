"""How far one sample moves a rank correlation, from a table of levels and scores.

A table has a row for each level of people and a column for each score that occurs, both from the
lowest on, and no empty cell. The middle rank of a row is the share below it and half of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from pytest_rageval.stats.influence import Influence, Table


def spearman_influence(table: Table) -> Influence:
    """Return Spearman's rho, and the influence of each cell.

    rho is c/√(ab), with c the covariance of the middle ranks u and v less a half, a and b their
    variances. A sample moves c by uv - 3c and the part of the samples above it, ties by half, in
    either direction; and a, alike, by u² - 3a and twice that part.
    """
    shares, rows, columns = _shares(table)
    u, v = _ranks(columns), _ranks(rows)
    by_column = [_dot(v, column) for column in zip(*shares, strict=True)]
    by_row = [_dot(u, row) for row in shares]
    covariance = _dot(by_row, v)
    on_u, on_v = _spread(u, columns), _spread(v, rows)
    root = math.sqrt(on_u.value * on_v.value)
    above_u, above_v = _above(by_column), _above(by_row)
    rho = covariance / root
    cells = [
        [
            (u[j] * v[i] + above_u[j] + above_v[i] - 3.0 * covariance) / root
            - rho / 2.0 * (on_u.cells[0][j] / on_u.value + on_v.cells[0][i] / on_v.value)
            for j in range(len(u))
        ]
        for i in range(len(v))
    ]
    return Influence(rho, cells)


def kendall_influence(table: Table) -> Influence:
    """Return Kendall's tau-b, and the influence of each cell.

    tau is S/√(AB), with S the mean over two samples of +1 (the same order), -1 or 0 (a tie), A and
    B the shares of pairs that are not tied in score or level. A sample moves each of them by twice
    its own mean over the other samples less the figure.
    """
    shares, rows, columns = _shares(table)
    by_column = [_order(row) for row in shares]
    order = [list(row) for row in zip(*map(_order, zip(*by_column, strict=True)), strict=True)]
    untied = [1.0 - _dot(one, one) for one in (rows, columns)]
    root = math.sqrt(untied[0] * untied[1])
    mean = math.fsum(_dot(one, other) for one, other in zip(order, shares, strict=True))
    tau = mean / root
    of_row, of_column = (
        [tau * ((1.0 - share) / part - 1.0) for share in one]
        for one, part in zip((rows, columns), untied, strict=True)
    )
    cells = [
        [2.0 * (found - mean) / root - a - b for found, b in zip(line, of_column, strict=True)]
        for line, a in zip(order, of_row, strict=True)
    ]
    return Influence(tau, cells)


def curve_influence(table: Table) -> Influence:
    """Return the area under the ROC curve of two levels, and the influence of each cell.

    A sample moves it by how often it is on the right side of those of the other level, less the
    area, over the share of its own level (DeLong, DeLong and Clarke-Pearson 1988).
    """
    shares, (low, high), _ = _shares(table)
    lower, higher = [cell / low for cell in shares[0]], [cell / high for cell in shares[1]]
    below = [1.0 - part for part in _above(lower)]
    above = _above(higher)
    area = _dot(below, higher)
    cells = [[(part - area) / low for part in above], [(part - area) / high for part in below]]
    return Influence(area, cells)


def _shares(table: Table) -> tuple[list[list[float]], list[float], list[float]]:
    """Return the table as shares of 1, and those of its rows and of its columns."""
    n = math.fsum(map(math.fsum, table))
    shares = [[cell / n for cell in row] for row in table]
    return shares, [*map(math.fsum, shares)], [*map(math.fsum, zip(*shares, strict=True))]


def _ranks(shares: Sequence[float]) -> list[float]:
    """Return the middle rank of each place, less a half."""
    return [0.5 - above for above in _above(shares)]


def _spread(ranks: Sequence[float], shares: Sequence[float]) -> Influence:
    """Return the variance of ``ranks``, and the influence of each place as a row."""
    variance = _dot(shares, [rank * rank for rank in ranks])
    above = _above([rank * share for rank, share in zip(ranks, shares, strict=True)])
    moved = [
        rank * rank + 2.0 * part - 3.0 * variance for rank, part in zip(ranks, above, strict=True)
    ]
    return Influence(variance, [moved])


def _above(values: Sequence[float]) -> list[float]:
    """Return the sum of what comes after each value, and half of it."""
    after = list(accumulate(reversed(values)))[::-1]
    return [part - value / 2.0 for part, value in zip(after, values, strict=True)]


def _order(values: Sequence[float]) -> list[float]:
    """Return the sum of what comes before each value less that of what comes after it."""
    total = math.fsum(values)
    return [total - 2.0 * part for part in _above(values)]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))

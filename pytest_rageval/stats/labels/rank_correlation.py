"""Rank correlations of two rows of numbers, with ties, and how much each sample weighs in them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from pytest_rageval.stats.influence import Influence, Table


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Spearman's rho: the correlation of the ranks, ties with their mean rank.

    None where all of ``a`` or all of ``b`` are equal.

    >>> spearman([1, 2, 3, 4], [1, 2, 4, 3])
    0.8
    """
    ranks = [_ranks(a), _ranks(b)]
    middle = (len(a) + 1) / 2.0
    x, y = ([rank - middle for rank in one] for one in ranks)
    spread = math.fsum(one * one for one in x) * math.fsum(one * one for one in y)
    if spread == 0.0:
        return None
    return math.fsum(one * other for one, other in zip(x, y, strict=True)) / math.sqrt(spread)


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Kendall's tau-b, None where all of ``a`` or all of ``b`` are equal.

    Discordant pairs are the inversions of a sort (Knight 1966): n log n.

    >>> round(kendall([1, 2, 3, 4], [1, 2, 4, 3]), 4)
    0.6667
    """
    pairs = sorted(zip(a, b, strict=True))
    tied_a, tied_b, tied = _tied(a), _tied(b), _tied(pairs)
    every = len(a) * (len(a) - 1) // 2
    if every in (tied_a, tied_b):
        return None
    discordant = _sorted_inversions([y for _, y in pairs])[1]
    concordant = every - tied_a - tied_b + tied - discordant
    return (concordant - discordant) / math.sqrt((every - tied_a) * (every - tied_b))


def area_under_curve(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Return how often a positive sample scores above another one, a tie as a half.

    This is the area under the ROC curve (Mann and Whitney's U over the number of pairs), None
    where all samples are positive or none is.

    >>> area_under_curve([0.1, 0.4, 0.4, 0.8], [False, False, True, True])
    0.875
    """
    good = sum(positive)
    pairs = good * (len(scores) - good)
    if pairs == 0:
        return None
    ranks = zip(_ranks(scores), positive, strict=True)
    return (math.fsum(rank for rank, yes in ranks if yes) - good * (good + 1) / 2.0) / pairs


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share their mean rank."""
    ranks: dict[float, float] = {}
    below = 0
    for value, count in sorted(Counter(values).items()):
        ranks[value] = below + (count + 1) / 2.0
        below += count
    return [ranks[value] for value in values]


def _tied(values: Iterable[object]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _sorted_inversions(values: list[float]) -> tuple[list[float], int]:
    """Return ``values`` in order, and how many pairs were in the wrong one."""
    if len(values) < 2:
        return values, 0
    half = len(values) // 2
    (left, a), (right, b) = _sorted_inversions(values[:half]), _sorted_inversions(values[half:])
    found, at = a + b, 0
    for value in right:
        while at < half and left[at] <= value:
            at += 1
        found += half - at
    return sorted(left + right), found


def spearman_influence(table: Table) -> Influence:
    """Return Spearman's rho, and the influence of each cell.

    rho is c/√(ab), with c the covariance of the middle ranks u and v less a half, a and b their
    variances. A sample moves c by uv - 3c and the part of the samples above it, ties by half, in
    either direction; and a, alike, by u² - 3a and twice that part.
    """
    shares, rows, columns = _shares(table)
    u, v = _middle_ranks(columns), _middle_ranks(rows)
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


def _middle_ranks(shares: Sequence[float]) -> list[float]:
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

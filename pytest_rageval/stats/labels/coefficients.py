"""Coefficients of agreement: of raters, two rankings, scores and levels; the majority of votes."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, combinations

from pytest_rageval.stats.labels.influence import Cell, Influence, Table, Unit, dot, sum_of_squares


def cohen_kappa(table: Table, *, quadratic: bool = False) -> float | None:
    """Return Cohen's kappa (1960; weighted: 1968).

    None where both raters use the same single level, and for an empty table.

    >>> cohen_kappa([[4, 1], [1, 4]])
    0.6
    """
    rows, columns = _margins(table)
    n = math.fsum(rows)
    away = _distances(len(table), quadratic=quadratic)
    expected = _total(away, [[row * column for column in columns] for row in rows])
    return None if expected == 0.0 else 1.0 - n * _total(away, table) / expected


def kappa_influence(table: Table, *, quadratic: bool = False) -> Influence:
    """Return the kappa of a table, which has to have one, and the influence of each cell.

    With D and E the mean distance found and expected, kappa is 1 - D/E, and a sample at the
    distance d moves it by D(a + b)/E² - d/E - D/E, where a and b are the mean distances of its row
    from the columns' margin and of its column from the rows'. (Fleiss, Cohen and Everitt 1969.)
    """
    rows, columns = _margins(table)
    n = math.fsum(rows)
    away = _distances(len(table), quadratic=quadratic)
    by_row = [dot(line, columns) / n for line in away]
    by_column = [dot(line, rows) / n for line in away]
    expected = dot(by_row, rows) / n
    ratio = _total(away, table) / n / expected
    cells = [
        [(ratio * (a + b) - d) / expected - ratio for d, b in zip(line, by_column, strict=True)]
        for line, a in zip(away, by_row, strict=True)
    ]
    return Influence(1.0 - ratio, cells)


def gwet_ac(table: Table, *, quadratic: bool = False) -> float:
    """Return Gwet's AC1 (2008), with quadratic weights AC2: 1 where both use the same single level.

    The table has two levels or more, and is not empty.

    >>> round(gwet_ac([[0, 5], [5, 90]]), 4)
    0.8895
    """
    away = _distances(len(table), quadratic=quadratic)
    n = math.fsum(map(math.fsum, table))
    chance = _chance_factor(away) * math.fsum(
        share * (1.0 - share) for share in _use_of_levels(table)
    )
    return 1.0 - _total(away, table) / n / (1.0 - chance)


def ac_influence(table: Table, *, quadratic: bool = False) -> Influence:
    """Return ``gwet_ac`` of a table, and the influence of each cell (Gwet 2008).

    With D the mean distance found and E = 1 - cΣp(1 - p) that of chance, the coefficient is
    1 - D/E; a sample moves D by d - D, and E by -c times the mean over its two levels of
    (1 - 2p) - Σp(1 - 2p).
    """
    away = _distances(len(table), quadratic=quadratic)
    used, factor = _use_of_levels(table), _chance_factor(away)
    expected = 1.0 - factor * math.fsum(share * (1.0 - share) for share in used)
    found = _total(away, table) / math.fsum(map(math.fsum, table))
    slopes = [1.0 - 2.0 * share for share in used]
    middle = dot(slopes, used)
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


def _use_of_levels(table: Table) -> list[float]:
    """Return each level's share of the ratings of both raters together."""
    rows, columns = _margins(table)
    n = math.fsum(rows)
    return [(row + column) / (2.0 * n) for row, column in zip(rows, columns, strict=True)]


def _chance_factor(away: Table) -> float:
    k = len(away)
    return (k * k - math.fsum(map(math.fsum, away))) / (k * (k - 1))


def _margins(table: Table) -> tuple[list[float], list[float]]:
    return [math.fsum(row) for row in table], [math.fsum(row) for row in zip(*table, strict=True)]


def _total(values: Table, table: Table) -> float:
    return math.fsum(dot(one, other) for one, other in zip(values, table, strict=True))


Votes = Mapping[str, float]
"""The level that each annotator gave to a sample."""


def majority(votes: Collection[float], levels: Sequence[float]) -> float | None:
    """Return the level that most votes have; needs a vote.

    Where levels are tied, it is the median of all votes if the scale has more than two levels and
    the median is one of them, else None.

    >>> majority([1, 1, 0], (0, 1)), majority([1, 0], (0, 1)), majority([1, 3], (1, 2, 3))
    (1, None, 2.0)
    """
    (first, most), *others = Counter(votes).most_common(2)
    if not others or others[0][1] < most:
        return first
    middle = statistics.median(votes)
    return middle if len(levels) > 2 and middle in levels else None


def krippendorff_alpha(samples: Iterable[Votes], levels: Sequence[float]) -> float | None:
    """Return Krippendorff's alpha, nominal for two levels and ordinal for more.

    A sample counts with two votes or more, so annotators may leave samples out. None where there
    is no such sample, or all votes are one level. The distance of two levels is that of their
    middle ranks, squared: but for a term of 1/n, alpha is Spearman's rho of the summed
    coincidences. (Krippendorff 2011, Computing Krippendorff's alpha-reliability.)
    """
    k = len(levels)
    together = [[0.0] * k for _ in levels]
    for votes in samples:
        for (i, j), weight in coincidences(votes, levels).items():
            together[i][j] += weight
    used = [math.fsum(row) for row in together]
    away = _level_distances(used)
    cells = [(i, j) for i in range(k) for j in range(k)]
    expected = math.fsum(used[i] * used[j] * away[i][j] for i, j in cells)
    if expected == 0.0:
        return None
    found = math.fsum(together[i][j] * away[i][j] for i, j in cells)
    return 1.0 - (math.fsum(used) - 1.0) * found / expected


def human_ceiling(samples: Iterable[Votes], levels: Sequence[float]) -> float | None:
    """Return the mean kappa of two annotators: the most that can be asked of a judge.

    It is quadratic for more than two levels, weighted by how many samples a pair shares, over the
    pairs that share at least half as many as the pair with most: a third person who is asked only
    where two differ says nothing here. None where no such pair has a kappa.
    """
    tables = compared_pairs(samples, levels).values()
    return ceiling_influence([row for table in tables for row in table]).value if tables else None


def compared_pairs(
    samples: Iterable[Votes], levels: Sequence[float]
) -> dict[tuple[str, str], list[list[int]]]:
    """Return the tables of the pairs of annotators whose kappas make the ceiling."""
    position = {level: at for at, level in enumerate(levels)}
    tables: dict[tuple[str, str], list[list[int]]] = {}
    for votes in samples:
        for pair in combinations(sorted(votes), 2):
            table = tables.setdefault(pair, [[0] * len(levels) for _ in levels])
            table[position[votes[pair[0]]]][position[votes[pair[1]]]] += 1
    shared = {pair: sum(map(sum, table)) for pair, table in tables.items()}
    most = max(shared.values(), default=0)
    return {
        pair: table
        for pair, table in sorted(tables.items())
        if 2 * shared[pair] >= most and cohen_kappa(table) is not None
    }


def ceiling_influence(table: Table) -> Influence:
    """Return the mean kappa of pairs of annotators, whose tables stand one below the other.

    A sample moves the kappa of its pair, and the weight of the pair among all.
    """
    k = len(table[0])
    blocks = [table[at : at + k] for at in range(0, len(table), k)]
    sizes = [math.fsum(map(math.fsum, block)) for block in blocks]
    found = [kappa_influence(block, quadratic=k > 2) for block in blocks]
    products = (n * one.value for n, one in zip(sizes, found, strict=True))
    mean = math.fsum(products) / math.fsum(sizes)
    cells = [[moved + one.value - mean for moved in row] for one in found for row in one.cells]
    return Influence(mean, cells)


def pair_units(samples: Iterable[Votes], levels: Sequence[float]) -> tuple[list[Unit], int]:
    """Return each sample's cells in the table of ``ceiling_influence``, and how many rows it has.

    A cell counts 1: a pair of annotators who both voted, if ``compared_pairs`` has it.
    """
    samples = list(samples)
    position = {level: at for at, level in enumerate(levels)}
    first = {pair: at * len(levels) for at, pair in enumerate(compared_pairs(samples, levels))}
    units: list[Unit] = [
        {
            (first[pair] + position[votes[pair[0]]], position[votes[pair[1]]]): 1.0
            for pair in combinations(sorted(votes), 2)
            if pair in first
        }
        for votes in samples
    ]
    return units, len(first) * len(levels)


def coincidences(votes: Votes, levels: Sequence[float]) -> dict[Cell, float]:
    """Return the coincidence matrix of a sample, without zeros: nothing below two votes.

    Each ordered pair of votes by different annotators counts 1/(votes - 1), so the cells sum to the
    number of votes.

    >>> coincidences({"a": 1, "b": 0}, (0, 1))
    {(0, 1): 1.0, (1, 0): 1.0}
    """
    position = {level: at for at, level in enumerate(levels)}
    counts = Counter(position[level] for level in votes.values())
    pairs = {
        (i, j): of_i * (of_j - (i == j)) / max(len(votes) - 1, 1)
        for i, of_i in sorted(counts.items())
        for j, of_j in sorted(counts.items())
    }
    return {cell: weight for cell, weight in pairs.items() if weight}


def _level_distances(used: Sequence[float]) -> list[list[float]]:
    """Return the squared distance of two levels: with more than two, by the votes between them."""
    k = len(used)
    if k == 2:
        return [[0.0, 1.0], [1.0, 0.0]]
    return [
        [
            (math.fsum(used[min(i, j) : max(i, j) + 1]) - (used[i] + used[j]) / 2.0) ** 2
            for j in range(k)
        ]
        for i in range(k)
    ]


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return Spearman's rho: the correlation of the ranks, ties with their mean rank.

    None where all of ``a`` or all of ``b`` are equal.

    >>> spearman([1, 2, 3, 4], [1, 2, 4, 3])
    0.8
    """
    ranks = [_ranks(a), _ranks(b)]
    middle = (len(a) + 1) / 2.0
    x, y = ([rank - middle for rank in one] for one in ranks)
    spread = sum_of_squares(x) * sum_of_squares(y)
    return dot(x, y) / math.sqrt(spread) if spread else None


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

    rho is c/√(ab), with u and v the middle ranks less a half, c their covariance, a and b their
    variances. A sample moves c by uv - 3c, the sum of v over the samples above it in u, and that of
    u over those above it in v (ties by half); and a by u² - 3a and twice the sum of u over the
    samples above it.
    """
    shares, rows, columns = _shares(table)
    u, v = _middle_ranks(columns), _middle_ranks(rows)
    by_column = [dot(v, column) for column in zip(*shares, strict=True)]
    by_row = [dot(u, row) for row in shares]
    covariance = dot(by_row, v)
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
    B the shares of pairs that are not tied in score or level. A sample moves each of the three by
    twice the difference of its own mean over the samples and the figure.
    """
    shares, rows, columns = _shares(table)
    by_column = [_order(row) for row in shares]
    order = [list(row) for row in zip(*map(_order, zip(*by_column, strict=True)), strict=True)]
    untied = [1.0 - dot(one, one) for one in (rows, columns)]
    root = math.sqrt(untied[0] * untied[1])
    mean = math.fsum(dot(one, other) for one, other in zip(order, shares, strict=True))
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

    A sample moves it by how often it is on the right side of samples of the other level, less the
    area, over the share of its own level (DeLong, DeLong and Clarke-Pearson 1988).
    """
    shares, (low, high), _ = _shares(table)
    lower, higher = [cell / low for cell in shares[0]], [cell / high for cell in shares[1]]
    below = [1.0 - part for part in _above(lower)]
    above = _above(higher)
    area = dot(below, higher)
    cells = [[(part - area) / low for part in above], [(part - area) / high for part in below]]
    return Influence(area, cells)


def _shares(table: Table) -> tuple[list[list[float]], list[float], list[float]]:
    """Return the table as shares of 1, and the shares of its rows and columns."""
    n = math.fsum(map(math.fsum, table))
    shares = [[cell / n for cell in row] for row in table]
    return shares, [*map(math.fsum, shares)], [*map(math.fsum, zip(*shares, strict=True))]


def _middle_ranks(shares: Sequence[float]) -> list[float]:
    """Return the middle rank of each row or column, as a share of 1, less a half."""
    return [0.5 - above for above in _above(shares)]


def _spread(ranks: Sequence[float], shares: Sequence[float]) -> Influence:
    """Return the variance of ``ranks``, and the influence of each, as a table of one row."""
    variance = dot(shares, [rank * rank for rank in ranks])
    above = _above([rank * share for rank, share in zip(ranks, shares, strict=True)])
    moved = [
        rank * rank + 2.0 * part - 3.0 * variance for rank, part in zip(ranks, above, strict=True)
    ]
    return Influence(variance, [moved])


def _above(values: Sequence[float]) -> list[float]:
    """Return for each value the sum of those after it, plus half of the value itself."""
    after = list(accumulate(reversed(values)))[::-1]
    return [part - value / 2.0 for part, value in zip(after, values, strict=True)]


def _order(values: Sequence[float]) -> list[float]:
    """Return for each value the sum of those before it, less that of those after it."""
    total = math.fsum(values)
    return [total - 2.0 * part for part in _above(values)]

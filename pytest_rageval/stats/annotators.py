"""What several people say of the same samples: their majority, and how far they agree."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from pytest_rageval.stats.influence import Cell, Influence, Table, Unit
from pytest_rageval.stats.kappa import cohen_kappa, kappa_influence

Votes = Mapping[str, float]
"""The level that each annotator gave to a sample."""


def majority(votes: Collection[float], levels: Sequence[float]) -> float | None:
    """Return the level that most annotators gave, None where there is no such level.

    Of more than two levels that are tied, the median of the votes is taken if it is a level.

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
    is no such sample, or all votes are one level. (Krippendorff 2011, Computing Krippendorff's
    alpha-reliability.)
    """
    k = len(levels)
    together = [[0.0] * k for _ in levels]
    for votes in samples:
        for (i, j), weight in coincidences(votes, levels).items():
            together[i][j] += weight
    used = [math.fsum(row) for row in together]
    away = _distances(used)
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
    found = [
        (sum(map(sum, table)), cohen_kappa(table, quadratic=len(levels) > 2) or 0.0)
        for table in compared_pairs(samples, levels).values()
    ]
    total = sum(n for n, _ in found)
    return math.fsum(n * kappa for n, kappa in found) / total if found else None


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
    """Return the cells of each sample in the table of ``ceiling_influence``, and its rows."""
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
    """Return how often two votes on a sample are at which levels, in all as often as it has votes.

    In either order; nothing below two votes. Alpha is, but for 1/n, Spearman's rho of the table of
    all samples: its distance of two levels is that of their middle ranks, squared.

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


def _distances(used: Sequence[float]) -> list[list[float]]:
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

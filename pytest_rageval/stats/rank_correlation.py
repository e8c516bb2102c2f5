"""How far two rows of numbers agree on an order; ties are counted as such."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence


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

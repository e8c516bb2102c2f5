"""Holes: retrieved documents that nobody judged, and between which values they leave a measure.

A document without a grade is a hole, and so is one of grade -1 (NIST: pooled and not judged). -2
and below are judged. Each hole could be worth nothing, or as much as the best judged document. A
measure is lowest and highest for some number j of good holes when these are the first j or the last
j: what is to be found grows with j, so that more good holes may also lower a figure.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from pytest_rageval.model import Sample

POOLED: Final = -1
"""The grade of a document that was to be judged, and was not."""

LISTED: Final = 20
"""How many holes of a sample are kept by name."""


def hole_ranks(sample: Sample, k: int | None) -> list[int]:
    """Return the ranks, from 1, of the first ``k`` documents that nobody judged."""
    judged = sample.reference_ids or {}
    first = (sample.retrieved_ids or ())[:k]
    return [rank for rank, name in enumerate(first, 1) if judged.get(name, POOLED) == POOLED]


def judged_share(sample: Sample, k: int | None) -> float | None:
    """Return the judged among the first ``k`` that were retrieved, None if nothing was."""
    size = len((sample.retrieved_ids or ())[:k])
    return 1.0 - len(hole_ranks(sample, k)) / size if size else None


def names_irrelevant(sample: Sample) -> bool:
    """Return whether the judgements name a document that is not relevant.

    A row that lists relevant documents alone says what is to be found: all others are wrong.
    """
    return any(grade < 1 for grade in (sample.reference_ids or {}).values())


@dataclass(frozen=True, slots=True)
class Judged:
    """A ranking with its judgements, as a measure sees it.

    ``gains`` are those of the documents by rank, 0 for a hole; ``missed`` those of judged documents
    that were not retrieved. ``holes`` are the ranks, from 1, of those among the first ``k``.
    ``best`` is what a hole may be worth; a document is relevant from ``rel`` upwards.
    """

    gains: Sequence[int]
    missed: Sequence[int]
    holes: Sequence[int]
    best: int
    rel: int = 1
    k: int | None = None

    @classmethod
    def of(
        cls, sample: Sample, gains: Mapping[str, int], holes: Sequence[int], rel: int, k: int | None
    ) -> Judged:
        """Return the ranking of a sample; ``gains`` are those of its judged documents."""
        retrieved = sample.retrieved_ids or ()
        found = set(retrieved)
        return cls(
            [gains.get(name, 0) for name in retrieved],
            [gain for name, gain in gains.items() if name not in found],
            holes,
            max(rel, *gains.values()),
            rel,
            k,
        )

    @property
    def relevant(self) -> list[int]:
        """The ranks of relevant documents among the first ``k``."""
        return [rank for rank, gain in enumerate(self.gains[: self.k], 1) if gain >= self.rel]

    @property
    def wanted(self) -> int:
        """How many judged documents are relevant, retrieved or not."""
        return sum(gain >= self.rel for gain in (*self.gains, *self.missed))


Between = Callable[[Judged], Iterable[float]]
"""Returns a measure's value for each number of good holes, of the first and of the last ones."""


def between(measure: Between, ranking: Judged) -> tuple[float, float]:
    """Return the lowest and the highest value that the holes leave open."""
    values = list(measure(ranking))
    return min(values), max(values)


def details_of(
    sample: Sample, holes: Sequence[int], k: int | None, ends: tuple[float, float] | None
) -> dict[str, Any]:
    """Return what is kept of a sample's holes: their number, the share judged, the first ones.

    ``low`` and ``high`` are the ends of the figure, if the measure has any.
    """
    retrieved = sample.retrieved_ids or ()
    size = len(retrieved[:k])
    return {
        **({} if k is None else {"k": k}),
        "judged": 1.0 - len(holes) / size,
        "holes": len(holes),
        "first_holes": {retrieved[rank - 1]: rank for rank in holes[:LISTED]},
        **({} if ends is None else {"low": ends[0], "high": ends[1]}),
    }


# One function for each measure; each yields its value for 0, 1, ... good holes.


def precisions(ranking: Judged) -> Iterator[float]:
    """Yield the precision; it is the same whichever holes are good."""
    hits, size = len(ranking.relevant), ranking.k or len(ranking.gains)
    return ((hits + good) / size for good in range(len(ranking.holes) + 1))


def recalls(ranking: Judged) -> Iterator[float]:
    """Yield the recall; it is the same whichever holes are good."""
    hits, wanted = len(ranking.relevant), ranking.wanted
    for good in range(len(ranking.holes) + 1):
        yield (hits + good) / (wanted + good) if wanted + good else 0.0


def reciprocal_ranks(ranking: Judged) -> Iterator[float]:
    """Yield the reciprocal rank of the first hit, and with the first hole as a good one."""
    for ranks in (ranking.relevant, [*ranking.relevant, *ranking.holes[:1]]):
        yield 1.0 / min(ranks, default=math.inf)


def hit_rates(ranking: Judged) -> Iterator[float]:
    """Yield whether there is a hit, and whether there may be one."""
    return (float(value > 0.0) for value in reciprocal_ranks(ranking))


def r_precisions(ranking: Judged) -> Iterator[float]:
    """Yield the precision among as many as are relevant."""
    wanted, holes = ranking.wanted, len(ranking.holes)
    for good in range(holes + 1):
        size = wanted + good
        hits = bisect_right(ranking.relevant, size)
        reached = bisect_right(ranking.holes, size)
        for filled in (min(good, reached), max(0, reached - (holes - good))):
            yield (hits + filled) / size if size else 0.0


def average_precisions(ranking: Judged) -> Iterator[float]:
    """Yield the average precision."""
    relevant, wanted = ranking.relevant, ranking.wanted
    below = [0.0, *accumulate(1.0 / rank for rank in reversed(relevant))]
    total = math.fsum(hits / rank for hits, rank in enumerate(relevant, 1))
    yield total / wanted if wanted else 0.0
    # A good hole has its own precision, and raises that of every hit below it by 1 / rank.
    before = [bisect_right(relevant, rank) for rank in ranking.holes]
    after = [below[len(relevant) - hits] for hits in before]
    first = last = total
    lower = 0.0
    rows = list(zip(ranking.holes, before, after, strict=True))
    for good, (top, bottom) in enumerate(zip(rows, reversed(rows), strict=True), 1):
        rank, hits, gain = top
        first += (hits + good) / rank + gain
        rank, hits, gain = bottom
        last += (hits + 1) / rank + gain + lower
        lower += 1.0 / rank
        yield first / (wanted + good)
        yield last / (wanted + good)


def ndcgs(ranking: Judged) -> Iterator[float]:
    """Yield the normalised discounted cumulative gain."""
    gains, best, k = ranking.gains, ranking.best, ranking.k
    grades = Counter(gain for gain in (*gains, *ranking.missed) if gain > 0)
    holes, wanted = len(ranking.holes), sum(grades.values())
    places = max(len(gains), wanted + holes)
    discounts = [
        1.0 / math.log2(rank + 1) for rank in range(1, (min(k, places) if k else places) + 1)
    ]
    sums = [0.0, *accumulate(discounts)]
    sums += [sums[-1]] * (wanted + holes + 1 - len(sums))
    total = math.fsum(
        gain * discount for gain, discount in zip(gains, discounts, strict=False) if gain > 0
    )
    worth = [best * discounts[rank - 1] for rank in ranking.holes]
    tops, bottoms = accumulate(worth, initial=total), accumulate(reversed(worth), initial=total)
    steps = []
    start = 0
    for gain, number in sorted(grades.items(), reverse=True):
        steps.append((gain, start, start + number))
        start += number
    for good, (top, bottom) in enumerate(zip(tops, bottoms, strict=True)):
        ideal = best * sums[good]
        for gain, begin, end in steps:
            ideal += gain * (sums[good + end] - sums[good + begin])
        yield top / ideal if ideal else 0.0
        yield bottom / ideal if ideal else 0.0

"""Holes: retrieved documents that nobody judged, and between which values they leave a measure.

A document without a grade is a hole, and so is one of grade -1 (NIST: pooled and not judged). -2
and below are judged. Each hole could be worth nothing, or as much as the best judged document. With
j good holes a measure is highest if these are the first j, and lowest if they are the last j. What
is to be found grows with j, so that more good holes may also lower a figure: every j counts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from pytest_rageval.metrics.base import MetricInfo, NoOptions, Role
from pytest_rageval.model import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POOLED: Final = -1
"""The grade of a document that was pooled, to be judged, and was not judged."""


def _only_true(value: Any) -> Any:
    """Return True or False as it is, anything else as a text.

    ``Literal[True]`` would accept 1, which is equal to it; as the text ``"1"`` it is refused.
    """
    return value if isinstance(value, bool) else str(value)


class FillableOptions(NoOptions):
    """The options of a measure whose holes a judge may fill."""

    filled: Annotated[Literal[True], BeforeValidator(_only_true)] | None = Field(
        None, description="a judge grades the results that nobody judged, as 'fill' says"
    )

    def adapt(self, info: MetricInfo) -> MetricInfo:
        """Return the info of a measure; one that is filled asks a judge."""
        asks: frozenset[Role] = frozenset({"judge"})
        return replace(info, asks=asks, fills=True) if self.filled else info


def hole_ranks(sample: Sample, k: int | None) -> list[int]:
    """Return the ranks, from 1, of the documents among the first ``k`` that nobody judged."""
    judged = sample.reference_ids or {}
    first = (sample.retrieved_ids or ())[:k]
    return [rank for rank, name in enumerate(first, 1) if judged.get(name, POOLED) == POOLED]


def judged_share(sample: Sample, k: int | None) -> float | None:
    """Return the share of the first ``k`` retrieved that is judged, None if none was retrieved."""
    size = len((sample.retrieved_ids or ())[:k])
    return 1.0 - len(hole_ranks(sample, k)) / size if size else None


@dataclass(frozen=True, slots=True)
class Ranked:
    """The grades of judged documents: ``found`` has rank, from 1, and grade of retrieved ones.

    ``missed`` are the grades of the others. ``size`` counts what was retrieved, holes too.
    """

    found: Sequence[tuple[int, int]]
    missed: Sequence[int]
    size: int

    @classmethod
    def of(cls, sample: Sample) -> Ranked | None:
        """Return the ranking of a sample, None if no hole leaves a measure open.

        None does in a row without a grade below 1: it says what is to be found, and all others are
        wrong.
        """
        grades, retrieved = sample.reference_ids or {}, sample.retrieved_ids or ()
        if all(grade >= 1 for grade in grades.values()):
            return None
        rest = {name: grade for name, grade in grades.items() if grade != POOLED}
        found = [(rank, rest.pop(name)) for rank, name in enumerate(retrieved, 1) if name in rest]
        size = len(retrieved)
        return cls(found, list(rest.values()), size) if len(found) < size else None


@dataclass(frozen=True)
class OpenRanking:
    """The first ``k`` results of a ranking as a measure sees them, ``size`` of them.

    ``found`` are pairs of rank and gain of judged ones, ``others`` the gains of judged documents
    that are not among the results. ``best`` is what a hole may be worth. A gain of ``rel`` is
    relevant, and so are larger ones.
    """

    found: Sequence[tuple[int, int]]
    others: Sequence[int]
    best: int
    size: int
    rel: int = 1
    k: int | None = None

    @classmethod
    def of(cls, ranked: Ranked, gains: Mapping[int, int], rel: int, k: int | None) -> OpenRanking:
        """Return a ranking as a measure sees it.

        ``gains`` has the gains of grades that are not gains themselves.
        """
        size = ranked.size if k is None else min(k, ranked.size)
        both = [(rank, gains.get(grade, grade)) for rank, grade in ranked.found]
        found = [row for row in both if row[0] <= size]
        others = [gains.get(grade, grade) for grade in ranked.missed]
        others += [gain for _, gain in both[len(found) :]]
        best = max(rel, *others, *(gain for _, gain in found), 0)
        return cls(found, others, best, size, rel, k)

    @property
    def n_holes(self) -> int:
        """How many of the results nobody judged."""
        return self.size - len(self.found)

    @cached_property
    def holes(self) -> NDArray[np.int_]:
        """The ranks of the holes, from 1."""
        import numpy as np

        return np.delete(np.arange(1, self.size + 1), [rank - 1 for rank, _ in self.found])

    @cached_property
    def relevant(self) -> list[int]:
        """The ranks of the relevant results, from 1."""
        return [rank for rank, gain in self.found if gain >= self.rel]

    @cached_property
    def wanted(self) -> int:
        """How many judged documents are relevant, retrieved or not."""
        return len(self.relevant) + sum(gain >= self.rel for gain in self.others)

    def details(self, between: Between | None) -> dict[str, Any]:
        """Return the number of holes, the share judged, and the ends that they leave open.

        ``low`` and ``high`` are missing where a measure leaves holes out by itself.
        """
        low, high = (None, None) if between is None else between(self)
        return {
            **({} if self.k is None else {"k": self.k}),
            "judged": 1.0 - self.n_holes / self.size,
            "holes": self.n_holes,
            **({} if low is None else {"low": low, "high": high}),
        }


Between = Callable[[OpenRanking], tuple[float, float]]
"""Returns the lowest and the highest value that the holes leave open to a measure.

It is asked only of a ranking with a hole.
"""


# One function for each measure. Where more good holes may raise or lower it, each number of them
# is tried.


def precision_between(ranking: OpenRanking) -> tuple[float, float]:
    """Return the ends of the precision."""
    hits, size = len(ranking.relevant), ranking.k or ranking.size
    return hits / size, (hits + ranking.n_holes) / size


def recall_between(ranking: OpenRanking) -> tuple[float, float]:
    """Return the ends of the recall: each good hole raises it."""
    hits, wanted, holes = len(ranking.relevant), ranking.wanted, ranking.n_holes
    return hits / wanted if wanted else 0.0, (hits + holes) / (wanted + holes)


def reciprocal_rank_between(ranking: OpenRanking) -> tuple[float, float]:
    """Return the ends of the reciprocal rank."""
    first, hole = min(ranking.relevant, default=math.inf), int(ranking.holes[0])
    return 1.0 / first, 1.0 / min(first, hole)


def hit_rate_between(ranking: OpenRanking) -> tuple[float, float]:
    """Return the ends of the hit rate: any hole may be a hit."""
    return float(bool(ranking.relevant)), 1.0


def r_precision_between(ranking: OpenRanking) -> tuple[float, float]:
    """Return the ends of the precision among as many results as are relevant."""
    import numpy as np

    good = np.arange(ranking.n_holes + 1)
    sizes = ranking.wanted + good
    hits = np.searchsorted(ranking.relevant, sizes, side="right")
    reached = np.searchsorted(ranking.holes, sizes, side="right")
    most, least = np.minimum(good, reached), np.maximum(0, reached - good[::-1])
    return _ends(hits + most, hits + least, sizes)


def average_precision_between(ranking: OpenRanking) -> tuple[float, float]:
    """Return the ends of the average precision.

    A good hole has its own precision, and raises that of a hit below it by 1 / the hit's rank.
    """
    import numpy as np

    relevant, holes = np.array(ranking.relevant, dtype=float), ranking.holes
    total = float((np.arange(1, len(relevant) + 1) / relevant).sum())
    before = np.searchsorted(relevant, holes)
    below = np.append((1.0 / relevant)[::-1].cumsum()[::-1], 0.0)[before]
    good = np.arange(len(holes) + 1)
    # What each further good hole adds if they are taken from the top (``firsts``: those taken
    # before it are above it), or from the end (``lasts``: they are below it, and it raises each).
    firsts = (before + good[1:]) / holes + below
    lower = (1.0 / holes)[::-1].cumsum()
    lasts = ((before + 1) / holes + below)[::-1] + lower - (1.0 / holes)[::-1]
    return _ends(_sums(total, firsts), _sums(total, lasts), ranking.wanted + good)


def ndcg_between(ranking: OpenRanking) -> tuple[float, float]:
    """Return the ends of the normalised discounted cumulative gain."""
    import numpy as np

    all_gains = (*(gain for _, gain in ranking.found), *ranking.others)
    gains = sorted((gain for gain in all_gains if gain > 0), reverse=True)
    holes, good = ranking.holes, np.arange(ranking.n_holes + 1)
    places = max(ranking.size, len(gains) + ranking.n_holes)
    discounts = _discounts(places)[: ranking.k]
    total = math.fsum(gain * discounts[rank - 1] for rank, gain in ranking.found if gain > 0)
    worth = ranking.best * discounts[holes - 1]
    # The best ranking: good holes, then the judged documents; equal gains are summed up at once.
    sums = np.zeros(places + 1)
    sums[1 : len(discounts) + 1] = discounts.cumsum()
    sums[len(discounts) + 1 :] = sums[len(discounts)]
    ideal = ranking.best * sums[good]
    start = 0
    for gain, number in Counter(gains).items():
        ideal = ideal + gain * (sums[good + start + number] - sums[good + start])
        start += number
    return _ends(_sums(total, worth), _sums(total, worth[::-1]), ideal)


def _discounts(places: int) -> NDArray[np.float64]:
    """Return 1 / log2(rank + 1) of the first ranks."""
    size = 1 << (places - 1).bit_length()
    return _all_discounts(size)[:places]


@lru_cache(maxsize=32)
def _all_discounts(size: int) -> NDArray[np.float64]:
    import numpy as np

    made: NDArray[np.float64] = 1.0 / np.log2(np.arange(2, size + 2, dtype=float))
    return made


def _sums(total: float, added: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    return np.concatenate(([total], total + added.cumsum()))


def _ends(firsts: Any, lasts: Any, wholes: Any) -> tuple[float, float]:
    """Return the least and the largest share; of nothing it is 0."""
    import numpy as np

    shares = np.concatenate((firsts, lasts)) / np.maximum(np.concatenate((wholes, wholes)), 1e-300)
    return float(shares.min()), float(shares.max())

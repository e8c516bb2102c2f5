"""How good answers are where the system is sure of them: selective means and risk over coverage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pytest_rageval.stats.summary import Groups

LEAST_DRAWN: Final = 10
"""Of fewer samples, or groups, there is no interval."""
_ROUNDING = 1e-9  # a sum of weights that misses a share by so little reaches it
_EQUAL = 1e-12

Floats = NDArray[np.float64]
Whole = NDArray[np.intp]


@dataclass(frozen=True)
class Ranked:
    """Scores with the confidences of their answers, and weights above 0; all of one length.

    ``ties`` numbers the confidences from the highest, 0, downwards; equal ones have one number.
    """

    confidences: Sequence[float]
    scores: Sequence[float]
    weights: Sequence[float]
    ties: Whole = field(init=False)

    def __post_init__(self) -> None:
        """Number the ties."""
        _, ties = np.unique(-np.asarray(self.confidences, float), return_inverse=True)
        object.__setattr__(self, "ties", ties.reshape(-1))

    @property
    def once(self) -> Whole:
        """Each sample, once."""
        return np.ones(len(self.scores), np.intp)

    def by_tie(self, times: Whole) -> tuple[Floats, Floats, Floats]:
        """Return number, weight, and weighted sum of scores of each tie that has samples.

        ``times`` says how often each sample is there.
        """
        weights = np.asarray(self.weights, float) * times
        counts, sizes, sums = (
            np.bincount(self.ties, each).astype(np.float64)
            for each in (times, weights, weights * np.asarray(self.scores, float))
        )
        filled = counts > 0
        return counts[filled], sizes[filled], sums[filled]


Figure = Callable[[Ranked, Whole], float]
"""A figure of samples; the second argument says how often each of them is there."""


def covered(ranked: Ranked, coverage: float) -> list[int]:
    """Return the places of the most confident samples that hold a share ``coverage`` of the weight.

    A tie at the end is kept whole: its order would be chance.
    """
    _, sizes, _ = ranked.by_tie(ranked.once)
    last = _last_tie(sizes, coverage)
    return [at for at, tie in enumerate(ranked.ties) if tie <= last]


def selective_mean(coverage: float) -> Figure:
    """Return the figure: the weighted mean over the most confident share, as ``covered`` has it."""

    def mean(ranked: Ranked, times: Whole) -> float:
        _, sizes, sums = ranked.by_tie(times)
        last = _last_tie(sizes, coverage) + 1
        return float(sums[:last].sum() / sizes[:last].sum())

    return mean


def _last_tie(sizes: Floats, coverage: float) -> int:
    reached = np.cumsum(sizes)
    wanted = coverage * reached[-1] * (1.0 - _ROUNDING)
    return min(int(np.searchsorted(reached, wanted)), len(sizes) - 1)


def aurc(ranked: Ranked, times: Whole) -> float:
    """Return the area under the curve of risk over coverage: 0 is best, of scores in 0..1.

    It is the mean over all coverages, from the most confident sample alone to all of them, of 1
    minus their mean score; each coverage weighs what its last sample does. Each sample of a tie
    counts with the mean score and the mean weight of the tie: if they weigh alike, that is the mean
    over all their orders.
    """
    counts, sizes, sums = ranked.by_tie(times)
    repeats = counts.astype(np.intp)
    steps = np.repeat(sizes / counts, repeats)
    risks = 1.0 - np.cumsum(np.repeat(sums / counts, repeats)) / np.cumsum(steps)
    return float(np.average(risks, weights=steps))


def bootstrap_interval(
    ranked: Ranked,
    figure: Figure,
    groups: Groups = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 42,
) -> tuple[float, float] | None:
    """Return the ends of the percentile interval; whole ``groups`` are drawn if there are any.

    None below LEAST_DRAWN samples or groups, of which it would miss the figure too often, and where
    the resamples do not vary: they show no spread then, which is no proof that there is none.
    """
    numbers = np.arange(len(ranked.scores)) if groups is None else np.asarray(groups, np.intp)
    _, numbers = np.unique(numbers, return_inverse=True)
    n = int(numbers.max()) + 1 if len(numbers) else 0
    if n < LEAST_DRAWN:
        return None
    rng = np.random.Generator(np.random.PCG64(seed))
    found = [
        figure(ranked, np.bincount(rng.integers(n, size=n), minlength=n)[numbers])
        for _ in range(n_resamples)
    ]
    tail = (1.0 - confidence) / 2.0
    low, high = (float(end) for end in np.quantile(found, [tail, 1.0 - tail]))
    return (low, high) if high - low > _EQUAL else None

"""Ends of a share that is made up of the shares of several classes of answers.

Of a class with k of n labelled answers positive, the share p is distributed as Beta(k + 1/2,
n - k + 1/2) (Jeffreys); the classes' own parts W of all answers are Dirichlet with their numbers of
answers. Nothing is drawn: quantiles of Σ W p come from convolution on a grid, and are the same
every time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]

_GRID: Final = 513
_POINTS: Final = 128
_REACH: Final = 5.0
"""In units of 1/√n around the mode, outside of which the density is below e^-25 of its highest."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A class of ``size`` answers, of which ``labels`` are labelled, ``positive`` of them yes.

    ``positive`` may be a fraction where people are split about an answer.
    """

    size: int
    labels: int
    positive: float


@lru_cache(maxsize=4096)
def share_interval(cells: tuple[Cell, ...], confidence: float) -> tuple[float, float]:
    """Return the ends of the interval of Σ W p over all classes, within 0.001 of the exact ones.

    Both fall if an answer is labelled lower: so does each p in distribution, and nothing else
    depends on what labels say.

    >>> low, high = share_interval((Cell(100, 10, 7.0),), 0.95)  # Jeffreys' interval of 7 of 10
    >>> round(low, 3), round(high, 3)
    (0.394, 0.907)
    """
    tail = (1.0 - confidence) / 2.0
    # The largest last: its probabilities are exact, and those of the others a few points.
    first, *others = (_beta(cell) for cell in sorted(cells, key=lambda cell: cell.size))
    if not others:
        low, high = first.quantiles(np.array([tail, 1.0 - tail]))
        return float(low), float(high)
    *middle, last = others
    for one in middle:
        first = _added(first, one)
    return _quantile(first, last, tail), _quantile(first, last, 1.0 - tail)


@dataclass(frozen=True, slots=True)
class _Law:
    """A distribution: ascending ``shares``, and the probability up to each; of ``size`` answers."""

    size: int
    shares: _Floats
    below: _Floats

    def quantiles(self, probabilities: _Floats) -> _Floats:
        return np.interp(probabilities, self.below, self.shares)

    def points(self) -> _Floats:
        """Return equally probable shares: the middle of each."""
        return self.quantiles((np.arange(_POINTS) + 0.5) / _POINTS)

    def up_to(self, shares: _Floats) -> _Floats:
        return np.interp(shares, self.shares, self.below, left=0.0, right=1.0)


def _beta(cell: Cell) -> _Law:
    """Return the law of the share of a class.

    In θ with p = sin²θ its density is sin^2k θ cos^2(n-k) θ: it has no poles.
    """
    n, k = cell.labels, cell.positive
    mode = math.asin(math.sqrt(min(k / n, 1.0))) if n else 0.0
    reach = _REACH / math.sqrt(n) if n else math.pi
    theta = np.linspace(max(mode - reach, 0.0), min(mode + reach, math.pi / 2), _GRID)
    density = np.zeros(_GRID)
    with np.errstate(divide="ignore"):
        if k > 0.0:
            density += 2.0 * k * np.log(np.sin(theta))
        if k < n:
            density += 2.0 * (n - k) * np.log(np.cos(theta))
    heights = np.exp(density - density.max())
    below = np.concatenate([[0.0], np.cumsum(heights[1:] + heights[:-1])])
    return _Law(cell.size, np.sin(theta) ** 2, below / below[-1])


def _added(one: _Law, other: _Law) -> _Law:
    """Return the law of two classes together."""
    ours, theirs = one.points()[:, None], other.points()
    parts = _parts(one.size, other.size)
    sums = np.concatenate([(part * ours + (1.0 - part) * theirs).ravel() for part, _ in parts])
    weights = np.repeat([weight for _, weight in parts], _POINTS * _POINTS)
    order = np.argsort(sums, kind="stable")
    heights = weights[order] / weights.sum()
    return _Law(one.size + other.size, sums[order], np.cumsum(heights) - heights / 2.0)


def _quantile(one: _Law, other: _Law, wanted: float) -> float:
    """Return a quantile of two classes together; of ``other`` all is known, of ``one`` points."""
    points, parts = one.points(), _parts(one.size, other.size)
    shifts = np.stack([part * points for part, _ in parts])
    scales = np.array([[1.0 - part] for part, _ in parts])
    weights = np.array([weight for _, weight in parts])

    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        below = other.up_to((middle - shifts) / scales).mean(axis=1)
        low, high = (middle, high) if weights @ below < wanted else (low, middle)
    return (low + high) / 2.0


def _parts(size: int, other: int) -> list[tuple[float, float]]:
    """Return two values of W ~ Beta(size, other), the part of the first, with their weights.

    They have W's mean, variance and skewness, and lie between 0 and 1 (Gauss, of two nodes).
    """
    a, b = float(size), float(other)
    total = a + b
    deviation = math.sqrt(a * b / (total + 1.0)) / total
    half = (b - a) * math.sqrt(total + 1.0) / ((total + 2.0) * math.sqrt(a * b))
    root = math.sqrt(1.0 + half * half)
    low, high = half - root, half + root
    mean = a / total
    return [
        (mean + deviation * low, high / (high - low)),
        (mean + deviation * high, -low / (high - low)),
    ]

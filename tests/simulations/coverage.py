"""How often intervals of means hold the truth: uneven weights, rare failures, uneven groups.

Whether an end is on the right side of the truth is decided for thousands of draws at once, by a
formula for the probability that the end is a quantile of (Lugannani and Rice 1980); where that is
near the tail, by the package itself. Widths are the package's, beside those of Wilson's interval at
the effective sample size, which it had before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import populations

from pytest_rageval.stats.intervals import t_quantile
from pytest_rageval.stats.summary import weighted_interval

UNIT = (0.0, 1.0)
TAIL = 0.025
_AT_ONCE = 2000
_MEASURED = 60
"""So many draws of a cell have their widths measured."""

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]

WEIGHTS = {
    "equal": ((1.0,), (1.0,)),
    "1:2:5": ((1.0, 2.0, 5.0), (1 / 3, 1 / 3, 1 / 3)),
    "1:10": ((1.0, 10.0), (0.8, 0.2)),
    "1:100": ((1.0, 100.0), (0.95, 0.05)),
}
"""Weights of samples, and how often each occurs."""

SIZES_OF_GROUPS = ("10 each", "1 to 50", "one of 50, others 1 to 5")


@dataclass(frozen=True)
class Cell:
    """Shares of draws, and mean widths of the interval and of the former one."""

    held: float
    above: float
    width: float
    before: float

    def __str__(self) -> str:
        held, above = 100 * self.held, 100 * self.above
        return f"{held:.1f} ({above:.1f}) {self.width:.3f}|{self.before:.3f}"


def score_populations() -> Iterator[tuple[str, Draw, float]]:
    """Yield the name of each population, how to draw from it, and its mean."""
    for share in (0.5, 0.9, 0.97):
        yield f"yes/no {share:g}", lambda r, n, p=share: (r.random(n) < p) * 1.0, share
    levels, shares = np.arange(5) / 4, np.array([0.01, 0.02, 0.04, 0.10, 0.83])
    yield "five levels", lambda r, n: r.choice(levels, n, p=shares), float(levels @ shares)
    f1 = populations.openqa("f1", "FiD-KD")
    yield "F1 of FiD-KD", lambda r, n: r.choice(f1, n), float(f1.mean())
    for zeros in (0.01, 0.03, 0.1):
        yield f".97 +- .01, {zeros:.0%} zeros", _mostly_alike(zeros), 0.97 * (1 - zeros)


def _mostly_alike(zeros: float) -> Draw:
    def draw(random: np.random.Generator, n: tuple[int, int]) -> np.ndarray:
        return np.where(random.random(n) < zeros, 0.0, random.uniform(0.96, 0.98, n))

    return draw


def weighted_cell(draw: Draw, truth: float, weights: str, n: int, draws: int) -> Cell:
    """Draw ``n`` scores with weights of their own, ``draws`` times."""
    sizes, shares = WEIGHTS[weights]
    random = np.random.default_rng([71, n])

    def drawn(many: int) -> tuple[np.ndarray, np.ndarray]:
        return draw(random, (many, n)), random.choice(sizes, (many, n), p=shares)

    return _cell(drawn, truth, draws)


def exact_cell(share: float, n: int) -> Cell:
    """Enumerate how many of ``n`` equal samples are right."""
    held = above = width = before = 0.0
    for right in range(n + 1):
        chance = math.comb(n, right) * share**right * (1 - share) ** (n - right)
        scores = [1.0] * right + [0.0] * (n - right)
        low, high = weighted_interval(scores, [1.0] * n, UNIT) or UNIT
        held += chance * (low <= share <= high)
        above += chance * (low > share)
        width += chance * (high - low)
        before += chance * _former_width(np.array(scores), np.ones(n))
    return Cell(held, above, width, before)


def grouped_cell(sizes: str, k: int, correlation: float, share: float, draws: int) -> Cell:
    """Draw ``k`` groups of yes/no scores whose groups differ, ``draws`` times."""
    random = np.random.default_rng([73, k])

    def drawn(many: int) -> tuple[np.ndarray, np.ndarray]:
        counts = _sizes(sizes, random, (many, k))
        right = random.binomial(counts, _shares(share, correlation, random, (many, k)))
        return right / counts, counts.astype(float)

    return _cell(drawn, share, draws, grouped=True)


def _sizes(kind: str, random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    if kind == SIZES_OF_GROUPS[0]:
        return np.full(shape, 10)
    if kind == SIZES_OF_GROUPS[1]:
        return random.integers(1, 51, shape)
    counts = random.integers(1, 6, shape)
    counts[:, 0] = 50
    return counts


def _shares(
    share: float, correlation: float, random: np.random.Generator, shape: tuple[int, int]
) -> np.ndarray:
    """Return each group's own share: a beta distribution with this correlation inside of groups."""
    if correlation in (0.0, 1.0):
        return (
            np.where(random.random(shape) < share, 1.0, 0.0)
            if correlation
            else np.full(shape, share)
        )
    size = 1 / correlation - 1
    return random.beta(share * size, (1 - share) * size, shape)


def _cell(
    drawn: Callable[[int], tuple[np.ndarray, np.ndarray]],
    truth: float,
    draws: int,
    *,
    grouped: bool = False,
) -> Cell:
    above = below = 0
    widths: list[tuple[float, float]] = []
    for start in range(0, draws, _AT_ONCE):
        scores, weights = drawn(min(_AT_ONCE, draws - start))
        above += int(_beyond(scores, weights, truth).sum())
        below += int(_beyond(1 - scores, weights, 1 - truth).sum())
        if not widths:
            widths = [
                (_width(*one), _former_width(*one, grouped=grouped))
                for one in zip(scores[:_MEASURED], weights, strict=False)
            ]
    width, before = np.mean(widths, axis=0)
    return Cell(1 - (above + below) / draws, above / draws, float(width), float(before))


def _beyond(scores: np.ndarray, weights: np.ndarray, truth: float) -> np.ndarray:
    """Return which draws have their lower end above the truth."""
    near = nearly(scores, weights, truth)
    found = near < TAIL
    for at in np.flatnonzero(abs(near / TAIL - 1) < 0.05):
        ends = weighted_interval(scores[at].tolist(), weights[at].tolist(), UNIT)
        found[at] = ends is not None and ends[0] > truth
    return found


def nearly(scores: np.ndarray, weights: np.ndarray, t: float) -> np.ndarray:
    """Return P(M <= t) for each row of scores, to some thousandths of itself."""
    total, squares = weights.sum(1), (weights**2).sum(1)
    c = np.concatenate([weights * (scores - t), -t * (squares / total)[:, None]], axis=1)
    known = np.where(c.min(1) >= 0, 0.0, np.where(c.max(1) <= 0, 1.0, np.nan))
    open_rows = np.isnan(known)
    c = c[open_rows]
    if not len(c):
        return known
    c = c / np.sqrt((c**2).sum(1))[:, None]
    left, right, s = 1 / c.min(1), 1 / c.max(1), np.zeros(len(c))
    for _ in range(60):
        tilted = c / (1 - s[:, None] * c)
        slope, bend = tilted.sum(1), (tilted**2).sum(1)
        right, left = np.where(slope > 0, s, right), np.where(slope > 0, left, s)
        following = s - slope / bend
        inside = (following > left) & (following < right)
        following = np.where(inside, following, (left + right) / 2)
        if np.max(abs(following - s) * np.sqrt(bend)) < 1e-9:
            break
        s = following
    tilted = c / (1 - s[:, None] * c)
    u = s * np.sqrt((tilted**2).sum(1))
    r = np.sign(s) * np.sqrt(np.maximum(2 * np.log(1 - s[:, None] * c).sum(1), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        quantile = np.where(abs(r) > 1e-3, r + np.log(u / r) / r, r)
    known[open_rows] = [NormalDist().cdf(one) for one in quantile.tolist()]
    return known


def _width(scores: np.ndarray, weights: np.ndarray) -> float:
    low, high = weighted_interval(scores.tolist(), weights.tolist(), UNIT) or UNIT
    return high - low


def _former_width(scores: np.ndarray, weights: np.ndarray, *, grouped: bool = False) -> float:
    """Return the width of Wilson's interval at the effective size m(1 - m)/v."""
    n, total = len(scores), weights.sum()
    mean = float((weights * scores).sum() / total)
    variance = float(((weights * (scores - mean)) ** 2).sum() / total**2 * n / (n - 1))
    spread = mean * (1 - mean)
    if variance > 1e-18 and spread > 0:
        size = spread / variance
    else:
        size = float(total**2 / (weights**2).sum())
    z = t_quantile(1 - TAIL, n - 1)
    return 2 * z / (1 + z * z / size) * math.sqrt(spread / size + z * z / (4 * size * size))


def summary(cells: Sequence[Cell]) -> str:
    """Return the means and the worst of all cells."""
    held, above = [one.held for one in cells], [one.above for one in cells]
    return (
        f"{len(cells)} cells: coverage {100 * np.mean(held):.1f} on average, {100 * min(held):.1f} "
        f"at worst; above the truth {100 * np.mean(above):.1f} on average, {100 * max(above):.1f} "
        "at worst"
    )

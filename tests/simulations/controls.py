"""How often judges pass control rows: those that draw at random, and those that are mostly right.

A row is right where a judge that knows gives it the end of the range that it should have. The rule
is that of the package; only which scores a judge gives is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb
from typing import Final

import numpy as np

from pytest_rageval.controls import ControlRule, slips_allowed

Draw = Callable[[np.random.Generator, int], np.ndarray]
"""The scores that a judge gives to so many rows, whatever they are."""


def _levels(count: int) -> Draw:
    return lambda random, rows: random.integers(count, size=rows) / (count - 1)


GUESSING: Final[Mapping[str, Draw]] = {
    "yes or no": _levels(2),
    "three levels": _levels(3),
    "five levels": _levels(5),
    "uniform in 0..1": lambda random, rows: random.random(rows),
}


@dataclass(frozen=True)
class Passed:
    """The share of judges that pass, and how many rows each is asked on average."""

    share: float
    asked: float


def guessing(draw: Draw, draws: int, rows: int = 6) -> Passed:
    """Return how many of the judges pass that draw their scores at random."""
    random = np.random.default_rng(5)
    return _passed([draw(random, 2 * rows) for _ in range(draws)])


def honest(right: float, draws: int, rows: int = 6) -> Passed:
    """Return how many judges pass that say yes or no, and are right in so many of the rows."""
    random = np.random.default_rng(7)
    good = np.arange(2 * rows) % 2 == 0
    return _passed([np.where(random.random(2 * rows) < right, good, ~good) for _ in range(draws)])


def exactly(right: float, rows: int = 6, slips: int | None = None) -> float:
    """Return the exact share of judges that pass, of those that say yes or no: a binomial sum.

    They pass with so many wrong rows at most: leaving these out, the others are told apart. Right
    in half of the rows is what a guessing judge is.
    """
    most = slips_allowed(rows, rows) if slips is None else slips
    count = 2 * rows
    return sum(
        comb(count, wrong) * (1 - right) ** wrong * right ** (count - wrong)
        for wrong in range(most + 1)
    )


def _passed(judges: list[np.ndarray]) -> Passed:
    every = [scores.astype(float).tolist() for scores in judges]
    # What is decided early is what all rows say, so that few judges need be asked row by row.
    passed = [_RULE.tells_apart(scores[0::2], scores[1::2]) for scores in every]
    asked = [_asked(scores) for scores in every[:_ASKED]]
    return Passed(float(np.mean(passed)), float(np.mean(asked)))


def _asked(scores: list[float]) -> int:
    """Return after how many rows the verdict is certain, asked in turn."""
    rows = len(scores) // 2
    for asked in range(1, len(scores)):
        high, low = scores[:asked:2], scores[1:asked:2]
        if _RULE.tells_apart(high, low, (rows - len(high), rows - len(low))) is not None:
            return asked
    return len(scores)


_RULE: Final = ControlRule(0.3)
_ASKED: Final = 1000

"""When the verdict on a mean is certain before all of its samples are scored."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pytest_rageval.model import TOLERANCE, Bound
from pytest_rageval.stats.weights import rescale

# A bet risks at most this share of its wealth (Waudby-Smith and Ramdas, 2024, section 4).
_AT_STAKE = 0.5

# What adding and taking away again may leave of a sum, as a share of all that was added.
_ROUNDING = 1e-13


class GrowingMean:
    """The weighted mean of ``count`` samples while they are scored, and its verdict once certain.

    ``weight`` is the sum of all their weights, ``value_range`` is finite. The verdict is certain
    when the lowest and the highest scores that the rest may have lead to the same one, or when a
    bet says so. ``error`` is the probability of a wrong verdict that bets may have, 0 for no bets;
    with them, the samples must be in random order, and weigh alike.
    """

    def __init__(
        self,
        bound: Bound,
        value_range: tuple[float, float],
        weight: float,
        count: int,
        error: float = 0.0,
    ) -> None:
        self.verdict: bool | None = None
        """Whether the mean keeps the bound, None while that is open."""
        self._bound = bound
        self._low, self._high = value_range
        self._total = self._weight = 0.0
        self._rest = weight
        ends = [
            (self._unit(end), is_min)
            for end, is_min in ((bound.min, True), (bound.max, False))
            if end is not None and error > 0.0
        ]
        self._bets = [(_PairOfBets(end, count, error / len(ends)), is_min) for end, is_min in ends]

    def add(self, value: float | None, weight: float = 1.0, *, may_come: bool = False) -> None:
        """Note the score of one more sample, None where it has none.

        ``may_come``: something failed, and a missing score may come when the sample is run again.
        """
        if value is not None:
            self._total += weight * value
            self._weight += weight
        if value is not None or not may_come:
            self._rest -= weight
        for bets, _ in self._bets:
            bets.add(None if value is None else self._unit(value))
        if self.verdict is None:
            self.verdict = self._by_ends()
        if self.verdict is None:
            self.verdict = self._by_bets()

    def _unit(self, value: float) -> float:
        return (value - self._low) / (self._high - self._low)

    def _by_ends(self) -> bool | None:
        """Return the verdict if it is the same whatever the rest scores, within the tolerance."""
        if self._weight <= 0.0:
            return None
        rest = max(self._rest, 0.0)
        low, high = (
            (self._total + end * rest) / (self._weight + rest)
            for end in (self._low - TOLERANCE, self._high + TOLERANCE)
        )
        if self._bound.holds(low) and self._bound.holds(high):
            return True
        can_reach = Bound(min=self._bound.min).holds(high) and Bound(max=self._bound.max).holds(low)
        return None if can_reach else False

    def _by_bets(self) -> bool | None:
        """Return the verdict if every bet is decided, or one of them against the bound."""
        kept = [
            None if bets.is_above is None else bets.is_above == is_min
            for bets, is_min in self._bets
        ]
        if False in kept:
            return False
        return True if kept and None not in kept else None


class GrowingSum:
    """The weighted sum of values with ends of their own, and its sign once that is certain.

    ``ends`` are the lowest and the highest that each value can be, by its key, ``weights`` their
    weights. A missing value counts 0. With an ``error`` above 0 the values must come in random
    order, and weigh alike; bets then take the widest ends for those of all values.
    """

    def __init__(
        self,
        ends: Mapping[int, tuple[float, float]],
        weights: Mapping[int, float],
        error: float = 0.0,
    ) -> None:
        self.verdict: bool | None = None
        """Whether the sum is at least 0, None while that is open."""
        self._weights = dict(zip(ends, rescale([weights[key] for key in ends]), strict=True))
        self._open = {
            key: (self._weights[key] * min(low, 0.0), self._weights[key] * max(high, 0.0))
            for key, (low, high) in ends.items()
        }
        self._lowest = math.fsum(low for low, _ in self._open.values())
        self._highest = math.fsum(high for _, high in self._open.values())
        self._rounding = _ROUNDING * (self._highest - self._lowest)
        self._slack = TOLERANCE * math.fsum(self._weights.values())
        self._total = self._weight = 0.0
        self._low = min((low for low, _ in ends.values()), default=0.0)
        self._width = max((high for _, high in ends.values()), default=0.0) - self._low
        can_turn = self._low < 0.0 < self._low + self._width
        zero = self._unit(0.0) if can_turn else 0.0
        self._bets = _PairOfBets(zero, len(ends), error) if error and can_turn else None

    def add(self, key: int, value: float | None, *, may_come: bool = False) -> None:
        """Note one more value, None where it is missing; ``may_come`` as for a growing mean.

        Nothing happens for a key without ends, or whose value is known.
        """
        if key not in self._open:
            return
        weight = self._weights[key]
        if value is not None:
            self._total += weight * value
            self._weight += weight
        if value is not None or not may_come:
            low, high = self._open.pop(key)
            self._lowest, self._highest = self._lowest - low, self._highest - high
        if self._bets is not None:
            self._bets.add(None if value is None else self._unit(value))
        if self.verdict is None:
            self.verdict = self._by_ends()
        if self.verdict is None and self._bets is not None:
            self.verdict = self._bets.is_above

    def _unit(self, value: float) -> float:
        return (value - self._low) / self._width

    def _by_ends(self) -> bool | None:
        """Return the verdict if it is the same whatever the rest is.

        The gate judges the mean, within TOLERANCE: for the sum, that is TOLERANCE times a weight.
        To leave room for rounding, True is claimed only within half of that for the weight of what
        has come, False only beyond twice of that for the weight of all.
        """
        if self._total + self._lowest >= self._rounding - 0.5 * TOLERANCE * self._weight:
            return True
        if self._total + self._highest < -2.0 * self._slack - self._rounding:
            return False
        return None


class _PairOfBets:
    """Bets that the mean of ``count`` values in 0..1 is above ``end``, and that it is below.

    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024), for
    samples without replacement. If the mean is ``end``, the next value is expected to be the mean
    of what is left, m. The wealth of a bet is the product of 1 + stake (x - m), its stake known
    before x. If the mean is not above ``end``, the wealth of the bet on "above" ever reaches
    1/``error`` with a probability of ``error`` at most. Stakes are those that let wealth grow
    fastest if mean and variance stay as they are so far (aGRAPA).
    """

    def __init__(self, end: float, count: int, error: float) -> None:
        self.is_above: bool | None = None
        self._enough = -math.log(error)
        self._end = end
        self._owed = end * count
        self._left = count
        self._above = self._below = 0.0
        # One value of 0.5 with the variance of a fair coin stands for those before the first.
        self._n, self._mean, self._squares = 1, 0.5, 0.25

    def add(self, value: float | None) -> None:
        """Settle the bets on one more value; one that is missing moves the mean neither way."""
        value = self._end if value is None else value
        expected = self._owed / self._left if self._left else 0.0
        if self.is_above is None and 0.0 < expected < 1.0:
            edge = self._mean - expected
            stake = edge / (self._squares / self._n + edge * edge)
            above = min(max(stake, 0.0), _AT_STAKE / expected)
            below = min(max(-stake, 0.0), _AT_STAKE / (1.0 - expected))
            self._above += math.log1p(above * (value - expected))
            self._below += math.log1p(below * (expected - value))
            if max(self._above, self._below) >= self._enough:
                self.is_above = self._above >= self._enough
        self._owed -= value
        self._left -= 1
        self._n += 1
        self._mean += (value - self._mean) / self._n
        self._squares += (value - self._mean) ** 2

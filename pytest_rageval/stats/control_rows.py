"""Whether a judge tells control rows apart: those that should score high, and those low."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pytest_rageval.model import TOLERANCE

_ROWS_PER_SLIP = 3

Value = float | None
"""A score; None, or what is not finite, where a row has none."""


class ControlRule(NamedTuple):
    """What counts as told apart: ``margin`` is a share of ``range``, the metric's range.

    Where the range is infinite there is no share of it: then any difference counts.
    """

    margin: float
    range: tuple[float, float] = (0.0, 1.0)

    def verdict(
        self, high: Sequence[Value], low: Sequence[Value], left: tuple[int, int] = (0, 0)
    ) -> bool | None:
        """Return whether the rows are told apart; None while the rows that are left decide.

        But for some slips, each value of ``high`` must be above each of ``low`` by the margin. A
        row without a score is a slip, and so is a row that must be left out for the others to be
        told apart. ``slips_allowed`` says how many there may be. ``left`` are the rows still to be
        asked, high and low ones: True if these may all be slips, False if it is too late even if
        they get the ends of the range. With none left it is never None.
        """
        if not len(high) + left[0] or not len(low) + left[1]:
            return False  # nothing was told apart
        allowed = slips_allowed(len(high) + left[0], len(low) + left[1])
        if self._slips(high, low) + sum(left) <= allowed:
            return True
        at_best = ([*high, *[self._end(1)] * left[0]], [*low, *[self._end(0)] * left[1]])
        return None if sum(left) and self._slips(*at_best) <= allowed else False

    def _end(self, at: int) -> float:
        """Return an end of the range, in a form that counts as a score."""
        return max(-_LARGEST, min(_LARGEST, self.range[at]))

    def _slips(self, high: Sequence[Value], low: Sequence[Value]) -> int:
        """Return how many rows have no score, or must be left out for the others to be apart."""
        good, bad = sorted(_scored(high)), sorted(_scored(low), reverse=True)
        missing = len(high) + len(low) - len(good) - len(bad)
        # The lowest of the high rows are left out, and as many of the low ones as that takes.
        return missing + min(
            out + sum(not self._apart(good[out], one) for one in bad) if out < len(good) else out
            for out in range(len(good) + 1)
        )

    def _apart(self, high: float, low: float) -> bool:
        width = self.range[1] - self.range[0]
        if 0.0 < self.margin * width < math.inf:
            return high - low >= self.margin * width - TOLERANCE
        return high - low > TOLERANCE


_LARGEST = 1e300


def slips_allowed(high: int, low: int) -> int:
    """Return how many slips so many rows may have: 2 of 6 and 6, a third of the fewer ones.

    >>> slips_allowed(6, 6), slips_allowed(9, 40)
    (2, 3)
    """
    return min(high, low) // _ROWS_PER_SLIP


def _scored(values: Iterable[Value]) -> Iterator[float]:
    return (value for value in values if value is not None and math.isfinite(value))

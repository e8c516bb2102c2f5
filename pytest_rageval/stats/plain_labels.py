"""How many labels would say as much without a judge."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from pytest_rageval.stats.student import LARGEST_PROBABILITY, t_quantile
from pytest_rageval.stats.summary import wilson_interval

_MOST: Final = 10**9


def plain_labels(
    width: float, mean: float, variance: float, confidence: float = 0.95, units: float = 1.0
) -> float | None:
    """Return the fewest labels whose Wilson interval is at most ``width`` wide; None if too many.

    ``mean`` lies in 0..1, ``variance`` is that of one label; a label counts as ``units``
    independent ones (less than 1 where labels come in groups). With n labels the interval is that
    of every other mean: variance/(n - 1) for yes and no, t of n - 1 degrees.

    >>> plain_labels(0.2, 0.5, 0.25)
    96.0
    """
    probability = min(0.5 + confidence / 2.0, LARGEST_PROBABILITY)

    def is_enough(n: int) -> bool:
        degrees = max(n * units - 1.0, 1.0)
        low, high = wilson_interval(
            mean, variance / (n - 1.0), n * units, t_quantile(probability, degrees)
        )
        return high - low <= width

    found = bisect_left(range(2, _MOST), True, key=is_enough) + 2
    return float(found) if found < _MOST else None

"""How long answers took: the median, the 95th percentile, the longest."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Latency:
    """Figures of ``n`` times, in seconds."""

    n: int
    median_s: float
    p95_s: float
    max_s: float


def latency(seconds: Iterable[float]) -> Latency | None:
    """Return the figures of these times, None without any.

    The percentile is the nearest rank: the shortest time that 95 of 100 do not exceed.

    >>> latency([0.3, 0.1, 0.2])
    Latency(n=3, median_s=0.2, p95_s=0.3, max_s=0.3)
    """
    ordered = sorted(seconds)
    if not ordered:
        return None
    rank = math.ceil(0.95 * len(ordered))
    return Latency(len(ordered), statistics.median(ordered), ordered[rank - 1], ordered[-1])

"""How many samples to label for a corrected mean, and in which strata."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_rageval.stats.corrected import LEAST_LABELS, Judged, residuals
from pytest_rageval.stats.influence import Z_95
from pytest_rageval.stats.student import t_quantile
from pytest_rageval.stats.summary import group_sums

LEAST_IN_STRATUM: Final = 5
"""So many labels each stratum gets before the others get more."""

_LARGEST_CORRELATION: Final = 1.0 - 1e-12


@dataclass(frozen=True, slots=True)
class Stratum:
    """Samples to label from: all that it holds, those that are labelled, and the labels' spread.

    It gets ``least`` labels before the others get more.
    """

    size: int
    labelled: int
    deviation: float
    least: int = LEAST_IN_STRATUM


def labels_needed(pilot: Sequence[Judged], half_width: float) -> tuple[int, int] | None:
    """Return the fewest and the most labels in all that bring the interval to ± ``half_width``.

    ``pilot`` is the whole population, of which 10 samples at least are labelled; else None. With
    Y and f people's and the judge's scores and N of the n + N samples without a label, n is the
    smallest with t² var(Y)/n (1 - rho² N/(n + N)) <= ``half_width``². Both ends come from the 95 %
    interval of rho by Fisher; a judge of rho below 0 is not believed. One more than there are means
    that not even all samples would do. Where all people say the same, one more is taken to differ.
    """
    rows = [one for one in pilot if one.weight > 0.0]
    labelled = [(one, one.human) for one in rows if one.human is not None]
    n, size = len(labelled), len(rows)
    if n < LEAST_LABELS:
        return None
    weights = [one.weight for one, _ in labelled]
    groups = [-1 - at if one.group is None else one.group for at, (one, _) in enumerate(labelled)]
    human = group_sums(residuals([human for _, human in labelled], weights), groups)
    judge = group_sums(residuals([one.judge for one, _ in labelled], weights), groups)
    k = len(human)
    if k < 2:
        return None
    variance = _dot(human, human) / n * k / (k - 1) or 1.0 / (n + 1)
    few, many = sorted(
        _smallest(variance, max(rho, 0.0), size, half_width) for rho in _fisher(human, judge)
    )
    return few, many


def allocation(strata: Sequence[Stratum], labels: int) -> list[int]:
    """Return how many of ``labels`` more samples to label in each stratum, by Neyman's rule.

    Each first gets its least in all, the largest of these numbers first, and of equal ones where
    the fewest labels are. Then each label goes where it lowers the
    variance Σ (size·deviation)²/labelled most, among equals where the smaller share is labelled. No
    stratum gets more than it holds, so the sum may be less than ``labels``.

    >>> allocation([Stratum(100, 5, 0.4), Stratum(100, 5, 0.2), Stratum(3, 0, 0.5)], 12)
    [8, 1, 3]
    """
    labelled = [one.labelled for one in strata]
    for _ in range(labels):
        left = [at for at, one in enumerate(strata) if labelled[at] < one.size]
        if not left:
            break
        labelled[max(left, key=lambda at: _urgency(strata[at], labelled[at]))] += 1
    return [now - one.labelled for now, one in zip(labelled, strata, strict=True)]


def _urgency(stratum: Stratum, labelled: int) -> tuple[float, ...]:
    if labelled < stratum.least:
        return math.inf, stratum.least, -labelled
    gain = (stratum.size * stratum.deviation) ** 2 / (labelled * (labelled + 1))
    return gain, -labelled / stratum.size


def _fisher(human: Sequence[float], judge: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the 95 % interval of the correlation of residuals."""
    spread = math.sqrt(_dot(human, human) * _dot(judge, judge))
    if spread == 0.0:
        return 0.0, 0.0
    rho = _dot(human, judge) / spread
    centre = math.atanh(min(max(rho, -_LARGEST_CORRELATION), _LARGEST_CORRELATION))
    half = Z_95 / math.sqrt(max(len(human) - 3, 1))
    return math.tanh(centre - half), math.tanh(centre + half)


def _smallest(variance: float, rho: float, size: int, half_width: float) -> int:
    def is_enough(n: int) -> bool:
        left = variance / n * (1.0 - rho * rho * (size - n) / size)
        return t_quantile(0.975, n - 1) ** 2 * left <= half_width * half_width

    return LEAST_LABELS + bisect_left(range(LEAST_LABELS, size + 1), True, key=is_enough)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))

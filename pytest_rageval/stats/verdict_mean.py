"""The corrected mean where people and the judge both say yes or no: Beta by verdict.

Of the answers that the judge accepts people accept a share, and of those that it rejects another:

    p = Σ W_h Beta(k_h + 1/2, n_h - k_h + 1/2)

with k_h of n_h labels of class h positive and W_h the class's share of all answers, which has a
chance of its own (Dirichlet), since the mean is meant beyond these answers. A class is a stratum of
the draw; one or two of them are divided by the judge's verdict. The ends are quantiles of p
(``beta_sum``).

The form depends on how labels are declared, on weights, groups, strata and whether the judge's
scores are verdicts, and never on what people said. So a lower label lowers the mean and both ends,
or leaves them. If the judge rejects one more of the answers without a label, the mean does not rise
either; the lower end may a little, where people accept about as much of what the judge rejects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import compress
from operator import not_
from typing import Final

from pytest_rageval.model import Corrected
from pytest_rageval.stats.beta_sum import Cell, share_interval
from pytest_rageval.stats.corrected import LEAST_LABELS, Judged
from pytest_rageval.stats.plain_labels import plain_labels

MOST_STRATA: Final = 4
"""Each class has half a yes and half a no that nobody gave; of many classes these would count."""

_DIVIDED: Final = 2
"""Up to so many strata are divided by verdict; more of them say by themselves what is alike."""

_EQUAL: Final = 1e-9


def verdict_mean(strata: Sequence[Sequence[Judged]], confidence: float = 0.95) -> Corrected | None:
    """Return the mean of yes and no, and its interval; None where this form does not hold.

    It holds for equal weights without groups, where the judge's verdicts are known or there are
    several strata, of which MOST_STRATA are not labelled throughout. Labels lie in 0..1 (a fraction
    where people are split). Otherwise, and without 10 labels or two in each stratum,
    ``corrected_mean`` decides.

    ``mean`` is Σ W_s m_s over the strata. Divided by verdict, m_s is Σ W_h k_h/n_h, which is right
    on average as the labels of a verdict are drawn at random from all of it; if people accept more
    of what the judge rejects, or a verdict has no label, m_s is that of the labels alone.
    ``share`` (lambda) is the difference of the two verdicts' k_h/n_h, and 0 there: it is the lambda
    of ``corrected_mean`` for yes and no. It is None where there are several strata.
    """
    parts = [kept for one in strata if (kept := [row for row in one if row.weight > 0.0])]
    if not _holds(parts):
        return None
    total = sum(map(len, parts))
    is_known = [len(parts) > 1 and _labels(part) == len(part) for part in parts]
    known, drawn = (list(compress(parts, one)) for one in (is_known, map(not_, is_known)))
    classes = _classes(drawn)
    if classes is None:
        return None
    exact = math.fsum(_positive(part) for part in known) / total
    open_share = sum(map(len, drawn)) / total
    estimates = [_estimate(part, len(drawn)) for part in drawn]
    mean = exact + math.fsum(
        len(part) / total * one for part, (one, _) in zip(drawn, estimates, strict=True)
    )
    low, high = (exact + open_share * end for end in share_interval(classes, confidence))
    # The quantiles leave out 0 and 1, where all that was seen may lie.
    low, high = min(low, mean), max(high, mean)
    labels = sum(map(_labels, parts))
    share = estimates[0][1] if len(parts) == 1 else None
    worth = plain_labels(high - low, mean, mean * (1.0 - mean), confidence)
    return Corrected(mean, low, high, share, labels, worth)


def _holds(parts: Sequence[Sequence[Judged]]) -> bool:
    rows = [one for part in parts for one in part]
    if sum(map(_labels, parts)) < LEAST_LABELS:
        return False
    if any(_labels(part) < min(2, len(part)) for part in parts):
        return False
    weights = [one.weight for one in rows]
    groups = [one.group for one in rows if one.group is not None]
    is_equal = max(weights) - min(weights) <= _EQUAL * max(weights)
    return is_equal and len(set(groups)) == len(groups)


def _classes(drawn: Sequence[Sequence[Judged]]) -> tuple[Cell, ...] | None:
    """Return the classes of the strata.

    None if there are too many strata, or a single one that no judge divided.
    """
    if not drawn or len(drawn) > MOST_STRATA or (len(drawn) == 1 and not _is_judged(drawn[0])):
        return None
    return tuple(cell for part in drawn for cell in _divided(part, len(drawn)))


def _is_judged(part: Sequence[Judged]) -> bool:
    return all(one.verdict is not None for one in part)


def _by_verdict(part: Sequence[Judged]) -> list[list[Judged]]:
    """Return the answers that the judge rejects, and those that it accepts."""
    return [[one for one in part if one.verdict is verdict] for verdict in (False, True)]


def _divided(part: Sequence[Judged], strata: int) -> tuple[Cell, ...]:
    """Return the classes of a stratum; one if the judge divides nothing, or all is labelled."""
    if strata > _DIVIDED or not _is_judged(part) or _labels(part) == len(part):
        return (_cell(part),)
    return tuple(_cell(one) for one in _by_verdict(part) if one)


def _estimate(part: Sequence[Judged], strata: int) -> tuple[float, float]:
    """Return the mean of a stratum, and lambda."""
    alone = _positive(part) / _labels(part)
    if strata > _DIVIDED or not _is_judged(part):
        return alone, 0.0
    rejected, accepted = _by_verdict(part)
    if not _labels(rejected) or not _labels(accepted):
        return alone, 0.0
    low, high = (_positive(one) / _labels(one) for one in (rejected, accepted))
    if high <= low:
        return alone, 0.0
    return (len(rejected) * low + len(accepted) * high) / len(part), high - low


def _cell(part: Sequence[Judged]) -> Cell:
    return Cell(len(part), _labels(part), _positive(part))


def _labels(part: Sequence[Judged]) -> int:
    return sum(one.human is not None for one in part)


def _positive(part: Sequence[Judged]) -> float:
    return math.fsum(one.human for one in part if one.human is not None)

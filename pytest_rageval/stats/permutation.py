"""Paired two-sided permutation tests: exact where that is feasible, else sampled with a seed.

If two systems are equally good, each sample's difference could as well have the other sign. The
statistic is the absolute sum of the (weighted) differences; the p-value is the share of sign
patterns whose statistic is at least the observed one. Differences of zero are left out: both signs
give the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pytest_rageval.stats.weights import rescale

Array = NDArray[np.float64]

# A sum below the observed one by this share of the absolute differences counts as equal to it:
# 0.1 + 0.2 - 0.3 is not 0 in floating point, and ties are frequent in scores.
TIE_TOLERANCE: Final = 1e-12

# Two scores that differ by less, relative to the larger one, differ by rounding only.
_EQUAL_SCORES: Final = 1e-12

# Twice 4,096 sums: faster than to look for a grid.
_FEW: Final = 24
# Twice 4 million sums: half a second, 32 MB for each half; two more samples double both.
_MOST_BY_HALVES: Final = 44
# Additions of doubles that take about half a second, and states that take 32 MB.
_MOST_ADDITIONS: Final = 400_000_000
_MOST_STATES: Final = 1 << 22

# A block of flips (samples by resamples, 2 MB as doubles) fits into the processor's cache. With
# another number of resamples at once, a seed would give other flips.
_RESAMPLES_AT_ONCE: Final = 1024
_SAMPLES_AT_ONCE: Final = 256
# Sums of one half that are looked up in the other at once: the places take 512 kB.
_NEEDLES_AT_ONCE: Final = 1 << 16
ENUMERATED: Final = 16
"""Up to this number of differing samples, max-T uses every sign pattern."""

_LEAST: Final = math.ulp(0.0)


@dataclass(frozen=True, slots=True)
class PermutationResult:
    """The p-value of one measure, in (0, 1], and how it was found.

    ``n`` counts the samples that both sides scored, ``n_nonzero`` those that differ. ``smallest_p``
    is the smallest p that was possible: 2**(1 - n_nonzero), 1 where none differ, at least
    1 / (n_resamples + 1) when sampled, and at least 5e-324, the smallest double. ``n_resamples`` is
    0 when exact.
    ``p_adjusted`` is the p-value adjusted by max-T over the family of measures, None for a measure
    outside it.
    """

    p_value: float
    method: Literal["exact", "sampled"]
    n: int
    n_nonzero: int
    smallest_p: float
    n_resamples: int
    p_adjusted: float | None = None


def paired_permutation_test(
    a: Sequence[float | None],
    b: Sequence[float | None],
    *,
    weights: Sequence[float] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PermutationResult:
    """Test whether the scores ``a`` and ``b`` of the same samples differ, two-sided.

    A pair with None or NaN does not count, nor does a sample of weight 0. With ``weights`` (finite,
    not negative) the test uses weight times difference. p is 1 without pairs or differences. Raises
    ValueError for lengths that differ, infinite scores and less than one resample.

    >>> paired_permutation_test([0.5, 0.4, 0.9], [0.3, 0.3, 0.6]).p_value
    0.25
    """
    differences = paired_differences(a, b)
    if weights is not None:
        differences = weigh(differences, weights)
    return sign_flip_tests(differences[:, np.newaxis], n_resamples=n_resamples, seed=seed)[0]


def sign_flip_tests(
    differences: ArrayLike,
    *,
    n_resamples: int = 10_000,
    seed: int = 0,
    family: Sequence[int] = (),
    at_once: int = 1,
) -> list[PermutationResult]:
    """Test each column of ``differences``, of shape (n_samples, n_measures), against zero.

    NaN marks a sample that does not count. The test is exact if that takes less than about a
    second for the measure, or for ``at_once`` measures together; else it uses ``n_resamples``
    random sign patterns and p = (count + 1) / (n_resamples + 1). The flips of a sample depend only
    on its position and ``seed`` (not negative): all measures share them, and a measure's p-value
    does not depend on which others are tested with it.

    ``family`` are the columns whose p-values are adjusted for multiple tests, by Westfall and
    Young's step-down max-T with the same flips: for each pattern, the largest
    |Σ ±d_j| / sqrt(Σ d_j²) of the measures that are not yet rejected counts. All patterns are
    used where at most 16 samples differ in any of them. An adjusted p-value is never below the raw
    one.

    Raises ValueError for infinite differences and for less than one resample.
    """
    table = np.asarray(differences, dtype=np.float64)
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, not {n_resamples}")
    if np.isinf(table).any():
        raise ValueError("differences must be finite, or NaN where a score is missing")
    scaled = _scaled(np.nan_to_num(table))
    exact = [_exact_p(column[column != 0.0], at_once) for column in scaled.T]
    stepdown = _StepDown(scaled, family)
    too_many = [at for at, p_value in enumerate(exact) if p_value is None]
    bounds = np.abs(scaled.sum(axis=0)) - TIE_TOLERANCE * np.abs(scaled).sum(axis=0)
    counts = np.zeros(len(exact), dtype=np.int64)
    flipped = sorted({*too_many, *stepdown.to_sample})
    for sums in _sampled_sums(scaled, flipped, n_resamples, seed):
        counts += np.count_nonzero(np.abs(sums) >= bounds, axis=0)
        stepdown.count(sums)
    raw = [
        (int(counts[at]) + 1) / (n_resamples + 1) if found is None else found
        for at, found in enumerate(exact)
    ]
    adjusted = stepdown.adjusted(raw, n_resamples)
    return [
        _result(column, raw[at], exact[at] is not None, n_resamples, adjusted.get(at))
        for at, column in enumerate(table.T)
    ]


def paired_differences(a: Sequence[float | None], b: Sequence[float | None]) -> Array:
    """Return a - b, of shape (n,): NaN where a score is missing, 0 for differences by rounding.

    Two programs may sum in different orders: without this, n differences of 1e-17 would be n votes.
    Raises ValueError for lengths that differ and infinite scores.
    """
    if len(a) != len(b):
        raise ValueError(f"a and b are pairs of scores, but there are {len(a)} and {len(b)}")
    first, second = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    if np.isinf(first).any() or np.isinf(second).any():
        raise ValueError("scores must be finite, or None or NaN where there is none")
    differences = first - second
    size = np.maximum(np.abs(first), np.abs(second))
    differences[np.abs(differences) <= _EQUAL_SCORES * size] = 0.0
    return differences


def weigh(differences: Array, weights: Sequence[float]) -> Array:
    """Return weight times difference, NaN where the weight is 0; weights may be rescaled."""
    if len(weights) != len(differences):
        raise ValueError(f"{len(differences)} pairs of scores have {len(weights)} weights")
    sizes = np.array(rescale(list(weights)), dtype=np.float64)
    return np.where(sizes > 0.0, sizes * differences, np.nan)


def group_differences(weighted: Array, groups: Sequence[int] | None) -> Array:
    """Return the sums of weighted differences by group, of shape (n_groups,), by group number.

    NaN for a group without pairs, 0 for sums of rounding errors. Without groups each sample is its
    own group.
    """
    if groups is None:
        return weighted
    _, at = np.unique(np.asarray(groups, dtype=np.int64), return_inverse=True)
    known = np.nan_to_num(weighted)
    sums, sizes = np.bincount(at, known), np.bincount(at, np.abs(known))
    sums[np.abs(sums) <= TIE_TOLERANCE * sizes] = 0.0
    return np.where(np.bincount(at, ~np.isnan(weighted)) > 0, sums, np.nan)


def _result(
    column: Array, p_value: float, is_exact: bool, n_resamples: int, adjusted: float | None
) -> PermutationResult:
    n = int(np.count_nonzero(~np.isnan(column)))
    n_nonzero = int(np.count_nonzero(np.nan_to_num(column)))
    smallest = max(math.ldexp(1.0, 1 - n_nonzero), _LEAST) if n_nonzero else 1.0
    if is_exact:
        return PermutationResult(p_value, "exact", n, n_nonzero, smallest, 0, adjusted)
    smallest = max(smallest, 1 / (n_resamples + 1))
    return PermutationResult(p_value, "sampled", n, n_nonzero, smallest, n_resamples, adjusted)


def _scaled(table: Array) -> Array:
    """Return each column divided by its largest size, so that nothing can overflow."""
    largest = np.abs(table).max(axis=0, initial=0.0)
    return table / np.where(largest > 0.0, largest, 1.0)


# Exact


def _exact_p(differences: Array, at_once: int) -> float | None:
    """Return the p-value of differences other than 0, or None where that would take too long.

    ``at_once`` tests share the time that one may take.
    """
    if len(differences) <= _FEW:
        return _p_by_halves(differences)
    steps = _steps_on_grid(differences, _MOST_ADDITIONS // at_once)
    if steps is not None:
        return _p_on_grid(steps)
    most = _MOST_BY_HALVES - 2 * (at_once - 1).bit_length()
    return _p_by_halves(differences) if len(differences) <= most else None


def _steps_on_grid(
    differences: Array, additions: int = _MOST_ADDITIONS
) -> NDArray[np.int64] | None:
    """Return the differences as whole multiples of a common step; None without one, or if too fine.

    Euclid's algorithm finds the step: the remainders after whole steps give the next step, until
    only rounding remains.
    """
    sizes = np.abs(differences)
    total = float(sizes.sum())
    # Twice, as _p_on_grid needs the states of the lower half only.
    most = 2 * min(_MOST_STATES, additions // len(sizes))
    step = float(sizes.max())
    while (remainders := _remainders(sizes, step, total / most)).size:
        step = float(remainders.min())
    counts = np.rint(sizes / step)
    # With the step fitted to all sizes, sums of steps must have the same ties as sums of floats.
    error = float(np.abs(sizes - counts * (total / counts.sum())).sum())
    if counts.sum() > most or error > TIE_TOLERANCE / 2 * total:
        return None
    return (np.sign(differences) * counts).astype(np.int64)


def _remainders(sizes: Array, step: float, finest: float) -> Array:
    """Return how far sizes are from whole steps, where that is large enough to be a step."""
    left = np.abs(sizes - np.rint(sizes / step) * step)
    return left[left > finest]


def _p_on_grid(steps: NDArray[np.int64]) -> float:
    """Return the p-value by dynamic programming over the sum of the positive steps.

    State j holds the probability of the sum j. The sum of all signed steps is 2j - total; by
    symmetry only the lower tail is needed, so states above the observed one are left out.
    """
    sizes = np.sort(np.abs(steps))
    total = int(sizes.sum())
    positive = int(steps[steps > 0].sum())
    observed = min(positive, total - positive)
    states = np.zeros(observed + 1)
    states[0] = 1.0
    reached = 1
    for size in sizes.tolist():
        before, reached = reached, min(reached + size, len(states))
        states[:before] *= 0.5
        if reached > size:
            states[size:reached] += states[: reached - size]
    # For an observed sum of 0 both tails contain the same patterns.
    return max(min(2.0 * float(states.sum()), 1.0), _LEAST)


def _p_by_halves(differences: Array) -> float:
    """Return the p-value by meeting in the middle: 2**(n/2) sums instead of 2**n.

    A signed sum is the total of the sizes minus twice the sum of the negative ones. So the upper
    tail is the number of subsets whose sum is at most a bound, counted as pairs of subsets of the
    two halves; the lower tail is as large.
    """
    sizes = np.sort(np.abs(differences))
    total = math.fsum(sizes)
    observed = abs(math.fsum(differences)) - TIE_TOLERANCE * total
    if observed <= 0.0:
        return 1.0
    bound = (total - observed) / 2.0
    left, right = _subset_sums(sizes[::2]), _subset_sums(sizes[1::2])
    count = sum(
        int(np.searchsorted(right, bound - left[start : start + _NEEDLES_AT_ONCE], "right").sum())
        for start in range(0, len(left), _NEEDLES_AT_ONCE)
    )
    return math.ldexp(count, 1 - len(sizes))


def _subset_sums(sizes: Array) -> Array:
    """Return the sums of all subsets of ``sizes``, sorted."""
    sums = np.zeros(1)
    for size in sizes:
        # The stable sort merges two sorted runs in one pass.
        sums = np.sort(np.concatenate((sums, sums + size)), kind="stable")
    return sums


# Sampled


def _sampled_sums(
    values: Array, columns: Sequence[int], n_resamples: int, seed: int
) -> Iterator[Array]:
    """Yield the sums of all columns under random sign patterns, of shape (patterns, columns).

    Other columns than ``columns`` are 0.
    """
    if not columns:
        return
    chosen = values[:, columns]
    totals = chosen.sum(axis=0)
    for chunk, start in enumerate(range(0, n_resamples, _RESAMPLES_AT_ONCE)):
        flipped = _flipped_sums(chosen, np.random.PCG64([seed, chunk]))[: n_resamples - start]
        sums = np.zeros((len(flipped), values.shape[1]))
        sums[:, columns] = totals - 2.0 * flipped
        yield sums


def _flipped_sums(values: Array, bits: np.random.PCG64) -> Array:
    """Return the sums over random subsets of the rows, of shape (resamples at once, columns).

    A row's bits are at a fixed place of the random stream, which is the same in all versions of
    numpy and, read with the low byte first, on all machines.
    """
    sums = np.zeros((_RESAMPLES_AT_ONCE, values.shape[1]))
    for start in range(0, len(values), _SAMPLES_AT_ONCE):
        block = values[start : start + _SAMPLES_AT_ONCE]
        words = bits.random_raw(len(block) * _RESAMPLES_AT_ONCE // 64)
        octets = words.astype("<u8", copy=False).view(np.uint8).reshape(len(block), -1)
        # Most samples of yes/no scores do not differ: their flips are drawn but not used.
        differs = block.any(axis=1)
        flips = np.unpackbits(octets[differs], axis=1).astype(np.float64)
        sums += flips.T @ block[differs]
    return sums


# Several measures


class _StepDown:
    """Westfall and Young's step-down max-T (1993, algorithm 4.1) over some columns.

    Sums are divided by sqrt(Σ d²), which flips do not change. Columns are sorted by their observed
    statistic, the largest first; each is compared with the largest of itself and those after it.
    """

    def __init__(self, values: Array, family: Sequence[int]) -> None:
        self._family = list(family) if len(family) > 1 else []
        self._alone = list(family) if len(family) == 1 else []
        own = values[:, self._family]
        norms = np.sqrt((own * own).sum(axis=0))
        unit = own / np.where(norms > 0.0, norms, 1.0)
        observed = np.abs(unit.sum(axis=0))
        order = np.argsort(-observed, kind="stable")
        self._columns = [self._family[at] for at in order]
        self._norms = np.where(norms > 0.0, norms, 1.0)[order]
        tolerance = TIE_TOLERANCE * float(np.abs(unit).sum(axis=0).max(initial=0.0))
        self._bounds = observed[order] - tolerance
        self._counts = np.zeros(len(order), dtype=np.int64)
        differing = unit[unit.any(axis=1)][:, order]
        self._all = _all_sums(differing) if len(differing) <= ENUMERATED else None

    @property
    def to_sample(self) -> list[int]:
        """The columns for which random patterns are needed."""
        return [] if self._all is not None else self._family

    def count(self, sums: Array) -> None:
        """Count the sums of all columns under some patterns."""
        if self._all is None:
            self._counts += self._extreme(sums[:, self._columns] / self._norms)

    def adjusted(self, raw: Sequence[float], n_resamples: int) -> dict[int, float]:
        """Return the adjusted p-value of each column of the family."""
        found = {at: raw[at] for at in self._alone}
        counts, patterns = self._counts + 1, n_resamples + 1
        if self._all is not None:
            counts, patterns = self._extreme(self._all), len(self._all)
        reached = 0.0
        for at, count in zip(self._columns, counts.tolist(), strict=True):
            reached = max(reached, count / patterns, raw[at])
            found[at] = reached
        return found

    def _extreme(self, sums: Array) -> NDArray[np.int64]:
        """Count for each column the patterns in which it, or one after it, reaches its bound."""
        largest = np.maximum.accumulate(np.abs(sums)[:, ::-1], axis=1)[:, ::-1]
        counts: NDArray[np.int64] = np.count_nonzero(largest >= self._bounds, axis=0)
        return counts


def _all_sums(values: Array) -> Array:
    """Return the sums under every sign pattern in which the first sign is unchanged."""
    sums: Array = values[:1].sum(axis=0, keepdims=True)
    for row in values[1:]:
        sums = np.concatenate((sums + row, sums - row))
    return sums

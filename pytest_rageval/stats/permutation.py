"""Paired two-sided permutation tests: exact where that is feasible, else sampled with a seed.

If two systems are equally good, each sample's difference might as well have the other sign. The
statistic is the absolute sum of the (weighted) differences; the p-value is the share of sign
patterns whose statistic is at least the observed one. Differences of zero drop out: both signs give
the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pytest_rageval.stats.weights import tame

Array = NDArray[np.float64]

# A sum this much (relative to the sum of the absolute differences) below the observed one counts as
# equal to it: 0.1 + 0.2 - 0.3 is not 0 in floating point, and ties are frequent in scores.
TIE_TOLERANCE: Final = 1e-12

# Two scores that differ by less, relative to the larger one, are equal but for rounding.
_EQUAL_SCORES: Final = 1e-12

# Two times 4,096 sums: done before a grid is even looked for.
_FEW: Final = 24
# Two times 4 million sums: half a second, 32 MB for each half; every two more double both.
_MOST_BY_HALVES: Final = 44
# Additions of doubles that take about half a second, and states that take 32 MB.
_MOST_ADDITIONS: Final = 400_000_000
_MOST_STATES: Final = 1 << 22

# A block of flips (samples by resamples, 2 MB as doubles) stays in the processor's cache. The
# number of resamples is part of what a seed means: with another, a seed gives other flips.
_RESAMPLES_AT_ONCE: Final = 1024
_SAMPLES_AT_ONCE: Final = 256
_NEEDLES_AT_ONCE: Final = 1 << 16

_LEAST: Final = math.ulp(0.0)


@dataclass(frozen=True, slots=True)
class PermutationResult:
    """The p-value of one measure, in (0, 1], and how it was found.

    ``n`` counts the samples that both sides scored, ``n_nonzero`` those that differ. ``smallest_p``
    is what the test could give at best: 2**(1 - n_nonzero), and not below 1 / (n_resamples + 1)
    when sampled. ``n_resamples`` is 0 when exact. Below 5e-324 doubles end, and so do p-values.
    """

    p_value: float
    method: Literal["exact", "sampled"]
    n: int
    n_nonzero: int
    smallest_p: float
    n_resamples: int


def paired_permutation_test(
    a: Sequence[float | None],
    b: Sequence[float | None],
    *,
    weights: Sequence[float] | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PermutationResult:
    """Test whether the scores ``a`` and ``b`` of the same samples differ, two-sided.

    A pair of which a side is None or NaN does not count, nor does a sample of weight 0. With
    ``weights`` (finite, not negative) the test is on weight times difference. No pairs, or no
    differences: p is 1.

    >>> paired_permutation_test([0.5, 0.4, 0.9], [0.3, 0.3, 0.6]).p_value
    0.25
    """
    differences = paired_differences(a, b)
    if weights is not None:
        differences = weigh(differences, weights)
    return sign_flip_tests(differences[:, np.newaxis], n_resamples=n_resamples, seed=seed)[0]


def sign_flip_tests(
    differences: ArrayLike, *, n_resamples: int = 10_000, seed: int = 0
) -> list[PermutationResult]:
    """Test each column of ``differences``, of shape (n_samples, n_measures), against zero.

    NaN is a sample that takes no part. Exact where that takes less than about a second for the
    measure, else ``n_resamples`` random sign patterns and p = (count + 1) / (n_resamples + 1).
    The flips of a sample follow from its position and ``seed`` (not negative) alone: all measures
    share them, and a measure's p-value does not depend on which others are tested beside it.
    Raises ValueError for infinite differences and for less than one resample.
    """
    table = np.asarray(differences, dtype=np.float64)
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, not {n_resamples}")
    if np.isinf(table).any():
        raise ValueError("differences must be finite, or NaN where a score is missing")
    scaled = _scaled(np.nan_to_num(table))
    exact = [_exact_p(column[column != 0.0]) for column in scaled.T]
    too_many = [at for at, p_value in enumerate(exact) if p_value is None]
    counts = _extreme_counts(scaled[:, too_many], n_resamples, seed)
    sampled = {
        at: (int(count) + 1) / (n_resamples + 1) for at, count in zip(too_many, counts, strict=True)
    }
    return [
        _result(column, exact[at], sampled.get(at), n_resamples)
        for at, column in enumerate(table.T)
    ]


def paired_differences(a: Sequence[float | None], b: Sequence[float | None]) -> Array:
    """Return a - b, of shape (n,): NaN where a side is missing, 0 where only rounding differs.

    Scores that two programs summed in another order are equal: without this, n differences of
    1e-17 would be n votes.
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
    """Return weight times difference, NaN where the weight is 0; the unit of weights is lost."""
    if len(weights) != len(differences):
        raise ValueError(f"{len(differences)} pairs of scores have {len(weights)} weights")
    sizes = np.array(tame(list(weights)), dtype=np.float64)
    return np.where(sizes > 0.0, sizes * differences, np.nan)


def _result(
    column: Array, exact: float | None, sampled: float | None, n_resamples: int
) -> PermutationResult:
    n = int(np.count_nonzero(~np.isnan(column)))
    n_nonzero = int(np.count_nonzero(np.nan_to_num(column)))
    smallest = max(math.ldexp(1.0, 1 - n_nonzero), _LEAST) if n_nonzero else 1.0
    if exact is not None:
        return PermutationResult(exact, "exact", n, n_nonzero, smallest, 0)
    assert sampled is not None
    smallest = max(smallest, 1 / (n_resamples + 1))
    return PermutationResult(sampled, "sampled", n, n_nonzero, smallest, n_resamples)


def _scaled(table: Array) -> Array:
    """Return each column by its largest size: neither sums nor squares can overflow then."""
    largest = np.abs(table).max(axis=0, initial=0.0)
    return table / np.where(largest > 0.0, largest, 1.0)


# Exact


def _exact_p(differences: Array) -> float | None:
    """Return the p-value of differences other than 0, or None where that would take too long."""
    if len(differences) <= _FEW:
        return _p_by_halves(differences)
    steps = _steps_on_grid(differences)
    if steps is not None:
        return _p_on_grid(steps)
    return _p_by_halves(differences) if len(differences) <= _MOST_BY_HALVES else None


def _steps_on_grid(differences: Array) -> NDArray[np.int64] | None:
    """Return the differences as whole multiples of a common step; None if too fine or none.

    The step is found by Euclid's algorithm: what remains of the sizes after whole steps is the
    next step, until nothing remains but rounding.
    """
    sizes = np.abs(differences)
    total = float(sizes.sum())
    most = 2 * min(_MOST_STATES, _MOST_ADDITIONS // len(sizes))
    step = float(sizes.max())
    while (remainders := _remainders(sizes, step, total / most)).size:
        step = float(remainders.min())
    counts = np.rint(sizes / step)
    # With the step fitted to all sizes, sums of steps must tell ties as sums of floats do.
    error = float(np.abs(sizes - counts * (total / counts.sum())).sum())
    if counts.sum() > most or error > TIE_TOLERANCE / 2 * total:
        return None
    return (np.sign(differences) * counts).astype(np.int64)


def _remainders(sizes: Array, step: float, finest: float) -> Array:
    """Return by how much sizes differ from whole steps, where that could be a step itself."""
    left = np.abs(sizes - np.rint(sizes / step) * step)
    return left[left > finest]


def _p_on_grid(steps: NDArray[np.int64]) -> float:
    """Return the p-value by dynamic programming over the sum of the positive steps.

    State j holds the probability that they sum to j. The sum of all signed steps is 2j - total;
    by symmetry only the lower tail is needed, so states above the observed one are not kept.
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
    # With a sum of 0 the tails are the same patterns, counted twice.
    return max(min(2.0 * float(states.sum()), 1.0), _LEAST)


def _p_by_halves(differences: Array) -> float:
    """Return the p-value by meeting in the middle: 2**(n/2) sums instead of 2**n.

    A signed sum is the total of the sizes less twice the sum of those that count negative. So the
    upper tail is the number of subsets whose sum is at most a bound, here of pairs of a subset of
    one half and one of the other; the lower tail is as large.
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
        # Two sorted runs: the stable sort merges them in one pass.
        sums = np.sort(np.concatenate((sums, sums + size)), kind="stable")
    return sums


# Sampled


def _extreme_counts(values: Array, n_resamples: int, seed: int) -> NDArray[np.int64]:
    """Return for each column how many of the random sign patterns are at least as extreme."""
    totals = values.sum(axis=0)
    bounds = np.abs(totals) - TIE_TOLERANCE * np.abs(values).sum(axis=0)
    counts = np.zeros(values.shape[1], dtype=np.int64)
    if not counts.size:
        return counts
    for chunk, start in enumerate(range(0, n_resamples, _RESAMPLES_AT_ONCE)):
        flipped = _flipped_sums(values, np.random.PCG64([seed, chunk]))
        sums = np.abs(totals - 2.0 * flipped[: n_resamples - start])
        counts += np.count_nonzero(sums >= bounds, axis=0)
    return counts


def _flipped_sums(values: Array, bits: np.random.PCG64) -> Array:
    """Return the sums over random subsets of the rows, of shape (resamples at once, columns).

    A row's bits come at a fixed place of the stream. Its words are the same in all versions of
    numpy, and on all machines once they are read with the low byte first.
    """
    sums = np.zeros((_RESAMPLES_AT_ONCE, values.shape[1]))
    for start in range(0, len(values), _SAMPLES_AT_ONCE):
        block = values[start : start + _SAMPLES_AT_ONCE]
        words = bits.random_raw(len(block) * _RESAMPLES_AT_ONCE // 64)
        octets = words.astype("<u8", copy=False).view(np.uint8).reshape(len(block), -1)
        flips = np.unpackbits(octets, axis=1).astype(np.float64)
        sums += flips.T @ block
    return sums

"""The paired tests by name: from weighted differences to p-values, or to why there is none."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from pytest_rageval.errors import MissingExtraError
from pytest_rageval.extras import installed
from pytest_rageval.model import TestName
from pytest_rageval.stats.permutation import (
    TIE_TOLERANCE,
    Array,
    PermutationResult,
    sign_flip_tests,
)

# Differences that vary by less, relative to the largest, vary by rounding: 0.3 - 0.2, 0.9 - 0.8.
_NO_SPREAD: Final = 1e-9

_NORMAL_FROM: Final = 50

_ALL_EQUAL: Final = "no difference in any sample"

# Picks of a bootstrap that are made at once: 2 MB.
_PICKS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Tested:
    """What a test says of one metric: p is None, with a ``note``, where it can say nothing.

    ``method`` is what ran. ``smallest_p`` is the least p that the test could have given, since
    only ``limit`` samples differ or there were only ``limit`` resamples.
    """

    p_value: float | None
    method: str = "none"
    note: str = ""
    smallest_p: float = 0.0
    limited_by: Literal["samples", "resamples"] = "samples"
    limit: int = 0


def run_paired_test(
    test: TestName, columns: Sequence[Array], *, n_resamples: int, seed: int
) -> list[Tested]:
    """Test the weighted differences of each metric, two-sided.

    ``columns`` are arrays of shape (n_samples,), one for each metric; NaN is a sample that takes no
    part. Raises MissingExtraError where a test needs scipy and there is none.
    """
    present = [column[~np.isnan(column)] for column in columns]
    if test == "permutation":
        flipped = _permutation(columns, n_resamples, seed) if columns else []
        return [_too_few(found) or one for found, one in zip(present, flipped, strict=True)]
    run = _TESTS[test]
    return [
        _too_few(found) or _no_difference(found) or run(found, n_resamples, seed)
        for found in present
    ]


def have_spread(differences: ArrayLike) -> bool:
    """Return whether differences vary by more than rounding."""
    values = np.asarray(differences, dtype=np.float64)
    if not values.size:
        return False
    return float(np.ptp(values)) > _NO_SPREAD * float(np.abs(values).max())


def _too_few(differences: Array) -> Tested | None:
    if len(differences) == 0:
        return Tested(None, note="no sample has a score on both sides")
    if len(differences) == 1:
        return Tested(None, note="only 1 sample has a score on both sides; a test needs 2")
    return None


def _no_difference(differences: Array) -> Tested | None:
    return None if differences.any() else Tested(None, note=_ALL_EQUAL)


def _permutation(columns: Sequence[Array], n_resamples: int, seed: int) -> list[Tested]:
    """The sign-flip test; all metrics share the flips."""
    results = sign_flip_tests(np.column_stack(columns), n_resamples=n_resamples, seed=seed)
    return [_flipped(result) for result in results]


def _flipped(result: PermutationResult) -> Tested:
    exact = result.method == "exact"
    resamples = result.n_resamples
    by_samples = exact or result.smallest_p > 1 / (resamples + 1)
    return Tested(
        result.p_value,
        "permutation, exact" if exact else f"permutation, {resamples} sampled",
        note="" if result.n_nonzero else _ALL_EQUAL,
        smallest_p=result.smallest_p,
        limited_by="samples" if by_samples else "resamples",
        limit=result.n_nonzero if by_samples else resamples,
    )


def _t(differences: Array, _: int, __: int) -> Tested:
    """Student's one-sample t test of the differences."""
    if not have_spread(differences):
        return Tested(None, note="the differences do not vary: a t test says nothing")
    found = _scipy_stats("t").ttest_1samp(differences, 0.0)
    return Tested(float(found.pvalue), "paired t")


def _wilcoxon(differences: Array, _: int, __: int) -> Tested:
    """Wilcoxon's signed-rank test; differences of 0 are left out.

    Below 50 differences as scipy does it by default; from there on the normal approximation with
    continuity correction, as R's wilcox.test does it, which published figures come from.
    """
    n_nonzero = int(np.count_nonzero(differences))
    as_r = {"method": "approx", "correction": True} if n_nonzero >= _NORMAL_FROM else {}
    stats = _scipy_stats("wilcoxon")
    with warnings.catch_warnings():
        # Older versions of scipy warn of the normal approximation that they choose by themselves.
        warnings.simplefilter("ignore")
        p_value = float(stats.wilcoxon(differences, **as_r).pvalue)
    least = math.ldexp(1.0, 1 - n_nonzero)
    note = ""
    if p_value < least:
        # With zeros or ties scipy takes the normal approximation, however few samples there are.
        note = f"{n_nonzero} differ: p is a normal approximation, ranks give none below {least:.4g}"
    smallest = min(least, p_value)
    return Tested(p_value, "wilcoxon", note=note, smallest_p=smallest, limit=n_nonzero)


def _bootstrap(differences: Array, n_resamples: int, seed: int) -> Tested:
    """The shift bootstrap of the mean, as in Urbano, Lima and Hanjalic (SIGIR 2019).

    p = (count + 1) / (n_resamples + 1), where count are the resampled means at least as far from
    the observed mean as that is from 0.
    """
    if not have_spread(differences):
        return Tested(None, note="the differences do not vary: a bootstrap says nothing")
    n = len(differences)
    scaled = differences / np.abs(differences).max()
    mean = float(scaled.mean())
    bound = abs(mean) - TIE_TOLERANCE * float(np.abs(scaled).mean())
    random = np.random.default_rng(seed)
    rows = max(1, _PICKS_AT_ONCE // n)
    count = 0
    for start in range(0, n_resamples, rows):
        picks = random.integers(0, n, (min(rows, n_resamples - start), n))
        means = scaled[picks].mean(axis=1)
        count += int(np.count_nonzero(np.abs(means - mean) >= bound))
    return Tested(
        (count + 1) / (n_resamples + 1),
        f"bootstrap, {n_resamples}",
        smallest_p=1 / (n_resamples + 1),
        limited_by="resamples",
        limit=n_resamples,
    )


_TESTS: Final[Mapping[str, Callable[[Array, int, int], Tested]]] = {
    "t": _t,
    "wilcoxon": _wilcoxon,
    "bootstrap": _bootstrap,
}


def _scipy_stats(test: TestName) -> ModuleType:
    """Import scipy where a test needs it: that takes longer than all else here."""
    if not installed("scipy"):
        raise MissingExtraError(
            f"test {test!r} needs the package 'scipy': pip install scipy; "
            "'permutation' and 'bootstrap' do without"
        )
    return import_module("scipy.stats")

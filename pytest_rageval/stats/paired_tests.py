"""The paired tests by name: a p-value for weighted differences, or why there is none."""

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
from pytest_rageval.stats.wording import ALL_EQUAL

# A smaller spread, relative to the largest difference, is rounding: 0.3 - 0.2, 0.9 - 0.8.
_NO_SPREAD: Final = 1e-9

_NORMAL_FROM: Final = 50

# How many picks a bootstrap draws at once: 2 MB.
_PICKS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Tested:
    """The result of a test for one metric: p is None where there is no result; a ``note`` says why.

    A p may have a note, too. ``method`` is the test that ran. ``smallest_p`` is the smallest p that
    the test could have given, with only ``limit`` samples (groups) that differ, or ``limit``
    resamples; 0 where neither limits it. ``p_max_t`` is the p-value adjusted by max-T, for metrics
    of the family.
    """

    p_value: float | None
    method: str = "none"
    note: str = ""
    smallest_p: float = 0.0
    limited_by: Literal["samples", "resamples"] = "samples"
    limit: int = 0
    p_max_t: float | None = None


def run_paired_test(  # noqa: PLR0913  (all but the test and its data are options)
    test: TestName,
    columns: Sequence[Array],
    *,
    n_resamples: int,
    seed: int,
    family: Sequence[int] = (),
    unit: str = "sample",
    at_once: int = 1,
) -> list[Tested]:
    """Test the weighted differences of each metric, two-sided; the results are in their order.

    ``columns`` are arrays of shape (n_samples,), one for each metric; NaN marks a sample that does
    not count. ``family`` are the positions of the metrics that max-T adjusts for; ``unit`` names
    what a difference belongs to: a sample, or a group. ``at_once`` is how many such tests share the
    time that one exact test may take. Raises MissingExtraError if a test needs scipy, and it is
    missing.
    """
    present = [column[~np.isnan(column)] for column in columns]
    too_few = [_too_few(differences, unit) for differences in present]
    if test == "permutation":
        tested = [at for at in family if too_few[at] is None]
        flipped = _permutation(columns, n_resamples, seed, tested, at_once) if columns else []
        return [untested or result for untested, result in zip(too_few, flipped, strict=True)]
    run = _TESTS[test]
    return [
        untested or _no_difference(differences) or run(differences, n_resamples, seed)
        for untested, differences in zip(too_few, present, strict=True)
    ]


def have_spread(differences: ArrayLike) -> bool:
    """Return whether differences vary by more than rounding."""
    values = np.asarray(differences, dtype=np.float64)
    if not values.size:
        return False
    return float(np.ptp(values)) > _NO_SPREAD * float(np.abs(values).max())


def _too_few(differences: Array, unit: str) -> Tested | None:
    if len(differences) == 0:
        return Tested(None, note=f"no {unit} has a score on both sides")
    if len(differences) == 1:
        return Tested(None, note=f"only 1 {unit} has a score on both sides; a test needs 2")
    return None


def _no_difference(differences: Array) -> Tested | None:
    return None if differences.any() else Tested(None, note=ALL_EQUAL)


def _permutation(
    columns: Sequence[Array], n_resamples: int, seed: int, family: Sequence[int], at_once: int
) -> list[Tested]:
    """Run the sign-flip test; all metrics share the flips."""
    table = np.column_stack(columns)
    results = sign_flip_tests(
        table, n_resamples=n_resamples, seed=seed, family=family, at_once=at_once
    )
    return [_as_tested(result) for result in results]


def _as_tested(result: PermutationResult) -> Tested:
    # Where signs are drawn there are too many samples for them to be the limit.
    exact = result.method == "exact"
    resamples = result.n_resamples
    return Tested(
        result.p_value,
        "permutation, exact" if exact else f"permutation, {resamples} sampled",
        note="" if result.n_nonzero else ALL_EQUAL,
        smallest_p=result.smallest_p,
        limited_by="samples" if exact else "resamples",
        limit=result.n_nonzero if exact else resamples,
        p_max_t=result.p_adjusted,
    )


def _t(differences: Array, _: int, __: int) -> Tested:
    """Student's one-sample t test of the differences."""
    if not have_spread(differences):
        return Tested(None, note="the differences do not vary: a t test says nothing")
    result = _scipy_stats("t").ttest_1samp(differences, 0.0)
    return Tested(float(result.pvalue), "paired t")


def _wilcoxon(differences: Array, _: int, __: int) -> Tested:
    """Wilcoxon's signed-rank test; differences of 0 are left out.

    Below 50 differences scipy's default; from 50 on the normal approximation with continuity
    correction, as in R's wilcox.test, which most published figures come from.
    """
    n_nonzero = int(np.count_nonzero(differences))
    as_in_r = {"method": "approx", "correction": True} if n_nonzero >= _NORMAL_FROM else {}
    stats = _scipy_stats("wilcoxon")
    with warnings.catch_warnings():
        # Older versions of scipy warn of the normal approximation that they choose themselves.
        warnings.simplefilter("ignore")
        p_value = float(stats.wilcoxon(differences, **as_in_r).pvalue)
    least = math.ldexp(1.0, 1 - n_nonzero)
    note = ""
    if p_value < least:
        # With zeros or ties scipy uses the normal approximation for any number of samples.
        note = f"{n_nonzero} differ: p is a normal approximation, ranks give none below {least:.4g}"
    smallest = min(least, p_value)
    return Tested(p_value, "wilcoxon", note=note, smallest_p=smallest, limit=n_nonzero)


def _bootstrap(differences: Array, n_resamples: int, seed: int) -> Tested:
    """The shift bootstrap of the mean, as in Urbano, Lima and Hanjalic (SIGIR 2019).

    p = (count + 1) / (n_resamples + 1), where count is the number of resampled means at least as
    far from the observed mean as that is from 0.
    """
    if not have_spread(differences):
        return Tested(None, note="the differences do not vary: a bootstrap says nothing")
    n = len(differences)
    scaled = differences / np.abs(differences).max()
    mean = float(scaled.mean())
    bound = abs(mean) - TIE_TOLERANCE * float(np.abs(scaled).mean())
    rng = np.random.default_rng(seed)
    rows = max(1, _PICKS_AT_ONCE // n)
    count = 0
    for start in range(0, n_resamples, rows):
        picks = rng.integers(0, n, (min(rows, n_resamples - start), n))
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
    """Import scipy only if a test needs it: the import is slow."""
    if not installed("scipy"):
        raise MissingExtraError(
            f"test {test!r} needs the package 'scipy': pip install scipy; "
            "'permutation' and 'bootstrap' do not need it"
        )
    return import_module("scipy.stats")

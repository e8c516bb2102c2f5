"""D6: tests of significance against the p-values that Urbano, Lima and Hanjalic published.

Their systems 125 and 126 of TREC-8 ad hoc (columns counted from 1).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from others_data import others_data

from pytest_rageval.stats.paired import compare_paired
from pytest_rageval.stats.paired_tests import run_paired_test
from pytest_rageval.stats.permutation import paired_permutation_test

FILES = others_data("data/urbano-significance/original")


@pytest.fixture(scope="session")
def trec8() -> Callable[[str], list[list[float]]]:
    """Return a function from a measure (ap, p10, rr) to the scores of systems 125 and 126."""

    def read(measure: str) -> list[list[float]]:
        path = FILES / f"adhoc8_{measure}.csv"
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))[1:]
        assert len(rows) == 50
        return [[float(row[column]) for row in rows] for column in (124, 125)]

    return read


def published(p: float) -> float:
    """Return four standard errors of a p-value from the million resamples that were published."""
    return 4 * math.sqrt(p * (1 - p) / 1e6)


@pytest.mark.full
def test_the_published_p_values_of_student_and_wilcoxon(trec8: Any) -> None:
    pytest.importorskip("scipy")
    pairs = {"ap": trec8("ap")}
    student = compare_paired(pairs, [1.0] * 50, test="t")["ap"]
    assert student.p_value == pytest.approx(0.0013193972, abs=5e-11)
    assert student.p_value == pytest.approx(0.0013193972019333376, abs=1e-12)
    assert (student.a_mean, student.b_mean) == pytest.approx((0.2143, 0.2673), abs=5e-5)
    wilcoxon = compare_paired(pairs, [1.0] * 50, test="wilcoxon")["ap"]
    assert wilcoxon.p_value == pytest.approx(0.003445188, abs=5e-10)
    assert wilcoxon.p_value == pytest.approx(0.003445188366131657, abs=1e-12)


def test_the_published_p_value_of_the_permutation_test(trec8: Any) -> None:
    """Exact, since scores of four decimals lie on a grid; published from a million samples."""
    found = compare_paired({"ap": trec8("ap")}, [1.0] * 50)["ap"]
    assert found.method == "permutation, exact"
    assert found.p_value is not None
    for theirs in (0.001188, 0.001242):
        assert abs(found.p_value - theirs) < published(theirs)


@pytest.mark.full
def test_the_published_p_value_of_the_bootstrap(trec8: Any) -> None:
    """Both sides are samples of a million: the errors add by their squares."""
    [differences] = [np.array(a) - np.array(b) for a, b in [trec8("ap")]]
    [found] = run_paired_test("bootstrap", [differences], n_resamples=1_000_000, seed=1)
    assert found.p_value is not None
    assert abs(found.p_value - 0.000586) < math.sqrt(2) * published(0.000586)


@pytest.mark.full
@pytest.mark.parametrize("measure", ["ap", "p10"])
def test_exact_p_values_by_whole_numbers(trec8: Any, measure: str) -> None:
    """The scores of the file in units of 0.0001, counted with integers of any size."""
    a, b = trec8(measure)
    steps = [round(1e4 * x) - round(1e4 * y) for x, y in zip(a, b, strict=True)]
    counts = {0: 1}
    for step in steps:
        moved: dict[int, int] = {}
        for reached, ways in counts.items():
            for signed in (-step, step):
                moved[reached + signed] = moved.get(reached + signed, 0) + ways
        counts = moved
    extreme = sum(ways for reached, ways in counts.items() if abs(reached) >= abs(sum(steps)))
    expected = float(Fraction(extreme, 2 ** len(steps)))
    assert paired_permutation_test(a, b).p_value == pytest.approx(expected, abs=1e-12)


def test_a_sampled_p_value_is_near_the_exact_one(trec8: Any) -> None:
    """Multiples of √2·1e-9 take the scores off their grid, so that the same test samples.

    They also part the patterns that tie with the observed one, which are far less than its error.
    """
    a, b = trec8("ap")
    exact = paired_permutation_test(a, b).p_value
    off = [x + math.sqrt(2) * 1e-9 * (1 + at % 7) for at, x in enumerate(a)]
    found = paired_permutation_test(off, b, n_resamples=100_000, seed=3)
    assert (found.method, found.n_nonzero) == ("sampled", 50)
    assert abs(found.p_value - exact) < 4 * math.sqrt(exact * (1 - exact) / 100_000)

"""D6: tests of significance against a reference file and the published figures of SIGIR 2019."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_rageval.model import MetricComparison
from pytest_rageval.stats.paired import compare_paired
from pytest_rageval.stats.paired_tests import run_paired_test
from pytest_rageval.stats.permutation import paired_permutation_test, sign_flip_tests

Reference = Callable[[str], Any]
SharedData = Callable[[str], Path]


@pytest.fixture(scope="session")
def small(reference: Reference) -> dict[str, Any]:
    """Return the metrics of two runs over 31 topics, one a perturbation of the other."""
    return dict(reference("significance.json")["pairs"]["small"]["metrics"])


def compare(metrics: dict[str, Any], test: Any) -> dict[str, MetricComparison]:
    pairs = {name: (figures["a"], figures["b"]) for name, figures in metrics.items()}
    return compare_paired(pairs, [1.0] * 31, test=test)


def test_exact_p_values_means_and_intervals(small: dict[str, Any]) -> None:
    found = compare(small, "permutation")
    assert len(found) == 6
    for name, figures in small.items():
        ours = found[name]
        assert ours.method == "permutation, exact", name
        assert ours.p_value == pytest.approx(figures["p_exact"], abs=1e-12), name
        assert ours.n_nonzero == figures["n_nonzero"], name
        assert ours.a_mean == pytest.approx(figures["A_mean"], abs=1e-12), name
        assert ours.b_mean == pytest.approx(figures["B_mean"], abs=1e-12), name
        assert ours.diff == pytest.approx(figures["diff"], abs=1e-12), name
        low, high = figures["mean_diff_95ci_t"]
        assert ours.ci_low == pytest.approx(low, abs=1e-12), name
        assert ours.ci_high == pytest.approx(high, abs=1e-12), name


def test_others_samples_lie_within_four_standard_errors(small: dict[str, Any]) -> None:
    """A million flips by the reference, 9,999 by scipy (with its own tolerance)."""
    for name, ours in compare(small, "permutation").items():
        p = ours.p_value
        assert p is not None
        for key, size in (("p_mc1e6", 1e6), ("scipy_permutation_p", 9999)):
            error = math.sqrt(p * (1 - p) / size)
            assert abs(small[name][key] - p) <= 4 * error + 1 / size, (name, key)


def test_students_p_values(small: dict[str, Any]) -> None:
    pytest.importorskip("scipy")
    for name, ours in compare(small, "t").items():
        expected = small[name]["ttest_p"]
        if expected == "nan":
            assert (ours.p_value, ours.note) == (None, "no difference in any sample"), name
        else:
            assert ours.p_value == pytest.approx(expected, abs=1e-12), name
            assert ours.method == "paired t", name


def test_wilcoxons_p_values(small: dict[str, Any]) -> None:
    pytest.importorskip("scipy")
    for name, ours in compare(small, "wilcoxon").items():
        expected = small[name]["wilcoxon_p"]
        assert ours.p_value == (expected and pytest.approx(expected, abs=1e-12)), name


def test_small_cases(reference: Reference) -> None:
    cases = reference("significance.json")["small_cases"]
    assert len(cases) == 5
    for case in cases:
        differences = case["diffs"]
        zeros = [0.0] * len(differences)
        found = paired_permutation_test(differences, zeros)
        assert found.p_value == pytest.approx(case["p_exact"], abs=1e-12), case["id"]


def test_small_cases_of_student(reference: Reference) -> None:
    """Where the differences do not vary there is no p: the reference has nan, or 0."""
    pytest.importorskip("scipy")
    for case in reference("significance.json")["small_cases"]:
        differences = np.array(case["diffs"])
        [ours] = run_paired_test("t", [differences], n_resamples=100, seed=0)
        if case["ttest_p"] in ("nan", 0.0):
            assert ours.p_value is None, case["id"]
            assert ours.note, case["id"]
        else:
            assert ours.p_value == pytest.approx(case["ttest_p"], abs=1e-12), case["id"]


def test_sampled_p_values_spread_as_the_references(reference: Reference) -> None:
    """Their p of about 0.0048; ours at another, by its own binomial deviation.

    The reference's pair is not in the file, so the law is compared: deviation by √(p(1-p)/R).
    """
    for size, theirs in reference("significance.json")["monte_carlo_spread"].items():
        assert theirs["sd"] == pytest.approx(theirs["binomial_sd"], rel=0.2), size
    random = np.random.default_rng(1)
    table = random.normal(0.3, 1.0, (50, 1))
    found = [sign_flip_tests(table, n_resamples=1000, seed=seed)[0].p_value for seed in range(200)]
    p = float(np.mean(found))
    assert np.std(found, ddof=1) == pytest.approx(math.sqrt(p * (1 - p) / 1000), rel=0.2)


# Urbano, Lima and Hanjalic, systems 125 and 126 of TREC-8 ad hoc (columns counted from 1)


@pytest.fixture(scope="session")
def trec8(shared_data: SharedData) -> Callable[[str], list[list[float]]]:
    """Return a function from a measure (ap, p10, rr) to the scores of systems 125 and 126."""

    def read(measure: str) -> list[list[float]]:
        path = shared_data(f"urbano-significance/original/adhoc8_{measure}.csv")
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))[1:]
        assert len(rows) == 50
        return [[float(row[column]) for row in rows] for column in (124, 125)]

    return read


def published(p: float) -> float:
    """Return four standard errors of a p-value from the million resamples that were published."""
    return 4 * math.sqrt(p * (1 - p) / 1e6)


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


def test_the_published_p_value_of_the_bootstrap(trec8: Any) -> None:
    """Both sides are samples of a million: the errors add by their squares."""
    [differences] = [np.array(a) - np.array(b) for a, b in [trec8("ap")]]
    [found] = run_paired_test("bootstrap", [differences], n_resamples=1_000_000, seed=1)
    assert found.p_value is not None
    assert abs(found.p_value - 0.000586) < math.sqrt(2) * published(0.000586)


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

"""D6: tests of significance against scipy's, and exact figures of another implementation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pytest_rageval.model import MetricComparison
from pytest_rageval.stats.paired import compare_paired
from pytest_rageval.stats.paired_tests import run_paired_test
from pytest_rageval.stats.permutation import paired_permutation_test, sign_flip_tests

Reference = Callable[[str], Any]


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

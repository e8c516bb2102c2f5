"""Intervals and tests hold what they promise, by simulation on scores of our own (seeded).

Real scores of answers are bounded and pile up at the ends: most of a good system's are 1. The
populations here are made like that; draws are with replacement, weights those of documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from pytest_rageval.stats.paired import compare_paired
from pytest_rageval.stats.summary import weighted_interval

Interval = Callable[[list[float], list[float]], tuple[float, float]]

DRAWS = 1000
WEIGHTS = (1.0, 1.5, 2.0)


@cache
def population(name: str) -> np.ndarray:
    """Return 20,000 scores in 0..1."""
    random = np.random.default_rng(2024)
    if name == "good":  # Mean 0.94: nine in ten are 1, the rest spread over 0..0.9.
        return np.where(random.random(20_000) < 0.9, 1.0, 0.9 * random.beta(1.2, 1.3, 20_000))
    if name == "answers":  # Right or wrong, about half.
        return (random.random(20_000) < 0.48).astype(float)
    return random.beta(2.0, 3.0, 20_000)  # "overlap": anything between, mean 0.4.


def simulate(name: str, n: int, interval: Interval) -> tuple[float, float]:
    """Return how often the interval holds the mean, and how often it lies wholly above it.

    The mean is the population's: weights are drawn apart from scores, so it is the weighted mean's
    expectation, too.
    """
    scores = population(name)
    truth = float(scores.mean())
    random = np.random.default_rng([7, n])
    held = above = 0
    for _ in range(DRAWS // 2):
        drawn = random.choice(scores, n).tolist()
        low, high = interval(drawn, random.choice(WEIGHTS, n).tolist())
        held += low <= truth <= high
        above += low > truth
    return 2 * held / DRAWS, 2 * above / DRAWS


def ours(values: list[float], weights: list[float]) -> tuple[float, float]:
    found = weighted_interval(values, weights, (0.0, 1.0))
    assert found is not None
    return found


def percentile_bootstrap(values: list[float], weights: list[float]) -> tuple[float, float]:
    """The usual choice, for contrast: quantiles of the weighted means of 400 resamples."""
    x, w = np.array(values), np.array(weights)
    picks = np.random.default_rng(3).integers(0, len(x), (400, len(x)))
    means = (x[picks] * w[picks]).sum(axis=1) / w[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def test_the_populations_are_as_described() -> None:
    good = population("good")
    assert good.mean() == pytest.approx(0.94, abs=0.01)
    assert (good == 1.0).mean() > 0.85
    for name in ("good", "answers", "overlap"):
        assert 0.0 <= population(name).min() <= population(name).max() <= 1.0


@pytest.mark.full
@pytest.mark.parametrize("n", [20, 50])
@pytest.mark.parametrize("name", ["good", "answers", "overlap"])
def test_an_interval_of_95_percent_holds_the_mean(name: str, n: int) -> None:
    """At least 92 %, and at most 4 % wholly above it: what a lower bound wrongly lets pass."""
    held, above = simulate(name, n, ours)
    assert held >= 0.92
    assert above <= 0.04


@pytest.mark.full
def test_the_bootstrap_would_let_small_sets_pass() -> None:
    """Why it is not used: 20 scores of which most are 1 may show no bad one to resample."""
    held, above = simulate("good", 20, percentile_bootstrap)
    assert held < 0.85
    assert above > 0.10


@pytest.mark.full
def test_an_interval_of_95_percent_is_not_uselessly_wide() -> None:
    """It holds the mean of right-or-wrong scores in at most 99 % of draws."""
    assert simulate("answers", 50, ours)[0] <= 0.99


@pytest.mark.full
def test_the_interval_of_a_difference_holds_the_true_one() -> None:
    """Two systems, B weaker than A by about 0.05: the t interval over 50 paired samples."""
    random = np.random.default_rng(12)
    held = 0
    for _ in range(DRAWS):
        easy = random.beta(2.0, 2.0, 50)
        a = np.clip(easy + random.normal(0.05, 0.1, 50), -1.0, 2.0)
        found = compare_paired(
            {"f1": (a.tolist(), easy.tolist())}, random.choice(WEIGHTS, 50).tolist(), test="t"
        )["f1"]
        assert found.ci_low is not None
        assert found.ci_high is not None
        held += found.ci_low <= 0.05 <= found.ci_high
    assert abs(held / DRAWS - 0.95) < 4 * math.sqrt(0.95 * 0.05 / DRAWS)


@pytest.mark.full
def test_the_smallest_detectable_difference_is_found_four_times_in_five() -> None:
    """A difference as large as a run of the same spread says it could show: power 80 %."""
    pytest.importorskip("scipy")
    random = np.random.default_rng(21)
    n, spread = 100, 0.3
    # (1.959964 + 0.841621) · 0.3 / √100
    true = 0.0840476
    found = []
    for _ in range(DRAWS // 2):
        a = random.normal(true, spread, n).tolist()
        found.append(compare_paired({"f1": (a, [0.0] * n)}, [1.0] * n, test="t")["f1"])
    said = sum(one.smallest_detectable or 0.0 for one in found) / len(found)
    assert said == pytest.approx(true, rel=0.02)
    power = sum(one.significant for one in found) / len(found)
    assert abs(power - 0.8) < 4 * math.sqrt(0.8 * 0.2 / len(found)) + 0.01


@pytest.mark.full
@pytest.mark.parametrize("test", ["permutation", "t", "wilcoxon", "bootstrap"])
def test_without_a_difference_alarms_are_false_at_the_rate_alpha(test: str) -> None:
    """Differences of random sign, weights of documents: 5 % of 300 runs, to 4 standard errors."""
    if test in ("t", "wilcoxon"):
        pytest.importorskip("scipy")
    random = np.random.default_rng(33)
    alarms = 0
    for at in range(300):
        a = (random.choice([-1.0, 1.0], 20) * random.beta(2.0, 3.0, 20)).tolist()
        weights = random.choice(WEIGHTS, 20).tolist()
        found = compare_paired(
            {"f1": (a, [0.0] * 20)}, weights, test=test, n_resamples=400, seed=at
        )
        alarms += found["f1"].significant
    assert abs(alarms / 300 - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 300)

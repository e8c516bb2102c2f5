"""Quantiles of Student's t against printed tables and scipy."""

from __future__ import annotations

import pytest

from pytest_rageval.stats.intervals import t_cdf, t_quantile

# Three decimals, as in the tables of the textbooks (two-sided 95 % and 99 %).
TABLE = [
    (0.975, 1, 12.706),
    (0.975, 2, 4.303),
    (0.975, 5, 2.571),
    (0.975, 10, 2.228),
    (0.975, 30, 2.042),
    (0.975, 120, 1.980),
    (0.995, 1, 63.657),
    (0.995, 10, 3.169),
    (0.995, 60, 2.660),
    (0.95, 1, 6.314),
    (0.95, 20, 1.725),
]


@pytest.mark.parametrize(("probability", "degrees", "expected"), TABLE)
def test_the_quantiles_are_those_of_the_tables(
    probability: float, degrees: int, expected: float
) -> None:
    assert t_quantile(probability, degrees) == pytest.approx(expected, abs=5.1e-4)


def test_quantiles_are_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    for degrees in (1, 2, 3, 7, 29, 99, 1000, 100_000, 2.5):
        for probability in (0.001, 0.025, 0.3, 0.5, 0.7, 0.975, 0.995, 0.9999):
            expected = float(stats.t.ppf(probability, degrees))
            ours = t_quantile(probability, degrees)
            assert ours == pytest.approx(expected, rel=1e-9, abs=1e-12), (probability, degrees)


def test_the_distribution_is_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    for degrees in (1, 4, 50, 5000):
        for x in (-30.0, -2.0, -0.1, 0.0, 0.1, 1.0, 8.0):
            expected = float(stats.t.cdf(x, degrees))
            assert t_cdf(x, degrees) == pytest.approx(expected, rel=1e-9), (x, degrees)


def test_the_quantile_is_symmetric() -> None:
    assert t_quantile(0.025, 9) == -t_quantile(0.975, 9)
    assert t_quantile(0.5, 9) == 0.0


@pytest.mark.parametrize(
    ("probability", "degrees"), [(0.0, 5), (1.0, 5), (-0.1, 5), (0.9, 0), (0.9, -1)]
)
def test_what_has_no_quantile_is_refused(probability: float, degrees: float) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(probability, degrees)


@pytest.mark.parametrize("degrees", [1.0, 3.0, 2.5])
def test_far_out_nothing_is_left_of_either_tail(degrees: float) -> None:
    """The square of 1e200 is no number any more."""
    assert (t_cdf(1e200, degrees), t_cdf(-1e200, degrees)) == (1.0, 0.0)
    assert t_cdf(0.0, degrees) == 0.5

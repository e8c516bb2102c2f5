"""What the documentation says of estimates from a sample of the rows, on few draws, seeded.

A share of D draws has the standard error √(p(1 - p)/D): bounds here leave three of them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from others_data import others_data
from sampled import Runs, cells, sampled

pytestmark = pytest.mark.full

others_data("data/openqa-eval")


def test_a_sample_with_an_older_run_is_worth_more_rows() -> None:
    """F9: widths within 10 % of 0.174 and 0.114, which others found; 95 % - 3 · √(.05 · .95/80)."""
    runs = Runs.of("f1", "FiD-KD", "FiD")
    found, plain = sampled(runs, 100, 80), sampled(runs, 100, 20, plain=True)
    assert found.here >= 0.875
    assert found.beyond >= 0.875
    assert found.width == pytest.approx(0.114, rel=0.1)
    assert plain.width == pytest.approx(0.174, rel=0.1)
    assert found.beyond_width > found.width
    assert abs(found.bias) < 0.012


@pytest.mark.parametrize(("name", "runs"), list(cells())[1::3])
def test_both_intervals_hold_the_truth(name: str, runs: Runs) -> None:
    """95 % - 3 · √(.05 · .95/100) = 0.885; the mean of 100 errors is below 3 · 0.05/√100."""
    found = sampled(runs, 50 if runs.now.shape[1] > 1 else 100, 100)
    assert found.here >= 0.885, name
    assert found.beyond >= 0.885, name
    assert abs(found.bias) < 0.015, name


@pytest.mark.parametrize(
    ("n", "unchanged", "width"), [(200, 0.0, 0.076), (100, 0.7, 0.071), (200, 0.7, 0.044)]
)
def test_widths_are_those_of_the_documentation(n: int, unchanged: float, width: float) -> None:
    runs = replace(Runs.of("f1", "FiD-KD", "FiD"), unchanged=unchanged, known=True)
    assert sampled(runs, n, 40).width == pytest.approx(width, rel=0.1)


def test_nearly_all_rows_are_as_sure_as_all_of_them() -> None:
    """990 of 1,000 rows: surer of these, and no surer of what lies beyond them."""
    runs = Runs.of("f1", "FiD-KD", "FiD")
    nearly, everyone = sampled(runs, 990, 10), sampled(runs, 1000, 10)
    assert everyone.width == 0.0
    assert nearly.width < 0.01
    assert nearly.beyond_width == pytest.approx(everyone.beyond_width, rel=0.01)
    assert nearly.beyond_width >= everyone.beyond_width

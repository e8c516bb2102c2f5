"""How often a regression that was certain early is none with all samples, on few draws."""

from __future__ import annotations

import pytest
from others_data import others_data
from stopped_falls import kinds, stopped_falls

others_data("data/openqa-eval")

HARD = "EM, a fall of what is allowed"
SAME = "F1, R2D2 against FiD-KD"
LARGE = "F1, DPR against FiD-KD"


@pytest.mark.full
@pytest.mark.parametrize("mode", ["any", "exceeds"])
def test_what_is_decided_is_never_wrong(mode: str) -> None:
    """Also in the hardest case, and where it saves next to nothing."""
    for name in (HARD, SAME):
        assert stopped_falls(kinds()[name], 100, 40, 0.0, mode).wrong == 0.0


@pytest.mark.full
@pytest.mark.parametrize("draws", [60, 600])
def test_an_error_bound_is_kept_where_the_fall_is_what_is_allowed(draws: int) -> None:
    """Of 600 at 0.05 + 3 · √(0.05 · 0.95/600) = 0.077 at most; 2,000 draws give 0.02."""
    found = stopped_falls(kinds()[HARD], 300, draws, 0.05)
    assert found.wrong <= 0.05 + 3 * (0.05 * 0.95 / draws) ** 0.5
    assert found.saved >= 0.04


def test_a_run_as_good_as_the_baseline_is_known_to_be_early() -> None:
    """At 0.01 of 300; 41 % in 2,000 draws."""
    found = stopped_falls(kinds()[SAME], 300, 30, 0.01, "exceeds")
    assert found.saved >= 0.3
    assert found.wrong <= 1 / 30


@pytest.mark.full
def test_a_large_fall_is_known_early_in_mode_any_alone() -> None:
    """0.096 where 0.05 is allowed: whether it is significantly more takes all samples."""
    pairs = kinds()[LARGE]
    assert stopped_falls(pairs, 300, 30, 0.01).saved >= 0.15
    assert stopped_falls(pairs, 300, 10, 0.01, "exceeds").saved <= 0.01


@pytest.mark.full
@pytest.mark.parametrize("error", [0.05, 0.01])
def test_the_error_bound_is_kept_for_all_kinds_of_scores(error: float) -> None:
    """100 draws each; the whole table is printed by ``python -m tests.simulations falls``."""
    for name, pairs in kinds().items():
        found = stopped_falls(pairs, 300, 100, error)
        assert found.wrong <= error + 3 * (error * (1 - error) / 100) ** 0.5, name

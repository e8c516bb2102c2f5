"""E20: equal variants are told apart as rarely as alpha promises, over all pairs together.

``python -m tests.simulations variants`` prints the whole tables. Bounds leave three standard errors
of few draws: 0.05 + 3 · √(0.05 · 0.95/200) = 0.096, and of 600 draws 0.077.
"""

from __future__ import annotations

import contests
import pytest
from others_data import others_data

pytestmark = pytest.mark.full

others_data("data/openqa-eval")


def test_equal_variants_are_rarely_told_apart() -> None:
    """With ties, and by group; as if by sample it is no test at all."""
    assert contests.false_alarms(contests.scores_of("em", count=500), 5, 50, 200) <= 0.096
    f1 = contests.scores_of("f1", count=500)
    assert contests.false_alarms(f1, 3, 50, 200, groups="together") <= 0.096
    assert contests.false_alarms(f1, 3, 50, 100, groups="apart") >= 0.15


@pytest.mark.parametrize("k", [3, 10])
def test_equal_variants_without_ties(k: int) -> None:
    assert contests.false_alarms(contests.scores_of("f1", noise=0.1), k, 100, 600) <= 0.077


def test_the_smallest_difference_that_is_named_would_have_been_shown() -> None:
    """In at least 80 % of runs: 0.8 - 3 · √(0.8 · 0.2/150) = 0.702."""
    smooth = contests.scores_of("f1", noise=0.1, count=500)
    assert contests.shown(smooth, 4, 60, 150) >= 0.702

"""F12: few judges that guess pass the control rows, and nearly all that are mostly right.

``python -m tests.simulations controls`` prints the whole table.
"""

from __future__ import annotations

import controls
import pytest


@pytest.mark.full
def test_judges_that_say_yes_or_no_pass_as_often_as_a_binomial_says() -> None:
    """Guessing: (1 + 12 + 66)/2^12 = 79/4096, and (1 + 10)/2^10 with five and five and one slip.

    Right in 0.9: .9^12 + 12 · .1 · .9^11 + 66 · .01 · .9^10 = .28243 + .37657 + .23013.
    """
    assert controls.exactly(0.5) == pytest.approx(79 / 4096)
    assert controls.exactly(0.5, rows=5, slips=1) == pytest.approx(11 / 1024)
    assert controls.exactly(0.9) == pytest.approx(0.88913, abs=1e-5)
    # Three standard errors of 1,000 draws: 3 · √(.889 · .111/1000) = .030.
    assert controls.honest(0.9, 1000).share == pytest.approx(0.889, abs=0.03)


@pytest.mark.full
@pytest.mark.parametrize("name", controls.GUESSING)
def test_judges_that_guess_rarely_pass(name: str) -> None:
    """0.026 + 3 · √(.026 · .974/1000) = 0.041."""
    assert controls.guessing(controls.GUESSING[name], 1000).share <= 0.041


def test_a_judge_that_is_always_right_is_asked_ten_rows() -> None:
    """The two that are left may both be slips."""
    assert controls.honest(1.0, 1) == controls.Passed(1.0, 10.0)
    # One that is always wrong is not asked again after three slips.
    assert controls.honest(0.0, 1) == controls.Passed(0.0, 3.0)

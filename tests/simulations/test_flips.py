"""F8: a second run differs as often as the gate says.

``python -m tests.simulations flips`` prints the whole table.
"""

from __future__ import annotations

import flips
import numpy as np
import pytest

pytestmark = pytest.mark.full


def agrees(found: flips.Told, overall: float, in_bins: float) -> None:
    assert found.overall[0] == pytest.approx(found.overall[1], abs=overall)
    for said, seen in found.bins:
        assert said == pytest.approx(seen, abs=in_bins)


def test_a_second_run_differs_as_often_as_is_said() -> None:
    """Few pairs: 3 standard errors of 60 x 5 correlated ones are .07 overall, .2 in a bin."""
    agrees(flips.told(0.05, 3, 60, np.linspace(-4.0, 4.0, 5)), 0.07, 0.2)


def test_at_the_bound_itself_too_little_is_said() -> None:
    """Half of the second runs differ where the truth is the bound; the gates say three tenths."""
    found = flips.told(0.05, 3, 100, np.array([0.0]))
    said, seen = found.overall
    assert said == pytest.approx(0.3, abs=0.05)
    assert seen == pytest.approx(0.5, abs=0.15)  # 3 standard errors of 100 pairs


@pytest.mark.parametrize(("share", "repeats"), [(0.02, 2), (0.05, 3), (0.1, 5)])
def test_what_is_said_is_right_on_average(share: float, repeats: int) -> None:
    """400 pairs at each of eleven bounds within four standard errors."""
    agrees(flips.told(share, repeats, 400), 0.03, 0.06)

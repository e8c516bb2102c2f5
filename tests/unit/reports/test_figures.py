"""How figures are shown: the same in the terminal, in summary.md and in the list of runs."""

from __future__ import annotations

import pytest

from pytest_rageval.stats.wording import change, change_interval, figure, interval, p_figure


@pytest.mark.parametrize(
    ("value", "shown"), [(0.75, "0.7500"), (0.0, "0.0000"), (2 / 3, "0.6667"), (None, "-")]
)
def test_a_figure_has_four_decimals_and_what_is_missing_is_no_zero(
    value: float | None, shown: str
) -> None:
    assert figure(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.5, "+0.5000"), (-1 / 3, "-0.3333"), (0.0, "+0.0000"), (None, "-")]
)
def test_a_change_has_its_sign(value: float | None, shown: str) -> None:
    assert change(value) == shown


@pytest.mark.parametrize("ends", [(None, None), (0.5, None), (None, 0.5)])
def test_an_interval_needs_both_ends(ends: tuple[float | None, float | None]) -> None:
    assert interval(*ends) == change_interval(*ends) == "-"


def test_an_interval_of_changes_has_signs() -> None:
    assert interval(0.25, 1.0) == "0.2500..1.0000"
    assert change_interval(-0.25, 1.0) == "-0.2500..+1.0000"


@pytest.mark.parametrize(
    ("p_value", "shown"),
    [(0.05, "0.0500"), (0.0001, "0.0001"), (0.00009, "<0.0001"), (0.0, "<0.0001"), (None, "-")],
)
def test_a_small_p_value_is_never_zero(p_value: float | None, shown: str) -> None:
    assert p_figure(p_value) == shown

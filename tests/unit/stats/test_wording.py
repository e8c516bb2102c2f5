"""S7: one word for one thing, in the terminal, the files and the messages of gates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_rageval.model import MetricComparison
from pytest_rageval.stats.wording import (
    change,
    change_interval,
    figure,
    interval,
    p_figure,
    verdict_word,
)

FOUND = MetricComparison(
    0.5, 0.6, -0.1, -0.2, -0.01, 0.01, 0.02, True, 20, 8, "permutation, exact", 0.08
)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (FOUND, "worse"),
        (replace(FOUND, diff=0.1), "better"),
        (replace(FOUND, significant=False), "no difference shown"),
        (replace(FOUND, significant=False, n_nonzero=0, diff=0.0), "equal"),
        (replace(FOUND, significant=False, p_adjusted=None), "not judged"),
        (replace(FOUND, significant=False, undecided="5 pairs cannot"), "undecided"),
        # Among too few pairs that are equal nothing was shown either: a gate fails there.
        (replace(FOUND, significant=False, n_nonzero=0, undecided="5 pairs cannot"), "undecided"),
        (replace(FOUND, significant=False, diff=None, p_adjusted=None), "undecided"),
    ],
)
def test_each_comparison_has_one_word(found: MetricComparison, word: str) -> None:
    """S7: "lower", "significant" and "worse, significant" were three words for one thing."""
    assert verdict_word(found, higher_is_better=True) == word


def test_where_lower_is_better_a_fall_is_better() -> None:
    """S7: by what it means, and not by its sign."""
    assert verdict_word(FOUND, higher_is_better=False) == "better"
    assert verdict_word(replace(FOUND, diff=0.1), higher_is_better=False) == "worse"


@pytest.mark.parametrize(
    ("p_value", "figure"),
    [
        (None, "-"),
        (0.00009999, "<0.0001"),
        (0.0001, "0.0001"),
        (0.03125, "0.0312"),
        (1.0, "1.0000"),
    ],
)
def test_a_p_value_is_never_shown_as_0(p_value: float | None, figure: str) -> None:
    assert p_figure(p_value) == figure


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

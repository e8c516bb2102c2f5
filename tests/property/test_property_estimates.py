"""Estimates from a sample of the rows: no worse score raises one, and no order of rows matters."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.model import Estimate
from pytest_rageval.stats.estimates import Row, estimate
from pytest_rageval.stats.summary import weighted_interval

pytestmark = pytest.mark.full

UNIT = (0.0, 1.0)
ROUNDING = 1e-9

near_the_end = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.95, 1.0), st.floats(0, 1))
weights = st.one_of(st.just(1.0), st.sampled_from([1.0, 2.0, 10.0, 100.0]))


@st.composite
def data_sets(draw: st.DrawFn) -> list[Row]:
    """Rows of which at least ten are asked, in the strata and groups that a run may have."""
    known, grouped = draw(st.booleans()), draw(st.booleans())
    rows = st.builds(
        Row,
        st.one_of(st.none(), near_the_end) if draw(st.booleans()) else near_the_end,
        st.one_of(near_the_end, st.none()) if draw(st.booleans()) else near_the_end,
        weights,
        st.integers(0, 12) if grouped else st.none(),
        st.booleans() if known else st.none(),
    )
    asked = st.builds(lambda row, new: replace(row, new=new), rows, near_the_end)
    found = [*draw(st.lists(asked, min_size=10, max_size=40)), *draw(st.lists(rows, max_size=60))]
    if not grouped:
        return found
    is_asked = {row.group for row in found[:10]}
    return [
        row if row.group not in is_asked or row.new is not None else replace(row, new=0.5)
        for row in found
    ]


def figures(found: Estimate) -> list[float]:
    ends = (found.mean, found.ci_low, found.ci_high, found.beyond_low, found.beyond_high)
    return [end for end in ends if end is not None]


@given(rows=data_sets(), at=st.integers(0, 9), share=st.floats(0.0, 1.0))
def test_a_worse_score_raises_no_figure(rows: list[Row], at: int, share: float) -> None:
    worse = [*rows]
    worse[at] = replace(rows[at], new=share * (rows[at].new or 0.0))
    before, after = estimate(rows, UNIT), estimate(worse, UNIT)
    assert before.why == after.why
    for high, low in zip(figures(before), figures(after), strict=True):
        assert low <= high + ROUNDING


@given(rows=data_sets(), seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(rows: list[Row], seed: int) -> None:
    shuffled = random.Random(seed).sample(rows, len(rows))
    assert estimate(shuffled, UNIT) == estimate(rows, UNIT)


@given(rows=data_sets())
def test_the_mean_lies_in_both_intervals_and_the_wider_is_beyond(rows: list[Row]) -> None:
    found = estimate(rows, UNIT)
    if found.mean is not None:
        mean, low, high, beyond_low, beyond_high = figures(found)
        assert 0.0 <= beyond_low <= low <= mean <= high <= beyond_high <= 1.0


@given(rows=data_sets())
def test_where_all_are_asked_it_is_the_full_run(rows: list[Row]) -> None:
    whole: Any = [replace(row, new=row.new if row.new is not None else 0.25) for row in rows]
    found = estimate(whole, UNIT)
    of = [-1 - at if row.group is None else row.group for at, row in enumerate(whole)]
    expected = weighted_interval(
        [row.new for row in whole], [row.weight for row in whole], UNIT, groups=of
    )
    if expected is None:
        assert found.mean is None
        return
    mean, low, high, beyond_low, beyond_high = figures(found)
    assert mean == low == high
    assert abs(beyond_low - expected[0]) < 1e-7
    assert abs(beyond_high - expected[1]) < 1e-7

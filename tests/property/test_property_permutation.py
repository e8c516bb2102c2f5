"""D6: sign-flip tests against the count of all 2**n patterns, and their symmetries."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.stats import permutation
from pytest_rageval.stats.paired import holm
from pytest_rageval.stats.permutation import paired_permutation_test

# Scores as metrics give them: tenths (P@10), hits, reciprocal ranks, and any number at all.
tenths = st.integers(0, 10).map(lambda k: k / 10)
hits = st.sampled_from([0.0, 1.0])
reciprocals = st.integers(1, 6).map(lambda rank: 1 / rank)
numbers = st.integers(-(10**9), 10**9).map(lambda k: k / 998_244_353)
weights = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0])
tables = st.one_of(
    [
        st.lists(st.tuples(scores, scores, weights), max_size=12)
        for scores in (tenths, hits, reciprocals, numbers, st.one_of(tenths, numbers))
    ]
)


def brute_force(table: Any) -> float:
    """Return the share of all sign patterns whose sum is at least the observed one, or a tie."""
    values = np.array([w * (a - b) for a, b, w in table])
    n = len(values)
    signs = np.array(list(product((-1.0, 1.0), repeat=n))).reshape(2**n, n)
    least = abs(values.sum()) - 1e-12 * np.abs(values).sum()
    return float(np.mean(np.abs(signs @ values) >= least))


def split(table: Any) -> Any:
    return [row[0] for row in table], [row[1] for row in table], [row[2] for row in table]


@pytest.mark.full
@given(table=tables)
def test_p_is_the_share_of_all_sign_patterns(table: Any) -> None:
    a, b, sizes = split(table)
    found = paired_permutation_test(a, b, weights=sizes)
    assert found.method == "exact"
    assert found.p_value == pytest.approx(brute_force(table), rel=1e-12)
    assert found.smallest_p <= found.p_value <= 1.0
    assert found.n == sum(size > 0 for size in sizes)


@given(table=tables)
def test_a_grid_gives_the_share_of_all_sign_patterns(table: Any) -> None:
    """Small samples go by halves, so the other way is called by its name."""
    values = np.array([w * (a - b) for a, b, w in table])
    values = values[values != 0.0]
    steps = permutation._steps_on_grid(values) if values.size else None
    if steps is not None:
        assert permutation._p_on_grid(steps) == pytest.approx(brute_force(table), rel=1e-12)


@given(table=st.lists(st.tuples(tenths, tenths, weights), min_size=1, max_size=12))
def test_tenths_always_lie_on_a_grid(table: Any) -> None:
    values = np.array([w * (a - b) for a, b, w in table])
    values = values[values != 0.0]
    assert not values.size or permutation._steps_on_grid(values) is not None


@given(table=tables)
def test_which_run_is_called_a_does_not_matter(table: Any) -> None:
    a, b, sizes = split(table)
    first, second = (paired_permutation_test(*pair, weights=sizes) for pair in ((a, b), (b, a)))
    assert first == second


@given(table=tables, scale=st.sampled_from([1e-9, 0.3, 3.0, 100.0, 1e9]))
def test_the_unit_of_scores_and_of_weights_does_not_matter(table: Any, scale: float) -> None:
    a, b, sizes = split(table)
    expected = paired_permutation_test(a, b, weights=sizes).p_value
    scaled = paired_permutation_test(
        [scale * x for x in a], [scale * x for x in b], weights=[scale * size for size in sizes]
    )
    assert scaled.p_value == expected


@given(table=tables, seed=st.integers(0, 2**32))
def test_the_order_of_samples_does_not_matter_to_an_exact_p(table: Any, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(table))
    first = paired_permutation_test(*split(table)[:2], weights=split(table)[2])
    mixed = split([table[at] for at in order])
    assert paired_permutation_test(*mixed[:2], weights=mixed[2]) == first


@given(p_values=st.lists(st.floats(0.0, 1.0), max_size=8))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1.0 for p, q in zip(p_values, adjusted, strict=True))
    ranked = sorted(zip(p_values, adjusted, strict=True))
    assert [q for _, q in ranked] == sorted(adjusted)
    assert not p_values or min(adjusted) == pytest.approx(min(1.0, len(p_values) * min(p_values)))

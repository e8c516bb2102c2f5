"""E20: ten systems' answers to Natural Questions as ten variants, against separate computations.

The predictions are those of openqa-eval, scored with several references. Ranks, p-values, max-T and
letters are computed here once more, by other ways and with other random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import populations
import pytest
from others_data import others_data
from ranked_variants import run_of

from pytest_rageval.model import Contest, MetricColumn, Ranking
from pytest_rageval.stats.variant_ranking import rank_variants

others_data("data/openqa-eval")

RESAMPLES = 20_000
SIZES = [300, pytest.param(3610, marks=pytest.mark.full)]


def scores_of(metric: str, n: int) -> dict[str, np.ndarray]:
    return {name: populations.openqa(metric, name, n) for name in populations.SYSTEMS}


@cache
def ranked(metric: str, n: int) -> Ranking:
    column = MetricColumn(metric)
    runs = [run_of(name, one.tolist(), column) for name, one in scores_of(metric, n).items()]
    return rank_variants(runs, Contest(populations.SYSTEMS, metric))


@cache
def drawn(metric: str, n: int) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """Return raw p-values, and those of step-down max-T, by signs from another generator."""
    scores = scores_of(metric, n)
    pairs = list(combinations(populations.SYSTEMS, 2))
    differences = np.stack([scores[a] - scores[b] for a, b in pairs])
    sizes = np.sqrt((differences**2).sum(axis=1))
    random = np.random.Generator(np.random.Philox(11))
    blocks = []
    for _ in range(RESAMPLES // 1000):
        signs = random.choice(np.array([-1.0, 1.0]), (n, 1000))
        blocks.append(np.abs(differences @ signs) / sizes[:, np.newaxis])
    found = np.concatenate(blocks, axis=1)
    observed = np.abs(differences.sum(axis=1)) / sizes - 1e-9
    raw = (found >= observed[:, np.newaxis]).mean(axis=1)
    adjusted, left, reached = {}, list(range(len(pairs))), 0.0
    while left:
        top = max(left, key=lambda at: observed[at])
        reached = max(reached, float((found[left].max(axis=0) >= observed[top]).mean()))
        adjusted[pairs[top]] = reached
        left.remove(top)
    return dict(zip(pairs, raw.tolist(), strict=True)), adjusted


def near(ours: float | None, theirs: float, resamples: int) -> bool:
    """Return whether two estimates are within four standard errors of each other.

    An estimate of 0 has none of its own: p is then taken as that of one draw more.
    """
    assert ours is not None
    p = max(ours, theirs, 1.0 / RESAMPLES)
    share = 1.0 / RESAMPLES + (1.0 / resamples if resamples else 0.0)
    return abs(ours - theirs) <= 4.0 * math.sqrt(p * max(1.0 - p, 0.0) * share) + 1e-4


def binomial(above: int, below: int) -> float:
    """Return the two-sided p of a sign test, in whole numbers."""
    n, least = above + below, min(above, below)
    tail = sum(math.comb(n, k) for k in range(least + 1))
    return float(min(Fraction(2 * tail, 2**n), Fraction(1)))


@pytest.mark.full
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("metric", ["em", "f1"])
def test_ranks_means_and_wins(metric: str, n: int) -> None:
    scores, found = scores_of(metric, n), ranked(metric, n)
    means = {name: float(one.mean()) for name, one in scores.items()}
    assert found.undecided == ""
    assert (found.common, found.total, len(found.pairs)) == (n, n, 45)
    assert {one.name: one.mean for one in found.variants} == pytest.approx(means, abs=1e-12)
    order = sorted(means, key=lambda name: -round(means[name], 12))
    assert [one.name for one in found.variants] == order
    for pair in found.pairs:
        a, b = scores[pair.a], scores[pair.b]
        assert pair.diff == pytest.approx(float((a - b).mean()), abs=1e-12)
        wins = (int((a - b > 1e-9).sum()), int((b - a > 1e-9).sum()))  # 0.8 - 0.8 may be 1e-16
        assert (pair.a_wins, pair.b_wins) == wins


@pytest.mark.parametrize("n", SIZES)
def test_p_values_of_right_and_wrong_are_those_of_the_sign_test(n: int) -> None:
    """Where every difference is 1 or -1, the permutation test is the sign test."""
    scores = scores_of("em", n)
    for pair in ranked("em", n).pairs:
        a, b = scores[pair.a], scores[pair.b]
        expected = binomial(int((a > b).sum()), int((b > a).sum()))
        assert pair.p_value == pytest.approx(expected, abs=1e-9), pair
        assert pair.method == "permutation, exact"


@pytest.mark.full
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("metric", ["em", "f1"])
def test_p_values_within_four_standard_errors_of_others(metric: str, n: int) -> None:
    """Raw ones exact or of 10,000 signs, adjusted ones of 10,000; the others of 20,000."""
    raw, adjusted = drawn(metric, n)
    for pair in ranked(metric, n).pairs:
        names = (pair.a, pair.b) if (pair.a, pair.b) in raw else (pair.b, pair.a)
        own = 10_000 if "sampled" in pair.method else 0
        assert near(pair.p_value, raw[names], own), (names, pair.p_value, raw[names])
        assert near(pair.p_adjusted, adjusted[names], 10_000), (names, pair, adjusted[names])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("metric", ["em", "f1"])
def test_letters_are_the_maximal_cliques_of_what_is_not_significant(metric: str, n: int) -> None:
    """Found by Bron and Kerbosch's search; none of these has an edge that no other one lacks."""
    found = ranked(metric, n)
    order = [one.name for one in found.variants]
    alike: dict[str, set[str]] = {name: set() for name in order}
    for pair in found.pairs:
        assert pair.p_adjusted is not None
        if pair.p_adjusted >= 0.05:
            alike[pair.a].add(pair.b)
            alike[pair.b].add(pair.a)
    cliques = maximal(set(), set(order), set(), alike)
    columns = sorted(sorted(map(order.index, one)) for one in cliques)
    letters = list(zip("abcdefghij", columns, strict=False))
    expected = {
        name: "".join(letter for letter, column in letters if at in column)
        for at, name in enumerate(order)
    }
    assert {one.name: one.letters for one in found.variants} == expected
    assert len(columns) > 1


def maximal(
    clique: set[str], left: set[str], done: set[str], alike: Mapping[str, set[str]]
) -> Iterator[set[str]]:
    """Yield the maximal cliques (Bron and Kerbosch 1973, without pivot)."""
    if not left and not done:
        yield clique
    for name in sorted(left):
        yield from maximal(clique | {name}, left & alike[name], done & alike[name], alike)
        left, done = left - {name}, done | {name}

"""How often variants that are equally good are told apart, on real systems' shuffled scores.

Each draw takes questions at random and gives every question's scores to the variants at random:
whatever is then significant is a false alarm. Every verdict is that of the package itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import populations
from ranked_variants import run_of
from simulated import fast_tests

from pytest_rageval.model import Contest, Ranking, ScenarioResult
from pytest_rageval.stats.paired import power_factor
from pytest_rageval.stats.variant_ranking import rank_variants

_REPEATS = 4


def scores_of(metric: str, noise: float = 0.0, count: int | None = None) -> np.ndarray:
    """Return the scores of ten systems on 3,610 questions, with a share of noise: then none tie."""
    found = [populations.openqa(metric, name, count) for name in populations.SYSTEMS]
    scores = np.stack(found, axis=1)
    return (1.0 - noise) * scores + noise * np.random.default_rng(0).random(scores.shape)


def false_alarms(
    scores: np.ndarray, k: int, n: int, draws: int, *, groups: str = "", seed: int = 7
) -> float:
    """Return how often any of ``k`` equal variants is told from another on ``n`` samples.

    ``groups``: each question is there up to four times, and all of a question's samples are
    tested ``together``, or ``apart`` as if they were none of each other's business.
    """
    random = np.random.default_rng([seed, k, n])
    alarms = 0
    with fast_tests():
        for draw in range(draws):
            rows, numbers = _shuffled(scores, k, n, bool(groups), random)
            found = _ranked(rows, numbers if groups == "together" else None, draw)
            alarms += any(pair.significant for pair in found.pairs)
    return alarms / draws


def shown(scores: np.ndarray, k: int, n: int, draws: int, *, seed: int = 8) -> float:
    """Return how often the smallest difference is shown that is said to be, with a power of 80 %.

    One of ``k`` variants is better than the others by just that.
    """
    random = np.random.default_rng([seed, k, n])
    spread = math.sqrt(2.0 * float(scores.var(axis=1, ddof=1).mean()))
    by = power_factor(0.05 / math.comb(k, 2)) * spread / math.sqrt(n)
    count = 0
    with fast_tests():
        for draw in range(draws):
            rows, _ = _shuffled(scores, k, n, False, random)
            rows[:, 0] += by
            pair = _ranked(rows, None, draw).pair("v0", "v1")
            count += pair is not None and pair.significant and pair.a == "v0"
    return count / draws


def _shuffled(
    scores: np.ndarray, k: int, n: int, repeated: bool, random: np.random.Generator
) -> tuple[np.ndarray, list[int]]:
    """Return the scores of ``k`` systems, of each question in an order of its own."""
    systems = random.permutation(scores.shape[1])[:k]
    rows = random.permuted(scores[random.integers(0, len(scores), n)][:, systems], axis=1)
    sizes = random.integers(1, _REPEATS + 1, n) if repeated else np.ones(n, dtype=int)
    numbers = np.repeat(np.arange(n), sizes)[:n]
    return rows[numbers], numbers.tolist()


def _ranked(rows: np.ndarray, groups: list[int] | None, seed: int) -> Ranking:
    found = list(_runs(rows, groups))
    names = tuple(one.info.variant for one in found)
    ranking = rank_variants(found, Contest(names, "f1", n_resamples=1000, seed=seed))
    assert not ranking.undecided, ranking.undecided
    return ranking


def _runs(rows: np.ndarray, groups: list[int] | None) -> Iterator[ScenarioResult]:
    marks = {f"s{at}": {"doc_name": str(of)} for at, of in enumerate(groups or ())}
    for at, column in enumerate(rows.T.tolist()):
        group_by = None if groups is None else "doc_name"
        yield run_of(f"v{at}", column, marks=marks, group_by=group_by)

"""How often intervals hold and gates are wrong, on draws from real scores.

Draws are vectorised; every interval and every verdict is that of the package itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import (
    Baseline,
    Bound,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats import permutation
from pytest_rageval.stats.certainty import GrowingMean
from pytest_rageval.stats.paired import compare_paired
from pytest_rageval.stats.summary import summarize_scenario, weighted_interval

UNIT = (0.0, 1.0)
WEIGHTS = (1.0, 1.5, 2.0)


@dataclass(frozen=True)
class Coverage:
    """The share of 95 % intervals that hold the true mean, and that lie wholly above it."""

    held: float
    above: float


def interval_coverage(
    scores: np.ndarray, n: int, draws: int, *, weights: Sequence[float] = (1.0,), seed: int = 1
) -> Coverage:
    """Draw ``n`` scores with weights of their own, ``draws`` times."""
    random = np.random.default_rng([seed, n])
    truth, held, above = float(scores.mean()), 0, 0
    for _ in range(draws):
        drawn = random.choice(scores, n).tolist()
        found = weighted_interval(drawn, random.choice(weights, n).tolist(), UNIT)
        assert found is not None
        held += found[0] <= truth <= found[1]
        above += found[0] > truth
    return Coverage(held / draws, above / draws)


def grouped_coverage(
    groups: Sequence[Sequence[float]], n_groups: int, draws: int, *, by_group: bool, seed: int = 2
) -> Coverage:
    """Draw ``n_groups`` whole groups, ``draws`` times; intervals by group, or as if by sample.

    The true mean is that of all scores, which the mean of the drawn ones estimates as a ratio.
    """
    random = np.random.default_rng([seed, n_groups])
    every = list(chain.from_iterable(groups))
    truth, held, above = sum(every) / len(every), 0, 0
    for _ in range(draws):
        picked = random.integers(0, len(groups), n_groups).tolist()
        values = list(chain.from_iterable(groups[at] for at in picked))
        of = [number for number, at in enumerate(picked) for _ in groups[at]]
        found = weighted_interval(
            values, [1.0] * len(values), UNIT, groups=of if by_group else None
        )
        if found is not None:
            held += found[0] <= truth <= found[1]
            above += found[0] > truth
    return Coverage(held / draws, above / draws)


def grouped_alarms(
    differences: Sequence[Sequence[float]],
    n_groups: int,
    draws: int,
    *,
    by_group: bool,
    seed: int = 3,
) -> float:
    """Return how often p is below 0.05 though whole groups have their signs by chance."""
    random = np.random.default_rng([seed, n_groups])
    alarms = 0
    with fast_tests():
        for draw in range(draws):
            picked = random.integers(0, len(differences), n_groups).tolist()
            signs = random.choice([-1.0, 1.0], n_groups).tolist()
            pairs = list(zip(signs, picked, strict=True))
            values = [sign * one for sign, at in pairs for one in differences[at]]
            of = [number for number, at in enumerate(picked) for _ in differences[at]]
            found = compare_paired(
                {"f1": (values, [0.0] * len(values))},
                [1.0] * len(values),
                groups=of if by_group else None,
                n_resamples=1000,
                seed=draw,
            )
            alarms += found["f1"].significant
    return alarms / draws


@dataclass(frozen=True)
class Pairs:
    """The scores of two systems on the same questions, by metric: this run and the baseline.

    Samples weigh the same where there are no ``weights``.
    """

    now: Mapping[str, np.ndarray]
    before: Mapping[str, np.ndarray]
    weights: np.ndarray | None = None

    def fall(self, metric: str) -> float:
        """The true fall of the mean."""
        return float(self.before[metric].mean() - self.now[metric].mean())

    def drawn(self, n: int, random: np.random.Generator) -> Pairs:
        """Return ``n`` questions at random, with replacement."""
        at = random.integers(0, len(next(iter(self.now.values()))), n)
        return Pairs(
            {name: scores[at] for name, scores in self.now.items()},
            {name: scores[at] for name, scores in self.before.items()},
        )


def equal(pairs: Pairs) -> Pairs:
    """Return two systems without any difference: each question is there with its sides turned."""

    def both(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> Any:
        return {name: np.concatenate((scores, other[name])) for name, scores in one.items()}

    return Pairs(both(pairs.now, pairs.before), both(pairs.before, pairs.now))


def losses(before: np.ndarray, chance: float, random: np.random.Generator) -> Pairs:
    """Return a run that only lost: of scores of 0 and 1, each 1 became 0 with this chance."""
    lost = random.random(len(before)) < chance
    return Pairs({"f1": np.where(lost, 0.0, before)}, {"f1": before})


def failures(
    pairs: Pairs, n: int, draws: int, options: Mapping[str, Any], *, seed: int = 4
) -> float:
    """Return how often ``no_regression`` with ``options`` fails on ``n`` questions."""
    random = np.random.default_rng([seed, n])
    with fast_tests():
        return sum(fails(pairs.drawn(n, random), options) for _ in range(draws)) / draws


def loss_failures(
    before: np.ndarray,
    fall: float,
    n: int,
    draws: int,
    options: Mapping[str, Any],
    *,
    weights: tuple[Sequence[float], Sequence[float]] = ((1.0,), (1.0,)),
) -> float:
    """Return how often the gate fails where the mean truly fell by ``fall``, and nothing rose.

    ``weights`` are those that a sample may have, and how often each occurs.
    """
    random = np.random.default_rng([5, n])
    chance = fall / float(before.mean())
    failed = 0
    with fast_tests():
        for _ in range(draws):
            pairs = losses(random.choice(before, n), chance, random)
            sizes = random.choice(weights[0], n, p=weights[1])
            failed += fails(replace(pairs, weights=sizes), options)
    return failed / draws


def fails(pairs: Pairs, options: Mapping[str, Any]) -> bool:
    """Return whether the gate fails, as it is decided in a run."""
    names = list(pairs.now)
    result, baseline = _runs(pairs)
    info = result.info
    given = {"baseline": "main", "metrics": names, "n_resamples": 1000, **options}
    (gate,) = make_gates({"no_regression": given}, _with(info, baseline))
    return gate.check(result).outcome == "failed"


def found_shares(
    pairs: Pairs, n: int, draws: int, correction: str, *, seed: int = 6
) -> tuple[float, float]:
    """Return the share of (runs, metric) that are significant, and of runs with any that is."""
    random = np.random.default_rng([seed, n])
    each = some = 0.0
    with fast_tests():
        for draw in range(draws):
            drawn = pairs.drawn(n, random)
            found = compare_paired(
                {
                    name: (now.tolist(), drawn.before[name].tolist())
                    for name, now in drawn.now.items()
                },
                [1.0] * n,
                correction=correction,  # type: ignore[arg-type]
                n_resamples=1000,
                seed=draw,
            )
            shown = [one.significant for one in found.values()]
            each += sum(shown) / len(shown)
            some += any(shown)
    return each / draws, some / draws


@contextmanager
def fast_tests() -> Iterator[None]:
    """Sample where an exact test takes longer than a moment: p is the same but for chance."""
    before = permutation._MOST_BY_HALVES
    permutation._MOST_BY_HALVES = permutation._FEW  # type: ignore[misc]
    try:
        yield
    finally:
        permutation._MOST_BY_HALVES = before  # type: ignore[misc]


def _runs(pairs: Pairs) -> tuple[ScenarioResult, Baseline]:
    columns = tuple(MetricColumn(name) for name in pairs.now)
    now = {name: scores.tolist() for name, scores in pairs.now.items()}
    n = len(next(iter(now.values())))
    ids = tuple(str(at) for at in range(n))
    weights = [1.0] * n if pairs.weights is None else pairs.weights.tolist()
    samples = [
        SampleResult(
            ids[at],
            at,
            sample_weight=weights[at],
            scores={name: scores[at] for name, scores in now.items()},
        )
        for at in range(n)
    ]
    info = ScenarioInfo("s", "s.yaml", "s.yaml", columns, total=n)
    before = {
        name: dict(zip(ids, scores.tolist(), strict=True)) for name, scores in pairs.before.items()
    }
    return summarize_scenario(info, samples, complete=True), Baseline("main", ids, before)


def _with(info: ScenarioInfo, baseline: Baseline) -> ScenarioInfo:
    return ScenarioInfo(
        info.name, info.path, info.nodeid, info.metrics, baselines={"main": baseline}
    )


@dataclass(frozen=True)
class Stopped:
    """The share of samples that are not asked about, and of verdicts that all would not have had.

    ``in_flight``: what is saved with 16 samples on their way when the verdict is certain.
    """

    saved: float
    in_flight: float
    wrong: float


def stopped(
    scores: np.ndarray, n: int, draws: int, error: float, *, bound: float = 0.75, seed: int = 5
) -> Stopped:
    """Draw ``n`` scores, ``draws`` times, and ask until the verdict on their mean is certain."""
    random, at_least = np.random.default_rng([seed, n]), Bound(min=bound)
    saved, in_flight, wrong = 0, 0, 0
    for _ in range(draws):
        drawn = random.choice(scores, n).tolist()
        mean, asked = GrowingMean(at_least, UNIT, n, n, error), 0
        while mean.verdict is None:
            mean.add(drawn[asked])
            asked += 1
        truth = at_least.holds(math.fsum(drawn) / n)
        figures = drawn[: asked + 16]
        is_shown = at_least.holds(math.fsum(figures) / len(figures))
        saved += n - asked
        in_flight += n - len(figures)
        # Without an error bound, the figures that are shown must agree, too.
        wrong += mean.verdict != truth or (error == 0.0 and is_shown != truth)
    return Stopped(saved / n / draws, in_flight / n / draws, wrong / draws)

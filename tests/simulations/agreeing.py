"""How often intervals of agreement hold the truth, on draws of samples or of whole groups.

The truth is the agreement over the whole population.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import people_and_judges
from people_and_judges import Both

from pytest_rageval.stats.labels.agreement import Rated, agreement
from pytest_rageval.stats.labels.coefficients import area_under_curve

Groups = Sequence[Sequence[Rated]]

FIVE_LEVELS = (
    (10, 6, 2, 1, 0),
    (5, 14, 8, 2, 1),
    (2, 9, 25, 10, 3),
    (1, 3, 12, 30, 12),
    (0, 1, 4, 14, 40),
)
"""How often people (rows) and a judge gave which of five levels; made up."""


@dataclass(frozen=True)
class Held:
    """Shares of intervals that hold the truth, and that lie above it; ``none`` had none."""

    held: float
    above: float
    width: float
    none: float

    def __str__(self) -> str:
        return f"{100 * self.held:.1f} ({100 * self.above:.1f})"


@dataclass(frozen=True)
class People:
    """Rated samples in groups that belong together, and their levels."""

    groups: Groups
    levels: Sequence[float] = (0.0, 1.0)

    @property
    def samples(self) -> list[Rated]:
        return [one for group in self.groups for one in group]


def coverage(
    people: People,
    names: Sequence[str],
    n: int,
    draws: int,
    *,
    by_group: bool = True,
    seed: int = 12,
) -> dict[str, Held]:
    """Draw ``n`` groups, with replacement; or look at them as if samples were independent."""
    random = np.random.default_rng([seed, n])
    whole = agreement(people.samples, people.levels, _unit(people))
    truths = {name: getattr(whole, name) for name in names}
    ends: dict[str, list[tuple[float, float] | None]] = {name: [] for name in names}
    for _ in range(draws):
        picked = random.integers(0, len(people.groups), n).tolist()
        drawn = [
            replace(one, group=number if by_group else None)
            for number, at in enumerate(picked)
            for one in people.groups[at]
        ]
        found = agreement(drawn, people.levels, _unit(people))
        for name, those in ends.items():
            low, high = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
            those.append(None if low is None else (low, high))
    return {name: _held(those, truths[name]) for name, those in ends.items()}


def bootstrap_coverage(
    people: People, n: int, draws: int, *, resamples: int = 400, seed: int = 13
) -> Held:
    """Return the same of the percentile bootstrap of the area under the curve, by sample."""
    random = np.random.default_rng([seed, n])
    whole = people.samples
    both = np.array([(one.score, one.votes["people"]) for one in whole])
    ends: list[tuple[float, float] | None] = []
    for _ in range(draws):
        drawn = both[random.integers(0, len(both), n)]
        again = [_area(drawn[random.integers(0, n, n)]) for _ in range(resamples)]
        found = [one for one in again if one is not None]
        low, high = np.quantile(found, (0.025, 0.975)) if found else (np.nan, np.nan)
        ends.append((float(low), float(high)) if _area(drawn) is not None else None)
    truth = _area(both)
    assert truth is not None
    return _held(ends, truth)


def _area(both: np.ndarray) -> float | None:
    return area_under_curve(both[:, 0].tolist(), (both[:, 1] == 1.0).tolist())


def _unit(people: People) -> Callable[[float], float]:
    low, high = people.levels[0], people.levels[-1]
    return lambda level: (level - low) / (high - low)


def _held(ends: Sequence[tuple[float, float] | None], truth: float) -> Held:
    those = np.array([one for one in ends if one is not None])
    low, high = those[:, 0], those[:, 1]
    return Held(
        float(np.mean((low <= truth) & (truth <= high))),
        float(np.mean(low > truth)),
        float(np.mean(high - low)),
        1.0 - len(those) / len(ends),
    )


def alone(both: Both, levels: Sequence[float] = (0.0, 1.0), *, cut: float | None = None) -> People:
    """Return answers that are each for themselves."""
    return People([[_rated(one, levels, cut)] for one in both], levels)


def together(groups: Sequence[Both], *, cut: float | None = None) -> People:
    """Return answers of two levels in groups, those to a question for instance."""
    return People([[_rated(one, (0.0, 1.0), cut) for one in group] for group in groups])


def _rated(both: tuple[float, float], levels: Sequence[float], cut: float | None) -> Rated:
    human, score = both
    judge = score if cut is None else float(score >= cut)
    unit = (score - levels[0]) / (levels[-1] - levels[0])
    return Rated("s", 0, {"people": human}, score, judge, unit)


def good(groups: Sequence[Both], mean: float = 0.9) -> list[Both]:
    """Return the groups with so many of the wrong answers that people accept ``mean`` of all."""
    random = np.random.default_rng(0)
    right = np.mean([human for group in groups for human, _ in group])
    kept = (1.0 - mean) / mean * right / (1.0 - right)
    found = [[one for one in group if one[0] or random.random() < kept] for group in groups]
    return [group for group in found if group]


def f1_groups() -> list[Both]:
    """Return people's verdicts and the token F1 of OpenQA-eval's answers to each question."""
    found: dict[str, Both] = {}
    rows = zip(people_and_judges.openqa_rows(), people_and_judges.openqa_f1(), strict=True)
    for row, both in rows:
        found.setdefault(row["question_id"], []).append(both)
    return list(found.values())


def annotators() -> People:
    """Return what two or three people say of OpenQA-eval's answers to each question."""
    found: dict[str, list[Rated]] = {}
    for row in people_and_judges.openqa_rows():
        votes = dict(zip("abc", map(float, row["human"]["annotators"]), strict=False))
        one = Rated("s", 0, votes, row["human"]["acceptable"], row["human"]["acceptable"], 1.0)
        found.setdefault(row["question_id"], []).append(one)
    return People(list(found.values()))


def ungrouped(people: People) -> People:
    """Return the same samples, each for itself."""
    return People([[one] for one in people.samples], people.levels)


def five_levels() -> People:
    """Return samples with the shares of ``FIVE_LEVELS``."""
    places = [
        (float(row), float(column))
        for row, line in enumerate(FIVE_LEVELS)
        for column, count in enumerate(line)
        for _ in range(count)
    ]
    return alone(places, (0.0, 1.0, 2.0, 3.0, 4.0))


def cells(samples: int, random: np.random.Generator) -> list[Rated]:
    """Return cells of made-up tables, 3 to 20 a sample, of three levels.

    In each sample a judge errs at a rate of its own, and as many cells as that are supported.
    """
    found = []
    for group in range(samples):
        errs, supported = random.beta(1, 3), random.beta(2, 2)
        for _ in range(random.choice([3, 5, 10, 15, 20])):
            human = random.choice(3, p=[0.9 - 0.9 * supported, 0.1, 0.9 * supported])
            judge = (human + random.integers(1, 3)) % 3 if random.random() < errs else human
            level = float(judge) / 2
            found.append(
                Rated("s", 0, {"people": float(human) / 2}, level, level, level, group=group)
            )
    return found


def coverage_of_cells(
    samples: int, n: int, draws: int, *, by_sample: bool = True, seed: int = 14
) -> Held:
    """Draw ``n`` of all cells of ``samples`` tables, each time of others: kappa's intervals."""
    levels, random = (0.0, 0.5, 1.0), np.random.default_rng([seed, samples, n])
    truth = agreement(cells(10_000, random), levels).kappa
    assert truth is not None
    ends: list[tuple[float, float] | None] = []
    for _ in range(draws):
        whole = cells(samples, random)
        picked = random.choice(len(whole), min(n, len(whole)), replace=False).tolist()
        drawn = [replace(whole[at], group=whole[at].group if by_sample else None) for at in picked]
        found = agreement(drawn, levels)
        low, high = found.kappa_low, found.kappa_high
        ends.append(None if low is None or high is None else (low, high))
    return _held(ends, truth)

"""How often corrected means hold the truth, on draws from answers that people and judges judged.

A draw is a run of 300 samples; its labelled samples are drawn from them. The truth is what people
say of the whole population.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import people_and_judges
from people_and_judges import Both

from pytest_rageval.stats.labels.coefficients import cohen_kappa, kappa_influence
from pytest_rageval.stats.labels.corrected import Judged, corrected_mean
from pytest_rageval.stats.labels.corrected_means import verdict_mean
from pytest_rageval.stats.labels.influence import Counted, table_interval
from pytest_rageval.stats.summary import weighted_interval

RUN = 300
CHANGED = 60
"""So many of a run's answers have changed since the others were labelled."""

TABLES = {
    "openqa, gpt-4": [[583, 89], [137, 679]],
    "openqa, F1 at 0.5": [[608, 66], [353, 463]],
    "a good system: 345 of 400 both right": [[30, 15], [10, 345]],
    "five levels, most next to each other": [
        [10, 6, 2, 1, 0],
        [5, 14, 8, 2, 1],
        [2, 9, 25, 10, 3],
        [1, 3, 12, 30, 12],
        [0, 1, 4, 14, 40],
    ],
}
"""How often people (rows) and a judge gave which levels; the last table is made up."""

Drawn = tuple[list[list[Judged]], float]
"""The strata of a run, and the truth."""


@dataclass(frozen=True)
class Found:
    """Shares of intervals that hold the truth, and their mean widths."""

    held: float
    width: float

    def __str__(self) -> str:
        return f"{100 * self.held:.1f} ({self.width:.3f})"


@dataclass(frozen=True)
class Compared:
    """Intervals of the corrected mean, of the labels alone, and of the judge alone."""

    corrected: Found
    labels_only: Found
    judge_only: Found


def compared(
    draw: Callable[[int, np.random.Generator], Drawn],
    n: int,
    draws: int,
    *,
    differences: bool = False,
    seed: int = 8,
) -> Compared:
    """Draw runs with ``n`` labels in all."""
    random = np.random.default_rng([seed, n])
    ends: list[list[tuple[float, float]]] = [[], [], []]
    truths = []
    for _ in range(draws):
        strata, truth = draw(n, random)
        found = None if differences else verdict_mean(strata)
        found = found or corrected_mean(strata, differences=differences)
        assert found.ci_low is not None
        assert found.ci_high is not None
        truths.append(truth)
        ends[0].append((found.ci_low, found.ci_high))
        every = [one for stratum in strata for one in stratum]
        labelled = [one for one in every if one.human is not None]
        ends[1].append(_alone(labelled, [float(one.human or 0) for one in labelled], differences))
        ends[2].append(_alone(every, [one.judge for one in every], differences))
    return Compared(*(_found(one, truths) for one in ends))


def _alone(
    samples: Sequence[Judged], values: list[float], differences: bool
) -> tuple[float, float]:
    groups = [one.group for one in samples if one.group is not None]
    found = weighted_interval(
        values,
        [one.weight for one in samples],
        (-np.inf, np.inf) if differences else (0.0, 1.0),
        groups=groups or None,
    )
    assert found is not None
    return found


def _found(ends: Sequence[tuple[float, float]], truths: Sequence[float]) -> Found:
    held = [low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)]
    return Found(float(np.mean(held)), float(np.mean([high - low for low, high in ends])))


@dataclass(frozen=True)
class Uniform:
    """Labels drawn uniformly from a run, whose samples have weights of their own."""

    both: Both
    weights: Sequence[float] = (1.0,)

    def __call__(self, n: int, random: np.random.Generator) -> Drawn:
        weights = random.choice(self.weights, RUN).tolist()
        return [_run(self.both, RUN, n, random, weights)], _truth(self.both)


@dataclass(frozen=True)
class Changed:
    """A run of which a fifth is of another population: 10 of it are labelled, or all."""

    both: Both
    changed: Both
    size: int = CHANGED

    def __call__(self, n: int, random: np.random.Generator) -> Drawn:
        few = 10 if self.size == CHANGED else self.size
        old = _run(self.both, RUN - self.size, n - few, random)
        new = _run(self.changed, self.size, few, random)
        said = [one.human for one in new if one.human is not None]
        other = float(np.mean(said)) if few == self.size else _truth(self.changed)
        return [old, new], _truth(self.both) + self.size / RUN * (other - _truth(self.both))


@dataclass(frozen=True)
class ByVerdict:
    """Labels drawn by the judge's verdict, in proportion, but five of each at least."""

    both: Both
    size: int = RUN

    def __call__(self, n: int, random: np.random.Generator) -> Drawn:
        run = [self.both[at] for at in random.integers(0, len(self.both), self.size)]
        strata = [[one for one in run if one[1] == verdict] for verdict in (0.0, 1.0)]
        few = min(max(round(n * len(strata[0]) / self.size), 5), n - 5)
        sizes = (few, n - few)
        found = [
            [_judged(f, y if at < size else None) for at, (y, f) in enumerate(stratum)]
            for stratum, size in zip(strata, sizes, strict=True)
        ]
        return found, _truth(self.both)


@dataclass(frozen=True)
class ChangedByVerdict:
    """Labels by verdict, and ten of a fifth of the run that has changed: three strata."""

    both: Both
    changed: Both

    def __call__(self, n: int, random: np.random.Generator) -> Drawn:
        (low, high), truth = ByVerdict(self.both, RUN - CHANGED)(n - 10, random)
        new = _run(self.changed, CHANGED, 10, random)
        return [low, high, new], truth + CHANGED / RUN * (_truth(self.changed) - truth)


@dataclass(frozen=True)
class Grouped:
    """Runs of whole groups; the labels are drawn by sample, so most groups have some of both."""

    groups: Sequence[Both]

    def __call__(self, n: int, random: np.random.Generator) -> Drawn:
        rows: list[tuple[int, float, float]] = []
        while len(rows) < RUN:
            number = len(rows)
            picked = self.groups[int(random.integers(0, len(self.groups)))]
            rows += [(number, human, judge) for human, judge in picked]
        labelled = set(random.choice(len(rows), n, replace=False).tolist())
        run = [
            Judged(judge, human if at in labelled else None, group=number)
            for at, (number, human, judge) in enumerate(rows)
        ]
        return [run], _truth([one for group in self.groups for one in group])


def kappa_coverage(table: Sequence[Sequence[int]], n: int, draws: int, *, seed: int = 9) -> Found:
    """Draw tables of ``n`` samples with the shares of ``table``; kappa is quadratic."""
    random = np.random.default_rng([seed, n])
    truth = cohen_kappa(table, quadratic=True)
    measure = partial(kappa_influence, quadratic=True)
    shares = np.array(table, float).ravel() / np.sum(table)
    ends = []
    for _ in range(draws):
        drawn = random.multinomial(n, shares).reshape(len(table), -1).tolist()
        kappa = cohen_kappa(drawn, quadratic=True)
        found = table_interval(measure, Counted(drawn, None), kappa)
        if found is not None:
            ends.append(found)
    return _found(ends, [truth or 0.0] * len(ends))


def good(both: Both, mean: float = 0.9) -> Both:
    """Return the answers that people accept, and so many others that they accept ``mean``."""
    right = [one for one in both if one[0]]
    wrong = [one for one in both if not one[0]]
    return right + wrong[: round(len(right) * (1.0 - mean) / mean)]


def openqa_groups(judge: str) -> list[Both]:
    """Return the answers of OpenQA-eval to each question."""
    found: dict[str, Both] = {}
    for row in people_and_judges.openqa_judged(judge):
        both = (row["human"]["acceptable"], row["judges"][judge])
        found.setdefault(row["question_id"], []).append(both)
    return list(found.values())


def evouna_groups() -> list[Both]:
    """Return the answers of EVOUNA's five systems to each question."""
    found: dict[int, Both] = {}
    for system in ("fid", "gpt35", "chatgpt", "gpt4", "newbing"):
        for at, both in people_and_judges.evouna_by_question(system).items():
            found.setdefault(at, []).append(both)
    return list(found.values())


def evouna_differences(system: str, baseline: str) -> Both:
    """Return people's and the judge's differences of two systems on the same questions."""
    ours, theirs = map(people_and_judges.evouna_by_question, (system, baseline))
    return [
        (human - theirs[at][0], judge - theirs[at][1])
        for at, (human, judge) in ours.items()
        if at in theirs
    ]


def _run(
    both: Both,
    size: int,
    n: int,
    random: np.random.Generator,
    weights: Sequence[float] = (1.0,) * RUN,
) -> list[Judged]:
    """Return ``size`` samples at random, with replacement; the first ``n`` are labelled."""
    picked = random.integers(0, len(both), size).tolist()
    return [
        _judged(both[where][1], both[where][0] if at < n else None, weights[at])
        for at, where in enumerate(picked)
    ]


def _judged(judge: float, human: float | None, weight: float = 1.0) -> Judged:
    """Return a sample; 0 and 1 are verdicts. Scores such as F1 have none without a threshold."""
    return Judged(judge, human, weight, verdict=judge == 1.0 if judge in (0.0, 1.0) else None)


def _truth(both: Both) -> float:
    return float(np.mean([human for human, _ in both]))

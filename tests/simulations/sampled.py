"""How often estimates from a sample of the rows, and an older run, hold what all rows would say.

A draw is a data set of 1,000 rows from a population, and a sample of them that is asked. The truth
of one interval is the mean of these rows, that of the other the mean of the population.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import populations

from pytest_rageval.engine.planning.bind_asked import drawn_rows
from pytest_rageval.stats.estimates import Row, estimate

ROWS = 1000
UNIT = (0.0, 1.0)


@dataclass(frozen=True)
class Runs:
    """Scores now and before of all rows there are, a line for each group of rows.

    A share of the answers is ``unchanged``: they have the older score, but for a share in which a
    judge wavers (``noise``) and says the opposite. ``known``: which they are is known before.
    """

    now: np.ndarray
    before: np.ndarray
    unchanged: float = 0.0
    known: bool = False
    noise: float = 0.0
    weights: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, metric: str, now: str, before: str) -> Runs:
        """Return the scores of two systems of openqa-eval, each row a group of its own."""
        return cls(*(populations.openqa(metric, name)[:, None] for name in (now, before)))

    @classmethod
    def by_question(cls) -> Runs:
        """Return five systems before and five others now, which answer each question together."""
        scores = [populations.openqa("f1", name) for name in populations.SYSTEMS]
        return cls(np.stack(scores[::2], axis=1), np.stack(scores[1::2], axis=1))

    @classmethod
    def rarely_wrong(cls, together: float) -> Runs:
        """Return yes and no, 97 % right in both runs; a share of the failures is the same."""
        random = np.random.default_rng(97)
        before = random.random(100_000) < 0.97
        now = np.where(random.random(100_000) < together, before, random.random(100_000) < 0.97)
        return cls(now[:, None].astype(float), before[:, None].astype(float))

    @property
    def mean(self) -> float:
        """The mean of what the rows score now, of all there are."""
        old = float(self.before.mean())
        as_before = (1.0 - self.noise) * old + self.noise * (1.0 - old)
        return (1.0 - self.unchanged) * float(self.now.mean()) + self.unchanged * as_before

    def drawn(self, random: np.random.Generator) -> list[Row]:
        """Return a data set of which all rows are asked."""
        several = self.now.shape[1]
        lines = random.choice(len(self.now), ROWS // several, replace=len(self.now) < 2 * ROWS)
        new, old = self.now[lines].ravel(), self.before[lines].ravel()
        is_same, wavers = (random.random(len(new)) < one for one in (self.unchanged, self.noise))
        new = np.where(is_same, np.where(wavers, 1.0 - old, old), new)
        weights = random.choice(self.weights, len(new))
        columns = (column.tolist() for column in (new, old, weights, ~is_same))
        return [
            Row(*scores, at // several if several > 1 else None, changed if self.known else None)
            for at, (*scores, changed) in enumerate(zip(*columns, strict=True))
        ]


@dataclass(frozen=True)
class Held:
    """Shares of intervals that hold the truth, and their mean widths; the mean's mean error."""

    here: float
    beyond: float
    width: float
    beyond_width: float
    bias: float

    def __str__(self) -> str:
        here, beyond = 100 * self.here, 100 * self.beyond
        return f"{here:.1f} ({self.width:.3f}) {beyond:.1f} ({self.beyond_width:.3f})"


def sampled(runs: Runs, n: int, draws: int, *, plain: bool = False, seed: int = 32) -> Held:
    """Ask ``n`` rows of each data set; ``plain``: without the older scores."""
    random = np.random.default_rng([seed, n])
    found = np.array([_once(runs, n, random, plain) for _ in range(draws)])
    truth, mean, low, high, beyond_low, beyond_high = found.T
    return Held(
        float(np.mean((low <= truth) & (truth <= high))),
        float(np.mean((beyond_low <= runs.mean) & (runs.mean <= beyond_high))),
        float(np.mean(high - low)),
        float(np.mean(beyond_high - beyond_low)),
        float(np.mean(mean - truth)),
    )


def _once(runs: Runs, n: int, random: np.random.Generator, plain: bool) -> Sequence[float]:
    rows = runs.drawn(random)
    truth = float(np.average([row.new for row in rows], weights=[row.weight for row in rows]))
    groups = {str(at): str(row.group) for at, row in enumerate(rows) if row.group is not None}
    changed = [str(at) for at, row in enumerate(rows) if row.changed]
    ids = [str(at) for at in range(len(rows))]
    asked = drawn_rows(ids, n, int(random.integers(2**31)), groups=groups, changed=changed)
    found = estimate(list(_as_asked(rows, asked, plain)), UNIT)
    ends = (found.mean, found.ci_low, found.ci_high, found.beyond_low, found.beyond_high)
    return [truth, *(np.nan if end is None else end for end in ends)]


def _as_asked(rows: Sequence[Row], asked: frozenset[str], plain: bool) -> Iterator[Row]:
    for at, row in enumerate(rows):
        new = row.new if str(at) in asked else None
        yield replace(row, new=new, old=None if plain else row.old)


def cells() -> Iterator[tuple[str, Runs]]:
    """Yield what is simulated, under its name."""
    fid = Runs.of("f1", "FiD-KD", "FiD")
    yield "F1, FiD-KD now, FiD before", fid
    for now, before in (("DPR", "FiD-KD"), ("EMDR2", "GAR-plus_FiD"), ("R2D2", "ANCE-plus_FiD")):
        yield f"F1, {now} now, {before} before", Runs.of("f1", now, before)
    yield "EM, FiD-KD now, FiD before", Runs.of("em", "FiD-KD", "FiD")
    for share in (0.3, 0.7):
        for known in (False, True):
            for noise in (0.0, 0.03):
                what = f"{share:.0%} unchanged{', known' if known else ''}"
                wavering = f", {noise:.0%} waver" if noise else ""
                yield (
                    f"{what}{wavering}",
                    replace(fid, unchanged=share, known=known, noise=noise),
                )
    yield "weights of 1 to 2", replace(fid, weights=(1.0, 1.5, 2.0))
    yield "97 % right, failures apart", Runs.rarely_wrong(0.0)
    yield "97 % right, most failures the same", Runs.rarely_wrong(0.8)
    yield "five answers to a question, by question", Runs.by_question()

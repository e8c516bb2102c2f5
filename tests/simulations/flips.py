"""How often two runs of a noisy judge give different verdicts, beside what the gate says of it.

A judge says yes or no of each answer, and in a share of its replies the wrong one. Two runs judge
the same answers; the gate on the mean sees each, over results as a scenario has them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Final

import numpy as np

from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import (
    REPEATS,
    GateResult,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.stats.summary import summarize_scenario

ANSWERS: Final = 200
GOOD: Final = 164
BINS: Final = (0.05, 0.15, 0.3)
"""What parts the chances that are told into four bins."""
STANDARD_ERRORS: Final = np.linspace(-4.0, 4.0, 11)
"""Where the bounds lie around what the judge would say in the long run."""

_ONCE: Final = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("judged"),))
_SEVERAL: Final = ScenarioInfo(
    "s", "s.yaml", "s.yaml", (MetricColumn("judged"),), repeated=("judged",)
)


@dataclass(frozen=True)
class Told:
    """For each pair of runs at each bound, the chance that was told, and whether they differ."""

    chances: np.ndarray
    differ: np.ndarray

    @property
    def overall(self) -> tuple[float, float]:
        """The mean chance, and the share of pairs that differ."""
        return float(self.chances.mean()), float(self.differ.mean())

    @property
    def bins(self) -> list[tuple[float, float]]:
        """The same for each bin of the chance that was told."""
        found = np.digitize(self.chances, BINS)
        parts = (found == at for at in range(len(BINS) + 1))
        return [(self.chances[part].mean(), self.differ[part].mean()) for part in parts]


def told(flips: float, repeats: int, pairs: int, bounds: np.ndarray = STANDARD_ERRORS) -> Told:
    """Return what the first run of each pair says, and what the second one does."""
    random = np.random.default_rng(32)
    truth = (np.arange(ANSWERS) < GOOD).astype(float)
    mean = float(np.where(truth == 1.0, 1.0 - flips, flips).mean())
    error = sqrt(flips * (1.0 - flips) / repeats / ANSWERS)
    options = [{"judged": mean + error * float(at)} for at in bounds]
    chances, differ = [], []
    for _ in range(pairs):
        first = _run(_SEVERAL, truth, flips, repeats, random)
        second = _run(_ONCE, truth, flips, repeats, random)
        for option in options:
            found = _verdict(first, option)
            # Where no repeats differ, no chance is told: to a reader that is none.
            chances.append(found.flip_chance or 0.0)
            differ.append(found.outcome != _verdict(second, option).outcome)
    return Told(np.array(chances), np.array(differ, dtype=float))


def show(draws: int) -> None:
    """Print how often a second run differs, as the gate says and as it is.

    A fifth of the draws, at each of eleven bounds.
    """
    heads = ["all", *(f"{100 * a:g} to {100 * b:g} %" for a, b in pairwise([0.0, *BINS, 0.5]))]
    sys.stdout.write(f"\na second run differs, per cent: said | seen\n{'chance that is said':<64} ")
    sys.stdout.write("".join(f"{head:<15}" for head in heads) + "\n")
    for share in (0.02, 0.05, 0.1):
        for repeats in (2, 3, 5):
            found = told(share, repeats, draws // 5)
            name = f"a judge wrong in {100 * share:g} % of its replies, {repeats} repeats"
            cells = (f"{100 * a:.1f} | {100 * b:.1f}" for a, b in (found.overall, *found.bins))
            sys.stdout.write(f"{name:<64} " + "".join(f"{cell:<15}" for cell in cells) + "\n")
            sys.stdout.flush()


def _verdict(result: ScenarioResult, options: dict[str, float]) -> GateResult:
    (gate,) = make_gates(options, result.info)
    return gate.check(result)


def _run(
    info: ScenarioInfo,
    truth: np.ndarray,
    flips: float,
    repeats: int,
    random: np.random.Generator,
) -> ScenarioResult:
    """Return a run; the verdict needs no repeats, and ``info`` says whether the gate reads them."""
    is_wrong = random.random((len(truth), repeats)) < flips
    said = np.where(is_wrong, 1.0 - truth[:, None], truth[:, None])
    spreads = said.std(axis=1, ddof=1).tolist()
    samples = [
        SampleResult(
            f"s{at}",
            at,
            scores={"judged": sum(values) / repeats},
            details={"judged": {REPEATS: {"values": values, "spread": spread}}},
        )
        for at, (values, spread) in enumerate(zip(said.tolist(), spreads, strict=True))
    ]
    return summarize_scenario(info, samples, complete=True)

"""How often a worse answer turns a failed gate green, where a test standardises or draws at random.

Small runs against a baseline: each answer of a failed run in turn gets worse, half as good or
worthless, and the gate is decided again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from simulated import Pairs, fails, fast_tests


@dataclass(frozen=True)
class Turned:
    """Of so many failed gates, so many passed once some one answer was worse."""

    failed: int
    green: int

    def __str__(self) -> str:
        return f"{self.green} of {self.failed}"


def turned(
    metrics: Sequence[str], options: Mapping[str, Any], draws: int, *, sampled: bool = False
) -> Turned:
    """Draw runs of 6 to 20 pairs, of which about one in three fell.

    ``sampled``: sign flips are drawn at random, as where there are many pairs.
    """
    random = np.random.default_rng(17)
    failed = green = 0
    for _ in range(draws):
        pairs = _fallen(metrics, int(random.integers(6, 21)), random)
        given = {**options, "seed": int(random.integers(1 << 30))}
        if not _fails(pairs, given, sampled):
            continue
        failed += 1
        green += any(not _fails(worse, given, sampled) for worse in _worse(pairs))
    return Turned(failed, green)


def _fails(pairs: Pairs, options: Mapping[str, Any], sampled: bool) -> bool:
    if not sampled:
        return fails(pairs, options)
    with fast_tests():
        return fails(pairs, options)


def _fallen(metrics: Sequence[str], n: int, random: np.random.Generator) -> Pairs:
    before = {name: random.beta(5, 1, n).round(2) for name in metrics}
    falls = random.random(n) < 0.35
    now = {
        name: np.where(falls, scores * random.random(n), scores).round(2)
        for name, scores in before.items()
    }
    return Pairs(now, before)


def _worse(pairs: Pairs) -> Iterator[Pairs]:
    """Yield the run with one score lowered, for each of its scores above 0."""
    for name, scores in pairs.now.items():
        for at in np.flatnonzero(scores > 0):
            for share in (0.5, 0.0):
                lowered = scores.copy()
                lowered[at] *= share
                yield Pairs({**pairs.now, name: lowered}, pairs.before)

"""How often a project's runs are red over a year, by the baseline that they are compared with.

A series is a run before any change and one after each. A question's answer is in each run that of
one of two real systems of the same quality, drawn anew: what differs from run to run by chance.
Where quality falls, each question goes over to a weaker real system at some change, for good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from populations import openqa
from simulated import Pairs, fails, fast_tests


@dataclass(frozen=True)
class Answers:
    """F1 of two systems of the same quality and of a weaker one, on the same questions."""

    one: np.ndarray
    other: np.ndarray
    weaker: np.ndarray

    @property
    def fall(self) -> float:
        """How far the mean falls where every question went over to the weaker system."""
        return float((self.one.mean() + self.other.mean()) / 2.0 - self.weaker.mean())

    @property
    def varying(self) -> float:
        """The share of scores that differ between two runs without a change."""
        return float((self.one != self.other).mean() / 2.0)

    def runs(self, n: int, changes: int, random: np.random.Generator, *, falls: bool) -> np.ndarray:
        """Return the scores of ``n`` questions, a row for each of ``changes`` + 1 runs."""
        at = random.integers(0, len(self.one), n)
        is_other = random.random((changes + 1, n)) < 0.5
        scores = np.where(is_other, self.other[at], self.one[at])
        if not falls:
            return scores
        goes_over = random.integers(1, changes + 1, n)
        return np.where(np.arange(changes + 1)[:, None] >= goes_over, self.weaker[at], scores)


def steady() -> Answers:
    """F1 of .574, where 6 % of the scores differ from run to run."""
    return Answers(openqa("f1", "FiD-KD"), openqa("f1", "GAR-plus_FiD"), openqa("f1", "DPR"))


def restless() -> Answers:
    """F1 of .592, where 15 % of the scores differ from run to run."""
    return Answers(openqa("f1", "EMDR2"), openqa("f1", "R2D2"), openqa("f1", "DPR"))


@dataclass(frozen=True)
class Kept:
    """A way to keep a baseline: it moves with every green run, or is pinned at the first run.

    One of ``every`` so many runs is compared with it.
    """

    name: str
    moves: bool = False
    looks: int = 1
    every: int = 1

    def is_ever_red(self, runs: np.ndarray, options: Mapping[str, Any]) -> bool:
        """Return whether any run is red; until one is, the moving baseline is the run before."""
        alpha = 0.05 / self.looks
        # p of 1,000 resamples is too coarse for a thousandth.
        given = {"alpha": alpha, "n_resamples": max(1000, round(10 / alpha)), **options}
        now = runs[1:][self.every - 1 :: self.every]
        before = runs[:-1] if self.moves else np.broadcast_to(runs[0], now.shape)
        # The largest fall first: most often it decides.
        order = np.argsort((now - before).mean(axis=1))
        return any(is_red(now[at], before[at], given) for at in order)


MOVES = Kept("moves", moves=True)
PINNED = Kept("pinned")
FEW_LOOKS = Kept("pinned, looks: 20", looks=20)
LOOKS = Kept("pinned, looks: 50", looks=50)
SELDOM = Kept("pinned, every fifth run, looks: 10", looks=10, every=5)
WAYS = (
    *((kept, "significant") for kept in (MOVES, PINNED, SELDOM, FEW_LOOKS, LOOKS)),
    *((kept, "exceeds") for kept in (MOVES, PINNED, LOOKS)),
    (MOVES, "any"),
    (PINNED, "non_inferior"),
)
"""The baselines and modes that are compared."""


def is_red(now: np.ndarray, before: np.ndarray, options: Mapping[str, Any]) -> bool:
    """Return the gate's verdict, which takes a while; what is plainly green needs none."""
    given = {"max_drop": 0.02, **options}
    if is_plainly_green(before - now, given):
        return False
    return fails(Pairs({"f1": now}, {"f1": before}), given)


def is_plainly_green(falls: np.ndarray, options: Mapping[str, Any]) -> bool:
    """Return whether the fall is allowed, or far fewer standard errors than alpha asks for.

    Mode ``non_inferior`` may fail at any difference.
    """
    mode, allowed = options["mode"], options["max_drop"]
    fall, error = float(falls.mean()), float(falls.std()) / math.sqrt(len(falls))
    if mode == "non_inferior":
        return False
    if fall <= allowed or mode == "any":
        return fall <= allowed
    beyond = fall - allowed if mode == "exceeds" else fall
    return beyond < error * NormalDist().inv_cdf(1.0 - options["alpha"] / 2.0) * 0.75


def ever_red(
    answers: Answers, kept: Kept, mode: str, n: int, changes: int, draws: int, *, falls: bool
) -> float:
    """Return the share of series with a red run; all ways to keep a baseline see the same runs."""
    random = np.random.default_rng([31, n, changes])
    red = 0
    with fast_tests():
        for _ in range(draws):
            runs = answers.runs(n, changes, random, falls=falls)
            red += kept.is_ever_red(runs, {"mode": mode})
    return red / draws

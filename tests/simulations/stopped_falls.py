"""What ``stop`` saves where a run is held against another one, and how often it is wrong."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import product

import numpy as np
import populations
from simulated import Pairs, Stopped, equal, fast_tests, losses

from pytest_rageval.gates.base import make_gates
from pytest_rageval.gates.regression import RegressionGate
from pytest_rageval.model import TOLERANCE, Baseline, MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.stats.summary import summarize_scenario

MAX_DROP = 0.05
_QUESTIONS = 3610


def kinds() -> dict[str, Pairs]:
    """Return two runs each: of real systems, graded, nearly equal, with rare falls, at the bound.

    This run and the baseline, both on as many questions as there are in OpenQA-eval.
    """
    random = np.random.default_rng(32)
    f1 = {name: populations.openqa("f1", name) for name in ("FiD-KD", "FiD", "DPR", "R2D2")}
    weak, best = populations.openqa("em", "DPR"), populations.openqa("em", "FiD-KD")
    levels = random.integers(0, 5, _QUESTIONS) / 4.0
    steps = random.choice([-0.25, 0.0, 0.25], _QUESTIONS, p=[0.3, 0.6, 0.1])
    good = 0.9 + f1["FiD-KD"] / 10.0
    return {
        "F1, FiD against FiD-KD": _pair(f1["FiD"], f1["FiD-KD"]),
        "F1, DPR against FiD-KD": _pair(f1["DPR"], f1["FiD-KD"]),
        "F1, R2D2 against FiD-KD": _pair(f1["R2D2"], f1["FiD-KD"]),
        "F1, DPR and FiD-KD, no difference": equal(_pair(f1["DPR"], f1["FiD-KD"])),
        "EM, a fall of what is allowed": _falling(weak, best, random),
        "five levels, more fall than rise": _pair(np.clip(levels + steps, 0.0, 1.0), levels),
        "a good system, 1 in 20 answers falls to 0": _pair(
            np.where(random.random(_QUESTIONS) < 0.05, 0.0, good), good
        ),
        "all 1 before, 1 in 20 is lost": losses(np.ones(_QUESTIONS), MAX_DROP, random),
        "nearly equal: 2 % of the answers changed": _pair(
            np.where(random.random(_QUESTIONS) < 0.02, f1["DPR"], f1["FiD-KD"]), f1["FiD-KD"]
        ),
    }


def _pair(now: np.ndarray, before: np.ndarray) -> Pairs:
    return Pairs({"f1": now}, {"f1": before})


def _falling(weaker: np.ndarray, best: np.ndarray, random: np.random.Generator) -> Pairs:
    """Return a run that fell by ``MAX_DROP``: some of its answers are those of a weaker system."""
    share = MAX_DROP / float(best.mean() - weaker.mean())
    return _pair(np.where(random.random(len(best)) < share, weaker, best), best)


def show(draws: int) -> None:
    """Print what is saved, and how often the verdict is not that of all samples.

    On a fifth of the draws: each of them takes a millisecond a hundred samples.
    """
    sizes = (300, 1000)
    title = f"saved | with 16 in flight (wrong), per cent, max_drop {MAX_DROP:g}; n "
    sys.stdout.write(f"\n{title:<72}" + "".join(f"{n:<20}" for n in sizes) + "\n")
    for name, pairs in kinds().items():
        for mode, error in product(("any", "exceeds"), (0.0, 0.05, 0.01)):
            found = [stopped_falls(pairs, n, draws // 5, error, mode) for n in sizes]
            cells = [
                f"{100 * one.saved:.1f} | {100 * one.in_flight:.1f} ({100 * one.wrong:.2g})"
                for one in found
            ]
            what = f"{name}, {pairs.fall('f1'):.3f}: {mode}, {error or 'decided'}"
            sys.stdout.write(f"{what:<72}" + "".join(f"{cell:<20}" for cell in cells) + "\n")
            sys.stdout.flush()


def stopped_falls(
    pairs: Pairs, n: int, draws: int, error: float, mode: str = "any", *, seed: int = 9
) -> Stopped:
    """Draw ``n`` questions, ``draws`` times, and ask in random order until the verdict is certain.

    ``error`` 0 is ``stop: decided``.
    """
    random = np.random.default_rng([seed, n])
    samples, saved, in_flight, wrong = _samples(pairs), 0, 0, 0
    with fast_tests():
        for _ in range(draws):
            drawn = [samples[at] for at in random.permutation(len(samples))[:n]]
            info = _info(pairs, drawn)
            (gate,) = make_gates({"no_regression": {**_OPTIONS, "mode": mode}}, info)
            assert isinstance(gate, RegressionGate)
            watch, asked = gate.watch(info, drawn, error), 0
            assert watch is not None
            while watch.verdict is None and asked < n:
                watch.add(drawn[asked])
                asked += 1
            saved += n - asked
            in_flight += max(n - asked - 16, 0)
            wrong += asked < n and watch.verdict != _passes(gate, info, drawn, pairs)
    return Stopped(saved / n / draws, in_flight / n / draws, wrong / draws)


_OPTIONS = {"baseline": "main", "metrics": ["f1"], "max_drop": MAX_DROP, "n_resamples": 1000}


def _samples(pairs: Pairs) -> list[SampleResult]:
    return [
        SampleResult(str(at), at, scores={"f1": score})
        for at, score in enumerate(pairs.now["f1"].tolist())
    ]


def _info(pairs: Pairs, drawn: Sequence[SampleResult]) -> ScenarioInfo:
    before = {one.sample_id: float(pairs.before["f1"][one.index]) for one in drawn}
    main = Baseline("main", tuple(before), {"f1": before})
    columns = (MetricColumn("f1"),)
    return ScenarioInfo("s", "s.yaml", "s.yaml", columns, baselines={"main": main})


def _passes(
    gate: RegressionGate, info: ScenarioInfo, drawn: Sequence[SampleResult], pairs: Pairs
) -> bool:
    """Return whether the gate passes with all samples; only where it may fail the test is made."""
    at = [one.index for one in drawn]
    fall = math.fsum(pairs.before["f1"][at] - pairs.now["f1"][at]) / len(at)
    if fall <= MAX_DROP + TOLERANCE or gate.mode == "any":
        return fall <= MAX_DROP + TOLERANCE
    return gate.check(summarize_scenario(info, drawn, complete=True)).outcome == "passed"

"""What "Quality over a year" says of baselines that move and that are pinned, on few series.

``python -m tests.simulations history`` prints the whole table.
"""

from __future__ import annotations

from math import comb
from pathlib import Path

import history
import numpy as np
import pytest
from history import FEW_LOOKS, LOOKS, MOVES, PINNED, ever_red
from others_data import others_data
from simulated import Pairs, fails, fast_tests

others_data("data/openqa-eval")


def full(*values: object) -> object:
    return pytest.param(*values, marks=pytest.mark.full)


@pytest.fixture(scope="module")
def answers() -> history.Answers:
    return history.restless()


def test_without_a_change_all_runs_are_equally_good(answers: history.Answers) -> None:
    """Two runs differ where the systems do, in half of the cases: .299/2; quality ends where said.

    Three standard errors of 40,000 scores of spread .5: .0075.
    """
    random = np.random.default_rng(1)
    same = answers.runs(40_000, 2, random, falls=False)
    assert (same[0] != same[1]).mean() == pytest.approx(answers.varying, abs=0.006)
    assert same[0].mean() == pytest.approx(same[2].mean(), abs=0.0075)
    fallen = answers.runs(40_000, 2, random, falls=True)
    assert fallen[0].mean() - fallen[1].mean() == pytest.approx(answers.fall / 2, abs=0.0075)
    assert fallen[0].mean() - fallen[2].mean() == pytest.approx(answers.fall, abs=0.0075)


@pytest.mark.full
@pytest.mark.parametrize("draws", [30, full(300)])
def test_only_a_pinned_baseline_sees_a_slow_fall(answers: history.Answers, draws: int) -> None:
    """At n 200 over 20 changes 62 and 97 of 100 series; three standard errors of each."""
    moved, pinned = (
        ever_red(answers, kept, "significant", 200, 20, draws, falls=True)
        for kept in (MOVES, PINNED)
    )
    assert moved == pytest.approx(0.62, abs=3 * (0.62 * 0.38 / draws) ** 0.5)
    assert pinned >= 0.97 - 3 * (0.97 * 0.03 / draws) ** 0.5


@pytest.mark.full
@pytest.mark.parametrize("draws", [30, full(300)])
def test_looks_keep_the_promise_of_alpha_over_a_series(
    answers: history.Answers, draws: int
) -> None:
    """Falls are one side of alpha: at most 2.5 % in 50 runs without a change; unheeded, many.

    A moved baseline: 1 - (1 - .025)^50 = 72 % if its runs were independent.
    """
    moved, pinned, looks = (
        ever_red(answers, kept, "significant", 200, 50, draws, falls=False)
        for kept in (MOVES, PINNED, LOOKS)
    )
    assert looks <= 0.025 + 3 * (0.025 * 0.975 / draws) ** 0.5
    assert moved >= 0.4
    assert moved > pinned > looks


@pytest.mark.parametrize("mode", ["significant", "exceeds", "any"])
@pytest.mark.parametrize("kept", [PINNED, FEW_LOOKS])
def test_what_is_plainly_green_passes_the_gate(
    answers: history.Answers, kept: history.Kept, mode: str
) -> None:
    """Without the short cut, the verdict is the same."""
    random = np.random.default_rng(5)
    options = {"mode": mode, "max_drop": 0.02, "alpha": 0.05 / kept.looks, "n_resamples": 4000}
    spared = 0
    with fast_tests():
        for _ in range(20):
            before, *_, now = answers.runs(60, 2, random, falls=True)
            if history.is_plainly_green(before - now, options):
                spared += 1
                assert not fails(Pairs({"f1": now}, {"f1": before}), options)
    assert spared


def test_second_runs_differ_as_often_as_the_page_says() -> None:
    """Of 200 answers 170 are good, and 5 % of the replies wrong: .85 * .95 + .15 * .05 = .815.

    Sums of repeats are those of two binomials; two runs differ in 2 p (1 - p).
    """

    def differing(bound: float, repeats: int) -> float:
        said = np.convolve(_binomial(170 * repeats, 0.95), _binomial(30 * repeats, 0.05))
        means = np.arange(len(said)) / (200 * repeats)
        passed = float(said[means >= bound - 1e-12].sum())
        return 200 * passed * (1 - passed)

    page = Path(__file__).parents[2] / "docs" / "how-to" / "quality-over-a-year.md"
    [row] = [line for line in page.read_text("utf-8").splitlines() if "judge.repeats" in line]
    for bound in (0.80, 0.82):
        shown = ", ".join(f"{differing(bound, repeats):.0f}" for repeats in (1, 3, 5))
        assert f"{shown} %" in row


def _binomial(n: int, p: float) -> np.ndarray:
    return np.array([comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])

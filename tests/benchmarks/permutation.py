"""10,000 resamples of 30 measures over 7,000 queries, against the same test as a Python loop.

As a program (``python permutation.py matrix|loop RESAMPLES``) it runs one of the two. The loop's
time is proportional to its resamples, so it runs few of them and is scaled up, without its start.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

QUERIES = 7_000
MEASURES = 30
RESAMPLES = 10_000
LOOPED = 40


def permutation(folder: Path, repeat: int) -> None:
    """Sign-flip tests of all measures at once: CPU time by the loop's, and peak memory."""
    from tests.benchmarks.measure import Command, run, wanted

    def measure(*arguments: str) -> tuple[float, float]:
        usages = [run(Command([str(Path(__file__)), *arguments], folder)) for _ in range(repeat)]
        return min(usage.cpu_s for usage in usages), max(usage.peak_kib for usage in usages) / 1024

    ours, peak_mb = measure("matrix", str(RESAMPLES))
    start, _ = measure("loop", "0")
    looped, _ = measure("loop", str(LOOPED))
    whole = start + (looped - start) * RESAMPLES / LOOPED
    name = "30 measures, 7,000 queries, 10,000 flips"
    sys.stdout.write(
        f"{name:<44} best {ours / whole:.4f}  {wanted(name, ours / whole, 0.1)}  "
        f"CPU {ours:.2f} s against {whole:.0f} s ({LOOPED} of {RESAMPLES:,} resamples timed)\n"
        f"{'':<44} peak memory {peak_mb:.0f} MB {wanted(name, peak_mb, 200, 'MB')}\n"
    )
    sys.stdout.flush()


def differences() -> np.ndarray:
    """Return made differences of shape (queries, measures), off every grid."""
    return np.random.default_rng(7).normal(0.003, 0.2, (QUERIES, MEASURES))


def loop(columns: list[list[float]], n_resamples: int) -> list[float]:
    """The same test with plain Python: the flips of a resample are shared by all measures."""
    chance = random.Random(7)
    observed = [abs(sum(column)) - 1e-12 * sum(map(abs, column)) for column in columns]
    counts = [0] * len(columns)
    for _ in range(n_resamples):
        flips = [chance.random() < 0.5 for _ in range(QUERIES)]
        for at, column in enumerate(columns):
            total = 0.0
            for difference, flip in zip(column, flips, strict=True):
                total += -difference if flip else difference
            counts[at] += abs(total) >= observed[at]
    return [(count + 1) / (n_resamples + 1) for count in counts]


def main(how: str, n_resamples: int) -> None:
    """Run one of the two."""
    table = differences()
    if how == "loop":
        loop(table.T.tolist(), n_resamples)
        return
    from pytest_rageval.stats.permutation import sign_flip_tests

    found = sign_flip_tests(table, n_resamples=n_resamples, seed=7)
    assert {result.method for result in found} == {"sampled"}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

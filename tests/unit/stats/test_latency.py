"""Figures of times, by hand."""

from __future__ import annotations

import random

import pytest

from pytest_rageval.stats.summary import Latency, latency


def test_of_no_times_there_are_no_figures() -> None:
    assert latency([]) is None


@pytest.mark.parametrize(
    ("count", "median", "p95"),
    # Of 1 to n: the median, and the nearest rank ceil(0.95 n).
    [(1, 1, 1), (2, 1.5, 2), (19, 10, 19), (20, 10.5, 19), (100, 50.5, 95), (101, 51, 96)],
)
def test_the_percentile_is_the_nearest_rank(count: int, median: float, p95: float) -> None:
    times = [float(number) for number in range(1, count + 1)]
    random.Random(1).shuffle(times)
    assert latency(iter(times)) == Latency(count, median, p95, float(count))

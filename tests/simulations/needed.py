"""Whether as many rows as a comparison or a dry run names find the fall, on real scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from simulated import Pairs, fails, fast_tests

from pytest_rageval.model import Comparison
from pytest_rageval.stats.needed_rows import spread_of_differences, spread_of_scores
from pytest_rageval.stats.paired import compare_paired


@dataclass(frozen=True)
class Named:
    """The mean number of rows that are named, and the share of runs of so many that are red."""

    rows: float
    found: float


CASES: Mapping[str, Callable[[float], dict[str, Any]]] = {
    "100 rows are looked at": lambda fall: {"looked_at": 100},
    "300": lambda fall: {},
    "1,000": lambda fall: {"looked_at": 1000},
    "300, max_drop is the fall": lambda fall: {"options": {"max_drop": fall}},
    "300, max_drop, and the fall is 1.3 of it": lambda fall: {
        "options": {"max_drop": fall},
        "true": 1.3 * fall,
    },
    "300 of the baseline alone": lambda fall: {"one_run": True},
}
"""In words, what is looked at and how the gate is set, as options of ``named``."""


def shifted(pairs: Pairs, fall: float) -> Pairs:
    """Return the two systems with a true fall of f1 by ``fall``; differences spread as they do."""
    by = pairs.fall("f1") - fall
    return Pairs({"f1": pairs.now["f1"] + by}, pairs.before)


def named(
    pairs: Pairs,
    fall: float,
    draws: int,
    *,
    looked_at: int = 300,
    one_run: bool = False,
    true: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Named:
    """Look at some rows, then run as many as they name, with a true fall of ``true`` or ``fall``.

    ``one_run``: only the scores of the baseline are looked at, as a dry run does.
    """
    random = np.random.default_rng([11, looked_at])
    truth = shifted(pairs, fall if true is None else true)
    rows = red = 0
    with fast_tests():
        for _ in range(draws):
            many = 0
            while not many:  # where it is not known, others are looked at
                many = _named(pairs.drawn(looked_at, random), fall, one_run=one_run)
            rows += many
            red += fails(truth.drawn(many, random), options or {})
    return Named(rows / draws, red / draws)


def _named(pilot: Pairs, fall: float, *, one_run: bool) -> int:
    now, before = pilot.now["f1"].tolist(), pilot.before["f1"].tolist()
    weights = [1.0] * len(now)
    if one_run:
        spread = spread_of_scores(before, weights, None)
    else:
        found = compare_paired({"f1": (now, before)}, weights, n_resamples=10)
        spread = spread_of_differences(Comparison("main", "permutation", 0.05, found), "f1")
    return 0 if spread.unknown else int(float(f"{spread.needed(fall, 0.05):.2g}"))

"""N1, N2: an answer that gets worse turns nothing green."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import Baseline, MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.stats.summary import summarize_scenario, weighted_interval
from pytest_rageval.stats.weights import weighted_mean

UNIT = (0.0, 1.0)
ROUNDING = 1e-9

near_the_end = st.one_of(
    st.sampled_from([0.0, 0.99, 0.999999, 1.0]), st.floats(0.95, 1.0), st.floats(0.0, 1.0)
)
heavy = st.one_of(st.sampled_from([1.0, 10.0, 100.0]), st.floats(1.0, 100.0))
ROWS = st.lists(st.tuples(near_the_end, heavy, st.integers(0, 9)), min_size=3, max_size=50)


def lowered(scores: list[float], at: int, share: float) -> list[float]:
    found = list(scores)
    found[at] *= share
    return found


@given(rows=ROWS, at=st.integers(0, 49), share=st.floats(0.0, 1.0), is_grouped=st.booleans())
def test_a_worse_answer_raises_neither_the_mean_nor_an_end(
    rows: Any, at: int, share: float, is_grouped: bool
) -> None:
    scores, weights, groups = ([row[place] for row in rows] for place in range(3))
    worse = lowered(scores, at % len(rows), share)
    of = groups if is_grouped else None
    before = weighted_interval(scores, weights, UNIT, groups=of)
    after = weighted_interval(worse, weights, UNIT, groups=of)
    assert (before is None) == (after is None)
    assume(before is not None and after is not None)
    assert before is not None
    assert after is not None
    assert after[0] <= before[0] + ROUNDING
    assert after[1] <= before[1] + ROUNDING
    means = [weighted_mean(zip(one, weights, strict=True)) for one in (worse, scores)]
    assert (means[0] or 0.0) <= (means[1] or 0.0) + ROUNDING


@given(n=st.integers(190, 210), at=st.integers(0, 189), share=st.floats(0.0, 1.0), data=st.data())
def test_nor_where_scores_are_put_on_a_grid(n: int, at: int, share: float, data: Any) -> None:
    few = data.draw(st.lists(near_the_end, min_size=5, max_size=5))
    scores = [few[place % 5] for place in range(n)]
    before = weighted_interval(scores, [1.0] * n, UNIT)
    after = weighted_interval(lowered(scores, at, share), [1.0] * n, UNIT)
    assert before is not None
    assert after is not None
    assert after[0] <= before[0] + ROUNDING
    assert after[1] <= before[1] + ROUNDING


GATES = st.sampled_from(
    [
        {"f1": 0.9},
        {"f1": {"lower_bound": 0.8}},
        {"f1": {"lower_bound": {"min": 0.6, "confidence": 0.8}}},
        {"no_regression": {"baseline": "main", "metrics": ["f1"]}},
        {"no_regression": {"baseline": "main", "metrics": ["f1"], "max_drop": 0.05}},
        *(
            {
                "no_regression": {
                    "baseline": "main",
                    "metrics": ["f1"],
                    "max_drop": 0.1,
                    "mode": mode,
                }
            }
            for mode in ("exceeds", "non_inferior", "any")
        ),
    ]
)


@pytest.mark.full
@given(
    rows=st.lists(st.tuples(near_the_end, near_the_end, heavy), min_size=3, max_size=12),
    at=st.integers(0, 11),
    share=st.floats(0.0, 1.0),
    gate=GATES,
)
def test_a_worse_answer_turns_no_failed_gate_green(
    rows: Any, at: int, share: float, gate: dict[str, Any]
) -> None:
    """With one metric: p by all sign flips never rises as a difference falls."""
    now, before, weights = ([row[place] for row in rows] for place in range(3))
    worse = lowered(now, at % len(rows), share)
    verdicts = [outcome(gate, scores, before, weights) for scores in (now, worse)]
    assert verdicts != ["failed", "passed"]


def outcome(
    gate: dict[str, Any], now: list[float], before: list[float], weights: list[float]
) -> str:
    ids = tuple(map(str, range(len(now))))
    samples = [
        SampleResult(ids[at], at, sample_weight=weights[at], scores={"f1": score})
        for at, score in enumerate(now)
    ]
    baseline = Baseline("main", ids, {"f1": dict(zip(ids, before, strict=True))})
    info = ScenarioInfo(
        "s",
        "s.yaml",
        "s.yaml",
        (MetricColumn("f1"),),
        total=len(now),
        baselines={"main": baseline},
    )
    result = summarize_scenario(info, samples, complete=True)
    (made,) = make_gates(gate, info)
    found = made.check(result)
    assert found.observed is None or math.isfinite(found.observed)
    return found.outcome

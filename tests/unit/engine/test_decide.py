"""E3, E4: only a complete run turns a gate green."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.decide import Extent, decide_gates
from pytest_rageval.model import (
    Baseline,
    Comparing,
    MetricColumn,
    SampleResult,
    ScenarioResult,
)

Result = Callable[..., ScenarioResult]


def good(count: int, score: float | None = 1.0) -> list[SampleResult]:
    outcome: Any = "passed" if score is not None else "error"
    return [
        SampleResult(f"s{at}", at, outcome, weighted_score=score, scores={"f1": score})
        for at in range(count)
    ]


def outcomes(found: ScenarioResult) -> dict[str, str]:
    return {gate.name: gate.outcome for gate in found.gates}


def test_a_complete_run_is_decided(result: Result) -> None:
    found = decide_gates(result(good(3), gates={"f1": 0.5}), Extent(3, 3, 3))
    assert outcomes(found) == {"f1.mean": "passed", "unscored": "passed"}
    found = decide_gates(result(good(3, 0.25), gates={"f1": 0.5}), Extent(3, 3, 3))
    assert outcomes(found) == {"f1.mean": "failed", "unscored": "passed"}


def test_the_guard_against_nothing_scored_needs_no_gate(result: Result) -> None:
    """A20: a scenario without gates whose samples are all unscored is not green."""
    found = decide_gates(result(good(2, None)), Extent(2, 2, 2))
    assert outcomes(found) == {"unscored": "failed"}


def test_a_guard_that_holds_is_not_shown_where_no_gate_was_asked_for(result: Result) -> None:
    assert decide_gates(result(good(2)), Extent(2, 2, 2)).gates == ()


def test_an_own_bound_replaces_the_guard(result: Result) -> None:
    samples = [*good(1), SampleResult("u", 1, "error", scores={"f1": None})]
    found = decide_gates(result(samples, gates={"unscored": 0.5}), Extent(2, 2, 2))
    assert outcomes(found) == {"unscored": "passed"}
    found = decide_gates(result(samples), Extent(2, 2, 2))
    assert outcomes(found) == {"unscored": "failed"}


@pytest.mark.parametrize(
    "extent", [Extent(10, 3, 3), Extent(10, 10, 3, stopped=True), Extent(10, 4, 3, stopped=True)]
)
def test_a_run_that_is_partial_by_choice_decides_nothing(result: Result, extent: Extent) -> None:
    """E4: with -k, --lf or -x no gate turns green, nor red."""
    for score in (1.0, 0.0):
        found = decide_gates(result(good(3, score), gates={"f1": 0.5}), extent)
        assert outcomes(found)["f1.mean"] == "skipped"
        assert found.gates[0].message == f"3 of 10 samples ran, so far {score:.4f}"
        assert found.gates[0].observed == score


def test_strictly_an_undecided_gate_fails(result: Result) -> None:
    """E4."""
    found = decide_gates(result(good(3), gates={"f1": 0.5}), Extent(10, 3, 3), strict=True)
    assert outcomes(found)["f1.mean"] == "failed"
    assert "strict: undecided fails" in found.gates[0].message


def test_lost_samples_fail_every_gate(result: Result) -> None:
    """E4: ten were asked for, three came back, nobody stopped the run."""
    extent = Extent(10, 10, 3, lost=[f"s{at}" for at in range(3, 10)])
    found = decide_gates(result(good(3), gates={"f1": 0.5}), extent)
    assert outcomes(found)["f1.mean"] == "failed"
    assert found.gates[0].message == (
        "3 of 10 samples ran, so far 1.0000; 7 lost (a worker crashed?): s3, s4, s5, s6, s7, …"
    )


def test_lost_samples_of_a_selection_are_not_passed_over(result: Result) -> None:
    """E4: -k selected five of ten, three came back: the two are missing, not left out."""
    extent = Extent(10, 5, 3, lost=["s3", "s4"])
    found = decide_gates(result(good(3), gates={"f1": 0.5}), extent)
    assert outcomes(found)["f1.mean"] == "failed"
    assert "2 lost" in found.gates[0].message


def test_nothing_ran_is_nothing_decided(result: Result) -> None:
    found = decide_gates(result([], gates={"f1": 0.5}), Extent(10, 0, 0))
    assert outcomes(found)["f1.mean"] == "skipped"
    assert found.gates[0].message == "0 of 10 samples ran"


def test_the_figures_are_left_as_they_are(result: Result) -> None:
    before = result(good(3), gates={"f1": 0.5})
    after = decide_gates(before, Extent(3, 3, 3))
    assert (after.samples, after.metrics, after.counts) == (
        before.samples,
        before.metrics,
        before.counts,
    )
    assert before.gates == ()


# What the run is compared with

SAVED = ("s0", "s1", "s2")
COMPARED: dict[str, Any] = {
    "compare": Comparing("main"),
    "baselines": {"main": Baseline("main", SAVED, {"f1": dict.fromkeys(SAVED, 0.5)})},
}


def test_a_run_is_compared_with_all_metrics_that_both_have(result: Result) -> None:
    """E15: em and the weighted score are not saved there."""
    found = decide_gates(result(good(3), **COMPARED), Extent(3, 3, 3)).comparison
    assert found is not None
    assert list(found.metrics) == ["f1"]
    assert (found.metrics["f1"].diff, found.only_a, found.only_b) == (0.5, (), ())


ONE = MetricColumn("f1")
ON_FIVE = MetricColumn("f1", range=(0.0, 5.0))
FALLING = MetricColumn("f1", higher_is_better=False)
UNBOUNDED = MetricColumn("f1", range=(-math.inf, math.inf))
EM, NO_EM = MetricColumn("em"), MetricColumn("em", weight=0.0)


@pytest.mark.parametrize(
    ("columns", "tested"),
    [
        ((ONE,), ["f1"]),
        ((ON_FIVE,), ["f1"]),
        ((FALLING,), ["f1"]),
        ((UNBOUNDED,), ["f1"]),
        ((ON_FIVE, NO_EM), ["f1", "em"]),
        ((ONE, EM), ["f1", "em", "weighted_score"]),
    ],
)
def test_one_figure_is_not_tested_twice(
    result: Result, columns: tuple[MetricColumn, ...], tested: list[str]
) -> None:
    """D6: weighted_score is the only metric that weighs, on a scale of 0 to 1. p is not doubled."""
    scores = {name: dict.fromkeys(SAVED, 0.5) for name in ("f1", "em", "weighted_score")}
    made = result(
        good(3), compare=Comparing("main"), baselines={"main": Baseline("main", SAVED, scores)}
    )
    made = replace(made, info=replace(made.info, metrics=columns))
    found = decide_gates(made, Extent(3, 3, 3)).comparison
    assert found is not None
    assert list(found.metrics) == tested


def test_a_partial_run_is_compared_as_far_as_it_goes(result: Result) -> None:
    """E4: with -k; s2 was not asked for."""
    made = result(good(2), **COMPARED, total=3, selected=2)
    found = decide_gates(made, Extent(3, 2, 2)).comparison
    assert found is not None
    assert found.metrics["f1"].n == 2


def test_a_run_that_names_no_other_is_not_compared(result: Result) -> None:
    assert decide_gates(result(good(3)), Extent(3, 3, 3)).comparison is None
    absent = {"compare": Comparing("main"), "baselines": {}}
    assert decide_gates(result(good(3), **absent), Extent(3, 3, 3)).comparison is None

"""E3, E4: only a complete run turns a gate green."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.verdict.decide import Extent, add_gates, decide_gates
from pytest_rageval.model import (
    Baseline,
    Bound,
    Comparing,
    GateResult,
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


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"gates": {"em": 0.5}}, "failed"),
        ({"thresholds": {"em": Bound(min=0.5)}}, "failed"),
        ({"gates": {"em": 0.5, "unscored": 0.4}}, "failed"),
        ({"gates": {"em": 0.5, "unscored": 0.5}}, "passed"),
        ({"gates": {"em": 0.5, "unscored": {"em": 0.5}}}, "passed"),
        ({"gates": {"f1": 0.5}}, "passed"),
    ],
)
def test_a_judged_metric_that_failed_on_an_expected_failure_is_missing(
    result: Result, options: Any, outcome: str
) -> None:
    """em weighs nothing, so that the weighted score is there; the mark is about the answer."""
    scores = {"f1": 1.0, "em": None}
    failed = SampleResult("x", 1, "xfailed", weighted_score=1.0, scores=scores, xfail="issue 7")
    failed = replace(failed, errors={"em": "boom"})
    whole = SampleResult("a", 0, weighted_score=1.0, scores={"f1": 1.0, "em": 1.0})
    columns = MetricColumn("f1"), MetricColumn("em", 0.0)
    found = decide_gates(result([whole, failed], *columns, **options), Extent(2, 2, 2))
    (verdict,) = [gate for gate in found.gates if gate.name == "unscored"]
    assert verdict.outcome == outcome
    assert outcome == "passed" or "em missing on 1" in verdict.message
    # Where it does not apply to the row, nothing is missing.
    out = replace(failed, left_out={"em": "run"})
    found = decide_gates(result([whole, out], *columns, **options), Extent(2, 2, 2))
    assert outcomes(found).get("unscored", "passed") == "passed"


def test_it_is_missing_among_the_rows_of_a_document_too(result: Result) -> None:
    """On 1 of 4 rows, which is 1 of the 2 of document a."""
    scores = {"f1": 1.0, "em": 1.0}
    rows = [
        SampleResult(name, at, doc_name=name[0], weighted_score=1.0, scores=scores)
        for at, name in enumerate(("a1", "a2", "b1", "b2"))
    ]
    rows[0] = replace(rows[0], outcome="xfailed", scores={"f1": 1.0, "em": None})
    rows[0] = replace(rows[0], errors={"em": "boom"})
    gates = {"em": 0.5, "unscored": 0.3, "by": {"doc_name": {"unscored": 0.3}}}
    columns = MetricColumn("f1"), MetricColumn("em", 0.0)
    found = outcomes(decide_gates(result(rows, *columns, gates=gates), Extent(4, 4, 4)))
    assert (found["unscored"], found["by.doc_name.unscored"]) == ("passed", "failed")


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
    assert (found.gates[0].observed, found.gates[0].bound) == (1.0, 0.5)


def test_lost_samples_fail_every_gate(result: Result) -> None:
    """E4: ten were asked for, three came back, nobody stopped the run."""
    extent = Extent(10, 10, 3, lost=[f"s{at}" for at in range(3, 10)])
    found = decide_gates(result(good(3), gates={"f1": 0.5}), extent)
    assert outcomes(found)["f1.mean"] == "failed"
    assert found.gates[0].message == (
        "3 of 10 samples ran, so far 1.0000; 7 lost (a worker crashed?): s3, s4, s5, s6, s7 "
        "and 2 more"
    )
    assert (found.gates[0].observed, found.gates[0].bound) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        (("s0", "s1", "s2", "s3", "s4"), "5 lost (a worker crashed?): s0, s1, s2, s3, s4"),
        (
            ("s0", "s1", "s2", "s3", "s4", "s5"),
            "6 lost (a worker crashed?): s0, s1, s2, s3, s4 and 1 more",
        ),
        (("s0",), "5 lost (a worker crashed?): s0"),
        ((), "5 lost (a worker crashed?)"),
    ],
)
def test_up_to_five_lost_samples_are_named(
    result: Result, lost: tuple[str, ...], told: str
) -> None:
    found = decide_gates(result(good(3), gates={"f1": 0.5}), Extent(8, 8, 3, lost=lost))
    assert found.gates[0].message == f"3 of 8 samples ran, so far 1.0000; {told}"


def test_a_spent_budget_fails_every_gate(result: Result) -> None:
    """All cases have a result, and two of them were never asked for; the mean of one is 1."""
    spent = [
        SampleResult(f"u{at}", at, "error", scores={"f1": None}, errors={"f1": "budget: spent"})
        for at in (1, 2)
    ]
    (mean, _) = decide_gates(result([*good(1), *spent], gates={"f1": 0.5}), Extent(3, 3, 3)).gates
    assert mean == GateResult(
        "f1.mean",
        "failed",
        1.0,
        0.5,
        "the budget is spent: 2 of 3 samples not asked for, so far 1.0000",
        metric="f1",
    )


@pytest.mark.parametrize(
    ("extent", "strict", "outcome"),
    [
        (Extent(3, 3, 3), False, "passed"),
        (Extent(9, 3, 3), False, "skipped"),
        (Extent(9, 3, 3), True, "failed"),
        (Extent(9, 9, 3), False, "failed"),
    ],
)
def test_gates_of_others_are_held_to_the_same_rules(
    result: Result, extent: Extent, strict: bool, outcome: str
) -> None:
    """They stand behind the scenario's own."""
    theirs = GateResult("own", "passed", 0.7, 0.6, "0.7 is enough")
    before = decide_gates(result(good(3), gates={"f1": 0.5}), extent, strict=strict)
    after = add_gates(before, extent, [theirs], strict=strict)
    assert after.gates[:-1] == before.gates
    assert (after.gates[-1].name, after.gates[-1].outcome) == ("own", outcome)
    assert (after.gates[-1].observed, after.gates[-1].bound) == (0.7, 0.6)
    assert after.samples == before.samples


def test_gates_of_others_are_not_strict_unless_asked(result: Result) -> None:
    theirs = GateResult("own", "passed", 0.7, 0.6, "0.7 is enough")
    (found,) = add_gates(result(good(3)), Extent(9, 3, 3), [theirs]).gates
    assert found.outcome == "skipped"


@pytest.mark.parametrize(
    ("strict", "outcome", "message"),
    [
        (False, "skipped", "not now"),
        (True, "failed", "not now (strict: undecided fails)"),
    ],
)
def test_gates_that_others_leave_undecided_fail_a_strict_run(
    result: Result, strict: bool, outcome: str, message: str
) -> None:
    """A complete one, too."""
    theirs = GateResult("own", "skipped", None, None, "not now")
    (found,) = add_gates(result(good(3)), Extent(3, 3, 3), [theirs], strict=strict).gates
    assert (found.outcome, found.message) == (outcome, message)


def test_lost_samples_of_a_selection_are_not_passed_over(result: Result) -> None:
    """E4: -k selected five of ten, three came back: the two are missing, not left out."""
    extent = Extent(10, 5, 3, lost=["s3", "s4"])
    found = decide_gates(result(good(3), gates={"f1": 0.5}), extent)
    assert outcomes(found)["f1.mean"] == "failed"
    assert "2 lost" in found.gates[0].message


def test_lost_samples_fail_the_gates_that_others_decided(result: Result) -> None:
    """E4: what a hook calls passed, it decided on what is there."""
    passed = [GateResult("worst", "passed", 1.0, 0.5, "fine")]
    found = add_gates(result(good(3)), Extent(4, 4, 3, lost=["s3"]), passed)
    assert outcomes(found) == {"worst": "failed"}
    assert "1 lost (a worker crashed?): s3" in found.gates[0].message
    assert outcomes(add_gates(result(good(3)), Extent(3, 3, 3), passed)) == {"worst": "passed"}


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
    "compare": (Comparing("main"),),
    "baselines": {"main": Baseline("main", SAVED, {"f1": dict.fromkeys(SAVED, 0.5)})},
}


def test_a_run_is_compared_with_all_metrics_that_both_have(result: Result) -> None:
    """E15: em and the weighted score are not saved there."""
    found = decide_gates(result(good(3), **COMPARED), Extent(3, 3, 3)).comparison
    assert found is not None
    assert list(found.metrics) == ["f1"]
    assert (found.metrics["f1"].diff, found.only_a, found.only_b) == (0.5, (), ())


ONE = MetricColumn("f1")
ON_FIVE = MetricColumn("f1", ends=(0.0, 5.0))
FALLING = MetricColumn("f1", higher_is_better=False)
UNBOUNDED = MetricColumn("f1", ends=(None, None))
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
        good(3), compare=(Comparing("main"),), baselines={"main": Baseline("main", SAVED, scores)}
    )
    made = replace(made, info=replace(made.info, metrics=columns))
    found = decide_gates(made, Extent(3, 3, 3)).comparison
    assert found is not None
    assert list(found.metrics) == tested


@pytest.mark.parametrize(
    ("fields", "adjusted"),
    [
        ({"compare": (Comparing("main"),)}, None),
        ({"compare": (Comparing("main"),), "gates": {"f1": 0.5}}, None),
        ({"compare": (Comparing("main"),), "gates": {"unscored": 0.5}}, None),
        ({"compare": (Comparing("main"),), "gates": {"weighted_score": 0.5}}, 2 / 2**6),
        (
            {
                "compare": (Comparing("main"),),
                "gates": {"by": {"doc_name": {"weighted_score": 0.5}}},
            },
            2 / 2**6,
        ),
        ({"compare": (Comparing("main"),), "gates": {"no_regression": {}}}, 2 / 2**6),
        ({"compare": (Comparing("main", ("f1", "weighted_score")),)}, 2 / 2**6),
    ],
)
def test_a_weighted_score_that_is_only_shown_is_not_adjusted_for(
    result: Result, fields: dict[str, Any], adjusted: float | None
) -> None:
    """Six equal rises have p = 2/2^6, by max-T also beside others; what is shown has none."""
    ids = tuple(f"s{at}" for at in range(6))
    samples = [
        SampleResult(name, at, weighted_score=1.0, scores={"f1": 1.0, "em": 1.0})
        for at, name in enumerate(ids)
    ]
    scores = {name: dict.fromkeys(ids, 0.5) for name in ("f1", "em", "weighted_score")}
    made = result(samples, baselines={"main": Baseline("main", ids, scores)}, **fields)
    found = decide_gates(made, Extent(6, 6, 6)).comparison
    assert found is not None
    assert found.metrics["f1"].p_adjusted == 2 / 2**6
    assert found.metrics["weighted_score"].p_adjusted == adjusted


def test_a_partial_run_is_compared_as_far_as_it_goes(result: Result) -> None:
    """E4: with -k; s2 was not asked for."""
    made = result(good(2), **COMPARED, total=3, selected=2)
    found = decide_gates(made, Extent(3, 2, 2)).comparison
    assert found is not None
    assert found.metrics["f1"].n == 2


def test_a_run_that_names_no_other_is_not_compared(result: Result) -> None:
    assert decide_gates(result(good(3)), Extent(3, 3, 3)).comparison is None
    absent = {"compare": (Comparing("main"),), "baselines": {}}
    assert decide_gates(result(good(3), **absent), Extent(3, 3, 3)).comparison is None


@pytest.mark.parametrize(
    ("extent", "said"),
    [
        (Extent(10, 10, 7, missing=["shard 2/3 is missing"]), "shard 2/3 is missing"),
        # Chosen on purpose, and a part of the choice is missing.
        (Extent(10, 6, 3, missing=["shard 2/2 is missing"]), "shard 2/2 is missing"),
        # All cases are here, but nobody knows what else it had to say.
        (Extent(3, 3, 3, missing=["shard 4/4 is missing"]), "shard 4/4 is missing"),
        (
            Extent(10, 10, 3, lost=["q4", "q7"], missing=["shard 1/2 is unfinished, 3 of 5 ran"]),
            "shard 1/2 is unfinished, 3 of 5 ran; not run: q4, q7",
        ),
    ],
)
def test_a_missing_shard_fails_every_gate(result: Result, extent: Extent, said: str) -> None:
    """[E17] Also of a scenario that has no gates."""
    for gates in ({"f1": 0.5}, {}):
        found = decide_gates(result(good(3), gates=gates), extent)
        assert set(outcomes(found).values()) == {"failed"}
        assert found.gates[0].message.endswith(f"; {said}")

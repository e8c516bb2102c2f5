"""Rows that are expected to fail: with other weights the page says of them what Python says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_rageval import evaluate
from pytest_rageval.model import Bound, MetricColumn, SampleResult, ScenarioInfo, ScenarioResult

# f1 is 1, 2/3, 0 and recall 1, 0, none: what is too low, and what is not judged, is the weights'.
ANSWERS = {"right": "one two", "half": "one", "wrong": "four"}
SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "found": {"retrieved_ids": ["d"], "reference_ids": {"d": 1}},
    "missed": {"retrieved_ids": ["e"], "reference_ids": {"d": 1}},
    "not searched": {},
}
MARKS: Mapping[str, Mapping[str, Any]] = {
    "not marked": {},
    "by its column": {"xfail": "known"},
    "without a reason": {"xfail": True},
    "by the scenario": {"topic": "tables"},
    "skipped": {"xfail": True, "skip": True},
}
SCENARIO: dict[str, Any] = {
    "name": "marked",
    "dataset": [
        {"id": f"{answer}, {search}, {mark}", "answer": ANSWERS[answer], "references": ["one two"]}
        | {**SEARCHES[search], **MARKS[mark]}
        for answer in ANSWERS
        for search in SEARCHES
        for mark in MARKS
    ],
    "metrics": ["f1", "recall"],
    "xfail": [{"where": {"topic": "tables"}, "reason": "tables are hard"}],
    "thresholds": {"weighted_score": 0.75},
    "gates": {"pass_rate": 0.5},
}
WEIGHTS = [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (5.0, 1.0)]
SCORES: Mapping[str, float | None] = {"f1": 1.0, "em": 0.0}


@pytest.mark.parametrize("tolerate", [pytest.param(None, marks=pytest.mark.full), "pass_rate"])
@pytest.mark.parametrize("as_run", WEIGHTS, ids=str)
def test_other_weights_give_pythons_outcomes(
    open_report: Any,
    same_as: Callable[..., None],
    as_run: tuple[float, float],
    tolerate: str | None,
) -> None:
    def with_weights(weights: tuple[float, float]) -> ScenarioResult:
        changes = {"metric_weights": dict(zip(["f1", "recall"], weights, strict=True))}
        return evaluate({**SCENARIO, "tolerate": tolerate}, changes)

    page = open_report(with_weights(as_run))
    for weights in WEIGHTS:
        f1, recall = weights
        page.evaluate(f"rageval.weigh({{metrics: {{f1: {f1}, recall: {recall}}}, docs: []}})")
        same_as(page, with_weights(weights))


def outcomes(page: Any, f1: float, em: float) -> list[str]:
    """Return what the page says of the samples with other weights."""
    found: list[str] = page.evaluate(
        f"rageval.weigh({{metrics: {{f1: {f1}, em: {em}}}, docs: []}}), rageval.state().outcomes"
    )
    return found


def of_samples(
    weigh: Callable[..., ScenarioResult], *samples: SampleResult, **options: Any
) -> ScenarioResult:
    """Return the result of a run of f1 alone, with a threshold of 0.5 for the weighted score."""
    info = ScenarioInfo(
        "s",
        "s.yaml",
        "s.yaml",
        (MetricColumn("f1"), MetricColumn("em", 0.0)),
        thresholds={"weighted_score": Bound(min=0.5)},
        **options,
    )
    return weigh(info, samples, {"f1": 1.0, "em": 0.0}, {})


def test_a_strict_mark_fails_what_passes(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """``xfail_strict`` makes the pass FAILED; with em alone, which is 0, the mark holds."""
    samples = SampleResult("a", 0, "failed", scores=SCORES, xfail="known")
    page = open_report(of_samples(weigh, samples))
    assert outcomes(page, 2, 0) == ["failed"]
    assert outcomes(page, 0, 1) == ["xfailed"]


def test_a_mark_that_the_run_ignored_is_ignored(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """A conftest.py took it: what is too low is FAILED as run, and passes where it is not."""
    low: Mapping[str, float | None] = {"f1": 0.0, "em": 1.0}
    page = open_report(of_samples(weigh, SampleResult("a", 0, "failed", scores=low, xfail="known")))
    assert outcomes(page, 2, 0) == ["failed"]
    assert outcomes(page, 0, 1) == ["passed"]


@pytest.mark.parametrize("mark", ["known", None])
def test_with_runxfail_nothing_is_expected(
    open_report: Any, weigh: Callable[..., ScenarioResult], mark: str | None
) -> None:
    """A sample that passed as run fails with other weights, marked or not, as under pytest."""
    passed = SampleResult("a", 0, "passed", scores=SCORES, xfail=mark)
    page = open_report(of_samples(weigh, passed, expects_failures=False))
    assert outcomes(page, 2, 0) == ["passed"]
    assert outcomes(page, 0, 1) == ["failed"]


def test_what_failed_for_a_reason_of_its_own_stays(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """A test function's assertion: no weight makes it pass."""
    samples = (
        SampleResult("a", 0, "failed", scores=SCORES),
        SampleResult("b", 1, "xfailed", scores=SCORES, xfail="known"),
    )
    page = open_report(of_samples(weigh, *samples))
    assert outcomes(page, 2, 0) == ["failed", "xfailed"]
    assert outcomes(page, 0, 1) == ["failed", "xfailed"]


def test_a_judged_metric_that_failed_is_missing_with_any_weight(
    open_report: Any, weigh: Callable[..., ScenarioResult]
) -> None:
    """A threshold names em, which failed on the marked row: no gate was asked for, one guards."""
    marked = SampleResult(
        "b", 1, "xfailed", scores={"f1": 1.0, "em": None}, errors={"em": "boom"}, xfail="known"
    )
    whole = SampleResult("a", 0, scores={"f1": 1.0, "em": 1.0})
    info = ScenarioInfo(
        "s",
        "s.yaml",
        "s.yaml",
        (MetricColumn("f1"), MetricColumn("em", 0.0)),
        thresholds={"em": Bound(min=0.5)},
    )
    page = open_report(weigh(info, (whole, marked), {"f1": 1.0, "em": 0.0}, {}))
    said = (
        "0.5000 > 0.0000 (1 of 2 samples: em missing on 1)"
        "; too many to allow: look at what em failed for"
    )
    for f1, em in ((1, 0), (2, 0), (1, 1)):
        assert outcomes(page, f1, em) == ["passed", "xfailed"]
        gates = page.evaluate("rageval.state().gates.map((one) => [one.name, one.message()])")
        assert gates == [["unscored", said]]

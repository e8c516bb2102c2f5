"""A10: which scores miss their thresholds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.model import TARGET, Bound, MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.stats.verdict import (
    badness,
    blamed_metrics,
    has_failed,
    is_beyond_budget,
    is_tolerated,
    score_of,
    shortfalls,
    shown_errors,
    unwritten,
    was_not_asked,
)


def sample(weighted: float | None = None, **scores: float | None) -> SampleResult:
    return SampleResult("s", 0, weighted_score=weighted, scores=scores)


def test_a_score_below_its_minimum_and_one_above_its_maximum_are_named() -> None:
    found = shortfalls(sample(f1=0.4, noise=0.6), {"f1": Bound(min=0.5), "noise": Bound(max=0.5)})
    assert [str(short) for short in found] == ["f1 0.4000 < 0.5000", "noise 0.6000 > 0.5000"]


@pytest.mark.parametrize(("score", "misses"), [(0.7 - 1e-10, False), (0.7 - 1e-8, True)])
def test_comparisons_tolerate_a_billionth(score: float, misses: bool) -> None:
    """A10: 0.9999999999 is a perfect score of some metrics."""
    assert bool(shortfalls(sample(f1=score), {"f1": Bound(min=0.7)})) is misses
    mirrored = shortfalls(sample(f1=1.4 - score), {"f1": Bound(max=0.7)})
    assert bool(mirrored) is misses


@pytest.mark.parametrize("score", [None, math.nan])
def test_an_unscored_metric_is_not_judged_here(score: float | None) -> None:
    """A20: it is an error elsewhere, neither a pass nor a zero."""
    assert shortfalls(sample(f1=score), {"f1": Bound(min=0.5)}) == []
    assert shortfalls(sample(), {"f1": Bound(min=0.5)}) == []


def test_the_weighted_score_has_thresholds_too() -> None:
    """A10."""
    found = shortfalls(sample(0.4, f1=1.0), {"weighted_score": Bound(min=0.5)})
    assert [short.name for short in found] == ["weighted_score"]
    assert score_of(sample(0.4), "weighted_score") == 0.4
    assert score_of(sample(0.4, f1=0.2), "f1") == 0.2
    assert score_of(sample(), "f1") is None


@pytest.mark.parametrize(
    ("details", "missed"),
    [
        (
            {"f1": {"passing": False}},
            ["f1 does not pass: the metric itself returned passing = False"],
        ),
        ({"f1": {"passing": True}}, []),
        ({"f1": {"passing": None}}, []),
        ({"f1": {"reply": "no"}, "target": {"passing": False}}, []),
        ({"f1": "passing"}, []),
    ],
)
def test_a_metric_may_say_itself_that_a_sample_does_not_pass(
    details: Any, missed: list[str]
) -> None:
    """[F7] Without any threshold; None decides nothing."""
    for score in (0.5, None):
        said = replace(sample(f1=score), details=details)
        assert list(map(str, shortfalls(said, {}))) == missed


def test_a_metric_that_lets_a_sample_pass_overrules_no_threshold() -> None:
    """[F7]"""
    said = replace(sample(f1=0.5), details={"f1": {"passing": True}})
    assert list(map(str, shortfalls(said, {"f1": Bound(min=0.6)}))) == ["f1 0.5000 < 0.6000"]


def test_both_ends_of_a_bound_count() -> None:
    bound = {"f1": Bound(min=0.2, max=0.8)}
    found = [bool(shortfalls(sample(f1=score), bound)) for score in (0.1, 0.2, 0.5, 0.8, 0.9)]
    assert found == [True, False, False, False, True]


@pytest.mark.parametrize(
    ("error", "beyond_budget", "not_asked"),
    [
        ("budget: 1 USD is spent", True, True),
        ("replay: not in the cache", False, True),
        ("HTTP 500 of the budget: service", False, False),
    ],
)
def test_a_score_that_lacks_for_a_reason_of_the_run(
    error: str, beyond_budget: bool, not_asked: bool
) -> None:
    found = SampleResult("s", 0, scores={"f1": None, "em": 1.0}, errors={"f1": error})
    assert is_beyond_budget(found) is beyond_budget
    assert was_not_asked(found, "f1") is not_asked
    assert was_not_asked(found, "em") is False


NO_FIELD = {"f1": "the row has no references"}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"outcome": "error", "scores": {"f1": None}, "reasons": NO_FIELD}, NO_FIELD),
        # Optional metrics: another one scored, and the case was judged.
        ({"weighted_score": 1.0, "scores": {"em": 1.0, "f1": None}, "reasons": NO_FIELD}, {}),
        ({"outcome": "error", "errors": {"target": "boom"}, "scores": {"f1": None}}, "target"),
        ({"outcome": "error", "errors": {"row": "no answer"}}, "row"),
        # What a metric says of a score that it gave is no error.
        (
            {"outcome": "error", "scores": {"f1": 0.5, "em": None}, "weighted_score": 0.5}
            | {"reasons": {"f1": "half of it", "em": "no claims"}},
            "em",
        ),
        ({"weighted_score": 1.0, "scores": {"f1": 1.0}, "reasons": {"f1": "all of it"}}, {}),
        ({"outcome": "skipped", "scores": {"f1": None}}, {}),
        (
            {"outcome": "error", "scores": {"f1": 1.0}},
            {"weighted_score": "all metrics that have a score weigh 0"},
        ),
    ],
)
def test_what_could_not_be_judged_says_why(fields: dict[str, Any], shown: Any) -> None:
    """A20: be it an error, or a metric's reason to give no score."""
    found = shown_errors(SampleResult("s", 0, **fields))
    assert found == shown if isinstance(shown, dict) else list(found) == [shown]


def test_the_worst_is_what_could_not_be_judged_then_the_lowest() -> None:
    """An error that has a score, too: of the metric that lacks it, nobody knows."""
    samples = [
        SampleResult("high", 0, weighted_score=0.9),
        SampleResult("low", 1, "failed", weighted_score=0.1),
        SampleResult("odd", 2, "error", weighted_score=0.9),
        SampleResult("unscored", 3, "failed"),
        SampleResult("error", 4, "error"),
        SampleResult("nan", 5, "error", weighted_score=math.nan),
        SampleResult("as low", 6, weighted_score=0.1),
    ]
    ordered = [one.sample_id for one in sorted(samples, key=badness)]
    assert ordered == ["error", "nan", "odd", "unscored", "low", "as low", "high"]


THREE = ScenarioInfo(
    "s",
    "s.yaml",
    "s.yaml",
    (MetricColumn("f1"), MetricColumn("em"), MetricColumn("shown", weight=0.0)),
)
BOTH = {"f1": "down", "em": "down"}


@pytest.mark.parametrize(
    ("fields", "blamed"),
    [
        # A metric that does not apply is left out of the weighted score, which is there.
        ({"weighted_score": 0.5, "scores": {"f1": None, "em": 0.5}}, []),
        ({"scores": {"f1": None, "em": 0.5}, "errors": {"f1": "down"}}, ["f1"]),
        # One that failed comes before one that does not apply.
        ({"scores": {"f1": None, "em": None}, "errors": {"em": "down"}}, ["em"]),
        ({"scores": {"f1": None, "em": None}}, ["f1", "em"]),
        ({"scores": {"f1": None, "em": None}, "errors": BOTH}, ["f1", "em"]),
        # What weighs nothing is never missed.
        ({"scores": {"f1": None, "em": 0.5, "shown": None}}, ["f1"]),
        ({"scores": {"f1": 0.5, "em": 0.5, "shown": None}}, []),
        ({"scores": {"f1": math.nan, "em": 0.5}}, ["f1"]),
    ],
)
def test_for_want_of_which_metrics_a_sample_has_no_weighted_score(
    fields: dict[str, Any], blamed: list[str]
) -> None:
    assert blamed_metrics(THREE, SampleResult("s", 0, **fields)) == blamed


NO_F1: dict[str, Any] = {"scores": {"f1": None, "em": 0.5}, "errors": {"f1": "down"}}


@pytest.mark.parametrize(
    ("fields", "may_be_missing", "tolerated"),
    [
        (NO_F1, {"f1"}, True),
        (NO_F1, {"em"}, False),
        (NO_F1, set(), False),
        ({"scores": {"f1": None, "em": None}, "errors": BOTH}, {"f1"}, False),
        ({"scores": {"f1": None, "em": None}, "errors": BOTH}, {"f1", "em"}, True),
        # The row, the target and the run are no metrics.
        ({**NO_F1, "invalid": "no JSON"}, {"f1"}, False),
        ({**NO_F1, "errors": {"f1": "down", "target": "404"}}, {"f1"}, False),
        ({**NO_F1, "errors": {"f1": "budget: spent"}}, {"f1"}, False),
        # Nobody is to blame: all that has a score weighs nothing, or there is a weighted score.
        ({"scores": {"f1": 0.5, "em": 0.5}}, {"f1"}, False),
        ({**NO_F1, "weighted_score": 0.5}, {"f1"}, False),
    ],
)
def test_which_samples_may_lack_their_weighted_score(
    fields: dict[str, Any], may_be_missing: set[str], tolerated: bool
) -> None:
    assert is_tolerated(THREE, SampleResult("s", 0, **fields), may_be_missing) is tolerated


@pytest.mark.parametrize(
    ("name", "fields", "failed"),
    [
        ("f1", {"scores": {"f1": 0.5}, "errors": {"f1": "down"}}, False),
        ("f1", {"scores": {"f1": None}}, False),
        ("f1", {"scores": {"f1": None}, "errors": {"em": "down"}}, False),
        ("f1", {"scores": {"f1": None}, "errors": {"f1": "down"}}, True),
        ("f1", {"scores": {"f1": math.nan}, "errors": {"target": "404"}}, True),
        ("f1", {"invalid": "no JSON"}, True),
        ("weighted_score", {"errors": {"em": "down"}}, True),
        ("weighted_score", {"weighted_score": 0.5, "errors": {"em": "down"}}, False),
        ("weighted_score", {}, False),
    ],
)
def test_a_missing_score_failed_or_does_not_apply(
    name: str, fields: dict[str, Any], failed: bool
) -> None:
    assert has_failed(SampleResult("s", 0, **fields), name) is failed


@pytest.mark.parametrize(
    ("target", "error", "found"),
    [
        ("app:f", "app:f: NotImplementedError: write me\n  app.py:2 in f: raise", True),
        ("app:f", "app:f: NotImplementedError\n  app.py:2 in f: raise", True),
        ("app:f", "app:f: RuntimeError: NotImplementedError", False),
        ("app:f", "", False),
        ("", ": NotImplementedError", False),
    ],
)
def test_a_target_that_is_not_written_yet(target: str, error: str, found: bool) -> None:
    """E22: it says so itself; its frames do not count."""
    one = replace(sample(), errors={TARGET: error} if error else {})
    assert unwritten(target, one) == (error.partition("\n")[0] if found else None)

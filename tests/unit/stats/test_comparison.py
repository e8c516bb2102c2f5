"""D6, E15: a run against a baseline, joined by sample id."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.model import (
    Baseline,
    Comparison,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    SignificanceTest,
)
from pytest_rageval.stats.comparison import (
    compare_runs,
    interval_of_fall,
    paired_scores,
    uneven_samples,
)
from pytest_rageval.stats.summary import summarize_scenario


def run_of(
    scores: Mapping[str, float | None], weights: Mapping[str, float] | None = None
) -> ScenarioResult:
    """Return a run whose samples have these scores of f1; half of it is the weighted score."""
    samples = [
        SampleResult(
            name,
            at,
            weighted_score=None if score is None else score / 2,
            scores={"f1": score},
            sample_weight=(weights or {}).get(name, 1.0),
        )
        for at, (name, score) in enumerate(scores.items())
    ]
    info = ScenarioInfo("s", "s.yaml", "s.yaml", (MetricColumn("f1"),), total=len(samples))
    return summarize_scenario(info, samples, complete=True)


def saved(scores: Mapping[str, float | None]) -> Baseline:
    return Baseline("main", tuple(scores), {"f1": scores})


def compare(
    now: Mapping[str, float | None],
    before: Mapping[str, float | None],
    metrics: Sequence[str] = ("f1",),
    **plan: object,
) -> Comparison:
    return compare_runs(run_of(now), saved(before), metrics, SignificanceTest(**plan))  # type: ignore[arg-type]


def test_samples_are_joined_by_id_and_not_by_place() -> None:
    """A 0.5, 0.9; B 0.4, 0.9: differences 0.1 and 0."""
    found = compare({"a": 0.5, "b": 0.9}, {"b": 0.9, "a": 0.4})
    f1 = found.metrics["f1"]
    assert (f1.a_mean, f1.b_mean) == pytest.approx((0.7, 0.65), abs=1e-15)
    assert (f1.n, f1.n_nonzero) == (2, 1)
    assert (found.only_a, found.only_b) == ((), ())


def test_what_only_one_side_has_is_listed_in_its_order() -> None:
    """E15: and takes no part."""
    found = compare({"z": 0.1, "a": 0.5, "y": 0.2}, {"x": 1.0, "a": 0.5, "b": 0.0})
    assert (found.only_a, found.only_b) == (("z", "y"), ("x", "b"))
    assert found.metrics["f1"].n == 1


def test_a_sample_that_one_side_did_not_score_takes_no_part() -> None:
    """A6: unscored is no zero; both sides have the sample."""
    found = compare({"a": 0.5, "b": None, "c": 0.7}, {"a": 0.5, "b": 0.4, "c": None})
    assert found.metrics["f1"].n == 1
    assert (found.only_a, found.only_b) == ((), ())


def test_a_sample_weighs_what_it_weighs_in_this_run() -> None:
    """A7: differences 0.2 and -0.1, weights 3 and 1: (0.6 - 0.1) / 4."""
    result = run_of({"a": 0.7, "b": 0.4}, {"a": 3.0})
    found = compare_runs(result, saved({"a": 0.5, "b": 0.5}), ["f1"], SignificanceTest())
    assert found.metrics["f1"].diff == pytest.approx(0.125, abs=1e-15)


def test_the_weighted_score_is_a_metric_like_others() -> None:
    before = Baseline("main", ("a",), {"weighted_score": {"a": 0.2}})
    found = compare_runs(run_of({"a": 0.5}), before, ["weighted_score"], SignificanceTest())
    assert found.metrics["weighted_score"].a_mean == 0.25
    assert found.metrics["weighted_score"].diff == pytest.approx(0.05, abs=1e-15)


def test_the_weighted_scores_of_a_pair_are_over_the_same_metrics() -> None:
    """G1: em applied to "a" before and no longer does; f1 fell from 0.8 to 0.5, and that counts.

    Over all metrics it would be 0.5 against (0.8 + 0.0)/2 = 0.4, a rise. Of "b" both have both.
    """
    columns = (MetricColumn("f1"), MetricColumn("em"))
    samples = [
        SampleResult("a", 0, weighted_score=0.5, scores={"f1": 0.5, "em": None}),
        SampleResult("b", 1, weighted_score=0.5, scores={"f1": 0.0, "em": 1.0}),
    ]
    info = ScenarioInfo("s", "s.yaml", "s.yaml", columns, total=2)
    before = Baseline(
        "main",
        ("a", "b"),
        {
            "f1": {"a": 0.8, "b": 0.0},
            "em": {"a": 0.0, "b": 1.0},
            "weighted_score": {"a": 0.4, "b": 0.5},
        },
    )
    run = summarize_scenario(info, samples, complete=True)
    found = compare_runs(run, before, ["weighted_score"], SignificanceTest())
    weighted = found.metrics["weighted_score"]
    assert (weighted.a_mean, weighted.b_mean) == pytest.approx((0.5, 0.65), abs=1e-15)
    told = "of 1 sample a metric applies in one run only, and is left out of both"
    assert weighted.note.startswith(told)
    assert found.metrics.get("f1") is None
    # Where all of them apply, or none has a weight, nothing is left out; it works both ways.
    assert uneven_samples(run, before) == {"a"}
    assert uneven_samples(summarize_scenario(info, samples[1:], complete=True), before) == set()
    weightless = replace(samples[0], sample_weight=0.0)
    assert uneven_samples(summarize_scenario(info, [weightless], complete=True), before) == set()
    late = replace(before, scores={**before.scores, "em": {"b": 1.0}})
    now = replace(samples[0], scores={"f1": 0.5, "em": 0.5})
    assert uneven_samples(summarize_scenario(info, [now], complete=True), late) == {"a"}


def test_where_the_same_metrics_apply_the_weighted_scores_are_as_they_were() -> None:
    """Half of f1 now and 0.2 then; shown weighs nothing, and applies now only."""
    run = run_of({"a": 0.5})
    columns = (MetricColumn("f1"), MetricColumn("shown", weight=0.0))
    samples = [replace(one, scores={"f1": 0.5, "shown": 1.0}) for one in run.samples]
    run = replace(run, samples=samples, info=replace(run.info, metrics=columns))
    scores = {"f1": {"a": 0.9}, "shown": {"a": None}, "weighted_score": {"a": 0.2}}
    before = Baseline("main", ("a",), scores)
    assert paired_scores(run.info, run.samples[0], before, "weighted_score") == (0.25, 0.2)


def test_a_metric_that_the_other_run_has_not_has_no_pair() -> None:
    run = run_of({"a": 0.5})
    assert paired_scores(run.info, run.samples[0], saved({}), "em") == (None, None)
    assert paired_scores(run.info, run.samples[0], Baseline("b", ("a",), {}), "f1") == (0.5, None)


def test_a_shift_moves_the_pairs_that_there_are() -> None:
    """A lies 0.1 below B; held against 0.1 nothing is left. b had no score."""
    now, before = {"a": 0.4, "b": 0.9, "c": 0.4}, {"a": 0.5, "b": None, "c": 0.5}
    found = compare_runs(
        run_of(now), saved(before), ["f1"], SignificanceTest(), shifts={"f1": 0.1}
    ).metrics["f1"]
    assert (found.n, found.n_nonzero) == (2, 0)


@pytest.mark.parametrize(
    ("plan", "used"),
    [({}, "max-t"), ({"test": "bootstrap"}, "holm"), ({"correction": "none"}, "none")],
)
def test_how_p_was_adjusted_is_told(plan: dict[str, Any], used: str) -> None:
    assert compare({"a": 0.5}, {"a": 0.5}, **plan).correction == used


def test_where_a_metric_failed_there_is_no_pair() -> None:
    """G1: "a" has no weighted score in the run that the judge was down in."""
    columns = (MetricColumn("f1"), MetricColumn("em"))
    sample = SampleResult("a", 0, scores={"f1": 1.0, "em": None}, errors={"em": "away"})
    info = ScenarioInfo("s", "s.yaml", "s.yaml", columns, total=1)
    scores = {"f1": {"a": 0.5}, "em": {"a": 0.5}, "weighted_score": {"a": 0.5}}
    run = summarize_scenario(info, [sample], complete=True)
    found = compare_runs(
        run, Baseline("main", ("a",), scores), ["weighted_score"], SignificanceTest()
    )
    assert found.metrics["weighted_score"].n == 0


def test_the_plan_is_followed_and_told() -> None:
    pytest.importorskip("scipy")
    found = compare({"a": 0.5, "b": 0.9}, {"a": 0.4, "b": 0.7}, test="t", alpha=0.2)
    assert (found.baseline, found.test, found.alpha) == ("main", "t", 0.2)
    assert found.metrics["f1"].method == "paired t"


def test_the_seed_is_that_of_the_plan() -> None:
    """D6: 60 differences off any grid are sampled."""
    now = {f"s{at}": 0.5 + (at * 3 % 7 - 3) * 0.01 * 2**0.5 for at in range(60)}
    before = {f"s{at}": 0.5 + (at * 5 % 11 - 5) * 0.01 * 3**0.5 for at in range(60)}
    found = [compare(now, before, seed=seed, n_resamples=500) for seed in (1, 1, 2)]
    assert "500 sampled" in found[0].metrics["f1"].method
    first, again, other = (one.metrics["f1"].p_value for one in found)
    assert first == again != other


def test_nothing_in_common_compares_nothing() -> None:
    found = compare({"a": 0.5}, {"b": 0.5})
    f1 = found.metrics["f1"]
    assert (f1.n, f1.diff, f1.p_value, f1.significant) == (0, None, None, False)
    assert f1.note


def fall_of(scores: Mapping[str, Any], before: Mapping[str, Any], **fields: Any) -> Any:
    """Return the interval of f1 in the range -1..1; ``fields`` of each sample by name."""
    run = run_of(scores, fields.pop("weights", None))
    docs = fields.pop("docs", {})
    samples = [replace(one, doc_name=docs.get(one.sample_id)) for one in run.samples]
    run = replace(run, samples=samples, info=replace(run.info, **fields))
    return interval_of_fall(run, saved(before), "f1", 0.05, 1.0)


def test_equal_runs_might_have_fallen_where_nobody_looked() -> None:
    """Two differences of 0 are 1/2 of the range -1..1: its ends are -1 + √0.025 and 1 - √0.025."""
    low, high = fall_of({"a": 0.5, "b": 0.7}, {"a": 0.5, "b": 0.7})
    assert (low, high) == pytest.approx((math.sqrt(0.025) - 1, 1 - math.sqrt(0.025)), abs=1e-9)


@pytest.mark.parametrize("lacking", [None, math.nan])
def test_a_pair_needs_both_scores_and_a_weight(lacking: float | None) -> None:
    """c has none now, d had none, e weighs nothing: the interval is that of a and b alone."""
    now = {"a": 0.5, "b": 0.7, "c": lacking, "d": 0.1, "e": 0.0}
    before = {"a": 0.5, "b": 0.7, "c": 0.9, "d": lacking, "e": 1.0}
    found = fall_of(now, before, weights={"e": 0.0})
    assert found == fall_of({"a": 0.5, "b": 0.7}, {"a": 0.5, "b": 0.7})
    assert fall_of({"c": lacking}, {"c": 0.9}) is None
    assert fall_of({"e": 0.5}, {"e": 0.5}, weights={"e": 0.0}) is None


def test_the_one_pair_more_weighs_as_the_heavy_ones_do() -> None:
    """N1: weights 1 and 3: it weighs 10/4, and P = 1/((1 + c)(1 + 3c)), c = (1/2 - t)/(2.5 t)."""
    low, high = fall_of({"a": 0.5, "b": 0.7}, {"a": 0.5, "b": 0.7}, weights={"b": 3.0})
    t = (low + 1) / 2
    odds = (0.5 - t) / (2.5 * t)
    assert (1 + odds) * (1 + 3 * odds) == pytest.approx(40, rel=1e-8)
    assert high == pytest.approx(-low)


def test_groups_are_pairs_of_their_weight() -> None:
    """Four equal pairs of two documents say as much as two pairs."""
    equal = dict.fromkeys("abcd", 0.5)
    docs = {"a": "x", "b": "x", "c": "y", "d": "y"}
    found = fall_of(equal, equal, docs=docs, group_by="doc_name")
    assert found == fall_of({"a": 0.5, "b": 0.5}, {"a": 0.5, "b": 0.5})
    assert fall_of(equal, equal, docs=dict.fromkeys("abcd", "x"), group_by="doc_name") is None


class _Counted(str):
    """A text that counts how often it is compared with another."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        _Counted.comparisons += 1
        return str.__eq__(self, other)  # type: ignore[arg-type]

    __hash__ = str.__hash__


def test_joining_takes_time_in_proportion_to_the_samples() -> None:
    """D6: 1,000 samples; a search through a list would compare half a million names."""
    now = {_Counted(f"s{at}"): 0.5 for at in range(1000)}
    before = {_Counted(f"s{at}"): 0.4 for at in reversed(range(1000))}
    _Counted.comparisons = 0
    found = compare(now, before)
    assert found.metrics["f1"].n == 1000
    assert _Counted.comparisons < 20_000

"""D6, E15: a run against a baseline, joined by sample id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from pytest_rageval.stats.aggregate import summarize_scenario
from pytest_rageval.stats.comparison import compare_runs


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
    assert "sampled" in found[0].metrics["f1"].method
    first, again, other = (one.metrics["f1"].p_value for one in found)
    assert first == again != other


def test_nothing_in_common_compares_nothing() -> None:
    found = compare({"a": 0.5}, {"b": 0.5})
    f1 = found.metrics["f1"]
    assert (f1.n, f1.diff, f1.p_value, f1.significant) == (0, None, None, False)
    assert f1.note


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

"""The gates selective and aurc: verdicts, missing confidences, weights, intervals."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.gates.base import GateOptionError, make_gates
from pytest_rageval.model import GateResult, MetricColumn, SampleResult, ScenarioResult
from pytest_rageval.reports.run_view import RunView
from pytest_rageval.reports.what_is_wrong import WhatIsWrong
from pytest_rageval.stats.intervals import mean_bounds
from pytest_rageval.stats.selective import Ranked, aurc, bootstrap_interval, selective_mean

Result = Callable[..., ScenarioResult]
Row = tuple[float | None, float]

# Confidence falls, scores are 1, 0.5, 0.
THREE: Sequence[Row] = [(0.9, 1.0), (0.6, 0.5), (0.1, 0.0)]


def samples_of(rows: Sequence[Row], **fields: Sequence[Any]) -> list[SampleResult]:
    return [
        SampleResult(
            f"s{at}",
            at,
            weighted_score=score,
            scores={"f1": score},
            confidence=confidence,
            **{name: values[at] for name, values in fields.items()},
        )
        for at, (confidence, score) in enumerate(rows)
    ]


def check(
    result: Result,
    gate: Mapping[str, Any],
    samples: Sequence[SampleResult],
    *metrics: MetricColumn,
    target: str = "f1",
    **fields: Any,
) -> GateResult:
    made = result(samples, *(metrics or (MetricColumn("f1"),)), **fields)
    (found,) = make_gates({target: gate}, made.info)
    return found.check(made)


def test_the_most_confident_share_has_to_be_good(result: Result) -> None:
    """Two of three hold a share of 0.5: (1 + 0.5) / 2."""
    samples = samples_of(THREE)
    good = check(result, {"selective": {"coverage": 0.5, "min": 0.75}}, samples)
    bad = check(result, {"selective": {"coverage": 0.5, "min": 0.8}}, samples)
    assert (good.outcome, good.observed, good.name) == ("passed", 0.75, "f1.selective")
    assert bad.outcome == "failed"
    assert bad.message.startswith("0.7500 < 0.8000 (the most confident 2 of 3, from 0.6 up, 95 %")
    # Those of the mean of the two.
    low, high = map(float, re.findall(r"interval ([\d.]+)\.\.([\d.]+)\)$", bad.message)[0])
    assert (low, high) == pytest.approx(mean_bounds([1.0, 0.5], [1.0, 1.0], 0.025), abs=1e-4)


@pytest.mark.full
def test_the_area_is_the_mean_risk_over_all_coverages(result: Result) -> None:
    """Risks 0, 0.25 and 0.5: 0.25 on average. A bare number is a maximum."""
    samples = samples_of(THREE)
    assert check(result, {"aurc": {"max": 0.25}}, samples).outcome == "passed"
    found = check(result, {"aurc": 0.2}, samples)
    assert (found.outcome, found.bound) == ("failed", 0.2)
    assert found.observed == pytest.approx(0.25)


def test_samples_count_by_their_weights(result: Result) -> None:
    """Weights 1, 2, 1: half of 4 is reached by two, (1 + 2 x 0.5) / 3.

    Risks 0, 1/3 and 1/2 weigh 1, 2 and 1: (2/3 + 1/2) / 4.
    """
    samples = samples_of(THREE, sample_weight=[1.0, 2.0, 1.0])
    found = check(result, {"selective": {"coverage": 0.5, "min": 0.1}}, samples)
    assert found.observed == pytest.approx(2 / 3)
    assert check(result, {"aurc": 1}, samples).observed == pytest.approx(7 / 24)


def test_lower_is_better_is_turned_for_the_risk_and_not_for_the_mean(result: Result) -> None:
    """Means 1, 0.75, 0.5 of what should be low are risks themselves."""
    noise = MetricColumn("f1", higher_is_better=False)
    samples = samples_of(THREE)
    found = check(result, {"selective": {"coverage": 0.5, "max": 0.7}}, samples, noise)
    assert (found.outcome, found.observed) == ("failed", 0.75)
    assert check(result, {"aurc": 1}, samples, noise).observed == pytest.approx(0.75)


@pytest.mark.full
def test_a_missing_confidence_fails_unless_it_may_be_missing(result: Result) -> None:
    """One of four; what is left has the mean 0.5."""
    samples = samples_of([*THREE, (None, 1.0)])
    gate = {"selective": {"coverage": 1, "min": 0.5}}
    found = check(result, gate, samples)
    assert (found.outcome, found.observed) == ("failed", 0.5)
    assert found.message == (
        "1 of 4 samples have no confidence; if that is in order, "
        "'gates: {unscored: {f1: 0.25}}' would allow it"
    )
    for unscored, outcome in ({"f1": 0.25}, "passed"), ({"f1": 0.24}, "failed"), (0.25, "passed"):
        found = check(result, gate, samples, gates={"unscored": unscored})
        assert found.outcome == outcome
    assert "1 sample without confidence left out" in found.message


def test_without_any_confidence_nothing_is_shown(result: Result) -> None:
    """Even where all may be missing."""
    samples = samples_of([(None, 1.0)])
    for gates in ({}, {"unscored": 1}):
        found = check(result, {"aurc": 1}, samples, gates=gates)
        assert (found.outcome, found.observed) == ("failed", None)
        assert found.message == (
            "no sample has a confidence; name its column, "
            "dataset: {key_map: {confidence: <column>}}"
        )
    unscored = [SampleResult("s", 0, scores={"f1": None}, confidence=0.5)]
    assert check(result, {"aurc": 1}, unscored).message == "no sample has a score of f1"


@pytest.mark.full
def test_groups_are_drawn_whole(result: Result) -> None:
    """Two groups of equal rows: the mean is 0, 0.5 or 1; by sample there are more values."""
    rows: Sequence[Row] = [(0.5, 1.0)] * 20 + [(0.5, 0.0)] * 20
    samples = samples_of(rows, metadata=[{"chat": at // 20} for at in range(40)])
    gate = {"selective": {"coverage": 1, "min": 0.1}}
    whole = check(result, gate, samples, group_by="chat")
    ends = mean_bounds([1.0, 0.0], [1.0, 1.0], 0.025)
    assert whole.message.endswith(f"95 % interval {ends[0]:.4f}..{ends[1]:.4f} by chat)")
    alone = check(result, gate, samples)
    assert "interval 0.3" in alone.message
    area = check(result, {"aurc": 1}, samples, group_by="chat")
    assert area.message.endswith("no interval: fewer than 10 values of chat)")


def test_no_spread_is_no_interval(result: Result) -> None:
    """Three perfect answers do not prove a perfect system."""
    found = check(result, {"aurc": 1}, samples_of([(0.9, 1.0)] * 10))
    assert found.message.endswith("(n 10, no interval: resamples do not vary)")
    found = check(result, {"aurc": 1}, samples_of(THREE))
    assert found.message.endswith("(n 3, no interval: fewer than 10 samples)")
    one = Ranked([0.5], [1.0], [1.0])
    assert bootstrap_interval(one, aurc) is None


@pytest.mark.full
def test_an_interval_is_the_same_every_time_and_holds_the_figure() -> None:
    rows = Ranked([at / 30 for at in range(30)], [at % 3 / 2 for at in range(30)], [1.0] * 30)
    figure = selective_mean(0.5)
    low, high = bootstrap_interval(rows, figure) or (0.0, 0.0)
    assert (low, high) == bootstrap_interval(rows, figure)
    assert 0.0 < low < figure(rows, rows.once) < high < 1.0


def test_the_weighted_score_has_both(result: Result) -> None:
    samples = samples_of(THREE)
    found = check(result, {"aurc": 0.25}, samples, target="weighted_score")
    assert (found.outcome, found.name) == ("passed", "weighted_score.aurc")


def test_the_surest_of_the_worst_answers_are_shown(result: Result) -> None:
    """Those that the mean is over, lowest first, but for the perfect one."""
    made = result(samples_of(THREE), MetricColumn("f1"))
    (gate,) = make_gates({"f1": {"selective": {"coverage": 0.5, "min": 0.8}}}, made.info)
    (worst,) = gate.worst_samples(made, gate.check(made))
    assert worst.heading == "the worst f1 of the 2 most confident:"
    assert [(text, sample.sample_id) for text, sample in worst.rows] == [("0.5000", "s1")]


@pytest.mark.parametrize(
    ("gate", "missed"),
    [
        ({"aurc": 0.1}, {"s1": ["f1 0.5000"]}),
        (
            {"selective": {"coverage": 1.0, "min": 0.6}},
            {"s1": ["f1 0.5000 < 0.6000"], "s2": ["f1 0.0000 < 0.6000"]},
        ),
    ],
)
def test_a_risk_bounds_no_score(result: Result, gate: dict[str, Any], missed: Any) -> None:
    """The area is (0 + 1/4 + 1/2) / 3: the perfect answer is above no bound of it.

    Half of the samples are two of three.
    """
    made = result(samples_of(THREE), MetricColumn("f1"), gates={"f1": gate})
    made = replace(made, gates=(check(result, gate, samples_of(THREE)),))
    found = WhatIsWrong(RunView(made)).answers
    assert {one.sample.sample_id: one.missed for one in found} == missed


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ({"selective": 0.8}, "expected a mapping, for instance {coverage: 0.8, min: 0.9}"),
        ({"selective": {"coverage": 0.0, "min": 1}}, "expected a number"),
        ({"selective": {"min": 0.5}}, "coverage"),
        ({"selective": {"coverage": 0.5}}, "expected a number, or a mapping with 'min' or 'max'"),
        ({"selective": {"coverage": 0.5, "min": 2}}, "min 2 is outside the range 0..1"),
        ({"aurc": 1.5}, "max 1.5 is outside the range 0..1"),
    ],
)
def test_what_cannot_be_is_refused(result: Result, gate: dict[str, Any], message: str) -> None:
    with pytest.raises(GateOptionError) as caught:
        check(result, gate, samples_of(THREE))
    assert message in f"{caught.value.path} {caught.value}"


def test_an_open_range_has_no_risk(result: Result) -> None:
    """1 minus seconds is nothing."""
    seconds = MetricColumn("f1", ends=(0.0, None))
    with pytest.raises(GateOptionError, match=r"needs scores from 0 to 1, and f1 has .* 0\.\.inf"):
        check(result, {"aurc": 1}, samples_of(THREE), seconds)

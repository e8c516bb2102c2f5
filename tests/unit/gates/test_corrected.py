"""F4: gates on means and differences that labels correct."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_rageval.gates.base import GateOptionError, make_gates
from pytest_rageval.model import (
    RANDOM,
    Baseline,
    GateResult,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioResult,
    answer_digest,
)

Result = Callable[..., ScenarioResult]

NOW, BEFORE = (answer_digest(answer, None) for answer in ("now", "before"))


def check(result: Result, gates: Mapping[str, Any], labels: Any, **fields: Any) -> GateResult:
    """Return the verdict on 100 samples that the judge scores 1, but for the last 20.

    ``columns`` may say more of the judge; ``labels`` are by number of the sample.
    """
    column = MetricColumn("judge", **fields.pop("column", {}))
    low, high = column.range
    samples = [
        SampleResult(f"s{at}", at, scores={"judge": high if at < 80 else low}, answer="now")
        for at in range(100)
    ]
    said = {f"s{at}": found for at, found in labels.items()}
    human = HumanLabels("judge", (low, high), "l.csv", said)
    run = result([*samples, *fields.pop("more", ())], column, human=(human,), **fields)
    (gate,) = make_gates(gates, run.info)
    return gate.check(run)


def people(values: Mapping[int, float]) -> dict[int, list[Label]]:
    return {at: [Label(value, "ann", RANDOM, NOW)] for at, value in values.items()}


# The judge is constant on the labelled: lambda is 0, and the mean that of the labels, 12 of 16.
SIXTEEN = {at: float(at % 4 > 0) for at in range(16)}


def test_the_mean_that_people_would_give_is_compared(result: Result) -> None:
    """F4: 0.75, where the judge alone says 0.8."""
    found = check(result, {"judge": {"min": 0.78, "corrected": True}}, people(SIXTEEN))
    assert (found.name, found.outcome) == ("judge.mean", "failed")
    assert found.observed == pytest.approx(0.75)
    assert "16 labelled answers; by the judge alone 0.8000" in found.message
    # With all 100 labelled the interval is 1.98 * sqrt(0.2/100) = 0.089 wide on either side.
    assert found.message.endswith("; not sure yet, nor would labels of all 100 answers decide it")


def test_the_lower_end_of_its_interval_is_compared(result: Result) -> None:
    """N8: .2 of the answers have a verdict without labels, of the others 12 of 16 are good.

    0.46272 is the 2.5 % quantile of 20 million draws (numpy) of W p + (1 - W) q, W ~ Beta(20, 80),
    p ~ Beta(1/2, 1/2), q ~ Beta(12.5, 4.5).
    """
    gates = {"judge": {"lower_bound": {"min": 0.5, "corrected": True}}}
    found = check(result, gates, people(SIXTEEN))
    assert found.observed == pytest.approx(0.46272, abs=1e-3)
    assert found.outcome == "failed"


@pytest.mark.parametrize(
    ("bound", "ending"),
    [
        (
            {"min": 0.76},
            "; people's mean 0.7500 is itself below 0.76: more labels will hardly help",
        ),
        (
            {"max": 0.74},
            "; people's mean 0.7500 is itself above 0.74: more labels will hardly help",
        ),
        ({"min": 0.45}, "by the judge alone 0.8000)"),
        ({"min": 0.6}, " labelled answers in all would decide it"),
    ],
)
def test_it_is_said_whether_more_labels_help(
    result: Result, bound: Mapping[str, float], ending: str
) -> None:
    """F4: not where people's own mean misses the bound."""
    gates = {"judge": {"lower_bound": {**bound, "corrected": True}}}
    assert check(result, gates, people(SIXTEEN)).message.endswith(ending)


@pytest.mark.parametrize(
    ("confidence", "count"), [({}, 48), ({"confidence": 0.8}, 21), ({"confidence": 0.99}, 83)]
)
def test_how_many_labels_decide_follows_the_confidence(
    result: Result, confidence: Mapping[str, float], count: int
) -> None:
    """t² .2 <= .13² n: t is 2.0117 of 47 degrees of freedom, 1.3253 of 20, 2.6371 of 82."""
    gates = {"judge": {"lower_bound": {"min": 0.62, "corrected": True, **confidence}}}
    said = f"not sure yet: {count} labelled answers in all would decide it"
    assert check(result, gates, people(SIXTEEN)).message.endswith(said)


def test_nine_labels_fail(result: Result) -> None:
    """F4: the gate does not fall back on the judge."""
    nine = people(dict.fromkeys(range(9), 1.0))
    found = check(result, {"judge": {"min": 0.1, "corrected": True}}, nine)
    assert (found.outcome, found.observed) == ("failed", None)


def test_a_scale_other_than_0_to_1_keeps_its_unit(result: Result) -> None:
    """F4: of labels from 1 to 5, three quarters are 5: a mean of 4."""
    labels = people({at: 1.0 + 4.0 * value for at, value in SIXTEEN.items()})
    gates = {"judge": {"mean": {"min": 4, "corrected": True}}}
    found = check(result, gates, labels, column={"ends": (1.0, 5.0)})
    assert found.observed == pytest.approx(4.0)


def regression(result: Result, labels: Any, **options: Any) -> GateResult:
    """Return the verdict against a run in which every answer was another, all scored 1."""
    names = [f"s{at}" for at in range(100)]
    before = Baseline(
        "main",
        names,
        {"judge": dict.fromkeys(names, 1.0)},
        digests=dict.fromkeys(names, BEFORE),
    )
    given = {"baseline": "main", "metrics": ["judge"], "corrected": True, **options}
    return check(result, {"no_regression": given}, labels, baselines={"main": before})


def pairs(values: Mapping[int, tuple[float, float]]) -> dict[int, list[Label]]:
    return {
        at: [Label(now, "ann", RANDOM, NOW), Label(before, "ann", RANDOM, BEFORE)]
        for at, (now, before) in values.items()
    }


# Twenty pairs, one in four from good to bad: d = -0.25, S = 20 * 3/16 = 3.75, v = 3.75/19/20 is
# below (S + 1)/21/20 = 0.01131; t(19) = 2.0930: -0.25 +- 0.2226. The judge is constant.
FALL = {at: (float(at % 4 > 0), 1.0) for at in range(20)}


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({}, "failed"),
        ({"max_drop": 0.3}, "passed"),
        ({"mode": "exceeds", "max_drop": 0.02}, "failed"),
        ({"mode": "exceeds", "max_drop": 0.03}, "passed"),
        ({"mode": "non_inferior", "max_drop": 0.47}, "failed"),
        ({"mode": "non_inferior", "max_drop": 0.48}, "passed"),
        ({"mode": "any", "max_drop": 0.2}, "failed"),
    ],
)
def test_a_fall_that_people_see_is_judged_by_its_interval(
    result: Result, options: Mapping[str, Any], outcome: str
) -> None:
    """F4: from -0.4726 to -0.0274, where the judge alone saw -0.2."""
    found = regression(result, pairs(FALL), **options)
    assert found.outcome == outcome
    assert found.observed == pytest.approx(-0.25)
    assert "by people -0.2500 against main" in found.message
    assert "by the judge alone -0.2000" in found.message


@pytest.mark.parametrize(
    ("changed", "mode", "max_drop", "outcome"),
    [
        (0, "non_inferior", 0.0362, "failed"),
        (0, "non_inferior", 0.0363, "passed"),
        (3, "non_inferior", 0.0851, "failed"),
        (3, "non_inferior", 0.0852, "passed"),
        (3, "exceeds", 0.02, "failed"),
        (3, "exceeds", 0.03, "passed"),
    ],
)
def test_what_is_known_of_all_samples_excludes_no_fall_of_more_like_them(
    result: Result, changed: int, mode: str, max_drop: float, outcome: str
) -> None:
    """Of 100 answers ``changed`` fell from 1 to 0, all with labels.

    Falls are excluded as without labels: from the end of Clopper and Pearson's interval on. It is
    1 - 0.025^(1/100) = 0.03622 of 0 in 100, and 0.08518 of 3.
    """
    names = [f"s{at}" for at in range(100)]
    digests = {name: BEFORE if at < changed else NOW for at, name in enumerate(names)}
    before = Baseline("main", names, {"judge": dict.fromkeys(names, 1.0)}, digests=digests)
    options = {"metrics": ["judge"], "corrected": True, "mode": mode, "max_drop": max_drop}
    labels = pairs(dict.fromkeys(range(changed), (0.0, 1.0)))
    gate = {"no_regression": {"baseline": "main", **options}}
    assert check(result, gate, labels, baselines={"main": before}).outcome == outcome


def test_a_fall_that_may_go_unseen_is_named(result: Result) -> None:
    """F4: the interval is 0.2226 wide on either side, of which 80 % power takes 2.80/1.96."""
    found = regression(result, pairs(FALL), max_drop=0.3)
    assert found.message.endswith(
        "; with these labels, a fall below 0.3182 may go unseen (power 80 %)"
    )


def test_without_labels_on_both_sides_it_fails(result: Result) -> None:
    """F4: closed, and names the answers to label."""
    found = regression(result, people(SIXTEEN))
    assert found.outcome == "failed"
    assert (
        "draw both answers of 10 of them with 'pytest --rag-label 10' (for instance s0, s1, s2,"
        in found.message
    )
    assert regression(result, people(SIXTEEN), undecided="pass").outcome == "passed"
    options = {"undecided": "pass", "mode": "non_inferior"}
    found = regression(result, people(SIXTEEN), **options)
    assert (found.outcome, "no fall is excluded" in found.message) == ("failed", True)


@pytest.mark.parametrize("undecided", ["fail", "pass"])
def test_a_metric_without_any_pair_fails(result: Result, undecided: str) -> None:
    """F4: as without labels."""
    before = Baseline("main", ["x"], {"judge": {"x": 1.0}}, digests={"x": NOW})
    options = {"metrics": ["judge"], "corrected": True, "undecided": undecided}
    gate = {"no_regression": {"baseline": "main", **options}}
    found = check(result, gate, pairs(FALL), baselines={"main": before})
    assert (found.outcome, found.bound) == ("failed", 0.0)
    assert math.copysign(1.0, found.bound or 0.0) == 1.0, "not -0.0"


def test_lost_samples_fail(result: Result) -> None:
    """F4: labels do not make up for rows that are gone."""
    names = [f"s{at}" for at in range(200)]
    before = Baseline(
        "main",
        names,
        {"judge": dict.fromkeys(names, 1.0)},
        digests=dict.fromkeys(names, NOW),
    )
    gate = {"no_regression": {"baseline": "main", "metrics": ["judge"], "corrected": True}}
    found = check(result, gate, {}, baselines={"main": before})
    assert found.outcome == "failed"
    assert "only 100 of the 200 samples of main have a score in both runs" in found.message


def test_rows_that_rule_the_metric_out_are_no_lost_pairs(result: Result) -> None:
    """F4, 30 of 130, which neither run scored: as without labels."""
    more = [SampleResult(f"r{at}", 100 + at, left_out={"judge": "row"}) for at in range(30)]
    names = [*(f"s{at}" for at in range(100)), *(sample.sample_id for sample in more)]
    scores = {"judge": dict.fromkeys(names[:80], 1.0) | dict.fromkeys(names[80:100], 0.0)}
    before = Baseline("main", names, scores, digests=dict.fromkeys(names, NOW))
    gate = {"no_regression": {"baseline": "main", "metrics": ["judge"], "corrected": True}}
    found = check(result, gate, {}, baselines={"main": before}, more=more)
    assert "min_pairs" not in found.message


def test_a_fall_is_not_said_to_pass_undecided(result: Result) -> None:
    """It would not: people see one among the half of the rows that is there."""
    names = [f"s{at}" for at in range(200)]
    scores = {"judge": dict.fromkeys(names, 1.0)}
    before = Baseline("main", names, scores, digests=dict.fromkeys(names, BEFORE))
    gate = {"no_regression": {"baseline": "main", "metrics": ["judge"], "corrected": True}}
    found = check(result, gate, pairs(FALL), baselines={"main": before})
    assert "it fails by the pairs there are: only 100 of the 200" in found.message
    assert "to let it pass" not in found.message


def test_per_cent_of_the_judges_mean_is_refused(result: Result) -> None:
    """F4: people's mean of the baseline is not known."""
    with pytest.raises(GateOptionError, match="give the fall as a number"):
        regression(result, pairs(FALL), max_drop="5%")

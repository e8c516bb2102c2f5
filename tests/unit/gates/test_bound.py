"""E5: the gates lower_bound and quantile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from gated import Result, check, scored

from pytest_rageval.gates.base import GateOptionError, make_gates
from pytest_rageval.model import (
    GateResult,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
)

Info = Callable[..., ScenarioInfo]


# lower_bound: three of four. Clopper and Pearson's interval (scipy.stats.binomtest): 4p³ - 3p⁴
# is 0.025 at the lower end, 1 - p⁴ at the upper.

LOW = 0.19412044968324338
HIGH = 0.975**0.25
T_3 = 3.182446305284263  # t(0.975; 3)


def test_the_lower_end_of_the_interval_is_compared(result: Result) -> None:
    """E5: the mean is 0.75, and chance may have given much of it."""
    samples = scored(1.0, 1.0, 1.0, 0.0)
    found = check(result, {"f1": {"lower_bound": 0.1}, "em": {"lower_bound": 0.7}}, samples)
    low, high = found["f1.lower_bound"], found["em.lower_bound"]
    assert 0.1 < LOW < 0.7
    assert (low.outcome, high.outcome) == ("passed", "failed")
    assert low.observed == high.observed == pytest.approx(LOW, abs=1e-9)
    assert (low.bound, high.bound) == (0.1, 0.7)
    assert high.message == (
        f"{LOW:.4f} < 0.7000 (95 % interval {LOW:.4f}..{HIGH:.4f} of the mean 0.7500, n 4)"
    )
    assert high.margin == pytest.approx(LOW - 0.7, abs=1e-9)


def test_it_is_the_end_that_the_table_shows(result: Result) -> None:
    """E5: of the weighted score, too, weighted by sample."""
    samples = scored(0.9, 0.8, 0.3, sample_weight=[3.0, 1.0, 2.0])
    made = result(samples)
    options = {"weighted_score": {"lower_bound": 0.1}, "f1": {"lower_bound": 0.1}}
    observed = [gate.check(made).observed for gate in make_gates(options, made.info)]
    assert observed == [made.weighted_score.ci_low, made.metrics["f1"].ci_low]


def test_the_upper_end_counts_where_lower_is_better(result: Result) -> None:
    """E5: a number is a maximum then."""
    noise = MetricColumn("noise", higher_is_better=False)
    samples = scored(1.0, 1.0, 1.0, 0.0, metric="noise")
    (found,) = check(result, {"noise": {"lower_bound": 0.8}}, samples, noise).values()
    assert found.observed == pytest.approx(HIGH, abs=1e-9)
    assert (found.outcome, found.bound) == ("failed", 0.8)


def test_a_maximum_asks_for_the_upper_end(result: Result) -> None:
    samples = scored(1.0, 1.0, 1.0, 0.0)
    (found,) = check(result, {"f1": {"lower_bound": {"max": 0.8}}}, samples).values()
    assert found.observed == pytest.approx(HIGH, abs=1e-9)
    assert found.outcome == "failed"


def test_another_confidence(result: Result) -> None:
    """4p³ - 3p⁴ = 0.1 for 80 %."""
    low = 0.32046058372181807
    assert 4 * low**3 - 3 * low**4 == pytest.approx(0.1, abs=1e-12)
    options = {"f1": {"lower_bound": {"min": 0.1, "confidence": 0.8}}}
    (found,) = check(result, options, scored(1.0, 1.0, 1.0, 0.0)).values()
    assert found.observed == pytest.approx(low, abs=1e-9)
    assert "(80 % interval " in found.message


@pytest.mark.parametrize("scores", [(), (1.0,), (1.0, None)])
def test_too_few_scores_for_an_interval_fail(result: Result, scores: tuple[Any, ...]) -> None:
    """E5, A20: no interval is no pass."""
    (found,) = check(result, {"f1": {"lower_bound": 0.0}}, scored(*scores)).values()
    assert (found.outcome, found.observed, found.bound) == ("failed", None, 0.0)
    count = sum(score is not None for score in scores)
    assert found.message.startswith(f"{count} ")
    assert "of f1" in found.message


def test_skipped_samples_and_weights_of_zero_are_no_scores(result: Result) -> None:
    """E5: two samples are left of five."""
    samples = scored(1.0, 0.0, 1.0, None, 0.5, sample_weight=[1.0, 1.0, 0.0, 1.0, 1.0])
    samples[4] = SampleResult("s4", 4, "skipped", scores={"f1": 0.5, "em": 0.5})
    two = scored(1.0, 0.0)
    options = {"f1": {"lower_bound": 0.0}}
    found = check(result, options, samples)["f1.lower_bound"]
    assert found.observed == check(result, options, two)["f1.lower_bound"].observed


def test_an_unbounded_metric_has_a_lower_bound(result: Result) -> None:
    """1, 2, 3, 4: mean 2.5, half width t·√(5/3)/2."""
    free = MetricColumn("free", ends=(None, None))
    samples = scored(1.0, 2.0, 3.0, 4.0, metric="free")
    (found,) = check(result, {"free": {"lower_bound": -1}}, samples, free).values()
    assert found.observed == pytest.approx(2.5 - T_3 * math.sqrt(5 / 3) / 2, abs=1e-9)


def test_a_group_counts_as_often_as_a_sample_of_its_weight(result: Result) -> None:
    """Two equal samples of each of four documents say no more than four samples."""
    scores, docs = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0), [*"aabbccdd"]
    samples = scored(*scores, doc_name=docs)
    options = {"f1": {"lower_bound": 0.1}}
    (found,) = check(result, options, samples, group_by="doc_name").values()
    assert found.observed == pytest.approx(LOW, abs=1e-9)
    assert found.message.endswith("of the mean 0.7500, n 8 in 4 groups)")


def test_one_group_has_no_interval(result: Result) -> None:
    """However many scores it has."""
    samples = scored(1.0, 0.5, 0.0, doc_name=["a", "a", "a"])
    options = {"f1": {"lower_bound": 0.1}}
    (found,) = check(result, options, samples, group_by="doc_name").values()
    assert found == GateResult(
        "f1.lower_bound",
        "failed",
        None,
        0.1,
        "3 scores of f1 in 1 group (doc_name) are too few for an interval"
        ": at least 2 groups with a weight above 0 are needed",
    )


def test_one_score_is_too_few(result: Result) -> None:
    (found,) = check(result, {"f1": {"lower_bound": 0.1}}, scored(1.0)).values()
    assert found.message == "1 score of f1 is too few for an interval"


def test_the_weighted_score_has_the_range_of_what_enters_it(result: Result) -> None:
    """An unbounded metric enters: 1, 2, 3, 4 as above. f1, which weighs nothing, keeps its own."""
    columns = (MetricColumn("free", ends=(None, None)), MetricColumn("f1", weight=0.0))
    samples = [
        SampleResult(
            f"s{at}",
            at,
            weighted_score=at + 1.0,
            scores={"free": at + 1.0, "f1": 1.0 if at else 0.0},
        )
        for at in range(4)
    ]
    options = {"weighted_score": {"lower_bound": 0.5}, "f1": {"lower_bound": 0.1}}
    found = check(result, options, samples, *columns)
    low = 2.5 - T_3 * math.sqrt(5 / 3) / 2
    assert found["weighted_score.lower_bound"].observed == pytest.approx(low, abs=1e-9)
    assert found["f1.lower_bound"].observed == pytest.approx(LOW, abs=1e-9)


# quantile


@pytest.mark.parametrize(
    ("q", "observed"),
    [(0.1, 0.1), (0.2, 0.2), (0.21, 0.2), (0.5, 0.3), (0.8, 0.9), (0.99, 0.9)],
)
def test_the_score_that_the_rest_of_the_samples_reaches(
    result: Result, q: float, observed: float
) -> None:
    """E5: of five, a fifth each; always one of the scores. But for one fifth, all reach 0.2."""
    (found,) = check(
        result, {"f1": {"quantile": {q: 0.3}}}, scored(0.9, 0.1, 0.3, 0.4, 0.2)
    ).values()
    assert found.name == f"f1.quantile.{q:g}"
    assert found.observed == observed
    assert found.outcome == ("passed" if observed >= 0.3 else "failed")
    assert found.message.endswith(" (n 5)")


def test_the_shares_are_of_the_weight(result: Result) -> None:
    """E5: 0.1 has 1 of 10, 0.9 the rest: nine tenths reach 0.9, and no more than these."""
    samples = scored(0.9, 0.1, sample_weight=[9.0, 1.0])
    options = {"f1": {"quantile": {0.09: 0.0, 0.1: 0.0}}}
    found = check(result, options, samples)
    assert [gate.observed for gate in found.values()] == [0.1, 0.9]


@pytest.mark.parametrize(
    "options",
    [{0.1: 0.3}, {"0.1": 0.3}, {"q": 0.1, "min": 0.3}, {0.1: {"min": 0.3}}],
)
def test_the_forms_of_a_quantile(result: Result, options: Any) -> None:
    """E5: JSON and command lines have no keys that are numbers."""
    (found,) = check(result, {"f1": {"quantile": options}}, scored(0.2, 0.9)).values()
    assert (found.name, found.observed, found.bound) == ("f1.quantile.0.1", 0.2, 0.3)
    assert found.outcome == "failed"


def test_several_quantiles_are_several_gates(result: Result) -> None:
    options = {"weighted_score": {"quantile": {0.1: 0.3, 0.5: 0.5}, "mean": 0.1}}
    found = check(result, options, scored(0.2, 0.6, 0.9))
    assert {name: gate.outcome for name, gate in found.items()} == {
        "weighted_score.quantile.0.1": "failed",
        "weighted_score.quantile.0.5": "passed",
        "weighted_score": "passed",
    }


def test_a_quantile_is_a_maximum_where_lower_is_better(result: Result) -> None:
    """E5: nine of ten must not be noisier than 0.5."""
    noise = MetricColumn("noise", higher_is_better=False)
    samples = scored(0.1, 0.6, metric="noise")
    (found,) = check(result, {"noise": {"quantile": {0.9: 0.5}}}, samples, noise).values()
    assert (found.observed, found.outcome) == (0.6, "failed")


@pytest.mark.parametrize("n", [10, 20, 30, 100])
def test_nine_of_ten_are_enough_where_one_may_be_worse(result: Result, n: int) -> None:
    """E5: as the reference says of {0.1: 0.3}. One sample more below it is too many."""
    options = {"f1": {"quantile": {0.1: 0.3}}}
    exactly, more = [0.0] * (n // 10), [0.0] * (n // 10 + 1)
    (met,) = check(result, options, scored(*exactly, *[1.0] * (n - len(exactly)))).values()
    (missed,) = check(result, options, scored(*more, *[1.0] * (n - len(more)))).values()
    assert (met.outcome, met.observed) == ("passed", 1.0)
    assert (missed.outcome, missed.message) == ("failed", f"0.0000 < 0.3000 (n {n})")


def test_nine_of_ten_are_enough_below_a_maximum(result: Result) -> None:
    """E5: nine do not exceed 0.5; of ten, eight are too few."""
    options = {"f1": {"quantile": {0.9: {"max": 0.5}}}}
    (met,) = check(result, options, scored(*[0.2] * 9, 1.0)).values()
    (missed,) = check(result, options, scored(*[0.2] * 8, 1.0, 1.0)).values()
    assert (met.outcome, met.observed) == ("passed", 0.2)
    assert (missed.outcome, missed.observed) == ("failed", 1.0)


@pytest.mark.parametrize(
    ("bound", "outcome", "observed"),
    [
        ({"min": 0.3, "max": 0.8}, "passed", 0.9),
        ({"min": 0.95, "max": 0.96}, "failed", 0.9),
        ({"min": 0.05, "max": 0.08}, "failed", 0.1),
    ],
)
def test_each_end_has_its_own_quantile(
    result: Result, bound: Any, outcome: str, observed: float
) -> None:
    """E5: two of four are 0.1, two 0.9: half reach 0.9 and none 0.95, half do not exceed 0.1.

    The end that is nearer is shown: 0.9 - 0.3 = 0.6 and 0.8 - 0.1 = 0.7.
    """
    options = {"f1": {"quantile": {0.5: bound}}}
    (found,) = check(result, options, scored(0.1, 0.9, 0.1, 0.9)).values()
    assert (found.outcome, found.observed) == (outcome, observed)


def test_a_quantile_of_nothing_fails(result: Result) -> None:
    """A20."""
    for bound in (0.0, {"min": 0.0, "max": 1.0}):
        (found,) = check(result, {"f1": {"quantile": {0.5: bound}}}, scored(None)).values()
        assert (found.outcome, found.observed, found.message) == (
            "failed",
            None,
            "no sample has a score of f1",
        )


# Of slices, and what cannot be asked


def test_both_can_be_asked_of_slices(result: Result) -> None:
    """E5: b.pdf has one score, too few for an interval."""
    samples = scored(1.0, 0.9, 0.2, doc_name=["a.pdf", "a.pdf", "b.pdf"])
    options = {"by": {"doc_name": {"f1": {"lower_bound": 0.01, "quantile": {0.5: 0.5}}}}}
    found = check(result, options, samples)
    bound = found["by.doc_name.f1.lower_bound"]
    assert bound.outcome == "failed"
    assert "1 of 2 values of doc_name: b.pdf: 1 score" in bound.message
    quantile = found["by.doc_name.f1.quantile.0.5"]
    assert (quantile.outcome, quantile.observed) == ("failed", 0.2)


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        ({"lower_bound": "high"}, ("f1", "lower_bound"), "expected a number, found 'high'"),
        ({"lower_bound": 1.5}, ("f1", "lower_bound"), "min 1.5 is outside the range 0..1"),
        ({"lower_bound": None}, ("f1", "lower_bound"), "expected a number, or a mapping"),
        ({"lower_bound": {}}, ("f1", "lower_bound"), "expected a number, or a mapping"),
        ({"lower_bound": {"confidence": 0.9}}, ("f1", "lower_bound"), "expected a number"),
        ({"quantile": {"x-why": 1}}, ("f1", "quantile"), "expected a mapping, for instance"),
        ({"lower_bound": {"min": 0.1, "max": 0.9}}, ("f1", "lower_bound"), "either 'min' or 'max'"),
        (
            {"lower_bound": {"min": 0.1, "confidence": 95}},
            ("f1", "lower_bound", "confidence"),
            "expected a number between 0 and 1, found 95",
        ),
        ({"quantile": 0.5}, ("f1", "quantile"), "expected a mapping, for instance {0.1: 0.3}"),
        ({"quantile": {}}, ("f1", "quantile"), "expected a mapping, for instance {0.1: 0.3}"),
        ({"quantile": {0: 0.3}}, ("f1", "quantile", "0"), "expected a number between 0 and 1"),
        ({"quantile": {"p10": 0.3}}, ("f1", "quantile", "p10"), "between 0 and 1, found 'p10'"),
        ({"quantile": {0.1: "low"}}, ("f1", "quantile", "0.1"), "expected a number, found"),
        ({"quantile": {0.1: 7}}, ("f1", "quantile", "0.1"), "outside the range 0..1"),
        ({"quantile": {"q": 0.1}}, ("f1", "quantile"), "expected a number, or a mapping"),
        ({"quantle": {0.1: 0.3}}, ("f1", "quantle"), "Did you mean 'quantile'?"),
        # Two gates of one name would be one node id.
        ({"quantile": {0.1: 0.3, "0.10": 0.4}}, ("f1", "quantile"), "twice"),
    ],
)
def test_what_is_no_bound_is_refused_where_it_stands(
    info: Info, options: dict[str, Any], path: tuple[str, ...], message: str
) -> None:
    """E12."""
    with pytest.raises(GateOptionError) as caught:
        make_gates({"f1": options}, info())
    assert message in str(caught.value)
    assert caught.value.path == path


@pytest.mark.parametrize("name", ["lower_bound", "quantile"])
def test_neither_stands_alone(info: Info, name: str) -> None:
    """They are checks of a metric."""
    with pytest.raises(GateOptionError, match=f"unknown gate or metric '{name}'"):
        make_gates({name: 0.5}, info())

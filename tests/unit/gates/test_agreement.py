"""F3: the gate agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_rageval.gates.base import GateOptionError, make_gates
from pytest_rageval.model import (
    RANDOM,
    GateResult,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.stats.corrected_means import corrected_of

Result = Callable[..., ScenarioResult]

JUDGE = MetricColumn("judge")
NOW = answer_digest("now", None)


def rated(pairs: Sequence[tuple[float, float]], **fields: Any) -> dict[str, Any]:
    """Return samples with these scores of judge and people, and the labels."""
    samples = [
        SampleResult(f"s{at}", at, scores={"judge": judge}, answer="now")
        for at, (judge, _) in enumerate(pairs)
    ]
    labels = {f"s{at}": [Label(said, "ann", RANDOM, NOW)] for at, (_, said) in enumerate(pairs)}
    return {"samples": samples, "labels": labels, **fields}


def check(result: Result, options: Mapping[str, Any], given: Mapping[str, Any]) -> Any:
    human = HumanLabels("judge", (0.0, 1.0), "l.csv", given["labels"])
    run = result(given["samples"], JUDGE, human=(human,))
    gates = make_gates({"judge": {"agreement": options}}, run.info)
    return {gate.name.removeprefix("judge.agreement."): gate.check(run) for gate in gates}


# Judge and people: 8 good and 7 bad alike, 2 that only the judge accepts, 3 that only people do.
# observed 15/20 = 0.75, by chance (10 * 11 + 10 * 9)/400 = 0.5: kappa 0.5; sensitivity 8/11,
# specificity 7/9; bias (10 - 11)/20 = -0.05.
TWENTY = [(1.0, 1.0)] * 8 + [(0.0, 0.0)] * 7 + [(1.0, 0.0)] * 2 + [(0.0, 1.0)] * 3


def test_each_coefficient_has_its_verdict(result: Result) -> None:
    """F3: a number is the least, for the bias the largest in either direction."""
    options = {"kappa": 0.5, "sensitivity": 0.8, "specificity": {"min": 0.7}, "bias": 0.05}
    found = check(result, options, rated(TWENTY))
    assert {name: (one.outcome, one.observed) for name, one in found.items()} == {
        "kappa": ("passed", pytest.approx(0.5)),
        "sensitivity": ("failed", pytest.approx(8 / 11)),
        "specificity": ("passed", pytest.approx(7 / 9)),
        "bias": ("passed", pytest.approx(0.05)),
    }
    assert "judge minus people -0.0500" in found["bias"].message


def test_the_lower_end_of_an_interval_is_a_gate_of_its_own(result: Result) -> None:
    """F3: Wilson's lower end for 7 of 9 is 0.4526 (statsmodels)."""
    found = check(result, {"specificity": {"lower_bound": 0.46, "min": 0.7}}, rated(TWENTY))
    assert found["specificity"].outcome == "passed"
    assert found["specificity.lower_bound"].outcome == "failed"
    assert found["specificity.lower_bound"].observed == pytest.approx(0.4526, abs=5e-5)


def test_too_few_labels_fail_and_say_how_many_more(result: Result) -> None:
    """F3: whatever the coefficient."""
    (found,) = check(result, {"kappa": 0.1, "min_labels": 50}, rated(TWENTY)).values()
    assert found.outcome == "failed"
    assert found.message == (
        "20 labelled answers, 50 are needed: label 30 more (pytest --rag-label 30 draws them)"
    )
    (alone,) = check(result, {"min_labels": 20}, rated(TWENTY)).values()
    assert (alone.name, alone.outcome) == ("judge.agreement.min_labels", "passed")


def test_what_is_not_counted_are_answers(result: Result) -> None:
    """F3: two people labelled an earlier answer, and two differ about another one."""
    given = rated(TWENTY)
    before = answer_digest("before", None)
    given["labels"]["s0"] = [Label(1.0, one, RANDOM, before) for one in ("ann", "bo")]
    given["labels"]["s1"].append(Label(0.0, "bo", RANDOM, NOW))
    (found,) = check(result, {"min_labels": 50}, given).values()
    assert found.message == (
        "18 labelled answers, 50 are needed: label 32 more (pytest --rag-label 32 draws them); not "
        "counted: 1 with labels of earlier answers only, 1 on which people are split"
    )


def test_a_file_without_labels_is_the_reason(result: Result) -> None:
    """F5: rather than to draw more."""
    human = HumanLabels("judge", (0.0, 1.0), "l.csv", blank="none of the 30 rows has a label")
    run = result(rated(TWENTY)["samples"], JUDGE, human=(human,))
    (gate,) = make_gates({"judge": {"agreement": {"kappa": 0.5}}}, run.info)
    found = gate.check(run)
    assert found.message == ("0 labelled answers, 10 are needed: none of the 30 rows has a label")
    assert corrected_of(run, human).why == "none of the 30 rows has a label"


def test_nine_labels_are_too_few_without_min_labels(result: Result) -> None:
    """F3: the least is ten."""
    found = check(result, {"ac1": 0.1}, rated(TWENTY[:9]))
    assert found["ac1"].outcome == "failed"


def test_an_undefined_coefficient_fails_with_the_reason(result: Result) -> None:
    """F3: one level on both sides says nothing, though all agree."""
    found = check(result, {"kappa": 0.1, "ac1": 0.9}, rated([(1.0, 1.0)] * 12))
    assert found["kappa"].outcome == "failed"
    assert found["kappa"].message.startswith("kappa is undefined: people and the judge use one")
    assert found["ac1"].outcome == "passed"


def test_a_slice_is_judged_by_its_own_labels(result: Result) -> None:
    """F3: ten samples of each document, and the judge is wrong about all of one."""
    pairs = [(1.0, 1.0), (0.0, 0.0)] * 5 + [(1.0, 0.0), (0.0, 1.0)] * 5
    given = rated(pairs)
    samples = [
        SampleResult(
            one.sample_id, one.index, scores=one.scores, answer="now", doc_name=f"d{at // 10}"
        )
        for at, one in enumerate(given["samples"])
    ]
    human = HumanLabels("judge", (0.0, 1.0), "l.csv", given["labels"])
    run = result(samples, JUDGE, human=(human,))
    (gate,) = make_gates({"by": {"doc_name": {"judge": {"agreement": {"kappa": 0.5}}}}}, run.info)
    found: GateResult = gate.check(run)
    assert found.outcome == "failed"
    assert found.message.startswith("1 of 2 values of doc_name: d1: -1.0000 < 0.5000")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "expected a mapping"),
        ({"kapa": 0.5}, "unknown coefficient 'kapa'. Did you mean 'kappa'?"),
        ({"kappa": 2}, "outside the range -1..1"),
        ({"auc": {"lower_bound": 0.5}}, "auc has no interval"),
        ({"min_labels": 5}, "expected a whole number from 10 on, found 5"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    result: Result, options: Mapping[str, Any], words: str
) -> None:
    """F3: before anything is scored."""
    with pytest.raises(GateOptionError, match=words.replace("?", r"\?")):
        check(result, options, rated(TWENTY))

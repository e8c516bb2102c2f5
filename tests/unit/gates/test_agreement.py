"""F3: the gate agreement."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.gates.agreement import AgreementSpec, ends_of_coefficient
from pytest_rageval.gates.base import GateOptionError, make_gates
from pytest_rageval.model import (
    CHOSEN,
    RANDOM,
    Draw,
    GateResult,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.stats.labels.agreement import agreement_of
from pytest_rageval.stats.labels.corrected_means import corrected_of

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


def test_a_bias_with_a_bound_from_below_has_a_direction(result: Result) -> None:
    """F3: -0.05 is 0.05 in either direction, and below -0.04."""
    for options, outcome in (({"min": -0.04, "max": 0.1}, "failed"), ({"max": 0.1}, "passed")):
        (found,) = check(result, {"bias": options}, rated(TWENTY)).values()
        assert found.outcome == outcome


@pytest.mark.parametrize(
    ("both", "lost", "outcome"),
    [(9, "", "failed"), (10, "", "passed"), (10, "answer", "failed"), (10, "score", "failed")],
)
def test_people_agree_only_on_what_two_of_them_labelled(
    result: Result, both: int, lost: str, outcome: str
) -> None:
    """F3: whatever number one of them labelled; some are good, some bad, so that alpha is 1.

    An answer that has changed since, or that has no score, does not count.
    """
    given = rated([(1.0, 1.0), (0.0, 0.0)] * 11)
    if lost:
        fields = {"answer": "new"} if lost == "answer" else {"scores": {"judge": None}}
        given["samples"][0] = replace(given["samples"][0], **fields)
    for name in list(given["labels"])[:both]:
        (one,) = given["labels"][name]
        given["labels"][name] = [one, replace(one, annotator="bob")]
    found = check(result, {"alpha": 0.8, "ceiling": 0.8, "min_labels": 20}, given)
    assert {one.outcome for one in found.values()} == {outcome}
    told = "9 labelled answers by two people or more, 10 are needed" in found["alpha"].message
    assert told == (outcome == "failed")
    stale = list(given["labels"])[-1]  # of an earlier answer two people say nothing of this one
    given["labels"][stale] = [Label(1.0, one, RANDOM, "before") for one in ("ann", "bob")]
    found = check(result, {"alpha": 0.8, "ceiling": 0.8, "min_labels": 20}, given)
    assert {one.outcome for one in found.values()} == {outcome}


@pytest.mark.parametrize("more", [0, 1])
def test_a_new_row_makes_no_label_stand_for_less(result: Result, more: int) -> None:
    """F3: 10 labels of the 30 that are accepted, half of them wrong, and 10 of 10 rejected ones.

    A label of the former stands for 3: specificity 10 / (10 + 5 * 3); without weights 10 of 15.
    """
    given = rated([(1.0, 1.0)] * 5 + [(1.0, 0.0)] * 25 + [(0.0, 0.0)] * 10 + [(1.0, 1.0)] * more)
    names = [sample.sample_id for sample in given["samples"]]
    strata = {name: "s-hi" if at < 30 else "s-lo" for at, name in enumerate(names[:40])}
    labels = {
        name: [replace(given["labels"][name][0], drawn=strata[name])]
        for name in [*names[:10], *names[30:40]]
    }
    draw = Draw(dict.fromkeys(names[:40], NOW), strata)
    human = HumanLabels("judge", (0.0, 1.0), "l.csv", labels, draws=(draw,))
    run = result(given["samples"], JUDGE, human=(human,))
    (gate,) = make_gates({"judge": {"agreement": {"specificity": 0.5}}}, run.info)
    found = gate.check(run)
    assert (found.outcome, found.observed) == ("failed", pytest.approx(0.4))


def test_chosen_labels_beside_drawn_ones_are_said_to_take_their_weights(result: Result) -> None:
    """F3: of ranks, and of draws without strata, there is nothing to say.

    Nothing hangs on the draw then: without its record, the figure is the same, and that is said.
    """
    given = rated([*TWENTY, (1.0, 0.0), (1.0, 0.0)])
    (chosen,), _ = given["labels"]["s20"], given["labels"].pop("s21")
    for code, said in (("s-a", "1 labelled answer chosen by a person"), (RANDOM, "")):
        draw = Draw({f"s{at}": NOW for at in range(22)}, {f"s{at}": code for at in range(22)})
        labels = {
            name: [replace(one, drawn=code) for one in views]
            for name, views in given["labels"].items()
        }
        labels["s20"] = [replace(chosen, drawn=CHOSEN)]
        human = HumanLabels("judge", (0.0, 1.0), "l.csv", labels, [draw])
        run = result(given["samples"], JUDGE, human=(human,))
        options = {"judge": {"agreement": {"kappa": 0.1, "auc": 0.1}}}
        kappa, auc = (gate.check(run) for gate in make_gates(options, run.info))
        assert said in kappa.message
        assert ("chosen" in kappa.message) == bool(said)
        assert "chosen" not in auc.message
        human = replace(human, draws=())
        lost = result(given["samples"], JUDGE, human=(human,))
        message = kappa.message.replace("stratum", "stratum, and no draws.json has all strata")
        assert make_gates(options, lost.info)[0].check(lost) == replace(kappa, message=message)
        # A sample without a weight is in no stratum: it takes none away.
        given["samples"][20] = replace(given["samples"][20], sample_weight=0.0)
        human = replace(human, draws=[draw])
        run = result(given["samples"], JUDGE, human=(human,))
        assert "chosen" not in make_gates(options, run.info)[0].check(run).message
        given["samples"][20] = replace(given["samples"][20], sample_weight=1.0)


def test_the_lower_end_of_an_interval_is_a_gate_of_its_own(result: Result) -> None:
    """F3: that of the mean of 7 ones in 9: Clopper and Pearson's by scipy.stats.binomtest."""
    found = check(result, {"specificity": {"lower_bound": 0.46, "min": 0.7}}, rated(TWENTY))
    assert found["specificity"].outcome == "passed"
    assert found["specificity.lower_bound"].outcome == "failed"
    assert found["specificity.lower_bound"].observed == pytest.approx(0.3999064, abs=5e-7)


def test_too_few_labels_fail_and_say_how_many_more(result: Result) -> None:
    """F3: whatever the coefficient."""
    (found,) = check(result, {"kappa": 0.1, "min_labels": 50}, rated(TWENTY)).values()
    assert found.outcome == "failed"
    assert found.message == (
        "20 labelled answers, 50 are needed: label 30 more (pytest s.yaml "
        "--rag-label 30 draws them)"
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
        "18 labelled answers, 50 are needed: label 32 more (pytest s.yaml "
        "--rag-label 32 draws them); not counted: 1 with labels of earlier answers only, "
        "1 on which people are split"
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


# Judge's score and the levels that one or two people gave, on which some coefficient is undefined.
DEGENERATE: Mapping[str, Sequence[tuple[float, Sequence[float]]]] = {
    "one class of labels": [(1.0, [1.0])] * 9 + [(0.0, [1.0])] * 3,
    "one class of labels, the other": [(1.0, [0.0])] * 9 + [(0.0, [0.0])] * 3,
    "one class on both sides": [(1.0, [1.0, 1.0])] * 12,
    "one sample of a class": [(1.0, [1.0])] * 11 + [(0.0, [0.0])],
    "a constant judge": [(1.0, [1.0])] * 8 + [(1.0, [0.0])] * 4,
    "perfect": [(1.0, [1.0, 1.0])] * 6 + [(0.0, [0.0, 0.0])] * 6,
    "opposite": [(1.0, [0.0])] * 6 + [(0.0, [1.0])] * 6,
    "annotators who share no sample": [(1.0, [1.0])] * 6 + [(0.0, [0.0])] * 6,
    "people split on every sample": [(1.0, [1.0, 0.0])] * 12,
    "no level of the judge": [(0.4, [1.0])] * 6 + [(0.6, [0.0])] * 6,
    "nine labels": [(1.0, [1.0])] * 5 + [(0.0, [0.0])] * 4,
    "one label": [(1.0, [1.0])],
    "no label": [],
    "no score": [(math.nan, [1.0])] * 12,
}


def degenerate(result: Result, name: str, group_by: str | None) -> ScenarioResult:
    """Return a run whose samples are all of one group, if they have groups at all."""
    rows = DEGENERATE[name]
    samples = [
        SampleResult(
            f"s{at}",
            at,
            scores={} if math.isnan(score) else {"judge": score},
            answer="now",
            metadata={"question": "q"},
        )
        for at, (score, _) in enumerate(rows)
    ]
    labels = {
        f"s{at}": [Label(vote, who, RANDOM, NOW) for vote, who in zip(votes, "ab", strict=False)]
        for at, (_, votes) in enumerate(rows)
    }
    human = HumanLabels("judge", (0.0, 1.0), "l.csv", labels)
    return result(samples, JUDGE, human=(human,), group_by=group_by)


@pytest.mark.full
@pytest.mark.parametrize("group_by", [None, "question"])
@pytest.mark.parametrize("name", DEGENERATE)
def test_no_gate_raises_or_is_green_on_what_is_undefined(
    result: Result, name: str, group_by: str | None
) -> None:
    """N10: each coefficient and its lower end, bounded by the least that there is."""
    run = degenerate(result, name, group_by)
    (human,) = run.info.human
    found = agreement_of(run, human)
    for coefficient in AgreementSpec.model_fields.keys() - {"min_labels"}:
        least, _ = ends_of_coefficient(coefficient)
        options: dict[str, Any] = {coefficient: least}
        if coefficient == "bias":
            options = {coefficient: 1.0}
        else:
            options[coefficient] = {"min": least, "lower_bound": least}
        for gate in make_gates({"judge": {"agreement": options}}, run.info):
            ends = ("", "_low") if gate.name.endswith("lower_bound") else ("",)
            figures = [getattr(found, f"{coefficient}{end}") for end in ends]
            given = gate.check(run)
            is_defined = found.n >= 10 and None not in figures
            assert (given.outcome == "passed") == is_defined, gate.name
            assert given.message
            assert found.n < 10 or is_defined or ": " in given.message, gate.name


def test_labels_of_one_class_fail_the_gate_with_the_reason(result: Result) -> None:
    """N10: twelve answers that people accept say nothing of those that they reject."""
    given = rated([(1.0, 1.0)] * 9 + [(0.0, 1.0)] * 3)
    found = check(result, {"specificity": {"lower_bound": 0.7}, "auc": 0.5}, given)
    assert {name: (one.outcome, one.message) for name, one in found.items()} == {
        "specificity.lower_bound": (
            "failed",
            "specificity is undefined: people call no sample 0 (12 labelled answers)",
        ),
        "auc": ("failed", "auc is undefined: people use one level only (12 labelled answers)"),
    }


def test_one_group_with_labels_has_no_lower_end(result: Result) -> None:
    """N3: one question's answers may all be alike; kappa itself can still be bounded."""
    given = rated(TWENTY)
    given["samples"] = [replace(one, metadata={"question": "q"}) for one in given["samples"]]
    human = HumanLabels("judge", (0.0, 1.0), "l.csv", given["labels"])
    run = result(given["samples"], JUDGE, human=(human,), group_by="question")
    options = {"kappa": {"min": 0.5, "lower_bound": -0.9}}
    gates = make_gates({"judge": {"agreement": options}}, run.info)
    value, end = (gate.check(run) for gate in gates)
    assert (value.outcome, end.outcome) == ("passed", "failed")
    assert end.message == (
        "kappa 0.5000 has no interval: the labelled samples are, wholly or nearly, of one group "
        "(20 labelled answers)"
    )


@pytest.mark.parametrize(
    "name", ["ac1", "ac2", "weighted_kappa", "spearman", "kendall", "auc", "kappa"]
)
def test_perfect_agreement_on_twenty_labels_is_not_certain(result: Result, name: str) -> None:
    """N11: the lower end is a gate of its own, and well below 1."""
    given = rated([(1.0, 1.0), (0.0, 0.0)] * 10)
    found = check(result, {name: {"min": 1.0, "lower_bound": 0.95}}, given)
    assert found[name].outcome == "passed"
    assert found[f"{name}.lower_bound"].outcome == "failed"
    assert 0.6 < found[f"{name}.lower_bound"].observed < 0.9
    assert f"{name} 1.0000, 95 % interval" in found[f"{name}.lower_bound"].message


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
    ("options", "names"),
    [
        ({"kappa": 0.4}, ["kappa"]),
        ({"kappa": {"lower_bound": 0.1}}, ["kappa.lower_bound"]),  # no value of its own
        ({"kappa": {"value": 0.4}}, ["kappa"]),
        ({"kappa": {"max": 0.9}}, ["kappa"]),
        ({"bias": 0}, ["bias"]),
        ({"bias": 0.1, "kappa": 0}, ["kappa", "bias"]),
        ({"min_labels": 10}, ["min_labels"]),
    ],
)
def test_each_coefficient_with_a_bound_has_gates(
    result: Result, options: Mapping[str, Any], names: list[str]
) -> None:
    assert list(check(result, options, rated(TWENTY))) == names


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "expected a mapping"),
        ({"kapa": 0.5}, "unknown option 'kapa'. Did you mean 'kappa'?"),
        ({"kappa": 2}, "outside the range -1..1"),
        ({"bias": {"lower_bound": 0.5}}, "unknown option 'lower_bound'. Known: max, min, value"),
        ({"min_labels": 5}, "expected a number >= 10, found 5"),
        ({"kappa": None}, "expected a number, or a mapping with 'min' or 'max'"),
        ({"kappa": 0.4, "bias": None}, "expected a number, or a mapping with 'min' or 'max'"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    result: Result, options: Mapping[str, Any], words: str
) -> None:
    """F3: before anything is scored."""
    with pytest.raises(GateOptionError, match=words.replace("?", r"\?")):
        check(result, options, rated(TWENTY))

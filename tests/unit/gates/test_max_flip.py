"""F8: a gate on a mean that a second run may not turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.gates.base import Gate, GateOptionError, make_gates
from pytest_rageval.model import GateResult, MetricColumn, SampleResult, ScenarioResult

Result = Callable[..., ScenarioResult]

# {0, 1} twice among ten: mean .9, sd √(2 · .25)/10; (.9 - .8)/(sd · √2) = 1, and 1 - Φ(1) = .1587.
SIXTEEN = [[1.0, 1.0]] * 8 + [[0.0, 1.0]] * 2


def samples(values: Sequence[Sequence[float | None]]) -> list[SampleResult]:
    found = []
    for at, repeats in enumerate(values):
        scores = [value for value in repeats if value is not None]
        mean = sum(scores) / len(scores)
        details = {"a": {"repeats": {"values": list(repeats), "spread": None}}}
        found.append(
            SampleResult(f"s{at}", at, scores={"a": mean}, weighted_score=mean, details=details)
        )
    return found


def gate_and(
    result: Result, options: Any, found: Sequence[SampleResult], **fields: Any
) -> tuple[Gate, ScenarioResult]:
    made = result(found, MetricColumn("a"), **{"repeated": ("a",), **fields})
    (gate,) = make_gates(options, made.info)
    return gate, made


def check(result: Result, options: Any, found: Sequence[SampleResult]) -> GateResult:
    gate, made = gate_and(result, options, found)
    return gate.check(made)


@pytest.mark.parametrize(
    "options",
    [
        {"a": {"min": 0.8, "max_flip": 0.15}},
        {"a": {"mean": {"min": 0.8, "max_flip": 0.15}}},
        {"a": {"mean": 0.8, "max_flip": 0.15}},
        {"weighted_score": {"min": 0.8, "max_flip": 0.15}},
        {"a": {"min": 1.0, "max_flip": 0.15}},
        {"a": {"max": 0.8, "max_flip": 0.15}},
    ],
)
def test_what_a_second_run_may_turn_is_undecided(result: Result, options: Any) -> None:
    """On whichever side of the bound the mean is: .9 is .1 from each of them."""
    found = check(result, options, samples(SIXTEEN))
    assert found.outcome == "failed"
    assert found.message == (
        "cannot be decided: a second run would differ in 15.9 %, max_flip allows 15 %; "
        "ask more repeats or more rows"
    )
    assert found.flip_chance == pytest.approx(0.15866, abs=1e-5)
    assert (found.observed, found.margin) == (pytest.approx(0.9), None)


@pytest.mark.parametrize(("least", "outcome"), [(0.8, "passed"), (1.0, "failed")])
def test_a_chance_that_is_allowed_leaves_the_verdict(
    result: Result, least: float, outcome: str
) -> None:
    found = check(result, {"a": {"min": least, "max_flip": 0.16}}, samples(SIXTEEN))
    assert found.outcome == outcome
    assert found.message.endswith("(a second run would differ in 16 %)")


def test_fail_under_says_it_as_well(result: Result) -> None:
    found = check(result, {"fail_under": 0.8}, samples(SIXTEEN))
    assert found.message == "0.9000 >= 0.8000 (a second run would differ in 16 %)"
    assert found.flip_chance == pytest.approx(0.15866, abs=1e-5)


def test_equal_repeats_decide(result: Result) -> None:
    found = check(result, {"a": {"min": 0.8, "max_flip": 0.01}}, samples([[1.0, 1.0]] * 3))
    assert (found.outcome, found.flip_chance) == ("passed", None)
    assert found.message == "1.0000 >= 0.8000 (no flip seen in 2 repeats of 3 samples)"


def test_what_is_not_known_is_undecided(result: Result) -> None:
    """Two of three lack a second score, and the one that has them does not vary."""
    few = samples([[1.0, 1.0], [1.0, None], [None, 1.0]])
    known = "how sure this is, is not known: 2 of 3 judged samples lack a second score"
    found = check(result, {"a": {"min": 0.8, "max_flip": 0.4}}, few)
    assert (found.outcome, found.flip_chance) == ("failed", None)
    assert found.message.startswith(f"cannot be decided: {known}, max_flip allows 40 %; ")
    found = check(result, {"a": 0.8}, few)
    assert (found.outcome, found.message) == ("passed", f"1.0000 >= 0.8000 ({known})")


def test_samples_that_no_judge_was_asked_about_decide_nothing(result: Result) -> None:
    """All answers are empty, for instance."""
    empty = [replace(sample, details={}) for sample in samples([[0.0, 0.0]] * 3)]
    found = check(result, {"a": {"max": 0.8, "max_flip": 0.4}}, empty)
    assert found.outcome == "failed"
    assert "the judge scored no sample" in found.message


def test_a_mean_without_what_left_it_has_a_chance_of_its_own(result: Result) -> None:
    """The ten that are left have the mean .9, whatever the answer that left would have added."""
    (left,) = samples([[0.0, 0.0]])
    left = replace(left, index=10, details={}, left_out={"a": "answer"}, reasons={"a": "refused"})
    options = {"a": {"min": 0.8, "not_applicable": 0.2, "max_flip": 0.15}}
    found = check(result, options, [*samples(SIXTEEN), left])
    assert found.flip_chance == pytest.approx(0.15866, abs=1e-5)
    assert found.message.startswith("cannot be decided: a second run would differ in 15.9 %")


def test_by_says_it_for_each_value(result: Result) -> None:
    parts = [replace(sample, doc_name="d") for sample in samples(SIXTEEN)]
    found = check(result, {"by": {"doc_name": {"a": {"min": 0.8, "max_flip": 0.1}}}}, parts)
    assert found.outcome == "failed"
    assert "d: cannot be decided: a second run would differ in 15.9 %" in found.message


def test_it_has_no_verdict_before_the_last_sample(result: Result) -> None:
    gate, made = gate_and(result, {"a": {"min": 0.8, "max_flip": 0.1}}, samples(SIXTEEN))
    assert gate.watch(made.info, made.samples, 0.0) is None
    gate, made = gate_and(result, {"a": {"min": 0.8}}, samples(SIXTEEN))
    assert gate.watch(made.info, made.samples, 0.0) is not None


@pytest.mark.parametrize(
    ("columns", "fields", "why"),
    [
        ([MetricColumn("a")], {}, "needs 'repeats' of a judge"),
        ([MetricColumn("a"), MetricColumn("b")], {"repeated": ("b",)}, "no judge is asked for a"),
        ([MetricColumn("a", filled=True)], {"repeated": ("a",)}, "the middle one is kept"),
    ],
)
def test_it_is_refused_where_the_chance_is_never_known(
    info: Callable[..., Any], columns: list[MetricColumn], fields: Any, why: str
) -> None:
    with pytest.raises(GateOptionError, match=why) as caught:
        make_gates({"a": {"min": 0.8, "max_flip": 0.1}}, info(*columns, **fields))
    assert caught.value.path == ("a", "max_flip")


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        ({"mean": 0.8, "max_flip": 0.1}, ("a", "max_flip"), "needs 'repeats'"),
        ({"mean": 0.8, "max_flip": "x"}, ("a", "max_flip"), "expected a number"),
        ({"mean": 0.8, "max_flip": 0.5}, ("a", "max_flip"), "above 0 and below 0.5, found 0.5"),
        ({"mean": 0.8, "max_flip": 0}, ("a", "max_flip"), "above 0 and below 0.5, found 0"),
        ({"min": 0.8, "max_flip": 0.1, "corrected": True}, ("a", "max_flip"), "judge's own mean"),
        (
            {"min": 0.8, "not_applicable": 0.1, "corrected": True},
            ("a", "not_applicable"),
            "judge's own mean",
        ),
        ({"mean": {"min": 0.8}, "not_applicable": 2}, ("a", "not_applicable"), "from 0 to 1"),
        ({"mean": {"min": 0.8, "max_flip": 0.1}}, ("a", "mean", "max_flip"), "needs 'repeats'"),
        (
            {"mean": 0.8, "not_applicable": 0.1},
            ("weighted_score", "not_applicable"),
            "no answers to leave out",
        ),
        (
            {"mean": {"min": 0.8, "not_applicable": 0.1}},
            ("weighted_score", "mean", "not_applicable"),
            "no answers to leave out",
        ),
        ({"mean": "x", "not_applicable": 0.1}, ("a", "mean"), "expected a number"),
        ({"mean": {"min": "x"}, "max_flip": 0.1}, ("a", "mean", "min"), "expected a number"),
    ],
)
def test_a_mistake_is_told_where_it_is_written(
    info: Callable[..., Any], options: Any, path: tuple[str, ...], message: str
) -> None:
    """An option beside ``mean`` was looked for below it, on another line."""
    with pytest.raises(GateOptionError, match=message) as caught:
        make_gates({path[0]: options}, info(MetricColumn("a")))
    assert caught.value.path == path

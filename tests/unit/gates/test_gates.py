"""A10, E5: the gates of a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from gated import Result, check, scored
from pydantic import ValidationError

from pytest_rageval.gates.base import (
    GateOptionError,
    bound_result,
    each_gate,
    make_gates,
)
from pytest_rageval.gates.slices import slice_value
from pytest_rageval.model import Bound, GateResult, MetricColumn, SampleResult
from pytest_rageval.scenario.spec import BoundSpec

# mean


def test_a_number_is_the_least_that_the_mean_may_be(result: Result) -> None:
    """A10: (0.5 + 1) / 2."""
    found = check(result, {"f1": 0.75, "em": 0.76}, scored(0.5, 1.0))
    assert (found["f1.mean"].outcome, found["f1.mean"].message) == ("passed", "0.7500 >= 0.7500")
    assert (found["em.mean"].outcome, found["em.mean"].message) == ("failed", "0.7500 < 0.7600")
    assert (found["em.mean"].observed, found["em.mean"].bound) == (0.75, 0.76)


@pytest.mark.parametrize(
    "options",
    [
        *(0.5, {"min": 0.5}, {"mean": 0.5}, {"mean": {"min": 0.5}}),
        # Keys of the user's own are no checks.
        {"mean": 0.5, "x-why": "agreed in May"},
        {"mean": {"min": 0.5, "x-why": ["a", "b"]}},
        {"min": 0.5, "x-max": 0.1},
    ],
)
def test_the_forms_of_a_mean_gate_are_one_gate(result: Result, options: Any) -> None:
    (found,) = check(result, {"f1": options}, scored(0.4)).values()
    assert (found.name, found.outcome, found.bound) == ("f1.mean", "failed", 0.5)


def test_keys_of_the_users_own_are_in_no_bound(result: Result) -> None:
    options = {"unscored": {"max": 0.5, "x-why": 1}, "f1": {"quantile": {0.1: 0.3, "x-why": 1}}}
    found = check(result, options, scored(0.4, None))
    assert {name: gate.outcome for name, gate in found.items()} == {
        "unscored": "passed",
        "f1.quantile.0.1": "passed",
    }


def test_a_number_may_be_one_that_yaml_takes_for_text(result: Result) -> None:
    """YAML 1.1 reads 4e-1 as text."""
    (found,) = check(result, {"f1": {"min": "4e-1"}}, scored(0.4)).values()
    assert (found.outcome, found.bound) == ("passed", 0.4)


def test_the_mean_is_weighted_by_sample(result: Result) -> None:
    """A8: (1·3 + 0·1) / 4."""
    samples = scored(1.0, 0.0, sample_weight=[3.0, 1.0])
    found = check(result, {"weighted_score": 0.75, "f1": 0.75, "em": 0.76}, samples)
    assert {name: gate.outcome for name, gate in found.items()} == {
        "weighted_score": "passed",
        "f1.mean": "passed",
        "em.mean": "failed",
    }
    assert found["f1.mean"].observed == 0.75


@pytest.mark.parametrize(("mean", "outcome"), [(0.7 - 1e-10, "passed"), (0.7 - 1e-8, "failed")])
def test_gates_tolerate_a_billionth(result: Result, mean: float, outcome: str) -> None:
    """A10."""
    assert check(result, {"f1": 0.7}, scored(mean))["f1.mean"].outcome == outcome


def test_a_gate_with_a_maximum(result: Result) -> None:
    found = check(result, {"f1": {"max": 0.5}, "em": {"min": 0.1, "max": 0.5}}, scored(0.6))
    assert found["f1.mean"].message == "0.6000 > 0.5000"
    assert found["em.mean"].outcome == "failed"
    # The end that decides is kept: em is 0.6 there, too.
    assert (found["em.mean"].bound, found["em.mean"].message) == (0.5, "0.6000 > 0.5000")


def test_a_number_is_a_maximum_where_lower_is_better(result: Result) -> None:
    column = MetricColumn("noise", higher_is_better=False)
    samples = [SampleResult("s", 0, weighted_score=0.4, scores={"noise": 0.6})]
    made = result(samples, column)
    (gate,) = make_gates({"noise": 0.5}, made.info)
    assert gate.check(made).message == "0.6000 > 0.5000"


def test_a_mean_over_some_samples_says_over_how_many(result: Result) -> None:
    found = check(result, {"f1": 0.5}, scored(1.0, None))
    assert found["f1.mean"].message == "1.0000 >= 0.5000 (over 1 of 2 samples)"


def test_a_mean_that_is_not_there_fails(result: Result) -> None:
    """A20: neither a pass nor a zero."""
    found = check(result, {"f1": 0.0, "weighted_score": {"max": 1.0}}, scored(None))
    assert [gate.outcome for gate in found.values()] == ["failed", "failed"]
    assert found["f1.mean"].message == "no sample has a score of f1"
    assert found["f1.mean"].observed is None


def test_a_second_bound_of_the_weighted_score(result: Result) -> None:
    """What --rag-fail-under asks for."""
    options = {"weighted_score": 0.5, "fail_under": 0.75}
    found = check(result, options, scored(0.5, 0.75))
    assert found["weighted_score"].outcome == "passed"
    assert found["fail_under"] == GateResult(
        "fail_under", "failed", 0.625, 0.75, "0.6250 < 0.7500", -0.125
    )


# pass_rate


def test_the_pass_rate_is_the_share_of_scored_samples_that_meet_their_thresholds(
    result: Result,
) -> None:
    """E5: of 1, 0.5, 0.4 and an unscored one, 2 of 3 meet 0.5, whatever they weigh."""
    samples = scored(1.0, 0.5, 0.4, None, sample_weight=[1.0, 1.0, 100.0, 1.0])
    found = check(result, {"pass_rate": 0.6}, samples, thresholds={"f1": Bound(min=0.5)})
    assert found["pass_rate"].outcome == "passed"
    assert found["pass_rate"].message == "0.6667 >= 0.6000 (2 of 3 scored samples)"
    assert found["pass_rate"].name == "pass_rate"
    found = check(result, {"pass_rate": 0.7}, samples, thresholds={"f1": Bound(min=0.5)})
    assert found["pass_rate"].outcome == "failed"


def test_a_pass_rate_of_nothing_fails(result: Result) -> None:
    found = check(result, {"pass_rate": 0.0}, scored(None), thresholds={"f1": Bound(min=0.5)})
    assert (found["pass_rate"].outcome, found["pass_rate"].message) == (
        "failed",
        "no sample was scored",
    )


def test_a_sample_that_misses_one_threshold_counts_whatever_else_lacks(result: Result) -> None:
    """em is too low and f1 not there: judged. f1 is high enough and em not there: not judged."""
    low = SampleResult("low", 0, weighted_score=0.1, scores={"f1": None, "em": 0.1})
    open_ = SampleResult("open", 1, weighted_score=0.9, scores={"f1": 0.9, "em": None})
    thresholds = {"f1": Bound(min=0.5), "em": Bound(min=0.5)}
    found = check(result, {"pass_rate": 0.5}, [low, open_, *scored(1.0)], thresholds=thresholds)
    assert found["pass_rate"].message == "0.5000 >= 0.5000 (1 of 2 scored samples)"


# unscored


@pytest.mark.parametrize(
    ("bound", "scores", "outcome", "message"),
    [
        (0.0, (1.0, 0.5), "passed", "0.0000 <= 0.0000 (0 of 2 samples)"),
        (0.0, (1.0, None), "failed", "0.5000 > 0.0000 (1 of 2 samples: f1 missing on 1"),
        (0.5, (1.0, None), "passed", "0.5000 <= 0.5000 (1 of 2 samples: f1 missing on 1"),
        (1.0, (None, None), "failed", "none of 2 samples was scored"),
    ],
)
def test_the_share_of_unscored_samples(
    result: Result, bound: float, scores: tuple[float | None, ...], outcome: str, message: str
) -> None:
    """A20, E5: whatever the bound, a run that scored nothing is not green."""
    found = check(result, {"unscored": bound}, scored(*scores))["unscored"]
    assert found.outcome == outcome
    assert found.message.startswith(message)
    assert (found.observed, found.bound) == (scores.count(None) / 2, bound)


def lacking(name: str, kind: str) -> SampleResult:
    """Return a sample that em scores and f1 does not: it failed, or does not apply."""
    said: dict[str, Any] = {kind: {"f1": "the judge is away"}}
    weighted = None if kind == "errors" else 1.0
    return SampleResult(name, 0, weighted_score=weighted, scores={"f1": None, "em": 1.0}, **said)


@pytest.mark.parametrize(
    ("share", "outcome"), [(0.5, "passed"), (0.49, "failed"), (1.0, "passed"), (0.0, "failed")]
)
@pytest.mark.parametrize("kind", ["errors", "reasons"])
def test_a_share_of_one_metric_may_be_missing(
    result: Result, share: float, outcome: str, kind: str
) -> None:
    """G1: 1 of 2 lacks f1, failed or not applicable; the general share counts neither."""
    samples = [lacking("a", kind), *scored(1.0)]
    found = check(result, {"unscored": {"f1": share}}, samples)["unscored"]
    assert found.outcome == outcome
    assert "f1 is missing in 1 of 2 samples" in found.message


@pytest.mark.parametrize(
    ("share", "outcome", "message"),
    [
        (0.3, "failed", "0.3333 > 0.3000 (f1 is missing in 1 of 3 samples)"),
        (
            0.4,
            "passed",
            "0.0000 <= 0.0000 (0 of 3 samples); 0.3333 <= 0.4000 (f1 is missing in 1 of 3 samples)",
        ),
    ],
)
def test_the_share_of_a_metric_is_of_all_samples(
    result: Result, share: float, outcome: str, message: str
) -> None:
    """G1: what failed is told alone; of what passed, the figure nearer to its bound is shown."""
    samples = [lacking("a", "errors"), *scored(1.0, 1.0)]
    found = check(result, {"unscored": {"f1": share}}, samples)["unscored"]
    assert (found.outcome, found.message) == (outcome, message)
    nearest = (1 / 3, share) if outcome == "failed" else (0.0, 0.0)
    assert (found.observed, found.bound) == nearest
    assert found.margin == pytest.approx(nearest[1] - nearest[0], abs=1e-12)


def test_three_metrics_that_are_missing_most_are_named(result: Result) -> None:
    """d is missing on three samples, c and b on two each, a on one."""
    columns = [MetricColumn(name) for name in "abcde"]
    samples = [
        SampleResult(str(at), at, scores={**dict.fromkeys("abcd"), "e": 1.0, **there})
        for at, there in enumerate([{"a": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}, {}])
    ]
    samples = [replace(one, errors=dict.fromkeys("abcd", "x")) for one in samples]
    good = SampleResult("good", 3, weighted_score=1.0, scores=dict.fromkeys("abcde", 1.0))
    made = result([*samples, good], *columns)
    (gate,) = make_gates({"unscored": 0.1}, made.info)
    said = "(3 of 4 samples: d missing on 3, b missing on 2, c missing on 2)"
    assert said in gate.check(made).message


def test_what_one_metric_may_lack_no_other_may(result: Result) -> None:
    """G1: the sample lacks em, too."""
    sample = SampleResult("a", 0, scores={"f1": None, "em": None}, errors={"f1": "x", "em": "y"})
    found = check(result, {"unscored": {"f1": 1.0}}, [sample, *scored(1.0)])["unscored"]
    assert (found.outcome, found.observed) == ("failed", 0.5)


def test_a_run_without_any_score_is_red_whatever_may_be_missing(result: Result) -> None:
    sample = SampleResult("a", 0, scores={"f1": None, "em": None}, errors={"f1": "x", "em": "y"})
    options = {"unscored": {"f1": 1.0, "em": 1.0}}
    found = check(result, options, [sample])["unscored"]
    assert found.outcome == "failed"
    assert found.message.startswith("none of 1 samples was scored")


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (
            SampleResult("r", 0, "error", scores={"f1": None}, invalid="no JSON"),
            "0.5000 > 0.0000 (1 of 2 samples: row missing on 1)"
            "; 'dataset.on_invalid: skip' with the gate 'invalid' allows invalid rows",
        ),
        # No share of a metric would let a target be silent.
        (
            SampleResult("t", 0, "error", scores={"f1": None}, errors={"target": "404"}),
            "0.5000 > 0.0000 (1 of 2 samples: answer missing on 1)",
        ),
    ],
)
def test_a_row_or_an_answer_that_is_missing_is_named(
    result: Result, sample: SampleResult, message: str
) -> None:
    found = check(result, {"unscored": 0.0}, [sample, *scored(1.0)])["unscored"]
    assert (found.outcome, found.message) == ("failed", message)


@pytest.mark.parametrize(("missing", "of", "share"), [(1, 6, 0.17), (2, 13, 0.16), (1, 5, 0.2)])
def test_the_way_out_is_a_share_that_is_large_enough(
    result: Result, missing: int, of: int, share: float
) -> None:
    """1 of 6 is more than 0.16, 2 of 13 more than 0.15. em is missing nowhere."""
    samples = [lacking(str(at), "errors") for at in range(missing)]
    samples += scored(*[1.0] * (of - missing))
    found = check(result, {"unscored": 0.0}, samples)["unscored"]
    assert found.message.endswith(
        "; look at why f1 is missing; if that is in order, "
        f"'gates: {{unscored: {{f1: {share}}}}}' would allow it"
    )


@pytest.mark.parametrize(
    ("error", "way_out"),
    [
        (
            "replay: no reply in the cache",
            "; not in the cache: no share allows that, run once without --rag-cache=replay",
        ),
        (
            "not asked: m gave 20 replies in a row that cannot be used",
            "; no share allows what was not asked: look at what f1 failed for",
        ),
    ],
)
@pytest.mark.parametrize("options", [0.0, {"f1": 0.2}])
def test_no_advice_to_allow_what_was_not_asked(
    result: Result, options: Any, error: str, way_out: str
) -> None:
    """[R6] 1 of 6 is below a fifth, but ``unscored: {f1: 0.2}`` would not allow it, either."""
    samples = [replace(lacking("a", "errors"), errors={"f1": error}), *scored(*[1.0] * 5)]
    found = check(result, {"unscored": options}, samples)["unscored"]
    assert (found.outcome, "gates:" in found.message) == ("failed", False)
    assert found.message.endswith(way_out)


def test_no_advice_makes_a_useless_run_green(result: Result) -> None:
    """[R6] 28 of 30 are missing: above a fifth the message says where to look."""
    samples = [*(lacking(str(at), "errors") for at in range(28)), *scored(1.0, 1.0)]
    found = check(result, {"unscored": 0.0}, samples)["unscored"]
    assert "gates:" not in found.message
    assert found.message.endswith("; too many to allow: look at what f1 failed for")


def test_only_metrics_of_the_scenario_may_be_missing(result: Result) -> None:
    with pytest.raises(GateOptionError, match="unknown metric 'f2'. Known: em, f1") as caught:
        check(result, {"unscored": {"f2": 0.1}}, scored(1.0))
    assert caught.value.path == ("unscored", "f2")


def test_a_corridor_of_the_general_share_names_no_metrics(result: Result) -> None:
    options = {"unscored": {"min": 0, "max": 0.5}}
    assert check(result, options, scored(1.0, None))["unscored"].outcome == "passed"


def test_skipped_samples_are_not_unscored_but_nothing_else_is_not_green(result: Result) -> None:
    skipped = SampleResult("k", 9, "skipped")
    found = check(result, {"unscored": 0}, [*scored(1.0), skipped])["unscored"]
    assert (found.outcome, found.observed) == ("passed", 0.0)
    found = check(result, {"unscored": 1.0}, [skipped])["unscored"]
    why = "are skipped or invalid, or no metric applies to them"
    message = f"nothing was scored: all 1 samples {why}"
    assert found == GateResult("unscored", "failed", None, 1.0, message)
    # Said once, and no threshold is blamed for it.
    thresholds = {"f1": Bound(min=0.5)}
    options = {"unscored": {"f1": 1.0}}
    found = check(result, options, [skipped], thresholds=thresholds)["unscored"]
    assert found == GateResult("unscored", "failed", None, 0.0, message)


# by


def test_a_slice_gate_fails_for_any_value_that_falls_below(result: Result) -> None:
    """E5: a.pdf has (1 + 0.5) / 2, b.pdf 0.25, the third has no document."""
    samples = scored(1.0, 0.5, 0.25, 0.125, doc_name=["a.pdf", "a.pdf", "b.pdf", None])
    found = check(result, {"by": {"doc_name": {"weighted_score": 0.5}}}, samples)
    (gate,) = found.values()
    assert gate.name == "by.doc_name.weighted_score"
    assert (gate.outcome, gate.observed, gate.bound) == ("failed", 0.125, 0.5)
    assert gate.message == (
        "2 of 3 values of doc_name: (none): 0.1250 < 0.5000; b.pdf: 0.2500 < 0.5000"
    )


def test_a_slice_without_a_figure_is_the_worst(result: Result) -> None:
    samples = scored(0.4, None, doc_name=["a", "b"])
    (gate,) = check(result, {"by": {"doc_name": {"f1": 0.5}}}, samples).values()
    assert (gate.outcome, gate.observed, gate.bound) == ("failed", None, 0.5)
    assert gate.message == (
        "2 of 2 values of doc_name: b: no sample has a score of f1; a: 0.4000 < 0.5000"
    )


def test_keys_of_the_users_own_are_no_fields(result: Result) -> None:
    """Unless a column of the data is called so."""
    samples = scored(0.4, metadata=[{"x-lab": "one"}])
    asked = {"f1": 0.5}
    options = {"by": {"x-why": "agreed", "x-lab": asked, "doc_name": asked}}
    found = check(result, options, samples, metadata_columns=("x-lab",))
    assert list(found) == ["by.x-lab.f1.mean", "by.doc_name.f1.mean"]


def test_a_slice_gate_that_holds_names_the_worst(result: Result) -> None:
    samples = scored(1.0, 0.75, metadata=[{"level": 1}, {"level": 2}])
    found = check(result, {"by": {"level": {"f1": 0.5}}}, samples, metadata_columns=("level",))
    assert found["by.level.f1.mean"].outcome == "passed"
    gate = found["by.level.f1.mean"]
    assert gate.message == "all 2 values of level, worst 0.7500 >= 0.5000"
    assert (gate.observed, gate.bound) == (0.75, 0.5)


@pytest.mark.parametrize("field", ["doc_name", "cause"])
def test_a_slice_gate_by_a_field_that_no_sample_has_fails(result: Result, field: str) -> None:
    """One mean of all samples would pass for that of each document; a column may be a ``cause``."""
    columns = {"metadata_columns": (field,)}
    gate = check(result, {"by": {field: {"f1": 0.5}}}, scored(1.0, 0.75), **columns)
    found = gate[f"by.{field}.f1.mean"]
    assert (found.outcome, found.message) == ("failed", f"no sample has a value of {field}")


def test_of_slices_of_slices_the_worst_is_named(result: Result) -> None:
    """Documents a and b, each with one level: 0.9 and 0.6."""
    samples = scored(0.9, 0.6, doc_name=["a", "b"], metadata=[{"level": 1}, {"level": 2}])
    options = {"by": {"doc_name": {"by": {"level": {"f1": 0.5}}}}}
    (gate,) = check(result, options, samples, metadata_columns=("level",)).values()
    assert (gate.observed, gate.margin) == (0.6, pytest.approx(0.1))


def test_a_figure_that_is_no_number_holds_no_bound(result: Result) -> None:
    assert bound_result("g", Bound(max=1.0), float("nan")).outcome == "failed"


def test_values_that_a_metric_rules_out_are_values_all_the_same(result: Result) -> None:
    """Rows without a document may be the only ones that it applies to; theirs is no mean of all."""
    named, bare = scored(None, 1.0, doc_name=["a", None])
    named = replace(named, left_out={"f1": "row"})
    options = {"by": {"doc_name": {"f1": 0.5}}}
    gate = check(result, options, [named, bare])["by.doc_name.f1.mean"]
    assert (gate.outcome, gate.message) == (
        "passed",
        "the only value of doc_name: 1.0000 >= 0.5000; left out, as all their rows rule the "
        "metric out or weigh 0: a",
    )


def test_a_value_whose_rows_weigh_nothing_is_left_out(result: Result) -> None:
    """It has no mean; a gate on it failed with "no sample has a score of f1"."""
    first, second = scored(1.0, 0.0, doc_name=["a", "b"])
    samples = [first, replace(second, sample_weight=0.0)]
    options = {"by": {"doc_name": {"f1": 0.5}}}
    gate = check(result, options, samples)["by.doc_name.f1.mean"]
    assert gate.outcome == "passed"
    assert gate.message.endswith("left out, as all their rows rule the metric out or weigh 0: b")
    none = [replace(sample, sample_weight=0.0) for sample in samples]
    gate = check(result, options, none)["by.doc_name.f1.mean"]
    assert (gate.outcome, gate.message) == (
        "failed",
        "there are no slices to look at; left out, as all their rows rule the metric out or weigh "
        "0: a, b",
    )


def test_a_slice_without_any_score_fails_and_a_skipped_one_is_left_out(result: Result) -> None:
    samples = scored(1.0, None, doc_name=["a", "b"])
    options = {"by": {"doc_name": {"f1": 0.5}}}
    assert check(result, options, samples)["by.doc_name.f1.mean"].outcome == "failed"
    skipped = SampleResult("k", 1, "skipped", doc_name="b")
    assert check(result, options, [samples[0], skipped])["by.doc_name.f1.mean"].outcome == "passed"
    assert check(result, options, [skipped])["by.doc_name.f1.mean"].outcome == "failed"


def test_a_slice_of_nothing_but_rows_that_may_be_invalid_is_left_out(result: Result) -> None:
    """A row that is no sample has no document, and must not become a slice of its own."""
    (good,) = scored(1.0, doc_name=["a"])
    options = {"by": {"doc_name": {"f1": 0.5}}}
    row = SampleResult("r", 1, "xfailed", invalid="not valid JSON", scores={"f1": None})
    gate = check(result, options, [good, row])["by.doc_name.f1.mean"]
    assert (gate.outcome, gate.message) == (
        "passed",
        "the only value of doc_name: 1.0000 >= 0.5000",
    )
    # One that must not be invalid is an error, and fails its slice.
    row = SampleResult("r", 1, "error", invalid="not valid JSON", scores={"f1": None})
    gate = check(result, options, [good, row])["by.doc_name.f1.mean"]
    assert gate.message == "1 of 2 values of doc_name: (none): no sample has a score of f1"


@pytest.mark.parametrize(
    ("field", "value"), [("doc_name", "a.pdf"), ("level", "1"), ("empty", ""), ("no_one", "(none)")]
)
def test_a_slice_is_called_by_its_value_as_text(field: str, value: str) -> None:
    sample = SampleResult("s", 0, doc_name="a.pdf", metadata={"level": 1, "empty": ""})
    assert slice_value(sample, field) == value


def test_the_worst_slices_are_listed_and_none_with_a_long_name(result: Result) -> None:
    """Six values fall short, 0.40 to 0.45 but for the last: 0.1. Equal ones keep their order."""
    names = ["a" * 101, "b", "c", "d", "e", "f"]
    samples = scored(0.45, 0.44, 0.43, 0.42, 0.42, 0.1, doc_name=names)
    (gate,) = check(result, {"by": {"doc_name": {"f1": 0.5}}}, samples).values()
    assert gate.message == (
        "6 of 6 values of doc_name: f: 0.1000 < 0.5000; d: 0.4200 < 0.5000; e: 0.4200 < 0.5000; "
        "c: 0.4300 < 0.5000; b: 0.4400 < 0.5000; and 1 more"
    )
    (gate,) = check(result, {"by": {"doc_name": {"f1": 0.5}}}, samples[1:]).values()
    assert gate.message.endswith("; b: 0.4400 < 0.5000")
    (gate,) = check(result, {"by": {"doc_name": {"f1": 0.5}}}, samples[:1]).values()
    assert gate.message == f"1 of 1 values of doc_name: {'a' * 99}…: 0.4500 < 0.5000"


def test_every_gate_can_be_asked_of_slices(result: Result) -> None:
    """E5: one gate for each field and check."""
    samples = scored(1.0, 0.4, doc_name=["a", "b"])
    options = {"by": {"doc_name": {"pass_rate": 1.0, "unscored": 0, "f1": 0.4, "em": {"max": 1}}}}
    found = check(result, options, samples, thresholds={"f1": Bound(min=0.5)})
    assert {name: gate.outcome for name, gate in found.items()} == {
        "by.doc_name.pass_rate": "failed",
        "by.doc_name.unscored": "passed",
        "by.doc_name.f1.mean": "passed",
        "by.doc_name.em.mean": "passed",
    }


# What cannot be asked


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        ({"f11": 0.5}, ("f11",), "unknown gate or metric 'f11'. Did you mean 'f1'?"),
        ({"f1": {"mena": 1}}, ("f1", "mena"), "unknown check of 'f1' 'mena'. Did you mean 'mean'?"),
        (
            {"f1": {"zz": 1}},
            ("f1", "zz"),
            "unknown check of 'f1' 'zz'. Known: agreement, aurc, lower_bound, mean, quantile",
        ),
        ({"f1": 1.5}, ("f1",), "min 1.5 is outside the range 0..1"),
        ({"f1": -0.1}, ("f1",), "min -0.1 is outside the range 0..1"),
        ({"f1": {"mean": {"max": 2}}}, ("f1", "mean"), "max 2 is outside the range 0..1"),
        ({"f1": "high"}, ("f1",), "expected a number, found 'high'"),
        ({"f1": True}, ("f1",), "expected a number, found true"),
        ({"f1": None}, ("f1",), "expected a number, or a mapping with 'min' or 'max'"),
        ({"f1": [1]}, ("f1",), "expected a number, found a list"),
        ({"f1": float("nan")}, ("f1",), "expected a finite number, found nan"),
        ({"f1": 10**400}, ("f1",), "expected a number, found 1000"),
        ({"f1": {}}, ("f1",), "expected a number, or a mapping with 'min' or 'max'"),
        ({"unscored": 10**400}, ("unscored",), "expected a number from 0 to 1"),
        ({"pass_rate": 0.5}, ("pass_rate",), "needs 'thresholds'"),
        ({"fail_under": 1.5}, ("fail_under",), "expected a number from 0 to 1, found 1.5"),
        ({"fail_under": -0.5}, ("fail_under",), "expected a number from 0 to 1, found -0.5"),
        ({"invalid": 1.5}, ("invalid",), "expected a number from 0 to 1, found 1.5"),
        ({"unscored": {"f1": 2}}, ("unscored", "f1"), "expected a number from 0 to 1, found 2"),
        ({"by": {}}, ("by",), "expected a mapping"),
        ({"by": 3}, ("by",), "expected a mapping"),
        ({"by": {"doc_nme": {"f1": 1}}}, ("by", "doc_nme"), "Did you mean 'doc_name'?"),
        ({"by": {"doc_name": 0.5}}, ("by", "doc_name"), "expected gates"),
        ({"by": {"doc_name": {"zz": 1}}}, ("by", "doc_name", "zz"), "unknown gate or metric 'zz'"),
        ({"f1": {"min": 0.9, "max": 0.1}}, ("f1",), "nothing could pass"),
    ],
)
def test_what_is_no_gate_is_refused_where_it_stands(
    info: Callable[..., Any], options: dict[str, Any], path: tuple[str, ...], message: str
) -> None:
    with pytest.raises(GateOptionError) as caught:
        make_gates(options, info())
    assert caught.value.path == path
    assert message in str(caught.value)


@pytest.mark.parametrize("share", [1.5, -0.5])
def test_a_pass_rate_is_a_share(info: Callable[..., Any], share: float) -> None:
    with pytest.raises(
        GateOptionError, match=f"expected a number from 0 to 1, found {share}"
    ) as caught:
        make_gates({"pass_rate": share}, info(thresholds={"f1": Bound(min=0.5)}))
    assert caught.value.path == ("pass_rate",)


def test_every_bad_entry_is_found_in_one_go(info: Callable[..., Any]) -> None:
    found = list(each_gate({"zz": 1, "f1": 0.5, "em": 7, "unscored": "x"}, info()))
    assert [isinstance(made, GateOptionError) for made in found] == [True, False, True, True]


@pytest.mark.parametrize(
    ("value", "higher_is_better", "expected"),
    [
        (0.5, True, Bound(min=0.5)),
        (0.5, False, Bound(max=0.5)),
        ({"max": 0.5}, True, Bound(max=0.5)),
        ({"min": 0, "max": 1}, True, Bound(0, 1)),
        ({"min": 0.5, "max": 0.5}, True, Bound(0.5, 0.5)),
        ("1e-2", True, Bound(min=0.01)),  # YAML 1.1 takes it for text
    ],
)
def test_a_bound_from_a_number_or_a_mapping(
    value: Any, higher_is_better: bool, expected: Bound
) -> None:
    spec = BoundSpec.model_validate(value)
    assert spec.within((0.0, 1.0), higher_is_better=higher_is_better) == expected


def test_an_unbounded_metric_takes_any_finite_bound() -> None:
    unbounded = (-math.inf, math.inf)
    assert BoundSpec.model_validate(-300.0).within(unbounded) == Bound(min=-300.0)
    with pytest.raises(ValidationError):
        BoundSpec.model_validate(math.inf)


@pytest.mark.parametrize(
    "options",
    [{"unscored": {"min": 0}}, {"invalid": {"min": 0}}, {"unscored": {"f1": {"min": 0}}}],
)
def test_a_largest_share_needs_a_maximum(result: Result, options: Any) -> None:
    """G1: a minimum alone would allow everything."""
    with pytest.raises(GateOptionError, match="sets the largest share") as caught:
        check(result, options, scored(1.0))
    (name, inner), *_ = options.items()
    assert caught.value.path == ((name, "f1") if "f1" in inner else (name,))


@pytest.mark.parametrize(("bound", "outcome"), [(0.25, "passed"), (0.24, "failed")])
def test_invalid_rows_are_counted_among_all(result: Result, bound: float, outcome: str) -> None:
    """G8: 1 of 4, whatever it is reported as."""
    row = SampleResult("r", 9, "skipped", invalid="no answer")
    found = check(result, {"invalid": bound}, [*scored(1.0, 1.0, 1.0), row])["invalid"]
    assert (found.outcome, found.observed) == (outcome, 0.25)
    sign = "<=" if outcome == "passed" else ">"
    assert found.message == f"0.2500 {sign} {bound:.4f} (1 of 4 rows)"
    assert found.name == "invalid"


def test_where_there_are_no_rows_no_share_of_them_is_small_enough(result: Result) -> None:
    found = check(result, {"invalid": 1.0}, [])["invalid"]
    assert found == GateResult("invalid", "failed", None, 1.0, "there are no rows")


def test_a_threshold_that_no_sample_has_a_score_for_judged_nothing(result: Result) -> None:
    """G1: all samples lack f1 with leave, and so the threshold held nowhere.

    Without such leave they are errors, and it is not said again.
    """
    samples = [lacking("a", "errors"), lacking("b", "errors")]
    options = {"unscored": {"f1": 1.0}}
    found = {}
    for name in ("f1", "em"):
        made = result(samples, thresholds={name: Bound(min=0.5)}, gates=options)
        (gate,) = make_gates(options, made.info)
        found[name] = gate.check(made)
    assert (found["f1"].outcome, found["em"].outcome) == ("failed", "passed")
    said = "no sample has a score of f1: its threshold judged nothing"
    assert found["f1"] == GateResult("unscored", "failed", 1.0, 0.0, said)
    made = result([*samples, *scored(1.0)], thresholds={"other": Bound(min=0.5)})
    (gate,) = make_gates({"unscored": 0.7}, made.info)
    assert gate.check(made).outcome == "passed"


def test_a_threshold_that_judged_nothing_is_worse_than_a_share_that_is_exceeded(
    result: Result,
) -> None:
    """G1: both are told, and the one without a figure is shown."""
    options = {"unscored": {"f1": 0.5}}
    made = result([lacking("a", "errors")], thresholds={"f1": Bound(min=0.5)}, gates=options)
    (gate,) = make_gates(options, made.info)
    found = gate.check(made)
    assert (found.observed, found.bound, found.margin) == (1.0, 0.0, None)
    assert found.message == (
        "1.0000 > 0.5000 (f1 is missing in 1 of 1 samples)"
        "; no sample has a score of f1: its threshold judged nothing"
    )

"""Rows that rule metrics out are missed by no gate; what is missing otherwise always is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import (
    TARGET,
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    GateResult,
    MetricColumn,
    SampleResult,
    ScenarioResult,
)

Result = Callable[..., ScenarioResult]

BOTH_OUT = {"f1": "row", "em": "row"}


def row(at: int, f1: float | None, em: float | None, kind: str = "a", **fields: Any) -> Any:
    """Return the sample s0, s1, ... of a kind; its weighted score is the mean of what it has."""
    known = [score for score in (f1, em) if score is not None]
    weighted = sum(known) / len(known) if known else None
    given = {"weighted_score": weighted, "scores": {"f1": f1, "em": em}, "doc_name": kind, **fields}
    return SampleResult(f"s{at}", at, **given)


def saved(samples: Sequence[SampleResult]) -> Baseline:
    """Return the run ``main`` of these samples."""
    scores = {name: {one.sample_id: one.scores[name] for one in samples} for name in ("f1", "em")}
    weighted = {one.sample_id: one.weighted_score for one in samples}
    ids = tuple(one.sample_id for one in samples)
    return Baseline("main", ids, {**scores, WEIGHTED_SCORE: weighted})


def check(
    result: Result,
    options: dict[str, Any],
    samples: Sequence[SampleResult],
    before: Sequence[SampleResult] = (),
    **fields: Any,
) -> GateResult:
    """Return the verdict of the only gate of ``options``."""
    columns = (MetricColumn("f1"), MetricColumn("em"))
    made = result(samples, *columns, baselines={"main": saved(before)}, **fields)
    (gate,) = make_gates(options, made.info)
    return gate.check(made)


# no_regression of weighted_score: min_pairs 0.9 asks for 9 of 10 pairs

EIGHT = [row(at, 1.0, 1.0) for at in range(8)]
OF_WEIGHTED = {"no_regression": {"baseline": "main", "metrics": [WEIGHTED_SCORE], "mode": "any"}}


def two_more(f1: float | None = None, em: float | None = None, **fields: Any) -> list[Any]:
    return [row(at, f1, em, **fields) for at in (8, 9)]


@pytest.mark.parametrize(
    ("now", "before"),
    [
        pytest.param({"errors": {"f1": "down", "em": "down"}}, {}, id="judges failed"),
        pytest.param({"errors": {TARGET: "down"}}, {}, id="the target failed"),
        pytest.param({"outcome": "error", "invalid": "no answer"}, {}, id="invalid"),
        pytest.param({"left_out": {"f1": "answer", "em": "answer"}}, {}, id="by the answer"),
        pytest.param({"left_out": {"f1": "row", "em": "answer"}}, {}, id="one by the answer"),
        pytest.param(
            {"left_out": {"f1": "row"}, "errors": {"em": "down"}}, {}, id="one row, one failed"
        ),
        pytest.param({"left_out": BOTH_OUT}, {"f1": 1.0, "em": 1.0}, id="the baseline has it"),
        pytest.param({"em": 1.0, "left_out": {"f1": "row"}, "weighted_score": None}, {}, id="w 0"),
        pytest.param(
            {"left_out": {"f1": "row"}, "em": 1.0}, {"errors": {"em": "down"}}, id="it failed there"
        ),
    ],
)
def test_weighted_scores_that_are_missing_are_lost_pairs(
    result: Result, now: dict[str, Any], before: dict[str, Any]
) -> None:
    found = check(result, OF_WEIGHTED, EIGHT + two_more(**now), EIGHT + two_more(**before))
    assert found.outcome == "failed"
    assert "only 8 of the 10 samples of main have a score in both runs" in found.message


def test_a_row_that_one_metric_does_not_apply_to_has_a_weighted_score(result: Result) -> None:
    more = two_more(em=1.0, left_out={"f1": "row"})
    found = check(result, OF_WEIGHTED, EIGHT + more, EIGHT + more)
    assert found.outcome == "passed"
    assert ", n 10" in found.message


def test_rows_that_rule_every_metric_out_are_no_pairs_of_weighted_scores(result: Result) -> None:
    """Eight of eight; the ninth of nine is lost, and 0.9 asks for all."""
    more = two_more(left_out=BOTH_OUT)
    found = check(result, OF_WEIGHTED, EIGHT + more, EIGHT + more)
    assert found.outcome == "passed"
    assert ", n 8; 2 rows rule it out (no difference" in found.message
    more = [row(8, None, None, left_out=BOTH_OUT), row(9, None, None, errors={TARGET: "down"})]
    found = check(result, OF_WEIGHTED, EIGHT + more, EIGHT + two_more())
    assert found.outcome == "failed"
    assert "n 8; 1 row rules it out; cannot be decided: only 8 of the 9 samples" in found.message


# by: values that rule out what a gate is about

THRESHOLDS = {"f1": Bound(min=0.5)}
RIGHT = [row(at, 1.0, 1.0) for at in range(2)]


def by(**gates: Any) -> dict[str, Any]:
    return {"by": {"doc_name": gates}}


PASS_RATE, UNSCORED, WEIGHTED = by(pass_rate=0.9), by(unscored=0), by(weighted_score=0.6)
SKIPPED = {"outcome": "skipped", "weighted_score": None}
FAILING = {"details": {"em": {"passing": False}}}


@pytest.mark.parametrize(
    ("options", "f1", "em", "fields"),
    [
        (PASS_RATE, 0.0, 0.0, {}),
        (PASS_RATE, 0.0, 0.0, {"sample_weight": 0.0}),  # no share of the weights
        (PASS_RATE, None, 1.0, {"errors": {"f1": "down"}}),
        (PASS_RATE, None, 1.0, {"left_out": {"f1": "answer"}}),
        (PASS_RATE, None, 0.0, {"left_out": {"f1": "row"}, **FAILING}),
        (UNSCORED, None, None, {"errors": {"f1": "down", "em": "down"}}),
        (UNSCORED, None, None, {"left_out": {"f1": "row"}, "errors": {"em": "down"}}),
        (UNSCORED, None, None, {"left_out": {"f1": "row", "em": "answer"}}),
        (UNSCORED, None, None, {"errors": {TARGET: "down"}, "sample_weight": 0.0}),
        (UNSCORED, None, None, {"outcome": "error", "invalid": "no answer"}),
        (WEIGHTED, None, None, {"errors": {"f1": "down", "em": "down"}}),
        (WEIGHTED, None, None, {"left_out": {"f1": "row"}, "errors": {"em": "down"}}),
        (WEIGHTED, None, 1.0, {"left_out": {"f1": "row"}, "weighted_score": None}),
        (WEIGHTED, None, 0.0, {"left_out": {"f1": "row"}}),
    ],
)
def test_a_value_is_judged_by_what_its_rows_do_not_rule_out(
    result: Result, options: dict[str, Any], f1: float | None, em: float | None, fields: Any
) -> None:
    """Also where other rows of the value rule everything out."""
    samples = [*RIGHT, row(2, f1, em, "b", **fields)]
    found = check(result, options, samples, thresholds=THRESHOLDS)
    assert found.outcome == "failed"
    assert found.message.startswith("1 of 2 values of doc_name: b: ")
    samples.append(row(3, None, None, "b", left_out=BOTH_OUT))
    found = check(result, options, samples, thresholds=THRESHOLDS)
    assert found.outcome == "failed"
    assert found.message.startswith("1 of 2 values of doc_name: b: ")


@pytest.mark.parametrize("options", [PASS_RATE, UNSCORED, WEIGHTED])
def test_where_no_value_has_anything_to_judge_nothing_passes(
    result: Result, options: dict[str, Any]
) -> None:
    samples = [row(at, None, None, kind, left_out=BOTH_OUT) for at, kind in enumerate("ab")]
    assert check(result, options, samples, thresholds=THRESHOLDS).outcome == "failed"


@pytest.mark.parametrize(
    "options", [PASS_RATE, UNSCORED, WEIGHTED, by(by={"kind": {"unscored": 0}})]
)
def test_a_value_whose_rows_rule_out_all_that_is_asked_is_left_out_and_said(
    result: Result, options: dict[str, Any]
) -> None:
    """As a mean leaves it out; a skipped row beside them is not to be judged either."""
    samples = [
        *RIGHT,
        row(2, None, None, "b", left_out=BOTH_OUT),
        row(3, None, None, "b", **SKIPPED),
    ]
    fields = {"thresholds": THRESHOLDS, "metadata_columns": ("kind",)}
    samples = [replace(one, metadata={"kind": one.doc_name}) for one in samples]
    found = check(result, options, samples, **fields)
    assert found.outcome == "passed"
    assert found.message.endswith("left out, as all their rows rule the metric out or weigh 0: b")


def test_a_value_that_rules_out_each_threshold_is_none_of_the_pass_rate(result: Result) -> None:
    """Its other metric has no threshold; that of the other value keeps its own."""
    samples = [*RIGHT, row(2, None, 0.1, "b", left_out={"f1": "row"})]
    found = check(result, PASS_RATE, samples, thresholds=THRESHOLDS)
    assert found.outcome == "passed"
    assert found.message.endswith("rule the metric out or weigh 0: b")
    found = check(result, PASS_RATE, samples, thresholds={**THRESHOLDS, "em": Bound(min=0.5)})
    assert found.message == "1 of 2 values of doc_name: b: 0.0000 < 0.9000 (0 of 1 scored samples)"


@pytest.mark.parametrize("options", [PASS_RATE, UNSCORED, WEIGHTED])
@pytest.mark.parametrize("left_out", [{"f1": "run", "em": "row"}, {"f1": "run", "em": "run"}])
def test_a_value_for_which_the_search_found_nothing_fails(
    result: Result, options: dict[str, Any], left_out: dict[str, str]
) -> None:
    """That no row says of itself; a mean of the metric has nothing to look at, as before."""
    samples = [*RIGHT, row(2, None, None, "b", left_out=left_out)]
    assert check(result, options, samples, thresholds=THRESHOLDS).outcome == "failed"
    assert check(result, by(f1=0.5), samples).outcome == "passed"


# by: no_regression over several metrics

OF_BOTH = by(no_regression={"baseline": "main", "metrics": ["f1", "em"], "min_pairs": 0})
LEFT_OUT = {"left_out": {"f1": "row"}}
ROWS_A = [row(at, 1.0, 1.0) for at in range(6)]


def rows_b(em: float | None, **fields: Any) -> list[Any]:
    return [row(at, None, em, "b", **fields) for at in range(6, 12)]


@pytest.mark.parametrize(
    ("now", "before"),
    [
        pytest.param(rows_b(1.0, errors={"f1": "down"}), rows_b(1.0, **LEFT_OUT), id="failed"),
        pytest.param(rows_b(1.0, left_out={"f1": "answer"}), rows_b(1.0), id="by the answer"),
        pytest.param(
            [*rows_b(1.0, **LEFT_OUT)[:5], row(11, None, 1.0, "b", errors={"f1": "down"})],
            rows_b(1.0, **LEFT_OUT),
            id="one failed",
        ),
        pytest.param(
            rows_b(1.0, **LEFT_OUT),
            [row(at, 1.0, 1.0, "b") for at in range(6, 12)],
            id="the baseline has scores",
        ),
        pytest.param(
            [*rows_b(1.0, **LEFT_OUT)[:5], row(11, None, None, "b", **SKIPPED, invalid="no")],
            [*rows_b(1.0, **LEFT_OUT)[:5], row(11, 1.0, 1.0, "b")],
            id="the row with the baseline's score is invalid now",
        ),
        pytest.param(
            rows_b(1.0, left_out={"f1": "run"}), rows_b(1.0, left_out={"f1": "run"}), id="the run's"
        ),
        pytest.param(rows_b(None, left_out=BOTH_OUT, weighted_score=0.5), [], id="nothing there"),
        pytest.param(rows_b(0.0, **LEFT_OUT), rows_b(1.0, **LEFT_OUT), id="the other one fell"),
    ],
)
def test_a_value_without_a_score_of_one_metric_fails(
    result: Result, now: list[Any], before: list[Any]
) -> None:
    found = check(result, OF_BOTH, ROWS_A + now, ROWS_A + before)
    is_left_out = not before  # as a value without samples of the baseline is
    assert found.outcome == ("passed" if is_left_out else "failed")


@pytest.mark.parametrize(
    ("metrics", "by_what", "kind", "fails"),
    [
        (["f1"], "run", "answered", True),
        (["f1"], "run", "refused", False),  # right, as the judge has it
        (["f1"], "row", "refused", False),  # right now, or its label was corrected
        ([WEIGHTED_SCORE], "row", "refused", True),
        ([WEIGHTED_SCORE, "f1"], "row", "refused", True),
    ],
)
def test_a_value_that_has_lost_all_that_the_baseline_has_fails(
    result: Result, metrics: list[str], by_what: str, kind: str, fails: bool
) -> None:
    """Where the baseline had no score either, or the row says so of the metric, it is left out."""
    options = by(no_regression={"baseline": "main", "metrics": metrics, "min_pairs": 0})
    left_out = {"f1": by_what, "em": by_what}
    now = rows_b(None, left_out=left_out, details={"answer_kind": {"kind": kind}})
    found = check(result, options, ROWS_A + now, [*ROWS_A, row(6, 1.0, 1.0, "b"), *now[1:]])
    assert (found.outcome == "failed") == fails
    assert ("b: " in found.message) == fails
    now = rows_b(None, left_out=BOTH_OUT)
    found = check(result, options, ROWS_A + now, ROWS_A + now)
    assert found.outcome == "passed"
    assert found.message.endswith("left out, as all their rows rule the metric out or weigh 0: b")


def test_without_values_a_metric_that_applies_to_no_row_fails(result: Result) -> None:
    options = OF_BOTH["by"]["doc_name"]
    samples = rows_b(1.0, **LEFT_OUT)
    found = check(result, options, samples, samples)
    assert found.outcome == "failed"
    assert "f1: no sample was scored in both runs" in found.message


def test_a_value_is_judged_by_the_metrics_that_its_rows_do_not_rule_out(result: Result) -> None:
    """And it is said which are left out; em decides for b."""
    more = [*rows_b(1.0, **LEFT_OUT), row(12, None, None, "b", left_out=BOTH_OUT)]
    found = check(result, OF_BOTH, ROWS_A + more, ROWS_A + more)
    assert found.outcome == "passed"
    assert found.message.endswith("; f1 left out, as all their rows rule it out: b")
    unasked = rows_b(1.0, left_out={"f1": "label"})
    assert check(result, OF_BOTH, ROWS_A + unasked, ROWS_A + unasked).message == found.message
    lost = [row(at, 1.0, 1.0, "b") for at in range(6, 12)]
    assert check(result, OF_BOTH, ROWS_A + unasked, ROWS_A + lost).outcome == "failed"
    fallen = rows_b(0.0, **LEFT_OUT)
    found = check(result, OF_BOTH, ROWS_A + fallen, ROWS_A + rows_b(1.0, **LEFT_OUT))
    assert found.outcome == "failed"
    assert found.message.startswith("1 of 2 values of doc_name: b: em: worse, ")
    assert "f1" not in found.message.partition("; f1 left out")[0]


# by: invalid rows


def invalid(at: int, kind: str | None, outcome: str = "skipped") -> SampleResult:
    fields: dict[str, Any] = {"scores": {"f1": None, "em": None}, "doc_name": kind}
    return SampleResult(f"s{at}", at, outcome, invalid="no references", **fields)  # type: ignore[arg-type]


OF_INVALID = by(invalid=0.5)


@pytest.mark.parametrize(
    ("options", "more", "outcome"),
    [
        (OF_INVALID, [row(2, None, None, "b", **SKIPPED)], "passed"),
        (OF_INVALID, [invalid(2, "a")], "passed"),  # 1 of 3
        (OF_INVALID, [row(2, 1.0, 1.0, "b"), invalid(3, "b")], "passed"),  # 1 of 2
        (OF_INVALID, [invalid(2, None)], "passed"),  # not JSON: of which document, nobody knows
        (OF_INVALID, [row(2, 1.0, 1.0, "b"), invalid(3, "b"), invalid(4, "b")], "failed"),
        (OF_INVALID, [invalid(2, "b", "error")], "failed"),
        (by(em=0.5), [invalid(2, "b"), invalid(3, "b")], "passed"),
        (by(unscored=0), [invalid(2, "b", "xfailed")], "passed"),
        (by(weighted_score=0.5), [invalid(2, "b")], "passed"),
    ],
)
def test_invalid_rows_are_a_share_of_those_of_their_value(
    result: Result, options: dict[str, Any], more: list[Any], outcome: str
) -> None:
    assert check(result, options, RIGHT + more).outcome == outcome


def test_a_value_of_nothing_but_invalid_rows_is_one_of_the_gate_on_them(result: Result) -> None:
    """It was left out: the worst of all documents was named nowhere."""
    found = check(result, OF_INVALID, [*RIGHT, invalid(2, "a"), invalid(3, "b"), invalid(4, "b")])
    assert (found.outcome, found.observed) == ("failed", 1.0)
    assert found.message == "1 of 2 values of doc_name: b: 1.0000 > 0.5000 (2 of 2 rows)"


def test_invalid_rows_that_name_no_value_are_told_and_fail_none(result: Result) -> None:
    """A row that is no JSON has no document; beside a good row without one it is a share."""
    samples = [*RIGHT, invalid(2, None), invalid(3, None, "xfailed")]
    found = check(result, OF_INVALID, samples)
    assert found.outcome == "passed"
    assert found.message.endswith("; 2 invalid rows without doc_name left out")
    none: Any = None
    found = check(result, OF_INVALID, [*samples, row(4, 1.0, 1.0, none)])
    assert found.message == "1 of 2 values of doc_name: (none): 0.6667 > 0.5000 (2 of 3 rows)"

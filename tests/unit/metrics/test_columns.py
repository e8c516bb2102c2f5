"""A column of the data as a metric: its numbers, its blanks, its part in the weighted score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.metrics.base import NoOptions, ScoringContext
from pytest_rageval.metrics.columns import column_metric
from pytest_rageval.model import Sample, ScenarioResult, Score
from pytest_rageval.scenario.model_specs import MetricSpec

Run = Callable[..., ScenarioResult]
MakePlan = Callable[..., Plan]
Problems = Callable[..., list[str]]

LATENCY = "{column: latency_s, range: [0, null], lower_is_better: true}"


def scored(column: str, sample: Sample, **context: Any) -> Score:
    definition = column_metric(column, None)
    metric: Any = definition.make(column, NoOptions())
    found: Score = metric.score(sample, ScoringContext(**context))
    return found


def of_cell(cell: Any) -> Score:
    return scored("took", Sample("s", row=7, metadata={"took": cell}))


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (2.5, 2.5),
        (0, 0.0),
        (-3, -3.0),
        (True, 1.0),
        (False, 0.0),
        ("2.5", 2.5),
        (" 1e-3 ", 0.001),
        (".5", 0.5),
        ("TRUE", 1.0),
        ("false", 0.0),
    ],
)
def test_a_number_is_the_score(cell: Any, value: float) -> None:
    """Numbers written as text, as in CSV, are numbers; truth values are 0 and 1."""
    assert of_cell(cell) == Score("took", value)


@pytest.mark.parametrize("cell", [None, "", "  ", float("nan"), "NaN", "null"])
def test_a_blank_cell_has_no_score_and_no_error(cell: Any) -> None:
    """Missing is not zero."""
    assert of_cell(cell) == Score("took", None, reason="the row has no took")


@pytest.mark.parametrize("cell", ["fast", "2,5", "1_000", "inf", [1], {"s": 1}, float("inf")])
def test_what_is_no_number_is_an_error_with_its_row(cell: Any) -> None:
    """Text is neither 0 nor left out."""
    found = of_cell(cell)
    assert (found.value, found.reason) == (None, None)
    assert found.error == f"row 7, took: expected a number, found {cell!r}"


def test_a_field_that_was_a_column_can_be_named() -> None:
    """``confidence`` is a field of samples, too."""
    assert scored("confidence", Sample("s", confidence=0.25)).value == 0.25
    assert scored("answerable", Sample("s", answerable=False)).value == 0.0


def test_what_a_target_took_is_a_number_unless_its_answer_was_kept() -> None:
    """Latency and cost of an answer from the cache are those of an earlier run."""
    sample = Sample("s")
    assert scored("target.latency_s", sample, latency_s=1.25).value == 1.25
    assert scored("target.cost_usd", sample, latency_s=1.25, cost_usd=0.002).value == 0.002
    for column in ("target.latency_s", "target.cost_usd"):
        kept = scored(column, sample, cost_usd=0.002)
        assert (kept.value, kept.error) == (None, None)
        assert kept.reason == "the answer was not asked for now (cached)"
    free = scored("target.cost_usd", sample, latency_s=1.25)
    assert free.reason == "the target states no cost (price, or cost_usd)"


ROWS = """
dataset:
  - {id: a, answer: x, references: [x], latency_s: 1.5, thumb: true, lang: en}
  - {id: b, answer: y, references: [x], latency_s: 2.5, thumb: false, lang: en}
  - {id: c, answer: x, references: [x], latency_s: 5, thumb: true, lang: de}
"""


def test_an_open_range_leaves_the_weighted_score_alone(run: Run) -> None:
    """em 1, 0, 1: the seconds have no part in the mean 2/3, and a mean of their own, 9/3."""
    found = run(f"name: s\nmetrics: [em, {LATENCY}]\n{ROWS}")
    assert found.weighted_score.mean == pytest.approx(2 / 3)
    assert found.metrics["latency_s"].mean == pytest.approx(3.0)
    assert found.metrics["latency_s"].weight == 0.0
    assert not found.info.metrics[1].higher_is_better


def test_a_closed_range_counts_and_lower_is_better_is_turned(run: Run) -> None:
    """5 of 0..10 s is 0.5; with em 1 the third sample has (1 + 0.5) / 2."""
    closed = "{column: latency_s, range: [0, 10], lower_is_better: true}"
    found = run(f"name: s\nmetrics: [em, {closed}]\n{ROWS}")
    assert [sample.weighted_score for sample in found.samples] == pytest.approx(
        [(1 + 0.85) / 2, (0 + 0.75) / 2, 0.75]
    )


def test_gates_and_thresholds_take_a_column_as_any_metric(run: Run) -> None:
    """Mean 3, two of three at most 2.5, the German one 5; a bare number is a maximum here."""
    found = run(
        f"name: s\nmetrics: [em, {LATENCY}]\nthresholds: {{latency_s: 4}}\n"
        "gates: {latency_s: {mean: 3, quantile: {0.66: 2.5, 0.95: 4}},"
        " by: {lang: {latency_s: 2}}, pass_rate: 0.6}\n" + ROWS
    )
    assert {gate.name: (gate.outcome, gate.observed) for gate in found.gates[:3]} == {
        "latency_s.mean": ("passed", 3.0),
        "latency_s.quantile.0.66": ("passed", 2.5),
        "latency_s.quantile.0.95": ("failed", 5.0),
    }
    by_name = {gate.name: gate for gate in found.gates}
    assert by_name["by.lang.latency_s.mean"].message.startswith("1 of 2 values of lang: de: 5.0000")
    assert by_name["pass_rate"].observed == pytest.approx(2 / 3)
    assert [sample.outcome for sample in found.samples] == ["passed", "passed", "failed"]


def test_a_blank_or_a_text_under_a_gate_is_an_error_unless_it_may_be_missing(run: Run) -> None:
    """One of three: the gate ``unscored`` bounds the share."""
    rows = ROWS.replace("latency_s: 5", "latency_s: null")
    text = f"name: s\nmetrics: [em, {LATENCY}]\n{rows}gates: {{latency_s: 3"
    assert run(text + "}\n").samples[2].outcome == "error"
    tolerant = run(text + ", unscored: {latency_s: 0.34}}\n")
    assert tolerant.samples[2].outcome == "xfailed"
    assert not tolerant.is_red
    assert run(text + ", unscored: {latency_s: 0.33}}\n").is_red
    words = run(text.replace("latency_s: null", "latency_s: fast") + "}\n")
    assert words.samples[2].errors == {
        "latency_s": "row 3, latency_s: expected a number, found 'fast'"
    }


def test_a_column_may_have_another_name_and_be_used_twice(plan: MakePlan) -> None:
    """Both forms of a name, as metrics of one's own have them."""
    text = (
        f"name: s\nmetrics: [em, {{column: thumb, name: liked, range: [0, 1]}}, "
        f"up: {{column: thumb}}]\n{ROWS}"
    )
    made = plan(text)
    assert [column.name for column in made.info.metrics] == ["em", "liked", "up"]
    assert [column.weight for column in made.info.metrics] == [1.0, 1.0, 0.0]
    assert made.info.metrics[1].definition == "column thumb v1 ()"
    assert made.is_plain
    assert not made.info.warnings


def test_a_column_that_serves_a_field_keeps_its_name_for_the_metric(run: Run) -> None:
    """``answerable`` of the rows is read as a field in a scenario about refusals."""
    rows = "dataset: [{answer: x, references: [x], answerable: true}]\n"
    found = run(
        "name: s\nmetrics: [em, {column: answerable, range: [0, 1]}]\nrefusals: true\n" + rows
    )
    assert found.samples[0].scores == {"em": 1.0, "answerable": 1.0}


@pytest.mark.parametrize(
    ("metrics", "more", "message"),
    [
        (
            "[em, {column: latncy_s}]",
            "",
            "s.yaml:2: metrics[1].column: s.yaml: unknown column 'latncy_s'. Did you mean "
            "'latency_s'? Known: answer, id, lang, latency_s, references, thumb",
        ),
        (
            "[em, {column: target.latency_s}]",
            "",
            "s.yaml:2: metrics[1].column: 'target.latency_s' needs a system under test; "
            "name it: target",
        ),
        (
            "[em, {column: target.latency}]",
            "",
            "s.yaml:2: metrics[1].column: unknown value of a target 'target.latency'. "
            "Did you mean 'target.latency_s'? Known: target.cost_usd, target.latency_s",
        ),
        (
            f"[em, {LATENCY}]",
            "metric_weights: {latency_s: 1}\n",
            "s.yaml:7: metric_weights.latency_s: a column without a closed range has no part in "
            "weighted_score; write both ends, such as range: [0, 10], or the weight 0",
        ),
        (
            f"[{LATENCY}]",
            "",
            "s.yaml:2: metrics: nothing makes a weighted_score, for 'latency_s' has no closed "
            "range; write both ends, such as range: [0, 10], or add a metric such as em",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_collection(
    problems: Problems, metrics: str, more: str, message: str
) -> None:
    """With the line, what is allowed, and what to write."""
    (problem,) = problems(f"name: s\nmetrics: {metrics}{ROWS}{more}")
    assert problem == message


def test_a_column_that_is_blank_everywhere_is_refused(problems: Problems) -> None:
    """A metric that scores nothing tests nothing."""
    rows = "dataset: [{answer: x, references: [x], cost: null}]\n"
    (problem,) = problems("name: s\nmetrics: [em, {column: cost}]\n" + rows)
    assert problem.endswith("metrics[1].column: the column 'cost' is blank in every row of s.yaml")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("metrics: [em, {column: took}]", 1),
        ("metrics: [em]\ngates: {by: {took: {em: 1}}}", 1),
        ("metrics: [em]", 0),
    ],
)
def test_a_column_that_two_files_have_with_other_values_is_told_if_read(
    plan: MakePlan, keys: str, said: int
) -> None:
    data = {"g.csv": "id,references,took\na,x,1\n", "a.csv": "id,answer,took\na,x,9\n"}
    warnings = plan(f"name: s\n{keys}\ndataset: g.csv\nanswers: a.csv\n", data).info.warnings
    assert ["'took' has other values in a.csv in 1 row" in text for text in warnings] == [
        True
    ] * said


def test_a_weight_of_zero_may_be_written(plan: MakePlan) -> None:
    """It is what an open range has anyway, and no warning assumes 1.0 for it."""
    made = plan(f"name: s\nmetrics: [em, {LATENCY}]{ROWS}metric_weights: {{em: 2}}\n")
    assert made.info.warnings == ()
    assert plan(f"name: s\nmetrics: [em, {LATENCY}]{ROWS}metric_weights: {{latency_s: 0, em: 2}}\n")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"column": "a", "rnge": [0, 1]}, "unknown key of a column 'rnge'. Did you mean 'range'?"),
        ({"column": "a", "lower_is_better": 1}, "lower_is_better: expected true or false"),
        (
            {"column": "a", "lower_is_better": True, "higher_is_better": True},
            "without higher_is_better",
        ),
        ({"column": "a", "range": [2, 1]}, "expected the lower end first"),
        ({"column": ""}, "column"),
    ],
)
def test_keys_of_a_column_are_checked(keys: dict[str, Any], message: str) -> None:
    """What describes code means nothing here."""
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        MetricSpec.model_validate(keys)

"""The sentence on how many rows see a fall: which fall, of which metric, in which words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Comparing,
    Comparison,
    MetricColumn,
    MetricComparison,
    Sample,
    ScenarioInfo,
    SignificanceTest,
)
from pytest_rageval.reports.needed_rows import rows_of_comparison, rows_of_saved_run
from pytest_rageval.stats.paired import power_factor

Info = Callable[..., ScenarioInfo]
F1, NOISE = MetricColumn("f1"), MetricColumn("noise", higher_is_better=False)
STARS = MetricColumn("stars", ends=(0.0, 5.0))
LENGTH = MetricColumn("length", ends=(0.0, None))


def differing(deviation: float, n: int = 300, groups: int | None = None) -> MetricComparison:
    """Return the figures of a metric whose differences have this standard deviation."""
    units = groups or n
    smallest = power_factor(0.05, units - 1) * deviation / math.sqrt(units)
    figures = (0.5, 0.4, 0.1, 0.0, 0.2, 0.5, 0.5)
    return MetricComparison(*figures, False, n, n, "permutation", smallest, groups=groups)


def against(**metrics: MetricComparison) -> Comparison:
    return Comparison("main", "permutation", 0.05, metrics, correction="none")


def gated(info: Info, gates: Mapping[str, Any], *columns: MetricColumn) -> ScenarioInfo:
    """Return the info of a scenario with these gates that is compared with ``main``."""
    names = [column.name for column in columns or (F1,)]
    saved = Baseline("main", ("a",), {name: {"a": 0.4} for name in (*names, WEIGHTED_SCORE)})
    return info(
        *columns or (F1,),
        gates=gates,
        baselines={"main": saved},
        compare=(Comparing("main", test=SignificanceTest(correction="none")),),
    )


def test_it_says_what_is_needed_and_what_there_is(info: Info) -> None:
    """F10: 7.8489 · (0.25/0.02)² = 1226.4; 300 see 2.8094 · 0.25/√300 = 0.0406."""
    assert rows_of_comparison(gated(info, {}), against(f1=differing(0.25))) == (
        "to see a fall of 0.02 (power 80 %): about 1,200 rows; these 300 see 0.041"
    )
    assert rows_of_comparison(gated(info, {}), against(f1=differing(0.1, 1300))) == (
        "to see a fall of 0.02 (power 80 %): about 200 rows; these 1,300 see 0.0078: enough"
    )


def test_the_gate_says_which_fall(info: Info) -> None:
    """F10: 7.8489 · (0.25/0.05)² = 196.2; 10 % of 0.4 is 0.04, so 306.6, and Student's t."""
    drop = {"no_regression": {"metrics": ["f1"], "max_drop": 0.05}}
    assert rows_of_comparison(gated(info, drop), against(f1=differing(0.25))) == (
        "to see a fall of 0.05 (power 80 %): about 200 rows; these 300 see 0.041: enough"
    )
    drop["no_regression"]["max_drop"] = "10%"
    assert rows_of_comparison(gated(info, drop), against(f1=differing(0.25))) == (
        "to see a fall of 0.04 (power 80 %): about 310 rows; these 300 see 0.041"
    )
    drop["no_regression"]["max_drop"] = 0
    assert " a fall of 0.02 (" in rows_of_comparison(gated(info, drop), against(f1=differing(0.2)))


def test_the_metric_that_needs_most_is_named(info: Info) -> None:
    """F10: of those that gates test; lower is better for noise. Each has half of alpha by Holm."""
    both = against(f1=differing(0.1), noise=differing(0.3), stars=differing(2.0))
    gates = {"no_regression": {"metrics": ["f1", "noise"], "correction": "holm"}}
    # 2.241403 + 0.841621 = 3.083; squared, times (0.3/0.02)²: 2138.6
    assert rows_of_comparison(gated(info, gates, F1, NOISE, STARS), both) == (
        "to see a rise of 0.02 in noise (power 80 %): about 2,100 rows; these 300 see 0.054"
    )
    gates = {"compare_fail": {"f1": 0.02}}
    assert " a fall of 0.02 in f1 " in rows_of_comparison(gated(info, gates, F1, NOISE), both)


def test_without_a_gate_it_is_the_weighted_score_or_the_first_metric(info: Info) -> None:
    """F10: a fiftieth of the range."""
    known, spread = gated(info, {}, STARS, F1), differing(0.3)
    assert " a fall of 0.02 in weighted_score " in rows_of_comparison(
        known, against(stars=spread, weighted_score=spread)
    )
    assert " a fall of 0.1 in stars " in rows_of_comparison(known, against(stars=spread, f1=spread))


def test_an_unbounded_metric_has_no_usual_fall(info: Info) -> None:
    """F10: only one that a gate names."""
    one, gates = against(length=differing(20.0)), {"compare_fail": {"length": 5}}
    assert rows_of_comparison(gated(info, {}, LENGTH), one) == ""
    assert "to see a fall of 5 (" in rows_of_comparison(gated(info, gates, LENGTH), one)


def test_modes_that_ask_something_else_say_so(info: Info) -> None:
    """F10: exceeds sees what lies beyond; non_inferior counts a worst pair more, of 1/300.

    0.003333 + √((1.9679 · 0.014434)² + (2.68888 · 0.003333)²) + 0.8425 · 0.014434 = 0.045.
    """
    one = against(f1=differing(0.25))

    def said(mode: str, drop: float) -> str:
        gates = {"no_regression": {"metrics": ["f1"], "mode": mode, "max_drop": drop}}
        return rows_of_comparison(gated(info, gates), one)

    assert said("exceeds", 0.02) == (
        "to see that a fall of 0.04 exceeds 0.02 (power 80 %): about 1,200 rows; "
        "these 300 see 0.061"
    )
    assert said("exceeds", 0) == said("significant", 0)
    assert said("non_inferior", 0.02) == (
        "to exclude a fall of 0.02 if nothing changed (power 80 %): about 1,300 rows; "
        "these 300 exclude 0.045"
    )
    assert said("any", 0.02) == ""


def test_groups_are_counted_with_their_rows(info: Info) -> None:
    """F10: 7.8489 · (0.25/0.02)² groups of three."""
    assert rows_of_comparison(gated(info, {}), against(f1=differing(0.25, 300, 100))) == (
        "to see a fall of 0.02 (power 80 %): about 1,200 groups (3,700 rows); "
        "these 100 groups see 0.071"
    )


def test_what_is_not_known_is_said(info: Info) -> None:
    """F10: never one row."""
    assert rows_of_comparison(gated(info, {}), against(f1=differing(0.2, 8))) == (
        "to see a fall of 0.02 (power 80 %): how many rows is not known (only 8 rows)"
    )


def saved(scores: Mapping[str, float], **metrics: Mapping[str, float]) -> Baseline:
    return Baseline("main", tuple(scores), {"f1": scores, WEIGHTED_SCORE: scores, **metrics})


def test_before_a_run_the_scores_of_the_saved_one_say_it(info: Info) -> None:
    """F10: half of 300 are 1: 7.8489 · 2 · 0.25 · (300/299)/0.02² = 9843; of other rows nothing."""
    samples = [Sample(f"s{at}", doc_name="ab"[at % 2]) for at in range(300)]
    scores = {f"s{at}": float(at % 2) for at in range(310)}
    found = rows_of_saved_run(info(F1), samples, saved(scores))
    assert found == (
        "to see a fall of 0.02 (power 80 %): about 9,800 rows; these 300 see 0.11, "
        "as if the two runs' scores had nothing in common: fewer when they have"
    )
    grouped = info(F1, group_by="doc_name")
    assert "not known (only 2 groups)" in rows_of_saved_run(grouped, samples, saved(scores))
    alone = info(F1, doc_weights={"a": 0.0})
    assert "only 0 of 150 scores" in rows_of_saved_run(alone, samples, saved(scores))
    assert "in common" not in rows_of_saved_run(alone, samples, saved(scores))


@pytest.mark.parametrize("metrics", [("f1", "em"), ()])
def test_before_a_run_what_is_compared_shares_alpha(info: Info, metrics: tuple[str, ...]) -> None:
    """F10: 3.083024² · 2 · 0.25/0.02² = 11881 for two metrics; em is not in the saved run."""
    samples = [Sample(f"s{at}") for at in range(300)]
    scores = {f"s{at}": float(at % 2) for at in range(300)}
    known = info(F1, MetricColumn("em"), compare=(Comparing("main", metrics),))
    assert "about 12,000 rows" in rows_of_saved_run(known, samples, saved(scores))

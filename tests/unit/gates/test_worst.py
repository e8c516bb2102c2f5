"""Which samples are worst when a gate failed: beyond its bound, or worse than they were."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from decided_result import Scores, decided

from pytest_rageval.gates.unscored import gates_of
from pytest_rageval.gates.worst_samples import WorstSamples
from pytest_rageval.model import GateResult, MetricColumn, ScenarioResult

NOISE = MetricColumn("noise", higher_is_better=False)


def found(result: ScenarioResult, name: str) -> list[WorstSamples]:
    (gate,) = [gate for gate in gates_of(result.info) if gate.name == name]
    (verdict,) = [verdict for verdict in result.gates if verdict.name == name]
    assert verdict.outcome == "failed"
    return gate.worst_samples(result, verdict)


def rows(listed: WorstSamples) -> list[tuple[str, str]]:
    return [(figure, sample.sample_id) for figure, sample in listed.rows]


def compared(now: Scores, before: Scores, options: Mapping[str, Any], **more: Any) -> Any:
    gates = {"no_regression": {"baseline": "main", "mode": "any", "metrics": [*now], **options}}
    return found(decided(now, gates, before=before, **more), "no_regression")


def test_a_mean_lists_the_lowest_below_its_bound_ties_in_the_order_of_the_data() -> None:
    """[U2] Six of eight are below 0.8; five are listed, the two zeros first."""
    scores = [0.5, 0.0, 1.0, 0.6, 0.0, 0.9, 0.7, 0.5]
    (listed,) = found(decided({"f1": scores}, {"f1": 0.8}), "f1.mean")
    assert listed.heading == "f1 is below 0.8 in 6 of 8 samples; the lowest:"
    assert rows(listed) == [
        ("0.0000", "s1"),
        ("0.0000", "s4"),
        ("0.5000", "s0"),
        ("0.5000", "s7"),
        ("0.6000", "s3"),
    ]


def test_answers_that_may_leave_a_mean_are_not_what_makes_it_low() -> None:
    """[U2] Unless more leave it than may: then they are."""
    result = decided({"f1": [0.0, 0.5, 0.5, 0.5]}, {"f1": {"mean": 0.8, "not_applicable": 0.3}})
    first, *others = result.samples
    left = replace(first, left_out={"f1": "answer"}, reasons={"f1": "refused"})
    result = replace(result, samples=[left, *others])
    (listed,) = found(result, "f1.mean")
    assert rows(listed) == [("0.5000", name) for name in ("s1", "s2", "s3")]
    (gate,) = [gate for gate in gates_of(result.info) if gate.name == "f1.mean"]
    (listed,) = replace(gate, may_leave=0.2).worst_samples(result, result.gates[0])
    assert rows(listed)[0] == ("0.0000", "s0")


def test_where_lower_is_better_the_highest_are_worst() -> None:
    """[U2] A bare number is a largest value there."""
    result = decided({"noise": [0.1, 0.9, 0.5]}, {"noise": 0.3}, columns=[NOISE])
    (listed,) = found(result, "noise.mean")
    assert listed.heading == "noise is above 0.3 in 2 of 3 samples; the highest:"
    assert rows(listed) == [("0.9000", "s1"), ("0.5000", "s2")]


def test_of_a_corridor_the_end_counts_that_is_missed() -> None:
    """[U2] The mean 0.8 is above 0.5: the highest are worst, though one is below the minimum."""
    result = decided({"f1": [1.0, 0.2, 0.9, 1.0, 0.9]}, {"f1": {"min": 0.3, "max": 0.5}})
    (listed,) = found(result, "f1.mean")
    assert [name for _, name in rows(listed)] == ["s0", "s3", "s2", "s4"]


def test_samples_without_a_score_are_not_the_lowest() -> None:
    """[U2] Missing is no zero."""
    result = decided({"f1": [None, 0.2, 0.9, math.nan]}, {"f1": 0.8}, errors={0: "down"})
    (listed,) = found(result, "f1.mean")
    assert listed.heading == "f1 is below 0.8 in 1 of 2 samples; the lowest:"
    assert rows(listed) == [("0.2000", "s1")]


def test_a_sample_that_weighs_nothing_is_not_among_them() -> None:
    """[U2] No figure has it; nor one that was skipped."""
    result = decided({"f1": [0.0, 0.1, 0.2, 0.9]}, {"f1": 0.8})
    first, second, *rest = result.samples
    samples = [replace(first, sample_weight=0.0), replace(second, outcome="skipped"), *rest]
    (listed,) = found(replace(result, samples=samples), "f1.mean")
    assert listed.heading == "f1 is below 0.8 in 1 of 2 samples; the lowest:"
    assert rows(listed) == [("0.2000", "s2")]


def test_a_slice_gate_lists_those_of_the_values_that_failed() -> None:
    """[U2] b.pdf has s0, s2, s4 and fails with a mean of 0.3; s3 is of a.pdf, which passes."""
    result = decided(
        {"f1": [0.2, 1.0, 0.4, 0.1, 0.3, 1.0]}, {"by": {"doc_name": {"f1": {"mean": 0.5}}}}
    )
    (listed,) = found(result, "by.doc_name.f1.mean")
    assert [name for _, name in rows(listed)] == ["s0", "s4", "s2"]


def test_a_comparison_counts_both_ways_and_lists_the_largest_falls() -> None:
    """[U2] By 0.1, 0.5, 0.3 down; one up by 0.1; one equal."""
    before: Sequence[float] = [0.6, 0.9, 0.8, 0.5, 0.7]
    now = [0.5, 0.4, 0.5, 0.6, 0.7]
    (listed,) = compared({"f1": now}, {"f1": before}, {})
    assert listed.heading == "f1: 3 fell, 1 rose of 5 samples (main -> this run); the worst:"
    assert rows(listed) == [
        ("0.9000 -> 0.4000", "s1"),
        ("0.8000 -> 0.5000", "s2"),
        ("0.6000 -> 0.5000", "s0"),
    ]


def test_where_lower_is_better_what_rose_is_worse() -> None:
    """[U2] 0.1 -> 0.8 and 0.5 -> 0.6 rose, 0.4 -> 0.3 fell."""
    (listed,) = compared(
        {"noise": [0.8, 0.3, 0.6]}, {"noise": [0.1, 0.4, 0.5]}, {}, columns=[NOISE]
    )
    assert listed.heading.startswith("noise: 2 rose, 1 fell of 3 samples")
    assert rows(listed) == [("0.1000 -> 0.8000", "s0"), ("0.5000 -> 0.6000", "s2")]


def test_of_several_metrics_each_that_is_worse_lists_three() -> None:
    """[U2] em is better on the whole and has no list."""
    down, up = [0.1] * 6, [0.9] * 6
    lists = compared(
        {"f1": down, "em": up, "acc": down},
        {"f1": up, "em": down, "acc": up},
        {"metrics": ["f1", "em", "acc"]},
    )
    assert [listed.heading.partition(":")[0] for listed in lists] == ["f1", "acc"]
    assert [len(listed.rows) for listed in lists] == [3, 3]


def test_of_one_metric_that_is_worse_five_are_listed() -> None:
    """[U2] em is as it was, acc rose by 0.1 in one sample: neither is worse on the whole."""
    same = [0.5] * 6
    (listed,) = compared(
        {"f1": [0.1] * 6, "em": same, "acc": [0.6, *same[1:]]},
        {"f1": [0.9] * 6, "em": same, "acc": same},
        {"metrics": ["f1", "em", "acc"]},
    )
    assert listed.heading == "f1: 6 fell, 0 rose of 6 samples (main -> this run); the worst:"
    assert [name for _, name in rows(listed)] == ["s0", "s1", "s2", "s3", "s4"]


def test_a_pair_needs_both_scores() -> None:
    """[U2] Of four samples one has none now, one had none, and one has NaN."""
    now, before = [0.4, None, 0.3, math.nan], [0.5, 0.9, None, 0.9]
    (listed,) = compared({"f1": now}, {"f1": before}, {"min_pairs": 0})
    assert listed.heading.startswith("f1: 1 fell, 0 rose of 1 sample (")
    assert rows(listed) == [("0.5000 -> 0.4000", "s0")]


def test_the_weighted_score_has_a_list_of_its_own() -> None:
    """[U2] It is the metric's here."""
    (listed,) = compared({"f1": [0.4]}, {"f1": [0.5]}, {"metrics": ["weighted_score"]})
    assert listed.heading.startswith("weighted_score: 1 fell, 0 rose of 1 sample (")


def test_on_the_whole_means_by_weight() -> None:
    """[U2] 3·(-0.1) + 1·0.2 is a fall, -0.1 + 0.2 is none."""
    result = decided(
        {"f1": [0.4, 0.7]},
        {"no_regression": {"baseline": "main", "mode": "any"}},
        before={"f1": [0.5, 0.5]},
    )
    (gate,) = [gate for gate in gates_of(result.info) if gate.name == "no_regression"]
    verdict = GateResult(gate.name, "failed", -0.025, 0.0, "")
    assert gate.worst_samples(result, verdict) == []
    first, second = result.samples
    heavy = replace(result, samples=[replace(first, sample_weight=3.0), second])
    (listed,) = gate.worst_samples(heavy, verdict)
    assert rows(listed) == [("0.5000 -> 0.4000", "s0")]


def test_a_comparison_of_slices_lists_those_that_fell() -> None:
    """[U2] b.pdf has s0 and s2, which fell; a.pdf has s1, which did not."""
    gates = {"by": {"doc_name": {"no_regression": {"baseline": "main", "mode": "any"}}}}
    result = decided({"f1": [0.4, 0.5, 0.3]}, gates, before={"f1": [0.5, 0.5, 0.5]})
    (listed,) = found(result, "by.doc_name.no_regression")
    assert rows(listed) == [("0.5000 -> 0.3000", "s2"), ("0.5000 -> 0.4000", "s0")]


def test_other_gates_list_nothing() -> None:
    """[U2] What the share of unscored samples is about has no score."""
    result = decided({"f1": [None, 1.0]}, {"f1": 0.5}, errors={0: "down"})
    assert found(result, "unscored") == []

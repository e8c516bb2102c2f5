"""F6: asking ends when every gate is certain; at an error bound only a random order counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.plan import in_random_order
from pytest_rageval.engine.verdict.certainty import Certainty
from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import SampleResult, ScenarioInfo, ScenarioResult

Info = Callable[..., ScenarioInfo]
Result = Callable[..., ScenarioResult]


def scored(at: int, score: float | None = 1.0, **fields: Any) -> SampleResult:
    found = SampleResult(f"s{at}", at, weighted_score=score, scores={"f1": score, "em": score})
    return replace(found, **fields)


def left_out(at: int) -> SampleResult:
    reasons = {"f1": "not asked: decided", "em": "not asked: decided"}
    return scored(at, None, outcome="skipped", reasons=reasons)


def certainty(info: ScenarioInfo, total: int) -> Certainty:
    asked = [scored(at) for at in range(total)]
    return Certainty(info, make_gates(info.gates, info), asked)


def reached(found: Certainty, samples: Sequence[SampleResult]) -> int:
    """Return after how many samples everything was certain, 0 where it never was."""
    for count, sample in enumerate(samples, 1):
        found.add(sample)
        if found.is_reached:
            return count
    return 0


def test_every_gate_must_be_certain(info: Info) -> None:
    """f1 with 2 of 4, em with 3 of 4; a gate that needs every sample is never certain."""
    samples = [scored(at) for at in range(4)]
    assert reached(certainty(info(gates={"f1": 0.5}, stop=0.0), 4), samples) == 2
    both = info(gates={"f1": 0.5, "em": 0.7}, stop=0.0)
    assert reached(certainty(both, 4), samples) == 3
    late = info(gates={"f1": {"mean": 0.5, "quantile": {0.1: 0.2}}}, stop=0.0)
    assert reached(certainty(late, 4), samples) == 0


def test_a_sample_counts_once(info: Info) -> None:
    """Other plugins run cases again."""
    found = certainty(info(gates={"f1": 0.5}, stop=0.0), 4)
    assert reached(found, [scored(0), scored(0), scored(0)]) == 0


def test_a_metric_that_fails_samples_itself_needs_all_of_them(info: Info) -> None:
    samples = [scored(at, details={"f1": {"passing": True}}) for at in range(4)]
    assert reached(certainty(info(gates={"f1": 0.5}, stop=0.0), 4), samples) == 0
    tolerated = info(gates={"f1": 0.5}, stop=0.0, tolerates_shortfalls=True)
    assert reached(certainty(tolerated, 4), samples) == 2


def test_at_an_error_bound_a_sample_counts_only_after_all_before_it(info: Info) -> None:
    """In the order of the rows that says nothing until the first of the random order is there."""
    made = info(gates={"f1": 0.5}, stop=0.05)
    samples = in_random_order(made, [scored(at) for at in range(100)])
    assert [one.index for one in samples] != list(range(100))
    asked = reached(certainty(made, 100), samples)
    assert 0 < asked < 12
    late = [*samples[1:50], samples[0]]
    assert reached(certainty(made, 100), late) == 50


def test_the_random_order_is_that_of_the_scenario_and_its_data(info: Info) -> None:
    rows = [scored(at) for at in range(20)]
    one, same, other = (
        [row.index for row in in_random_order(info(dataset_sha256=digest), rows)]
        for digest in ("a", "a", "b")
    )
    assert one == same != other


def test_a_run_that_stopped_is_decided_and_not_complete(result: Result) -> None:
    """Two of three asked: the figures are theirs, and the messages say so."""
    samples = [scored(0), scored(1), left_out(2)]
    found = decide_gates(result(samples, gates={"f1": 0.5}, stop=0.0), Extent(3, 3, 3))
    assert (found.complete, found.counts.ran, found.counts.not_asked) == (False, 2, 1)
    assert (found.counts.skipped, found.metrics["f1"].n) == (1, 2)
    mean, unscored = found.gates
    assert (mean.outcome, unscored.outcome) == ("passed", "passed")
    assert mean.message == "1.0000 >= 0.5000; of the 2 of 3 samples asked"


def test_a_skipped_row_makes_no_run_stop(result: Result) -> None:
    found = result([scored(0), scored(1, None, outcome="skipped")])
    assert (found.complete, found.counts.ran, found.counts.not_asked) == (True, 2, 0)


@pytest.mark.parametrize("more", [0, 30])
def test_what_is_asked_besides_changes_no_verdict_at_an_error_bound(
    result: Result, info: Info, more: int
) -> None:
    """20 ones in random order decide 100 samples; 30 zeros of other workers do not count."""
    made = info(gates={"f1": 0.5}, stop=0.05)
    order = [one.index for one in in_random_order(made, [scored(at) for at in range(100)])]
    ones, zeros = order[:20], order[100 - more :] if more else []
    samples = [
        scored(at) if at in ones else scored(at, 0.0) if at in zeros else left_out(at)
        for at in range(100)
    ]
    found = decide_gates(result(samples, gates=made.gates, stop=0.05), Extent(100, 100, 100))
    gate = found.gates[0]
    assert gate.outcome == "passed"
    assert gate.observed == pytest.approx(20 / (20 + more))
    assert ("had decided: passed" in gate.message) is bool(more)

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
from pytest_rageval.model import Baseline, SampleResult, ScenarioInfo, ScenarioResult

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


def test_gates_with_one_name_need_every_sample(info: Info) -> None:
    """``compare_fail.a.b.c`` is b.c against a, and c against a.b: one may not decide for both."""
    made = info(gates={"f1": 0.5, "em": 0.7}, stop=0.0)
    alike = [replace(gate, name="alike") for gate in make_gates(made.gates, made)]  # type: ignore[type-var]
    samples = [scored(at) for at in range(4)]
    assert reached(Certainty(made, alike, samples), samples) == 0


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


def test_a_lost_sample_stays_lost_whatever_was_certain(result: Result, info: Info) -> None:
    """20 ones decide 100 samples; a worker crashed on another."""
    made = info(gates={"f1": 0.5}, stop=0.05)
    order = [one.index for one in in_random_order(made, [scored(at) for at in range(100)])]
    samples = [scored(at) if at in order[:20] else left_out(at) for at in range(100)]
    lost = [one for one in samples if one.index != order[50]]
    extent = Extent(100, 100, 99, lost=(f"s{order[50]}",))
    found = decide_gates(result(lost, gates=made.gates, stop=0.05), extent)
    assert {gate.outcome for gate in found.gates} == {"failed"}
    assert "1 lost (a worker crashed?)" in found.gates[0].message


def against(before: Sequence[float], **options: Any) -> dict[str, Any]:
    """Return fields of an info: a gate in mode any, and the run that it compares with."""
    scores = {f"s{at}": score for at, score in enumerate(before)}
    gate = {"baseline": "main", "metrics": ["f1"], "mode": "any", **options}
    main = Baseline("main", tuple(scores), {"f1": scores})
    return {"gates": {"no_regression": gate}, "baselines": {"main": main}}


def regression_of(found: ScenarioResult) -> tuple[str, str]:
    gate, _ = found.gates
    return gate.outcome, gate.message


def test_a_stopped_regression_is_decided_by_what_was_asked(result: Result) -> None:
    """All of 20 were 0 before; 18 pairs are needed and nothing can fall."""
    samples = [*(scored(at, 0.0) for at in range(18)), left_out(18), left_out(19)]
    found = decide_gates(result(samples, **against([0.0] * 20), stop=0.0), Extent(20, 20, 20))
    outcome, message = regression_of(found)
    assert outcome == "passed"
    assert message.endswith("n 18 (no difference in any sample); of the 18 of 20 samples asked")


@pytest.mark.parametrize("later", [0.0, None])
@pytest.mark.parametrize(("lost", "outcome"), [(2, "passed"), (3, "failed")])
def test_samples_not_asked_are_neither_pairs_nor_lost(
    result: Result, lost: int, outcome: str, later: Any
) -> None:
    """Of 20, two may be lost at min_pairs 0.9, however few were asked.

    The others were to be scored, whether the baseline scored them or not.
    """
    samples = [
        *(scored(at, None) for at in range(lost)),
        *(scored(at, 0.0) for at in range(lost, 10)),
        *(left_out(at) for at in range(10, 20)),
    ]
    fields = against([0.0] * 10 + [later] * 10)
    (gate,) = make_gates(fields["gates"], result(samples, **fields).info)
    found = gate.check(result(samples, **fields))
    assert found.outcome == outcome
    if lost == 3:
        assert "only 7 of the 10 samples of main have a score in both runs" in found.message
        assert "asks for 8" in found.message
    assert gate.lacks_samples(result(samples, **fields)) == ""
    gone = gate.lacks_samples(result(samples[3:], **fields))
    assert "only 7 of the 10 samples of main are in this run" in gone


@pytest.mark.full
@pytest.mark.parametrize(("falls", "passes"), [(5, True), (6, False)])
def test_where_falls_stand_in_the_data_does_not_matter_at_an_error_bound(
    info: Info, falls: int, passes: bool
) -> None:
    """All of them last, in 100 rows of 1: 5 are what is allowed, 6 are more.

    0.05 + 3 · √(0.05 · 0.95/200) = 0.096.
    """
    rows = [scored(at, float(at < 100 - falls)) for at in range(100)]
    wrong = 0
    for digest in range(200):
        made = info(**against([1.0] * 100, max_drop=0.05), stop=0.05, dataset_sha256=str(digest))
        found = certainty(made, 100)
        for row in in_random_order(made, rows):
            found.add(row)
        wrong += found.verdicts.get("no_regression", passes) != passes
    assert wrong <= 19

"""[E3, E4] What is known of a run so far, in one process or from workers, and the verdict on it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from decided_result import decided

from pytest_rageval.engine.verdict.decide import gate_names
from pytest_rageval.model import GateResult, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.plugin.run.run_results import Results


def info(name: str = "a", total: int = 2, selected: int | None = None) -> ScenarioInfo:
    """Return a scenario in the file ``<name>.yaml``, whose em is to be 0.5 on average."""
    made = decided({"em": [1.0]}, {"em": 0.5}).info
    file = f"{name}.yaml"
    selected = total if selected is None else selected
    return replace(made, name=name, path=file, nodeid=file, total=total, selected=selected)


def scored(at: int, score: float = 1.0) -> SampleResult:
    return SampleResult(f"s{at}", at, weighted_score=score, scores={"em": score})


def opened(*infos: ScenarioInfo, judges_all: bool = False) -> Results:
    results = Results(judges_all=judges_all)
    for one in infos:
        results.open(one)
    return results


def verdicts(
    results: Results, *, stopped: bool = False, strict: bool = False
) -> list[tuple[str, str, str]]:
    """Return scenario, outcome and message of the gate of em."""
    found = results.summarized(stopped=stopped, strict=strict)
    return [(one.info.name, one.gates[0].outcome, one.gates[0].message) for one in found]


def test_scenarios_are_in_the_order_of_their_files_and_samples_in_that_of_the_data() -> None:
    """[A11, E2] Whatever came first."""
    results = opened(info("b"), info("a"))
    for name in ("b", "a"):
        for at in (1, 0):
            results.record(f"{name}.yaml", f"{name}.yaml::s{at}", scored(at, at))
    found = results.summarized(stopped=False, strict=False)
    assert [result.info.name for result in found] == ["a", "b"]
    assert [sample.sample_id for sample in found[0].samples] == ["s0", "s1"]
    assert found[0].complete
    assert verdicts(results)[0] == ("a", "passed", "0.5000 >= 0.5000")


def test_a_case_that_ran_again_replaces_its_result() -> None:
    """[E4] One sample, not two; opening a scenario again, as each worker does, forgets nothing."""
    results = opened(info(total=1))
    for score in (0.0, 1.0):
        results.record("a.yaml", "a.yaml::s0", scored(0, score))
        results.open(info(total=1))
    (result,) = results.summarized(stopped=False, strict=False)
    assert (result.counts.ran, result.mean_of("em")) == (1, 1.0)
    assert [*results.rows_of("a.yaml")] == ["a.yaml::s0"]
    assert gate_names(result.info) == [gate.name for gate in result.gates]
    assert len(result.gates) == 2


@pytest.mark.parametrize("nodeid", ["a.yaml::s1", "a.yaml[s1]"])
def test_a_case_that_was_collected_and_is_not_there_is_lost(nodeid: str) -> None:
    """[E4] Of a file or of a test function: every gate fails and names it; a stop loses none."""
    results = opened(info())
    results.record("a.yaml", "a.yaml::s0", scored(0))
    results.expect(["a.yaml::s0", nodeid, "a.yaml.other::x", "test_plain.py::test"])
    ((_, outcome, message),) = verdicts(results)
    assert outcome == "failed"
    shown = nodeid.removeprefix("a.yaml").removeprefix("::")
    assert message == f"1 of 2 samples ran, so far 1.0000; 1 lost (a worker crashed?): {shown}"
    ((_, outcome, message),) = verdicts(results, stopped=True)
    assert (outcome, message) == ("skipped", "1 of 2 samples ran, so far 1.0000")
    ((_, outcome, _),) = verdicts(results, stopped=True, strict=True)
    assert outcome == "failed"


def test_a_case_that_an_engine_lost_is_lost_in_a_stopped_run_too() -> None:
    """[E19] Of three, one has a result and one was left over: only that which ran is lost."""
    results = opened(info(total=3))
    results.expect([f"a.yaml::s{at}" for at in range(3)])
    results.record("a.yaml", "a.yaml::s0", scored(0))
    results.note_lost("a.yaml", "a.yaml::s1")
    ((_, outcome, message),) = verdicts(results, stopped=True)
    assert outcome == "failed"
    assert message == "1 of 3 samples ran, so far 1.0000; 1 lost (a worker crashed?): s1"
    results.record("a.yaml", "a.yaml::s1", scored(1))  # a plugin ran it again
    ((_, outcome, _),) = verdicts(results, stopped=True)
    assert outcome == "skipped"


def test_a_scenario_none_of_whose_cases_was_selected_is_left_out() -> None:
    """[G5, G12] But for strictness that was typed: then it is judged, and undecided.

    So is a file that a test function runs as well: its own run has answers of its own.
    """
    none, function = info("b", selected=0), replace(info("c"), nodeid="test_c.py::test")
    results = opened(info("a"), none, function, info("c", selected=0))
    assert [one.name for one in results.left_out] == ["b", "c"]
    assert not results.has_results
    assert [name for name, _, _ in verdicts(results)] == ["a", "c"]
    strict = opened(none, judges_all=True)
    assert strict.left_out == []
    assert verdicts(strict, strict=True) == [
        ("b", "failed", "0 of 2 samples ran (strict: undecided fails)")
    ]


def test_gates_of_others_come_after_the_scenarios_own() -> None:
    """They are asked for when these are decided."""
    results = opened(info(total=1))
    results.record("a.yaml", "a.yaml::s0", scored(0))

    def more(result: ScenarioResult) -> list[GateResult]:
        assert [gate.outcome for gate in result.gates] == ["passed", "passed"]
        return [GateResult("latency", "failed", 2.0, 1.0, "slow")]

    (result,) = results.summarized(stopped=False, strict=False, more_gates=more)
    assert [gate.name for gate in result.gates] == ["em.mean", "unscored", "latency"]


def test_a_scenario_of_which_nothing_is_reported_is_lost() -> None:
    """V3: two of two were selected, and none has a result; nothing was selected of the other."""
    results = opened(info(), info("b", selected=0), judges_all=True)
    results.expect(["a.yaml::s0", "a.yaml::s1"])
    assert not results.has_results
    results.note_vanished()
    assert results.has_results
    (name, outcome, message), (_, other, _) = verdicts(results)
    assert (name, outcome, other) == ("a", "failed", "skipped")
    assert message.startswith("0 of 2 samples ran; 2 cases were collected, none ran (")
    ran = [results.ran(one) for one in results.summarized(stopped=False, strict=False)]
    assert ran == [True, False]


def test_what_has_a_result_did_not_vanish() -> None:
    """V3: nor did what shards have to answer for."""
    results = opened(info(), info("b"))
    results.record("a.yaml", "a.yaml::s0", scored(0))
    results.lack("b.yaml", ["shard 1/1 is cut off"], [])
    results.note_vanished()
    ran = [results.ran(one) for one in results.summarized(stopped=False, strict=False)]
    assert ran == [True, False]

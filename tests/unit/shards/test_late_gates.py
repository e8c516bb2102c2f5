"""[E17] Gates that are given to a merge."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import yaml
from shard_rows import INFO, row

from pytest_rageval.errors import OptionError
from pytest_rageval.model import Bound, SampleResult, ScenarioInfo
from pytest_rageval.scenario.overrides import (
    compare_fail_override,
    fail_under_override,
    number_override,
)
from pytest_rageval.shards.late_gates import LateGates


def gate(text: str):  # type: ignore[no-untyped-def]
    return number_override("gates")("--rag-gate", text)


def test_they_join_those_of_the_shards() -> None:
    info = replace(INFO, gates={"em": 0.1}, overridden=("x",), overridden_by=("--rag-set",))
    found = LateGates(info, [gate("f1=0.5"), fail_under_override("--rag-fail-under", "0.4")]).info
    assert found.gates == {"em": 0.1, "f1": 0.5, "fail_under": 0.4}
    assert found.overridden == ("x", "gates.f1", "gates.fail_under")
    assert found.overridden_by == ("--rag-set", "--rag-gate", "--rag-fail-under")
    assert (
        found.snapshot == "name: qa\nmetrics:\n- em\n- f1\ngates:\n  f1: 0.5\n  fail_under: 0.4\n"
    )
    assert found.snapshot_sha256 == hashlib.sha256(found.snapshot.encode()).hexdigest()


def test_a_number_leaves_how_a_bound_is_judged_alone() -> None:
    before = {"em": {"mean": {"min": 0.4, "not_applicable": 0.1}}}
    snapshot = f"name: qa\nmetrics: [em, f1]\ngates: {before}\n"
    info = replace(INFO, gates=before, snapshot=snapshot)
    found = LateGates(info, [gate("exact_match=0.5")]).info
    assert found.gates == {"em": {"mean": {"not_applicable": 0.1, "value": 0.5}}}
    assert yaml.safe_load(found.snapshot)["gates"] == found.gates


def test_a_short_name_means_the_metric_of_the_results() -> None:
    assert LateGates(INFO, [gate("exact_match=0.5")]).info.gates == {"em": 0.5}


@pytest.mark.parametrize("text", ["bleu=0.5", "f1.median=0.5", "by.doc_name.rouge-l=0.1"])
def test_a_gate_that_cannot_be_made_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=f"--rag-gate {text}: gates"):
        LateGates(INFO, [gate(text)])


def test_a_comparison_needs_the_saved_run_in_the_shards() -> None:
    with pytest.raises(OptionError, match="--rag-compare-fail f1:0.02"):
        LateGates(INFO, [compare_fail_override("--rag-compare-fail", "f1:0.02")])


def test_what_a_case_may_lack_is_for_the_shards_to_know() -> None:
    with pytest.raises(OptionError, match="how cases are judged: give it to the shards"):
        LateGates(INFO, [gate("unscored.f1=0.5")])


def test_a_case_without_a_score_that_they_need_cannot_be_judged() -> None:
    late = LateGates(INFO, [gate("f1=0.5")])
    whole, without = row(0).result, row(1).result
    without = replace(without, scores={"em": 1.0, "f1": None}, reasons={"f1": "no words"})
    assert late.reasons_unjudged(whole) == []
    assert late.reasons_unjudged(without) == ["f1 unscored: no words"]
    assert LateGates(INFO, [gate("em=0.5")]).reasons_unjudged(without) == []


def test_an_error_that_is_none_with_them_is_refused() -> None:
    """Without gates a case needs its weighted score; with one for ``em`` it does not."""
    lacking = replace(
        row(1).result,
        outcome="error",
        weighted_score=None,
        scores={"em": 1.0, "f1": None},
        errors={"f1": "ValueError: boom"},
    )
    late = LateGates(INFO, [gate("em=0.5")])
    with pytest.raises(OptionError, match="--rag-gate em=0.5: q1 was an ERROR in its shard"):
        late.refuse_pardon(lacking)
    late.refuse_pardon(replace(lacking, outcome="xfailed"))
    LateGates(INFO, [gate("f1=0.5")]).refuse_pardon(lacking)  # it is one with this gate, too
    LateGates(replace(INFO, gates={"f1": 0.1}), [gate("em=0.5")]).refuse_pardon(lacking)
    # What a fixture did says nothing of scores.
    late.refuse_pardon(replace(row(1).result, outcome="error"))


CHECKED = replace(
    INFO, snapshot="name: qa\nmetrics:\n- em\n- f1\n", thresholds={"em": Bound(min=1.0)}
)
LOW = replace(row(1).result, outcome="failed", scores={"em": 0.0, "f1": 0.5})


@pytest.mark.parametrize(
    ("info", "result"),
    [
        (CHECKED, row(1).result),  # it passes its checks, and so would it with a gate
        (CHECKED, replace(LOW, scores={"em": 1.0, "f1": 0.5})),  # a test function fails it
        (CHECKED, replace(LOW, scores={"em": 1.0}, details={"em": {"passing": False}})),
        (CHECKED, replace(LOW, details={"f1": {"passing": False}})),  # it fails in any case
        (CHECKED, replace(LOW, outcome="skipped", scores={"em": None})),
        (CHECKED, replace(LOW, outcome="xfailed")),
        (replace(CHECKED, gates={"em": 0.1}), LOW),
        (replace(CHECKED, snapshot="name: qa\nthresholds: {em: 1.0}\n"), LOW),
        (replace(CHECKED, thresholds={}), LOW),
    ],
)
def test_a_case_that_fails_without_them_may_fail_with_them(
    info: ScenarioInfo, result: SampleResult
) -> None:
    """Thresholds of the scenario itself hold beside gates."""
    LateGates(info, [gate("em=0.5")]).refuse_pardon(result)


def test_a_row_that_had_to_pass_its_checks_for_want_of_gates_is_refused() -> None:
    late = LateGates(CHECKED, [gate("em=0.5")])
    assert late.info.thresholds == {}
    assert LateGates(CHECKED, [gate("invalid=0.5")]).info.thresholds == CHECKED.thresholds
    with pytest.raises(OptionError, match=r"--rag-gate em=0.5: q1 FAILED .*give it to the shards"):
        late.refuse_pardon(LOW)
    with pytest.raises(OptionError, match=r"q1 xfailed in its shard .*give it to the shards"):
        late.refuse_pardon(replace(LOW, outcome="xfailed", xfail="bug 7"))


@pytest.mark.parametrize(
    ("gates", "text", "name"),
    [
        ("{f1: 0.2}", "f1=0.1", "gates.f1"),
        ("{f1: {min: 0.2}}", "f1=0.1", "gates.f1"),
        ("{f1: {lower_bound: 0.1}}", "f1=0.1", "gates.f1.mean"),
        ("{em: 0.2}", "f1=0.1", "gates.f1"),
        ("{f1: {mean: 0.2}}", "f1.mean=0.1", "gates.f1.mean"),
        ("{by: {doc_name: {f1: 0.2}}}", "by.doc_name.f1=0.1", "gates.by.doc_name.f1"),
        ("{f1: {mean: 0.2}}", "f1=0.1", "gates.f1.mean"),
        ("{exact_match: 0.2}", "em=0.1", "gates.exact_match"),
    ],
)
def test_what_they_override_is_named_as_in_a_whole_run(gates: str, text: str, name: str) -> None:
    """The names are those that whole runs of these scenarios have in ``results.json``."""
    written = yaml.safe_load(gates)
    known = {"em" if key == "exact_match" else key: value for key, value in written.items()}
    snapshot = f"name: qa\nmetrics:\n- em\n- f1\ngates: {gates}\n"
    found = LateGates(replace(INFO, gates=known, snapshot=snapshot), [gate(text)])
    assert found.info.overridden == (name,)

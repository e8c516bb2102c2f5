"""F6: which gates can be certain before all samples were asked about, and when they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.engine.verdict.certainty import Certainty, watch_of
from pytest_rageval.gates.base import AnySample, Gate, Watch, make_gates
from pytest_rageval.gates.slices import SliceGate
from pytest_rageval.gates.unscored import gates_of
from pytest_rageval.model import (
    Bound,
    Diagnosis,
    GateResult,
    MetricColumn,
    Sample,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)

Info = Callable[..., ScenarioInfo]


def scored(at: int, score: float | None, **fields: Any) -> SampleResult:
    found = SampleResult(f"s{at}", at, weighted_score=score, scores={"f1": score, "em": score})
    return replace(found, **fields)


def watch(
    info: ScenarioInfo, options: dict[str, Any], asked: list[AnySample] | int = 4
) -> Watch | None:
    (gate,) = make_gates(options, info)
    samples = (
        [Sample(f"s{at}", index=at) for at in range(asked)] if isinstance(asked, int) else asked
    )
    return gate.watch(info, samples, 0.0)


def certain(found: Watch | None, *samples: SampleResult) -> list[bool]:
    """Return after each of the samples whether the gate is certain."""
    assert found is not None
    said = []
    for sample in samples:
        found.add(sample)
        said.append(found.is_certain)
    return said


@pytest.mark.parametrize(
    "options",
    [
        {"f1": {"lower_bound": 0.5}},
        {"f1": {"quantile": {0.1: 0.5}}},
        {"by": {"doc_name": {"f1": {"lower_bound": 0.5}}}},
        {"by": {"doc_name": {"unscored": 0.5}}},
    ],
)
def test_other_gates_than_means_need_every_sample(info: Info, options: dict[str, Any]) -> None:
    assert watch(info(), options) is None


def test_a_mean_without_ends_needs_every_sample(info: Info) -> None:
    open_ended = MetricColumn("f1", ends=(0.0, None))
    assert watch(info(open_ended), {"f1": 0.5}) is None
    assert watch(info(open_ended), {"weighted_score": 0.5}) is None


@pytest.mark.parametrize("options", [{"f1": 0.5}, {"weighted_score": 0.5}, {"fail_under": 0.5}])
def test_a_mean_is_certain_when_the_rest_cannot_change_it(
    info: Info, options: dict[str, Any]
) -> None:
    """(1 + 1 + 0 + 0) / 4."""
    assert certain(watch(info(), options), scored(0, 1.0), scored(1, 1.0)) == [False, True]


def test_samples_weigh_as_their_documents(info: Info) -> None:
    """The first weighs 3 of 6: (3 · 1 + 3 · 0) / 6."""
    asked: list[AnySample] = [
        Sample(f"s{at}", index=at, doc_name="d" if at else "a") for at in range(4)
    ]
    found = watch(info(doc_weights={"a": 3.0}), {"f1": 0.5}, asked)
    assert certain(found, scored(0, 1.0, sample_weight=3.0)) == [True]


def test_a_cosine_alone_may_be_a_weighted_score(info: Info) -> None:
    """Where f1 does not apply, it is the cosine, -1 at worst: (1 + 1 - 1) / 3 < 0.5."""
    columns = MetricColumn("f1"), MetricColumn("cos", ends=(-1.0, 1.0), as_is=True)
    found = watch(info(*columns), {"weighted_score": 0.5}, 3)
    assert certain(found, scored(0, 1.0), scored(1, 1.0), scored(2, 0.0)) == [False, False, True]


def test_a_pass_rate_counts_samples(info: Info) -> None:
    """Three of four pass at best, then two: 0.5 < 0.6."""
    found = watch(info(thresholds={"f1": Bound(min=0.5)}), {"pass_rate": 0.6})
    assert certain(found, scored(0, 0.4), scored(1, 0.3)) == [False, True]


def test_invalid_rows_are_known_beforehand(info: Info) -> None:
    found = watch(info(), {"invalid": 0.1})
    assert found is not None
    assert found.is_certain
    mean = watch(info(), {"f1": 0.5}, 1)
    assert certain(mean, scored(9, None, invalid="no answer"), scored(0, 1.0)) == [False, True]


def test_missing_scores_are_certain_while_they_are_few_enough(info: Info) -> None:
    """None may fail; then 1 of 2, and 1 of 3 at a bound of 0.4."""
    lost = scored(1, None, errors={"f1": "down"}, outcome="error")
    assert certain(watch(info(), {"unscored": 0.0}), scored(0, 1.0), lost, scored(2, 1.0)) == [
        True,
        False,
        False,
    ]
    assert certain(watch(info(), {"unscored": 0.4}), scored(0, 1.0), lost, scored(2, 1.0)) == [
        True,
        False,
        True,
    ]


def test_missing_scores_of_a_metric_are_counted_for_it(info: Info) -> None:
    """A threshold needs a score to judge: em has one with the third."""
    shares = info(gates={"unscored": {"em": 0.7}}, thresholds={"em": Bound(min=0.1)})
    half = {"f1": 1.0, "em": None}
    rows = [scored(at, None, scores=half, errors={"em": "down"}) for at in (0, 1)]
    found = watch(shares, {"unscored": {"em": 0.7}})
    assert certain(found, *rows, scored(2, 1.0)) == [False, False, True]


@pytest.mark.parametrize(("gates", "last"), [({"em": 0.5}, False), ({"f1": 0.5}, True)])
def test_a_failed_metric_that_a_gate_names_is_missing(
    info: Info, gates: dict[str, Any], last: bool
) -> None:
    """As in the verdict, though the sample has its weighted score."""
    (gate,) = [one for one in gates_of(info(gates=gates)) if one.name == "unscored"]
    lost = scored(1, 1.0, scores={"f1": 1.0, "em": None}, errors={"em": "down"})
    assert certain(gate.watch(info(), [], 0.0), scored(0, 1.0), lost) == [True, last]


def test_every_value_of_a_field_must_be_certain_or_one_fail(info: Info) -> None:
    """Two documents with two samples each: 0.5 of a passes with its first; b fails with both 0."""
    asked: list[AnySample] = [Sample(f"s{at}", index=at, doc_name="aabb"[at]) for at in range(4)]
    options = {"by": {"doc_name": {"f1": 0.5}}}
    passing = [scored(at, 1.0) for at in (0, 1, 2)]
    assert certain(watch(info(), options, asked), *passing) == [False, False, True]
    failing = [scored(at, 0.0) for at in (0, 1)]
    assert certain(watch(info(), options, asked), scored(2, 1.0), *failing) == [False, False, True]
    beside = scored(9, None, invalid="no answer")
    assert certain(watch(info(), options, asked), beside) == [False]


def test_a_value_of_weight_0_is_not_waited_for(info: Info) -> None:
    """Its mean is never certain; as the verdict, without it, is."""
    asked: list[AnySample] = [Sample(f"s{at}", index=at, doc_name="ab"[at % 2]) for at in range(4)]
    light = [replace(scored(at, 0.0), sample_weight=0.0) for at in (1, 3)]
    options = {"by": {"doc_name": {"f1": 0.5}}}
    found = watch(info(doc_weights={"b": 0.0}), options, asked)
    assert certain(found, *light, scored(0, 1.0)) == [False, False, True]
    assert watch(info(doc_weights={"a": 0.0, "b": 0.0}), options, asked) is None
    passing = watch(
        info(doc_weights={"b": 0.0}, thresholds={"f1": Bound(min=0.5)}),
        {"by": {"doc_name": {"pass_rate": 0.9}}},
        asked,
    )
    assert certain(passing, light[0]) == [True]  # it counts samples, not weights: 1 of 2 fails


def test_slices_by_cause_need_every_sample(info: Info) -> None:
    """E21: the cause of an answer is not known before it is scored."""
    column = MetricColumn("f1")
    by_cause = {"by": {"cause": {"f1": 0.5}}}
    assert watch(info(column, diagnose=Diagnosis()), by_cause) is None
    assert watch(info(column, metadata_columns=("cause",)), by_cause) is not None


class TwoScores(Watch):
    """Passes for certain after two samples."""

    follows_scores = True

    def __init__(self) -> None:
        self.count = 0

    def add(self, sample: SampleResult) -> None:
        self.count += 1

    @property
    def verdict(self) -> bool | None:
        return True if self.count >= 2 else None


class PlainGate(Gate):
    """A gate of a kind that no other module has heard of."""

    name = "new"

    def check(self, result: ScenarioResult) -> GateResult:
        return GateResult("new", "passed", None, None, "")


class EarlyGate(PlainGate):
    def watch(self, info: ScenarioInfo, asked: Sequence[AnySample], error: float) -> Watch:
        return TwoScores()


def test_a_new_kind_of_gate_is_decided_early_if_it_says_so(info: Info) -> None:
    """P13: by itself, and for each value of a field."""
    asked: list[AnySample] = [Sample(f"s{at}", index=at, doc_name="ab"[at % 2]) for at in range(4)]
    found = Certainty(info(), [EarlyGate()], asked)
    sliced = SliceGate("by.doc_name.new", "doc_name", EarlyGate()).watch(info(), asked, 0.0)
    assert sliced is not None
    verdicts = []
    for at in range(4):
        found.add(scored(at, 1.0))
        sliced.add(scored(at, 1.0))
        verdicts.append((found.verdicts.get("new"), sliced.verdict))
    assert verdicts == [(None, None), (True, None), (True, None), (True, True)]


def test_a_new_kind_of_gate_that_says_nothing_needs_every_sample(info: Info) -> None:
    """P13: and its verdict stays as run on the page, whatever weights change."""
    assert watch_of(PlainGate(), info(), []) is None
    assert PlainGate().for_page() == {"kind": "as_run", "targets": ["weighted_score"]}

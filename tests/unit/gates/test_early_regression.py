"""When ``no_regression`` is certain before all samples were asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.gates.base import Watch, make_gates
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    MetricColumn,
    Sample,
    SampleResult,
    ScenarioInfo,
)

F1 = MetricColumn("f1")
NOISE = MetricColumn("noise", higher_is_better=False)
GRADE = MetricColumn("grade", ends=(1.0, 5.0))
Scores = Mapping[str, Sequence[float | None]]


def watch(
    before: Scores,
    error: float = 0.0,
    *,
    columns: Sequence[MetricColumn] = (F1,),
    asked: int | None = None,
    **options: Any,
) -> Watch | None:
    """Return what follows the gate against a run with these scores of s0, s1, ..., in mode any."""
    count = len(next(iter(before.values())))
    ids = tuple(f"s{at}" for at in range(count))
    scores = {name: dict(zip(ids, values, strict=True)) for name, values in before.items()}
    fields = {name: options.pop(name) for name in ("doc_weights", "group_by") if name in options}
    info = ScenarioInfo(
        "s",
        "s.yaml",
        "s.yaml",
        tuple(columns),
        baselines={"main": Baseline("main", ids, scores)},
        **fields,
    )
    given = {"baseline": "main", "metrics": [columns[0].name], "mode": "any", "min_pairs": 0}
    (gate,) = make_gates({"no_regression": {**given, **options}}, info)
    samples = [
        Sample(f"s{at}", index=at, doc_name="heavy" if at == 0 else None)
        for at in range(count if asked is None else asked)
    ]
    return gate.watch(info, samples, error)


def said(found: Watch | None, *scores: float | None, **fields: Any) -> list[bool | None]:
    """Return the verdict after each of the scores of s0, s1, ..."""
    assert found is not None
    verdicts = []
    for at, score in enumerate(scores):
        row = dict.fromkeys(("f1", "noise", "grade"), score)
        found.add(SampleResult(f"s{at}", at, scores=row, **fields))
        verdicts.append(found.verdict)
    return verdicts


def test_what_the_baseline_scored_limits_what_can_fall() -> None:
    """Two of 0 cannot fall, and the third loses 0.5 at most.

    The first two leave all that is allowed: 2 · 0.1 - 0.5 + 0.1 < 0; 2 · 0.25 - 0.5 + 0.25 > 0.
    """
    before = {"f1": [1.0, 1.0, 0.5, 0.0, 0.0]}
    assert said(watch(before, max_drop=0.1), 1.0, 1.0) == [None, None]
    assert said(watch(before, max_drop=0.25), 1.0, 1.0) == [None, True]


def test_what_the_baseline_scored_limits_what_can_rise() -> None:
    """The last three are 1 already: -0.8 after one, and +0.2 each at best; -1.6 after two."""
    before = {"f1": [1.0, 1.0, 1.0, 1.0, 1.0]}
    assert said(watch(before, max_drop=0.2), 0.0) == [None]
    assert said(watch(before, max_drop=0.2), 0.0, 0.0) == [None, False]


def test_where_lower_is_better_a_rise_is_a_fall() -> None:
    """1 to 0 is a gain; 0 to 1 loses 1, and the two others cannot get better."""
    columns = (NOISE,)
    assert said(watch({"noise": [0.0, 0.0, 0.0]}, columns=columns), 1.0) == [False]
    assert said(watch({"noise": [1.0, 1.0, 1.0]}, columns=columns), 0.0) == [True]


def test_per_cent_are_of_the_baseline_s_pairs() -> None:
    """50 % of 1, 1 and 1: one loss of 1 leaves -0.5 + 2 · 0.5 at best, two -1 + 0.5."""
    before = {"f1": [1.0, 1.0, 1.0]}
    assert said(watch(before, max_drop="50%"), 0.0, 0.0) == [None, False]
    assert said(watch(before, max_drop="50%"), 1.0, 1.0) == [None, True]


def test_samples_weigh_as_their_documents() -> None:
    """The first weighs 3: -3 against 2 · 1 at best."""
    options = {"doc_weights": {"heavy": 3.0}}
    assert said(watch({"f1": [1.0, 0.0, 0.0]}, **options), 0.0) == [False]
    assert said(watch({"f1": [1.0, 0.0, 0.0]}), 0.0) == [None]


def test_samples_without_a_pair_change_nothing() -> None:
    """The second has no score in the baseline, s3 is not in it: s2 can neither rise nor fall."""
    before = {"f1": [0.0, None, 0.0]}
    found = watch(before, asked=4)
    assert said(found, 0.0) == [True]
    assert found is not None
    late = watch({"f1": [1.0, None, 1.0]}, asked=4)
    assert said(late, 1.0, 1.0) == [None, None]
    assert late is not None
    late.add(SampleResult("s3", 3, scores={"f1": 1.0}))
    assert late.verdict is None


def test_a_score_that_may_come_keeps_the_verdict_open() -> None:
    """One that failed may fall by 1 yet; one without a score cannot."""
    before = {"f1": [0.0, 1.0]}
    assert said(watch(before), 0.0, None) == [None, True]
    found = watch(before)
    assert said(found, 0.0) == [None]
    assert found is not None
    found.add(SampleResult("s1", 1, scores={"f1": None}, errors={"f1": "down"}))
    assert found.verdict is None


@pytest.mark.parametrize(
    ("options", "verdicts"),
    [
        ({"min_pairs": 0.75}, [None, None, True, True]),  # three of four
        ({"min_pairs": 1}, [None, None, None, True]),
        ({"min_pairs": 1, "undecided": "pass"}, [True] * 4),
        # Three in one direction have p = 2/2^3 = 0.25, five 0.0625, six 0.03125.
        ({"mode": "exceeds", "alpha": 0.3}, [None, None, True, True]),
        ({"mode": "exceeds"}, [None] * 4),
        ({"mode": "exceeds", "undecided": "pass"}, [True] * 4),
    ],
)
def test_a_pass_needs_the_pairs_that_the_gate_needs(
    options: dict[str, Any], verdicts: list[bool | None]
) -> None:
    """The baseline is 0 throughout, so that nothing can fall."""
    assert said(watch({"f1": [0.0] * 4}, **options), 0.0, 0.0, 0.0, 0.0) == verdicts


def test_a_fall_is_certain_in_mode_any_alone() -> None:
    """Whether it is significant depends on all differences."""
    before = {"f1": [1.0] * 8}
    assert said(watch(before), 0.0)[-1] is False
    assert said(watch(before, mode="exceeds"), *[0.0] * 8) == [None] * 8


def test_one_metric_that_fell_is_enough_and_all_must_pass() -> None:
    before = {"f1": [0.0, 0.0], "noise": [0.0, 0.0]}
    options: Any = {"columns": (F1, NOISE), "metrics": ["f1", "noise"]}
    found = watch(before, **options)
    assert said(found, 1.0) == [False]
    assert said(watch(before, **options), 0.0, 0.0) == [None, True]


def test_a_weighted_score_may_leave_out_what_one_run_lacks() -> None:
    """0.5 before: 0 of f1 and 1 of the grade. Where f1 does not apply now, 1 may fall to 0."""
    columns = (F1, GRADE)
    scores = {"f1": [0.0] * 2, "grade": [5.0] * 2, WEIGHTED_SCORE: [0.5] * 2}
    now = {"f1": 1.0, "grade": 5.0}
    row = SampleResult("s0", 0, scores=now, weighted_score=1.0)
    for max_drop, verdict in ((0.24, None), (0.25, True)):  # 0.5 - 1 + 2 · max_drop
        found = watch(scores, columns=columns, metrics=[WEIGHTED_SCORE], max_drop=max_drop)
        assert found is not None
        found.add(row)
        assert found.verdict is verdict


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "significant"},
        {"mode": "non_inferior", "max_drop": 0.1},
        {"columns": (MetricColumn("f1", ends=(0.0, None)),)},
        {"columns": (MetricColumn("f1", ends=(-1.0, 1.0)),), "max_drop": "5%"},
        {"columns": (MetricColumn("f1", retrieves=True),)},
        {"mode": "exceeds", "test": "bootstrap"},
        {"mode": "exceeds", "group_by": "doc_name"},
        {"mode": "exceeds", "n_resamples": 100, "alpha": 0.009},
    ],
)
def test_what_needs_every_sample(options: dict[str, Any]) -> None:
    assert watch({"f1": [-0.5, 0.5]}, **options) is None


def test_without_a_score_in_the_baseline_nothing_is_certain() -> None:
    assert watch({"f1": [None, None]}) is None


def test_a_mean_of_which_per_cent_are_allowed_may_have_any_range() -> None:
    """As long as no score of the baseline is below 0."""
    column = MetricColumn("f1", ends=(-1.0, 1.0))
    assert watch({"f1": [0.0, 0.5]}, columns=(column,), max_drop="5%") is not None


def test_slices_against_another_run_need_every_sample() -> None:
    info = ScenarioInfo(
        "s", "s.yaml", "s.yaml", (F1,), baselines={"main": Baseline("main", ("s0",), {"f1": {}})}
    )
    options = {"no_regression": {"baseline": "main", "metrics": ["f1"], "mode": "any"}}
    (gate,) = make_gates({"by": {"doc_name": options}}, info)
    assert gate.watch(info, [Sample("s0")], 0.0) is None


def test_an_error_bound_decides_long_before_the_ends_do() -> None:
    """200 equal answers of 1: a fall of 0.05 is out of reach after 190, at 0.01 much sooner."""
    before = {"f1": [1.0] * 200}
    for error, least, most in ((0.0, 190, 190), (0.01, 60, 130), (0.05, 40, 100)):
        found = said(watch(before, error, max_drop=0.05), *[1.0] * 200)
        assert least <= found.index(True) + 1 <= most


def test_an_error_bound_is_shared_by_the_metrics() -> None:
    """Two with half of it each are certain when one with half of it is."""
    before = {"f1": [0.5] * 200, "noise": [0.5] * 200}
    both = {"columns": (F1, NOISE), "metrics": ["f1", "noise"], "max_drop": 0.05}
    alone, shared = (
        said(watch(before, error, **options), *[0.5] * 200).index(True)
        for error, options in ((0.01, {"max_drop": 0.05}), (0.02, both))
    )
    assert shared == alone


def test_lost_pairs_forbid_a_pass_at_an_error_bound() -> None:
    """One in five has no score, and at most one in ten may."""
    scores = [None if at % 5 == 4 else 1.0 for at in range(200)]
    options = {"max_drop": 0.05, "min_pairs": 0.9}
    assert True not in said(watch({"f1": [1.0] * 200}, 0.01, **options), *scores)
    assert True in said(watch({"f1": [1.0] * 200}, 0.01, **{**options, "min_pairs": 0}), *scores)


def test_the_watch_reads_what_other_processes_pass_on() -> None:
    """Their samples come with scores and errors alone."""
    found = watch({"f1": [1.0, 1.0]}, max_drop=0.5)
    assert found is not None
    whole = SampleResult("s0", 0, scores={"f1": 1.0}, outcome="passed", doc_name="d")
    found.add(replace(whole, outcome="passed", doc_name=None))
    assert found.verdict is True

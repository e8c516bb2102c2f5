"""The plain values: bounds and their words, and what crosses process borders."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_type_hints

import pytest

from pytest_rageval.model import (
    NOTHING,
    Baseline,
    Bound,
    Comparing,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    SignificanceTest,
    is_by_model,
)
from pytest_rageval.notebooks.frames import EvaluationResult
from pytest_rageval.text.codec import from_json, to_json


@pytest.mark.parametrize(
    ("bound", "value", "holds", "words"),
    [
        (Bound(min=0.7), 0.61, False, "0.6100 < 0.7000"),
        (Bound(min=0.7), 0.7, True, "0.7000 >= 0.7000"),
        (Bound(min=0.7), 0.7 - 1e-10, True, "0.7000 >= 0.7000"),
        (Bound(max=0.1), 0.2, False, "0.2000 > 0.1000"),
        (Bound(max=0.1), 0.1 + 1e-10, True, "0.1000 <= 0.1000"),
        (Bound(min=0.7), 0.6999, False, "0.6999 < 0.7000"),
        (Bound(min=0.7), 0.70004, True, "0.7000 >= 0.7000"),
        (Bound(max=0.1), 0.1 - 1e-7, True, "0.1000 <= 0.1000"),
        (Bound(min=-0.2), -0.3, False, "-0.3000 < -0.2000"),
        (Bound(min=12345.0), 12344.5, False, "12344.5000 < 12345.0000"),
        (Bound(min=0.7), 0.69996, False, "0.699960 < 0.700000"),
        (Bound(min=2 / 3), 0.666666, False, "0.666666 < 0.666667"),
        (Bound(max=0.1), 0.1 + 2e-9, False, "0.100000002 > 0.100000000"),
        (Bound(max=1e6), 1e6 + 2e-5, False, "1000000.000020 > 1000000.000000"),
        (Bound(0.2, 0.8), 0.1, False, "0.1000 < 0.2000"),
        (Bound(0.2, 0.8), 0.9, False, "0.9000 > 0.8000"),
        (Bound(0.2, 0.8), 0.5, True, "0.5000 >= 0.2000"),
    ],
)
def test_a_bound_holds_and_says_why(bound: Bound, value: float, holds: bool, words: str) -> None:
    """A10: comparisons tolerate 1e-9."""
    assert bound.holds(value) is holds
    assert bound.compare(value) == words


@pytest.mark.parametrize(
    ("bound", "value", "margin"),
    [(Bound(min=0.5), 0.75, 0.25), (Bound(min=0.5), 0.25, -0.25), (Bound(0.0, 1.0), 0.75, 0.25)],
)
def test_the_margin_is_the_way_to_the_nearest_end(
    bound: Bound, value: float, margin: float
) -> None:
    assert bound.margin(value) == margin


@pytest.mark.parametrize(
    ("bound", "text", "end"),
    [
        (Bound(min=0.5), ">= 0.50", 0.5),
        (Bound(max=0.125), "<= 0.125", 0.125),
        (Bound(0.5, 1.0), ">= 0.50 and <= 1.00", 0.5),
    ],
)
def test_a_bound_reads_as_signs(bound: Bound, text: str, end: float) -> None:
    assert str(bound) == text
    assert bound.end == end


@pytest.mark.parametrize(
    ("column", "score", "unit"),
    [
        (MetricColumn("f1"), 0.3, 0.3),
        (MetricColumn("noise", higher_is_better=False), 0.25, 0.75),
        (MetricColumn("rubric", ends=(1.0, 5.0)), 4.0, 0.75),
        (MetricColumn("rubric", ends=(0.0, 5.0), higher_is_better=False), 5.0, 0.0),
        (MetricColumn("cost", ends=(None, None)), 42.0, 42.0),
    ],
)
def test_a_score_enters_the_weighted_score_in_the_unit_range(
    column: MetricColumn, score: float, unit: float
) -> None:
    assert column.to_unit(score) == unit


def test_a_result_survives_json() -> None:
    found = SampleResult(
        "s",
        3,
        "failed",
        2.0,
        0.25,
        "a.pdf",
        "q",
        "",
        ["c"],
        ["r"],
        {"section": 1},
        {"f1": 0.0, "em": None},
        {"em": "why"},
        {"f1": {"x": [1]}},
        {"em": "boom"},
        None,
        4,
        5,
        "raw",
        0.5,
        0.25,
        {"answer": ""},
        "known",
        is_kept=True,
        judged_by={"reference_ids": "0a"},
        expected=["wanted"],
    )
    assert from_json(to_json(found), SampleResult) == found


def test_an_info_survives_json(info: Callable[..., ScenarioInfo]) -> None:
    made = info(
        MetricColumn("f1", 2.0),
        MetricColumn("cost", ends=(0.0, None), higher_is_better=False, version=3),
        thresholds={"f1": Bound(min=0.5), "cost": Bound(max=3.0)},
        gates={"f1": {"mean": 0.5}},
        overridden=("gates.f1",),
        overridden_by=("--rag-gate",),
        metadata_columns=("section",),
        total=7,
        judgements_sha256="abc",
        remarks=("not compared",),
        compare=(Comparing("main", ("f1",), SignificanceTest("t", 0.1, 500, 7)),),
        baselines={
            "main": Baseline("main", ["a::1", "b"], {"f1": {"a::1": 0.5, "b": None}}, {"f1": ["b"]})
        },
    )
    assert from_json(to_json(made), ScenarioInfo) == made


@pytest.mark.parametrize(
    ("outcome", "invalid", "expected"),
    [
        ("passed", None, True),
        ("error", None, True),
        ("error", "no answer", True),
        ("xfailed", None, True),
        ("skipped", None, False),
        ("skipped", "no answer", False),
        ("xfailed", "no answer", False),
    ],
)
def test_whether_a_score_was_to_be_had(outcome: str, invalid: str | None, expected: bool) -> None:
    found = SampleResult("s", 0, outcome, invalid=invalid)  # type: ignore[arg-type]
    assert found.is_expected is expected


def test_a_row_that_is_marked_itself_may_not_be_invalid_for_that() -> None:
    """E7, A19: ``xfail: tables are cut in two`` says nothing of a row that is none."""
    assert SampleResult("s", 0, "xfailed", invalid="no answer", xfail="known").is_expected


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_stays_the_one_it_is(protocol: int) -> None:
    """[R7] Pickled and copied: 100,000 samples share it."""
    assert pickle.loads(pickle.dumps(NOTHING, protocol)) is NOTHING
    assert copy.copy(NOTHING) is copy.deepcopy({"a": NOTHING})["a"] is NOTHING
    assert {**NOTHING} == NOTHING == {}


@pytest.mark.parametrize(
    "change",
    [
        lambda nothing: nothing.__setitem__("a", 1),
        lambda nothing: nothing.setdefault("a", 1),
        lambda nothing: nothing.update(a=1),
        lambda nothing: nothing.__ior__({"a": 1}),
    ],
)
def test_nothing_stays_empty(change: Callable[[Any], object]) -> None:
    """[R7] It is a dict, and refuses what a mappingproxy would."""
    with pytest.raises(TypeError, match="NOTHING stays empty"):
        change(NOTHING)
    assert len(NOTHING) == 0


COSINE = MetricColumn("similarity", 1.0, (-1.0, 1.0), as_is=True)
OPEN = MetricColumn("length", 0.0, (-math.inf, math.inf))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([MetricColumn("f1"), MetricColumn("marks", ends=(1.0, 5.0))], (0.0, 1.0)),
        # Three parts from 0, one from -1.
        ([MetricColumn("f1", 3.0), COSINE], (-0.25, 1.0)),
        ([MetricColumn("noise", 3.0, higher_is_better=False), COSINE], (-0.25, 1.0)),
        ([COSINE], (-1.0, 1.0)),
        # A metric that weighs nothing has no part in it, be it open or not.
        ([MetricColumn("f1"), OPEN, replace(COSINE, weight=0.0)], (0.0, 1.0)),
        ([MetricColumn("f1", 1e150), replace(OPEN, weight=1e-200)], (0.0, 1.0)),
        ([MetricColumn("f1"), replace(OPEN, weight=0.1)], (-math.inf, math.inf)),
        ([MetricColumn("loss", ends=(0.0, None), higher_is_better=False)], (-math.inf, 1.0)),
        ([OPEN], (0.0, 1.0)),
    ],
)
def test_the_range_of_the_weighted_score(
    columns: list[MetricColumn], expected: tuple[float, float]
) -> None:
    """S1: each end is the weighted mean of the metrics' ends."""
    info = ScenarioInfo("s", "s.yaml", "s.yaml", tuple(columns))
    assert info.weighted_range == expected


@pytest.mark.parametrize("kind", [ScenarioResult, ScenarioInfo, SampleResult, EvaluationResult])
def test_types_of_public_classes_resolve(kind: type) -> None:
    """For those who read them at run time, as pydantic and FastAPI do."""
    assert get_type_hints(kind)


@pytest.mark.parametrize(
    ("said", "is_made"),
    [("model", True), (" Model ", True), ("MODEL", True), ("models", False), (None, False)],
)
def test_who_made_a_question_is_told_in_any_case_of_letters(said: object, is_made: bool) -> None:
    assert is_by_model({"made_by": said}) is is_made
    assert not is_by_model({})


@pytest.mark.full
def test_pytest_shows_values_that_differ(pytester: pytest.Pytester) -> None:
    """It asks each value for what only dataclasses have before it prints a list of them."""
    pytester.makepyfile(
        """
        from pytest_rageval.model import Score

        def test_all_right():
            assert [Score("em", 0.5)] == []
        """
    )
    result = pytester.runpytest_subprocess("-vv")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*+     Score(metric='em', value=0.5,*"])
    result.stdout.no_fnmatch_line("*representation of details failed*")

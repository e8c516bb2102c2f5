"""When a sample may count as judged: what failed is an error, what does not apply is left out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.verdict.sample_verdict import reasons_tolerated, reasons_unjudged
from pytest_rageval.model import WEIGHTED_SCORE, MetricColumn, SampleResult, ScenarioInfo

F1, EM, SHOWN = MetricColumn("f1"), MetricColumn("em"), MetricColumn("shown", weight=0.0)
NOTHING_WEIGHS = "weighted_score unscored: all metrics that have a score weigh 0"

PlanOf = Callable[..., Plan]


@pytest.fixture
def plan_of(info: Callable[..., ScenarioInfo]) -> PlanOf:
    """Return a function that makes a plan of f1 and em, which weigh 1, and shown, which weighs 0.

    ``may_lack`` are metrics that ``gates.unscored`` lets be missing in every sample.
    """

    def make(required: Collection[str] = (), may_lack: Collection[str] = ()) -> Plan:
        gates = {"unscored": dict.fromkeys(may_lack, 1.0)} if may_lack else {}
        return Plan(info(F1, EM, SHOWN, gates=gates), (), (), frozenset(required))

    return make


def sample(
    f1: float | None = 0.5, em: float | None = 0.5, weighted: float | None = 0.5, **said: Any
) -> SampleResult:
    scores = {"f1": f1, "em": em, "shown": 0.5}
    return SampleResult("s", 0, weighted_score=weighted, scores=scores, **said)


DOWN = {"errors": {"f1": "the judge is down"}}


@pytest.mark.parametrize(
    ("found", "required", "reasons"),
    [
        (sample(), {"f1"}, []),
        # Does not apply: left out, unless a threshold or a gate asks for it.
        (sample(f1=None), (), []),
        (sample(f1=None), {"em"}, []),
        (sample(f1=None), {"f1"}, ["f1 unscored: no reason given"]),
        (
            sample(f1=None, reasons={"f1": "no claims"}),
            {"f1"},
            ["f1 unscored: no claims"],
        ),
        # Failed: there is no weighted score, and that matters where it, or nothing, is judged.
        (
            sample(f1=None, weighted=None, **DOWN),
            {WEIGHTED_SCORE},
            ["f1 unscored: the judge is down"],
        ),
        (sample(f1=None, weighted=None, **DOWN), {"em"}, []),
        # Nothing has a score: every metric says why.
        (
            SampleResult("s", 0, scores={"f1": None, "em": None}, errors={"f1": "down"}),
            (),
            ["f1 unscored: down", "em unscored: no reason given"],
        ),
        # What has a score weighs nothing.
        (sample(f1=None, em=None, weighted=None), (), [NOTHING_WEIGHS]),
        (sample(weighted=None), {WEIGHTED_SCORE}, [NOTHING_WEIGHS]),
        # Not asked: an error though the metric is not required and another has a score.
        (
            sample(f1=None, errors={"f1": "budget: spent"}),
            {"em"},
            ["f1 unscored: budget: spent"],
        ),
        # The row and the target come before metrics.
        (sample(None, None, None, invalid="no JSON"), (), ["invalid row: no JSON"]),
        (sample(None, None, None, errors={"target": "404"}), (), ["not answered: 404"]),
        # An error says more than a reason.
        (
            sample(f1=None, weighted=None, reasons={"f1": "no claims"}, **DOWN),
            {"f1"},
            ["f1 unscored: the judge is down"],
        ),
    ],
)
def test_why_a_sample_cannot_be_judged(
    plan_of: PlanOf, found: SampleResult, required: Collection[str], reasons: list[str]
) -> None:
    assert reasons_unjudged(plan_of(required), found) == reasons


def test_an_invalid_row_is_no_sample_whatever_lacks(plan_of: PlanOf) -> None:
    """It has no score at all, so that its own reason is the one to be told."""
    row = SampleResult("r", 0, invalid="no JSON")
    assert reasons_unjudged(plan_of(), row) == ["invalid row: no JSON"]


@pytest.mark.parametrize(
    ("found", "required", "unjudged", "tolerated"),
    [
        # f1 failed, and may: neither it nor the weighted score is asked for.
        (
            sample(f1=None, weighted=None, **DOWN),
            {"f1", WEIGHTED_SCORE},
            [],
            ["f1 unscored: the judge is down"],
        ),
        # It does not apply: without it the sample is as good as any, unless somebody asks for it.
        (sample(f1=None), (), [], []),
        (
            sample(f1=None, reasons={"f1": "no claims"}),
            {"f1"},
            [],
            ["f1 unscored: no claims"],
        ),
        # Nothing that weighs has a score: f1 and em are to blame, and em may not be missing.
        (
            sample(f1=None, em=None, weighted=None),
            (),
            [NOTHING_WEIGHS],
            ["f1 unscored: no reason given"],
        ),
        # em is missing as well, without leave.
        (
            sample(f1=None, em=None, weighted=None, errors={"f1": "down", "em": "off"}),
            {WEIGHTED_SCORE},
            ["f1 unscored: down", "em unscored: off"],
            ["f1 unscored: down"],
        ),
        # Not asked is no failure of the judge, and not tolerated.
        (
            sample(f1=None, weighted=None, errors={"f1": "budget: spent"}),
            (),
            ["f1 unscored: budget: spent"],
            ["f1 unscored: budget: spent"],
        ),
        (sample(), {"f1"}, [], []),
        (sample(em=None), {"f1"}, [], []),
    ],
)
def test_what_may_be_missing_is_no_error(
    plan_of: PlanOf,
    found: SampleResult,
    required: Collection[str],
    unjudged: list[str],
    tolerated: list[str],
) -> None:
    """``gates: {unscored: {f1: 1.0}}``."""
    plan = plan_of(required, may_lack=["f1"])
    assert reasons_unjudged(plan, found) == unjudged
    assert reasons_tolerated(plan, found) == tolerated


def test_without_leave_nothing_is_tolerated(plan_of: PlanOf) -> None:
    assert reasons_tolerated(plan_of({"f1"}), sample(f1=None, weighted=None, **DOWN)) == []

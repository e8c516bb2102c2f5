"""Scoring one case: every metric that has what it needs, then the weighted score."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_rageval.engine.plan import BoundMetric, Plan, missing_fields
from pytest_rageval.errors import MissingExtraError, shorten
from pytest_rageval.metrics.base import ScoringContext
from pytest_rageval.model import NOTHING, TOLERANCE, Case, InvalidRow, Sample, SampleResult, Score
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import compute_weighted_score, is_scored, resolve_weight


def score_case(plan: Plan, case: Case) -> SampleResult:
    """Return the result of ``case``: scored, or the reasons why it is not.

    The outcome is what scoring alone can say: ``error`` when the case cannot be judged.
    """
    if isinstance(case, InvalidRow):
        return invalid_result(plan, case)
    started = time.perf_counter()
    context = ScoringContext()
    scores = [_score(metric, case, context) for metric in plan.metrics]
    return _result(plan, case, scores, time.perf_counter() - started)


def invalid_result(plan: Plan, row: InvalidRow) -> SampleResult:
    """Return the result of a row that is no sample: nothing scored, and why."""
    return SampleResult(
        sample_id=row.id,
        index=row.index,
        outcome="error",
        scores=dict.fromkeys((metric.column.name for metric in plan.metrics), None),
        errors={"row": row.reason},
        invalid=row.reason,
        row=row.row,
        line=row.line,
        raw=row.raw,
    )


def unscored_result(plan: Plan, case: Case) -> SampleResult:
    """Return the result of a case that was not scored at all, because it is skipped."""
    if isinstance(case, InvalidRow):
        return invalid_result(plan, case)
    return _result(plan, case, [Score(metric.column.name, None) for metric in plan.metrics], 0.0)


def reasons_unjudged(plan: Plan, result: SampleResult) -> list[str]:
    """Return why the result cannot be judged, empty when it can.

    It cannot when the row is invalid, when no metric scored it, or when a metric that a threshold
    or a gate asks about did not.
    """
    if result.invalid is not None:
        return [f"invalid row: {result.invalid}"]
    without = [name for name in result.scores if not is_scored(result.scores[name])]
    if not is_scored(result.weighted_score):
        wanted = without or ["weighted_score"]
    else:
        wanted = [name for name in without if name in plan.required]
    return [f"{name} unscored: {_why(result, name)}" for name in wanted]


def _why(result: SampleResult, name: str) -> str:
    if score_of(result, name) is None:
        return result.errors.get(name) or result.reasons.get(name) or "no reason given"
    return "all metrics that have a score weigh 0"


def _score(bound: BoundMetric, sample: Sample, context: ScoringContext) -> Score:
    name = bound.column.name
    missing = missing_fields(sample, bound.info)
    if missing:
        return Score(name, None, reason=f"the row has no {' and no '.join(missing)}")
    try:
        score = bound.metric.score(sample, context)
    except MissingExtraError as error:
        return Score(name, None, error=str(error))
    # A metric may be anyone's code: whatever it raises is this metric's error on this sample, to
    # be shown there, and must not end the run of the others.
    except Exception as error:  # noqa: BLE001
        return Score(name, None, error=f"{type(error).__name__}: {shorten(str(error), 300)}")
    return _in_range(bound, score)


def _in_range(bound: BoundMetric, score: Score) -> Score:
    """Return ``score``, or an error where its value is none that the metric can give."""
    value = score.value
    if value is None:
        return score
    low, high = bound.column.range
    if math.isnan(value):
        return Score(score.metric, None, error="the metric returned NaN")
    if not low - TOLERANCE <= value <= high + TOLERANCE:
        return Score(score.metric, None, error=f"{value} is outside the range {low:g}..{high:g}")
    return score


def _result(plan: Plan, sample: Sample, scores: list[Score], latency_s: float) -> SampleResult:
    return SampleResult(
        sample_id=sample.id,
        index=sample.index,
        sample_weight=resolve_weight(sample.doc_name, plan.doc_weights),
        weighted_score=_weighted_score(plan, scores),
        doc_name=sample.doc_name,
        question=sample.question,
        answer=sample.answer,
        contexts=sample.contexts,
        references=sample.references,
        metadata=sample.metadata,
        scores={score.metric: score.value for score in scores},
        reasons=_present([(score.metric, score.reason) for score in scores]),
        details=_present([(score.metric, score.details) for score in scores]),
        errors=_present([(score.metric, score.error) for score in scores]),
        row=sample.row,
        latency_s=latency_s,
    )


def _weighted_score(plan: Plan, scores: list[Score]) -> float | None:
    units = {
        score.metric: None if score.value is None else bound.column.to_unit(score.value)
        for bound, score in zip(plan.metrics, scores, strict=True)
    }
    return compute_weighted_score(units, plan.metric_weights)


def _present(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    found = {name: value for name, value in pairs if value is not None}
    return found or NOTHING

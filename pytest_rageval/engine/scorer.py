"""Scoring one case: every metric that has what it needs, then the weighted score."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pytest_rageval.datasets.save import row_of
from pytest_rageval.engine.bind_cases import missing_fields
from pytest_rageval.engine.binding import BoundMetric
from pytest_rageval.engine.reference_digests import reference_digests
from pytest_rageval.errors import MissingExtraError, shorten
from pytest_rageval.metrics.base import Metric, ScoringContext
from pytest_rageval.model import (
    NOTHING,
    RETRIEVAL,
    TARGET,
    TOLERANCE,
    WEIGHTED_SCORE,
    Case,
    InvalidRow,
    MetricColumn,
    Sample,
    SampleResult,
    Score,
    json_plain,
)
from pytest_rageval.stats.verdict import NOTHING_WEIGHS, was_not_asked
from pytest_rageval.stats.weights import is_scored, resolve_weight, weighted_mean

if TYPE_CHECKING:
    from pytest_rageval.engine.ahead import Judgement
    from pytest_rageval.engine.answering import Answered
    from pytest_rageval.engine.plan import Plan


# Sums and squares of scores must stay within doubles.
_LARGEST = 1e100
_SHOWN = 10
_SHOWN_CONTEXTS = 3
_SHOWN_TEXT = 300


def score_case(plan: Plan, case: Case, judgement: Judgement | None = None) -> SampleResult:
    """Return the result of ``case``: scored, or the reasons why it is not.

    ``judgement`` is what was asked about it beforehand: its answer, and the scores of the metrics
    that ask a model. The outcome is what scoring alone can say: ``error`` when the case cannot be
    judged.
    """
    if isinstance(case, InvalidRow):
        return invalid_result(plan, case)
    started = time.perf_counter()
    if judgement is None:
        scores = _scores(plan, case, NOTHING)
        return _result(plan, case, scores, time.perf_counter() - started)
    answered = judgement.answered
    if answered is None:
        scores = _scores(plan, case, judgement.scores)
        return _result(plan, case, scores, judgement.latency_s + time.perf_counter() - started)
    if answered.error is not None:
        found = unanswered_result(plan, case, judgement.latency_s)
        return replace(found, errors={TARGET: answered.error})
    scores = _scores(plan, answered.sample, judgement.scores)
    latency_s = judgement.latency_s + time.perf_counter() - started
    return _with_answer(_result(plan, answered.sample, scores, latency_s), answered)


def _scores(plan: Plan, sample: Sample, judged: Mapping[str, Score]) -> list[Score]:
    context = ScoringContext()
    return [
        judged.get(metric.column.name) or _score(plan, metric, sample, context)
        for metric in plan.metrics
    ]


def unanswered_result(plan: Plan, sample: Sample, latency_s: float = 0.0) -> SampleResult:
    """Return the result of a sample that the system under test gave no answer to.

    What the data held in the place of an answer is none of it. The caller adds why.
    """
    asked = replace(sample, answer=None)
    found = _result(plan, asked, [Score(m.column.name, None) for m in plan.metrics], latency_s)
    if plan.saved_columns is not None:  # what the data held is none of it there, either
        asked = replace(asked, contexts=None, context_docs=None, retrieved_ids=None)
        found = replace(found, dataset_row=row_of(asked, plan.saved_columns))
    return found


def _with_answer(result: SampleResult, answered: Answered) -> SampleResult:
    details = {**result.details, TARGET: dict(answered.extra)} if answered.extra else result.details
    latency_s = answered.latency_s
    return replace(result, details=details, answer_latency_s=latency_s, is_kept=latency_s is None)


def invalid_result(plan: Plan, row: InvalidRow) -> SampleResult:
    """Return the result of a row that is no sample: nothing scored, and why."""
    return SampleResult(
        sample_id=row.id,
        index=row.index,
        outcome="error",
        sample_weight=resolve_weight(row.doc_name, plan.info.doc_weights),
        doc_name=row.doc_name,
        metadata=row.metadata,
        scores=dict.fromkeys((metric.column.name for metric in plan.metrics), None),
        errors={"row": row.reason},
        invalid=row.reason,
        row=row.row,
        line=row.line,
        raw=row.raw,
        xfail=row.xfail if plan.on_invalid == "fail" else None,  # else it may be one anyway
        dataset_row={plan.saved_columns["id"]: row.id} if plan.saved_columns else None,
    )


def unscored_result(plan: Plan, case: Case) -> SampleResult:
    """Return the result of a case that was not scored at all, because it is skipped."""
    if isinstance(case, InvalidRow):
        return invalid_result(plan, case)
    return _result(plan, case, [Score(metric.column.name, None) for metric in plan.metrics], 0.0)


def reasons_unjudged(plan: Plan, result: SampleResult) -> list[str]:
    """Return why the result cannot be judged, empty when it can.

    It cannot when the row is invalid, when no metric scored it, when a metric that a threshold or
    a gate asks about did not, or when the judge was not asked (budget spent, not in the cache).
    """
    if result.weighted_score is not None and None not in result.scores.values():
        return []
    if result.invalid is not None:
        return [f"invalid row: {result.invalid}"]
    if TARGET in result.errors:
        return [f"not answered: {result.errors[TARGET]}"]
    without = [name for name in result.scores if not is_scored(result.scores[name])]
    if not is_scored(result.weighted_score):
        wanted = without if len(without) == len(result.scores) else [WEIGHTED_SCORE]
    else:
        wanted = [name for name in without if name in plan.required or was_not_asked(result, name)]
    return [f"{name} unscored: {_why(result, name)}" for name in wanted]


def _why(result: SampleResult, name: str) -> str:
    if name == WEIGHTED_SCORE:
        return NOTHING_WEIGHS
    return result.errors.get(name) or result.reasons.get(name) or "no reason given"


def _score(plan: Plan, bound: BoundMetric, sample: Sample, context: ScoringContext) -> Score:
    name = bound.column.name
    missing = missing_fields(sample, bound.info)
    if missing:
        return Score(name, None, reason=f"the row has no {' and no '.join(missing)}")
    # A metric may be anyone's code: whatever it raises or returns is this metric's error on this
    # sample, to be shown there, and must not end the run of the others.
    try:
        if bound.batch is not None and plan.batches.has(sample):
            return checked_score(bound.column, plan.batches.score(bound, sample))
        if bound.info.is_judged:
            return Score(name, None, error="was not judged")
        metric = cast("Metric", bound.metric)
        return checked_score(bound.column, metric.score(sample, context))
    except MissingExtraError as error:
        return Score(name, None, error=str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (pytest.skip and sys.exit raise no Exception)
        return Score(name, None, error=describe_error(error))


def checked_score(column: MetricColumn, score: Score) -> Score:
    """Return ``score`` under the column's name, or an error where it cannot be the metric's."""
    if not isinstance(score, Score):
        return Score(column.name, None, error=f"returned {shorten(repr(score))}, not a Score")
    value = score.value
    if type(value) is float and score.metric == column.name:
        low, high = column.range
        # Not a number, or infinite, is outside of everything.
        if low - TOLERANCE <= value <= high + TOLERANCE and abs(value) <= _LARGEST:
            return score
    if value is None:
        return score if score.metric == column.name else replace(score, metric=column.name)
    return _converted(column, score)


def _converted(column: MetricColumn, score: Score) -> Score:
    """Return ``score`` with a plain float, or an error: the way of what is not right already."""
    value: Any = score.value
    # numpy's booleans are not Python's: "bool_" before numpy 2, "bool" from then on.
    if isinstance(value, str | bytes) or type(value).__name__ in ("bool", "bool_"):
        return Score(column.name, None, error=f"returned {shorten(repr(value))}, not a number")
    number = float(value)
    low, high = column.range
    if not abs(number) <= _LARGEST:
        return Score(column.name, None, error=f"returned {number}, which is no score")
    if not low - TOLERANCE <= number <= high + TOLERANCE:
        return Score(column.name, None, error=f"{number} is outside the range {low:g}..{high:g}")
    return replace(score, metric=column.name, value=number)


def describe_error(error: BaseException) -> str:
    """Return what went wrong in a metric, in one line."""
    try:
        return f"{type(error).__name__}: {shorten(str(error), 300)}"
    except Exception:  # noqa: BLE001  (an exception whose own text raises)
        return type(error).__name__


def _result(plan: Plan, sample: Sample, scores: list[Score], latency_s: float) -> SampleResult:
    values = {score.metric: score.value for score in scores}
    remarks = _remarks(scores)
    if sample.reference_ids is not None:
        remarks["details"] = {**remarks.get("details", {}), RETRIEVAL: _retrieval(sample)}
    elif sample.reference_contexts is not None:
        remarks["details"] = {**remarks.get("details", {}), RETRIEVAL: _expected(sample)}
    return SampleResult(
        sample_id=sample.id,
        index=sample.index,
        sample_weight=resolve_weight(sample.doc_name, plan.info.doc_weights),
        weighted_score=weigh_scores(plan, values),
        doc_name=sample.doc_name,
        question=sample.question,
        answer=sample.answer,
        contexts=sample.contexts,
        references=sample.references,
        metadata=sample.metadata,
        scores=values,
        row=sample.row,
        latency_s=latency_s,
        dataset_row=row_of(sample, plan.saved_columns) if plan.saved_columns else None,
        xfail=sample.xfail,
        # Of qrels there is one digest for all.
        judged_by=NOTHING if plan.info.judgements_sha256 else reference_digests(sample),
        **remarks,
    )


def _expected(sample: Sample) -> dict[str, Any]:
    """Return the beginning of what a search should have found."""
    expected = sample.reference_contexts or ()
    return {
        "expected": len(expected),
        "first_expected": [shorten(text, _SHOWN_TEXT) for text in expected[:_SHOWN_CONTEXTS]],
    }


def _retrieval(sample: Sample) -> dict[str, Any]:
    """Return what a reader wants to see of a search result: how much of it, and its beginning."""
    retrieved, judged = sample.retrieved_ids or (), sample.reference_ids or {}
    relevant = {name for name, grade in judged.items() if grade >= 1}
    return {
        "retrieved": len(retrieved),
        "relevant": len(relevant),
        "found": len(relevant.intersection(retrieved)),
        "first": [[name, judged.get(name)] for name in retrieved[:_SHOWN]],
    }


def weigh_scores(plan: Plan, values: Mapping[str, float | None]) -> float | None:
    """Return the weighted score of a sample from its scores, which are in the metrics' order."""
    if None in values.values() or not plan.scores_are_unit:
        return weighted_mean(
            (None if value is None else column.to_unit(value), column.weight)
            for column, value in zip(plan.info.metrics, values.values(), strict=True)
        )
    return weighted_mean(zip(values.values(), plan.weights, strict=True))


def _remarks(scores: list[Score]) -> dict[str, Any]:
    """Return the reasons, details and errors of the scores that have any."""
    remarks: dict[str, dict[str, Any]] = {}
    for score in scores:
        if score.reason is not None:
            remarks.setdefault("reasons", {})[score.metric] = str(score.reason)
        if score.details is not None:
            remarks.setdefault("details", {})[score.metric] = json_plain(score.details)
        if score.error is not None:
            remarks.setdefault("errors", {})[score.metric] = str(score.error)
    return remarks

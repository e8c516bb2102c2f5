"""Scoring one case: every metric that has what it needs, then the weighted score."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.scoring.row_digests import reference_digests
from pytest_rageval.errors import MissingExtraError, describe_error, shorten
from pytest_rageval.metrics.base import Metric, ScoringContext, missing_fields
from pytest_rageval.model import (
    ANSWER_KIND,
    EMPTY_ANSWER,
    FILLED,
    NOT_ASKED,
    NOT_DRAWN,
    NOT_RUN,
    NOTHING,
    PASSING,
    RETRIEVAL,
    SUPPORT,
    TARGET,
    TOLERANCE,
    Case,
    InvalidRow,
    LeftOut,
    MetricColumn,
    Sample,
    SampleResult,
    Score,
    plain_details,
)
from pytest_rageval.scenario.fields import ANSWERED_FIELDS, NAMED
from pytest_rageval.stats.weights import DEFAULT_WEIGHT, resolve_weight, weighted_mean
from pytest_rageval.text.codec import excess

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan
    from pytest_rageval.engine.scoring.ask_target import TargetReply
    from pytest_rageval.engine.scoring.window import Judgement


REFUSED: Final = "the answer is empty (empty_answer: error)"


def is_empty(sample: Sample) -> bool:
    """Return whether the sample has an answer of white space alone."""
    return sample.answer is not None and not sample.answer.strip()


def without_empty_answers(cases: Sequence[Case]) -> Sequence[Case]:
    """Return the cases with every empty answer as a missing one."""
    return [
        replace(case, answer=None) if isinstance(case, Sample) and is_empty(case) else case
        for case in cases
    ]


def admitted(plan: Plan, sample: Sample) -> Sample | None:
    """Return the sample as it is scored; None where its empty answer is an error."""
    if plan.empty_answer == "worst" or not is_empty(sample):
        return sample
    if plan.empty_answer == "missing":
        return replace(sample, answer=None)
    # None is that of rag_eval's and DB-GPT's files, whose system has failed if it answers nothing.
    is_error = plan.empty_answer == "error" or plan.target is not None
    return None if is_error else sample


def worst_score(plan: Plan, bound: BoundMetric, sample: Sample) -> Score | None:
    """Return the score that an empty answer gets unseen, None where the metric looks at it.

    Its value is the worst end of the metric's range, None where that has no end. Only metrics with
    ``empty_is_worst`` are concerned; others score ``""`` by their own definition.
    """
    info, column = bound.info, bound.column
    if plan.empty_answer != "worst" or not info.empty_is_worst or "answer" not in info.needs:
        return None
    if not is_empty(sample):
        return None
    return worst_of(column, EMPTY_ANSWER)


def best_of(column: MetricColumn) -> float | None:
    """Return the better end of a metric's scores, None where it has none."""
    low, high = column.ends
    return high if column.higher_is_better else low


def worst_of(column: MetricColumn, reason: str, left_out: LeftOut | None = None) -> Score:
    """Return the score at the worst end of a metric's range; without a value if it has no end."""
    worst = column.range[0] if column.higher_is_better else column.range[1]
    value = worst if math.isfinite(worst) else None
    return Score(column.name, value, reason, left_out=left_out)


# Sums and squares of scores must stay within doubles.
_LARGEST = 1e100
_SHOWN = 10
_SHOWN_CONTEXTS = 3
_SHOWN_TEXT = 300
_OF_ANSWER: Final = (
    *("answer", "contexts", "context_docs", "retrieved_ids", "context_ids"),
    *("citations", "cited_sentences", "confidence"),
)
"""The fields of a sample that are, or go with, what the system under test answered."""


def score_case(plan: Plan, case: Case, judgement: Judgement | None = None) -> SampleResult:
    """Return the result of ``case``: scored, or the reasons why it is not.

    ``judgement`` is what was asked about it beforehand: its answer, and the scores of the metrics
    that ask a model. The outcome is ``error`` for an invalid row, else ``passed``, even without an
    answer: whether a case passes is decided later.
    """
    if isinstance(case, InvalidRow):
        return invalid_result(plan, case)
    started = time.perf_counter()
    answered = judgement.answered if judgement is not None else None
    asked_s = judgement.latency_s if judgement is not None else 0.0
    if answered is not None and answered.error is not None:
        return unanswered_result(plan, case, answered.error, asked_s)
    sample = admitted(plan, case if answered is None else answered.sample)
    if sample is None:
        return unanswered_result(plan, case, REFUSED, asked_s)
    context = ScoringContext()
    if answered is not None:
        context.latency_s = answered.latency_s
        context.cost_usd = answered.extra.get("cost_usd")
    judged = judgement.scores if judgement is not None else NOTHING
    scores = _scores(plan, sample, context, judged)
    found = _result(plan, sample, scores, asked_s + time.perf_counter() - started)
    if context.reading is not None and context.reading.kind not in ("answered", "empty"):
        details = {**found.details, ANSWER_KIND: {"kind": context.reading.kind}}
        found = replace(found, details=details)
    if judged:
        shared = {name: judged[name].details for name in (SUPPORT, FILLED) if name in judged}
        found = replace(found, details={**found.details, **shared}) if shared else found
    if plan.info.diagnose is not None:
        # Not at the top: most scenarios ask for no causes.
        from pytest_rageval.engine.scoring.cause import with_cause

        found = with_cause(plan.info, sample, found, context.reading)
    return found if answered is None else _with_answer(found, answered)


def computed_scores(plan: Plan, sample: Sample) -> list[Score]:
    """Return the scores of all metrics of a plan that asks no model.

    They have no value where the scenario refuses the answer: ``score_case`` refuses it, too.
    """
    accepted = admitted(plan, sample)
    if accepted is None:
        return [Score(metric.column.name, None) for metric in plan.metrics]
    context = ScoringContext()
    return _scores(plan, accepted, context, NOTHING)


def _scores(
    plan: Plan, sample: Sample, context: ScoringContext, judged: Mapping[str, Score]
) -> list[Score]:
    """Return the score of each metric; ``judged`` are those that were asked for beforehand."""
    if plan.answers is None:
        return [
            judged.get(metric.column.name) or score_of_metric(plan, metric, sample, context)
            for metric in plan.metrics
        ]
    # Not at the top: most scenarios do not say how answers cite or refuse.
    from pytest_rageval.engine.scoring.answer_rules import scores_by_rules

    return scores_by_rules(plan, plan.answers, sample, context, judged)


def unanswered_result(
    plan: Plan, sample: Sample, reason: str, latency_s: float = 0.0
) -> SampleResult:
    """Return the result of a sample that the system under test gave no answer to, and why.

    The answer that the data held does not count.
    """
    asked = replace(sample, answer=None)
    found = _result(plan, asked, [Score(m.column.name, None) for m in plan.metrics], latency_s)
    return replace(found, errors={TARGET: reason}, dataset_row=_row_without_answer(plan, sample))


def _with_answer(result: SampleResult, answered: TargetReply) -> SampleResult:
    details = {**result.details, TARGET: dict(answered.extra)} if answered.extra else result.details
    latency_s = answered.latency_s
    return replace(result, details=details, answer_latency_s=latency_s, is_kept=latency_s is None)


def invalid_result(plan: Plan, row: InvalidRow) -> SampleResult:
    """Return the result of an invalid row: no scores, and the reason."""
    return SampleResult(
        sample_id=row.id,
        index=row.index,
        outcome="error",
        sample_weight=resolve_weight(plan.info.doc_weights, row.doc_name),
        doc_name=row.doc_name,
        question=row.question,
        metadata=row.metadata,
        scores=dict.fromkeys((metric.column.name for metric in plan.metrics), None),
        errors={"row": row.reason},
        invalid=row.reason,
        row=row.row,
        line=row.line,
        raw=row.raw,
        xfail=row.xfail if plan.on_invalid == "fail" else None,  # else it may be invalid
        dataset_row={plan.saved_columns["id"]: row.id} if plan.saved_columns else None,
    )


def unscored_result(plan: Plan, case: Case) -> SampleResult:
    """Return the result of a case that was not scored, for instance because it is skipped."""
    if isinstance(case, InvalidRow):
        return invalid_result(plan, case)
    is_drawn = plan.info.sample is None or case.skip != NOT_DRAWN  # it may be a row's own reason
    reason = None if is_drawn else NOT_DRAWN
    scores = [Score(metric.column.name, None, reason) for metric in plan.metrics]
    row = _row_without_answer(plan, case) if is_drawn else None
    return replace(_result(plan, case, scores, 0.0), dataset_row=row)


def skipped_result(plan: Plan, case: Case) -> SampleResult:
    """Return the result of a case that pytest skipped: not run, unless the scenario skips it."""
    found = unscored_result(plan, case)
    if isinstance(case, InvalidRow) or case.skip is not None:
        return found
    return replace(found, reasons=dict.fromkeys(found.scores, NOT_RUN))


def stop_reason(plan: Plan) -> str:
    """Return why the samples after a certain verdict are not asked about."""
    bound = f" at error bound {plan.info.stop:g}" if plan.info.stop else ""
    return f"{NOT_ASKED}decided{bound}"


def left_out_result(plan: Plan, case: Case) -> SampleResult:
    """Return the result of a sample that is not asked about, since the verdict is certain."""
    found = unscored_result(plan, case)
    reasons = dict.fromkeys(found.scores, stop_reason(plan))
    return replace(found, outcome="skipped", reasons=reasons, dataset_row=None)


def score_of_metric(
    plan: Plan, bound: BoundMetric, sample: Sample, context: ScoringContext
) -> Score:
    """Return what one metric says; what it raises is its error on this sample, and ends no run."""
    name = bound.column.name
    missing = missing_fields(sample, bound.info)
    if missing:
        return score_without(plan, bound, missing)
    if bound.info.empty_is_worst and (worst := worst_score(plan, bound, sample)) is not None:
        return worst
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


def score_without(plan: Plan, bound: BoundMetric, missing: Collection[str]) -> Score:
    """Return a score without a value: an error where a target gave too little, else the reason."""
    name = bound.column.name
    lacks = f"no {' and no '.join(NAMED.get(field, field) for field in missing)}"
    if (plan.target is not None or plan.is_given) and ANSWERED_FIELDS.issuperset(missing):
        who = "the target returned" if plan.target is not None else "rageval.check was given"
        hint = "" if "answer" in missing else "; [] says that nothing was found"
        hint += ", and each context needs an id" if "retrieved_ids" in missing else ""
        return Score(name, None, error=f"{who} {lacks}{hint}")
    is_asked = bound.info.of_row.isdisjoint(missing)
    return Score(name, None, f"the row has {lacks}", left_out=None if is_asked else "label")


def checked_score(column: MetricColumn, score: Score) -> Score:
    """Return ``score`` under the column's name, or an error where it cannot be the metric's."""
    if not isinstance(score, Score):
        return Score(column.name, None, error=f"returned {shorten(repr(score))}, not a Score")
    if score.details is not None and (reason := _flaw(score.details)):
        return Score(column.name, None, error=f"its details are {reason}")
    value = None if score.error else score.value
    if value is None and score.value is not None:
        return _no_score(column, score, str(score.error))
    if type(value) is float and score.metric == column.name:
        low, high = column.ends
        is_high_enough = low is None or low - TOLERANCE <= value
        is_low_enough = high is None or value <= high + TOLERANCE
        # Not a number, or infinite, is outside of everything.
        if is_high_enough and is_low_enough and abs(value) <= _LARGEST:
            return score
    if value is None:
        return score if score.metric == column.name else replace(score, metric=column.name)
    return _converted(column, score)


def _flaw(details: Mapping[str, Any]) -> str:
    passing = details.get(PASSING)
    if isinstance(passing, str):  # bool("False") would be True
        return f"unclear: {PASSING} is {shorten(repr(passing))}, expected True or False"
    return excess(details)


def _converted(column: MetricColumn, score: Score) -> Score:
    """Return ``score`` with a plain float, or an error if it has none within the range."""
    value: Any = score.value
    if isinstance(value, str | bytes):
        return Score(column.name, None, error=f"returned {shorten(repr(value))}, not a number")
    try:
        number = float(value)
    except OverflowError:
        return _no_score(column, score, "returned a number beyond 64 bits, which is no score")
    low, high = column.range
    if not abs(number) <= _LARGEST:
        return _no_score(column, score, f"returned {number}, which is no score")
    if not low - TOLERANCE <= number <= high + TOLERANCE:
        return _no_score(column, score, f"{number} is outside the range {low:g}..{high:g}")
    return replace(score, metric=column.name, value=number)


def _no_score(column: MetricColumn, score: Score, error: str) -> Score:
    # The details stay: they may hold that the sample does not pass.
    return Score(column.name, None, details=score.details, error=error)


def _saved_row(sample: Sample, columns: Mapping[str, str]) -> Mapping[str, Any]:
    # Not at the top: most runs save no answers.
    from pytest_rageval.datasets.save import row_of

    return row_of(sample, columns)


def _row_without_answer(plan: Plan, sample: Sample) -> Mapping[str, Any] | None:
    """Return the row to save of a sample without an answer of the system under test.

    What the data held in its place would pass for one in a later run.
    """
    if plan.saved_columns is None:
        return None
    old: dict[str, Any] = dict.fromkeys(_OF_ANSWER)
    return _saved_row(replace(sample, **old), plan.saved_columns)


def _result(plan: Plan, sample: Sample, scores: list[Score], latency_s: float) -> SampleResult:
    values = {score.metric: score.value for score in scores}
    weights = plan.info.doc_weights
    remarks = _remarks(scores)
    if sample.reference_ids is not None:
        remarks["details"] = {**remarks.get("details", {}), RETRIEVAL: _retrieval(sample)}
    elif sample.reference_contexts is not None:
        remarks["details"] = {**remarks.get("details", {}), RETRIEVAL: _expected(sample)}
    return SampleResult(
        sample_id=sample.id,
        index=sample.index,
        sample_weight=resolve_weight(weights, sample.doc_name) if weights else DEFAULT_WEIGHT,
        weighted_score=weigh_scores(plan, values, remarks.get("errors", NOTHING)),
        doc_name=sample.doc_name,
        question=sample.question,
        answer=sample.answer,
        contexts=sample.contexts,
        references=sample.references,
        metadata=sample.metadata,
        scores=values,
        row=sample.row,
        latency_s=latency_s,
        dataset_row=_saved_row(sample, saved) if (saved := plan.saved_columns) else None,
        xfail=sample.xfail,
        expected=sample.reference_contexts if plan.keeps_expected else None,
        confidence=sample.confidence,
        # Of qrels there is one digest for all.
        judged_by=NOTHING if plan.info.judgements_sha256 else reference_digests(sample, plan),
        **remarks,
    )


def _expected(sample: Sample) -> dict[str, Any]:
    """Return what reports show of the expected contexts: how many, and the first ones."""
    expected = sample.reference_contexts or ()
    return {
        "expected": len(expected),
        "first_expected": [shorten(text, _SHOWN_TEXT) for text in expected[:_SHOWN_CONTEXTS]],
    }


def _retrieval(sample: Sample) -> dict[str, Any]:
    """Return what reports show of a search result: its size and its beginning."""
    retrieved, judged = sample.retrieved_ids or (), sample.reference_ids or {}
    relevant = {name for name, grade in judged.items() if grade >= 1}
    return {
        "retrieved": len(retrieved),
        "relevant": len(relevant),
        "found": len(relevant.intersection(retrieved)),
        "first": [[name, judged.get(name)] for name in retrieved[:_SHOWN]],
    }


def weigh_scores(
    plan: Plan, values: Mapping[str, float | None], errors: Mapping[str, object] = NOTHING
) -> float | None:
    """Return the weighted score of a sample from its scores, which are in the metrics' order.

    None if a metric with a weight has an error and no score: the mean of the other metrics might
    be better than the sample is.
    """
    if errors and any(
        column.weight > 0.0 and column.name in errors and values.get(column.name) is None
        for column in plan.info.metrics
    ):
        return None
    if None in values.values() or not plan.scores_are_unit:
        return weighted_mean(
            (None if value is None else column.to_unit(value), column.weight)
            for column, value in zip(plan.info.metrics, values.values(), strict=True)
        )
    return weighted_mean(zip(values.values(), plan.weights, strict=True))


def _remarks(scores: list[Score]) -> dict[str, Any]:
    """Return, by field and metric, what scores have besides values: reasons, errors and so on."""
    remarks: dict[str, dict[str, Any]] = {}
    for score in scores:
        if score.reason is not None:
            remarks.setdefault("reasons", {})[score.metric] = str(score.reason)
        if score.details is not None:
            remarks.setdefault("details", {})[score.metric] = plain_details(score.details)
        if score.error is not None:
            remarks.setdefault("errors", {})[score.metric] = str(score.error)
        if score.replies is not None:
            remarks.setdefault("replies", {})[score.metric] = dict(score.replies)
        if score.left_out is not None:
            remarks.setdefault("left_out", {})[score.metric] = score.left_out
    return remarks

"""Scores the judged metrics of one sample: all at once, after what is asked about the row."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pytest_rageval.clients.accounting import Purpose, Tally, asking
from pytest_rageval.clients.threads import is_our_stop
from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.scoring.answer_rules import is_ruled, seen_by
from pytest_rageval.engine.scoring.repeats import Asking, error_text, merged, with_replies
from pytest_rageval.engine.scoring.score_reuse import ScoreReuse
from pytest_rageval.engine.scoring.score_sample import (
    admitted,
    checked_score,
    worst_score,
)
from pytest_rageval.metrics.base import JudgedMetric, Models, missing_fields
from pytest_rageval.model import (
    ANSWERABLE,
    NOTHING,
    Sample,
    Score,
)

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import AnswerRules, Plan


async def judge_sample(
    plan: Plan,
    sample: Sample,
    models: Models,
    order: int = 0,
    reuse: ScoreReuse | None = None,
    refused: Mapping[str, str] = NOTHING,
) -> dict[str, Score]:
    """Return the score of each judged metric that has what it needs, by the metric's name.

    Also the replies to questions asked first (``ANSWERABLE``, ``ANSWER_KIND``), and what metrics
    share (``SUPPORT``, ``FILLED``). Where calls queue, those of the sample with the lowest
    ``order`` come first. Scores that ``reuse`` finds are not made anew. Metrics in ``refused`` are
    not asked: their error is the text there.
    """
    how = Asking(order, plan.repeats, reuse, plan.info.nodeid)
    metrics = asked_metrics(plan, sample)
    first: dict[str, Score] = {}
    if plan.answers is not None and plan.answers.asked:
        first = await _asked_first(plan, plan.answers, sample, models, how)
        metrics = _left_to_ask(plan.answers, metrics, sample, first)
    asked = [metric for metric in metrics if metric.column.name not in refused]
    sharing = [metric for metric in asked if metric.info.of_table or metric.info.fills]
    alone = [metric for metric in asked if not (metric.info.of_table or metric.info.fills)]
    scores, shared = await asyncio.gather(
        asyncio.gather(*(_score(plan, metric, sample, models, how) for metric in alone)),
        _shared(plan, sharing, sample, models, how, first),
    )
    found = {metric.column.name: score for metric, score in zip(alone, scores, strict=True)}
    left = (metric.column.name for metric in metrics if metric.column.name in refused)
    unasked = {name: Score(name, None, error=refused[name]) for name in left}
    return {**first, **found, **shared, **unasked}


async def _shared(
    plan: Plan,
    metrics: Sequence[BoundMetric],
    sample: Sample,
    models: Models,
    how: Asking,
    first: Mapping[str, Score],
) -> Mapping[str, Score]:
    """Return the scores of metrics that read one support table, or the same grades of holes."""
    if not metrics:
        return NOTHING
    # Not at the top: most scenarios have no such metric.
    from pytest_rageval.engine.scoring.shared_scores import (
        filled_scores,
        support_row,
        table_scores,
    )

    work = []
    by_table = [metric for metric in metrics if metric.info.of_table]
    if by_table and plan.answers is not None:
        row = support_row(plan, plan.answers, sample, first)
        work.append(table_scores(by_table, row, models, how))
    if filled := [metric for metric in metrics if metric.info.fills]:
        shown = seen_by(plan.answers, filled[0], sample)
        work.append(filled_scores(filled, shown, models, how))
    return {name: score for found in await asyncio.gather(*work) for name, score in found.items()}


async def _asked_first(
    plan: Plan, rules: AnswerRules, sample: Sample, models: Models, how: Asking
) -> dict[str, Score]:
    """Return what the judge says of the row before its metrics are asked about it."""
    known = admitted(plan, sample)
    questions = [] if known is None else [q for q in rules.asked if _is_asked(plan, q, known)]
    replies = await asyncio.gather(*(_score(plan, q, sample, models, how) for q in questions))
    return {q.column.name: reply for q, reply in zip(questions, replies, strict=True)}


def _left_to_ask(
    rules: AnswerRules,
    metrics: Sequence[BoundMetric],
    sample: Sample,
    first: Mapping[str, Score],
) -> list[BoundMetric]:
    names = {question.column.name for question in rules.asked}
    return [
        metric
        for metric in metrics
        if metric.column.name not in names and not is_ruled(rules, metric, sample, first)
    ]


def asked_metrics(plan: Plan, sample: Sample) -> list[BoundMetric]:
    """Return the judged metrics that ask about a sample: those that have what they need."""
    found = admitted(plan, sample)
    return [] if found is None else [m for m in plan.judged if _is_asked(plan, m, found)]


def _is_asked(plan: Plan, metric: BoundMetric, sample: Sample) -> bool:
    if plan.answers is not None:
        is_question = metric.column.name == ANSWERABLE and metric.info.section == "refusals"
        if (is_question and sample.answerable is not None) or is_ruled(
            plan.answers, metric, sample
        ):
            return False
    return not missing_fields(sample, metric.info) and worst_score(plan, metric, sample) is None


async def _score(
    plan: Plan, bound: BoundMetric, sample: Sample, models: Models, how: Asking
) -> Score:
    sample = seen_by(plan.answers, bound, sample)
    # Only metrics that ask a model are repeated: it may answer differently.
    repeats = how.repeats if bound.info.asks else 1
    scores = await asyncio.gather(
        *(_one_repeat(bound, sample, models, repeat, how) for repeat in range(repeats))
    )
    return scores[0] if repeats == 1 else merged(bound.column.name, scores)


async def _one_repeat(
    bound: BoundMetric, sample: Sample, models: Models, repeat: int, how: Asking
) -> Score:
    """Return the score of one repeat with its replies; what the metric raises is its error."""
    with asking(_purpose(bound, sample, repeat, how)) as tally:
        score = await _score_or_error(bound, sample, models, tally, how.reuse)
    return score if score.replies is not None else with_replies(score, tally)


async def _score_or_error(
    bound: BoundMetric, sample: Sample, models: Models, tally: Tally, reuse: ScoreReuse | None
) -> Score:
    # As for every metric, what it raises is its error on this sample alone.
    try:
        return await _cached_or_made(bound, sample, models, tally, reuse)
    except BaseException as error:
        if is_our_stop(error):
            raise
        return Score(bound.column.name, None, error=error_text(error))


async def score_once(
    bound: BoundMetric, sample: Sample, models: Models, repeat: int, how: Asking
) -> Score:
    """Return the score of one repeat, from the cache or made now; raises what the metric raises.

    For control rows, which want the error itself.
    """
    with asking(_purpose(bound, sample, repeat, how)) as tally:
        return await _cached_or_made(bound, sample, models, tally, how.reuse)


def _purpose(bound: BoundMetric, sample: Sample, repeat: int, how: Asking) -> Purpose:
    name, version = bound.column.name, bound.info.version
    return Purpose(name, version, repeat, sample.id, how.order, how.scenario)


async def _cached_or_made(
    bound: BoundMetric, sample: Sample, models: Models, tally: Tally, reuse: ScoreReuse | None
) -> Score:
    metric, column = cast("JudgedMetric", bound.metric), bound.column
    key = reuse.key(bound, sample, tally.purpose.repeat) if reuse is not None else None
    if reuse is None or key is None:
        return checked_score(column, await _settled_score(metric, sample, models, tally))
    found = reuse.cache.find(key)
    if found is not None:
        return checked_score(column, found)
    score = with_replies(
        checked_score(column, await _settled_score(metric, sample, models, tally)), tally
    )
    reuse.cache.keep(key, score, tally.answers)
    return score


async def _settled_score(
    metric: JudgedMetric, sample: Sample, models: Models, tally: Tally
) -> Score:
    """Return the score, or raise what the metric raises, when all of its calls have ended."""
    try:
        score = await metric.ascore(sample, models)
    except BaseException as error:
        if not is_our_stop(error):
            await tally.settle()
        raise
    await tally.settle()
    said: Any = score  # whatever the metric returned
    if tally.failure and getattr(said, "value", 0) is None and not getattr(said, "error", ""):
        # "No score" is what a metric says that does not apply; this one could not ask.
        raise tally.failure
    return score

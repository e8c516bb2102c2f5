"""Score the judged metrics of one sample: all questions at once, repeated as the plan says."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from pytest_rageval.clients.accounting import Purpose, Tally, asking
from pytest_rageval.clients.errors import BudgetError, ClientError, ReplayMissError
from pytest_rageval.clients.threads import is_ours
from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.scoring.score_reuse import ScoreReuse
from pytest_rageval.engine.scoring.score_sample import (
    admitted,
    checked_score,
    worst_score,
)
from pytest_rageval.errors import MissingExtraError, describe_error
from pytest_rageval.metrics.base import JudgedMetric, Models, missing_fields
from pytest_rageval.model import (
    ANSWERABLE,
    BUDGET,
    NOT_ASKED,
    NOTHING,
    PASSING,
    REPEATS,
    REPLAY,
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

    Where calls queue, those of the sample with the lowest ``order`` come first. Scores that are
    ``reuse`` finds are not made anew. Metrics that are ``refused`` are not asked: their error says
    why.
    """
    how = Asking(order, plan.repeats, reuse, plan.info.nodeid)
    metrics = asked_metrics(plan, sample)
    first: dict[str, Score] = {}
    if plan.answers is not None and plan.answers.asked:
        first = await _asked_first(plan, plan.answers, sample, models, how)
        metrics = _left_to_ask(plan.answers, metrics, sample, first)
    if plan.answers is not None:
        # Not at the top: most scenarios do not say how answers cite or refuse.
        from pytest_rageval.engine.scoring.answer_rules import seen_by

        shown = {metric.column.name: seen_by(plan.answers, metric, sample) for metric in metrics}
    else:
        shown = {metric.column.name: sample for metric in metrics}
    asked = [metric for metric in metrics if metric.column.name not in refused]
    scores = await asyncio.gather(
        *(_score(metric, shown[metric.column.name], models, how) for metric in asked)
    )
    found = {metric.column.name: score for metric, score in zip(asked, scores, strict=True)}
    left = (metric.column.name for metric in metrics if metric.column.name in refused)
    return first | found | {name: Score(name, None, error=refused[name]) for name in left}


async def _asked_first(
    plan: Plan, rules: AnswerRules, sample: Sample, models: Models, how: Asking
) -> dict[str, Score]:
    """Return what the judge says of the row before its metrics are asked about it."""
    # Not at the top: most scenarios do not say how answers cite, refuse or follow.
    from pytest_rageval.engine.scoring.answer_rules import seen_by

    known = admitted(plan, sample)
    questions = [] if known is None else [q for q in rules.asked if _is_asked(plan, q, known)]
    replies = await asyncio.gather(
        *(_score(q, seen_by(rules, q, sample), models, how) for q in questions)
    )
    return {q.column.name: reply for q, reply in zip(questions, replies, strict=True)}


def _left_to_ask(
    rules: AnswerRules,
    metrics: Sequence[BoundMetric],
    sample: Sample,
    first: Mapping[str, Score],
) -> list[BoundMetric]:
    # Not at the top: most scenarios do not say how answers cite or refuse.
    from pytest_rageval.engine.scoring.answer_rules import is_ruled

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
        from pytest_rageval.engine.scoring.answer_rules import is_ruled

        is_known = metric.column.name == ANSWERABLE and sample.answerable is not None
        if is_known or is_ruled(plan.answers, metric, sample):
            return False
    return not missing_fields(sample, metric.info) and worst_score(plan, metric, sample) is None


@dataclass(frozen=True, slots=True)
class Asking:
    """How a metric is asked: which calls wait for it, how often, and whose they are."""

    order: int
    repeats: int
    reuse: ScoreReuse | None
    scenario: str


async def _score(bound: BoundMetric, sample: Sample, models: Models, how: Asking) -> Score:
    # Only metrics that ask a model are repeated: it may answer differently.
    repeats = how.repeats if bound.info.asks else 1
    scores = await asyncio.gather(
        *(_once(bound, sample, models, repeat, how) for repeat in range(repeats))
    )
    return scores[0] if repeats == 1 else _merged(bound.column.name, scores)


async def _once(
    bound: BoundMetric, sample: Sample, models: Models, repeat: int, how: Asking
) -> Score:
    with asking(_purpose(bound, sample, repeat, how)) as tally:
        score = await _said(bound, sample, models, tally, how.reuse)
    return score if score.replies is not None else _with_replies(score, tally)


def _with_replies(score: Score, tally: Tally) -> Score:
    """Return the score with how many replies of the judge could be used, and how many not."""
    return replace(score, replies=dict(tally.replies)) if tally.replies else score


async def _said(
    bound: BoundMetric, sample: Sample, models: Models, tally: Tally, reuse: ScoreReuse | None
) -> Score:
    name = bound.column.name
    # As for every metric, what it raises is its error on this sample alone.
    try:
        return await _cached_or_made(bound, sample, models, tally, reuse)
    except BudgetError as error:
        return Score(name, None, error=f"{BUDGET}{error}")
    except ReplayMissError as error:
        return Score(name, None, error=f"{REPLAY}{error}")
    except (ClientError, MissingExtraError) as error:
        return Score(name, None, error=str(error))
    except BaseException as error:
        if is_ours(error):
            raise
        return Score(name, None, error=describe_error(error))


async def score_once(
    bound: BoundMetric, sample: Sample, models: Models, repeat: int, how: Asking
) -> Score:
    """Return the score of a sample, from the cache or made now; raises what the metric raises."""
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
        return checked_score(column, await _ask(metric, sample, models, tally))
    found = reuse.cache.find(key)
    if found is not None:
        return checked_score(column, found)
    score = _with_replies(checked_score(column, await _ask(metric, sample, models, tally)), tally)
    reuse.cache.keep(key, score, tally.answers)
    return score


async def _ask(metric: JudgedMetric, sample: Sample, models: Models, tally: Tally) -> Score:
    """Return the score, or raise what the metric raises, when all of its calls have ended."""
    try:
        score = await metric.ascore(sample, models)
    except BaseException as error:
        if not is_ours(error):
            await tally.settle()
        raise
    await tally.settle()
    said: Any = score  # whatever the metric returned
    if tally.failure and getattr(said, "value", 0) is None and not getattr(said, "error", ""):
        # "No score" is what a metric says that does not apply; this one could not ask.
        raise tally.failure
    return score


def _merged(name: str, scores: Sequence[Score]) -> Score:
    """Return the mean of the repeats that have a score; with the details of the first of them.

    If repeats decide whether the sample passes, the majority counts. The others' errors, or else
    their reasons, become those of the score; their replies are counted together. If the run did not
    ask for all repeats, the error that says so is returned: the judge did not fail.
    """
    for score in scores:
        if score.error is not None and score.error.startswith((BUDGET, REPLAY, NOT_ASKED)):
            return score
    counts = sum((Counter(score.replies or {}) for score in scores), Counter[str]())
    scores = [replace(score, replies=dict(counts) or None) for score in scores]
    values = [score.value for score in scores]
    scored = [score for score in scores if score.value is not None and not math.isnan(score.value)]
    passing = _passing(scores)
    if not scored:
        first = scores[0]
        return replace(first, details={**(first.details or {}), **passing}) if passing else first
    numbers = [cast("float", score.value) for score in scored]
    # Equal values are kept: the float mean of three times 0.1 is not 0.1 and may miss a threshold.
    agree = len(set(numbers)) == 1
    spread = None if len(numbers) < 2 else 0.0 if agree else statistics.stdev(numbers)
    repeats = {"values": values, "spread": spread}
    details: Mapping[str, object] = {**(scored[0].details or {}), **passing, REPEATS: repeats}
    count = f"{len(scored)} of {len(scores)} repeats scored"
    return replace(
        scored[0],
        metric=name,
        value=numbers[0] if agree else math.fsum(numbers) / len(numbers),
        reason=_lacking(
            count, (one.reason for one in scores if one.value is None and not one.error)
        )
        or scored[0].reason,
        details=details,
        error=_lacking(count, (one.error for one in scores)),
    )


def _passing(scores: Sequence[Score]) -> dict[str, bool]:
    """Return whether most of the repeats that decide it let the sample pass; {} if none decides."""
    found = [(score.details or {}).get(PASSING) for score in scores]
    said = [bool(one) for one in found if one is not None]
    return {PASSING: 2 * sum(said) > len(said)} if said else {}


def _lacking(count: str, why: Iterable[str | None]) -> str | None:
    """Return why repeats have no score, each reason once; None where there is none."""
    said = dict.fromkeys(filter(None, why))
    return f"{count}: {'; '.join(said)}" if said else None

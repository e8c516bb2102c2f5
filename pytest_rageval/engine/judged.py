"""Scoring the metrics that ask a model: one sample's questions at once, repeated as asked for."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from pytest_rageval.clients.errors import BudgetError, ClientError, ReplayMissError
from pytest_rageval.clients.foreign import is_ours
from pytest_rageval.clients.purpose import Purpose, Tally, asking
from pytest_rageval.engine.bind_cases import missing_fields
from pytest_rageval.engine.binding import BoundMetric
from pytest_rageval.engine.kept import Kept
from pytest_rageval.engine.scorer import checked_score, describe_error
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.metrics.base import JudgedMetric, Models
from pytest_rageval.model import BUDGET, REPEATS, REPLAY, Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan


async def judge_sample(
    plan: Plan, sample: Sample, models: Models, order: int = 0, kept: Kept | None = None
) -> dict[str, Score]:
    """Return the score of each judged metric that has what it needs, by the metric's name.

    Where calls queue, those of the sample with the lowest ``order`` come first. Scores that are
    ``kept`` are not made anew.
    """
    metrics = [metric for metric in plan.judged if not missing_fields(sample, metric.info)]
    how = _Asking(order, plan.repeats, kept, plan.info.nodeid)
    scores = await asyncio.gather(*(_score(metric, sample, models, how) for metric in metrics))
    return {metric.column.name: score for metric, score in zip(metrics, scores, strict=True)}


@dataclass(frozen=True, slots=True)
class _Asking:
    order: int
    repeats: int
    kept: Kept | None
    scenario: str


async def _score(bound: BoundMetric, sample: Sample, models: Models, how: _Asking) -> Score:
    # Only who asks a model is asked again for the model's sake.
    repeats = how.repeats if bound.info.asks else 1
    scores = await asyncio.gather(
        *(_once(bound, sample, models, repeat, how) for repeat in range(repeats))
    )
    return scores[0] if repeats == 1 else _merged(bound.column.name, scores)


async def _once(
    bound: BoundMetric, sample: Sample, models: Models, repeat: int, how: _Asking
) -> Score:
    name = bound.column.name
    purpose = Purpose(name, bound.info.version, repeat, sample.id, how.order, how.scenario)
    # As for every metric: whatever it raises is its error on this sample, and nothing else's.
    try:
        with asking(purpose) as tally:
            return await _kept_or_made(bound, sample, models, tally, how.kept)
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


async def _kept_or_made(
    bound: BoundMetric, sample: Sample, models: Models, tally: Tally, kept: Kept | None
) -> Score:
    metric, column = cast("JudgedMetric", bound.metric), bound.column
    place = kept.place(bound, sample, tally.purpose.repeat) if kept is not None else None
    if kept is None or place is None:
        return checked_score(column, await _ask(metric, sample, models, tally))
    found = kept.find(place)
    if found is not None:
        return checked_score(column, found)
    score = checked_score(column, await _ask(metric, sample, models, tally))
    kept.keep(place, score, tally.answers)
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
    return score


def _merged(name: str, scores: Sequence[Score]) -> Score:
    """Return the mean of the repeats that have a score; the details of the first one stand.

    Where the run did not ask for all of them, the error that says so: it is no judge's failing.
    """
    for score in scores:
        if score.error is not None and score.error.startswith((BUDGET, REPLAY)):
            return score
    values = [score.value for score in scores]
    scored = [score for score in scores if score.value is not None and not math.isnan(score.value)]
    if not scored:
        return scores[0]
    numbers = [cast("float", score.value) for score in scored]
    # Said outright: the mean of three times 0.1 is not 0.1, and would flip a threshold of 0.1.
    agree = len(set(numbers)) == 1
    spread = 0.0 if agree else statistics.stdev(numbers)
    repeats = {"values": values, "spread": spread}
    details: Mapping[str, object] = {**(scored[0].details or {}), REPEATS: repeats}
    failed = next((score.error or score.reason for score in scores if score.value is None), None)
    lacking = f"{len(scored)} of {len(scores)} repeats scored: {failed}" if failed else None
    return replace(
        scored[0],
        metric=name,
        value=numbers[0] if agree else math.fsum(numbers) / len(numbers),
        reason=lacking or scored[0].reason,
        details=details,
    )

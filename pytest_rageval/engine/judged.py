"""Scoring the metrics that ask a model: one sample's questions at once, repeated as asked for."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from pytest_rageval.clients.errors import BudgetError, ClientError, ReplayMissError
from pytest_rageval.clients.usage import Purpose, asking
from pytest_rageval.engine.bind_cases import missing_fields
from pytest_rageval.engine.binding import BoundMetric
from pytest_rageval.engine.scorer import checked_score, describe_error
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.metrics.base import JudgedMetric, Models
from pytest_rageval.model import BUDGET, REPEATS, REPLAY, Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.engine.plan import Plan


async def judge_sample(
    plan: Plan, sample: Sample, models: Models, order: int = 0
) -> dict[str, Score]:
    """Return the score of each judged metric that has what it needs, by the metric's name.

    Where calls queue, those of the sample with the lowest ``order`` come first.
    """
    metrics = [metric for metric in plan.judged if not missing_fields(sample, metric.info)]
    scores = await asyncio.gather(
        *(_score(metric, sample, models, _Asking(order, plan.repeats)) for metric in metrics)
    )
    return {metric.column.name: score for metric, score in zip(metrics, scores, strict=True)}


@dataclass(frozen=True, slots=True)
class _Asking:
    order: int
    repeats: int


async def _score(bound: BoundMetric, sample: Sample, models: Models, how: _Asking) -> Score:
    scores = await asyncio.gather(
        *(_once(bound, sample, models, repeat, how.order) for repeat in range(how.repeats))
    )
    return scores[0] if how.repeats == 1 else _merged(bound.column.name, scores)


async def _once(
    bound: BoundMetric, sample: Sample, models: Models, repeat: int, order: int
) -> Score:
    name = bound.column.name
    purpose = Purpose(name, bound.info.version, repeat, sample.id, order)
    metric = cast("JudgedMetric", bound.metric)
    # As for every metric: whatever it raises is its error on this sample, and nothing else's.
    try:
        with asking(purpose):
            return checked_score(bound.column, await metric.ascore(sample, models))
    except BudgetError as error:
        return Score(name, None, error=f"{BUDGET}{error}")
    except ReplayMissError as error:
        return Score(name, None, error=f"{REPLAY}{error}")
    except (ClientError, MissingExtraError) as error:
        return Score(name, None, error=str(error))
    except Exception as error:  # noqa: BLE001
        return Score(name, None, error=describe_error(error))


def _merged(name: str, scores: Sequence[Score]) -> Score:
    """Return the mean of the repeats that have a score; the details of the first one stand."""
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

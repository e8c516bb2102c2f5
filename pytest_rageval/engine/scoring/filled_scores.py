"""Scores the measures of a ranking whose holes a judge fills: each document is graded once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.threads import is_ours
from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.scoring.repeats import Asking, error_text, with_replies
from pytest_rageval.engine.scoring.score_sample import checked_score
from pytest_rageval.errors import describe_error
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.filling import (
    VERSION,
    FilledMetric,
    Filling,
    Graded,
    grade_documents,
)
from pytest_rageval.model import FILLED, Sample, Score


async def filled_scores(
    metrics: Sequence[BoundMetric], sample: Sample, models: Models, how: Asking
) -> dict[str, Score]:
    """Return the score of each metric by its name, and the grades, as details under ``FILLED``.

    Of repeated grades the middle one counts. A call that failed fails every metric: without the
    grade of one hole they would be other figures.
    """
    filling = cast("FilledMetric", metrics[0].metric).filling
    with asking(Purpose(FILLED, VERSION, 0, sample.id, how.order, how.scenario)) as tally:
        rounds = await asyncio.gather(
            *(_round(sample, filling, models, repeat, how) for repeat in range(how.repeats)),
            return_exceptions=True,
        )
    graded = [one for one in rounds if isinstance(one, Graded)]
    failures = [one for one in rounds if isinstance(one, BaseException)]
    if failures:
        if is_ours(failures[0]):
            raise failures[0]
        text = error_text(failures[0])
        failed = (Score(one.column.name, None, error=text) for one in metrics)
        return {score.metric: with_replies(score, tally) for score in failed}
    middle = Graded.middle(graded)
    scores = [_scored(bound, sample, middle) for bound in metrics]
    found = {score.metric: with_replies(score, tally) for score in scores}
    return {**found, FILLED: Score(FILLED, None, details=middle.details(sample))}


async def _round(
    sample: Sample, filling: Filling, models: Models, repeat: int, how: Asking
) -> Graded:
    with asking(Purpose(FILLED, VERSION, repeat, sample.id, how.order, how.scenario)):
        return await grade_documents(sample, filling, models)


def _scored(bound: BoundMetric, sample: Sample, graded: Graded) -> Score:
    metric = cast("FilledMetric", bound.metric)
    try:
        return checked_score(bound.column, metric.score_of(sample, graded))
    except Exception as error:  # noqa: BLE001  (the error of this score alone)
        return Score(bound.column.name, None, error=describe_error(error))

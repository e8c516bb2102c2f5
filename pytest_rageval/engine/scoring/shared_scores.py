"""Scores the metrics that share what a judge is asked: a support table, or the grades of holes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from pytest_rageval.clients.accounting import Purpose, asking
from pytest_rageval.clients.threads import is_our_stop
from pytest_rageval.engine.plan import AnswerRules, BoundMetric, Plan
from pytest_rageval.engine.scoring.answer_rules import (
    evidence_of,
    question_after,
    read_answer,
    with_answerable,
)
from pytest_rageval.engine.scoring.repeats import Asking, error_text, merged, with_replies
from pytest_rageval.engine.scoring.score_sample import checked_score, worst_of
from pytest_rageval.errors import describe_error
from pytest_rageval.metrics.base import Models
from pytest_rageval.metrics.citations import rule_of
from pytest_rageval.metrics.filling import (
    VERSION,
    FilledMetric,
    Filling,
    Graded,
    grade_documents,
)
from pytest_rageval.metrics.support.fill import fill_table
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.table import SupportRow
from pytest_rageval.model import FILLED, NOTHING, SUPPORT, Sample, Score
from pytest_rageval.text.citations import strip_citations

TABLE_VERSION: Final = 1
"""Of the prompts: another one asks everything anew."""


def support_row(
    plan: Plan, rules: AnswerRules, sample: Sample, judged: Mapping[str, Score] = NOTHING
) -> SupportRow:
    """Return what the table of a sample is about; ``judged`` is what was asked before."""
    reads_citations = any(metric.info.section == "citations" for metric in plan.metrics)
    decided = with_answerable(sample, judged)
    reading = read_answer(rules, decided, judged, with_citations=reads_citations)
    answer, rule = sample.answer or "", rules.citations
    if rule is not None:
        answer = strip_citations(answer, rule_of(sample, rule), len(sample.contexts or ()))
    shown = replace(sample, question=question_after(rules, sample))
    return SupportRow(shown, answer, reading, evidence_of(rules, sample))


def purpose_of_table(sample: Sample, repeat: int, order: int = 0, scenario: str = "") -> Purpose:
    """Return the purpose of the calls for a table: those of all metrics that read it."""
    return Purpose(SUPPORT, TABLE_VERSION, repeat, sample.id, order, scenario)


async def table_scores(
    metrics: Sequence[BoundMetric], row: SupportRow, models: Models, how: Asking
) -> dict[str, Score]:
    """Return the score of each metric by its name, and the table, as details under ``SUPPORT``.

    The table is asked for as often as the scenario repeats its metrics; the first one is shown.
    """
    rounds = await asyncio.gather(
        *(_once(metrics, row, models, repeat, how) for repeat in range(how.repeats))
    )
    found = {}
    for bound in metrics:
        name = bound.column.name
        scores = _settled(bound, row, [scores[name] for scores in rounds])
        found[name] = scores[0] if len(scores) == 1 else merged(name, scores)
    return {SUPPORT: rounds[0][SUPPORT], **found}


def _settled(bound: BoundMetric, row: SupportRow, scores: list[Score]) -> list[Score]:
    """Return the repeats; if any has a score, those that the answer left out get the worst one.

    Else a repeat in which the judge finds no claim would be left out of the mean. A row that cannot
    be answered keeps its repeats as they are.
    """
    if row.sample.answerable is False or all(score.value is None for score in scores):
        return scores
    return [
        replace(score, value=worst_of(bound.column, "").value, left_out=None)
        if score.value is None and score.left_out == "answer"
        else score
        for score in scores
    ]


async def _once(
    metrics: Sequence[BoundMetric], row: SupportRow, models: Models, repeat: int, how: Asking
) -> dict[str, Score]:
    purpose = purpose_of_table(row.sample, repeat, how.order, how.scenario)
    with asking(purpose) as tally:
        own = [cast("SupportMetric", bound.metric) for bound in metrics]
        table = await fill_table(row, [metric.measure for metric in own], models)
        await tally.settle()
    found = {SUPPORT: Score(SUPPORT, None, details=table.details())}
    for bound, metric in zip(metrics, own, strict=True):
        failure = metric.failure(table)
        if failure is not None:
            score = Score(metric.name, None, error=error_text(failure))
        else:
            score = checked_score(bound.column, metric.score_of(table))
        found[metric.name] = with_replies(score, tally)
    return found


async def filled_scores(
    metrics: Sequence[BoundMetric], sample: Sample, models: Models, how: Asking
) -> dict[str, Score]:
    """Return the score of each metric by its name, and the grades, as details under ``FILLED``.

    Of repeated grades the middle one counts. A call that failed fails every metric, and there are
    no details: without the grade of one hole they would be other figures.
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
        if is_our_stop(failures[0]):
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

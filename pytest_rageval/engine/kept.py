"""Scores that need not be made again: of which metrics, and where each of them is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.binding import BoundMetric
from pytest_rageval.metrics.base import KeptMetric
from pytest_rageval.model import Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.clients.scores import Definition, KeptScores, Place
    from pytest_rageval.engine.plan import Plan


class Kept:
    """The kept scores of one scenario."""

    def __init__(self, plan: Plan, scores: KeptScores) -> None:
        self._scores = scores
        kept = [one for one in plan.judged if one.info.keeps_scores and scores.is_used]
        self._definitions = {one.column.name: _definition(one, plan) for one in kept}

    def place(self, bound: BoundMetric, sample: Sample, repeat: int) -> Place | None:
        """Return where a score is kept, None where it is not; the sample's fields may say that."""
        definition = self._definitions.get(bound.column.name)
        if definition is None:
            return None
        fields = cast("KeptMetric", bound.metric).reads(sample)
        return None if fields is None else definition.place(fields, repeat)

    def find(self, place: Place) -> Score | None:
        """Return the score in a place; see KeptScores."""
        found = self._scores.find(place)
        if found is None:
            self._scores.forget_older(place)
        return found

    def keep(self, place: Place, score: Score, answers: int) -> None:
        """Keep a score; see KeptScores."""
        self._scores.keep(place, score, answers)


def preload(plan: Plan, run: RunSettings) -> None:
    """Begin to load what the judged metrics need, but where the cache may have all their scores.

    A metric without any in the cache needs its package for sure, and soon; so do the models.
    """
    if plan.target is not None and plan.target.preload is not None and run.cache_mode != "replay":
        plan.target.preload()
    # Not at the top: a scenario without a judge need not load what asks one.
    from pytest_rageval.clients.stack import preload_clients

    preload_clients(plan.models.judge, plan.models.embedding, run)
    keeping = [bound for bound in plan.judged if bound.info.keeps_scores]
    definitions = {bound.column.name: _definition(bound, plan) for bound in keeping}
    kept = _kept_among(run, definitions.values()) if definitions else set()
    for bound in plan.judged:
        if definitions.get(bound.column.name) not in kept:
            bound.preload()


def _kept_among(run: RunSettings, definitions: Iterable[Definition]) -> set[Definition]:
    from pytest_rageval.clients.scores import kept_among

    return kept_among(run, definitions)


def _definition(bound: BoundMetric, plan: Plan) -> Definition:
    # Not at the top: a scenario without a judge need not load what asks one.
    from pytest_rageval.clients.scores import define

    asks, models = bound.info.asks, plan.models
    parts = {
        "metric": bound.info.name,
        "name": bound.column.name,
        "version": bound.info.version,
        "parts": cast("KeptMetric", bound.metric).follows_from(models.language),
    }
    return define(
        parts,
        models.judge if "judge" in asks else None,
        models.embedding if "embedding" in asks else None,
    )

"""Which judged metrics take their scores from the cache, and what is loaded for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.clients.threads import in_background
from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.model import Sample

if TYPE_CHECKING:
    from pytest_rageval.clients.score_cache import ScoreCache
    from pytest_rageval.engine.plan import Plan
    from pytest_rageval.metrics.base import CacheableMetric

# What asks a model is imported inside functions: a scenario without a judge need not load it.


class ScoreReuse:
    """The cached scores of one scenario: ``cache`` finds and keeps them by their keys."""

    def __init__(self, plan: Plan, cache: ScoreCache) -> None:
        self.cache = cache
        self._definitions = _definitions(plan) if cache.is_used else {}

    def key(self, bound: BoundMetric, sample: Sample, repeat: int) -> str | None:
        """Return the key of a score, None if the metric, or the sample's fields, allow none."""
        from pytest_rageval.clients.score_cache import score_key

        definition = self._definitions.get(bound.column.name)
        if definition is None:
            return None
        fields = cast("CacheableMetric", bound.metric).reads(sample)
        return None if fields is None else score_key(definition, fields, repeat)


def preload(plan: Plan, run: RunSettings) -> None:
    """Begin to import what the target, the models and the judged metrics need, in the background.

    A metric's package only where none of its scores is cached: it is needed for sure then.
    """
    if plan.target is not None and plan.target.preload is not None and run.cache_mode != "replay":
        in_background(plan.target.preload)
    from pytest_rageval.clients.clients import preload_clients
    from pytest_rageval.clients.score_cache import cached_definitions

    preload_clients(plan.models.judge, plan.models.embedding, run)
    definitions = _definitions(plan)
    cached = cached_definitions(run, definitions.values()) if definitions else set()
    for bound in plan.judged:
        if definitions.get(bound.column.name) not in cached:
            bound.preload()


def _definitions(plan: Plan) -> dict[str, str]:
    """Return, of each metric that may keep its scores, the digest of all that they follow from."""
    from pytest_rageval.clients.score_cache import define

    models, found = plan.models, {}
    for bound in plan.judged:
        if not bound.info.keeps_scores:
            continue
        parts = {
            "metric": bound.info.name,
            "name": bound.column.name,
            "version": bound.info.version,
            "parts": cast("CacheableMetric", bound.metric).follows_from(models.language),
        }
        found[bound.column.name] = define(
            parts,
            models.judge if "judge" in bound.info.asks else None,
            models.embedding if "embedding" in bound.info.asks else None,
        )
    return found

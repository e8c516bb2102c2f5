"""What a run will cost, about: each metric that asks a model sends all texts of a sample once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pytest_rageval.clients.base import EMBEDDING_REGISTRY
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.clients.tokens import TokenGuess
from pytest_rageval.engine.plan import Plan
from pytest_rageval.model import Case, Sample


def cost_of(plan: Plan, cases: Iterable[Case]) -> dict[str, Any]:
    """Return ``usd``, as if nothing were in the cache, and ``unpriced``: models without a price.

    A first guess: the prompts of metrics are not known, nor are the answers of a target.
    """
    asked = list(asked_models(plan))
    samples = [case for case in cases if isinstance(case, Sample) and case.skip is None]
    texts = [texts_of(sample) for sample in samples]
    usd = 0.0
    for settings, times in asked:
        if settings.price is None:
            continue
        guess = TokenGuess(settings.max_tokens)
        for one in texts:
            estimate = guess.make(one)
            usd += times * settings.price.cost_usd(estimate.prompt, estimate.completion)
    return {"usd": usd, "unpriced": [one.shown for one, _ in asked if one.price is None]}


def asked_models(plan: Plan) -> Iterator[tuple[ClientSettings, int]]:
    """Yield each model that may cost something, and how often it is asked about a sample.

    Metrics that read the support table of a sample ask for it together.
    """
    for role, settings in (("judge", plan.models.judge), ("embedding", plan.models.embedding)):
        if settings is None or (role == "embedding" and is_local(settings)):
            continue
        asking = [metric for metric in plan.metrics if role in metric.info.asks]
        alone = sum(not metric.info.of_table for metric in asking)
        yield settings, plan.repeats * (alone + any(metric.info.of_table for metric in asking))
    if plan.target is not None and plan.target.limits_itself:  # a model, not a program of its own
        yield plan.target.settings, 1


def is_local(settings: ClientSettings) -> bool:
    """Return whether an embedding model runs in this process, and costs nothing."""
    return EMBEDDING_REGISTRY.get(settings.provider).is_local


def texts_of(sample: Sample) -> list[str]:
    """Return the texts of a sample that a metric may send."""
    found = (
        sample.question,
        sample.answer,
        *(sample.contexts or ()),
        *(sample.references or ()),
    )
    return [text for text in found if text]

"""What a run costs, about: as if each metric that asks sent a sample's texts once a repeat."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_rageval.clients.base import EMBEDDING_REGISTRY
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.clients.tokens import TokenGuess
from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.model import ANSWERABLE, Case, Sample


def cost_of(plan: Plan, cases: Iterable[Case]) -> dict[str, Any]:
    """Return ``usd``, as if nothing were in the cache, and ``unpriced``: models without price.

    A first guess: the prompts of metrics are not known, nor are the answers of a target.
    """
    samples = [case for case in cases if isinstance(case, Sample) and case.skip is None]
    asking = [metric for metric in plan.metrics if metric.info.asks]
    usd = 0.0
    for sample in samples:
        texts = texts_of(sample, asking)
        for settings, times in asked_models(plan, [sample]):
            if settings.price is None:
                continue
            estimate = TokenGuess(settings.max_tokens).make(texts)
            # An embedding model replies with vectors, which cost nothing.
            reply = 0.0 if settings is plan.models.embedding else estimate.completion
            usd += times * settings.price.cost_usd(estimate.prompt, reply)
    unpriced = [one.shown for one, _ in asked_models(plan, samples) if one.price is None]
    return {"usd": usd, "unpriced": unpriced}


def asked_models(plan: Plan, samples: Sequence[Sample]) -> Iterator[tuple[ClientSettings, int]]:
    """Yield each model that may cost something, and how many calls a sample is taken to need.

    A metric is taken to need one in each repeat; those that read a sample's support table make it
    together, and count as one. Whether a question can be answered is asked where the sample does
    not say it.
    """
    is_open = any(sample.answerable is None for sample in samples)
    for role, settings in (("judge", plan.models.judge), ("embedding", plan.models.embedding)):
        if settings is None or (role == "embedding" and is_local(settings)):
            continue
        asking = [metric for metric in plan.judged if role in metric.info.asks]
        alone = sum(not metric.info.of_table for metric in asking)
        if plan.answers is not None and role == "judge":
            alone -= plan.answers.asks(ANSWERABLE) and not is_open
        yield settings, plan.repeats * (alone + any(metric.info.of_table for metric in asking))
    if plan.target is not None and plan.target.limits_itself:  # a model, not a program of its own
        yield plan.target.settings, 1


def is_local(settings: ClientSettings) -> bool:
    """Return whether an embedding model runs in this process, and costs nothing."""
    return EMBEDDING_REGISTRY.get(settings.provider).is_local


def texts_of(sample: Sample, metrics: Iterable[BoundMetric] = ()) -> list[str]:
    """Return the texts of a sample that are sent, with those that only some ``metrics`` read."""
    read = frozenset[str]().union(*(metric.info.names for metric in metrics))
    only_read = {
        "reference_contexts": sample.reference_contexts or (),
        "must_satisfy": sample.must_satisfy or (),
        "nuggets": [nugget["text"] for nugget in sample.nuggets or ()],
    }
    found = (
        *(message["content"] for message in sample.history or ()),
        sample.question,
        sample.answer,
        *(sample.contexts or ()),
        *(sample.references or ()),
        *(text for name in only_read if name in read for text in only_read[name]),
    )
    return [text for text in found if text]

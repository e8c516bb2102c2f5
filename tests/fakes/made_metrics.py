"""Metrics by their names, and what they score a few texts."""

from __future__ import annotations

from typing import Any

from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext, parse_notation
from pytest_rageval.model import Sample


def made(name: str, **options: Any) -> Any:
    """Return the metric that a name in our notation means."""
    notation = parse_notation(name)
    definition = METRIC_REGISTRY.get(notation.base)
    chosen = definition.options.model_validate({**notation.options, **options})
    return definition.make(chosen.label(definition.name), chosen)


def score_of(metric: str, answer: str, *references: str, **options: Any) -> float | None:
    """Return the score of an answer; ``groups`` are its reference groups."""
    groups = options.pop("groups", None)
    sample = Sample("s", answer=answer, references=references, reference_groups=groups)
    found: float | None = made(metric, **options).score(sample, ScoringContext()).value
    return found

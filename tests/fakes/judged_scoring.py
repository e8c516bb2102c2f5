"""How a test scores one sample with models that say what is written down for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from scripted_models import ScriptedEmbeddings, ScriptedJudge

from pytest_rageval.metrics.base import METRIC_REGISTRY, Models
from pytest_rageval.model import Sample, Score

SAMPLE = Sample(
    "s",
    question="What is the return window?",
    answer="60 days. Bring the receipt.",
    contexts=("Returns: 30 days.", "Bring the receipt."),
    references=("30 days.",),
    reference_contexts=("Returns within 30 days.",),
)
CLAIMS = ["Opened items can be returned within 60 days", "Bring the receipt", "The shop is open"]

# The schemas of ragas' replies, by their names.
STATEMENTS = "StatementGeneratorOutput"
NLI = "NLIStatementOutput"


def metric(name: str, **options: Any) -> Any:
    """Return a metric with its options."""
    definition = METRIC_REGISTRY.get(name)
    return definition.make(name, definition.options.model_validate(options))


def score(
    name: str,
    replies: Mapping[str, Any] | ScriptedJudge,
    vectors: Mapping[str, Sequence[float]] | None = None,
    sample: Sample = SAMPLE,
    **options: Any,
) -> Score:
    """Return the score of a sample; ``replies`` and ``vectors`` are what the models say."""
    judge = replies if isinstance(replies, ScriptedJudge) else ScriptedJudge(replies)
    models = Models(judge, ScriptedEmbeddings(vectors or {}))
    found: Score = asyncio.run(metric(name, **options).ascore(sample, models))
    return found


def input_of(prompt: str) -> dict[str, Any]:
    """Return what a prompt of ragas asks about."""
    text = prompt[prompt.rindex("input: ") + len("input: ") :]
    return dict(json.JSONDecoder().raw_decode(text)[0])

"""A pytest plugin that scores every row with the ROUGE metrics in a bare loop, before anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.metrics.lexical import LexicalOptions
from pytest_rageval.model import Sample


def pytest_configure(config: pytest.Config) -> None:
    definitions = [METRIC_REGISTRY.get(name) for name in ("rouge-1", "rouge-2", "rouge-l")]
    metrics = [definition.make(definition.name, LexicalOptions()) for definition in definitions]
    with Path("rows.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            references = tuple(row["references"])
            sample = Sample(row["id"], answer=row["answer"], references=references)
            context = ScoringContext()
            for metric in metrics:
                metric.score(sample, context)

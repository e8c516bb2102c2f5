"""Precision and recall of the retrieved contexts by likeness of text, as ragas without an LLM.

A retrieved and an expected context are the same when their strings are alike enough. What ragas
calls ``id_based_context_precision`` and ``id_based_context_recall`` are ``precision`` and
``recall`` of the module ``ranking``; equal texts, and texts inside of others, are matched there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial

from pydantic import Field

from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, ScoringContext
from pytest_rageval.metrics.string_similarity import SIMILARITIES, DistanceOptions
from pytest_rageval.model import Sample, Score


class OverlapOptions(DistanceOptions):
    """``threshold``: how alike two contexts must be to count as the same, 0..1."""

    threshold: float = Field(0.5, ge=0.0, le=1.0)


class OverlapMetric(ABC):
    """What both measures share: the similarity of each retrieved context to each expected one."""

    def __init__(self, name: str, options: OverlapOptions) -> None:
        self._name = name
        self._measure = options.distance_measure
        self._threshold = options.threshold

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the score in 0..1; 0.0 where nothing was retrieved."""
        retrieved, expected = sample.contexts or (), sample.reference_contexts or ()
        if not expected:
            return Score(self._name, None, reason="the row expects no context")
        if not retrieved:
            return Score(self._name, 0.0, reason="no context was retrieved")
        make = partial(self._table, retrieved, expected)
        table = context.texts.once(("context overlap", self._measure), make)
        return self._score(table)

    def _table(self, retrieved: Sequence[str], expected: Sequence[str]) -> list[list[float]]:
        """Return a row for each retrieved context with its similarity to each expected one."""
        similarity = SIMILARITIES[self._measure]
        return [[similarity(one, other) for other in expected] for one in retrieved]

    @abstractmethod
    def _score(self, table: Sequence[Sequence[float]]) -> Score:
        """Return the score of a table of similarities, a row for each retrieved context."""


class OverlapPrecision(OverlapMetric):
    """Average precision of the ranking: the mean of precision@k over the ranks with a hit."""

    def _score(self, table: Sequence[Sequence[float]]) -> Score:
        hits = [max(row) >= self._threshold for row in table]
        found, total = 0, 0.0
        for rank, hit in enumerate(hits, start=1):
            found += hit
            total += found / rank if hit else 0.0
        reason = f"{found} of {len(hits)} contexts are like an expected one"
        return Score(self._name, total / found if found else 0.0, reason)


class OverlapRecall(OverlapMetric):
    """The share of expected contexts that a retrieved one is like."""

    def _score(self, table: Sequence[Sequence[float]]) -> Score:
        # More than the threshold, where precision takes the threshold itself: so does ragas.
        found = [max(column) > self._threshold for column in zip(*table, strict=True)]
        missing = ", ".join(f"[{number}]" for number, hit in enumerate(found, 1) if not hit)
        reason = f"{sum(found)} of {len(found)} expected contexts were retrieved"
        remark = f"; missing: {missing}" if missing else ""
        return Score(self._name, sum(found) / len(found), reason + remark)


_NEEDS = frozenset({"contexts", "reference_contexts"})

METRICS = (
    MetricDefinition(
        MetricInfo(
            "non_llm_context_precision",
            _NEEDS,
            ("non_llm_context_precision_with_reference", "NonLLMContextPrecisionWithReference"),
        ),
        OverlapPrecision,
        OverlapOptions,
    ),
    MetricDefinition(
        MetricInfo("non_llm_context_recall", _NEEDS, ("NonLLMContextRecall",)),
        OverlapRecall,
        OverlapOptions,
    ),
)

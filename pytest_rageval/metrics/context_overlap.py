"""Precision and recall of the retrieved contexts by string similarity, as ragas without an LLM.

A retrieved and an expected context match when their strings are similar enough. ragas'
``id_based_context_precision`` and ``id_based_context_recall`` are ``precision`` and ``recall`` of
the module ``ranking``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pydantic import Field

from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, ScoringContext
from pytest_rageval.metrics.string_similarity import SIMILARITIES, DistanceOptions
from pytest_rageval.model import Sample, Score

Table = Sequence[Sequence[float]]
"""A row for each retrieved context with its similarity to each expected one."""


class OverlapOptions(DistanceOptions):
    """When two contexts match."""

    threshold: float = Field(
        0.5, ge=0.0, le=1.0, description="how similar two contexts must be to match, 0..1"
    )


class OverlapMetric:
    """Compares each retrieved context with each expected one; ``measure`` makes score and reason.

    ``measure(table, threshold)`` is ``precision`` or ``recall``.
    """

    def __init__(
        self,
        name: str,
        options: OverlapOptions,
        measure: Callable[[Table, float], tuple[float, str]],
    ) -> None:
        self._name = name
        self._options = options
        self._measure = measure

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the score in 0..1; 0.0 where nothing was retrieved."""
        retrieved, expected = sample.contexts or (), sample.reference_contexts or ()
        if not expected:
            return Score(self._name, None, reason="the row expects no context")
        if not retrieved:
            return Score(self._name, 0.0, reason="no context was retrieved")
        make = partial(self._table, retrieved, expected)
        table = context.texts.once(("context overlap", self._options.distance_measure), make)
        return Score(self._name, *self._measure(table, self._options.threshold))

    def _table(self, retrieved: Sequence[str], expected: Sequence[str]) -> Table:
        similarity = SIMILARITIES[self._options.distance_measure]
        return [[similarity(one, other) for other in expected] for one in retrieved]


def precision(table: Table, threshold: float) -> tuple[float, str]:
    """Return the average precision: the mean of precision@k over the ranks with a hit."""
    hits = [max(row) >= threshold for row in table]
    found, total = 0, 0.0
    for rank, hit in enumerate(hits, start=1):
        found += hit
        total += found / rank if hit else 0.0
    return total / found if found else 0.0, f"{found} of {len(hits)} contexts match an expected one"


def recall(table: Table, threshold: float) -> tuple[float, str]:
    """Return the share of expected contexts that a retrieved one matches."""
    # As in ragas: above the threshold, while precision includes the threshold itself.
    found = [max(column) > threshold for column in zip(*table, strict=True)]
    missing = ", ".join(f"[{number}]" for number, hit in enumerate(found, 1) if not hit)
    reason = f"{sum(found)} of {len(found)} expected contexts were retrieved"
    return sum(found) / len(found), reason + (f"; missing: {missing}" if missing else "")


_NEEDS = frozenset({"contexts", "reference_contexts"})

METRICS = (
    MetricDefinition(
        MetricInfo(
            "non_llm_context_precision",
            _NEEDS,
            ("non_llm_context_precision_with_reference", "NonLLMContextPrecisionWithReference"),
        ),
        partial(OverlapMetric, measure=precision),
        OverlapOptions,
    ),
    MetricDefinition(
        MetricInfo("non_llm_context_recall", _NEEDS, ("NonLLMContextRecall",)),
        partial(OverlapMetric, measure=recall),
        OverlapOptions,
    ),
)

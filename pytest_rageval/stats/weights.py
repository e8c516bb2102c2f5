"""Weighted scores and means, in which a missing score is never a zero.

``resolve_weight``, ``compute_weighted_score`` and ``weighted_metric_means`` are public: they can be
imported from ``pytest_rageval`` itself.
"""

from __future__ import annotations

import math
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from typing import Any, TypeGuard, cast

DEFAULT_WEIGHT = 1.0


def resolve_weight(
    weights: Mapping[str, float] | None, key: object, default: float = DEFAULT_WEIGHT
) -> float:
    """Return the weight of ``key``: ``default`` where ``weights`` does not name it.

    ``default`` also without weights, and for a missing key (None, NaN). Names are compared in
    Unicode NFC, so that a file name from macOS matches the same name typed elsewhere. Text as the
    first argument means the old order, ``resolve_weight(key, weights)``, which is deprecated.

    >>> resolve_weight({"a.pdf": 2.0}, "a.pdf"), resolve_weight({"a.pdf": 2.0}, None, 0.5)
    (2.0, 0.5)
    """
    if isinstance(weights, str):
        message = "resolve_weight(key, weights): the order is resolve_weight(weights, key) now"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        weights, key = cast("Mapping[str, float] | None", key), weights
    if not weights or not isinstance(key, str):
        return default
    if key in weights:
        return weights[key]
    wanted = unicodedata.normalize("NFC", key)
    for known, weight in weights.items():
        if unicodedata.normalize("NFC", known) == wanted:
            return weight
    return default


def compute_weighted_score(
    scores: Mapping[str, float | None], metric_weights: Mapping[str, float] | None = None
) -> float | None:
    """Return Σ(w·s)/Σw over the metrics that have a score, or None when nothing was scored.

    A score of None or NaN is left out with its weight. Weights for metrics that are not in
    ``scores`` are ignored. None also when the weights of all scores are 0.

    >>> compute_weighted_score({"f1": 0.5, "em": None}, {"f1": 2.0})
    0.5
    """
    return weighted_mean(
        (score, resolve_weight(metric_weights, metric)) for metric, score in scores.items()
    )


def weighted_metric_means(
    rows: Iterable[Mapping[str, Any]],
    metrics: Sequence[str],
    doc_weights: Mapping[str, float] | None = None,
) -> dict[str, float | None]:
    """Return for each metric Σ(weight·score)/Σweight over the rows that have a score for it.

    A row holds its scores under the metrics' names and its document under ``doc_name``; its weight
    is that of the document, 1 without a document (None, or NaN as pandas reads a blank cell). A
    metric that no row has a score for has the mean None.

    >>> rows = [{"doc_name": "a", "f1": 1.0}, {"doc_name": "b", "f1": 0.0}, {"f1": None}]
    >>> weighted_metric_means(rows, ["f1"], {"a": 3.0})
    {'f1': 0.75}
    """
    weighted = [(row, resolve_weight(doc_weights, row.get("doc_name"))) for row in rows]
    return {
        metric: weighted_mean((row.get(metric), weight) for row, weight in weighted)
        for metric in metrics
    }


def weighted_mean(pairs: Iterable[tuple[float | None, float]]) -> float | None:
    """Return Σ(w·x)/Σw over the pairs (x, w) whose x is a score; None where Σw is 0."""
    values: list[float] = []
    weights: list[float] = []
    for value, weight in pairs:
        if value is not None and not math.isnan(value):
            values.append(value)
            weights.append(weight)
    weights = tame(weights)
    total = math.fsum(weights)
    if total == 0.0:
        return None
    return math.fsum(map(mul, values, weights)) / total


def tame(weights: list[float]) -> list[float]:
    """Return weights in the same proportions whose sums and squares do not overflow.

    Weights of a usual size are returned unchanged.
    """
    largest = max(weights, default=0.0)
    if largest == 0.0 or 1e-100 < largest < 1e100:
        return weights
    return [weight / largest for weight in weights]


def is_scored(value: float | None) -> TypeGuard[float]:
    """Return whether ``value`` is a score: neither None nor NaN."""
    return value is not None and not math.isnan(value)

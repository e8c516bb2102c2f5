"""Weighted scores and means with the rule that a missing score is never a zero.

``resolve_weight``, ``compute_weighted_score`` and ``weighted_metric_means`` are public: they can be
imported from ``pytest_rageval`` itself.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from typing import Any

DEFAULT_WEIGHT = 1.0


def resolve_weight(name: str | None, weights: Mapping[str, float] | None) -> float:
    """Return the weight of ``name``: 1.0 where ``weights`` does not name it or there are none.

    Names are compared in Unicode NFC, so that a file name from macOS matches the same name typed
    elsewhere.

    >>> resolve_weight("a.pdf", {"a.pdf": 2.0}), resolve_weight(None, {"a.pdf": 2.0})
    (2.0, 1.0)
    """
    if not weights or name is None:
        return DEFAULT_WEIGHT
    if name in weights:
        return weights[name]
    wanted = unicodedata.normalize("NFC", name)
    for known, weight in weights.items():
        if unicodedata.normalize("NFC", known) == wanted:
            return weight
    return DEFAULT_WEIGHT


def compute_weighted_score(
    scores: Mapping[str, float | None], metric_weights: Mapping[str, float] | None = None
) -> float | None:
    """Return Σ(w·s)/Σw over the metrics that have a score, or None when nothing was scored.

    A score of None or NaN does not take part; neither does its weight. Weights for metrics that
    are not in ``scores`` are ignored. None also when all weights that take part are 0.

    >>> compute_weighted_score({"f1": 0.5, "em": None}, {"f1": 2.0})
    0.5
    """
    return weighted_mean(
        (score, resolve_weight(metric, metric_weights)) for metric, score in scores.items()
    )


def weighted_metric_means(
    rows: Iterable[Mapping[str, Any]],
    metrics: Sequence[str],
    doc_weights: Mapping[str, float] | None = None,
) -> dict[str, float | None]:
    """Return for each metric Σ(weight·score)/Σweight over the rows that have a score for it.

    A row holds its scores under the metrics' names and its document under ``doc_name``; its weight
    is that of the document. A metric without any scored row has the mean None.

    >>> rows = [{"doc_name": "a", "f1": 1.0}, {"doc_name": "b", "f1": 0.0}, {"f1": None}]
    >>> weighted_metric_means(rows, ["f1"], {"a": 3.0})
    {'f1': 0.75}
    """
    weighted = [(row, resolve_weight(row.get("doc_name"), doc_weights)) for row in rows]
    return {
        metric: weighted_mean((row.get(metric), weight) for row, weight in weighted)
        for metric in metrics
    }


def weighted_mean(pairs: Iterable[tuple[float | None, float]]) -> float | None:
    """Return Σ(w·x)/Σw over the pairs (x, w) whose x is a number; None where Σw is 0."""
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
    """Return weights in the same proportions whose sums and squares stay within doubles.

    Weights of a usual size come back as they are.
    """
    largest = max(weights, default=0.0)
    if largest == 0.0 or 1e-100 < largest < 1e100:
        return weights
    return [weight / largest for weight in weights]


def is_scored(value: float | None) -> bool:
    """Return whether ``value`` is a score at all: neither None nor NaN."""
    return value is not None and not math.isnan(value)

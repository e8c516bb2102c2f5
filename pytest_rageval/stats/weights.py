"""Weighted scores and means, and the groups of samples; a missing score is never a zero."""

from __future__ import annotations

import math
import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from operator import mul
from typing import Any, TypeGuard, cast

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    CAUSE,
    Case,
    InvalidRow,
    Sample,
    SampleResult,
    ScenarioInfo,
    is_no_value,
    value_text,
)

DEFAULT_WEIGHT = 1.0

_Row = SampleResult | Sample | InvalidRow


def resolve_weight(
    weights: Mapping[str, float] | None, key: object, default: float = DEFAULT_WEIGHT
) -> float:
    """Return the weight of ``key``: ``default`` where ``weights`` does not name it.

    ``default`` also without weights, and for a key that is no text, as None and NaN. Names are
    compared in Unicode NFC, so that a file name from macOS matches the same name typed elsewhere,
    and without blanks around them. Text as the first argument means the old order,
    ``resolve_weight(key, weights)``, which is deprecated. Raises ValueError for a weight that is no
    finite number >= 0.

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
        return _weight(weights[key], key)
    wanted = unicodedata.normalize("NFC", key).strip()
    for name, weight in weights.items():
        if unicodedata.normalize("NFC", name).strip() == wanted:
            return _weight(weight, key)
    return default


def _weight(value: Any, name: str) -> float:
    if isinstance(value, float) and 0.0 <= value < math.inf:
        return value
    return _finite(value, f"the weight of {name!r}", least=0.0)


def _score(value: Any, name: str) -> float | None:
    return None if value is None or is_no_value(value) else _finite(value, f"the score of {name!r}")


def _finite(value: Any, what: str, least: float | None = None) -> float:
    """Return ``value`` as a float; raises ValueError where it is no finite number, or too low."""
    try:
        number = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or (least is not None and number < least):
        bound = "" if least is None else f" >= {least:g}"
        raise ValueError(f"{what} must be a finite number{bound}, found {shorten(repr(value))}")
    return number


def compute_weighted_score(
    scores: Mapping[str, float | None], metric_weights: Mapping[str, float] | None = None
) -> float | None:
    """Return Σ(w·s)/Σw over the metrics that have a score, or None when nothing was scored.

    A missing score (None, NaN, pandas' NA) is left out with its weight. Weights for metrics that
    are not in ``scores`` are ignored. None also when the weights of all scores are 0. Raises
    ValueError for a score that is infinite or no number, and for a weight that is no finite number
    >= 0.

    >>> compute_weighted_score({"f1": 0.5, "em": None}, {"f1": 2.0})
    0.5
    """
    return weighted_mean(
        (_score(score, metric), resolve_weight(metric_weights, metric))
        for metric, score in scores.items()
    )


def weighted_metric_means(
    score_rows: Iterable[Mapping[str, Any]] | None = None,
    metrics: Sequence[str] | None = None,
    doc_weights: Mapping[str, float] | None = None,
    *,
    rows: Iterable[Mapping[str, Any]] | None = None,
) -> dict[str, float | None]:
    """Return for each metric Σ(weight·score)/Σweight over the rows that have a score for it.

    A row holds its scores under the metrics' names and its document under ``doc_name``; its weight
    is that of the document, 1 without a document (None, or NaN as pandas reads a blank cell). A
    metric that no row has a score for has the mean None. ``rows`` is another name of
    ``score_rows``; one of them and ``metrics`` must be given, else TypeError. Raises ValueError for
    a score that is infinite or no number, and for a weight that is no finite number >= 0.

    >>> rows = [{"doc_name": "a", "f1": 1.0}, {"doc_name": "b", "f1": 0.0}, {"f1": None}]
    >>> weighted_metric_means(rows, ["f1"], {"a": 3.0})
    {'f1': 0.75}
    """
    sources = [source for source in (score_rows, rows) if source is not None]
    if len(sources) != 1 or metrics is None:
        raise TypeError("weighted_metric_means takes score_rows, metrics and perhaps doc_weights")
    weighted = [(row, resolve_weight(doc_weights, row.get("doc_name"))) for row in sources[0]]
    return {
        metric: weighted_mean((_score(row.get(metric), metric), weight) for row, weight in weighted)
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
    weights = rescale(weights)
    total = math.fsum(weights)
    if total == 0.0:
        return None
    return math.fsum(map(mul, values, weights)) / total


def rescale(weights: list[float]) -> list[float]:
    """Return weights in the same proportions whose sums and squares neither overflow nor vanish.

    Weights of a usual size are returned unchanged.
    """
    largest = max(weights, default=0.0)
    if largest == 0.0 or 1e-100 < largest < 1e100:
        return weights
    return [weight / largest for weight in weights]


def is_scored(value: float | None) -> TypeGuard[float]:
    """Return whether ``value`` is a score: neither None nor NaN."""
    return value is not None and not math.isnan(value)


def field_value(row: _Row, field: str) -> Any:
    """Return a row's value of ``field``, which may be ``doc_name``; None without a value.

    ``cause`` is that of the answer where causes are looked for; no data column may have this name
    then.
    """
    if field == CAUSE and isinstance(row, SampleResult) and row.cause is not None:
        return row.cause
    return row.doc_name if field == "doc_name" else row.metadata.get(field)


def group_numbers(info: ScenarioInfo, samples: Iterable[_Row]) -> list[int] | None:
    """Return the group number of each sample, None if the scenario has no ``group_by``.

    Samples whose values have the same text are one group; one without a value is its own group.
    """
    if info.group_by is None:
        return None
    numbers: dict[object, int] = {}
    of_samples = []
    for at, sample in enumerate(samples):
        value = field_value(sample, info.group_by)
        group = at if value is None else value_text(value)
        of_samples.append(numbers.setdefault(group, len(numbers)))
    return of_samples


def count_groups(info: ScenarioInfo, samples: Iterable[SampleResult]) -> int | None:
    """Return how many groups ``samples`` form, None if the scenario has no ``group_by``."""
    numbers = group_numbers(info, samples)
    return None if numbers is None else len(set(numbers))


def ungrouped(field: str, cases: Sequence[Case]) -> int:
    """Return how many of ``cases`` have no value of ``field``."""
    return sum(field_value(case, field) is None for case in cases)

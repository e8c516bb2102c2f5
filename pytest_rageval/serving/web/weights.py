"""What the page sends with a run: weights and variants, checked against the scenario."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.serving.web.refusals import Refused

_LARGEST = 1e100  # sums of weights stay finite

Weights = Mapping[str, float | None]


def read_weights(body: Mapping[str, Any], outline: Mapping[str, Any]) -> tuple[Weights, Weights]:
    """Return the weights of metrics and of documents that a body holds; None removes one.

    Refuses names that neither the scenario nor its data have, and what is no weight.
    """
    metrics = _read(body, "metric_weights", "metric", [one["name"] for one in outline["metrics"]])
    if any(weight is None for weight in metrics.values()):
        raise Refused(400, "metric_weights: a metric needs a weight; 0 leaves it out")
    known = {**outline["docs"], **outline["doc_weights"]}
    return metrics, _read(body, "doc_weights", "document", known)


def read_variants(body: Mapping[str, Any], known: Sequence[str]) -> tuple[str, ...]:
    """Return the variants that a body chooses, in the order of the scenario; all without a choice.

    Refuses names that the scenario does not have, and a choice of none.
    """
    given = body.get("variants")
    if given is None:
        return tuple(known)
    if not isinstance(given, list) or not given:
        raise Refused(400, "variants: expected a list with one name at least")
    for name in given:
        if name not in known:
            shown = shorten(str(name))
            raise Refused(400, f"variants: {unknown_name('variant', shown, known)}")
    return tuple(name for name in known if name in given)


def _read(body: Mapping[str, Any], key: str, kind: str, known: Collection[str]) -> Weights:
    given = {} if body.get(key) is None else body[key]
    if not isinstance(given, dict):
        raise Refused(400, f"{key}: expected an object of names and numbers")
    for name, weight in given.items():
        if name not in known:
            raise Refused(400, f"{key}: {unknown_name(kind, name, known)}")
        if weight is not None and not _is_weight(weight):
            raise Refused(400, f"{key}: {name}: expected a number of at least 0, found {weight!r}")
    return {name: weight if weight is None else weight or 0 for name, weight in given.items()}


def _is_weight(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LARGEST


def run_options(metrics: Weights, documents: Weights) -> list[str]:
    """Return the options that give a run these weights; a document without one weighs 1."""
    return [
        *(_option("metric", name, weight) for name, weight in metrics.items()),
        *(_option("doc", name, weight) for name, weight in documents.items()),
    ]


def _option(kind: str, name: str, weight: float | None) -> str:
    value = 1.0 if weight is None else weight
    if name == name.strip():
        return f"--rag-{kind}-weight={name}={value!r}"
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'--rag-set={kind}_weights."{quoted}"={value!r}'  # keeps blanks at the ends

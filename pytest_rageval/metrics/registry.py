"""The registry of metrics: this package's own, and those of other distributions."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Any

from pytest_rageval.metrics.base import MetricDefinition
from pytest_rageval.registry import Registry


def _adopt(loaded: Any, point: EntryPoint) -> Iterable[MetricDefinition]:
    """Return the metrics of an entry point; a bare function takes the entry's name."""
    # Imported here: most runs need no metric of another distribution.
    from pytest_rageval.metrics.custom.from_python import define_metric, define_metrics

    if isinstance(loaded, MetricDefinition | tuple):
        return define_metrics(loaded, f"entry point {point.name!r}")
    return [define_metric(loaded, point.name, point.value)]


METRIC_REGISTRY: Registry[MetricDefinition] = Registry(
    "metric", "pytest_rageval.metrics", "METRICS", group="pytest_rageval.metrics", adopt=_adopt
)

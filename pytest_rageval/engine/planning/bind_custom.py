"""Metrics that a scenario names by their import path: imported, and made metrics of."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.import_path import ImportPathError, import_object, split_path
from pytest_rageval.metrics.base import MetricDefinition
from pytest_rageval.scenario.metric_specs import MetricSpec


def said_of_metrics() -> list[str]:
    """Return the keys, apart from options, of a metric that a scenario names by ``use``."""
    # Not at the top: most scenarios name no metric of their own.
    from pytest_rageval.metrics.custom.declaration import Declaration

    return [said.name for said in fields(Declaration)]


def use_metric(
    binding: Binding, path: str, spec: MetricSpec
) -> tuple[MetricSpec, MetricDefinition]:
    """Return the metric at an import path, and ``spec`` with all of the metric's options.

    Raises ImportPathError or CustomMetricError, with what is wrong.
    """
    # Not at the top, either.
    from pytest_rageval.metrics.custom.declaration import Declaration
    from pytest_rageval.metrics.custom.from_python import define_metric

    folders = (binding.loaded.path.parent, binding.run_paths.root)
    found = import_object(path, folders, binding.run_paths.import_mode)
    said = _said(spec)
    if isinstance(found, MetricDefinition):
        # It says all of itself: what is said here can only be meant as its options.
        options = {**said, **spec.options}
        return spec.model_copy(update={"options": options}), _at(path, found)
    return spec, define_metric(found, spec.attribute or path, path, Declaration(**said))


def is_import_path(name: str) -> bool:
    """Return whether ``name`` is written like an import path."""
    try:
        split_path(name)
    except ImportPathError:
        return False
    return True


def _said(spec: MetricSpec) -> dict[str, Any]:
    known = {name: getattr(spec, name) for name in said_of_metrics() if name != "name"}
    return {name: value for name, value in known.items() if value is not None}


def _at(path: str, definition: MetricDefinition) -> MetricDefinition:
    return definition if definition.source else replace(definition, source=path)

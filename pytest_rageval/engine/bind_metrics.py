"""The metrics of a scenario: names looked up, options checked, objects made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from pytest_rageval.engine.binding import Binding, BoundMetric
from pytest_rageval.errors import MissingExtraError, shorten, unknown_name
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition
from pytest_rageval.model import WEIGHTED_SCORE, MetricColumn
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.schema import MetricSpec


def bind_metrics(binding: Binding) -> tuple[BoundMetric, ...]:
    """Return the metrics in the order of the scenario; all weigh 1.0 as yet."""
    bound: dict[str, BoundMetric] = {}
    offered: set[str] = set()
    for number, spec in enumerate(binding.scenario.metrics):
        at = binding.loaded.position("metrics", number)
        try:
            definition = METRIC_REGISTRY.get(spec.metric)
        except UnknownNameError as error:
            binding.problem(f"metrics[{at}]: {error}", "metrics", at)
            continue
        offered |= definition.options.model_fields.keys()
        made = _metric(binding, at, spec, definition)
        if made is None:
            continue
        if made.column.name in bound or made.column.name == WEIGHTED_SCORE:
            hint = "give it a name of its own, {name: ...}"
            taken = "is named twice" if made.column.name in bound else "is a reserved name"
            message = f"metrics[{at}]: {made.column.name!r} {taken}; {hint}"
            binding.problem(message, "metrics", at)
            continue
        bound[made.column.name] = made
    for name in binding.scenario.metric_options:
        if name not in offered:
            message = unknown_name("option", name, offered)
            binding.problem(f"metric_options: {message}", "metric_options", name)
    return tuple(bound.values())


def _metric(
    binding: Binding, at: int, spec: MetricSpec, definition: MetricDefinition
) -> BoundMetric | None:
    info = definition.info
    known = definition.options.model_fields
    shared = {
        name: value
        for name, value in binding.scenario.metric_options.items()
        if name in known and name not in spec.options
    }
    try:
        options = definition.options.model_validate({**shared, **spec.options})
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _option_problem(binding, at, spec, known, dict(detail))
        return None
    name = spec.name or info.name
    try:
        metric = definition.make(name, options)
    except MissingExtraError as error:
        binding.problem(f"metrics[{at}]: {error}", "metrics", at)
        return None
    column = MetricColumn(
        name,
        range=info.range,
        higher_is_better=info.higher_is_better,
        version=info.version,
    )
    return BoundMetric(column, info, metric, at)


def _option_problem(
    binding: Binding, at: int, spec: MetricSpec, known: Iterable[str], detail: dict[str, Any]
) -> None:
    option = str(detail["loc"][0]) if detail["loc"] else ""
    if option in spec.options:
        place: tuple[str | int, ...] = ("metrics", at, spec.metric, option)
        label = f"metrics[{at}].{spec.metric}"
    else:
        place, label = ("metric_options", option), "metric_options"
    if detail["type"] == "extra_forbidden":
        message = f"{label}: {unknown_name('option', option, known)}"
    else:
        expected = detail.get("ctx", {}).get("expected") or detail["msg"]
        found = shorten(repr(detail["input"]))
        message = f"{label}.{option}: expected {expected}, found {found}"
    binding.problem(message, *place)

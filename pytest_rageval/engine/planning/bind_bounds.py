"""What is good enough: weights, thresholds and gates of a scenario, bound to its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_rageval.engine.bound import BoundMetric
from pytest_rageval.engine.planning.binding import Binding, resolve_metric
from pytest_rageval.errors import Problem, did_you_mean, shorten
from pytest_rageval.gates.base import (
    BaselineOptionError,
    GateOptionError,
    NoThresholdsError,
    each_gate,
    scenario_gate,
    targets_of,
)
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Bound,
    Case,
    MetricColumn,
    ScenarioInfo,
)
from pytest_rageval.scenario.spec import BoundSpec, without_own_keys
from pytest_rageval.stats.weights import resolve_weight, ungrouped


def bind_weights(binding: Binding, metrics: Sequence[BoundMetric]) -> tuple[BoundMetric, ...]:
    """Return the metrics with the weights that the scenario gives them."""
    names = [metric.column.name for metric in metrics]
    weights = binding.by_metric("metric_weights", binding.scenario.metric_weights, names)
    _check_weights(binding, weights, names)
    return tuple(_weighed(metric, weights) for metric in metrics)


def _check_weights(binding: Binding, weights: Mapping[str, float], names: Sequence[str]) -> None:
    if not weights:
        return
    if names and all(resolve_weight(weights, name) == 0.0 for name in names):
        message = "metric_weights: all weights are 0; at least one metric must count"
        binding.problem(message, "metric_weights")
    unnamed = [name for name in names if name not in weights]
    if unnamed:
        binding.warnings.append(
            f"metric_weights names some metrics only; 1.0 is assumed for {', '.join(unnamed)}"
        )


def _weighed(metric: BoundMetric, weights: Mapping[str, float]) -> BoundMetric:
    weight = weights.get(metric.column.name, 1.0)
    return replace(metric, column=replace(metric.column, weight=weight))


def bind_thresholds(binding: Binding, metrics: Sequence[BoundMetric]) -> dict[str, Bound]:
    """Return the bound of each name that has a threshold; none outside its metric's range."""
    columns = {metric.column.name: metric.column for metric in metrics}
    columns[WEIGHTED_SCORE] = MetricColumn(WEIGHTED_SCORE)
    specs: dict[str, BoundSpec] = binding.by_metric(
        "thresholds", binding.scenario.thresholds, list(columns)
    )
    thresholds = {}
    for name, spec in specs.items():
        column = columns[name]
        try:
            bound = spec.within(column.range, higher_is_better=column.higher_is_better)
            thresholds[name] = bound
        except ValueError as error:
            binding.problem(f"thresholds.{name}: {error}", "thresholds", name)
    return thresholds


def checks_in_full(metrics: Sequence[BoundMetric]) -> dict[str, Bound]:
    """Return what is good enough in a scenario that does not say: rows' own checks hold in full."""
    return {metric.column.name: Bound(min=1.0) for metric in metrics if metric.info.of_row}


def resolve_gates(binding: Binding, metrics: Sequence[BoundMetric]) -> dict[str, Any]:
    """Return the scenario's gates under the names that results use, also those inside of ``by``."""
    names = [metric.column.name for metric in metrics]
    return _resolve_gates(binding, binding.scenario.gates, names, ())


def _resolve_gates(
    binding: Binding, gates: Mapping[str, Any], names: Sequence[str], path: tuple[str, ...]
) -> dict[str, Any]:
    resolved: dict[str, Any] = {}
    for key, value in gates.items():
        name = _metric_or(key, binding, names)
        if key.startswith("x-") and name not in names:
            continue  # the user's own, as everywhere
        kind = None if name in names else scenario_gate(name)
        if name in resolved:
            _named_twice(binding, name, (*path, key))
        elif kind is None or not isinstance(value, Mapping):
            resolved[name] = value
        elif kind.keys == "fields":
            resolved[name] = {
                field: _resolve_gates(binding, inner, names, (*path, key, field))
                if isinstance(inner, Mapping)
                else inner
                for field, inner in value.items()
            }
        elif kind.keys == "metrics":
            resolved[name] = _by_name(binding, value, names, (*path, key))
        else:
            resolved[name] = _with_metric_names(binding, value, names)
    return resolved


def _metric_or(written: str, binding: Binding, names: Sequence[str]) -> str:
    """Return the name that results use for a metric; other names as written."""
    if written == WEIGHTED_SCORE or scenario_gate(written) is not None:
        # Looking further than the scenario's own metrics would load all of them.
        found = binding.known_metrics.loaded(written)
        return found if found is not None and found in names else written
    return resolve_metric(written, names, binding.known_metrics) or written


def _named_twice(binding: Binding, name: str, path: tuple[str, ...]) -> None:
    where = ".".join(("gates", *path[:-1]))
    binding.problem(f"{where}: {name!r} is named twice", "gates", *path)


def _by_name(
    binding: Binding, values: Mapping[str, Any], names: Sequence[str], path: tuple[str, ...]
) -> dict[str, Any]:
    """Return what is given for each metric under the names that results use."""
    resolved: dict[str, Any] = {}
    for written, value in without_own_keys(values).items():
        name = _metric_or(written, binding, names)
        if name in resolved:
            _named_twice(binding, name, (*path, written))
        else:
            resolved[name] = value
    return resolved


def _with_metric_names(
    binding: Binding, options: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    metrics = options.get("metrics")
    if not isinstance(metrics, list):
        return dict(options)
    return {**options, "metrics": [_metric_or(str(name), binding, names) for name in metrics]}


def bind_groups(binding: Binding, info: ScenarioInfo, cases: Sequence[Case]) -> None:
    """Check the field of ``group_by``, and say how many rows lack it."""
    name = info.group_by
    if name is None:
        return
    known = ("doc_name", *info.metadata_columns)
    lacking = ungrouped(name, cases)
    if name not in known or (cases and lacking == len(cases)):
        hint = f"{did_you_mean(name, known)} Known: {', '.join(known)}"
        message = f"group_by: no row has a field {shorten(name)!r}.{hint}"
        binding.problem(message, "group_by")
    elif lacking:
        rows = f"{lacking} of {len(cases)} rows have no {name!r}"
        binding.remarks.append(f"{rows}: each is a group of its own (group_by)")


def bind_gates(binding: Binding, info: ScenarioInfo) -> frozenset[str]:
    """Check all gates and return the names of the metrics that some gate is about."""
    gated: set[str] = set()
    for made in each_gate(info.gates, info):
        if isinstance(made, GateOptionError):
            if _follows(binding, info, made):
                continue
            name = ".".join(("gates", *made.path))
            problem = Problem(binding.loaded.where("gates", *made.path), f"{name}: {made}")
            is_refusal = isinstance(made, BaselineOptionError)
            (binding.refusals if is_refusal else binding.problems).append(problem)
        else:
            gated.update(*(gate.targets for gate in made))
    return frozenset(gated)


def _follows(binding: Binding, info: ScenarioInfo, error: GateOptionError) -> bool:
    """Return whether a problem of a gate follows from another one, which is reported."""
    if isinstance(error, NoThresholdsError):
        return bool(without_own_keys(binding.loaded.tree.data.get("thresholds")))
    known = targets_of(info)
    return any(step not in known and binding.is_unmade(step) for step in error.path)

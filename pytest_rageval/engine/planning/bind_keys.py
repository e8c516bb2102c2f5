"""Binds everything in a scenario but its data, for the plan and for the check of a file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from pytest_rageval.engine.bound import BoundMetric
from pytest_rageval.engine.planning.bind_baselines import bind_comparison
from pytest_rageval.engine.planning.bind_bounds import (
    bind_thresholds,
    bind_weights,
    checks_in_full,
    resolve_gates,
)
from pytest_rageval.engine.planning.bind_contest import bind_contest
from pytest_rageval.engine.planning.bind_diagnosis import bind_diagnosis
from pytest_rageval.engine.planning.bind_metrics import bind_metrics
from pytest_rageval.engine.planning.binding import Binding, carried_over
from pytest_rageval.engine.planning.snapshot import snapshot_text
from pytest_rageval.model import ScenarioInfo
from pytest_rageval.scenario.schema import Scenario


def bind_keys(
    binding: Binding, path: str, nodeid: str = ""
) -> tuple[tuple[BoundMetric, ...], ScenarioInfo]:
    """Return the metrics of a scenario and what it says of itself; its gates are still unchecked.

    Until its data are known, every field that a gate names counts as one of theirs.
    """
    scenario = binding.scenario
    metrics = bind_weights(binding, bind_metrics(binding))
    thresholds = bind_thresholds(binding, metrics)
    if not scenario.thresholds and not scenario.gates:
        thresholds = checks_in_full(metrics)
    names = [metric.column.name for metric in metrics]
    info = carried_over(
        scenario,
        ScenarioInfo,
        path=path,
        nodeid=nodeid,
        metrics=tuple(metric.column for metric in metrics),
        thresholds=thresholds,
        gates=resolve_gates(binding, metrics),
        bands=(scenario.bands.good, scenario.bands.warn),
        tolerates_shortfalls=scenario.tolerate == "pass_rate",
        metadata_columns=_fields_of_gates(scenario),
        overridden=binding.loaded.overridden,
        overridden_by=binding.loaded.overridden_by,
        compare=bind_comparison(binding, names),
        metadata=binding.loaded.metadata,
        diagnose=bind_diagnosis(binding, metrics, thresholds),
        variant=binding.loaded.variant,
        # What these keys come to follows from the data and the gates.
        target="",
        human=(),
        stop=None,
        contest=bind_contest(binding, names),
    )
    return metrics, with_snapshot(info, scenario)


def _fields_of_gates(scenario: Scenario) -> tuple[str, ...]:
    by = scenario.gates.get("by")
    return tuple(key for key in by if not key.startswith("x-")) if isinstance(by, Mapping) else ()


def with_snapshot(info: ScenarioInfo, scenario: Scenario) -> ScenarioInfo:
    """Return ``info`` with the scenario as YAML text, and its SHA-256."""
    text = snapshot_text(scenario)
    return replace(info, snapshot=text, snapshot_sha256=hashlib.sha256(text.encode()).hexdigest())

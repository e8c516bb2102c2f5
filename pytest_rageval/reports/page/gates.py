"""Gates as data, so that the page can decide them anew for other weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import Any

from pytest_rageval.gates.base import make_gates
from pytest_rageval.gates.bound import LowerBoundGate, QuantileGate
from pytest_rageval.gates.mean import MeanGate
from pytest_rageval.gates.pass_rate import PassRateGate
from pytest_rageval.gates.regression import RegressionGate
from pytest_rageval.gates.slices import SliceGate
from pytest_rageval.gates.unscored import UnscoredGate
from pytest_rageval.model import Bound, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.paired import power_factor


def plain_gates(result: ScenarioResult) -> Iterator[dict[str, Any]]:
    """Yield each gate that was decided: what it asks for, and under ``run`` what came out."""
    gates = {gate.name: gate for gate in make_gates(result.info.gates, result.info)}
    for verdict in result.gates:
        gate = gates.get(verdict.name)
        if gate is None and verdict.name == UnscoredGate().name:
            gate = UnscoredGate()
        run = [verdict.outcome, verdict.observed, verdict.bound, verdict.message]
        yield {"name": verdict.name, **plain_gate(gate), "run": run}


@singledispatch
def plain_gate(gate: object) -> dict[str, Any]:
    """Return what a gate asks for; one of another distribution stays as it was decided."""
    return {"kind": "other"}


@plain_gate.register
def _(gate: MeanGate) -> dict[str, Any]:
    return {"kind": "mean", "target": gate.target, "ends": plain_bound(gate.bound)}


@plain_gate.register
def _(gate: LowerBoundGate) -> dict[str, Any]:
    return {
        "kind": "lower_bound",
        "target": gate.target,
        "ends": plain_bound(gate.bound),
        "confidence": gate.confidence,
    }


@plain_gate.register
def _(gate: QuantileGate) -> dict[str, Any]:
    return {
        "kind": "quantile",
        "target": gate.target,
        "ends": plain_bound(gate.bound),
        "q": gate.q,
    }


@plain_gate.register
def _(gate: PassRateGate) -> dict[str, Any]:
    return {"kind": "pass_rate", "ends": plain_bound(gate.bound)}


@plain_gate.register
def _(gate: UnscoredGate) -> dict[str, Any]:
    return {"kind": "unscored", "ends": plain_bound(gate.bound)}


@plain_gate.register
def _(gate: SliceGate) -> dict[str, Any]:
    inner = {"name": gate.inner.name, **plain_gate(gate.inner)}
    return {"kind": "by", "field": gate.field, "inner": inner}


@plain_gate.register
def _(gate: RegressionGate) -> dict[str, Any]:
    return {
        "kind": "no_regression",
        "baseline": gate.baseline.name,
        "targets": dict(gate.higher_is_better),
        "max_drop": gate.max_drop,
        "relative": gate.relative,
        "mode": gate.mode,
        "alpha": gate.test.alpha,
        "power_factor": power_factor(gate.test.alpha),
    }


def plain_bound(bound: Bound) -> list[float | None]:
    """Return the two ends, None where there is none."""
    return [bound.min, bound.max]


def required_names(info: ScenarioInfo) -> frozenset[str]:
    """Return the names that a threshold or a gate asks about: a sample without them is an error."""
    gates = [plain_gate(gate) for gate in make_gates(info.gates, info)]
    return frozenset(info.thresholds).union(*map(_targets, gates))


def _targets(gate: Mapping[str, Any]) -> frozenset[str]:
    if "inner" in gate:
        return _targets(gate["inner"])
    return frozenset([gate["target"]] if "target" in gate else gate.get("targets", ()))

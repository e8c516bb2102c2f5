"""Gates as data: the page decides the simple ones for other weights."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

from pytest_rageval.gates.agreement import AgreementGate
from pytest_rageval.gates.base import gate_targets, make_gates
from pytest_rageval.gates.bound import LowerBoundGate, QuantileGate
from pytest_rageval.gates.corrected import CorrectedGate
from pytest_rageval.gates.mean import MeanGate
from pytest_rageval.gates.pass_rate import PassRateGate
from pytest_rageval.gates.regression import RegressionGate
from pytest_rageval.gates.slices import SliceGate
from pytest_rageval.gates.unscored import UnscoredGate
from pytest_rageval.model import WEIGHTED_SCORE, Bound, ScenarioInfo, ScenarioResult


def plain_gates(result: ScenarioResult) -> Iterator[dict[str, Any]]:
    """Yield each decided gate: its options, and its verdict under ``run``."""
    gates = {gate.name: gate for gate in make_gates(result.info.gates, result.info)}
    for verdict in result.gates:
        gate = gates.get(verdict.name)
        if gate is None and verdict.name == UnscoredGate().name:
            gate = UnscoredGate()
        run = [verdict.outcome, verdict.observed, verdict.bound, verdict.message]
        yield {"name": verdict.name, **plain_gate(gate), "run": run}


@singledispatch
def plain_gate(gate: object) -> dict[str, Any]:
    """Return the options of a gate that the page can decide.

    The verdict on any other gate stays as run; ``targets`` are the scores that it depends on. Of a
    gate of another distribution they are not known: all weights may matter.
    """
    return {"kind": "as_run", "targets": [WEIGHTED_SCORE]}


@plain_gate.register
def _(gate: AgreementGate | CorrectedGate | RegressionGate) -> dict[str, Any]:
    return {"kind": "as_run", "targets": sorted(gate_targets(gate))}


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
    shares = [[name, plain_bound(bound)] for name, bound in gate.shares.items()]
    return {"kind": "unscored", "ends": plain_bound(gate.bound), "shares": shares}


@plain_gate.register
def _(gate: SliceGate) -> dict[str, Any]:
    inner = plain_gate(gate.inner)
    return (
        inner if inner["kind"] == "as_run" else {"kind": "by", "field": gate.field, "inner": inner}
    )


def plain_bound(bound: Bound) -> list[float | None]:
    """Return the two ends, None where there is none."""
    return [bound.min, bound.max]


def required_names(info: ScenarioInfo) -> frozenset[str]:
    """Return the scores that a threshold or a gate needs: a sample without them is an error."""
    return frozenset(info.thresholds).union(*map(gate_targets, make_gates(info.gates, info)))

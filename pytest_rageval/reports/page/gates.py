"""Gates as data, so that the page can decide them for other weights."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

from pytest_rageval.gates.base import gate_targets, make_gates
from pytest_rageval.gates.bound import LowerBoundGate, QuantileGate
from pytest_rageval.gates.mean import MeanGate
from pytest_rageval.gates.pass_rate import PassRateGate
from pytest_rageval.gates.regression import RegressionGate
from pytest_rageval.gates.slices import SliceGate
from pytest_rageval.gates.unscored import UnscoredGate
from pytest_rageval.model import Bound, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.paired import alpha_of_each, correction_used


def plain_gates(result: ScenarioResult) -> Iterator[dict[str, Any]]:
    """Yield each decided gate: its options, and its verdict under ``run``."""
    gates = {gate.name: gate for gate in make_gates(result.info.gates, result.info)}
    for verdict in result.gates:
        gate = gates.get(verdict.name)
        if gate is None and verdict.name == UnscoredGate().name:
            gate = UnscoredGate()
        run = [verdict.outcome, verdict.observed, verdict.bound, verdict.message]
        yield {"name": verdict.name, **plain_gate(gate), "run": run}


def plain_gate(gate: object) -> dict[str, Any]:
    """Return the options of a gate.

    Of one whose figures come from labels, ``human``, the page takes the verdict from the run.
    """
    if hasattr(gate, "human"):
        return {"kind": "people", "targets": sorted(gate_targets(gate))}
    return _plain(gate)


@singledispatch
def _plain(gate: object) -> dict[str, Any]:
    """Return the options of a gate; the page cannot decide gates of other distributions."""
    return {"kind": "other"}


@_plain.register
def _(gate: MeanGate) -> dict[str, Any]:
    return {"kind": "mean", "target": gate.target, "ends": plain_bound(gate.bound)}


@_plain.register
def _(gate: LowerBoundGate) -> dict[str, Any]:
    return {
        "kind": "lower_bound",
        "target": gate.target,
        "ends": plain_bound(gate.bound),
        "confidence": gate.confidence,
    }


@_plain.register
def _(gate: QuantileGate) -> dict[str, Any]:
    return {
        "kind": "quantile",
        "target": gate.target,
        "ends": plain_bound(gate.bound),
        "q": gate.q,
    }


@_plain.register
def _(gate: PassRateGate) -> dict[str, Any]:
    return {"kind": "pass_rate", "ends": plain_bound(gate.bound)}


@_plain.register
def _(gate: UnscoredGate) -> dict[str, Any]:
    shares = [[name, plain_bound(bound)] for name, bound in gate.shares.items()]
    return {"kind": "unscored", "ends": plain_bound(gate.bound), "shares": shares}


@_plain.register
def _(gate: SliceGate) -> dict[str, Any]:
    inner = {"name": gate.inner.name, **plain_gate(gate.inner)}
    return {"kind": "by", "field": gate.field, "inner": inner}


@_plain.register
def _(gate: RegressionGate) -> dict[str, Any]:
    return {
        "kind": "no_regression",
        "baseline": gate.baseline.name,
        "targets": dict(gate.higher_is_better),
        "max_drop": gate.max_drop,
        "relative": gate.relative,
        "mode": gate.mode,
        "alpha": gate.test.alpha,
        "alpha_of_each": alpha_of_each(
            gate.test.alpha,
            correction_used(gate.test.test, gate.test.correction),
            len(gate.targets),
        ),
        "test": gate.test.test,
        "correction": correction_used(gate.test.test, gate.test.correction),
        "min_pairs": gate.min_pairs,
        "undecided": gate.undecided,
    }


def plain_bound(bound: Bound) -> list[float | None]:
    """Return the two ends, None where there is none."""
    return [bound.min, bound.max]


def required_names(info: ScenarioInfo) -> frozenset[str]:
    """Return the scores that a threshold or a gate needs: a sample without them is an error."""
    return frozenset(info.thresholds).union(*map(gate_targets, make_gates(info.gates, info)))

"""Gates as data: the page decides the simple ones for other weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_rageval.gates.base import gate_targets, make_gates, page_options
from pytest_rageval.gates.unscored import UnscoredGate
from pytest_rageval.model import ScenarioInfo, ScenarioResult


def plain_gates(result: ScenarioResult) -> Iterator[dict[str, Any]]:
    """Yield each decided gate: its options, and its verdict under ``run``."""
    gates = {gate.name: gate for gate in make_gates(result.info.gates, result.info)}
    for verdict in result.gates:
        gate = gates.get(verdict.name)
        if gate is None and verdict.name == UnscoredGate().name:
            gate = UnscoredGate()
        run = [verdict.outcome, verdict.observed, verdict.bound, verdict.message]
        yield {"name": verdict.name, **page_options(gate), "run": run}


def required_names(info: ScenarioInfo) -> frozenset[str]:
    """Return the scores that a threshold or a gate needs: a sample without them is an error."""
    return frozenset(info.thresholds).union(*map(gate_targets, make_gates(info.gates, info)))

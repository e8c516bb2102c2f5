"""Gates as data: the page decides the simple ones for other weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_rageval.gates.base import AS_RUN, make_gates
from pytest_rageval.gates.unscored import UnscoredGate
from pytest_rageval.model import WEIGHTED_SCORE, ScenarioInfo, ScenarioResult


def plain_gates(result: ScenarioResult) -> Iterator[dict[str, Any]]:
    """Yield each decided gate: its options, and its verdict under ``run``."""
    made = [UnscoredGate(), *make_gates(result.info.gates, result.info)]
    gates = {gate.name: gate.for_page() for gate in made}
    unknown = {"kind": AS_RUN, "targets": [WEIGHTED_SCORE]}  # added by a hook
    for verdict in result.gates:
        run = [verdict.outcome, verdict.observed, verdict.bound, verdict.message]
        yield {"name": verdict.name, **gates.get(verdict.name, unknown), "run": run}


def required_names(info: ScenarioInfo) -> frozenset[str]:
    """Return the scores that a threshold or a gate needs: a sample without them is an error."""
    return frozenset(info.thresholds).union(
        *(gate.targets for gate in make_gates(info.gates, info))
    )

"""The gates ``lower_bound`` and ``quantile``: not the mean alone must be good enough.

``f1: {lower_bound: 0.75}`` asks that the mean be that good whatever chance did to this sample;
``f1: {quantile: {0.1: 0.3}}`` that nine samples of ten be that good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_rageval.errors import shorten
from pytest_rageval.gates.base import (
    Gate,
    GateKind,
    GateOptionError,
    bound_result,
    parse_bound,
    read_number,
    targets_of,
    without_own_keys,
)
from pytest_rageval.model import WEIGHTED_SCORE, Bound, GateResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.summary import weighted_interval, weighted_quantile
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored


@dataclass(frozen=True, slots=True)
class LowerBoundGate:
    """Compares the worse end of the interval of the weighted mean: the lower one, as a rule.

    Where lower is better it is the upper end.
    """

    name: str
    target: str
    bound: Bound
    value_range: tuple[float, float]
    confidence: float = 0.95

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when there are too few scores for an interval."""
        values, weights = _scores(result, self.target)
        interval = weighted_interval(values, weights, self.value_range, self.confidence)
        if interval is None:
            message = f"{len(values)} scores of {self.target} are too few for an interval"
            return GateResult(self.name, "failed", None, self.bound.end, message)
        end = interval[0] if self.bound.min is not None else interval[1]
        mean = result.mean_of(self.target)
        remark = (
            f"{100 * self.confidence:.3g} % interval {interval[0]:.4f}..{interval[1]:.4f} "
            f"of the mean {mean:.4f}, n {len(values)}"
        )
        return bound_result(self.name, self.bound, end, "", remark)


@dataclass(frozen=True, slots=True)
class QuantileGate:
    """Asks that a share 1 - ``q`` of the samples, by weight, reaches a minimum.

    Of a maximum, that a share ``q`` does not exceed it.
    """

    name: str
    target: str
    q: float
    bound: Bound

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when nothing was scored."""
        values, weights = _scores(result, self.target)
        missing, remark = f"no sample has a {self.target}", f"n {len(values)}"
        # One score may be both the last of the share below and the first of the rest.
        reached = weighted_quantile(values, weights, self.q, side="upper")
        kept = weighted_quantile(values, weights, self.q)
        ends = [
            bound_result(self.name, bound, observed, missing, remark)
            for bound, observed in (
                (Bound(min=self.bound.min), reached),
                (Bound(max=self.bound.max), kept),
            )
            if bound.end is not None
        ]
        return min(ends, key=lambda found: -math.inf if found.margin is None else found.margin)


def _scores(result: ScenarioResult, target: str) -> tuple[list[float], list[float]]:
    pairs = [
        (value, sample.sample_weight)
        for sample in result.samples
        if sample.is_expected and is_scored(value := score_of(sample, target)) and value is not None
    ]
    return [value for value, _ in pairs], [weight for _, weight in pairs]


def _make_lower_bound(
    target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo
) -> list[Gate]:
    column = targets_of(info)[target]
    confidence = 0.95
    if isinstance(options, Mapping):
        options = without_own_keys(options)
        confidence = _share(options.pop("confidence", confidence), "confidence", path)
    bound = parse_bound(options, path, column.range, column.higher_is_better)
    if bound.min is not None and bound.max is not None:
        raise GateOptionError(path, "give either 'min' or 'max': one end of the interval is judged")
    value_range = info.weighted_range if target == WEIGHTED_SCORE else column.range
    return [LowerBoundGate(f"{target}.lower_bound", target, bound, value_range, confidence)]


def _make_quantile(
    target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo
) -> list[Gate]:
    column = targets_of(info)[target]
    options = without_own_keys(options)
    if not isinstance(options, Mapping) or not options:
        raise GateOptionError(path, "expected a mapping, for instance {0.1: 0.3}")
    options = dict(options)
    if "q" in options:
        options = {options.pop("q"): options}
    gates: list[Gate] = []
    for written, value in options.items():
        q = _share(written, "q", path)
        bound = parse_bound(value, (*path, str(written)), column.range, column.higher_is_better)
        name = f"{target}.quantile.{q:g}"
        if any(gate.name == name for gate in gates):
            raise GateOptionError(path, f"the quantile {q:g} is named twice")
        gates.append(QuantileGate(name, target, q, bound))
    return gates


def _share(value: Any, name: str, path: tuple[str, ...]) -> float:
    share = read_number(value)
    if share is None or not 0.0 < share < 1.0:
        found = shorten(repr(value))
        raise GateOptionError(path, f"{name}: expected a number between 0 and 1, found {found}")
    return share


GATES = (
    GateKind("lower_bound", "metric", _make_lower_bound),
    GateKind("quantile", "metric", _make_quantile),
)
"""Both stand under a metric or ``weighted_score``."""

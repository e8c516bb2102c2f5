"""What a gate must provide, and how the ``gates`` of a scenario become gates.

Two kinds: a scenario gate stands under ``gates`` by its own name (``pass_rate: 0.9``); a metric
gate stands under a metric or ``weighted_score`` (``f1: {mean: 0.8}``), where a bare value means
``mean``.
To add one, write a module here with ``GATES = (GateKind(...),)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Bound,
    GateOutcome,
    GateResult,
    MetricColumn,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.registry import Registry


class GateOptionError(ValueError):
    """The options of a gate cannot be used; ``path`` leads to them below ``gates``."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


class BaselineOptionError(GateOptionError):
    """The saved run that a gate compares with lacks what the gate is about."""


class NoThresholdsError(GateOptionError):
    """A gate is about thresholds, and the scenario has none, or none that can be used."""


class Gate(Protocol):
    """Decides one thing about a scenario's figures."""

    @property
    def name(self) -> str:
        """What the gate is called in node ids and tables."""
        ...

    def check(self, result: ScenarioResult) -> GateResult:
        """Return the verdict; a figure that is missing fails the gate."""
        ...


@dataclass(frozen=True, slots=True)
class GateKind:
    """A kind of gate as the registry holds it.

    ``make(target, options, path, info)`` returns its gates: ``target`` is the metric's name (empty
    for a scenario gate), ``path`` where the options stand below ``gates``. It raises
    GateOptionError for options that cannot be used.
    """

    name: str
    scope: Literal["scenario", "metric"]
    make: Callable[[str, Any, tuple[str, ...], ScenarioInfo], list[Gate]]
    aliases: tuple[str, ...] = ()


GATE_REGISTRY: Registry[GateKind] = Registry("gate", "pytest_rageval.gates", "GATES")


def make_gates(
    options: Mapping[str, Any], info: ScenarioInfo, path: tuple[str, ...] = ()
) -> list[Gate]:
    """Return the gates that ``options`` ask for; raises GateOptionError for the first bad one."""
    gates: list[Gate] = []
    for found in each_gate(options, info, path):
        if isinstance(found, GateOptionError):
            raise found
        gates += found
    return gates


def each_gate(
    options: Mapping[str, Any], info: ScenarioInfo, path: tuple[str, ...] = ()
) -> Iterator[list[Gate] | GateOptionError]:
    """Yield for each entry of ``options`` its gates, or the error that it is."""
    for key, value in options.items():
        here = (*path, key)
        try:
            if key in targets_of(info):
                for kind, inner, inner_path in _metric_checks(value, here):
                    yield _kind(kind, "metric", inner_path, info).make(key, inner, inner_path, info)
            else:
                yield _kind(key, "scenario", here, info).make("", value, here, info)
        except GateOptionError as error:
            yield error


def targets_of(info: ScenarioInfo) -> dict[str, MetricColumn]:
    """Return what a metric gate can be about: the metrics, ``weighted_score`` among them."""
    weighted = MetricColumn(WEIGHTED_SCORE)
    return {metric.name: metric for metric in (*info.metrics, weighted)}


def without_own_keys(value: Any) -> Any:
    """Return a mapping without the keys that begin with ``x-``: these are the user's own."""
    if not isinstance(value, Mapping):
        return value
    return {key: inner for key, inner in value.items() if not str(key).startswith("x-")}


def read_number(value: Any) -> float | None:
    """Return the number that is written, None for what is none.

    YAML 1.1 takes ``1e-2`` for text; it is the number that was meant.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None
    except OverflowError:  # of a whole number
        return math.inf if int(value) > 0 else -math.inf


def _metric_checks(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    value = without_own_keys(value)
    if not isinstance(value, Mapping) or set(value) <= {"min", "max"}:
        yield "mean", value, path
        return
    for kind, options in value.items():
        yield kind, options, (*path, kind)


def _kind(name: str, scope: str, path: tuple[str, ...], info: ScenarioInfo) -> GateKind:
    known = {kind.name: kind for kind in GATE_REGISTRY if kind.scope == scope}
    if name in known:
        return known[name]
    choices = [*known, *(targets_of(info) if scope == "scenario" else ())]
    what = "gate or metric" if scope == "scenario" else f"check of {path[-2]!r}"
    raise GateOptionError(path, unknown_name(what, name, choices))


def parse_bound(
    value: Any,
    path: tuple[str, ...],
    value_range: tuple[float, float],
    higher_is_better: bool = True,
) -> Bound:
    """Return the bound that a number or ``{min, max}`` asks for.

    A bare number is a minimum, or a maximum where lower is better. Raises GateOptionError for what
    is no number or lies outside ``value_range``, where it could never or always hold.
    """
    if not isinstance(value, Mapping):
        value = {"min" if higher_is_better else "max": value}
    value = without_own_keys(value)
    if not value or not set(value) <= {"min", "max"}:
        raise GateOptionError(path, "expected a number, or a mapping with 'min' or 'max'")
    ends = {end: _end(end, written, path, value_range) for end, written in value.items()}
    if len(ends) > 1 and ends["min"] > ends["max"]:
        message = f"min {ends['min']:g} is above max {ends['max']:g}: nothing could pass"
        raise GateOptionError(path, message)
    return Bound(**ends)


def _end(name: str, written: Any, path: tuple[str, ...], value_range: tuple[float, float]) -> float:
    number, (low, high) = read_number(written), value_range
    found = shorten(repr(written))
    if number is None:
        raise GateOptionError(path, f"expected a number for {name!r}, found {found}")
    if not low <= number <= high or abs(number) == math.inf:
        raise GateOptionError(path, f"{name} {found} is outside the range {low:g}..{high:g}")
    return number


def bound_result(
    name: str, bound: Bound, observed: float | None, missing: str, remark: str = ""
) -> GateResult:
    """Return the verdict of ``bound`` on ``observed``; None fails with the message ``missing``."""
    if observed is None:
        return GateResult(name, "failed", None, bound.end, missing)
    outcome: GateOutcome = "passed" if bound.holds(observed) else "failed"
    message = bound.compare(observed) + (f" ({remark})" if remark else "")
    return GateResult(name, outcome, observed, bound.end, message, bound.margin(observed))

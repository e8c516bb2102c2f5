"""The interface of gates, and how the ``gates`` of a scenario are read.

Two kinds: ``gates`` names a scenario gate itself (``pass_rate: 0.9``), and a metric gate under a
metric or ``weighted_score`` (``f1: {mean: 0.8}``), where a bare value means ``mean``.
To add one, write a module here with ``GATES = (GateKind(...),)``: a type of pydantic's for its
options, and what makes gates of them. What else is known of a gate, it says itself: whether it is
decided early (``Foreseeing``), which samples are worth a look when it fails (``BoundingGate``,
``ComparingGate``, ``SlicedGate``), how the page decides it for other weights (``Recomputed``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from pytest_rageval.errors import unknown_name
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    GateOutcome,
    GateResult,
    MetricColumn,
    Sample,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.registry import Registry
from pytest_rageval.scenario.rewording import mistakes
from pytest_rageval.scenario.spec import BoundSpec, Portion, without_own_keys

Asked = Sample | SampleResult
"""A sample before or after it is asked about."""


class GateOptionError(ValueError):
    """The options of a gate cannot be used; ``path`` is their place below ``gates``."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


class BaselineOptionError(GateOptionError):
    """The saved run lacks a metric that the gate compares."""


class NoThresholdsError(GateOptionError):
    """A gate needs thresholds, and the scenario has none that can be used."""


class Gate(Protocol):
    """Decides one thing about a scenario's figures."""

    @property
    def name(self) -> str:
        """The gate's name in node ids and tables."""
        ...

    def check(self, result: ScenarioResult) -> GateResult:
        """Return the verdict; a figure that is missing fails the gate."""
        ...


class Watch(Protocol):
    """Follows a run that asks, until the verdict of one gate is certain."""

    @property
    def is_certain(self) -> bool:
        """Whether the verdict is the same however the rest scores."""
        ...

    def add(self, sample: SampleResult) -> None:
        """Note a sample that was scored, or could not be."""
        ...


@runtime_checkable
class ScoreWatch(Watch, Protocol):
    """Waits for scores, and knows the verdict before all of them are there."""

    @property
    def verdict(self) -> bool | None:
        """Whether the gate passes; None while that is open."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """A gate whose verdict may be certain early; all others need every sample."""

    def watch(self, info: ScenarioInfo, asked: Sequence[Asked], error: float) -> Watch | None:
        """Return what follows the samples that are ``asked`` about.

        ``error`` is the largest probability of a wrong verdict. None if every score is needed.
        """
        ...


@runtime_checkable
class Recomputed(Protocol):
    """A gate that the page decides anew when a reader changes weights; others stay as run."""

    def for_page(self) -> dict[str, Any]:
        """Return its ``kind`` and its options, as ``gates.js`` reads them."""
        ...


def page_options(gate: object) -> dict[str, Any]:
    """Return what the page needs to decide a gate, or to know that its verdict stays as run.

    ``targets`` are the scores that it depends on. Of a gate of another distribution they may not be
    known: then all weights matter.
    """
    if isinstance(gate, Recomputed):
        return gate.for_page()
    return {"kind": "as_run", "targets": sorted(gate_targets(gate)) or [WEIGHTED_SCORE]}


# For slices.py and worst.py, what a gate is shows in what it can do, not in its class: modules are
# loaded one by one, and tests that restore sys.modules leave two of some.


@runtime_checkable
class BoundingGate(Protocol):
    """A gate on a score that every sample has: those beyond its bound are worth a look."""

    bounds_samples: ClassVar[bool]

    @property
    def target(self) -> str:
        """The metric, or ``weighted_score``."""
        ...

    @property
    def bound(self) -> Bound:
        """What the figure must keep to."""
        ...


@runtime_checkable
class ComparingGate(Gate, Protocol):
    """A gate that compares with a baseline."""

    @property
    def baseline(self) -> Baseline:
        """The earlier run."""
        ...

    @property
    def higher_is_better(self) -> Mapping[str, bool]:
        """The metrics that are compared."""
        ...

    def within(self, ids: Sequence[str]) -> ComparingGate:
        """Return the gate for these samples only."""
        ...

    def lacks_samples(self, result: ScenarioResult) -> str:
        """Return what is said of the baseline's samples that the result lacks, "" if none."""
        ...


@runtime_checkable
class SlicedGate(Protocol):
    """A gate that applies another one to parts of the samples."""

    @property
    def inner(self) -> Gate:
        """The gate of each part."""
        ...

    def failed_samples(self, result: ScenarioResult) -> list[SampleResult]:
        """Return the samples of the parts for which the gate fails."""
        ...


@dataclass(frozen=True, slots=True)
class UndecidedGate:
    """A gate whose baseline will be saved for the first time."""

    name: str
    baseline: str
    targets: tuple[str, ...] = ()
    """The metrics that it will compare; they must be scored now already."""
    anyway: bool = field(default=False, compare=False)
    """Whether they are compared with that run even where it is not comparable."""
    path: tuple[str, ...] = field(default=(), compare=False)
    """Where its options stand below ``gates``."""

    def check(self, result: ScenarioResult) -> GateResult:
        """Skip: there is nothing to compare with."""
        message = f"not compared with {self.baseline!r}"
        return GateResult(self.name, "skipped", None, None, message)


@dataclass(frozen=True, slots=True)
class Place:
    """Where options of a gate stand: their path below ``gates``, and the metric above them."""

    info: ScenarioInfo
    path: tuple[str, ...]
    target: str = ""
    """The metric or ``weighted_score``; empty for a scenario gate."""

    @property
    def column(self) -> MetricColumn:
        """The metric that the gate is about."""
        return targets_of(self.info)[self.target]

    def error(self, message: str, *below: str) -> GateOptionError:
        """Return the error for what stands ``below`` this place."""
        return GateOptionError((*self.path, *below), message)

    def bound(
        self,
        spec: BoundSpec,
        ends: tuple[float, float],
        *below: str,
        higher_is_better: bool = True,
    ) -> Bound:
        """Return the bound; raises GateOptionError for a number outside of ``ends``."""
        try:
            return spec.within(ends, higher_is_better=higher_is_better)
        except ValueError as error:
            raise self.error(str(error), *below) from error

    def bound_of_metric(self, spec: BoundSpec, *below: str) -> Bound:
        """Return a bound of the metric's scores; a bare number is a maximum if lower is better."""
        column = self.column
        return self.bound(spec, column.range, *below, higher_is_better=column.higher_is_better)


@dataclass(frozen=True, eq=False)
class GateKind:
    """A kind of gate as the registry holds it.

    ``options`` is a type that pydantic reads; editors show its schema, and ``description``.
    ``make(options, place)`` returns the gates; it raises GateOptionError for what cannot be used.
    ``example`` shows options that must be a mapping. ``keys`` says what the keys of a scenario
    gate's mapping are: options, metrics, or fields of the data, with gates below each.
    """

    name: str
    scope: Literal["scenario", "metric"]
    options: Any
    make: Callable[[Any, Place], list[Gate]]
    description: str = ""
    example: str = ""
    keys: Literal["options", "metrics", "fields"] = "options"
    aliases: tuple[str, ...] = ()

    @cached_property
    def reader(self) -> TypeAdapter[Any]:
        """What reads the options."""
        return TypeAdapter(self.options)

    def mistakes(self, error: ValidationError, value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the path and the message of each mistake in the options ``value``."""
        if self.example and not (isinstance(value, Mapping) and without_own_keys(value)):
            yield (), f"expected a mapping, for instance {self.example}"
        else:
            yield from mistakes(error, value, self.options)


class ShareSpec(BoundSpec):
    """A bound of a share, from 0 to 1."""

    value: Portion | None = Field(None, description="a minimum (a maximum of what is bad)")
    min: Portion | None = Field(None, description="the least that passes")
    max: Portion | None = Field(None, description="the most that passes")


UNIT = (0.0, 1.0)
"""The ends of a share."""

ByName = BeforeValidator(without_own_keys)
"""Leaves the user's own keys out of a mapping whose other keys are names."""

GATE_REGISTRY: Registry[GateKind] = Registry("gate", "pytest_rageval.gates", "GATES")


def scenario_gate(name: str) -> GateKind | None:
    """Return the gate of this name that is about no metric, None if there is none."""
    kind = GATE_REGISTRY.get(name) if GATE_REGISTRY.defines(name) else None
    return kind if kind is not None and kind.scope == "scenario" else None


def make_gates(options: Mapping[str, Any], info: ScenarioInfo) -> list[Gate]:
    """Return the gates in ``options``; raises GateOptionError for the first bad one."""
    gates: list[Gate] = []
    for made in each_gate(options, info):
        if isinstance(made, GateOptionError):
            raise made
        gates += made
    return gates


def each_gate(
    options: Mapping[str, Any], info: ScenarioInfo, path: tuple[str, ...] = ()
) -> Iterator[list[Gate] | GateOptionError]:
    """Yield the gates of each entry of ``options``, and each mistake in it."""
    for key, value in options.items():
        here = (*path, key)
        if key in targets_of(info):
            for kind, inner, inner_path in _metric_checks(value, here):
                yield from _made(kind, inner, Place(info, inner_path, key))
        else:
            yield from _made(key, value, Place(info, here))


def _made(name: str, value: Any, place: Place) -> Iterator[list[Gate] | GateOptionError]:
    try:
        kind = _kind(name, place)
        yield kind.make(kind.reader.validate_python(value), place)
    except GateOptionError as error:
        yield error
    except ValidationError as error:
        for below, message in kind.mistakes(error, value):
            yield place.error(message, *below)


def _metric_checks(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    value = without_own_keys(value)
    mean = GATE_REGISTRY.get("mean").options
    if not isinstance(value, Mapping) or value.keys() <= mean.model_fields.keys():
        yield "mean", value, path
        return
    for kind, options in value.items():
        yield kind, options, (*path, kind)


def _kind(name: str, place: Place) -> GateKind:
    scope = "metric" if place.target else "scenario"
    kind = GATE_REGISTRY.get(name) if GATE_REGISTRY.defines(name) else None
    if kind is not None and kind.scope == scope:
        return kind
    known = [kind.name for kind in GATE_REGISTRY if kind.scope == scope]
    if place.target:
        raise place.error(unknown_name(f"check of {place.target!r}", name, known))
    raise place.error(unknown_name("gate or metric", name, [*known, *targets_of(place.info)]))


def targets_of(info: ScenarioInfo) -> dict[str, MetricColumn]:
    """Return what a metric gate can be about: the metrics and ``weighted_score``."""
    weighted = MetricColumn(WEIGHTED_SCORE)
    return {metric.name: metric for metric in (*info.metrics, weighted)}


def gate_targets(gate: object) -> Iterable[str]:
    """Return the metrics that a gate, or the one inside a slice gate, is about."""
    leaf = leaf_of(gate)
    target: str | None = getattr(leaf, "target", None)
    several: Iterable[str] = getattr(leaf, "targets", ())
    return several if target is None else (target,)


def leaf_of(gate: object) -> object:
    """Return the gate inside of slice gates; other gates as they are."""
    return leaf_of(gate.inner) if hasattr(gate, "inner") else gate


def largest_share(spec: ShareSpec, place: Place, *below: str) -> Bound:
    """Return the largest share that is allowed; raises GateOptionError without a maximum."""
    bound = spec.within(UNIT, higher_is_better=False)
    if bound.max is None:
        raise place.error("sets the largest share: expected a number, or 'max'", *below)
    return bound


def ends_of(bound: Bound) -> list[float | None]:
    """Return the two ends, None where there is none."""
    return [bound.min, bound.max]


def bound_result(
    name: str, bound: Bound, observed: float | None, missing: str = "", remark: str = ""
) -> GateResult:
    """Return the verdict of ``bound`` on ``observed``; None fails with the message ``missing``."""
    if observed is None:
        return GateResult(name, "failed", None, bound.end, missing)
    outcome: GateOutcome = "passed" if bound.holds(observed) else "failed"
    message = bound.compare(observed) + (f" ({remark})" if remark else "")
    return GateResult(name, outcome, observed, bound.end, message, bound.margin(observed))


def margin_of(found: GateResult) -> float:
    """Return the margin of a verdict as a sort key: a missing figure is the worst."""
    return -math.inf if found.margin is None else found.margin

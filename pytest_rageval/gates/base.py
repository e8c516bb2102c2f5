"""The interface of gates, and how the ``gates`` of a scenario are read.

A scenario gate stands at the top of ``gates`` (``pass_rate: 0.9``), a metric gate below its metric
or ``weighted_score`` (``f1: {mean: 0.8}``; a bare value means ``mean``).
To add one, write a module here with ``GATES = (GateKind(...),)``: the pydantic type of its options,
and the function that makes gates of them. The class of a gate says the rest: whether it is decided
early, which samples to look at when it fails, how the page computes it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

from pydantic import Field, TypeAdapter, ValidationError

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.gates.worst_samples import WorstSamples, beyond, lowest
from pytest_rageval.model import (
    SUPPORT,
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
from pytest_rageval.scenario.spec import BoundSpec, Portion, mistakes, without_own_keys
from pytest_rageval.stats.verdict import is_ruled_out, row_rules_out

AnySample = Sample | SampleResult
"""A sample before or after it is asked about."""


class GateOptionError(ValueError):
    """The options of a gate cannot be used; ``path`` is where they stand below ``gates``."""

    def __init__(self, path: tuple[str, ...], message: str) -> None:
        self.path = path
        super().__init__(message)


class BaselineOptionError(GateOptionError):
    """The saved run lacks a metric that the gate compares."""


class NoThresholdsError(GateOptionError):
    """A gate needs thresholds, and the scenario has none that can be used."""


BESIDE_MEAN: Final = ("not_applicable", "max_flip")
"""The options of ``mean`` that may stand beside it, too."""

AS_RUN = "as_run"
"""What the page calls a gate that it does not decide again for other weights."""


class Watch(ABC):
    """Follows a run that asks a system or a judge, until the verdict of one gate is certain."""

    __slots__ = ()

    follows_scores: ClassVar[bool] = False
    """Whether it waits for scores, and has a ``verdict`` before all of them are there."""

    @abstractmethod
    def add(self, sample: SampleResult) -> None:
        """Note a sample that was scored, or could not be."""

    @property
    def verdict(self) -> bool | None:
        """Whether the gate passes however the rest scores; None while that is open."""
        return None

    @property
    def is_certain(self) -> bool:
        """Whether the verdict is the same however the rest scores."""
        return self.verdict is not None


class Gate(ABC):
    """Decides one thing about a scenario's figures.

    What a kind of gate leaves out here, it cannot do: by default it needs every sample, compares
    with nothing, and the page shows it as it ran.
    """

    __slots__ = ()

    by_labels: ClassVar[bool] = False
    """Whether labels of people decide it."""

    estimates: ClassVar[bool] = False
    """Whether it can judge all samples by an estimate from some, drawn by chance."""

    counts_invalid: ClassVar[bool] = False
    """Whether it is about invalid rows, also those that the scenario allows."""

    name: str
    """Its name in node ids and tables."""

    @property
    def not_of_samples(self) -> str:
        """Why it cannot be decided where only some samples are asked, "" if it can."""
        return "is judged by labels, which a sample of the rows has not" if self.by_labels else ""

    @abstractmethod
    def check(self, result: ScenarioResult) -> GateResult:
        """Return the verdict; a figure that is missing fails the gate."""

    @property
    def targets(self) -> Iterable[str]:
        """The metrics that it is about."""
        return ()

    def asks_nothing_of(self, sample: SampleResult) -> bool:
        """Return whether there are targets, and all are ruled out or the sample weighs 0."""
        targets = [*self.targets]
        is_out = all(is_ruled_out(sample, one) or row_rules_out(sample, one) for one in targets)
        return bool(targets) and (is_out or not sample.sample_weight > 0.0)

    @property
    def leaf(self) -> Gate:
        """The gate that it applies to parts of the samples, else itself."""
        return self

    @property
    def compared_with(self) -> Baseline | None:
        """The run that it compares with."""
        return None

    @property
    def against(self) -> str:
        """The name of the run that it compares with, "" if with none."""
        return "" if self.compared_with is None else self.compared_with.name

    def within(self, ids: Sequence[str]) -> Gate:
        """Return the gate for these samples of the baseline only."""
        return self

    def requiring(self, names: frozenset[str]) -> Gate:
        """Return the gate; one that counts missing scores misses also these."""
        return self

    def for_rows(self, samples: Sequence[SampleResult]) -> Gate:
        """Return the gate; one of several metrics without those that all these rows rule out."""
        return self

    def lacks_samples(self, result: ScenarioResult) -> str:
        """Return the message about samples of the baseline that the result lacks, "" if none."""
        return ""

    def watch(self, info: ScenarioInfo, samples: Sequence[AnySample], error: float) -> Watch | None:
        """Return what knows the verdict before all ``samples`` are asked about.

        ``error`` is the largest probability of a wrong verdict. None if every sample is needed.
        """
        return None

    def for_page(self) -> dict[str, Any]:
        """Return its ``kind`` and what the page decides it from, as ``gates.js`` reads them.

        By default its verdict stays as run, and where weights of its targets change, that is said.
        """
        return {"kind": AS_RUN, "targets": sorted(self.targets) or [WEIGHTED_SCORE]}

    def worst_samples(self, result: ScenarioResult, verdict: GateResult) -> list[WorstSamples]:
        """Return the samples to look at when it failed, for each metric; ties in dataset order.

        By default those with the lowest scores of each; none where labels decide, not scores.
        """
        targets = () if self.by_labels else self.targets
        columns = [targets_of(result.info)[target] for target in targets]
        found = (lowest(result, column) for column in columns)
        return [listed for listed in found if listed.rows]


def metrics_behind(gate: Gate, info: ScenarioInfo) -> frozenset[str]:
    """Return the metrics that a verdict follows from; those with thresholds for ``pass_rate``."""
    thresholds = getattr(gate.leaf, "thresholds", {})
    return frozenset([*gate.targets, *gate.leaf.targets, *thresholds])


@dataclass(frozen=True, slots=True)
class BoundedGate(Gate):
    """Bounds a figure of one metric, or of the weighted score."""

    name: str
    target: str
    """The metric, or ``weighted_score``."""
    bound: Bound

    @property
    def targets(self) -> Iterable[str]:
        """The metric that it is about."""
        return (self.target,)

    @property
    def score_bound(self) -> Bound | None:
        """The bound, if a single score can be held against it: None where it is of another kind."""
        return self.bound

    def worst_samples(self, result: ScenarioResult, verdict: GateResult) -> list[WorstSamples]:
        """Return the samples that are themselves beyond the bound."""
        return beyond(result, self.target, self.bound, verdict.observed)


@dataclass(frozen=True, slots=True)
class UndecidedGate(Gate):
    """A gate whose baseline is not there: it will be saved for the first time, or read later.

    ``targets`` must be scored now already; with ``anyway`` they are compared with that run even
    where it is not comparable. ``path`` is where its options stand below ``gates``.
    """

    name: str
    run: str
    targets: tuple[str, ...] = ()
    anyway: bool = field(default=False, compare=False)
    path: tuple[str, ...] = field(default=(), compare=False)

    @property
    def against(self) -> str:
        """The name of the run that it will compare with."""
        return self.run

    def check(self, result: ScenarioResult) -> GateResult:
        """Skip: there is nothing to compare with."""
        message = f"not compared with {self.run!r}"
        return GateResult(self.name, "skipped", None, None, message)


@dataclass(frozen=True, slots=True)
class Location:
    """Where options of a gate stand: their path below ``gates``, and the metric above them."""

    info: ScenarioInfo
    path: tuple[str, ...]
    target: str = ""
    """The metric or ``weighted_score``; empty for a scenario gate."""
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The options that are written elsewhere than below the path, and where."""

    @property
    def column(self) -> MetricColumn:
        """The metric that the gate is about."""
        return targets_of(self.info)[self.target]

    def error(self, message: str, *below: str) -> GateOptionError:
        """Return the error for what stands ``below`` this location."""
        if below and below[0] in self.elsewhere:
            return GateOptionError((*self.elsewhere[below[0]], *below[1:]), message)
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
    ``make(options, location)`` returns the gates; raises GateOptionError for what cannot be used.
    ``example`` shows options that must be a mapping. ``keys`` says what the keys of a scenario
    gate's mapping are: options, metrics, or fields of the data, with gates below each.
    """

    name: str
    scope: Literal["scenario", "metric"]
    options: Any
    make: Callable[[Any, Location], list[Gate]]
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

GATE_REGISTRY: Registry[GateKind] = Registry("gate", "pytest_rageval.gates", "GATES")


def scenario_gate(name: str) -> GateKind | None:
    """Return the kind of gate of this name that is about no metric, None if there is none."""
    kind = GATE_REGISTRY.get(name) if GATE_REGISTRY.defines(name) else None
    return kind if kind is not None and kind.scope == "scenario" else None


def make_gates(options: Mapping[str, Any], info: ScenarioInfo) -> list[Gate]:
    """Return the gates in ``options``; raises GateOptionError for the first bad one."""
    gates: list[Gate] = []
    for gates_or_error in each_gate(options, info):
        if isinstance(gates_or_error, GateOptionError):
            raise gates_or_error
        gates += gates_or_error
    return gates


def each_gate(
    options: Mapping[str, Any], info: ScenarioInfo, path: tuple[str, ...] = ()
) -> Iterator[list[Gate] | GateOptionError]:
    """Yield the gates of each entry of ``options``, and each mistake in it."""
    for key, value in options.items():
        here = (*path, key)
        if key in targets_of(info) or key == SUPPORT:
            for kind, inner, location in _metric_checks(value, Location(info, here, key)):
                yield from _made(kind, inner, location)
        else:
            yield from _made(key, value, Location(info, here))


def _made(name: str, value: Any, location: Location) -> Iterator[list[Gate] | GateOptionError]:
    try:
        kind = _kind(name, location)
        yield kind.make(kind.reader.validate_python(value), location)
    except GateOptionError as error:
        yield error
    except ValidationError as error:
        for below, message in kind.mistakes(error, value):
            yield location.error(message, *below)


def _metric_checks(value: Any, location: Location) -> Iterator[tuple[str, Any, Location]]:
    """Yield the name, the options and the location of each check of one metric."""
    value = without_own_keys(value)
    mean = GATE_REGISTRY.get("mean").options
    if not isinstance(value, Mapping) or value.keys() <= mean.model_fields.keys():
        yield "mean", value, location
        return
    of_mean = {name: part for name, part in value.items() if name in BESIDE_MEAN}
    of_mean = of_mean if "mean" in value else {}
    for kind, options in value.items():
        if kind in of_mean:
            continue
        here = replace(location, path=(*location.path, kind))
        if kind == "mean" and of_mean:
            elsewhere = {name: (*location.path, name) for name in of_mean}
            inner = options if isinstance(options, Mapping) else {"value": options}
            if inner is not options:
                elsewhere["value"] = here.path
            yield kind, {**inner, **of_mean}, replace(here, elsewhere=elsewhere)
        else:
            yield kind, options, here


def _kind(name: str, location: Location) -> GateKind:
    scope = "metric" if location.target else "scenario"
    is_table = location.target == SUPPORT and SUPPORT not in targets_of(location.info)
    if is_table and name != "agreement":
        message = f"{SUPPORT} is the table that metrics of claims, nuggets and citations read, and "
        message += f"has no {shorten(name)!r}: of the table itself only 'agreement' is judged"
        raise location.error(message)
    kind = GATE_REGISTRY.get(name) if GATE_REGISTRY.defines(name) else None
    if kind is not None and kind.scope == scope:
        return kind
    known = [kind.name for kind in GATE_REGISTRY if kind.scope == scope]
    if location.target:
        raise location.error(unknown_name(f"check of {location.target!r}", name, known))
    raise location.error(unknown_name("gate or metric", name, [*known, *targets_of(location.info)]))


def targets_of(info: ScenarioInfo) -> dict[str, MetricColumn]:
    """Return what a metric gate can be about: the metrics and ``weighted_score``."""
    weighted = MetricColumn(WEIGHTED_SCORE)
    return {metric.name: metric for metric in (*info.metrics, weighted)}


def largest_share(spec: ShareSpec, location: Location, *below: str) -> Bound:
    """Return the bound of a share that has a maximum; raises GateOptionError without one."""
    bound = spec.within(UNIT, higher_is_better=False)
    if bound.max is None:
        raise location.error("sets the largest share: expected a number, or 'max'", *below)
    return bound


def ends_of(bound: Bound) -> list[float | None]:
    """Return the lower and the upper end, None for an open one."""
    return [bound.min, bound.max]


def bound_result(
    name: str, bound: Bound, observed: float | None, missing: str = "", remark: str = ""
) -> GateResult:
    """Return the verdict of ``bound`` on ``observed``; None fails with the message ``missing``."""
    if observed is None:
        return GateResult(name, "failed", None, bound.end, missing)
    is_held = bound.holds(observed) and not math.isnan(observed)
    outcome: GateOutcome = "passed" if is_held else "failed"
    message = bound.compare(observed) + (f" ({remark})" if remark else "")
    end = bound.side(observed).end
    return GateResult(name, outcome, observed, end, message, bound.margin(observed))


def margin_of(found: GateResult) -> float:
    """Return the margin of a verdict as a sort key: a missing figure is the worst."""
    return -math.inf if found.margin is None else found.margin

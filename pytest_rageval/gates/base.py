"""The interface of gates, and how the ``gates`` of a scenario are read.

Two kinds: ``gates`` names a scenario gate itself (``pass_rate: 0.9``), and a metric gate under a
metric or ``weighted_score`` (``f1: {mean: 0.8}``), where a bare value means ``mean``.
To add one, write a module here with ``GATES = (GateKind(...),)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, Protocol, runtime_checkable

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.model import (
    NOTHING,
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
    value_text,
)
from pytest_rageval.registry import Registry
from pytest_rageval.scenario.json_types import NUMBER

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
    """Follows the scores of a run that asks, until the verdict of one gate is certain."""

    @property
    def is_certain(self) -> bool:
        """Whether the verdict is the same however the rest scores."""
        ...

    def add(self, sample: SampleResult) -> None:
        """Note a sample that was scored, or could not be."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """A gate whose verdict may be certain early; all others need every sample."""

    def watch(self, info: ScenarioInfo, asked: Sequence[Asked], error: float) -> Watch | None:
        """Return what follows the scores of the samples that are ``asked`` about.

        ``error`` is the largest probability of a wrong verdict. None if every score is needed.
        """
        ...


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
class GateKind:
    """A kind of gate as the registry holds it.

    ``make(target, options, path, info)`` returns its gates: ``target`` is the metric's name (empty
    for a scenario gate), ``path`` the place of the options below ``gates``. It raises
    GateOptionError for options that cannot be used. Editors show ``description``; ``schema``
    is what they are told of the options. Without one, these are a bound, or one for each metric.
    """

    name: str
    scope: Literal["scenario", "metric"]
    make: Callable[[str, Any, tuple[str, ...], ScenarioInfo], list[Gate]]
    aliases: tuple[str, ...] = ()
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)


Schema = Mapping[str, Any]
"""JSON Schema."""

_ENDS: Final = {"min": "the least that passes", "max": "the most that passes"}


def mapping_schema(keys: Schema, **also: Any) -> dict[str, Any]:
    """Return the schema of a mapping with these keys, and no others but those of the user."""
    closed = {"additionalProperties": False, "patternProperties": {"^x-": {}}}
    return {"type": "object", "properties": dict(keys), **closed, **also}


def bound_schema(
    number: Schema, other_ends: Schema = NOTHING, beside: Schema = NOTHING
) -> dict[str, Any]:
    """Return the schema of a bound: a number, or a mapping with an end, and keys ``beside`` it."""
    ends = {end: {**number, "description": meaning} for end, meaning in _ENDS.items()}
    ends |= other_ends
    some = [{"required": [end]} for end in ends]
    return {"anyOf": [dict(number), mapping_schema({**ends, **beside}, anyOf=some)]}


_CORRECTED: Final = {
    "type": "boolean",
    "description": "true: the mean that people would give, by the labels of 'human'",
}
CORRECTED_KEY: Final[dict[str, Any]] = {"corrected": _CORRECTED}
BOUND: Final[dict[str, Any]] = bound_schema(NUMBER)
SHARE_BOUND: Final[dict[str, Any]] = bound_schema({**NUMBER, "minimum": 0, "maximum": 1})
CORRECTED_BOUND: Final[dict[str, Any]] = bound_schema(NUMBER, beside=CORRECTED_KEY)
SHARE: Final[dict[str, Any]] = {**NUMBER, "exclusiveMinimum": 0, "exclusiveMaximum": 1}
"""A share that is neither none nor all."""

GATE_REGISTRY: Registry[GateKind] = Registry("gate", "pytest_rageval.gates", "GATES")


def is_scenario_gate(name: str) -> bool:
    """Return whether ``gates`` may have a gate of this name that is about no metric."""
    return GATE_REGISTRY.defines(name) and GATE_REGISTRY.get(name).scope == "scenario"


def make_gates(options: Mapping[str, Any], info: ScenarioInfo) -> list[Gate]:
    """Return the gates in ``options``; raises GateOptionError for the first bad one."""
    gates: list[Gate] = []
    for found in each_gate(options, info):
        if isinstance(found, GateOptionError):
            raise found
        gates += found
    return gates


def each_gate(
    options: Mapping[str, Any], info: ScenarioInfo, path: tuple[str, ...] = ()
) -> Iterator[list[Gate] | GateOptionError]:
    """Yield for each entry of ``options`` its gates, or its error."""
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
    """Return what a metric gate can be about: the metrics and ``weighted_score``."""
    weighted = MetricColumn(WEIGHTED_SCORE)
    return {metric.name: metric for metric in (*info.metrics, weighted)}


def gate_targets(gate: object) -> Iterable[str]:
    """Return the metrics that a gate, or the one inside a slice gate, is about."""
    if hasattr(gate, "inner"):
        return gate_targets(gate.inner)
    target: str | None = getattr(gate, "target", None)
    several: Iterable[str] = getattr(gate, "targets", ())
    return several if target is None else (target,)


def without_own_keys(value: Any) -> Any:
    """Return a mapping without the user's own keys, which begin with ``x-``."""
    if not isinstance(value, Mapping):
        return value
    return {key: inner for key, inner in value.items() if not str(key).startswith("x-")}


def read_number(value: Any) -> float | None:
    """Return the number that is written, None for anything else.

    Text such as ``1e-2``, which YAML 1.1 does not read as a number, is accepted.
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
    if not isinstance(value, Mapping) or set(value) <= {"min", "max", "corrected"}:
        yield "mean", value, path
        return
    for kind, options in value.items():
        yield kind, options, (*path, kind)


def _kind(name: str, scope: str, path: tuple[str, ...], info: ScenarioInfo) -> GateKind:
    found = GATE_REGISTRY.get(name) if GATE_REGISTRY.defines(name) else None
    if found is not None and found.scope == scope:
        return found
    known = [kind.name for kind in GATE_REGISTRY if kind.scope == scope]
    choices = [*known, *(targets_of(info) if scope == "scenario" else ())]
    what = "gate or metric" if scope == "scenario" else f"check of {path[-2]!r}"
    raise GateOptionError(path, unknown_name(what, name, choices))


def parse_bound(
    value: Any,
    path: tuple[str, ...],
    value_range: tuple[float, float],
    higher_is_better: bool = True,
) -> Bound:
    """Return the bound that a number or ``{min, max}`` means.

    A bare number is a minimum, or a maximum where lower is better. Raises GateOptionError for
    anything else, and for a number outside ``value_range``, which would always or never hold.
    """
    if not isinstance(value, Mapping):
        value = {"min" if higher_is_better else "max": value}
    value = without_own_keys(value)
    if not value or not set(value) <= {"min", "max"}:
        raise GateOptionError(path, "expected a number, or a mapping with 'min' or 'max'")
    ends = {end: _end(end, written, path, value_range) for end, written in value.items()}
    if len(ends) > 1 and ends["min"] > ends["max"]:
        low, high = value_text(ends["min"]), value_text(ends["max"])
        message = f"min {low} is above max {high}: nothing could pass"
        raise GateOptionError(path, message)
    return Bound(**ends)


def parse_share(value: Any, path: tuple[str, ...]) -> Bound:
    """Return the largest share that a number or ``{max}`` allows; raises GateOptionError."""
    bound = parse_bound(value, path, (0.0, 1.0), higher_is_better=False)
    if bound.max is None:
        raise GateOptionError(path, "sets the largest share: expected a number, or 'max'")
    return bound


def takes_corrected(options: Any, path: tuple[str, ...]) -> tuple[Any, bool]:
    """Return the options without ``corrected``, and whether it is set."""
    if not isinstance(options, Mapping) or "corrected" not in options:
        return options, False
    rest = {key: value for key, value in options.items() if key != "corrected"}
    value = options["corrected"]
    if not isinstance(value, bool):
        found = shorten(repr(value))
        raise GateOptionError((*path, "corrected"), f"expected true or false, found {found}")
    return rest, value


def _end(name: str, written: Any, path: tuple[str, ...], value_range: tuple[float, float]) -> float:
    number, (low, high) = read_number(written), value_range
    found = shorten(repr(written))
    if number is None:
        raise GateOptionError(path, f"expected a number for {name!r}, found {found}")
    if not low <= number <= high or abs(number) == math.inf:
        raise GateOptionError(path, f"{name} {found} is outside the range {low:g}..{high:g}")
    return number


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

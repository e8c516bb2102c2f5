"""The gate ``agreement``: a metric agrees with people well enough to be believed.

``faithfulness: {agreement: {kappa: 0.6, specificity: {lower_bound: 0.7}, min_labels: 50}}``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.gates.base import (
    BOUND,
    Gate,
    GateKind,
    GateOptionError,
    bound_result,
    bound_schema,
    mapping_schema,
    parse_bound,
    without_own_keys,
)
from pytest_rageval.model import (
    Agreement,
    Bound,
    GateResult,
    HumanLabels,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.scenario.json_types import NUMBER
from pytest_rageval.stats.wording import counted, not_counted

FEW: Final = 10
"""Fewer labels than this say nothing, whatever ``min_labels`` asks for."""

_RANGES: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "kappa": (-1.0, 1.0),
        "weighted_kappa": (-1.0, 1.0),
        "ac1": (-1.0, 1.0),
        "ac2": (-1.0, 1.0),
        "sensitivity": (0.0, 1.0),
        "specificity": (0.0, 1.0),
        "spearman": (-1.0, 1.0),
        "kendall": (-1.0, 1.0),
        "auc": (0.0, 1.0),
        "alpha": (-1.0, 1.0),
        "ceiling": (-1.0, 1.0),
        "bias": (-1e9, 1e9),
    }
)
_WITH_LOWER_BOUND: Final = tuple(name for name in _RANGES if name != "bias")
"""Of a bias the size is bounded, which is worse the larger it is."""


def labels_of(info: ScenarioInfo, metric: str, path: tuple[str, ...], what: str) -> HumanLabels:
    """Return the labels of a metric; raises GateOptionError if the scenario names none."""
    for human in info.human:
        if human.metric == metric:
            return human
    written = f"human: {{file: labels.csv, of: {metric}}}"
    raise GateOptionError(path, f"{what} needs labels of people: write {written}")


@dataclass(frozen=True, slots=True)
class AgreementGate:
    """Compares one coefficient, or the lower end of its interval, with a bound.

    An empty ``coefficient`` asks for ``min_labels`` alone.
    """

    name: str
    target: str
    human: HumanLabels
    coefficient: str
    bound: Bound
    min_labels: int = FEW
    takes_lower_end: bool = False

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when there are too few labels, or the coefficient is undefined."""
        # Not at the top: scenarios without labels need no statistics of them.
        from pytest_rageval.stats.judge_agreement import agreement_of

        found = result.agreement.get(self.target) or agreement_of(result, self.human)
        if found.n < self.min_labels:
            return GateResult(
                self.name, "failed", None, self.bound.end, self._too_few(result, found)
            )
        if not self.coefficient:
            message = f"{counted(found.n, 'labelled answer')} >= {self.min_labels}"
            return GateResult(self.name, "passed", found.n, self.min_labels, message)
        value = getattr(found, self.coefficient)
        end = getattr(found, f"{self.coefficient}_low") if self.takes_lower_end else value
        if value is None or end is None:
            return GateResult(self.name, "failed", None, self.bound.end, self._undefined(found))
        observed = abs(value) if self.coefficient == "bias" else end
        return bound_result(self.name, self.bound, observed, remark=self._remark(found))

    def _undefined(self, found: Agreement) -> str:
        """Return why there is no coefficient, or why it has no interval."""
        name = self.coefficient
        value, labels = getattr(found, name), counted(found.n, "labelled answer")
        if value is None:
            what, why = f"{name} is undefined", found.why.get(name)
        else:
            what, why = f"{name} {value:.4f} has no interval", found.why.get(f"{name}_low")
        return f"{what}{f': {why}' if why else ''} ({labels})"

    def _too_few(self, result: ScenarioResult, found: Agreement) -> str:
        more = self.min_labels - found.n
        labels = f"{counted(found.n, 'labelled answer')}, {self.min_labels} are needed"
        advice = f"label {more} more (pytest --rag-label {more} draws them)"
        advice = self.human.blank or advice
        return f"{labels}: {advice}{_left_out(found)}"

    def _remark(self, found: Agreement) -> str:
        parts = []
        low = getattr(found, f"{self.coefficient}_low", None)
        high = getattr(found, f"{self.coefficient}_high", None)
        if self.takes_lower_end:
            parts.append(f"{self.coefficient} {getattr(found, self.coefficient):.4f}")
        if self.coefficient == "bias":
            parts.append(f"judge minus people {found.bias:+.4f}")
        if low is not None and high is not None:
            parts.append(f"95 % interval {low:.4f}..{high:.4f}")
        parts.append(self._labels(found))
        if self.coefficient in ("kappa", "weighted_kappa") and found.ceiling is not None:
            parts.append(f"people among themselves {found.ceiling:.4f}")
        return ", ".join(parts) + _left_out(found)

    def _labels(self, found: Agreement) -> str:
        """Return how many answers the coefficient rests on: for a share, those of one level."""
        row = {"sensitivity": -1, "specificity": 0}.get(self.coefficient)
        if row is None:
            return counted(found.n, "labelled answer")
        return f"{sum(found.confusion[row])} of {counted(found.n, 'labelled answer')}"


def _left_out(found: Agreement) -> str:
    listed = ", ".join(not_counted(found))
    return f"; not counted: {listed}" if listed else ""


def _make(target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo) -> list[Gate]:
    human = labels_of(info, target, path, "agreement")
    options = without_own_keys(options)
    if not isinstance(options, Mapping) or not options:
        raise GateOptionError(path, "expected a mapping, for instance {kappa: 0.6, min_labels: 50}")
    given = dict(options)
    least = _least(given.pop("min_labels", FEW), path)
    usual = AgreementGate(f"{target}.agreement", target, human, "", Bound(), least)
    gates: list[Gate] = []
    for name, value in given.items():
        if name not in _RANGES:
            known = [*_RANGES, "min_labels"]
            raise GateOptionError((*path, name), unknown_name("coefficient", name, known))
        one = replace(usual, name=f"{usual.name}.{name}", coefficient=name)
        gates += _bounds(one, value, (*path, name))
    return gates or [replace(usual, name=f"{usual.name}.min_labels")]


def _least(value: Any, path: tuple[str, ...]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < FEW:
        found = shorten(repr(value))
        message = f"expected a whole number from {FEW} on, found {found}"
        raise GateOptionError((*path, "min_labels"), message)
    return value


def _bounds(usual: AgreementGate, value: Any, path: tuple[str, ...]) -> list[Gate]:
    """Return the gates of one coefficient: of its value, and of its lower end."""
    name, ends = usual.coefficient, _RANGES[usual.coefficient]
    options, lower = without_own_keys(value), None
    if isinstance(options, Mapping):
        lower = options.get("lower_bound")
        options = {key: end for key, end in options.items() if key != "lower_bound"}
    if lower is not None and name not in _WITH_LOWER_BOUND:
        message = f"{name} has no lower_bound: write the most that its size may be, {name}: 0.05"
        raise GateOptionError((*path, "lower_bound"), message)
    gates: list[Gate] = []
    if lower is None or options:
        bound = parse_bound(options, path, ends, higher_is_better=name != "bias")
        gates.append(replace(usual, bound=bound))
    if lower is not None:
        bound = parse_bound(lower, (*path, "lower_bound"), ends)
        at_end = replace(usual, name=f"{usual.name}.lower_bound", bound=bound)
        gates.append(replace(at_end, takes_lower_end=True))
    return gates


_COEFFICIENT: Final = {
    "description": "a bound, or {lower_bound: x}",
    **bound_schema(NUMBER, {"lower_bound": {**BOUND, "description": "of its interval"}}),
}
_BIAS: Final = "the most that judge minus people may be, in either direction"
_MIN_LABELS: Final = f"fewer labels fail; {FEW} when absent"

GATES = (
    GateKind(
        "agreement",
        "metric",
        _make,
        description="coefficient: bound, of the agreement with people",
        schema=mapping_schema(
            {
                **dict.fromkeys(_WITH_LOWER_BOUND, _COEFFICIENT),
                "bias": {**BOUND, "description": _BIAS},
                "min_labels": {"type": "integer", "minimum": FEW, "description": _MIN_LABELS},
            },
            minProperties=1,
        ),
    ),
)

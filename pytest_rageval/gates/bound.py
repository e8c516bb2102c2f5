"""The gates ``lower_bound`` and ``quantile``: a good mean alone is not enough.

``f1: {lower_bound: 0.75}`` requires that the mean is that good even allowing for chance;
``f1: {quantile: {0.1: 0.3}}`` that nine samples in ten are that good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pytest_rageval.errors import shorten
from pytest_rageval.gates.agreement import labels_of
from pytest_rageval.gates.base import (
    BOUND,
    CORRECTED_KEY,
    SHARE,
    Gate,
    GateKind,
    GateOptionError,
    bound_result,
    bound_schema,
    margin_of,
    parse_bound,
    read_number,
    takes_corrected,
    targets_of,
    without_own_keys,
)
from pytest_rageval.gates.corrected import CorrectedGate
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Bound,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.scenario.json_types import NUMBER
from pytest_rageval.stats.groups import group_numbers
from pytest_rageval.stats.summary import weighted_interval, weighted_quantile
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted


@dataclass(frozen=True, slots=True)
class LowerBoundGate:
    """Compares the worse end of the weighted mean's interval: the upper one if lower is better."""

    bounds_samples: ClassVar[bool] = True

    name: str
    target: str
    bound: Bound
    value_range: tuple[float, float]
    confidence: float = 0.95

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when there are too few scores for an interval."""
        samples, values, weights = _scored(result, self.target)
        groups = group_numbers(result.info, samples)
        interval = weighted_interval(values, weights, self.value_range, self.confidence, groups)
        n_groups = None if groups is None else len(set(groups))
        if interval is None:
            message = f"{len(values)} scores of {self.target} are too few for an interval"
            if n_groups is not None:
                scores = f"{counted(len(values), 'score')} of {self.target}"
                found = f"{scores} in {counted(n_groups, 'group')} ({result.info.group_by})"
                message = (
                    f"{found} are too few for an interval: "
                    "at least 2 groups with a weight above 0 are needed"
                )
            return GateResult(self.name, "failed", None, self.bound.end, message)
        end = interval[0] if self.bound.min is not None else interval[1]
        mean = result.mean_of(self.target)
        remark = (
            f"{100 * self.confidence:.3g} % interval {interval[0]:.4f}..{interval[1]:.4f} "
            f"of the mean {mean:.4f}, n {len(values)}"
            + ("" if n_groups is None else f" in {counted(n_groups, 'group')}")
        )
        return bound_result(self.name, self.bound, end, remark=remark)


@dataclass(frozen=True, slots=True)
class QuantileGate:
    """Requires that a share 1 - ``q`` of the samples, by weight, reaches a minimum.

    For a maximum: that a share ``q`` does not exceed it.
    """

    bounds_samples: ClassVar[bool] = True

    name: str
    target: str
    q: float
    bound: Bound

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when nothing was scored."""
        _, values, weights = _scored(result, self.target)
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
        return min(ends, key=margin_of)


def _scored(
    result: ScenarioResult, target: str
) -> tuple[list[SampleResult], list[float], list[float]]:
    """Return the samples with a score, their scores, and their weights."""
    pairs = [(one, score_of(one, target)) for one in result.samples if one.is_expected]
    found = [(sample, value) for sample, value in pairs if is_scored(value)]
    samples = [sample for sample, _ in found]
    return samples, [value for _, value in found], [one.sample_weight for one in samples]


def _make_lower_bound(
    target: str, options: Any, path: tuple[str, ...], info: ScenarioInfo
) -> list[Gate]:
    column = targets_of(info)[target]
    confidence = 0.95
    if isinstance(options, Mapping):
        options = without_own_keys(options)
        confidence = _share(options.pop("confidence", confidence), "confidence", path)
    options, is_corrected = takes_corrected(options, path)
    bound = parse_bound(options, path, column.range, column.higher_is_better)
    if bound.min is not None and bound.max is not None:
        raise GateOptionError(path, "give either 'min' or 'max': one end of the interval is judged")
    if is_corrected:
        human = labels_of(info, target, path, "a corrected mean")
        name = f"{target}.lower_bound"
        return [CorrectedGate(name, target, bound, human, True, confidence)]
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
    pairs = [(options.pop("q"), options)] if "q" in options else [*options.items()]
    gates: list[Gate] = []
    for written, value in pairs:
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


_Q: Final = {"q": {**SHARE, "description": "the share of samples that may be lower"}}
# Without patterns: YAML's keys may be numbers, which some validators cannot search.
_ONE_QUANTILE: Final = bound_schema(NUMBER, beside=_Q)["anyOf"][-1] | {
    "patternProperties": {},
    "required": ["q"],
}
_QUANTILES: Final = {
    "type": "object",
    "properties": {"q": False},
    "additionalProperties": BOUND,
    "minProperties": 1,
}

GATES = (
    GateKind(
        "lower_bound",
        "metric",
        _make_lower_bound,
        description="bound of the lower end of the mean's interval; {max: x} bounds the upper end",
        schema=bound_schema(
            NUMBER,
            beside={
                "confidence": {**SHARE, "description": "of the interval; 0.95 when absent"},
                **CORRECTED_KEY,
            },
        ),
    ),
    GateKind(
        "quantile",
        "metric",
        _make_quantile,
        description="{q: bound}: a share 1 - q of the samples reaches the bound",
        schema={"anyOf": [_ONE_QUANTILE, _QUANTILES]},
    ),
)
"""Both are written under a metric or ``weighted_score``."""

"""The gates ``lower_bound`` and ``quantile``: a good mean alone is not enough.

``f1: {lower_bound: 0.75}`` requires that the mean is that good even allowing for chance;
``f1: {quantile: {0.1: 0.3}}`` that nine samples in ten are that good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, WrapValidator

from pytest_rageval.gates.agreement import CorrectedGate, labels_of
from pytest_rageval.gates.base import (
    BoundedGate,
    Gate,
    GateKind,
    Location,
    bound_result,
    ends_of,
    margin_of,
)
from pytest_rageval.gates.mean import MeanSpec
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Bound,
    GateResult,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.scenario.spec import BoundSpec, Forms, Share, without_own_keys
from pytest_rageval.stats.summary import weighted_interval, weighted_quantile
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import group_numbers, is_scored
from pytest_rageval.stats.wording import counted, estimate_text, figure, interval


@dataclass(frozen=True, slots=True)
class LowerBoundGate(BoundedGate):
    """Compares one end of the weighted mean's interval: the lower, or for a maximum the upper."""

    value_range: tuple[float, float]
    confidence: float = 0.95

    estimates: ClassVar[bool] = True

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when there are too few scores for an interval."""
        if result.estimates:
            return self._estimated(result)
        samples, values, weights = _scored(result, self.target)
        groups = group_numbers(result.info, samples)
        ends = weighted_interval(values, weights, self.value_range, self.confidence, groups)
        n_groups = None if groups is None else len(set(groups))
        if ends is None:
            scores = f"{counted(len(values), 'score')} of {self.target}"
            message = f"{scores} {'is' if len(values) == 1 else 'are'} too few for an interval"
            if n_groups is not None:
                found = f"{scores} in {counted(n_groups, 'group')} ({result.info.group_by})"
                message = (
                    f"{found} are too few for an interval: "
                    "at least 2 groups with a weight above 0 are needed"
                )
            return GateResult(self.name, "failed", None, self.bound.end, message)
        end = ends[0] if self.bound.min is not None else ends[1]
        mean = result.mean_of(self.target)
        remark = (
            f"{100 * self.confidence:.3g} % interval {ends[0]:.4f}..{ends[1]:.4f} "
            f"of the mean {mean:.4f}, n {len(values)}"
            + ("" if n_groups is None else f" in {counted(n_groups, 'group')}")
        )
        return bound_result(self.name, self.bound, end, remark=remark)

    def _estimated(self, result: ScenarioResult) -> GateResult:
        """Return the verdict where a sample of the rows was asked.

        The interval is that of a mean beyond these rows, as if all of them had been asked.
        """
        # Not at the top: most runs ask all rows.
        from pytest_rageval.stats.estimates import estimates_of

        sample = result.info.sample
        assert sample is not None
        baseline = result.info.baselines[sample.against]
        found = estimates_of(result, baseline, self.confidence)[self.target]
        end = found.beyond_low if self.bound.min is not None else found.beyond_high
        ends = interval(found.beyond_low, found.beyond_high)
        remark = f"{100 * self.confidence:.3g} % interval {ends} of the mean"
        remark = f"{remark} {figure(found.mean)}, {estimate_text(found, result.info)}"
        return bound_result(self.name, self.bound, end, found.why, remark)

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes it from."""
        return {
            "kind": "lower_bound",
            "target": self.target,
            "ends": ends_of(self.bound),
            "confidence": self.confidence,
        }


@dataclass(frozen=True, slots=True)
class QuantileGate(BoundedGate):
    """Requires that a share 1 - ``q`` of the samples, by weight, reaches a minimum.

    For a maximum: that a share ``q`` does not exceed it.
    """

    q: float

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when nothing was scored."""
        _, values, weights = _scored(result, self.target)
        missing, remark = f"no sample has a score of {self.target}", f"n {len(values)}"
        # One score may be both the last of the share below and the first of the rest.
        reached = weighted_quantile(values, weights, self.q, side="upper")
        not_above = weighted_quantile(values, weights, self.q)
        ends = [
            bound_result(self.name, bound, observed, missing, remark)
            for bound, observed in (
                (Bound(min=self.bound.min), reached),
                (Bound(max=self.bound.max), not_above),
            )
            if bound.end is not None
        ]
        return min(ends, key=margin_of)

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes it from."""
        ends = ends_of(self.bound)
        return {"kind": "quantile", "target": self.target, "ends": ends, "q": self.q}


def _scored(
    result: ScenarioResult, target: str
) -> tuple[list[SampleResult], list[float], list[float]]:
    """Return the samples with a score, their scores, and their weights."""
    pairs = [(sample, score_of(sample, target)) for sample in result.samples if sample.is_expected]
    found = [(sample, value) for sample, value in pairs if is_scored(value)]
    samples = [sample for sample, _ in found]
    return samples, [value for _, value in found], [sample.sample_weight for sample in samples]


class LowerBoundSpec(MeanSpec):
    """A bound of one end of the interval of a mean."""

    confidence: Share = Field(0.95, description="of the interval")


def _make_lower_bound(options: LowerBoundSpec, location: Location) -> list[Gate]:
    name, target, confidence = f"{location.target}.lower_bound", location.target, options.confidence
    bound = location.bound_of_metric(options)
    if bound.min is not None and bound.max is not None:
        raise location.error("give either 'min' or 'max': one end of the interval is judged")
    if options.corrected:
        human = labels_of(location, target, "a corrected mean")
        return [CorrectedGate(name, target, bound, human, True, confidence)]
    is_whole = target == WEIGHTED_SCORE
    value_range = location.info.weighted_range if is_whole else location.column.range
    return [LowerBoundGate(name, target, bound, value_range, confidence)]


class QuantileSpec(BoundSpec):
    """A bound of the quantile ``q`` of the samples' scores."""

    short_form = None

    # Beside this form, keys are numbers in YAML, which some validators cannot match to a pattern.
    model_config = ConfigDict(json_schema_extra={"patternProperties": {}})

    q: Share = Field(description="the share of samples whose scores lie below the quantile")


def _by_share(value: Any, read: Callable[[Any], dict[float, BoundSpec]]) -> dict[float, BoundSpec]:
    """Return the bounds by share, from ``{0.1: 0.3}`` or from ``{q: 0.1, min: 0.3}``."""
    value = without_own_keys(value)
    if isinstance(value, Mapping) and "q" in value:
        value = {str(value["q"]): {key: part for key, part in value.items() if key != "q"}}
    bounds = read(value)
    names = {f"{q:g}" for q in bounds}  # 0.1 and "0.10" are one
    if len(names) < len(value):
        raise ValueError(f"a quantile is named twice; there are {', '.join(sorted(names))}")
    return bounds


# In a scenario's JSON schema, `q` belongs to the other form alone.
_SeveralQuantiles = Annotated[
    dict[Share, BoundSpec], Field(min_length=1, json_schema_extra={"properties": {"q": False}})
]
_Quantiles = Annotated[
    _SeveralQuantiles, WrapValidator(_by_share), Forms(QuantileSpec, _SeveralQuantiles)
]


def _make_quantile(options: Mapping[float, BoundSpec], location: Location) -> list[Gate]:
    target = location.target
    return [
        QuantileGate(f"{target}.quantile.{q:g}", target, location.bound_of_metric(spec, str(q)), q)
        for q, spec in options.items()
    ]


GATES = (
    GateKind(
        "lower_bound",
        "metric",
        LowerBoundSpec,
        _make_lower_bound,
        description="minimum of the lower end of the mean's interval; {max: x} bounds the upper"
        " end",
    ),
    GateKind(
        "quantile",
        "metric",
        _Quantiles,
        _make_quantile,
        description="{0.1: 0.3}: nine of ten samples, by weight, reach 0.3; with {0.1: {max: "
        "2}} a share of 0.1 does not exceed 2",
        example="{0.1: 0.3}",
    ),
)
"""Both are written under a metric or ``weighted_score``."""

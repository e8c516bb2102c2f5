"""The gate ``agreement``: a metric agrees with people well enough to be believed.

``faithfulness: {agreement: {kappa: 0.6, specificity: {lower_bound: 0.7}, min_labels: 50}}``

Also what ``mean`` and ``lower_bound`` become with ``corrected: true``.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from pydantic import ConfigDict, Field

from pytest_rageval.gates.base import (
    AS_RUN,
    UNIT,
    Gate,
    GateKind,
    Location,
    bound_result,
    targets_of,
)
from pytest_rageval.model import (
    CHOSEN,
    RANDOM,
    Agreement,
    Bound,
    Corrected,
    GateResult,
    HumanLabels,
    Label,
    SampleResult,
    ScenarioResult,
)
from pytest_rageval.scenario.spec import BoundSpec, Spec, Whole
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted, label_range, labelled_thing, not_counted

FEW: Final = 10
"""Fewer labels than this say nothing, whatever ``min_labels`` asks for."""


UNWEIGHED: Final = ("spearman", "kendall", "auc", "alpha", "ceiling")
"""The coefficients in which each label counts alike."""


def labels_of(location: Location, metric: str, what: str) -> HumanLabels:
    """Return the labels of a metric; raises GateOptionError if the scenario names none."""
    for human in location.info.human:
        if human.metric == metric:
            return human
    written = f"human: {{file: labels.csv, of: {metric}}}"
    raise location.error(f"{what} needs labels of people: write {written}")


@dataclass(frozen=True, slots=True)
class AgreementGate(Gate):
    """Compares one coefficient, or the lower end of its interval, with a bound.

    An empty ``coefficient`` asks for ``min_labels`` alone.
    """

    by_labels: ClassVar[bool] = True

    name: str
    target: str
    human: HumanLabels
    coefficient: str
    bound: Bound
    min_labels: int = FEW
    takes_lower_end: bool = False
    has_cells: bool = False
    """Whether labels are about the cells of support tables."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The metric that it is about; none if it is about the table of several."""
        return () if self.has_cells else (self.target,)

    def for_page(self) -> dict[str, Any]:
        """Return that it stays as it ran; of a support table, whatever the weights."""
        return {"kind": AS_RUN, "targets": list(self.targets)}

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when there are too few labels, or no coefficient or interval can be had."""
        # Not at the top: scenarios without labels need no statistics of them.
        from pytest_rageval.stats.labels.agreement import agreement_of

        found = result.agreement.get(self.target) or agreement_of(result, self.human)
        if found.n < self.min_labels:
            return GateResult(
                self.name, "failed", None, self.bound.end, self._too_few(result, found)
            )
        if not self.coefficient:
            message = f"{self._counted(found.n)} >= {self.min_labels}"
            more = float(found.n - self.min_labels)
            return GateResult(self.name, "passed", found.n, self.min_labels, message, more)
        value = getattr(found, self.coefficient)
        end = getattr(found, f"{self.coefficient}_low") if self.takes_lower_end else value
        if value is None or end is None:
            return GateResult(self.name, "failed", None, self.bound.end, self._undefined(found))
        if self.coefficient in ("alpha", "ceiling") and (shared := self._shared(result)) < FEW:
            message = f"{self._counted(shared)} by two people or more, {FEW} are needed"
            return GateResult(self.name, "failed", None, self.bound.end, message)
        # A bound from below says that the direction counts.
        is_either_way = self.coefficient == "bias" and self.bound.min is None
        observed = abs(value) if is_either_way else end
        return bound_result(
            self.name, self.bound, observed, remark=self._remark(found) + self._unweighed(result)
        )

    def _shared(self, result: ScenarioResult) -> int:
        """Return how many of the answers that count two people or more labelled."""
        views = self._views(result)
        return sum(len({label.annotator for label in labels}) > 1 for _, labels in views)

    def _views(self, result: ScenarioResult) -> list[tuple[SampleResult, list[Label]]]:
        """Return each scored answer with the labels that are about it as it is now."""
        from pytest_rageval.stats.labels.cells import judged_of
        from pytest_rageval.stats.labels.strata import present_labels

        return [
            (sample, present_labels(sample, self.human.labels.get(sample.sample_id, ())))
            for sample in judged_of(result, self.human).samples
            if sample.is_expected and is_scored(score_of(sample, self.target))
        ]

    def _undefined(self, found: Agreement) -> str:
        """Return why there is no coefficient, or why it has no interval."""
        name = self.coefficient
        value, labels = getattr(found, name), self._counted(found.n)
        if value is None:
            what, why = f"{name} is undefined", found.why.get(name)
        else:
            what, why = f"{name} {value:.4f} has no interval", found.why.get(f"{name}_low")
        return f"{what}{f': {why}' if why else ''} ({labels})"

    def _too_few(self, result: ScenarioResult, found: Agreement) -> str:
        more = self.min_labels - found.n
        labels = f"{self._counted(found.n)}, {self.min_labels} are needed"
        file = f"{shlex.quote(result.info.path)} " if result.info.is_of_file else ""
        advice = f"label {more} more (pytest {file}--rag-label {more} draws them)"
        advice = self.human.blank or advice
        return f"{labels}: {advice}{self._left_out(found)}"

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
        return ", ".join(parts) + self._left_out(found)

    def _labels(self, found: Agreement) -> str:
        """Return how many answers the coefficient rests on; for a share, those of one level."""
        row = {"sensitivity": -1, "specificity": 0}.get(self.coefficient)
        if row is None:
            return self._counted(found.n)
        return f"{sum(found.confusion[row])} of {self._counted(found.n)}"

    def _counted(self, n: int) -> str:
        return counted(n, labelled_thing(self.has_cells))

    def _unweighed(self, result: ScenarioResult) -> str:
        """Return that labels drawn by strata do not weigh as such, beside ones that were chosen."""
        if self.coefficient in UNWEIGHED:
            return ""
        views = [
            {label.drawn for label in labels}
            for sample, labels in self._views(result)
            if sample.sample_weight > 0.0  # others are in no stratum
        ]
        chosen = sum(drawn == {CHOSEN} for drawn in views)
        strata = set().union(*views) - {CHOSEN, RANDOM}
        if not chosen or all(views) or not strata:
            return ""
        known = {code for draw in self.human.draws for code in draw.strata.values()}
        lost = "" if strata <= known else ", and no draws.json has all strata"
        return f"; {self._counted(chosen)} chosen by a person: none weighs by its stratum{lost}"

    def _left_out(self, found: Agreement) -> str:
        listed = ", ".join(not_counted(found, has_cells=self.has_cells))
        return f"; not counted: {listed}" if listed else ""


class CoefficientSpec(BoundSpec):
    """A bound of a coefficient, of the lower end of its interval, or of both."""

    one_of = (*BoundSpec.one_of, ("lower_bound",))

    lower_bound: BoundSpec | None = Field(None, description="of its interval")

    @property
    def is_of_value(self) -> bool:
        """Whether the coefficient itself has a bound."""
        return not {"value", "min", "max"}.isdisjoint(self.model_fields_set)

    def _check_ends(self) -> None:
        if self.lower_bound is None or self.is_of_value:
            super()._check_ends()


def _coefficient(description: str) -> Any:
    return Field(None, description=description)


class AgreementSpec(Spec):
    """How well a metric agrees with people; each coefficient has a bound, or ``lower_bound``."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    kappa: CoefficientSpec | None = _coefficient("Cohen's: agreement beyond chance, -1 to 1")
    weighted_kappa: CoefficientSpec | None = _coefficient(
        "the same; a difference of two levels counts four times one of a single level"
    )
    ac1: CoefficientSpec | None = _coefficient(
        "Gwet's, -1 to 1: steadier if nearly all answers have one level"
    )
    ac2: CoefficientSpec | None = _coefficient("the same, weighted as weighted_kappa")
    sensitivity: CoefficientSpec | None = _coefficient(
        "of the samples with the higher of two levels by people, the share that the judge gives it"
    )
    specificity: CoefficientSpec | None = _coefficient("the same of the lower level")
    spearman: CoefficientSpec | None = _coefficient(
        "rank correlation of scores and levels, -1 to 1"
    )
    kendall: CoefficientSpec | None = _coefficient("the same, Kendall's tau-b")
    auc: CoefficientSpec | None = _coefficient(
        "how often a sample of the higher of two levels has the higher score"
    )
    alpha: CoefficientSpec | None = _coefficient(
        "of two or more people among themselves: Krippendorff's, -1 to 1"
    )
    ceiling: CoefficientSpec | None = _coefficient(
        "the same: the mean kappa of pairs of annotators"
    )
    bias: BoundSpec | None = Field(
        None,
        description="the most that the mean of judge minus people may be, in either direction; "
        "with `min` the direction counts",
    )
    min_labels: Whole = Field(
        FEW,
        ge=FEW,
        description="with fewer labelled samples, each of these gates fails; `alpha` and "
        f"`ceiling` also with fewer than {FEW} that two people labelled",
    )


def _make(options: AgreementSpec, location: Location) -> list[Gate]:
    human = labels_of(location, location.target, "agreement")
    if not options.model_fields_set:
        raise location.error(f"expected a mapping, for instance {_EXAMPLE}")
    usual = AgreementGate(
        f"{location.target}.agreement",
        location.target,
        human,
        "",
        Bound(),
        options.min_labels,
        has_cells=location.target not in targets_of(location.info),
    )
    gates: list[Gate] = []
    coefficients = options.model_fields_set - {"min_labels"}
    for name in (field for field in AgreementSpec.model_fields if field in coefficients):
        if (spec := getattr(options, name)) is None:
            raise location.error("expected a number, or a mapping with 'min' or 'max'", name)
        gate = replace(usual, name=f"{usual.name}.{name}", coefficient=name)
        gates += _gates_of(gate, spec, location)
    return gates or [replace(usual, name=f"{usual.name}.min_labels")]


def ends_of_coefficient(coefficient: str) -> tuple[float, float]:
    """Return where a coefficient can lie; ``bias``, in the units of a metric, may be anywhere."""
    if coefficient in ("sensitivity", "specificity", "auc"):
        return UNIT
    return (-1e9, 1e9) if coefficient == "bias" else (-1.0, 1.0)


def _gates_of(usual: AgreementGate, spec: BoundSpec, location: Location) -> list[Gate]:
    """Return the gates of one coefficient: of its value, and of its lower end."""
    name, gates = usual.coefficient, list[Gate]()
    if not isinstance(spec, CoefficientSpec) or spec.is_of_value:
        bound = location.bound(
            spec, ends_of_coefficient(name), name, higher_is_better=name != "bias"
        )
        gates.append(replace(usual, bound=bound))
    if isinstance(spec, CoefficientSpec) and spec.lower_bound is not None:
        bound = location.bound(spec.lower_bound, ends_of_coefficient(name), name, "lower_bound")
        at_end = replace(usual, name=f"{usual.name}.lower_bound", bound=bound)
        gates.append(replace(at_end, takes_lower_end=True))
    return gates


_EXAMPLE: Final = "{kappa: 0.6, min_labels: 50}"

GATES = (
    GateKind(
        "agreement",
        "metric",
        AgreementSpec,
        _make,
        description="coefficient: bound; the metric agrees with people so well",
        example=_EXAMPLE,
    ),
)


@dataclass(frozen=True, slots=True)
class CorrectedGate(Gate):
    """Compares the corrected mean with a bound, or with ``takes_end`` an end of its interval.

    That is the lower end for a minimum, the upper one for a maximum.
    """

    by_labels: ClassVar[bool] = True

    name: str
    target: str
    bound: Bound
    human: HumanLabels
    takes_end: bool
    confidence: float = 0.95

    @property
    def targets(self) -> tuple[str, ...]:
        """The metric that it is about."""
        return (self.target,)

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when there are too few labels for a corrected mean."""
        # Not at the top: scenarios without labels need no statistics of them.
        from pytest_rageval.stats.labels.agreement import agreement_of
        from pytest_rageval.stats.labels.corrected_means import corrected_of

        known = result.corrected.get(self.target) if self.confidence == 0.95 else None
        found = known or corrected_of(result, self.human, self.confidence)
        if found.mean is None or found.ci_low is None or found.ci_high is None:
            why = found.why or "the labels give no interval"
            return GateResult(self.name, "failed", None, self.bound.end, why)
        observed = found.mean
        if self.takes_end:
            observed = found.ci_low if self.bound.min is not None else found.ci_high
        remark = (
            f"mean by people {found.mean:.4f}, {100 * self.confidence:.3g} % interval "
            f"{found.ci_low:.4f}..{found.ci_high:.4f}, {counted(found.labels, 'labelled answer')}; "
            f"by the judge alone {result.mean_of(self.target):.4f}"
        )
        unscored = agreement_of(result, self.human).unscored
        if unscored:
            remark += f"; not counted: {counted(unscored, 'labelled sample')} without a score"
        verdict = bound_result(self.name, self.bound, observed, remark=remark)
        if self.bound.holds(found.ci_low) == self.bound.holds(found.ci_high):
            return verdict
        return replace(verdict, message=verdict.message + self._how_many_more(result, found))

    def _how_many_more(self, result: ScenarioResult, found: Corrected) -> str:
        """Return in words how many labels would decide, where the bound lies in the interval."""
        assert found.mean is not None
        if self.takes_end and not self.bound.holds(found.mean):
            side = (
                f"below {self.bound.min:g}"
                if self.bound.min is not None
                else f"above {self.bound.max:g}"
            )
            return (
                f"; people's mean {found.mean:.4f} is itself {side}: more labels will hardly help"
            )
        from pytest_rageval.stats.labels.corrected_means import pilot_of
        from pytest_rageval.stats.labels.drawing import labels_needed
        from pytest_rageval.stats.labels.strata import Scale

        scale = Scale.of(result.info, self.human)
        distance = min(
            abs(found.mean - end) for end in (self.bound.min, self.bound.max) if end is not None
        )
        pilot = pilot_of(result, self.human)
        needed = labels_needed(pilot, distance / scale.span, self.confidence)
        if needed is None:
            return "; not sure yet"
        more = found.labels + 1
        count = label_range(max(needed[0], more), max(needed[1], more), len(pilot))
        if not count:
            return f"; not sure yet, nor would labels of all {len(pilot)} answers decide it"
        return f"; not sure yet: {count} labelled answers in all would decide it"

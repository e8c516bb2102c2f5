"""The gates ``mean`` and ``fail_under``: the weighted mean of a score meets its bound."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from pytest_rageval.gates.base import (
    UNIT,
    AnySample,
    BoundedGate,
    Gate,
    GateKind,
    Location,
    ShareSpec,
    Watch,
    bound_result,
    ends_of,
    targets_of,
)
from pytest_rageval.model import (
    TOLERANCE,
    WEIGHTED_SCORE,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.scenario.spec import BoundSpec, FlipChance, Portion
from pytest_rageval.stats.caveats import Applicable, applicable, remarks_of
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import resolve_weight
from pytest_rageval.stats.wording import estimate_text

if TYPE_CHECKING:
    from pytest_rageval.gates.worst_samples import WorstSamples
    from pytest_rageval.stats.certainty import GrowingMean
    from pytest_rageval.stats.stability import SecondRun


@dataclass(frozen=True, slots=True)
class MeanGate(BoundedGate):
    """Compares the mean, weighted by sample, over the samples that have the score.

    Answers to which the metric does not apply have the worst score, unless ``may_leave`` lets this
    share of them leave the mean.
    """

    may_leave: float | None = None
    max_flip: float | None = None
    """The largest chance that a second run on the same answers gives another verdict."""

    estimates: ClassVar[bool] = True

    @property
    def not_of_samples(self) -> str:
        """Why its options mean nothing for an estimate, "" if they do."""
        options = {"not_applicable": self.may_leave, "max_flip": self.max_flip}
        used = [name for name, value in options.items() if value is not None]
        return f"has {used[0]}, which needs every row; remove it, or sample" if used else ""

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also where nothing was scored, or where more leave the mean than may.

        And where a second run might give another verdict more often than ``max_flip``.
        """
        if result.estimates:
            found = result.estimates[self.target]
            said = remarks_of(result, self.target)
            remark = "; ".join(filter(None, [estimate_text(found, result.info), *said]))
            return bound_result(self.name, self.bound, found.mean, found.why, remark)
        left = applicable(result.samples, self.target)
        if left is not None and self.may_leave is not None:
            return self._without(result, left)
        summary = result.summary_of(self.target)
        over = f"over {summary.n} of {summary.n + summary.unscored} samples"
        remark = over if summary.unscored else ""
        missing = f"no sample has a score of {self.target}"
        mean = result.mean_of(self.target)
        return self._decided(result, result.samples, mean, missing, remark)

    def _without(self, result: ScenarioResult, left: Applicable) -> GateResult:
        share = f"{left.left_out} of {left.n} answers left out: {left.why}"
        missing = f"{self.target} applies to no answer"
        kept = self._applicable(result)
        found = self._decided(result, kept, left.mean, missing, share)
        if self.may_leave is None or left.share <= self.may_leave + TOLERANCE:
            return found
        message = f"{share}; not_applicable allows {self.may_leave:g}"
        return replace(found, outcome="failed", message=message, margin=None, flip_chance=None)

    def _applicable(self, result: ScenarioResult) -> list[SampleResult]:
        return [s for s in result.samples if s.left_out.get(self.target) != "answer"]

    def worst_samples(self, result: ScenarioResult, verdict: GateResult) -> list[WorstSamples]:
        """Return the samples that make the mean low: without those that leave it, if few enough."""
        left = applicable(result.samples, self.target)
        if self.may_leave is not None and left and left.share <= self.may_leave + TOLERANCE:
            result = replace(result, samples=self._applicable(result))
        return BoundedGate.worst_samples(self, result, verdict)  # no super() with slots

    def _decided(
        self,
        result: ScenarioResult,
        samples: Sequence[SampleResult],
        mean: float | None,
        missing: str,
        remark: str,
    ) -> GateResult:
        """Return the verdict on the mean of ``samples``, and how sure it is."""
        again = None if mean is None else again_of(result.info, samples, self.target)
        is_whole = samples is result.samples
        parts = [remark, *(remarks_of(result, self.target) if is_whole else ())]
        if mean is None or again is None:
            remark = "; ".join(filter(None, parts))
            return bound_result(self.name, self.bound, mean, missing, remark)
        said, chance = again.said(mean, self.bound), again.chance(mean, self.bound)
        remark = "; ".join(filter(None, [*parts, said]))
        found = bound_result(self.name, self.bound, mean, missing, remark)
        found = replace(found, flip_chance=chance)
        if self.max_flip is None or (again.sd is not None and (chance or 0.0) <= self.max_flip):
            return found
        if chance is not None:
            said = f"a second run would differ in {100.0 * chance:.3g} %"
        allowed = f"max_flip allows {100.0 * self.max_flip:g} %"
        message = f"cannot be decided: {said}, {allowed}; ask more repeats or more rows"
        return replace(found, outcome="failed", message=message, margin=None)

    def watch(
        self, info: ScenarioInfo, samples: Sequence[AnySample], error: float
    ) -> MeanWatch | None:
        """Return what follows the mean; None with options, or where the score is unbounded."""
        # Not at the top: most runs ask about every sample.
        from pytest_rageval.stats.certainty import GrowingMean

        low, high = score_range(self.target, info)
        if self.may_leave is not None or self.max_flip is not None:
            return None
        if not math.isfinite(high - low):
            return None
        weight = math.fsum(resolve_weight(info.doc_weights, sample.doc_name) for sample in samples)
        mean = GrowingMean(self.bound, (low, high), weight, len(samples), error)
        return MeanWatch(mean, lambda sample: score_of(sample, self.target))

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes it from."""
        if self.may_leave is not None or self.max_flip is not None:
            return BoundedGate.for_page(self)
        return {"kind": "mean", "target": self.target, "ends": ends_of(self.bound)}


def again_of(info: ScenarioInfo, samples: Sequence[SampleResult], target: str) -> SecondRun | None:
    """Return what is known of a second run; None where no judge is asked several times."""
    if not info.repeated:
        return None
    # Not at the top: most scenarios ask once.
    from pytest_rageval.stats.stability import second_run

    return second_run(info, samples, target)


def score_range(target: str, info: ScenarioInfo) -> tuple[float, float]:
    """Return where a score can lie; a weighted score, whichever of its metrics have a score."""
    if target != WEIGHTED_SCORE:
        return targets_of(info)[target].range
    ends = [metric.unit_range for metric in info.metrics if metric.weight > 0.0]
    return min(low for low, _ in ends), max(high for _, high in ends)


@dataclass(frozen=True, slots=True)
class MeanWatch(Watch):
    """Follows the mean of ``value_of`` the samples."""

    follows_scores: ClassVar[bool] = True

    mean: GrowingMean
    value_of: Callable[[SampleResult], float | None]
    is_weighted: bool = True

    @property
    def verdict(self) -> bool | None:
        """Whether the mean keeps its bound, None while that is open."""
        return self.mean.verdict

    def add(self, sample: SampleResult) -> None:
        """Note the value of a sample; an invalid row can have none."""
        if sample.invalid is None:
            weight = sample.sample_weight if self.is_weighted else 1.0
            self.mean.add(self.value_of(sample), weight, may_come=bool(sample.errors))


class MeanSpec(BoundSpec):
    """A bound of a mean."""

    corrected: bool = Field(
        False, description="the mean that people would give, by the labels of 'human'"
    )


class OwnMeanSpec(MeanSpec):
    """A bound of the mean itself."""

    not_applicable: Portion | None = Field(
        None,
        description="the share of answers that may leave the mean because the metric does not "
        "apply to them (they refuse, they cite nothing); when absent they count as "
        "worst",
    )
    max_flip: FlipChance | None = Field(
        None,
        description="the largest chance that a second run on the same answers gives another "
        "verdict; beyond it the gate fails as undecided. Needs 'judge.repeats'",
    )


def _make(options: OwnMeanSpec, location: Location) -> list[Gate]:
    bound = location.bound_of_metric(options)
    if options.max_flip is not None:
        _refuse_steady(options, location)
    name = location.target if location.target == WEIGHTED_SCORE else f"{location.target}.mean"
    if options.corrected and options.not_applicable is not None:
        why = "is of the judge's own mean, not of the corrected one: remove one of the two"
        raise location.error(why, "not_applicable")
    if options.corrected:
        # Not at the top: most scenarios have no labels of people.
        from pytest_rageval.gates.agreement import CorrectedGate, labels_of

        human = labels_of(location, location.target, "a corrected mean")
        return [CorrectedGate(name, location.target, bound, human, takes_end=False)]
    if options.not_applicable is not None and location.target == WEIGHTED_SCORE:
        raise location.error(
            "is of a metric; weighted_score has no answers to leave out", "not_applicable"
        )
    return [MeanGate(name, location.target, bound, options.not_applicable, options.max_flip)]


def _refuse_steady(options: OwnMeanSpec, location: Location) -> None:
    """Raise GateOptionError where it is not known how often a second run would differ."""
    info, target = location.info, location.target
    weighing = [column.name for column in info.metrics if column.weight > 0.0]
    names = weighing if target == WEIGHTED_SCORE else [target]
    filled = [column.name for column in info.metrics if column.name in names and column.filled]
    why = ""
    if options.corrected:
        why = "is of the judge's own mean, not of the corrected one: remove one of the two"
    elif filled:
        why = f"is not known of {filled[0]}: of repeated grades the middle one is kept"
    elif not info.repeated:
        why = "needs 'repeats' of a judge: write judge: {model: ..., repeats: 3}"
    elif set(names).isdisjoint(info.repeated):
        known = ", ".join(info.repeated)
        why = f"needs repeats, and no judge is asked for {target}; they are known of {known}"
    if why:
        raise location.error(why, "max_flip")


def _make_fail_under(options: ShareSpec, location: Location) -> list[Gate]:
    return [MeanGate("fail_under", WEIGHTED_SCORE, location.bound(options, UNIT))]


GATES = (
    GateKind(
        "mean",
        "metric",
        OwnMeanSpec,
        _make,
        description="bound of the mean, weighted by sample",
    ),
    GateKind(
        "fail_under",
        "scenario",
        ShareSpec,
        _make_fail_under,
        description="a second minimum of the mean weighted_score, which --rag-fail-under sets",
    ),
)
"""``--rag-fail-under`` adds ``fail_under`` to the scenario's own gates."""

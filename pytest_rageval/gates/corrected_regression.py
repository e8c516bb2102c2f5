"""The gate ``no_regression`` with ``corrected: true``: the difference that people would see.

An answer that is equal in both runs is no difference. Of the others some must be labelled on both
sides, else the gate fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from statistics import NormalDist
from typing import ClassVar, Literal

from pytest_rageval.gates.agreement import labels_of
from pytest_rageval.gates.base import Place
from pytest_rageval.gates.regression import FEW_PAIRS, UNDECIDED, RegressionGate
from pytest_rageval.model import (
    NOTHING,
    TOLERANCE,
    Corrected,
    GateResult,
    HumanLabels,
    ScenarioResult,
)
from pytest_rageval.stats.paired import power_factor
from pytest_rageval.stats.weights import is_scored, weighted_mean
from pytest_rageval.stats.wording import counted


@dataclass(frozen=True, slots=True)
class CorrectedRegressionGate(RegressionGate):
    """Judges each metric by the interval of the corrected difference; ``human`` is by metric.

    For several metrics each interval has its share of alpha (Bonferroni).
    """

    by_labels: ClassVar[bool] = True

    human: Mapping[str, HumanLabels] = field(default_factory=lambda: NOTHING)

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail if people would see a fall, or it cannot be decided."""
        found = [self._difference(result, name) for name in self.targets]
        failed = [one for one in found if one.fell or (one.why and self.undecided == "fail")]
        shown = failed or [min(found, key=lambda one: one.gain or 0.0)]
        worst = min(shown, key=lambda one: -1e300 if one.gain is None else one.gain)
        message = "; ".join(one.message for one in shown)
        if any(one.why for one in failed):
            is_few = any("min_pairs" in one.why for one in failed)
            message += f"; to let it pass: {FEW_PAIRS if is_few else UNDECIDED}"
        outcome: Literal["failed", "passed"] = "failed" if failed else "passed"
        margin = None if worst.gain is None else worst.gain + self.max_drop
        return GateResult(self.name, outcome, worst.gain, -self.max_drop, message, margin)

    def _difference(self, result: ScenarioResult, name: str) -> _Seen:
        # Not at the top: scenarios without labels need no statistics of them.
        from pytest_rageval.stats.comparison import paired_scores
        from pytest_rageval.stats.labels.corrected_means import corrected_difference

        confidence = 1.0 - self.test.alpha / len(self.targets)
        found = corrected_difference(result, self.human[name], self.baseline, confidence)
        pairs = [
            (paired_scores(result.info, sample, self.baseline, name), sample.sample_weight)
            for sample in result.samples
            if sample.is_expected and sample.sample_weight > 0.0
        ]
        both = [(a - b, weight) for (a, b), weight in pairs if is_scored(a) and is_scored(b)]
        why = self._too_few(result, len(both), "have a score in both runs") or found.why
        if found.mean is None or found.ci_low is None or found.ci_high is None:
            why = why or "the labels give no interval"
            return _Seen(None, f"{name}: cannot be decided: {why}", why)
        sign = 1.0 if self.higher_is_better[name] else -1.0
        ends = sorted((sign * found.ci_low, sign * found.ci_high))
        fell = self._has_fallen(sign * found.mean, ends[0], ends[1])
        by_judge = weighted_mean(both)
        message = self._text(name, found, 0.0 if by_judge is None else by_judge, fell=fell)
        if why:
            message += f"; cannot be decided: {why}"
        return _Seen(sign * found.mean, message, why, fell)

    def _has_fallen(self, gain: float, low: float, high: float) -> bool:
        allowed = -self.max_drop - TOLERANCE
        match self.mode:
            case "non_inferior":
                return low < allowed
            case "exceeds":
                return high < allowed
            case "any":
                return gain < allowed
        return gain < allowed and high < 0.0

    def _text(self, name: str, found: Corrected, by_judge: float, *, fell: bool) -> str:
        confidence = 100 * (1.0 - self.test.alpha / len(self.targets))
        worse = "fall" if self.higher_is_better[name] else "rise"
        word = f"a {worse} beyond max_drop {self.max_drop:g}" if fell else f"no such {worse} shown"
        text = (
            f"{name}: {word} (mode {self.mode}): by people {found.mean:+.4f} against "
            f"{self.baseline.name}, {confidence:.3g} % interval {found.ci_low:+.4f}.."
            f"{found.ci_high:+.4f}, {counted(found.labels, 'changed answer')} labelled on both "
            f"sides; by the judge alone {by_judge:+.4f}"
        )
        if fell or self.mode == "any" or found.ci_low is None or found.ci_high is None:
            return text
        half = (found.ci_high - found.ci_low) / 2.0
        alpha = self.test.alpha / len(self.targets)
        smallest = half * power_factor(alpha) / NormalDist().inv_cdf(1.0 - alpha / 2.0)
        return (
            f"{text}; with these labels, a {worse} below {smallest:.4f} may go unseen (power 80 %)"
        )


@dataclass(frozen=True, slots=True)
class _Seen:
    """A metric in both runs; ``gain`` is negative where people see this run worse."""

    gain: float | None
    message: str
    why: str = ""
    fell: bool = False


def corrected_gate(gate: RegressionGate, place: Place) -> CorrectedRegressionGate:
    """Return a gate with the same options that judges what people would see.

    Raises GateOptionError for a metric without labels, and for a fall in per cent.
    """
    if gate.relative:
        message = "give the fall as a number: per cent of the judge's mean is none of people's"
        raise place.error(message, "max_drop")
    human = {name: labels_of(place, name, "corrected: true") for name in gate.targets}
    options = {option.name: getattr(gate, option.name) for option in fields(gate)}
    return CorrectedRegressionGate(**options, human=human)

"""The gates ``mean`` and ``lower_bound`` with ``corrected: true``: the mean that people would give.

The judge's scores of all samples are corrected by labels of some of them. Without enough labels
the gate fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pytest_rageval.gates.base import Gate, bound_result
from pytest_rageval.model import Bound, Corrected, GateResult, HumanLabels, ScenarioResult
from pytest_rageval.stats.wording import counted, label_range


@dataclass(frozen=True, slots=True)
class CorrectedGate(Gate):
    """Compares the corrected mean, or the worse end of its interval, with a bound."""

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
        return GateResult(
            verdict.name,
            verdict.outcome,
            verdict.observed,
            verdict.bound,
            verdict.message + self._how_many_more(result, found),
            verdict.margin,
        )

    def _how_many_more(self, result: ScenarioResult, found: Corrected) -> str:
        """Return how many labels would decide, where the interval holds the bound."""
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
        needed = labels_needed(pilot, distance / scale.span)
        if needed is None:
            return "; not sure yet"
        more = found.labels + 1
        count = label_range(max(needed[0], more), max(needed[1], more), len(pilot))
        if not count:
            return f"; not sure yet, nor would labels of all {len(pilot)} answers decide it"
        return f"; not sure yet: {count} labelled answers in all would decide it"

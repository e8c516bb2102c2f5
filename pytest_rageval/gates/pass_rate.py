"""The gate ``pass_rate``: the share of samples that meet all their thresholds.

Samples whose thresholds cannot be judged are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_rageval.gates.base import (
    UNIT,
    AnySample,
    Gate,
    GateKind,
    Location,
    NoThresholdsError,
    ShareSpec,
    bound_result,
    ends_of,
)
from pytest_rageval.gates.mean import MeanWatch
from pytest_rageval.gates.worst_samples import LISTED, WorstSamples
from pytest_rageval.model import Bound, GateResult, SampleResult, ScenarioInfo, ScenarioResult
from pytest_rageval.stats.certainty import GrowingMean
from pytest_rageval.stats.verdict import badness, is_ruled_out, row_rules_out, score_of, shortfalls
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import counted


@dataclass(frozen=True, slots=True)
class PassRateGate(Gate):
    """Counts samples, not weights, among those that the thresholds can judge."""

    bound: Bound
    thresholds: Mapping[str, Bound]
    name: str = "pass_rate"

    def asks_nothing_of(self, sample: SampleResult) -> bool:
        """Return whether the row rules out all thresholds, and no metric fails the sample."""
        is_out = all(row_rules_out(sample, name) for name in self.thresholds)
        return is_out and not shortfalls(sample, self.thresholds)

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when nothing was scored."""
        scored = [sample for sample in result.samples if self._judges(sample)]
        met = sum(not shortfalls(sample, self.thresholds) for sample in scored)
        rate = met / len(scored) if scored else None
        remark = f"{met} of {len(scored)} scored samples"
        return bound_result(self.name, self.bound, rate, "no sample was scored", remark)

    def worst_samples(self, result: ScenarioResult, verdict: GateResult) -> list[WorstSamples]:
        """Return the samples that miss a threshold, those with the lowest weighted scores first."""
        missed = [
            (str(found[0]), sample)
            for sample in sorted(filter(self._judges, result.samples), key=badness)
            if (found := shortfalls(sample, self.thresholds))
        ]
        heading = f"{counted(len(missed), 'sample')} below a threshold; the lowest:"
        return [WorstSamples(heading, tuple(missed[:LISTED]))] if missed else []

    def watch(self, info: ScenarioInfo, samples: Sequence[AnySample], error: float) -> MeanWatch:
        """Return what follows the share while samples are scored."""
        rate = GrowingMean(self.bound, (0.0, 1.0), len(samples), len(samples), error)
        return MeanWatch(rate, self._met, is_weighted=False)

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes the gate from."""
        return {"kind": "pass_rate", "ends": ends_of(self.bound)}

    def _met(self, sample: SampleResult) -> float | None:
        """Return 1.0 or 0.0, None for a sample that is not counted."""
        missed = shortfalls(sample, self.thresholds)
        return float(not missed) if self._judges(sample) else None

    def _judges(self, sample: SampleResult) -> bool:
        """Return whether the sample misses a threshold, or has all scores that thresholds need."""
        judging = [name for name in self.thresholds if not is_ruled_out(sample, name)]
        known = bool(judging) and all(is_scored(score_of(sample, name)) for name in judging)
        return sample.is_expected and (known or bool(shortfalls(sample, self.thresholds)))


def _make(options: ShareSpec, location: Location) -> list[Gate]:
    info = location.info
    if not info.thresholds:
        message = "needs 'thresholds': without any, no score is too low"
        raise NoThresholdsError(location.path, message)
    return [PassRateGate(location.bound(options, UNIT), info.thresholds)]


GATES = (
    GateKind(
        "pass_rate",
        "scenario",
        ShareSpec,
        _make,
        description="minimum of the share of samples that keep all thresholds, of those that "
        "can be judged; not weighted",
    ),
)

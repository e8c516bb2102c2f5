"""The gates ``selective`` and ``aurc``: whether answers are good where the system is sure of them.

``f1: {selective: {coverage: 0.8, min: 0.9}}`` requires a mean of 0.9 over the most confident 80 %;
``f1: {aurc: {max: 0.2}}`` bounds the mean risk over all such shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from pytest_rageval.gates.base import (
    UNIT,
    BoundedGate,
    Gate,
    GateKind,
    Location,
    bound_result,
    make_gates,
    targets_of,
)
from pytest_rageval.gates.unscored import UnscoredGate
from pytest_rageval.gates.worst_samples import LISTED, WorstSamples, weighing
from pytest_rageval.model import (
    WEIGHTED_SCORE,
    Bound,
    GateResult,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    finite_ends,
)
from pytest_rageval.scenario.spec import BoundSpec, Portion
from pytest_rageval.stats.summary import weighted_interval
from pytest_rageval.stats.verdict import score_of
from pytest_rageval.stats.weights import group_numbers, is_scored, rescale
from pytest_rageval.stats.wording import counted

if TYPE_CHECKING:
    from pytest_rageval.stats.selective import Figure, Ranked
    from pytest_rageval.stats.summary import Groups

_FIELD: Final = "dataset: {key_map: {confidence: <column>}}"
_LOOKED_AT: Final = 0.5
"""The share whose worst samples are shown for the area, which is over all shares."""


@dataclass(frozen=True, slots=True)
class ConfidenceGate(BoundedGate):
    """Bounds a figure of the samples in order of their confidence.

    It is the mean of the most confident share ``coverage``. Without one it is the area under the
    curve of risk over coverage, and the more confident half is searched for the worst samples.
    """

    column: MetricColumn
    coverage: float | None = None

    @property
    def score_bound(self) -> Bound | None:
        """None for the area: it bounds a risk, and a perfect score of 1 would be above it."""
        return None if self.coverage is None else self.bound

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also when nothing was scored, or too many samples lack a confidence.

        As many may as the gate ``unscored`` allows to lack a score.
        """
        scored = self._scored(result)
        samples = [sample for sample in scored if sample.confidence is not None]
        if not scored:
            missing = f"no sample has a score of {self.target}"
            return bound_result(self.name, self.bound, None, missing)
        if not samples:
            missing = f"no sample has a confidence; name its column, {_FIELD}"
            return bound_result(self.name, self.bound, None, missing)
        lacking = len(scored) - len(samples)
        verdict = self._verdict(result, samples, lacking)
        if lacking and not _may_lack(result.info, self.target).holds(lacking / len(scored)):
            share = math.ceil(100 * lacking / len(scored)) / 100
            allow = share if self.target == WEIGHTED_SCORE else f"{{{self.target}: {share:g}}}"
            message = (
                f"{lacking} of {counted(len(scored), 'sample')} have no confidence; if that is in "
                f"order, 'gates: {{unscored: {allow}}}' would allow it"
            )
            return replace(verdict, outcome="failed", message=message, margin=None)
        return verdict

    def _scored(self, result: ScenarioResult) -> list[SampleResult]:
        return [sample for sample in weighing(result) if is_scored(score_of(sample, self.target))]

    def _verdict(
        self, result: ScenarioResult, samples: list[SampleResult], lacking: int
    ) -> GateResult:
        ranked, figure = self._ranked(samples), self._figure()
        groups = group_numbers(result.info, samples)
        unit = "sample" if groups is None else f"{result.info.group_by}"
        parts = [
            self._extent(ranked),
            f"{counted(lacking, 'sample')} without confidence left out" if lacking else "",
            self._interval(ranked, groups, unit),
        ]
        remark = ", ".join(filter(None, parts))
        return bound_result(self.name, self.bound, figure(ranked, ranked.once), remark=remark)

    def _interval(self, ranked: Ranked, groups: Groups, unit: str) -> str:
        """Return the interval in words: for a mean as everywhere, for the area from resamples."""
        # Not at the top: numpy takes longer to load than this package.
        from pytest_rageval.stats.selective import LEAST_DRAWN, aurc, bootstrap_interval, covered

        units = "samples" if groups is None else f"values of {unit}"
        if self.coverage is None:
            found, how = bootstrap_interval(ranked, aurc, groups), f", bootstrap by {unit}"
            is_few = len(ranked.scores if groups is None else set(groups)) < LEAST_DRAWN
            why = f"fewer than {LEAST_DRAWN} {units}" if is_few else "resamples do not vary"
        else:
            places = covered(ranked, self.coverage)
            scores = [ranked.scores[at] for at in places]
            weights = [ranked.weights[at] for at in places]
            kept = None if groups is None else [groups[at] for at in places]
            found = weighted_interval(scores, weights, self.column.range, groups=kept)
            how, why = "" if groups is None else f" by {unit}", f"too few {units}"
        if found is None:
            return f"no interval: {why}"
        return f"95 % interval {found[0]:.4f}..{found[1]:.4f}{how}"

    def _ranked(self, samples: list[SampleResult]) -> Ranked:
        from pytest_rageval.stats.selective import Ranked

        scores = [score_of(sample, self.target) or 0.0 for sample in samples]
        if self.coverage is None:
            scores = [self.column.to_unit(score) for score in scores]
        return Ranked(
            [sample.confidence or 0.0 for sample in samples],
            scores,
            rescale([sample.sample_weight for sample in samples]),
        )

    def _figure(self) -> Figure:
        from pytest_rageval.stats.selective import aurc, selective_mean

        return aurc if self.coverage is None else selective_mean(self.coverage)

    def _extent(self, ranked: Ranked) -> str:
        """Return over how many samples the figure is, and how sure the least sure one is."""
        if self.coverage is None:
            return f"n {len(ranked.scores)}"
        from pytest_rageval.stats.selective import covered

        places = covered(ranked, self.coverage)
        least = min(ranked.confidences[at] for at in places)
        return f"the most confident {len(places)} of {len(ranked.scores)}, from {least:g} up"

    def worst_samples(self, result: ScenarioResult, verdict: GateResult) -> list[WorstSamples]:
        """Return the worst of the answers that the system is surest of, without perfect ones."""
        from pytest_rageval.stats.selective import covered

        samples = [sample for sample in self._scored(result) if sample.confidence is not None]
        if not samples:
            return []
        places = covered(self._ranked(samples), self.coverage or _LOOKED_AT)
        rows = [(score_of(samples[at], self.target) or 0.0, samples[at]) for at in places]
        rows.sort(key=lambda row: row[0] if self.column.higher_is_better else -row[0])
        heading = f"the worst {self.target} of the {len(rows)} most confident:"
        best = self.column.range[1 if self.column.higher_is_better else 0]
        low = [row for row in rows if row[0] != best]
        shown = tuple((f"{score:.4f}", sample) for score, sample in low[:LISTED])
        return [WorstSamples(heading, shown)] if shown else []


def _may_lack(info: ScenarioInfo, target: str) -> Bound:
    """Return the bound of the share of samples that may lack a confidence: that of ``unscored``."""
    given = info.gates.get("unscored")
    (gate,) = [UnscoredGate()] if given is None else make_gates({"unscored": given}, info)
    assert isinstance(gate, UnscoredGate)
    return gate.shares.get(target, gate.bound)


class SelectiveSpec(BoundSpec):
    """A bound of the mean over the most confident share of the samples."""

    short_form = None

    coverage: Annotated[Portion, Field(gt=0.0)] = Field(
        description="the share of samples, by weight, that the system is surest of"
    )


def _make_selective(options: SelectiveSpec, location: Location) -> list[Gate]:
    bound, name = location.bound_of_metric(options), f"{location.target}.selective"
    column = location.column
    if location.target == WEIGHTED_SCORE:
        column = replace(column, ends=finite_ends(location.info.weighted_range))
    return [ConfidenceGate(name, location.target, bound, column, options.coverage)]


def _make_aurc(options: BoundSpec, location: Location) -> list[Gate]:
    target, column = location.target, location.column
    ends = location.info.weighted_range if target == WEIGHTED_SCORE else column.unit_range
    if not (ends[0] >= 0.0 and ends[1] <= 1.0):
        raise location.error(f"needs scores from 0 to 1, and {target} has the range {_text(ends)}")
    bound = location.bound(options, UNIT, higher_is_better=False)
    return [ConfidenceGate(f"{target}.aurc", target, bound, targets_of(location.info)[target])]


def _text(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g}..{ends[1]:g}"


GATES = (
    GateKind(
        "selective",
        "metric",
        SelectiveSpec,
        _make_selective,
        description="{coverage: 0.8, min: 0.9}: bound of the mean over the most confident 80 % "
        "of the samples, by weight; equal confidences stay together",
        example="{coverage: 0.8, min: 0.9}",
    ),
    GateKind(
        "aurc",
        "metric",
        BoundSpec,
        _make_aurc,
        description="maximum of the area under the curve of risk over coverage, 0 to 1: the "
        "mean, over all shares of the most confident samples, of 1 minus their mean"
        " score. For scores in a closed range",
    ),
)
"""Both are written under a metric or ``weighted_score``, and read the field ``confidence``."""

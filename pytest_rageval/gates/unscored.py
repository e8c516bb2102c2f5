"""The gate ``unscored``: the share of samples without a weighted score, at most 0 by default.

A metric that failed is missed, too, if a gate or threshold names it, also where it weighs nothing.
Every scenario is held to it, since a run in which nothing was scored must not be green; without
other gates it is shown only where it fails.
``unscored: {faithfulness: 0.05}`` lets that metric be missing in this share of the samples, which
are then xfailed; all other samples must have a weighted score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from pytest_rageval.errors import unknown_name
from pytest_rageval.gates.base import (
    AnySample,
    Gate,
    GateKind,
    Location,
    ShareSpec,
    Watch,
    bound_result,
    ends_of,
    largest_share,
    make_gates,
    margin_of,
)
from pytest_rageval.model import (
    NOTHING,
    REPLAY,
    TARGET,
    WEIGHTED_SCORE,
    Bound,
    GateResult,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
)
from pytest_rageval.scenario.spec import Forms, without_own_keys
from pytest_rageval.stats.verdict import (
    blamed_metrics,
    is_all_ruled_out,
    is_ruled_out,
    is_tolerated,
    row_rules_out,
    score_of,
    was_not_asked,
)
from pytest_rageval.stats.weights import is_scored

_NONE_UNSCORED = Bound(max=0.0)
_LISTED = 3
_MOST_ADVISED = 0.2
"""The largest share of missing scores that a message says how to allow."""


@dataclass(frozen=True, slots=True)
class UnscoredGate(Gate):
    """Bounds the share of samples without a weighted score, of those that were to have one.

    These are neither skipped nor allowed to be invalid, and not every metric is ruled out for them.
    One for which a ``required`` metric failed, which a gate or threshold names, counts, too.
    ``shares`` are the largest shares of samples that may lack a metric, by its name.
    """

    bound: Bound = _NONE_UNSCORED
    name: str = "unscored"
    shares: Mapping[str, Bound] = field(default_factory=lambda: NOTHING)
    required: frozenset[str] = frozenset()

    def asks_nothing_of(self, sample: SampleResult) -> bool:
        """Return whether the data alone rule every metric out."""
        return row_rules_out(sample, WEIGHTED_SCORE)

    def check(self, result: ScenarioResult) -> GateResult:
        """Fail also where nothing was to be scored, or nothing was."""
        expected = [sample for sample in result.samples if _is_to_be_scored(sample)]
        if not expected:
            why = "are skipped or invalid, or no metric applies to them"
            message = f"nothing was scored: all {len(result.samples)} samples {why}"
            return GateResult(self.name, "failed", None, self.bound.end, message)
        counted = [sample for sample in expected if self.counts(result.info, sample)]
        share = len(counted) / len(expected)
        has_score = any(is_scored(score) for sample in expected for score in sample.scores.values())
        if len(counted) == len(expected) or not has_score:
            because = _because(self, result.info, expected)
            message = f"none of {len(expected)} samples was scored{because}"
            return GateResult(self.name, "failed", share, self.bound.end, message)
        remark = f"{len(counted)} of {len(expected)} samples{_because(self, result.info, counted)}"
        found = bound_result(self.name, self.bound, share, remark=remark)
        if found.outcome == "failed":
            way_out = _way_out(self, result.info, expected, counted)
            found = replace(found, message=found.message + way_out)
        return self._with_shares(result, found, expected)

    def requiring(self, names: frozenset[str]) -> UnscoredGate:
        """Return the gate with these ``required`` scores."""
        return replace(self, required=names)

    def counts(self, info: ScenarioInfo, sample: SampleResult) -> bool:
        """Return whether a score is missing that may not be."""
        is_whole = is_scored(sample.weighted_score) or is_tolerated(info, sample, self.shares)
        return not is_whole or bool(self.failed(sample))

    def failed(self, sample: SampleResult) -> list[str]:
        """Return the required metrics that failed, but for those that may be missing."""
        return [
            name
            for name in sample.scores
            if name in sample.errors
            and name in self.required
            and _lacks(sample, name)
            and (name not in self.shares or was_not_asked(sample, name))
        ]

    def _with_shares(
        self, result: ScenarioResult, general: GateResult, expected: Sequence[SampleResult]
    ) -> GateResult:
        """Return the worst of the general verdict and the verdicts on metrics that may be missing.

        The message names all that fail, and thresholds that no sample has a score for.
        """
        verdicts = [general]
        for metric, bound in self.shares.items():
            missing = sum(_lacks(sample, metric) for sample in expected)
            remark = f"{metric} is missing in {missing} of {len(expected)} samples"
            verdicts.append(bound_result(self.name, bound, missing / len(expected), remark=remark))
        verdicts += [
            GateResult(
                self.name,
                "failed",
                1.0,
                self.bound.end,
                f"no sample has a score of {name}: its threshold judged nothing",
            )
            for name in (result.info.thresholds if self.shares else ())
            if not any(is_scored(score_of(sample, name)) for sample in expected)
        ]
        failed = [verdict for verdict in verdicts if verdict.outcome == "failed"]
        worst = min(failed or verdicts, key=margin_of)
        message = "; ".join(verdict.message for verdict in failed or verdicts)
        return replace(worst, message=message)

    def watch(
        self, info: ScenarioInfo, samples: Sequence[AnySample], error: float
    ) -> UnscoredWatch:
        """Return what counts the missing scores."""
        return UnscoredWatch(self, info)

    def for_page(self) -> dict[str, Any]:
        """Return what the page computes it from."""
        shares = [[name, ends_of(bound)] for name, bound in self.shares.items()]
        bounds = {"ends": ends_of(self.bound), "shares": shares}
        return {"kind": "unscored", **bounds, "required": sorted(self.required)}


def gates_of(info: ScenarioInfo) -> list[Gate]:
    """Return the gates of a scenario; if it has any, ``unscored`` is one of them."""
    gates = make_gates(info.gates, info)
    if gates and not any(gate.name == "unscored" for gate in gates):
        gates.append(UnscoredGate())
    names = needed_scores(info, gates)
    return [gate.requiring(names) for gate in gates]


def needed_scores(info: ScenarioInfo, gates: Iterable[Gate]) -> frozenset[str]:
    """Return the scores that a threshold or one of the gates needs."""
    return frozenset(info.thresholds).union(*(gate.targets for gate in gates))


class UnscoredWatch(Watch):
    """Is certain while the gate passes for the samples so far: those not asked do not count.

    If the gate fails so far, every sample is needed: a failed one may be run again, and scored.
    """

    def __init__(self, gate: UnscoredGate, info: ScenarioInfo) -> None:
        self._gate = gate
        self._info = info
        self._n = self._counted = 0
        self._missing: Counter[str] = Counter()
        self._scored: set[str] = set()

    @property
    def is_certain(self) -> bool:
        """Whether no share is too large so far, and every threshold judges something.

        The thresholds count only where there are ``shares``. More samples may make it False again.
        """
        gate, needed = self._gate, self._info.thresholds if self._gate.shares else ()
        return (
            self._counted < self._n
            and bool(self._scored)
            and gate.bound.holds(self._counted / self._n)
            and all(
                most.holds(self._missing[metric] / self._n) for metric, most in gate.shares.items()
            )
            and self._scored.issuperset(needed)
        )

    def add(self, sample: SampleResult) -> None:
        """Count what the sample lacks."""
        if not _is_to_be_scored(sample):
            return
        self._n += 1
        self._counted += self._gate.counts(self._info, sample)
        self._missing.update(name for name in self._gate.shares if _lacks(sample, name))
        self._scored.update(name for name, score in sample.scores.items() if is_scored(score))
        self._scored.update([WEIGHTED_SCORE] if is_scored(sample.weighted_score) else ())


def _because(gate: UnscoredGate, info: ScenarioInfo, samples: Sequence[SampleResult]) -> str:
    """Return which scores the samples lack, the most frequent first."""
    blamed = Counter(name for sample in samples for name in _to_blame(gate, info, sample))
    found = [f"{name} missing on {count}" for name, count in blamed.most_common(_LISTED)]
    return f": {', '.join(found)}" if found else ""


def _way_out(
    gate: UnscoredGate,
    info: ScenarioInfo,
    expected: Sequence[SampleResult],
    counted: Sequence[SampleResult],
) -> str:
    """Return what to write in the scenario to allow the missing scores or invalid rows, or why not.

    No advice allows a metric to be missing in more than a fifth of the samples (R6). What was not
    asked is a fault of the run, which no share allows.
    """
    if any(_is_not_recorded(gate, info, sample) for sample in counted):
        return "; not in the cache: no share allows that, run once without --rag-cache=replay"
    blamed = {name for sample in counted for name in _to_blame(gate, info, sample)}
    names = [column.name for column in info.metrics if column.name in blamed]
    missing = {name: _share(name, expected) for name in names}
    if too_many := [name for name, share in missing.items() if share > _MOST_ADVISED]:
        return f"; too many to allow: look at what {', '.join(too_many)} failed for"
    if any(was_not_asked(sample, name) for sample in counted for name in names):
        return f"; no share allows what was not asked: look at what {', '.join(names)} failed for"
    if names:
        shares = ", ".join(f"{name}: {share:g}" for name, share in missing.items())
        why = f"; look at why {', '.join(names)} is missing; if that is in order"
        return f"{why}, 'gates: {{unscored: {{{shares}}}}}' would allow it"
    if "row" in blamed:
        return "; 'dataset.on_invalid: skip' with the gate 'invalid' allows invalid rows"
    return ""


def _is_to_be_scored(sample: SampleResult) -> bool:
    """Return whether a score was to be had, and not every metric is ruled out by row or run."""
    return sample.is_expected and not is_all_ruled_out(sample)


def _lacks(sample: SampleResult, name: str) -> bool:
    """Return whether a sample has no score of a metric that neither row nor run rule out."""
    is_left_out = is_ruled_out(sample, name)
    return not is_scored(sample.scores.get(name)) and not is_left_out


def _is_not_recorded(gate: UnscoredGate, info: ScenarioInfo, sample: SampleResult) -> bool:
    """Return whether a score is missing because the cache that is replayed has no reply."""
    blamed = _to_blame(gate, info, sample)
    return any(sample.errors.get(name, "").startswith(REPLAY) for name in blamed)


def _share(name: str, expected: Sequence[SampleResult]) -> float:
    """Return the share of samples without a metric, rounded up to a hundredth."""
    missing = sum(_lacks(sample, name) for sample in expected)
    return -(-100 * missing // len(expected)) / 100


def _to_blame(gate: UnscoredGate, info: ScenarioInfo, sample: SampleResult) -> Iterable[str]:
    """Return what leaves a sample unscored: "row" (invalid), "answer" (the target), or metrics."""
    if sample.invalid is not None:
        return ["row"]
    if TARGET in sample.errors:
        return ["answer"]
    return dict.fromkeys([*blamed_metrics(info, sample), *gate.failed(sample)])


_ALL: Final = ""
"""The name of the share that is about no single metric."""


def _by_metric(value: Any) -> Any:
    """Return the shares by metric; a bare share, of the weighted score, under ``_ALL``."""
    value = without_own_keys(value)
    is_alone = not isinstance(value, Mapping) or value.keys() <= ShareSpec.model_fields.keys()
    return {_ALL: value} if is_alone else value


_SharesOfMetrics = Annotated[dict[str, ShareSpec], Field(min_length=1)]
_Shares = Annotated[
    _SharesOfMetrics, BeforeValidator(_by_metric), Forms(ShareSpec, _SharesOfMetrics)
]


def _make(options: Mapping[str, ShareSpec], location: Location) -> list[Gate]:
    if _ALL in options:
        return [UnscoredGate(largest_share(options[_ALL], location))]
    known = [column.name for column in location.info.metrics]
    for name in options:
        if name not in known:
            raise location.error(unknown_name("metric", name, known), name)
    shares = {name: largest_share(share, location, name) for name, share in options.items()}
    return [UnscoredGate(shares=shares)]


GATES = (
    GateKind(
        "unscored",
        "scenario",
        _Shares,
        _make,
        description="maximum of the share of samples without weighted_score; or metric: the "
        "share in which it alone may be missing, which are then xfailed",
        keys="metrics",
    ),
)

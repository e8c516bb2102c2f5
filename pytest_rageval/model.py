"""The plain values that cross borders: between layers, between xdist processes, into files.

All are frozen dataclasses of JSON types. ``None`` as a score means unscored and is never a zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, Literal

# Scores and bounds are compared with this tolerance: a perfect context_precision of ragas is
# 0.9999999999, and sums of weights round.
TOLERANCE: Final = 1e-9

WEIGHTED_SCORE: Final = "weighted_score"
"""The name under which thresholds, gates and files speak of the weighted score."""

TARGET: Final = "target"
"""The name under which errors and details of a sample speak of the system under test."""

RETRIEVAL: Final = "retrieval"
"""The name under which the details of a sample speak of its search result."""

MAX_GRADE: Final = 1000
"""The largest grade of relevance; more is a score that strayed into the judgements."""

BUDGET: Final = "budget: "
"""How the error of a score begins that was not asked for because the budget is spent."""

REPLAY: Final = "replay: "
"""How the error of a score begins that the cache should have had, and has not."""

REPEATS: Final = "repeats"
"""The name under which the details of a score hold the values of every repeat."""

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed"]
GateOutcome = Literal["passed", "failed", "skipped"]
TestName = Literal["permutation", "t", "wilcoxon", "bootstrap"]

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
"""The one empty mapping that all values without entries share: 100,000 samples are many dicts."""


def _nothing() -> Mapping[str, Any]:
    return NOTHING


def json_plain(value: Any) -> Any:
    """Return ``value`` as JSON can say it.

    NaN and infinities become None, keys become text, sets become sorted lists, any other object
    its text.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((json_plain(part) for part in value), key=repr)
    return str(value)


@dataclass(frozen=True, slots=True)
class Sample:
    """One question with what is known about it; a field that the data lacks is None.

    ``index`` counts from 0 in dataset order (after shuffling and cutting), ``row`` from 1 in file
    order. ``references`` is flat; ``reference_groups`` holds the nested form where the data had
    one (ALCE's answer groups). ``context_docs`` names the document of each context.
    ``retrieved_ids`` are the documents that a search returned, best first; ``reference_ids`` the
    judged ones with their grades (qrels; relevant from 1 upwards).
    """

    id: str
    index: int = 0
    row: int = 1
    question: str | None = None
    answer: str | None = None
    contexts: tuple[str, ...] | None = None
    references: tuple[str, ...] | None = None
    reference_groups: tuple[tuple[str, ...], ...] | None = None
    reference_contexts: tuple[str, ...] | None = None
    doc_name: str | None = None
    context_docs: tuple[str | None, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    reference_ids: Mapping[str, int] | None = None
    metadata: Mapping[str, Any] = field(default_factory=_nothing)
    tags: tuple[str, ...] = ()
    skip: str | None = None
    xfail: str | None = None


@dataclass(frozen=True, slots=True)
class InvalidRow:
    """A row of the data that is no sample, and why; ``raw`` is what stood there, as text.

    ``doc_name``, ``metadata``, ``tags`` and the marks are those of a sample, as far as they could
    be read.
    """

    id: str
    index: int
    row: int
    line: int | None
    reason: str
    raw: str = ""
    doc_name: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=_nothing)
    tags: tuple[str, ...] = ()
    skip: str | None = None
    xfail: str | None = None


Case = Sample | InvalidRow


@dataclass(frozen=True, slots=True)
class Score:
    """What one metric says of one sample: a value, or None with a ``reason`` or an ``error``."""

    metric: str
    value: float | None
    reason: str | None = None
    details: Mapping[str, Any] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """The values that are good enough: from ``min`` to ``max``, either may be absent.

    >>> Bound(min=0.7).holds(0.7 - 1e-10), Bound(min=0.7).compare(0.61)
    (True, '0.6100 < 0.7000')
    """

    min: float | None = None
    max: float | None = None

    def holds(self, value: float) -> bool:
        """Return whether ``value`` keeps the bound, within the tolerance of 1e-9."""
        return not self._too_low(value) and not self._too_high(value)

    def margin(self, value: float) -> float:
        """Return how far ``value`` is from the nearest end, negative on the wrong side."""
        above = math.inf if self.min is None else value - self.min
        below = math.inf if self.max is None else self.max - value
        return min(above, below)

    def compare(self, value: float) -> str:
        """Return the comparison of ``value`` with the end that decides it, in words of signs."""
        if self.max is not None and (self.min is None or self._too_high(value)):
            return f"{value:.4f} {'>' if self._too_high(value) else '<='} {self.max:.4f}"
        return f"{value:.4f} {'<' if self._too_low(value) else '>='} {self.min:.4f}"

    def __str__(self) -> str:
        ends = [("<=", self.max)] if self.min is None else [(">=", self.min), ("<=", self.max)]
        return " and ".join(f"{sign} {_plain(end)}" for sign, end in ends if end is not None)

    @property
    def end(self) -> float | None:
        """The one number to show for this bound: the minimum, or the maximum where that is all."""
        return self.min if self.min is not None else self.max

    def _too_low(self, value: float) -> bool:
        return self.min is not None and value < self.min - TOLERANCE

    def _too_high(self, value: float) -> bool:
        return self.max is not None and value > self.max + TOLERANCE


def _plain(number: float) -> str:
    """Return ``number`` with two decimals at least, and more only where it has them."""
    return f"{number:.2f}" if round(number, 2) == number else f"{number:.10g}"


@dataclass(frozen=True, slots=True)
class SampleResult:
    """One case as it ran. ``scores`` has a key for each metric of the scenario, None = unscored."""

    sample_id: str
    index: int
    outcome: Outcome = "passed"
    sample_weight: float = 1.0
    weighted_score: float | None = None
    doc_name: str | None = None
    question: str | None = None
    answer: str | None = None
    contexts: Sequence[str] | None = None
    references: Sequence[str] | None = None
    metadata: Mapping[str, Any] = field(default_factory=_nothing)
    scores: Mapping[str, float | None] = field(default_factory=_nothing)
    reasons: Mapping[str, str] = field(default_factory=_nothing)
    details: Mapping[str, Any] = field(default_factory=_nothing)
    errors: Mapping[str, str] = field(default_factory=_nothing)
    invalid: str | None = None
    row: int = 0
    line: int | None = None
    raw: str = ""
    latency_s: float = 0.0
    answer_latency_s: float | None = None
    dataset_row: Mapping[str, Any] | None = None
    """The row that the answer makes of the sample, where the run saves its answers."""
    xfail: str | None = None
    """Why the row is expected to fail, empty where it does not say; None where it is not."""
    is_kept: bool = False
    """Whether the answer of the system under test came from the cache."""
    judged_by: Mapping[str, str] = field(default_factory=_nothing)
    """By field, a digest of what the sample is judged by and no other field here holds in whole."""

    @property
    def is_expected(self) -> bool:
        """Whether a score was to be had: neither skipped nor an invalid row that may be one.

        A mark of the row itself says that it is bad, not that it may be none at all.
        """
        return self.outcome != "skipped" and not (
            self.invalid is not None and self.outcome == "xfailed" and self.xfail is None
        )

    def to_row(self) -> tuple[Any, ...]:
        """Return the fields in their order: JSON-plain but for tuples and read-only mappings."""
        return _result_row(self)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> SampleResult:
        """Return what ``to_row`` took apart."""
        return cls(*row)


_result_row: Final[Callable[[SampleResult], tuple[Any, ...]]] = attrgetter(
    *(found.name for found in fields(SampleResult))
)


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A metric as a scenario uses it; infinities in ``range`` mean unbounded.

    ``definition`` says with which options it is measured: scores are comparable where it is equal.
    """

    name: str
    weight: float = 1.0
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    version: int = 1
    definition: str = ""

    def to_unit(self, score: float) -> float:
        """Return ``score`` as it enters the weighted score: 0..1 where bounded, higher is better.

        >>> MetricColumn("rubric", range=(0.0, 5.0)).to_unit(4.0)
        0.8
        """
        low, high = self.range
        if (low, high) != (0.0, 1.0) and math.isfinite(high - low):
            score = (score - low) / (high - low)
        return score if self.higher_is_better else 1.0 - score


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """How a difference of two runs is tested for chance; ``alpha`` is two-sided."""

    test: TestName = "permutation"
    alpha: float = 0.05
    n_resamples: int = 10_000
    seed: int = 42


@dataclass(frozen=True, slots=True)
class Comparing:
    """The comparison that a scenario asks for; ``metrics`` empty means all."""

    baseline: str
    metrics: tuple[str, ...] = ()
    test: SignificanceTest = SignificanceTest()


@dataclass(frozen=True, slots=True)
class Baseline:
    """Another run: the ids of its samples, and for each metric their scores by id.

    ``weighted_score`` is among the metrics when the run has all of this scenario's; it is weighed
    as this scenario weighs.
    """

    name: str
    ids: Sequence[str]
    scores: Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True, slots=True)
class ScenarioInfo:
    """All that judging and reporting a scenario needs once its samples are scored.

    It travels from a worker to the controller, which therefore parses no YAML. ``total`` counts
    the cases of the data set, ``selected`` those that this run was asked for.
    """

    name: str
    path: str
    nodeid: str
    metrics: tuple[MetricColumn, ...]
    thresholds: Mapping[str, Bound] = field(default_factory=_nothing)
    gates: Mapping[str, Any] = field(default_factory=_nothing)
    bands: tuple[float, float] = (0.8, 0.6)
    doc_weights: Mapping[str, float] = field(default_factory=_nothing)
    tolerates_shortfalls: bool = False
    """Whether a sample below its threshold is xfailed, and the gate pass_rate decides."""
    description: str = ""
    output_dir: str | None = None
    save_path: str | None = None
    target: str = ""
    """How messages call the system under test; empty where the data hold the answers."""
    snapshot: str = ""
    snapshot_sha256: str = ""
    dataset_sha256: str = ""
    overridden: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    metadata_columns: tuple[str, ...] = ()
    total: int = 0
    selected: int = 0
    judgements_sha256: str = ""
    compare: Comparing | None = None
    baselines: Mapping[str, Baseline] = field(default_factory=_nothing)
    metadata: Mapping[str, Any] = field(default_factory=_nothing)
    """What stands under the keys ``x-...`` of the file, without the ``x-``; JSON-plain."""
    hooks: tuple[str, ...] = ()
    """Who has hooks that see this run; those that the main process lacks are missed there."""

    @property
    def weighted_range(self) -> tuple[float, float]:
        """Where a weighted score can lie: 0..1, or anywhere when a metric is unbounded."""
        bounded = all(math.isfinite(end) for metric in self.metrics for end in metric.range)
        return (0.0, 1.0) if bounded else (-math.inf, math.inf)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-plain mapping."""
        plain = {found.name: getattr(self, found.name) for found in fields(self)}
        plain["metrics"] = [
            {**asdict(metric), "range": [_finite(end) for end in metric.range]}
            for metric in self.metrics
        ]
        plain["thresholds"] = {name: asdict(bound) for name, bound in self.thresholds.items()}
        plain["gates"] = dict(self.gates)
        plain["doc_weights"] = dict(self.doc_weights)
        plain["metadata"] = dict(self.metadata)
        plain["compare"] = asdict(self.compare) if self.compare is not None else None
        plain["baselines"] = {
            name: [found.name, list(found.ids), found.scores]
            for name, found in self.baselines.items()
        }
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ScenarioInfo:
        """Return what ``to_dict`` took apart."""
        known = dict(plain)
        known["metrics"] = tuple(_column(metric) for metric in plain["metrics"])
        known["thresholds"] = {name: Bound(**ends) for name, ends in plain["thresholds"].items()}
        for name in ("bands", "overridden", "warnings", "remarks", "metadata_columns", "hooks"):
            known[name] = tuple(plain[name])
        known["compare"] = _comparing(plain["compare"])
        known["baselines"] = {name: Baseline(*row) for name, row in plain["baselines"].items()}
        return cls(**known)


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """What hooks are told of a scenario.

    ``path`` is its file, relative to the rootdir; ``metadata`` what it says under keys ``x-...``,
    without the ``x-``.
    """

    name: str
    path: str
    metadata: Mapping[str, Any] = field(default_factory=_nothing)

    @classmethod
    def of(cls, info: ScenarioInfo) -> ScenarioView:
        """Return the view of a scenario."""
        return cls(info.name, info.path, info.metadata)


def _comparing(plain: Mapping[str, Any] | None) -> Comparing | None:
    if plain is None:
        return None
    return Comparing(plain["baseline"], tuple(plain["metrics"]), SignificanceTest(**plain["test"]))


def _finite(end: float) -> float | None:
    return end if math.isfinite(end) else None


def _column(plain: Mapping[str, Any]) -> MetricColumn:
    low, high = plain["range"]
    ends = (-math.inf if low is None else low, math.inf if high is None else high)
    return MetricColumn(**{**plain, "range": ends})


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """A metric over the scenario; ``weighted_mean`` weighs samples, ``weight`` is the metric's."""

    mean: float | None
    weighted_mean: float | None
    weight: float
    n: int
    unscored: int
    std: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class WeightedSummary:
    """The overall weighted score: ``mean`` is weighted by sample."""

    mean: float | None
    n: int
    unscored: int
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate decided; ``message`` is the sentence that the terminal prints.

    ``margin`` is how far the observed figure lies inside its bound (negative: outside), None where
    there is no figure.
    """

    name: str
    outcome: GateOutcome
    observed: float | None
    bound: float | None
    message: str
    margin: float | None = None


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """A metric in two runs, A (this one) and B (the baseline), over the samples that both scored.

    Means are weighted by sample; ``diff`` is A - B with its interval. ``p_value`` is two-sided and
    None where no test can say anything, ``p_adjusted`` is Holm's over the metrics tested together,
    ``significant`` means ``p_adjusted`` below alpha. ``smallest_detectable`` is the difference that
    this many samples would have shown with a power of 80 %. ``note`` says what is odd.
    """

    a_mean: float | None
    b_mean: float | None
    diff: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    p_adjusted: float | None
    significant: bool
    n: int
    n_nonzero: int
    method: str
    smallest_detectable: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A run (A) against its ``baseline`` (B), joined by sample id."""

    baseline: str
    test: str
    alpha: float
    metrics: Mapping[str, MetricComparison]
    only_a: Sequence[str] = ()
    only_b: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """How many cases ended how; ``samples`` is the whole data set, ``ran`` what was reported."""

    samples: int = 0
    ran: int = 0
    scored: int = 0
    passed: int = 0
    failed: int = 0
    error: int = 0
    skipped: int = 0
    xfailed: int = 0
    invalid: int = 0


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Whatever depends on time, machine or processes; equal runs differ in nothing else.

    ``commit`` is that of the system under test, where a CI service names it. ``answer_latency_s``
    is how long it took to answer, by sample; None where no target was asked.
    """

    id: str
    started_at: str
    finished_at: str
    version: str
    workers: int = 0
    latency_s: Mapping[str, float] = field(default_factory=_nothing)
    usage: Mapping[str, float | None] | None = None
    commit: str | None = None
    answer_latency_s: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """A scenario's figures: samples in dataset order, summaries, and the gates once decided."""

    info: ScenarioInfo
    counts: Counts
    complete: bool
    metrics: Mapping[str, MetricSummary]
    weighted_score: WeightedSummary
    samples: Sequence[SampleResult] = field(repr=False)
    gates: Sequence[GateResult] = ()
    comparison: Comparison | None = None

    def summary_of(self, name: str) -> MetricSummary | WeightedSummary:
        """Return the summary of a metric, or of ``weighted_score``."""
        return self.weighted_score if name == WEIGHTED_SCORE else self.metrics[name]

    def mean_of(self, name: str) -> float | None:
        """Return the weighted mean of a metric, or of ``weighted_score``; None when unscored."""
        if name == WEIGHTED_SCORE:
            return self.weighted_score.mean
        return self.metrics[name].weighted_mean

"""What is scored, and what comes of it: samples, scores, gates, a run's result.

Samples are dataclasses, unlike the other values: a hook may return them changed, or some of a
dataclass of its own that has more fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_rageval.model.comparison import Comparison, Ranking
from pytest_rageval.model.labels import Agreement, Corrected
from pytest_rageval.model.scenario import ScenarioInfo
from pytest_rageval.model.value import (
    BUDGET,
    NOT_ASKED,
    NOT_DRAWN,
    NOT_RUN,
    NOTHING,
    REPLAY,
    WEIGHTED_SCORE,
    Cause,
    Count,
    Figure,
    GateOutcome,
    LeftOut,
    Outcome,
    Value,
    own,
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One question with what is known about it; a field that the data lacks is None.

    ``index`` counts from 0 in dataset order (after shuffling and cutting), ``row`` from 1 in file
    order. ``references`` is flat; ``reference_groups`` holds the nested form where the data had one
    (ALCE's answer groups). ``context_docs`` names the document of each context. ``retrieved_ids``
    are the documents that a search returned, best first, each once. Where that left out repeated
    ids, ``context_ids`` may have the id of each context, else it is None. ``reference_ids`` are the
    judged documents with their grades (qrels; relevant from 1 upwards). ``must_include`` to
    ``must_satisfy`` are what the row itself asks of the answer; a tuple among the texts are
    alternatives. ``answerable``: whether the documents hold an answer. ``citations`` are sources
    that the answer names outside of its text, by number or name; ``cited_sentences`` the sentences
    of a structured answer, each with its own. ``history`` are the messages before the question,
    oldest first, each with its ``role`` and ``content``. ``confidence`` lies between 0 and 1.
    ``nuggets`` are what an answer has to say, each with its ``text`` and ``importance``, ``vital``
    or ``okay``. ``skip`` and ``xfail`` are the reasons of the row's marks, "" for a bare yes.
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
    metadata: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    tags: tuple[str, ...] = ()
    skip: str | None = None
    xfail: str | None = None
    must_include: tuple[str | tuple[str, ...], ...] | None = None
    must_not_include: tuple[str | tuple[str, ...], ...] | None = None
    must_match: tuple[str, ...] | None = None
    answer_checks: tuple[Mapping[str, Any], ...] | None = None
    must_satisfy: tuple[str, ...] | None = None
    answerable: bool | None = None
    citations: tuple[int | str, ...] | None = None
    cited_sentences: tuple[tuple[str, tuple[int | str, ...]], ...] | None = None
    reference_citations: tuple[int | str, ...] | None = None
    history: tuple[Mapping[str, str], ...] | None = None
    confidence: float | None = None
    nuggets: tuple[Mapping[str, str], ...] | None = None
    # Not in the repr, of which older versions made digests.
    context_ids: tuple[str | None, ...] | None = field(default=None, repr=False)

    @property
    def vital_nuggets(self) -> tuple[Mapping[str, str], ...] | None:
        """The nuggets of the importance ``vital``, None if there is none."""
        nuggets = self.nuggets or ()
        return tuple(one for one in nuggets if one["importance"] == "vital") or None


def own_sample(sample: Sample) -> Sample:
    """Return a copy for users' code: what it changes changes nothing for others."""
    names = ("metadata", "reference_ids", "answer_checks", "history", "nuggets")
    found = ((name, getattr(sample, name)) for name in names)
    return replace(sample, **{name: own(value) for name, value in found if value is not None})


@dataclass(frozen=True, slots=True)
class InvalidRow:
    """A row of the data that is no sample, and why; ``raw`` is its text.

    ``question``, ``doc_name``, ``metadata``, ``tags`` and the marks are those of a sample, as far
    as they could be read.
    """

    id: str
    index: int
    row: int
    line: int | None
    reason: str
    raw: str = ""
    doc_name: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    tags: tuple[str, ...] = ()
    skip: str | None = None
    xfail: str | None = None
    question: str | None = None


Case = Sample | InvalidRow


class Score(Value, frozen=True):
    """What one metric says of one sample: a value, or None with a ``reason`` or an ``error``."""

    metric: str
    value: float | None
    reason: str | None = None
    details: Mapping[str, Any] | None = None
    error: str | None = None
    replies: Mapping[str, int] | None = None
    """How many replies of the judge were ``usable``, or not, by what was wrong (``FAULTS``).

    None where it was not asked, or where that is not on record.
    """
    left_out: LeftOut | None = None
    """Whether the metric does not apply, and what decides that."""


class SampleResult(Value, frozen=True, omit_defaults=True, rename={"sample_id": "id"}):
    """One case as it ran; ``sample_id`` is the ``id`` of its sample, as files call it, too.

    ``scores`` has a key for each metric of the scenario, None = unscored.
    """

    sample_id: str
    index: int
    outcome: Outcome = "passed"
    sample_weight: float = 1.0
    weighted_score: Figure | None = None
    doc_name: str | None = None
    question: str | None = None
    answer: str | None = None
    contexts: Sequence[str] | None = None
    references: Sequence[str] | None = None
    metadata: Mapping[str, Any] = NOTHING
    scores: Mapping[str, Figure | None] = NOTHING
    reasons: Mapping[str, str] = NOTHING
    details: Mapping[str, Any] = NOTHING
    errors: Mapping[str, str] = NOTHING
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
    judged_by: Mapping[str, str] = NOTHING
    """By field, a digest of what the sample is judged by and no other field here holds in full."""
    expected: Sequence[str] | None = None
    """The expected contexts, where the run is asked for a report that shows them in full."""
    cause: Cause | None = None
    """Why the answer is low; None where it is not, or where the scenario does not ask."""
    cause_reason: str = ""
    replies: Mapping[str, Mapping[str, int]] = NOTHING
    """By metric, how many replies of the judge were usable, and not; see ``Score``."""
    left_out: Mapping[str, LeftOut] = NOTHING
    """The metrics that do not apply, and what decides that: the row, the run, or the answer."""
    confidence: float | None = None
    """How sure the system is of its answer, from 0 to 1, where the data say."""

    @property
    def is_expected(self) -> bool:
        """Whether a score was to be had: not skipped, and no invalid row that the scenario allows.

        An ``xfail`` of the row itself says that its answer is bad, and excuses no invalid row.
        """
        return self.outcome != "skipped" and not (
            self.invalid is not None and self.outcome == "xfailed" and self.xfail is None
        )

    @property
    def is_left_out(self) -> bool:
        """Whether it was not asked about because the verdict was certain without it (``stop``).

        ``left_out`` is about something else: the metrics that do not apply to a sample.
        """
        reasons = self.reasons.values() if self.outcome == "skipped" else ()
        return any(reason.startswith(NOT_ASKED) for reason in reasons)

    @property
    def is_not_drawn(self) -> bool:
        """Whether it was not asked about because other rows were drawn (``sample``)."""
        return self.outcome == "skipped" and NOT_DRAWN in self.reasons.values()

    @property
    def is_not_run(self) -> bool:
        """Whether a conftest.py, a fixture or a plugin skipped it, not the scenario."""
        return self.outcome == "skipped" and NOT_RUN in self.reasons.values()


class MetricSummary(Value, frozen=True):
    """A metric over the scenario; ``weighted_mean`` weighs samples, ``weight`` is the metric's.

    ``std`` is that of unweighted scores (n - 1), ``ci_low`` to ``ci_high`` the 95 % interval of the
    weighted mean; None where there are too few scores. Of the ``unscored`` samples, ``failed`` have
    no score because of an error; to the others the metric does not apply.
    """

    mean: float | None
    weighted_mean: float | None
    weight: float
    n: Count
    unscored: Count
    std: float | None
    ci_low: float | None
    ci_high: float | None
    failed: Count = 0


class WeightedSummary(Value, frozen=True):
    """The overall weighted score: ``mean`` is weighted by sample.

    Of the ``unscored`` samples, ``failed`` have none because of an error.
    """

    mean: float | None
    n: Count
    unscored: Count
    ci_low: float | None
    ci_high: float | None
    failed: Count = 0


class GateResult(Value, frozen=True):
    """What a gate decided; ``message`` is the sentence that the terminal prints.

    ``margin`` is how far the observed figure lies inside its bound (negative: outside), None where
    there is no figure. ``baseline`` is the run that it compares with and ``metric`` the one metric
    that it is about, "" where there is none. ``flip_chance`` is the chance that a second run on the
    same answers gives another verdict, None where that is not known.
    """

    name: str
    outcome: GateOutcome
    observed: float | None
    bound: float | None
    message: str
    margin: float | None = None
    baseline: str = ""
    metric: str = ""
    flip_chance: float | None = None


class Estimate(Value, frozen=True):
    """The mean over all ``rows``, from the scores of the ``asked`` ones and those of an older run.

    ``ci_low`` to ``ci_high`` is the interval of the mean of these very rows; a run that asks all of
    them knows it. ``beyond_low`` to ``beyond_high`` is that of the mean of whatever these rows are
    a sample of, like the interval of a run that asks all of them. ``changed`` counts the rows with
    another answer than in the older run, None where that is not known before they are asked. Mean
    and intervals are None where there is no estimate, and ``why`` says why.
    """

    mean: float | None
    ci_low: float | None
    ci_high: float | None
    beyond_low: float | None
    beyond_high: float | None
    asked: int
    rows: int
    changed: int | None = None
    why: str = ""


class Counts(Value, frozen=True):
    """How many cases ended how; ``samples`` counts all of the data set, ``ran`` what was reported.

    Both count ``invalid`` rows, too, and rows that the scenario skips or that were not drawn.
    ``in_figures`` samples have a score in some mean. Samples that were not asked about because the
    verdict was certain are ``skipped``, and did not run; nor did ``not_run`` ones, which something
    else than the scenario skipped.
    """

    samples: Count
    ran: Count
    scored: Count
    passed: Count
    failed: Count
    error: Count
    skipped: Count
    xfailed: Count
    invalid: Count
    in_figures: Count = 0
    not_run: Count = 0

    @property
    def not_asked(self) -> int:
        """How many samples were not asked about because the verdict was certain without them."""
        ended = self.passed + self.failed + self.error + self.skipped + self.xfailed
        return max(0, ended - self.ran - self.not_run)


class RunInfo(Value, frozen=True):
    """Whatever depends on time, machine or processes; equal runs differ in nothing else.

    ``commit`` is that of the system under test, where a CI service names it. By sample,
    ``answer_latency_s`` is how long that system took to answer (None where no target was asked),
    and ``latency_s`` how long scoring took.
    """

    id: str
    started_at: str
    finished_at: str
    version: str
    workers: int = 0
    latency_s: Mapping[str, float] = NOTHING
    usage: Mapping[str, float | None] | None = None
    commit: str | None = None
    answer_latency_s: Mapping[str, float] | None = None


class ControlVerdict(Value, frozen=True):
    """Whether the judge of a metric tells good rows from bad ones.

    ``passed`` is None where that is not known, and ``reason`` says why, or what the judge does not
    tell apart. ``set`` is the number of the rows' set, None for rows of the user's own. ``good``
    and ``bad`` are the scores of the rows that were asked, None for one without a usable reply.
    """

    passed: bool | None
    set: int | None = None
    good: Sequence[float | None] = ()
    bad: Sequence[float | None] = ()
    reason: str = ""

    def remark(self, *metrics: str) -> str:
        """Return what is to be said of figures; "" where the judge passed, or has no rows."""
        if self.passed or self == NO_CONTROLS:
            return ""
        names = ", ".join(metrics)
        if self.passed is None:
            return f"{names}: the judge is not tested, control rows were not asked: {self.reason}"
        rows = f"control rows: good {_listed(self.good)}, bad {_listed(self.bad)}"
        figures = "this figure" if len(metrics) == 1 else "these figures"
        return f"{names}: {self.reason} ({rows}): do not trust {figures}"

    @property
    def is_doubtful(self) -> bool:
        """Whether a strict run fails, and no baseline is saved.

        Not without control rows, nor where they were left out for a budget, or because the cache
        that is replayed does not hold them: that is only remarked.
        """
        is_left_out = self == NO_CONTROLS or self.reason.startswith((BUDGET, REPLAY))
        return self.passed is False or (self.passed is None and not is_left_out)


def _listed(values: Sequence[float | None]) -> str:
    return " ".join("-" if value is None else f"{value:.3g}" for value in values)


def verdicts_of(
    controls: Mapping[str, str], find: Callable[[str], ControlVerdict | None]
) -> dict[str, ControlVerdict]:
    """Return the verdict of each metric in ``controls``, which has the digest of its control rows.

    "" stands for no such rows. ``find`` returns what is known of the rows with a digest.
    """
    return {
        name: (find(digest) or _NOT_ASKED) if digest else NO_CONTROLS
        for name, digest in controls.items()
    }


_NOT_ASKED = ControlVerdict(None, reason="the run ended before")

NO_CONTROLS = ControlVerdict(None, reason="no controls")
"""The verdict of a metric that has no control rows."""


class ScenarioResult(Value, frozen=True):
    """A scenario's figures: samples in dataset order, summaries, and the gates once decided."""

    info: ScenarioInfo
    counts: Counts
    complete: bool
    metrics: Mapping[str, MetricSummary]
    weighted_score: WeightedSummary
    samples: Sequence[SampleResult]
    gates: Sequence[GateResult] = ()
    comparisons: Sequence[Comparison] = ()
    """This run against each one that ``compare`` names, in its order."""
    estimates: Mapping[str, Estimate] = NOTHING
    """By metric, its mean over all rows, where only a sample of them was asked."""
    agreement: Mapping[str, Agreement] = NOTHING
    """How well the metrics agree with people, for each that has labels."""
    corrected: Mapping[str, Corrected] = NOTHING
    """Their means corrected by those labels."""
    controls: Mapping[str, ControlVerdict] = NOTHING
    """By metric, whether its judge tells good rows from bad ones."""
    ranking: Ranking | None = None
    """The variants of the scenario against each other, where it has some and several ran."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.info.title}, {len(self.samples)} samples>"

    @property
    def comparison(self) -> Comparison | None:
        """The first comparison, None if there is none."""
        return next(iter(self.comparisons), None)

    @property
    def is_red(self) -> bool:
        """Whether a gate or a sample failed, or a sample could not be judged."""
        has_failed_gate = any(gate.outcome == "failed" for gate in self.gates)
        return bool(self.counts.failed or self.counts.error or has_failed_gate)

    def summary_of(self, name: str) -> MetricSummary | WeightedSummary:
        """Return the summary of a metric, or of ``weighted_score``."""
        return self.weighted_score if name == WEIGHTED_SCORE else self.metrics[name]

    def mean_of(self, name: str) -> float | None:
        """Return the weighted mean of a metric, or of ``weighted_score``; None when unscored."""
        if name == WEIGHTED_SCORE:
            return self.weighted_score.mean
        return self.metrics[name].weighted_mean

"""The plan: a scenario ready to run, with its cases, metrics, models and gates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from msgspec import field

from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.errors import describe_error
from pytest_rageval.metrics.base import (
    BatchScorer,
    CacheableMetric,
    JudgedMetric,
    Metric,
    MetricInfo,
    missing_fields,
)
from pytest_rageval.model import (
    Case,
    MetricColumn,
    Sample,
    SampleResult,
    ScenarioInfo,
    Score,
    Value,
)
from pytest_rageval.run_paths import ImportMode
from pytest_rageval.scenario.model_specs import MetricSpec
from pytest_rageval.scenario.schema import EmptyAnswer, MatchName
from pytest_rageval.text.printable import one_line

if TYPE_CHECKING:
    from pytest_rageval.controls import ControlRule
    from pytest_rageval.targets.base import Target
    from pytest_rageval.text.citation_markers import CitationRule
    from pytest_rageval.text.refusals import RefusalRule


Row = TypeVar("Row", bound=Case | SampleResult)


def _nothing() -> None:
    pass


_OURS = "pytest_rageval.metrics."
_OF_USERS = "pytest_rageval.metrics.custom."
_OF_OTHERS = (_OF_USERS, "pytest_rageval.metrics.ragas.")


class BoundMetric(Value, frozen=True):
    """A metric of the scenario: what its scores are called, how it is measured, what it weighs."""

    column: MetricColumn
    info: MetricInfo
    metric: Metric | JudgedMetric
    position: int = 0
    """Its place in the scenario's list, from 0."""
    batch: BatchScorer | None = None
    preload: Callable[[], None] = _nothing
    """Begins to load what the metric needs, in the background."""

    @property
    def is_known(self) -> bool:
        """Whether it is a metric of this package, or of ragas: no code of the user's runs."""
        module = type(self.metric).__module__
        return module.startswith(_OURS) and not module.startswith(_OF_USERS)

    @property
    def is_built_in(self) -> bool:
        """Whether only code of this package computes it."""
        module = type(self.metric).__module__
        return module.startswith(_OURS) and not module.startswith(_OF_OTHERS)

    def asked_in(self, language: str, option: str | None = None) -> str:
        """Return in which language its judge is asked if ``language`` is the judge's.

        "" where that makes no difference: for ``auto``, or if an ``option`` of its own decides.
        """
        if not self.info.speaks or "judge" not in self.info.asks or language.lower() == "auto":
            return ""
        if self.is_built_in:
            # Not at the top: most scenarios ask no judge.
            from pytest_rageval.text.prompts import prompt_language

            return "" if option else prompt_language(language)
        if not self.is_known:
            return language
        # Of ragas: it knows its option, and asks in English for auto.
        follows_from = cast("CacheableMetric", self.metric).follows_from
        asked, otherwise = (str(follows_from(one)["language"]) for one in (language, "auto"))
        return "" if asked == otherwise else asked


class MetricSource(Value, frozen=True):
    """All that the metrics of a scenario are made from: another process can make them again.

    ``specs`` are as the scenario lists them; ``path`` is that of its file, and ``root`` what else
    import paths are looked up in.
    """

    specs: Sequence[MetricSpec]
    options: Mapping[str, Any]
    match: MatchName | None
    path: Path
    root: Path
    import_mode: ImportMode = "prepend"


class Controlled(Value, frozen=True):
    """The control rows of a metric: what its judge has to tell from what.

    ``high`` are the samples whose score should be high, ``low`` the others. ``number`` is that of
    the set, ``digest`` names all that decides what the judge makes of it, and ``tells`` is what a
    judge that passes tells apart. ``scored_by`` scores the rows: the metric itself, or what stands
    for all metrics of one prompt, whose digest is the same.
    """

    high: tuple[Sample, ...]
    low: tuple[Sample, ...]
    rule: ControlRule
    number: int
    digest: str
    tells: str
    scored_by: BoundMetric


class ModelPlan(Value, frozen=True):
    """The models that the metrics of a scenario ask; None where none of them asks it."""

    judge: ClientSettings | None = None
    embedding: ClientSettings | None = None
    language: str = "auto"
    repeats: int = 1
    controls: Mapping[str, Controlled] = field(default_factory=dict)
    """By metric, what its judge is tested with."""

    @property
    def concurrency(self) -> int:
        """How many calls to one model may be in flight, over all processes: the larger number."""
        asked = (self.judge, self.embedding)
        return max((model.concurrency for model in asked if model is not None), default=1)


class AnswerRules(Value, frozen=True):
    """How answers are read, and what that means for metrics; None where a section is not on.

    ``conditions`` are the metrics that an unanswerable question makes the best or the worst they
    can be; None: those that compare the answer with references or nuggets.
    """

    citations: CitationRule | None = None
    refusals: RefusalRule | None = None
    conditions: tuple[str, ...] | None = None
    empty_is_refused: bool = False
    asked: tuple[BoundMetric, ...] = ()
    """What a judge is asked before the metrics: whether the answer refuses, or one can be given."""
    turns: int = 0
    """How many messages before the question a judge sees."""
    history_is_evidence: bool = False
    """Whether these messages may support what an answer says."""

    def asks(self, name: str) -> bool:
        """Return whether a judge is asked this question."""
        return any(question.column.name == name for question in self.asked)

    def shows_answer(self, sample: Sample) -> bool:
        """Return whether the row itself shows an answer; a reference "I do not know." is none."""
        # Not at the top: most scenarios look for no refusals.
        from pytest_rageval.text.refusals import PHRASES, kind_of

        grades, rule = (sample.reference_ids or {}).values(), self.refusals or PHRASES
        is_told = any(kind_of(text, rule) != "refused" for text in sample.references or ())
        is_named = sample.reference_contexts or sample.nuggets or sample.doc_name
        return is_told or bool(is_named) or any(grade >= 1 for grade in grades)


NOT_SENT: Final = (
    "it is not sent the history of the rows: write {history} in what it is sent (url, body, "
    "prompt), or give a function the parameter 'history'; to ask without it, write "
    "conversation: {send: false} at the top level"
)


class TargetPlan(Value, frozen=True):
    """The system under test: how it is called in messages, and how hard it is asked.

    ``make`` returns what asks it; None where ``from_value`` makes it of a ``fixture``'s value, see
    ``of_fixture``. ``settings`` are its limits, in the form of a model's; a target that
    ``limits_itself`` keeps to them itself. ``is_remote``: another process answers. A kept answer is
    found again under the same ``identity``. ``fields`` of a row are what it is shown (None: all).
    """

    shown: str
    provides: frozenset[str]
    settings: ClientSettings
    make: Callable[[], Target] | None = None
    from_value: Callable[[object], Target] | None = None
    fixture: str | None = None
    is_remote: bool = False
    limits_itself: bool = False
    preload: Callable[[], None] | None = None
    top_k: int | None = None
    cache_answers: bool = False
    identity: Mapping[str, Any] = field(default_factory=dict)
    fields: frozenset[str] | None = None
    has_history: bool = False
    """Whether it is to be sent the messages before the question, which rows have."""
    sends_history: bool = True
    """Whether the scenario has it sent."""
    takes_history: bool = True
    """Whether the target has a place for it."""
    doubt: str = ""  # said of a function that is handed nothing of a row
    hints: Mapping[str, str] = field(default_factory=dict)
    """What to say where the target returns nothing for a field, so that the row's value stays, by
    field; and where it returns citations that are not read, by their name in its answer.
    """
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is read of an answer beside its text, with its names: ``citations``, ``confidence``."""

    def of_fixture(self, value: object) -> TargetPlan:
        """Return the plan of a target that takes a fixture's ``value``.

        Raises TargetError for a wrong one.
        """
        assert self.from_value is not None
        return self.asking(self.from_value(value))

    def asking(self, target: Target) -> TargetPlan:
        """Return the plan with the ``target`` that is asked."""
        # Not at the top: most scenarios ask no target.
        from pytest_rageval.targets.base import Described, TargetError

        identity, takes = self.identity, self.fields is None or "history" in self.fields
        if isinstance(target, Described):
            identity, takes = {**identity, **target.identity}, target.takes_history
        if self.has_history and not takes:
            raise TargetError(f"{self.shown}: {NOT_SENT}")
        made = replace(self, make=lambda: target, identity=identity, takes_history=takes)
        return replace(made, doubt=getattr(target, "doubt", ""))

    def asked(self, sample: Sample) -> Sample:
        """Return the sample as the target sees it: history only if sent, and no ``context_ids``."""
        if sample.context_ids is not None:
            sample = replace(sample, context_ids=None)
        return sample if self.sends_history else replace(sample, history=None)


class Plan(Value, frozen=True, dict=True, gc=True):
    """A scenario ready to be scored. ``cases`` are in dataset order."""

    info: ScenarioInfo
    metrics: tuple[BoundMetric, ...]
    cases: Sequence[Case]
    required: frozenset[str]
    """The names that a threshold or a gate asks about: unscored, they are an error."""
    on_invalid: str = "fail"
    models: ModelPlan = field(default_factory=ModelPlan)
    top_k: int | None = None
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is read of an answer beside its text, with its names: ``citations``, ``confidence``."""
    is_given: bool = False
    """Whether a test function has given what is scored, in place of what the data hold."""
    target: TargetPlan | None = None
    """The system under test; None where the data hold the answers."""
    saved_columns: Mapping[str, str] | None = None
    """The column of each field, where the run saves its answers as a data set."""
    keeps_expected: bool = False
    """Whether a report shows the expected contexts in full: results carry them then."""
    empty_answer: EmptyAnswer | None = "worst"
    """What an empty answer counts as; None leaves it to each metric."""
    answers: AnswerRules | None = None
    """How citations and refusals are read; None where the scenario does not ask for that."""
    reads: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The metrics whose scores follow from a field, by field: see ``planning.fields_read``."""
    left_out: int = 0
    """How many rows of the data ``dataset.limit`` left out, 1 if they could not be counted."""
    reviews: Sequence[str] = ()
    """The files and patterns of the reviews of its rows."""
    reviewed: frozenset[str] = frozenset()
    """The ids of the rows that people have reviewed."""
    own_names: Mapping[str, str] = field(default_factory=dict)
    """The field of each column of the data that became one."""
    source: MetricSource | None = None
    """What its metrics are made from."""
    remote: frozenset[str] = frozenset()
    """The names of the metrics whose scores an engine computes."""
    lines: Sequence[int | None] = ()
    """The line that names the data; behind it those of the rows which the scenario holds itself."""
    rename: Callable[[Plan, str, str], Plan] | None = None
    """What gives it the name and node id of its run, if they are not known yet: see ``named``."""

    def named(self, name: str, nodeid: str) -> Plan:
        """Return the plan of a run called ``name``, compared with the runs saved under that name.

        The samples and all else stay as they are. Raises BaselineError for a run that cannot be
        compared with.
        """
        assert self.rename is not None
        return self.rename(self, name, nodeid)

    def line_of(self, row: int) -> int:
        """Return the line of a row (from 1) in the scenario, else of its data; else 1."""
        return next(filter(None, (*self.lines[row : row + 1], *self.lines[:1])), 1)

    def as_part(self) -> Plan:
        """Return the plan as that of a part of the data, where ``dataset.limit`` left rows out."""
        return replace(self, info=replace(self.info, total=self.info.total + self.left_out))

    @cached_property
    def judged(self) -> tuple[BoundMetric, ...]:
        """What a judge is asked first, then the metrics that ask a model or await a function."""
        asked = () if self.answers is None else self.answers.asked
        return (*asked, *(metric for metric in self.metrics if metric.info.is_judged))

    @property
    def is_asked(self) -> bool:
        """Whether the system under test or a model is asked about the samples."""
        return self.target is not None or bool(self.judged)

    @property
    def is_plain(self) -> bool:
        """Whether scoring a sample runs this package's own code only, here, and asks nobody."""
        return not (self.is_asked or self.remote) and all(one.is_built_in for one in self.metrics)

    @cached_property
    def heading(self) -> str:
        """What reports call the scenario, in one line."""
        return one_line(self.info.title)

    @property
    def runs_elsewhere(self) -> tuple[BoundMetric, ...]:
        """The metrics that another process can compute.

        Not those that ask a model or await a function, come last, or are cheaper for all samples at
        once. Empty where scores wait for a target or for what a judge says first, and without a
        ``source``.
        """
        is_asked_first = self.answers is not None and bool(self.answers.asked)
        if self.target is not None or self.source is None or is_asked_first:
            return ()
        return tuple(
            metric
            for metric in self.metrics
            if not (metric.info.is_judged or metric.batch or metric.info.comes_last)
        )

    @property
    def asking_order(self) -> Sequence[Case]:
        """The cases as they are to be run: in random order where an error bound needs that."""
        return in_random_order(self.info, self.cases) if self.info.stop else self.cases

    @property
    def asked_samples(self) -> list[Sample]:
        """The samples that are not skipped: those that a target or a model is asked about."""
        return [case for case in self.cases if isinstance(case, Sample) and case.skip is None]

    @property
    def repeats(self) -> int:
        """How often each judged metric is asked."""
        return self.models.repeats

    @cached_property
    def batches(self) -> BatchScores:
        """The scores of the metrics that score all samples at once."""
        return BatchScores(self.metrics, self.cases)

    @cached_property
    def weights(self) -> tuple[float, ...]:
        """The weights of the metrics, in their order."""
        return tuple(column.weight for column in self.info.metrics)

    @cached_property
    def scores_are_unit(self) -> bool:
        """Whether every score enters the weighted score as it is."""
        return all(
            column.range == (0.0, 1.0) and column.higher_is_better for column in self.info.metrics
        )


def in_random_order(info: ScenarioInfo, rows: Sequence[Row]) -> list[Row]:
    """Return rows in an order that depends on nothing but the scenario and its data."""
    seed = f"{info.snapshot_sha256} {info.dataset_sha256}"
    return sorted(rows, key=lambda row: hashlib.sha256(f"{seed} {row.index}".encode()).digest())


class BatchScores:
    """The batch scores of a scenario: one batch for all of its metrics with the same scorer."""

    def __init__(self, metrics: Sequence[BoundMetric], cases: Sequence[Case]) -> None:
        self._metrics = metrics
        self._cases = cases
        self._scores: dict[str, dict[int, Score]] = {}

    def has(self, sample: Sample) -> bool:
        """Return whether this is a sample of the batch, with nothing in it answered anew."""
        own = self._by_index.get(sample.index)
        return own is sample or own == sample

    def score(self, bound: BoundMetric, sample: Sample) -> Score:
        """Return the score of a metric that has a ``batch``, for a sample that it can score.

        When the batch as a whole fails, that is the error of each of its scores.
        """
        self.make(bound)
        return self._scores[bound.column.name][sample.index]

    def make(self, bound: BoundMetric) -> None:
        """Score all samples by a metric that has a ``batch``, unless that is done."""
        assert bound.batch is not None
        if bound.column.name not in self._scores:
            self._run(bound.batch)

    @cached_property
    def _by_index(self) -> Mapping[int, Case]:
        return {case.index: case for case in self._cases}

    def _run(self, batch: BatchScorer) -> None:
        metrics = [metric for metric in self._metrics if metric.batch is batch]
        samples = [
            case
            for case in self._cases
            if isinstance(case, Sample)
            and any(not missing_fields(case, metric.info) for metric in metrics)
        ]
        for metric, scores in zip(metrics, _scores(batch, metrics, samples), strict=True):
            by_index = {sample.index: score for sample, score in zip(samples, scores, strict=True)}
            self._scores[metric.column.name] = by_index


def _scores(
    batch: BatchScorer, metrics: Sequence[BoundMetric], samples: Sequence[Sample]
) -> Sequence[Sequence[Score]]:
    try:
        scores = batch([metric.metric for metric in metrics], samples)
        if len(scores) != len(metrics) or any(len(row) != len(samples) for row in scores):
            message = f"expected {len(metrics)} rows of {len(samples)} scores from the batch"
            raise ValueError(message)
        return scores
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (a metric may be a user's code)
        text = describe_error(error)
        return [[Score(metric.column.name, None, error=text)] * len(samples) for metric in metrics]

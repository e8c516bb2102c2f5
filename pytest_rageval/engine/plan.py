"""The plan: a scenario ready to run, with its cases, metrics and gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_rageval.engine.bound import BoundMetric, MetricSource, ModelPlan, TargetPlan
from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import BatchScorer, missing_fields
from pytest_rageval.model import Case, Sample, ScenarioInfo, Score
from pytest_rageval.scenario.schema import EmptyAnswer


@dataclass(frozen=True)
class Plan:
    """A scenario ready to be scored. ``cases`` are in dataset order."""

    info: ScenarioInfo
    metrics: tuple[BoundMetric, ...]
    cases: Sequence[Case]
    required: frozenset[str]
    """The names that a threshold or a gate asks about: unscored, they are an error."""
    on_invalid: str = "fail"
    models: ModelPlan = field(default_factory=ModelPlan)
    top_k: int | None = None
    target: TargetPlan | None = None
    """The system under test; None where the data hold the answers."""
    saved_columns: Mapping[str, str] | None = None
    """The column of each field, where the run saves its answers as a data set."""
    keeps_expected: bool = False
    """Whether a report shows the expected contexts in full: results carry them then."""
    empty_answer: EmptyAnswer | None = "worst"
    """What an empty answer counts as; None leaves it to each metric."""
    left_out: int = 0
    """How many rows of the data ``dataset.limit`` left out, 1 at least where it did."""
    own_names: Mapping[str, str] = field(default_factory=dict)
    """The field of each column of the data that became one."""
    source: MetricSource | None = None
    """What its metrics are made from."""
    elsewhere: frozenset[str] = frozenset()
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
        """Return the line of a row in the scenario, else of its data; 1 if neither is known."""
        known = self.lines[row : row + 1] or self.lines[:1] or (None,)
        return known[0] or 1

    def as_part(self) -> Plan:
        """Return the plan as that of a part of the data, where ``dataset.limit`` left rows out."""
        return replace(self, info=replace(self.info, total=self.info.total + self.left_out))

    @cached_property
    def judged(self) -> tuple[BoundMetric, ...]:
        """The metrics that ask a model, or wait for something else."""
        return tuple(metric for metric in self.metrics if metric.info.is_judged)

    @property
    def is_asked(self) -> bool:
        """Whether the system under test or a model is asked about the samples."""
        return self.target is not None or bool(self.judged)

    @property
    def is_plain(self) -> bool:
        """Whether scoring a sample runs this package's own code only, here, and asks nobody."""
        return not (self.is_asked or self.elsewhere) and all(one.is_ours for one in self.metrics)

    @property
    def runs_elsewhere(self) -> tuple[BoundMetric, ...]:
        """The metrics that another process can compute.

        Not those that wait for something, nor those that are cheaper for all samples at once. None
        of a scenario with a target: here an answer is scored as soon as it is there.
        """
        if self.target is not None or self.source is None:
            return ()
        return tuple(one for one in self.metrics if not one.info.is_judged and one.batch is None)

    @property
    def asked_samples(self) -> list[Sample]:
        """The samples that are asked about, where any is."""
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
    except BaseException as error:  # noqa: BLE001  (a metric may be a user's code; see the scorer)
        text = f"{type(error).__name__}: {shorten(str(error), 300)}"
        return [[Score(metric.column.name, None, error=text)] * len(samples) for metric in metrics]

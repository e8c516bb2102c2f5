"""Scores of metrics that are cheaper for all samples at once, made when the first is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from pytest_rageval.engine.bound import BoundMetric
from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import BatchScorer, missing_fields
from pytest_rageval.model import Case, Sample, Score


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

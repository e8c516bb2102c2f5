"""What travels between this process and a worker, packed into bytes: metrics, samples, scores.

Both sides have the same version of this package: the first thing that a worker compares.
"""

from __future__ import annotations

import pickle
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Final

from pytest_rageval.engine.module_digests import digests_of
from pytest_rageval.engine.plan import AnswerRules, BoundMetric, MetricSource, Plan
from pytest_rageval.engine.scoring.score_sample import computed_scores
from pytest_rageval.errors import describe_error
from pytest_rageval.model import LeftOut, Sample, Score, plain_details
from pytest_rageval.scenario.schema import EmptyAnswer
from pytest_rageval.text.codec import as_json
from pytest_rageval.text.tokenize import jieba_digest

Remark = tuple[str | None, Any, str | None, LeftOut | None]
"""Of a score: its reason, details and error, and what decides that its metric does not apply."""

# A higher level would save little and cost much time: every sample is packed.
_LEVEL: Final = 1


def splits_by_jieba(metric: BoundMetric) -> bool:
    """Return whether scores depend on jieba's words, to which a process may have added some."""
    return metric.is_built_in and "tokenizer=jieba" in metric.column.definition


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a worker makes metrics from: all of a scenario that they depend on, and no data.

    ``definitions`` are what their scores mean here, by name: there they must mean the same, and
    the modules of the user's own must have the same ``digests``. ``words`` is the digest of
    jieba's, "" where no metric splits by it.
    """

    source: MetricSource
    positions: tuple[int, ...]
    definitions: Mapping[str, str]
    digests: Mapping[str, str]
    empty_answer: EmptyAnswer | None
    answers: AnswerRules | None
    words: str = ""

    @classmethod
    def of(
        cls,
        source: MetricSource,
        metrics: Iterable[BoundMetric],
        empty_answer: EmptyAnswer | None,
        answers: AnswerRules | None = None,
    ) -> Recipe:
        """Return the recipe of these metrics."""
        metrics = tuple(metrics)
        definitions = {metric.column.name: metric.column.definition for metric in metrics}
        positions = tuple(metric.position for metric in metrics)
        digests = digests_of(source, metrics)
        words = jieba_digest() if any(map(splits_by_jieba, metrics)) else ""
        return cls(source, positions, definitions, digests, empty_answer, answers, words)

    def pack(self) -> bytes:
        """Return it as bytes."""
        return pickle.dumps(self)

    @staticmethod
    def unpack(packed: bytes) -> Recipe:
        """Return what ``pack`` packed."""
        found: Recipe = pickle.loads(packed)  # noqa: S301  (of our own main process)
        return found


@dataclass(frozen=True, slots=True)
class Refused:
    """What a worker answers that cannot score: why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a chunk: for each sample its time in seconds, and a value for each metric.

    ``remarks`` are those of the scores that have any, by the places of sample and metric.
    """

    seconds: list[float] = field(default_factory=list)
    values: list[list[float | None]] = field(default_factory=list)
    remarks: dict[tuple[int, int], Remark] = field(default_factory=dict)

    def add(self, scores: Sequence[Score], seconds: float) -> None:
        """Add the scores of the next sample, each as JSON can say it."""
        at = len(self.seconds)
        self.seconds.append(seconds)
        self.values.append([score.value for score in scores])
        for place, score in enumerate(scores):
            parts = (score.reason, score.details, score.error, score.left_out)
            if parts != (None, None, None, None):
                try:
                    self.remarks[at, place] = _remark(score)
                except Exception as error:  # noqa: BLE001  (of a user's objects)
                    self.values[at][place] = None
                    said = f"what it returned cannot be told: {describe_error(error)}"
                    self.remarks[at, place] = (None, None, said, None)

    def scores(self, at: int, names: Sequence[str]) -> dict[str, Score]:
        """Return the scores of sample ``at`` by the ``names`` of the metrics."""
        return {
            name: _score_of(name, value, self.remarks.get((at, place)))
            for place, (name, value) in enumerate(zip(names, self.values[at], strict=True))
        }


def _score_of(name: str, value: float | None, remark: Remark | None) -> Score:
    if remark is None:
        return Score(name, value)
    reason, details, error, left_out = remark
    return Score(name, value, reason, details, error, left_out=left_out)


def _remark(score: Score) -> Remark:
    """Return reason, details and error as plain objects, whatever a user's metric made them of."""
    details = None if score.details is None else as_json(plain_details(score.details))
    reason = None if score.reason is None else str(score.reason)
    error = None if score.error is None else str(score.error)
    return reason, details, error, score.left_out


_row_of: Final = attrgetter(*(found.name for found in fields(Sample)))


def pack_samples(samples: Iterable[Sample]) -> bytes:
    """Return samples as bytes; raises what pickle raises for an object that cannot travel."""
    rows = [_row_of(sample) for sample in samples]
    return zlib.compress(pickle.dumps(rows, pickle.HIGHEST_PROTOCOL), _LEVEL)


def unpack_samples(packed: bytes) -> list[Sample]:
    """Return what ``pack_samples`` packed."""
    return [Sample(*row) for row in pickle.loads(zlib.decompress(packed))]  # noqa: S301  (our own)


def pack_reply(reply: Scored | Refused) -> bytes:
    """Return a worker's reply as bytes."""
    plain = (
        reply.reason if isinstance(reply, Refused) else (reply.seconds, reply.values, reply.remarks)
    )
    return pickle.dumps(plain, pickle.HIGHEST_PROTOCOL)


def unpack_reply(packed: bytes) -> Scored | Refused:
    """Return what ``pack_reply`` packed."""
    plain = pickle.loads(packed)  # noqa: S301  (of our own worker)
    return Refused(plain) if isinstance(plain, str) else Scored(*plain)


_LOCK: Final = threading.Lock()


def scores_alone(plan: Plan, sample: Sample) -> list[Score]:
    """Return the scores of a plan with metrics of the user's own, in one thread at a time.

    Such metrics share their modules, and few are written for several threads.
    """
    with _LOCK:
        return computed_scores(plan, sample)

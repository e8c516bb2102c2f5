"""D4: metrics that score all samples at once do so once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_rageval.engine.plan import BatchScores, BoundMetric
from pytest_rageval.metrics.base import MetricInfo
from pytest_rageval.model import InvalidRow, MetricColumn, Sample, Score

ANSWER = frozenset({"answer"})


class Lengths:
    """Scores a sample by how long its answer is; remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], list[str]]] = []

    def __call__(self, metrics: Sequence[str], samples: Sequence[Sample]) -> list[list[Score]]:
        self.calls.append((list(metrics), [sample.id for sample in samples]))
        return [[Score(name, float(len(one.answer or ""))) for one in samples] for name in metrics]


def bound(name: str, batch: Any, needs: frozenset[str] = ANSWER) -> BoundMetric:
    return BoundMetric(MetricColumn(name), MetricInfo(name, needs), name, 0, batch)  # type: ignore[arg-type]


SAMPLES = [Sample("a", 0, answer="x"), Sample("b", 1, answer="xyz"), Sample("c", 2)]


def test_the_first_question_scores_all_samples_of_all_metrics_with_this_scorer() -> None:
    lengths, other = Lengths(), Lengths()
    one, two, third = bound("one", lengths), bound("two", lengths), bound("third", other)
    batches = BatchScores([one, third, two], SAMPLES)
    assert batches.score(two, SAMPLES[1]) == Score("two", 3.0)
    assert batches.score(one, SAMPLES[0]) == Score("one", 1.0)
    assert batches.score(one, SAMPLES[1]) == Score("one", 3.0)
    assert lengths.calls == [(["one", "two"], ["a", "b"])]
    assert other.calls == []


def test_nothing_is_scored_before_it_is_asked_for() -> None:
    """E4: a run of other samples of the session pays for nothing."""
    lengths = Lengths()
    BatchScores([bound("one", lengths)], SAMPLES)
    assert lengths.calls == []


def test_rows_that_are_no_samples_and_samples_without_the_fields_are_left_out() -> None:
    """A19: ``c`` has no answer."""
    lengths = Lengths()
    cases = [*SAMPLES, InvalidRow("bad", 3, 4, None, "no object")]
    batches = BatchScores([bound("one", lengths)], cases)
    batches.score(bound("one", lengths), SAMPLES[0])
    assert lengths.calls == [(["one"], ["a", "b"])]


def test_a_sample_that_any_of_the_metrics_can_score_takes_part() -> None:
    lengths = Lengths()
    metrics = [bound("one", lengths), bound("two", lengths, frozenset({"question"}))]
    cases = [*SAMPLES, Sample("q", 3, question="Q?")]
    BatchScores(metrics, cases).score(metrics[1], cases[3])
    assert lengths.calls == [(["one", "two"], ["a", "b", "q"])]


def test_samples_with_equal_ids_have_scores_of_their_own() -> None:
    """A2: ids of the data may repeat; places do not."""
    cases = [Sample("a", 0, answer="x"), Sample("a", 1, answer="xy")]
    metric = bound("one", Lengths())
    batches = BatchScores([metric], cases)
    assert [batches.score(metric, case).value for case in cases] == [1.0, 2.0]


class Fails:
    """A scorer that goes wrong in one of several ways."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls = 0

    def __call__(self, metrics: Sequence[str], samples: Sequence[Sample]) -> Any:
        self.calls += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_batch_that_fails_is_the_error_of_each_of_its_scores() -> None:
    """A20: and is not tried again for every sample."""
    broken = Fails(RuntimeError("the library is away"))
    metric = bound("one", broken)
    batches = BatchScores([metric], SAMPLES)
    for sample in SAMPLES[:2]:
        found = batches.score(metric, sample)
        assert found.value is None
        assert str(found.error).startswith(
            "RuntimeError: the library is away (test_batch_scores.py:"
        )
    assert broken.calls == 1


@pytest.mark.parametrize(
    "answer",
    [[], [[]], [[Score("one", 1.0)]], None, [None], [[Score("one", 1.0)] * 3]],
    ids=["nothing", "no scores", "too few", "None", "a row that is None", "too many"],
)
def test_a_batch_that_answers_something_else_is_an_error_too(answer: Any) -> None:
    """A20: two scores are wanted; it is asked once nevertheless."""
    odd = Fails(answer)
    metric = bound("one", odd)
    batches = BatchScores([metric], SAMPLES)
    for sample in SAMPLES[:2]:
        found = batches.score(metric, sample)
        assert found.value is None
        assert found.error
    assert odd.calls == 1


def test_a_sample_that_was_answered_anew_is_none_of_the_batch() -> None:
    """A copy that says the same is; one under a number that the batch does not know is not."""
    batches = BatchScores([bound("one", Lengths())], SAMPLES)
    assert batches.has(SAMPLES[1])
    assert batches.has(Sample("b", 1, answer="xyz"))
    assert not batches.has(Sample("b", 1, answer="other"))
    assert not batches.has(Sample("b", 7, answer="xyz"))

"""Custom metrics: a function, a class with options, and one written for DB-GPT."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval import Sample, metric
from pytest_rageval.metrics.dbgpt import EvaluationResult, RetrieverEvaluationMetric


@metric(needs=["answer"])
def politeness(
    sample: Sample, *, words: Sequence[str] = ("please", "thank"), wanted: int = 1
) -> tuple[float, str]:
    """Return how many of the words are in the answer, 1.0 from ``wanted`` upwards."""
    found = [word for word in words if word in (sample.answer or "").lower()]
    return min(len(found) / wanted, 1.0), f"found {', '.join(found) or 'none'}"


class Brevity:
    """1.0 up to ``longest`` characters; half of that for an answer of twice the length."""

    needs = ("answer",)

    def __init__(self, longest: int = 100) -> None:
        self.longest = longest

    def score(self, sample: Sample) -> float:
        """Return the score of a sample, which has an answer."""
        return min(self.longest / max(len(sample.answer or ""), 1), 1.0)


class BestFirst(RetrieverEvaluationMetric):
    """Whether the first context that was retrieved is an expected one: DB-GPT's contract."""

    def sync_compute(
        self,
        prediction: Sequence[str],
        contexts: Sequence[str] | None = None,
        query: str | None = None,
    ) -> EvaluationResult:
        """Return 1.0 or 0.0; ``prediction`` was retrieved, ``contexts`` are expected."""
        hit = bool(prediction) and prediction[0] in (contexts or ())
        return EvaluationResult(score=float(hit), feedback="" if hit else f"first for {query!r}")

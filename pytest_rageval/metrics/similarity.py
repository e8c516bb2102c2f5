"""Similarity of meaning: cosines of embeddings, of the answer or of the retrieved contexts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import (
    Models,
    NoOptions,
    declared,
    defined,
)
from pytest_rageval.model import TOLERANCE, Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.clients.base import Vector

COSINE_RANGE: Final = (-1.0, 1.0)
"""Metrics with this range are ``as_is``: rescaled to 0..1, unrelated texts would get 0.5."""
COSINE_MARGIN: Final = 0.05
"""The margin of control rows where the score is a cosine: unrelated texts may have 0.8."""


def cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return the cosine of the angle between two vectors, in -1..1; None without an angle.

    >>> cosine([3.0, 4.0], [3.0, 0.0])
    0.6
    """
    import numpy

    first, second = numpy.asarray(one, dtype=float), numpy.asarray(other, dtype=float)
    lengths = float(numpy.linalg.norm(first)) * float(numpy.linalg.norm(second))
    # A vector of zeros has no angle, nor has one with infinities or NaN.
    if not 0.0 < lengths < math.inf:
        return None
    return max(-1.0, min(1.0, float(first @ second) / lengths))


_NO_DIRECTION = "an embedding is all zeros, or not finite: the model has failed"


class SemanticOptions(NoOptions):
    """Whether the score is the cosine, or 1.0 from a threshold upwards."""

    threshold: float | None = Field(
        None, description="from that cosine upwards the score is 1.0, below it 0.0"
    )


class SemanticSimilarity:
    """The cosine of the answer and a reference, as in ragas; the best reference counts."""

    def __init__(self, name: str, options: SemanticOptions) -> None:
        self._name = name
        self._threshold = options.threshold

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the cosine, or 1.0 or 0.0 where there is a threshold.

        Unscored where the answer or all references are blank; an error where no cosine exists.
        A blank reference keeps its place, so that the reason names that of the row.
        """
        answer = sample.answer or ""
        references = sample.references or ()
        asked = [text for text in references if text.strip()]
        if not answer.strip() or not asked:
            empty = "answer" if not answer.strip() else "reference"
            return Score(self._name, None, reason=f"the {empty} is empty")
        first, *others = await declared(models.embedding).embed([answer, *asked])
        known = iter(others)
        found = [cosine(first, next(known)) if text.strip() else None for text in references]
        cosines = [value for value in found if value is not None]
        if not cosines:
            return Score(self._name, None, error=_NO_DIRECTION)
        best = max(cosines)
        least = self._threshold
        value = best if least is None else float(best >= least - TOLERANCE)
        number = found.index(best) + 1
        reason = f"similarity {best:.2f}" + (f" with reference {number}" if len(found) > 1 else "")
        return Score(self._name, value, reason, {"similarities": found})


class ContextOptions(NoOptions):
    """What each retrieved context is compared with."""

    against: Literal["first", "max", "mean"] = Field(
        "first",
        description="the first expected context alone, as in DB-GPT; or all: the most similar "
        "counts (max), or their mean",
    )


class ContextSimilarity:
    """The mean over the retrieved contexts of their similarity to the expected ones.

    With ``against: first`` it is DB-GPT's RetrieverSimilarityMetric. Where nothing was retrieved it
    is 0.0. Where nothing is expected, DB-GPT gives 0.0; here the sample is unscored.
    """

    def __init__(self, name: str, options: ContextOptions) -> None:
        self._name = name
        self._against = options.against

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the mean cosine in -1..1, unscored if a text is blank."""
        retrieved, expected = sample.contexts or (), sample.reference_contexts or ()
        if not expected:
            return Score(self._name, None, reason="the row expects no context")
        if not retrieved:
            return Score(self._name, 0.0, reason="no context was retrieved")
        wanted = expected[:1] if self._against == "first" else expected
        texts = [*retrieved, *wanted]
        if not all(text.strip() for text in texts):
            return Score(self._name, None, reason="a context is empty")
        vectors = await declared(models.embedding).embed(texts)
        return self._score(vectors[: len(retrieved)], vectors[len(retrieved) :])

    def _score(self, retrieved: Sequence[Vector], expected: Sequence[Vector]) -> Score:
        rows = [[cosine(vector, other) for other in expected] for vector in retrieved]
        known = [[value for value in row if value is not None] for row in rows]
        if known != rows:
            return Score(self._name, None, error=_NO_DIRECTION)
        found = [max(row) if self._against == "max" else _mean(row) for row in known]
        listed = shorten(", ".join(f"{value:.2f}" for value in found))
        reason = f"similarities by rank: {listed}"
        return Score(self._name, _mean(found), reason, {"similarities": found})


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_COSINE: Final[Mapping[str, Any]] = {
    "range": COSINE_RANGE,
    "as_is": True,
    "margin": COSINE_MARGIN,
    "asks": frozenset({"embedding"}),
}

METRICS = (
    defined(
        "semantic_similarity SemanticSimilarity answer_similarity AnswerSimilarity",
        "answer references",
        "cosine of answer and reference",
        SemanticSimilarity,
        SemanticOptions,
        empty_is_worst=True,
        **_COSINE,
    ),
    defined(
        "context_similarity RetrieverSimilarityMetric retriever_similarity",
        "contexts reference_contexts",
        "mean cosine of retrieved and expected contexts",
        ContextSimilarity,
        ContextOptions,
        **_COSINE,
    ),
)

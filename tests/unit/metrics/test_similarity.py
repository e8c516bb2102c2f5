"""Cosines of embeddings: of the answer and the references, of retrieved and expected contexts."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError
from scripted_models import ScriptedEmbeddings

from pytest_rageval.clients.base import Vector
from pytest_rageval.clients.errors import RateLimitError
from pytest_rageval.metrics.base import METRIC_REGISTRY, Models
from pytest_rageval.metrics.similarity import cosine
from pytest_rageval.model import MetricColumn, Sample, Score

VECTORS = {
    "east": [1.0, 0.0],
    "north": [0.0, 1.0],
    "northeast": [0.6, 0.8],
    "between": [1.0, 1.0],
    "west": [-1.0, 0.0],
    "far east": [30.0, 0.0],
    "nowhere": [0.0, 0.0],
    "everywhere": [math.inf, 1.0],
    "undefined": [math.nan, 1.0],
}


def score(metric: str, embeddings: ScriptedEmbeddings, sample: Sample, **options: Any) -> Score:
    definition = METRIC_REGISTRY.get(metric)
    made = definition.make(metric, definition.options.model_validate(options))
    return asyncio.run(made.ascore(sample, Models(embedding=embeddings)))


def semantic(answer: str, *references: str, **options: Any) -> Score:
    sample = Sample("s", answer=answer, references=references)
    return score("semantic_similarity", ScriptedEmbeddings(VECTORS), sample, **options)


def contexts(retrieved: Sequence[str], expected: Sequence[str], **options: Any) -> Score:
    sample = Sample("s", contexts=tuple(retrieved), reference_contexts=tuple(expected))
    return score("context_similarity", ScriptedEmbeddings(VECTORS), sample, **options)


def test_vectors_of_32_bit_floats_lose_no_more_than_their_own_rounding() -> None:
    """0.6 and 0.8 as 32-bit floats; the cosine of a vector with itself never exceeds 1."""
    vector = array("f", [0.6, 0.8])
    assert cosine(vector, array("f", [1.0, 0.0])) == pytest.approx(0.6, abs=1e-7)
    # 1.0000000000000002, as the product and the lengths round.
    assert cosine([0.8, 0.7, 0.3], [0.8, 0.7, 0.3]) == 1.0


def test_the_best_reference_counts() -> None:
    found = semantic("east", "north", "northeast", "west")
    assert found.value == pytest.approx(0.6)
    assert found.reason == "similarity 0.60 with reference 2"
    assert (found.details or {})["similarities"] == pytest.approx([0.0, 0.6, -1.0])


def test_a_negative_similarity_is_a_score() -> None:
    """And it enters the weighted score as it is."""
    assert semantic("east", "west").value == -1.0
    info = METRIC_REGISTRY.get("answer_similarity").info
    column = MetricColumn(info.name, ends=info.range, as_is=info.as_is)
    assert column.to_unit(-0.1) == -0.1


def test_a_threshold_makes_it_all_or_nothing() -> None:
    """From the threshold on: 0.6 itself is enough."""
    assert semantic("east", "northeast", threshold=0.6).value == 1.0
    for above in (0.61, 0.6000001, 1.0):
        assert semantic("east", "northeast", threshold=above).value == 0.0
    assert semantic("east", "west", threshold=-1.0).value == 1.0
    # Of a text with itself it is 0.9999999999999998: the lengths are roots of 2.
    assert semantic("between", "between", threshold=1.0).value == 1.0


@pytest.mark.parametrize(
    ("answer", "references", "reason"),
    [
        (" ", ("east",), "the answer is empty"),
        ("east", ("", " "), "the reference is empty"),
    ],
)
def test_what_is_empty_has_no_similarity(
    answer: str, references: tuple[str, ...], reason: str
) -> None:
    found = semantic(answer, *references)
    assert (found.value, found.reason, found.error) == (None, reason, None)


@pytest.mark.parametrize(("answer", "reference"), [("nowhere", "east"), ("east", "undefined")])
def test_a_model_without_a_direction_has_failed(answer: str, reference: str) -> None:
    """A metric that does not apply to any row would leave the verdict to the others."""
    found = semantic(answer, reference)
    assert (found.value, found.reason) == (None, None)
    assert found.error == "an embedding is all zeros, or not finite: the model has failed"


def test_references_without_a_direction_are_passed_over() -> None:
    found = semantic("east", "nowhere", "", "northeast")
    assert found.value == pytest.approx(0.6)
    assert found.reason == "similarity 0.60 with reference 3"
    assert found.details == {"similarities": [None, None, pytest.approx(0.6)]}


@pytest.mark.parametrize(
    ("references", "named", "similarities"),
    [
        (["northeast"], "", [0.6]),
        (["northeast", "north"], " with reference 1", [0.6, 0.0]),
        (["north", "northeast"], " with reference 2", [0.0, 0.6]),
        (["northeast", "northeast"], " with reference 1", [0.6, 0.6]),
        (["northeast", " "], " with reference 1", [0.6, None]),
        (["", "northeast"], " with reference 2", [None, 0.6]),
        (["north", "\u00a0", "northeast", "west"], " with reference 3", [0.0, None, 0.6, -1.0]),
    ],
)
def test_the_named_reference_is_that_of_the_row(
    references: list[str], named: str, similarities: list[float | None]
) -> None:
    """Blank ones, which a hook or Python may hand over, keep their places."""
    found = semantic("east", *references)
    assert found.reason == f"similarity 0.60{named}"
    assert (found.details or {})["similarities"] == [
        None if one is None else pytest.approx(one) for one in similarities
    ]


def test_all_texts_are_embedded_in_one_request() -> None:
    embeddings = ScriptedEmbeddings(VECTORS)
    sample = Sample("s", answer="east", references=("north", "west"))
    score("semantic_similarity", embeddings, sample)
    assert embeddings.batches == [["east", "north", "west"]]
    embeddings = ScriptedEmbeddings(VECTORS)
    sample = Sample("s", contexts=("east", "north"), reference_contexts=("west", "east"))
    score("context_similarity", embeddings, sample)
    assert embeddings.batches == [["east", "north", "west"]]


@pytest.mark.parametrize(
    ("against", "expected"),
    # east against east, north, west: 1, 0, -1; northeast: 0.6, 0.8, -0.6.
    [("first", (1.0 + 0.6) / 2), ("max", (1.0 + 0.8) / 2), ("mean", (0.0 + 0.8 / 3) / 2)],
)
def test_against_which_expected_contexts(against: str, expected: float) -> None:
    """B3."""
    found = contexts(["east", "northeast"], ["east", "north", "west"], against=against)
    assert found.value == pytest.approx(expected)


def test_the_similarities_are_listed_by_rank() -> None:
    found = contexts(["east", "northeast"], ["east"])
    assert found.reason == "similarities by rank: 1.00, 0.60"
    assert (found.details or {})["similarities"] == pytest.approx([1.0, 0.6])


def test_nothing_retrieved_is_0_and_nothing_expected_is_unscored() -> None:
    assert contexts([], ["east"]).value == 0.0
    found = contexts(["east"], [])
    assert (found.value, found.reason) == (None, "the row expects no context")


@pytest.mark.parametrize("retrieved", [["east", "nowhere"], ["undefined"]])
def test_a_context_without_a_direction_leaves_the_row_unscored(retrieved: list[str]) -> None:
    assert contexts(retrieved, ["east"]).value is None


def test_an_empty_context_is_not_embedded() -> None:
    found = contexts(["east", " "], ["east"])
    assert (found.value, found.reason) == (None, "a context is empty")


def test_errors_of_the_client_pass_through() -> None:
    class Failing(ScriptedEmbeddings):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            raise error

    error = RateLimitError("429")
    for metric in ("semantic_similarity", "context_similarity"):
        sample = Sample(
            "s", answer="a", references=("r",), contexts=("c",), reference_contexts=("d",)
        )
        with pytest.raises(RateLimitError) as caught:
            score(metric, Failing({}), sample)
        assert caught.value is error


def test_names_needs_and_models() -> None:
    for alias in ("answer_similarity", "SemanticSimilarity", "AnswerSimilarity"):
        assert METRIC_REGISTRY.get(alias).name == "semantic_similarity"
    found = METRIC_REGISTRY.get("RetrieverSimilarityMetric").info
    assert found.name == "context_similarity"
    assert found.needs == {"contexts", "reference_contexts"}
    assert found.asks == {"embedding"}
    assert found.extra is None


def test_options_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValidationError):
        METRIC_REGISTRY.get("context_similarity").options.model_validate({"against": "last"})

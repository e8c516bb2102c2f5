"""B3: similarity of retrieved and expected contexts against DB-GPT's own code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from scripted_models import ScriptedEmbeddings

from pytest_rageval.metrics.base import METRIC_REGISTRY, Models
from pytest_rageval.model import Sample, Score

Reference = Callable[[str], Any]

METRIC = "RetrieverSimilarityMetric"
# NaN there; and a row that expects nothing has 0 there, as if something had been missed.
UNSCORED = ["zero_vector", "empty_contexts"]


@pytest.fixture(scope="module")
def figures(reference: Reference) -> Any:
    return reference("dbgpt_metrics.json")


def score(
    vectors: Mapping[str, Sequence[float]],
    retrieved: Sequence[str],
    expected: Sequence[str],
    **options: Any,
) -> Score:
    definition = METRIC_REGISTRY.get(METRIC)
    made: Any = definition.make(METRIC, definition.options.model_validate(options))
    sample = Sample("s", contexts=tuple(retrieved), reference_contexts=tuple(expected))
    found: Score = asyncio.run(made.ascore(sample, Models(embedding=ScriptedEmbeddings(vectors))))
    return found


def test_scores_are_those_of_dbgpt(figures: Any) -> None:
    """By default the first expected context alone counts, as there."""
    checked = []
    for case in figures[METRIC]:
        if case["id"] in UNSCORED:
            continue
        found = score(figures["vectors"], case["prediction"], case["contexts"])
        assert found.value == pytest.approx(case[METRIC]["score"], abs=1e-12, rel=0), case["id"]
        checked.append(case["id"])
    assert "only_first_context_used" in checked
    assert len(checked) == len(figures[METRIC]) - len(UNSCORED)


@pytest.mark.parametrize("name", UNSCORED)
def test_what_cannot_be_compared_is_unscored(figures: Any, name: str) -> None:
    (case,) = (case for case in figures[METRIC] if case["id"] == name)
    assert case[METRIC]["score"] in ("nan", 0.0)
    found = score(figures["vectors"], case["prediction"], case["contexts"])
    assert found.value is None
    assert found.reason or found.error


def test_the_similarity_of_a_text_to_contexts_is_a_mean(figures: Any) -> None:
    """SimilarityMetric of DB-GPT: the question against every context; here against: mean."""
    (case, _) = figures["SimilarityMetric"]
    found = score(figures["vectors"], [case["prediction"]], case["contexts"], against="mean")
    assert found.value == pytest.approx(case["SimilarityMetric"]["score"], abs=1e-12, rel=0)

"""Precision and recall of contexts by likeness of text, as ragas without an LLM."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_rageval.metrics import string_similarity
from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.metrics.string_similarity import SIMILARITIES
from pytest_rageval.model import Sample, Score

PRECISION, RECALL = "non_llm_context_precision", "non_llm_context_recall"


def score(
    metric: str,
    retrieved: str,
    expected: str,
    context: ScoringContext | None = None,
    **options: Any,
) -> Score:
    """Score contexts that are given as words."""
    definition = METRIC_REGISTRY.get(metric)
    made: Any = definition.make(metric, definition.options.model_validate(options))
    sample = Sample(
        "s", contexts=tuple(retrieved.split()), reference_contexts=tuple(expected.split())
    )
    found: Score = made.score(sample, context or ScoringContext())
    return found


@pytest.mark.parametrize(
    ("retrieved", "expected", "precision", "recall"),
    [
        ("aaaa", "aaaa", 1.0, 1.0),
        ("aaaa bbbb", "bbbb", 0.5, 1.0),
        # Hits at ranks 1 and 3: (1/1 + 2/3) / 2.
        ("aaaa xxxx bbbb", "aaaa bbbb cccc", 5 / 6, 2 / 3),
        ("xxxx yyyy", "aaaa", 0.0, 0.0),
        # Similarity 0.75 and 0.25.
        ("aaab abbb", "aaaa", 1.0, 1.0),
        # Exactly 0.5: enough for precision, not for recall, as in ragas.
        ("aabb", "aaaa", 1.0, 0.0),
    ],
)
def test_precision_and_recall(
    retrieved: str, expected: str, precision: float, recall: float
) -> None:
    assert score(PRECISION, retrieved, expected).value == pytest.approx(precision, abs=1e-12)
    assert score(RECALL, retrieved, expected).value == pytest.approx(recall, abs=1e-12)


def test_the_threshold_and_the_distance_can_be_chosen() -> None:
    """abcd and bcda: 2 edits of 4; no place equal."""
    assert score(PRECISION, "abcd", "bcda").value == 1.0
    assert score(PRECISION, "abcd", "bcda", threshold=0.6).value == 0.0
    assert score(PRECISION, "abcd", "bcda", distance_measure="hamming").value == 0.0
    for threshold in (-0.1, 1.1):
        with pytest.raises(ValidationError):
            score(PRECISION, "a", "a", threshold=threshold)


def test_the_reason_says_what_is_missing() -> None:
    assert score(PRECISION, "aaaa xxxx", "aaaa").reason == "1 of 2 contexts match an expected one"
    assert score(RECALL, "aaaa xxxx", "aaaa bbbb cccc").reason == (
        "1 of 3 expected contexts were retrieved; missing: [2], [3]"
    )


@pytest.mark.parametrize("metric", [PRECISION, RECALL])
def test_nothing_retrieved_is_0_and_nothing_expected_is_unscored(metric: str) -> None:
    assert score(metric, "", "aaaa").value == 0.0
    found = score(metric, "aaaa", "")
    assert (found.value, found.reason) == (None, "the row expects no context")


def test_both_measures_of_a_sample_compare_its_texts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []

    def counting(one: str, other: str) -> float:
        compared.append((one, other))
        return SIMILARITIES["jaro"](one, other)

    monkeypatch.setattr(
        string_similarity, "SIMILARITIES", {**SIMILARITIES, "levenshtein": counting}
    )
    shared = ScoringContext()
    score(PRECISION, "aa bb", "aa cc", shared, threshold=0.7)
    score(RECALL, "aa bb", "aa cc", shared)
    assert len(compared) == 4
    # Another distance is another table: 2 edits of 4, and no place equal.
    shared = ScoringContext()
    assert score(PRECISION, "abcd", "bcda", shared).value == 1.0
    assert score(PRECISION, "abcd", "bcda", shared, distance_measure="hamming").value == 0.0


def test_names_of_both_generations() -> None:
    for alias, name in (
        ("NonLLMContextPrecisionWithReference", PRECISION),
        ("non_llm_context_precision_with_reference", PRECISION),
        ("NonLLMContextRecall", RECALL),
    ):
        assert METRIC_REGISTRY.get(alias).name == name
    for name in (PRECISION, RECALL):
        assert METRIC_REGISTRY.get(name).info.needs == {"contexts", "reference_contexts"}

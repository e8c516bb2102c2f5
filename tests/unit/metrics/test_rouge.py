"""D1, D2: ROUGE on small cases worked by hand."""

from __future__ import annotations

import pytest
from made_metrics import score_of

from pytest_rageval.metrics import rouge
from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.model import Sample


@pytest.mark.parametrize(
    ("metric", "expected"), [("rouge-1", 1.0), ("rouge-2", 0.5), ("rouge-l", 0.6)]
)
def test_the_three_measures_of_a_reordered_sentence(metric: str, expected: float) -> None:
    """D1: cat sat on mat big / big mat cat sat on: same words; bigrams "cat sat", "sat on" of 4;
    longest common subsequence "cat sat on", 3 of 5."""
    assert score_of(metric, "cat sat on mat big", "big mat cat sat on") == pytest.approx(expected)


def test_words_are_stemmed() -> None:
    """D1: UltraRAG stems; running and run are one word, so are dogs and dog."""
    assert score_of("rouge-1", "run dog", "running dogs") == 1.0


def test_articles_are_removed_before() -> None:
    assert score_of("rouge-l", "the cat", "cat") == 1.0


def test_the_best_reference_counts() -> None:
    """D3."""
    assert score_of("rouge-1", "red fish", "blue bird", "red fish") == 1.0


@pytest.mark.parametrize("texts", [("", "paris"), ("paris", "?"), ("", "")])
@pytest.mark.parametrize("metric", ["rouge-1", "rouge-2", "rouge-l"])
def test_nothing_to_compare_scores_zero(metric: str, texts: tuple[str, str]) -> None:
    assert score_of(metric, *texts) == 0.0


@pytest.mark.parametrize("metric", ["rouge-1", "rouge-2", "rouge-l"])
def test_identical_chinese_texts_score_one(metric: str) -> None:
    """D2: rouge_score's own tokenizer drops them and says 0."""
    assert score_of(metric, "北京大学", "北京大学") == 1.0
    assert score_of(metric, "北京大学", "北京大学", tokenizer="word") == 0.0


@pytest.mark.parametrize("word", ["squad", "ultrarag", "unicode"])
def test_no_text_is_taken_for_the_name_of_something_else(word: str) -> None:
    """Texts of a sample are remembered by what was asked of them; "rouge" is a text, too."""
    # P = 1, R = 1/2 against the first reference, nothing in common with the second.
    found = score_of("rouge-1", word, f"{word} dog", "rouge", normalizer=word)
    assert found == pytest.approx(2 / 3)
    assert score_of("rouge-1", "rouge", word, normalizer=word) == 0.0


def test_a_text_is_stemmed_once_for_all_measures() -> None:
    rouge._stem.cache_clear()
    context = ScoringContext()
    sample = Sample("s", answer="run dog", references=("running dogs", "cat"))
    for name in ("rouge-1", "rouge-2", "rouge-l"):
        definition = METRIC_REGISTRY.get(name)
        definition.make(name, definition.options()).score(sample, context)
    assert rouge._stem.cache_info().misses == 3

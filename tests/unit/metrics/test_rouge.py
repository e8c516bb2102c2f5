"""D1, D2: ROUGE on small cases worked by hand."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from made_metrics import score_of
from rouge_score.rouge_scorer import RougeScorer

from pytest_rageval.metrics import rouge
from pytest_rageval.metrics.base import METRIC_REGISTRY, ScoringContext
from pytest_rageval.model import Sample

ROWS = tomllib.loads(Path(__file__).with_name("rouge.toml").read_text("utf-8"))


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


@pytest.mark.parametrize(
    ("answer", "reference"),
    ROWS["where_most_letters_are_latin_the_figures_are_those_of_rouge_score"],
)
def test_where_most_letters_are_latin_the_figures_are_those_of_rouge_score(
    answer: str, reference: str
) -> None:
    """D1: to the last digit; one foreign word or a symbol makes no other text of them."""
    wanted = RougeScorer(["rougeL"], use_stemmer=True).score(reference, answer)["rougeL"].fmeasure
    assert score_of("rouge_score", answer, reference) == wanted
    bare = re.sub(r"\b(?:a|the)\b ", "", f"{answer}|{reference}", flags=re.IGNORECASE)
    told = RougeScorer(["rougeL"], use_stemmer=True).score(*reversed(bare.split("|")))
    assert score_of("rouge-l", answer, reference) == told["rougeL"].fmeasure


@pytest.mark.parametrize(
    ("answer", "reference"), [("Он умер в 1998", "Она родилась в 1998"), ("Москва", "Москва")]
)
def test_the_tokenizer_word_keeps_the_figures_of_ultrarag(answer: str, reference: str) -> None:
    """D1: whoever writes it compares with a system that does the same."""
    told = RougeScorer(["rouge1"], use_stemmer=True).score(reference, answer)["rouge1"].fmeasure
    assert score_of("rouge-1", answer, reference, tokenizer="word") == told


def test_a_chinese_text_with_a_name_in_another_script_is_split_as_before() -> None:
    """D2: 北 京 москва: 2 of 3 tokens."""
    assert score_of("rouge-1", "北京 Москва", "北京") == pytest.approx(0.8)


@pytest.mark.parametrize(
    "text",
    [
        "Москва — столица России",
        "القاهرة عاصمة مصر",
        "Η Αθήνα είναι πρωτεύουσα",
        "ירושלים היא עיר הבירה",
        "किताब मेज़ पर है",
        "กรุงเทพ เป็น เมืองหลวง",
        "თბილისი დედაქალაქია",
        "Երևան մայրաքաղաք",
        "வணக்கம் உலகம்",
        "٢٠٢٤",
        "Б",
    ],
)
@pytest.mark.parametrize("metric", ["rouge-1", "rouge-l", "rouge_score"])
def test_equal_texts_of_any_script_score_one(metric: str, text: str) -> None:
    """D2: rouge-score's tokenizer drops all letters but a to z: it says 0."""
    assert score_of(metric, text, f"{text}.") == 1.0
    assert score_of(metric, text, "другой текст") == 0.0


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("Он умер в 1998", "Она родилась в 1998", 1 / 2),  # в, 1998 of 4 and 4; it was 1.0
        ("Компания Google основана в 1998 году", "Google, 1998 год", 4 / 9),  # 2 of 6 and 3
        ("Компания называется Google", "Google", 1 / 2),  # 1 of 3 and 1
        ("किताबें मेज़ पर", "किताब मेज़ पर", 2 / 3),  # signs of vowels make another word
        ("ДОМ «Росси́и»", "дом росси́и", 1.0),
    ],
)
def test_words_of_other_scripts_are_compared_whole(
    answer: str, reference: str, expected: float
) -> None:
    assert score_of("rouge-1", answer, reference) == pytest.approx(expected)
    assert score_of("rouge_score", answer, reference, rouge_type="rouge1") == pytest.approx(
        expected
    )


def test_the_script_is_told_for_each_reference() -> None:
    """moscow / moscow, stemmed as ever; москва / москва as words."""
    assert score_of("rouge-1", "Cities", "Москва", "city") == 1.0
    assert score_of("rouge-1", "Москва", "Cities", "Москва") == 1.0

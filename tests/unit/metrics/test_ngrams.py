"""BLEU and chrF of one answer, against sacrebleu's figures."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_metrics import score_of

from pytest_rageval.metrics.ngrams import bleu, chrf

# sacrebleu 2.6.0, divided by 100: BLEU(tokenize="none", effective_order=True), and CHRF().
FIGURES: list[tuple[str, str, float, float]] = [
    ("the cat sat on the mat", "the cat sat on the mat", 1.0000000000000004, 1.0),
    ("the cat sat on the mat", "the cat is on the mat", 0.3799178428257963, 0.645779420625287),
    ("the the the the", "the cat", 0.1597357760615681, 0.17868921870125237),
    ("cat", "the cat sat", 0.13533528323661276, 0.28531337698783904),
    ("the cat sat on a mat and slept", "a dog", 0.05522397783539471, 0.09615384615384615),
    ("a b c d e", "a b c x e", 0.4272870063962342, 0.32666666666666666),
    ("a b c d e", "e d c b a", 0.1597357760615681, 0.2),
    ("北 京 是 首 都", "北 京 是 中 国 的 首 都", 0.2744058180470132, 0.2660955347871236),
    ("the cat", "the cat sat on the mat today", 0.08208499862389884, 0.20740970656601085),
]
WORDS = st.lists(st.sampled_from(["a", "b", "北", "c d"]), max_size=12)


@pytest.mark.parametrize(("answer", "reference", "in_bleu", "in_chrf"), FIGURES)
def test_figures_are_those_of_sacrebleu(
    answer: str, reference: str, in_bleu: float, in_chrf: float
) -> None:
    assert bleu(answer.split(), reference.split()) == pytest.approx(in_bleu, abs=1e-12)
    assert chrf(answer, reference) == pytest.approx(in_chrf, abs=1e-12)


@given(WORDS, WORDS)
def test_scores_lie_in_0_to_1_and_are_1_for_equal_texts(one: list[str], other: list[str]) -> None:
    assert 0.0 <= bleu(one, other) <= 1.0
    assert 0.0 <= chrf(" ".join(one), " ".join(other)) <= 1.0
    if one:
        assert bleu(one, one) == pytest.approx(1.0)
        assert chrf("".join(one), "".join(one)) == pytest.approx(1.0)


def test_identical_chinese_strings_are_wholly_alike() -> None:
    """ragas gives 0.0: its BLEU knows words between blanks only."""
    assert score_of("bleu", "北京", "北京") == 1.0
    assert score_of("BleuScore", "我在北京工作。", "我在北京工作") == 1.0
    assert score_of("chrf", "我在北京工作", "我在北京工作") == 1.0


def test_bleu_tokens_follow_the_options() -> None:
    """ "The cat." has the tokens the, cat; UltraRAG's normalizer leaves cat alone."""
    assert score_of("bleu", "the cat", "The cat.") == 1.0
    assert score_of("bleu", "a cat", "The cat.") == pytest.approx(0.5)
    assert score_of("bleu", "a cat", "The cat.", normalizer="ultrarag") == 1.0
    assert score_of("bleu", "北京", "北海", tokenizer="word") == 0.0


def test_the_best_reference_counts() -> None:
    assert score_of("bleu", "a b c d", "x", "a b c d") == 1.0
    assert score_of("chrf", "abcd", "x", "abcd") == 1.0


def test_texts_without_anything_in_common_or_without_tokens_score_0() -> None:
    assert bleu([], []) == bleu([], ["a"]) == bleu(["a"], []) == bleu(["a"], ["b"]) == 0.0
    assert chrf("", "") == chrf(" ", "a") == chrf("a", "") == chrf("a", "b") == 0.0

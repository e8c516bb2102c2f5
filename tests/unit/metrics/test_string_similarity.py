"""Likeness of strings: distances against rapidfuzz's, containment to the letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_metrics import score_of

from pytest_rageval.metrics.string_similarity import (
    SIMILARITIES,
    Measure,
    jaro_similarity,
    jaro_winkler_similarity,
    levenshtein_distance,
)

# 1 - normalized_distance of rapidfuzz 3.14.6: Levenshtein, Hamming, Jaro, Jaro-Winkler.
FIGURES: list[tuple[str, str, float, float, float, float]] = [
    ("", "", 1.0, 1.0, 1.0, 1.0),
    ("", "abc", 0.0, 0.0, 0.0, 0.0),
    ("abc", "abc", 1.0, 1.0, 1.0, 1.0),
    (
        "kitten",
        "sitting",
        0.5714285714285714,
        0.5714285714285714,
        0.746031746031746,
        0.746031746031746,
    ),
    (
        "MARTHA",
        "MARHTA",
        0.6666666666666667,
        0.6666666666666667,
        0.9444444444444445,
        0.9611111111111111,
    ),
    ("DIXON", "DICKSONX", 0.5, 0.25, 0.7666666666666666, 0.8133333333333332),
    ("CRATE", "TRACE", 0.6, 0.6, 0.7333333333333334, 0.7333333333333334),
    ("ab", "ba", 0.0, 0.0, 0.0, 0.0),
    ("aaaaa", "aabaa", 0.8, 0.8, 0.8666666666666667, 0.8933333333333333),
    ("Berlin is a city", "Berlin, a city", 0.8125, 0.4375, 0.8880494505494506, 0.9328296703296703),
    (
        "未拆封的商品六十天内可以退货",
        "拆封的商品三十天内可以退货",
        0.8571428571428572,
        0.0,
        0.9267399267399267,
        0.9267399267399267,
    ),
    ("abcdefgh", "hgfedcba", 0.0, 0.0, 0.5, 0.5),
    ("prefix one", "prefix two", 0.7, 0.7, 0.8666666666666667, 0.92),
]
MEASURES: tuple[Measure, ...] = ("levenshtein", "hamming", "jaro", "jaro_winkler")
TEXTS = st.text(alphabet="abc中文 ", max_size=40)


@pytest.mark.parametrize("figures", FIGURES, ids=lambda figures: f"{figures[0]}-{figures[1]}"[:30])
def test_similarities_are_those_of_rapidfuzz(
    figures: tuple[str, str, float, float, float, float],
) -> None:
    one, other, *expected = figures
    found = [SIMILARITIES[measure](one, other) for measure in MEASURES]
    assert found == pytest.approx(expected, abs=1e-15)


def slow_levenshtein(one: str, other: str) -> int:
    """The table of Wagner and Fischer, row by row."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, start=1):
        above, row[0] = row[0], at
        for column, wanted in enumerate(other, start=1):
            above, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, above + (letter != wanted)),
            )
    return row[-1]


@given(TEXTS, TEXTS)
def test_bits_give_the_same_distance_as_the_table(one: str, other: str) -> None:
    assert levenshtein_distance(one, other) == slow_levenshtein(one, other)


@pytest.mark.parametrize("measure", MEASURES)
@given(one=TEXTS, other=TEXTS)
def test_similarities_lie_in_0_to_1_and_are_1_for_equal_texts(
    measure: Measure, one: str, other: str
) -> None:
    assert 0.0 <= SIMILARITIES[measure](one, other) <= 1.0
    assert SIMILARITIES[measure](one, one) == 1.0


def test_texts_that_are_little_alike_get_nothing_for_beginning_alike() -> None:
    """Jaro (2/8 + 2/8 + 1) / 3 = 0.5, below Winkler's 0.7."""
    assert jaro_winkler_similarity("abxxxxxx", "abyyyyyy") == pytest.approx(0.5)


def test_jaro_by_hand() -> None:
    """MARTHA, MARHTA: 6 common, 1 transposition: (1 + 1 + 5/6) / 3; 3 letters in front equal."""
    assert jaro_similarity("MARTHA", "MARHTA") == pytest.approx(17 / 18)
    assert jaro_winkler_similarity("MARTHA", "MARHTA") == pytest.approx(17 / 18 + 0.3 / 18)


def test_the_best_reference_counts_and_texts_are_compared_as_they_are() -> None:
    assert score_of("string_similarity", "abcd", "xxxx", "abxx") == 0.5
    assert score_of("non_llm_string_similarity", "Abcd", "abcd") == 0.75
    assert score_of("NonLLMStringSimilarity", "ab", "ba", distance_measure="hamming") == 0.0


def test_identical_chinese_strings_are_wholly_alike() -> None:
    for measure in MEASURES:
        assert score_of("string_similarity", "北京", "北京", distance_measure=measure) == 1.0


def test_empty_texts() -> None:
    assert score_of("string_similarity", "", "abc") == 0.0
    assert score_of("string_similarity", "", "") == 1.0


def test_presence_is_to_the_letter() -> None:
    assert score_of("string_presence", "It is Berlin.", "Berlin") == 1.0
    assert score_of("StringPresence", "It is Berlin.", "berlin", "Paris") == 0.0
    assert score_of("string_present", "It is Berlin.", "berlin", "is") == 1.0

"""D1: the three ways to make a text comparable."""

from __future__ import annotations

import pytest

from pytest_rageval.text.tokenize import (
    NORMALIZERS,
    normalize_squad,
    normalize_ultrarag,
    normalize_unicode,
)


@pytest.mark.parametrize(
    ("text", "ultrarag", "squad"),
    [
        ("The  Cat!", "cat", "cat"),
        ("54 Mbit/s", "54 mbit s", "54 mbits"),
        ("1,000", "1 000", "1000"),
        ("he ain’t", "he ain t", "he ain’t"),
        ("theory of an anthem", "theory of anthem", "theory of anthem"),
        ("a an the", "", ""),
        ("", "", ""),
        ("ice\u00a0age\n\tlater", "ice age later", "ice age later"),
        ("a-b", "b", "ab"),
    ],
)
def test_the_two_english_definitions(text: str, ultrarag: str, squad: str) -> None:
    assert normalize_ultrarag(text) == ultrarag
    assert normalize_squad(text) == squad


def test_only_the_exact_words_true_and_false_are_yes_and_no() -> None:
    found = [normalize_ultrarag(text) for text in ("True", "False", "true", "True.")]
    assert found == ["yes", "no", "true", "true"]
    assert normalize_squad("True") == "true"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ＲＡＧ，北京。", "rag 北京"),
        ("Straße", "strasse"),
        ("１２３", "123"),
        ("“yes” – no", "yes no"),
        ("the cat", "the cat"),
        ("2 + 2 = 4", "2 2 4"),
        ("cafe\u0301", "café"),
        ("每 6 个月，用 GPT-4o\u3000模型", "每6个月 用gpt 4o模型"),
        ("版本2。月底", "版本2 月底"),
        ("서울 은", "서울 은"),
    ],
)
def test_unicode_folds_width_case_and_every_mark(text: str, expected: str) -> None:
    assert normalize_unicode(text) == expected


@pytest.mark.parametrize("name", NORMALIZERS)
def test_normalising_twice_changes_nothing(name: str) -> None:
    normalize = NORMALIZERS[name]
    once = normalize("The ＲＡＧ—system’s (1,000) “a b” cafe\u0301!")
    assert normalize(once) == once

"""E21: what stands in texts, and answers that refuse."""

from __future__ import annotations

import pytest

from pytest_rageval.text.evidence import content_words, holds


@pytest.mark.parametrize(
    ("reference", "is_held"),
    [
        ("May 18, 2018", True),
        ("the may 18 2018", True),
        ("18 May 2018", False),
        ("May 18, 201", False),
        ("ay 18", False),
        ("", False),
        (".", False),
        ("the", False),
    ],
)
def test_a_reference_is_held_by_a_text_with_its_tokens_in_a_row(
    reference: str, is_held: bool
) -> None:
    """E21: whole tokens, in their order; case, punctuation and articles do not count."""
    assert holds(["Soon.", "It came out on the May 18, 2018!"], ["nothing", reference]) is is_held


@pytest.mark.parametrize(
    ("reference", "text", "is_held"),
    [
        ("Vitamin A", "Vitamin C is good", False),
        ("Vitamin A", "Take the vitamin A, then rest.", True),
        ("the Plan A", "It is in a plan the A!", True),
        ("A", "A", False),
        ("Vitamin A deficiency", "vitamin deficiency", True),
    ],
)
def test_an_article_at_the_end_is_part_of_a_name(reference: str, text: str, is_held: bool) -> None:
    assert holds([text], [reference]) is is_held


def test_chinese_references_are_held_character_by_character() -> None:
    """E21."""
    assert holds(["由光荣和ω-force开发。"], ["光荣和ω-Force"])
    assert not holds(["由光荣和ω-force开发。"], ["光和荣"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The 2 of them were in Paris, Paris!", ["2", "paris"]),
        ("yes", []),
        ("光荣开发", ["光荣", "荣开", "开发"]),
        ("2024年北京", ["2024", "年北", "北京"]),
        ("在", []),
    ],
)
def test_content_words_are_what_a_text_says(text: str, words: list[str]) -> None:
    """E21: of Chinese, each two characters that follow each other."""
    assert content_words(text) == words

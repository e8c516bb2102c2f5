"""E20: letters of a ranking, by hand."""

from __future__ import annotations

import string

import pytest

from pytest_rageval.stats.variant_ranking import letters_of


@pytest.mark.parametrize(
    ("ranked", "apart", "expected"),
    [
        ("", "", ""),
        ("A", "", "a"),
        ("ABC", "", "a a a"),
        ("AB", "AB", "a b"),
        ("ABC", "AC", "a ab b"),
        ("ABC", "CA", "a ab b"),  # in whichever order
        ("ABC", "AB AC", "a b b"),
        ("ABC", "AB BC", "a b a"),  # the widely spread one in the middle is told from both
        ("ABC", "AB AC BC", "a b c"),
        # Runs that overlap: A B C, B C D, C D E.
        ("ABCDE", "AD AE BE", "a ab abc bc c"),
        # The best has an a even where it shares nothing.
        ("ABCD", "AB AC AD", "a b b b"),
        # A ring A B C D A: only neighbours share, so each letter has two.
        ("ABCD", "AC BD", "ab ac cd bd"),
    ],
)
def test_letters_by_hand(ranked: str, apart: str, expected: str) -> None:
    pairs = [(pair[0], pair[1]) for pair in apart.split()]
    assert list(letters_of(list(ranked), pairs).values()) == expected.split()


def test_a_letter_that_says_nothing_new_is_swept() -> None:
    """Of a hexagon's inner triangle each side is also in an outer triangle: three letters are left.

    1 to 3 share with each other; 4 shares with 1 and 2, 5 with 2 and 3, 6 with 1 and 3.
    """
    joined = {"12", "13", "23", "14", "24", "25", "35", "16", "36"}
    ranked = list("123456")
    apart = [(a, b) for a in ranked for b in ranked if a < b and a + b not in joined]
    found = letters_of(ranked, apart)
    assert found == {"1": "ab", "2": "ac", "3": "bc", "4": "a", "5": "c", "6": "b"}


@pytest.mark.full
def test_letters_go_on_after_z() -> None:
    """52 names that are all told apart: a to z, A to Z. There are no more."""
    ranked = [f"v{at:02}" for at in range(52)]
    apart = [(a, b) for a in ranked for b in ranked if a < b]
    found = letters_of(ranked, apart)
    assert found is not None
    assert list(found.values()) == [*string.ascii_lowercase, *string.ascii_uppercase]
    assert letters_of([*ranked, "v52"], [*apart, *((one, "v52") for one in ranked)]) is None


@pytest.mark.parametrize(("families", "is_readable"), [(3, True), (6, False), (10, False)])
def test_families_of_variants_need_too_many_letters(families: int, is_readable: bool) -> None:
    """Three prompts of each model, told apart within a model only: 3 ** families ways to choose.

    With ten models that would take hours, and nobody could read the letters.
    """
    ranked = [f"{model}-{prompt}" for model in range(families) for prompt in range(3)]
    apart = [(a, b) for a in ranked for b in ranked if a < b and a[0] == b[0]]
    assert (letters_of(ranked, apart) is not None) is is_readable


def test_the_order_of_pairs_makes_no_difference() -> None:
    ranked, apart = list("ABCDEF"), [("A", "D"), ("F", "A"), ("B", "E"), ("B", "F"), ("C", "F")]
    assert letters_of(ranked, apart) == letters_of(ranked, apart[::-1])

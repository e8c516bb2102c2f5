"""E20: two names share a letter if, and only if, they cannot be told apart."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.stats.variant_ranking import letters_of

NAMES = [f"v{at}" for at in range(9)]


@st.composite
def rankings(draw: Any) -> tuple[list[str], list[tuple[str, str]]]:
    ranked = NAMES[: draw(st.integers(1, 9))]
    pairs = list(combinations(ranked, 2))
    return ranked, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


@given(ranking=rankings())
def test_letters_say_what_the_pairs_say(ranking: tuple[list[str], list[tuple[str, str]]]) -> None:
    """And the best has an a, everybody has a letter, and no letter could be spared."""
    ranked, apart = ranking
    found = letters_of(ranked, apart)
    for pair in combinations(ranked, 2):
        assert bool(shared(found, pair)) == (pair not in apart), pair
    assert "a" in found[ranked[0]]
    assert all(found.values())
    for letter in set("".join(found.values())):
        without = {name: letters.replace(letter, "") for name, letters in found.items()}
        lost = [pair for pair in combinations(ranked, 2) if shared(found, pair)]
        assert any(not shared(without, pair) for pair in lost) or not all(without.values())


def shared(found: dict[str, str], pair: tuple[str, str]) -> set[str]:
    return set(found[pair[0]]) & set(found[pair[1]])

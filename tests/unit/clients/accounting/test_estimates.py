"""Guesses of tokens."""

from __future__ import annotations

import pytest

from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.tokens import TokenGuess, estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0.0),
        ("four letters", 3.0),  # 12 / 4
        ("检索增强", 4.0),  # one each
        ("检索ab", 2.5),  # two and 2 / 4
        ("\ud800", 0.25),  # a lone surrogate is written as one question mark
    ],
)
def test_an_estimate_counts_characters_and_chinese_ones_whole(text: str, tokens: float) -> None:
    assert estimate_tokens(text) == tokens


def test_guesses_follow_what_came_back() -> None:
    """A prompt guessed at 10 tokens took 30, so the next one of 20 is guessed at 60."""
    guess = TokenGuess()
    first = guess.make(["x" * 40])
    assert (first.prompt, first.completion, first.total) == (10.0, 256.0, 266.0)
    guess.learn(first, Usage(30, 8))
    second = guess.make(["x" * 80])
    assert (second.prompt, second.completion) == (60.0, 8.0)
    guess.learn(second, Usage(60, 16))
    third = guess.make(["x" * 4])  # 30 raw took 90; replies had 8 and 16
    assert (third.prompt, third.completion) == (3.0, 12.0)


def test_no_completion_is_guessed_beyond_max_tokens() -> None:
    assert TokenGuess(max_tokens=50).make([]).completion == 50.0

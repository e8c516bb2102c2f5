"""How a model counts and how much it writes, by its replies in the cache."""

from __future__ import annotations

import random

import pytest

from pytest_rageval.clients.tokens import CachedCall, Habits, token_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", (0.0, 0.0)),
        ("four letters", (2.0, 0.0)),
        ("internationally", (2.0, 0.0)),  # nine letters and six
        ("in 2026, {}", (5.0, 0.0)),  # in, 20, 26 and two runs of marks
        ("检索增强", (0.0, 4.0)),
        ("дом é", (0.0, 2.0)),  # half for each letter of two bytes
        ("a\n    b", (3.0, 0.0)),
        ("\ud800", (0.0, 0.0)),
    ],
)
def test_the_parts_of_a_text(text: str, parts: tuple[float, float]) -> None:
    assert token_parts(text) == parts


def call(
    plain: int, chinese: int, prompt: int, completion: int = 100, kind: str = "k"
) -> CachedCall:
    return CachedCall(kind, ("a " * plain + "字" * chinese,), prompt, completion)


def test_five_replies_tell_how_a_model_counts_another_language() -> None:
    """[R15] It takes 1.1 tokens for a word and 2 for a character, as small models do.

    The replies are all to questions with about a fifth of Chinese; the next one is half Chinese:
    500 * 1.1 + 500 * 2 + 10 = 1,560, of which the first guess would have 1,010.
    """
    mixes = [(800, 200), (780, 210), (820, 190), (790, 220), (810, 205)]
    kept = [call(plain, other, round(plain * 1.1 + other * 2 + 10)) for plain, other in mixes]
    prompt = ("a " * 500 + "字" * 500,)
    assert Habits().prompt(prompt) == 1010.0
    assert Habits(kept).prompt(prompt) == pytest.approx(1560, rel=0.1)


def test_what_was_asked_twice_tells_nothing_of_a_prompt() -> None:
    """[R15] Its tokens are those of two requests."""
    twice = CachedCall("k", ("a " * 100,), 230, 50, took_one_request=False)
    assert Habits([twice] * 9).prompt(("a " * 100,)) == 110.0


def test_replies_have_ten_to_a_thousand_tokens_until_five_of_their_kind_are_known() -> None:
    """[R15] Or max_tokens, where that is less."""
    four, five = [call(9, 0, 20)] * 4, [call(9, 0, 20, size) for size in (90, 95, 100, 105, 110)]
    assert Habits(four).completion({"k": 3}) == (30.0, 3000.0)
    assert Habits(four, 5).completion({"k": 3}) == (15.0, 15.0)
    # Of 20 more, mean 100, standard deviation sqrt(250/4) = 7.9: chance 7.9 * sqrt(20 + 400/5).
    assert Habits(five).completion({"k": 20}) == pytest.approx((2000 - 200, 2000 + 200))
    least, most = Habits(five).completion({"k": 20, "other": 1})
    assert (least, most) == pytest.approx((1810, 3200))


@pytest.mark.parametrize(
    ("max_tokens", "expected"),
    [(50, (150.0, 150.0)), (100, (270.0, 300.0)), (1000, (270.0, 330.0))],
)
def test_no_reply_is_longer_than_max_tokens(max_tokens: int, expected: tuple[float, float]) -> None:
    """Also where the cache has longer ones: three of 100 tokens, a tenth more or less, are capped.

    It was ignored where five replies were known.
    """
    five = [call(9, 0, 20)] * 5
    assert Habits(five, max_tokens).completion({"k": 3}) == pytest.approx(expected)


@pytest.mark.full
def test_the_range_of_replies_holds_in_nine_of_ten_runs() -> None:
    """[R15] Of replies with 60 to 800 tokens: before any is known, and after five of them."""
    draw = random.Random(15)

    def replies(count: int) -> list[int]:
        return [draw.randint(60, 800) for _ in range(count)]

    for known in (0, 5, 30):
        held = 0
        for _ in range(400):
            habits = Habits([call(9, 0, 20, size) for size in replies(known)])
            least, most = habits.completion({"k": 12})
            held += least <= sum(replies(12)) <= most
        assert held >= 360

"""G6: the claims that a judge lists; what is plainly not the text's is asked again."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from pytest_rageval.metrics.support.prompts import ClaimsReply
from pytest_rageval.text.reply import UnreadableReplyError

TEXT = "The tower opened in 1889. It is 330 m high."
LONG = " ".join(f"Room {number} has two beds." for number in range(1, 13))


def read(text: str, *claims: str, may_be_empty: bool = True) -> Sequence[str]:
    return ClaimsReply(text, may_be_empty)(json.dumps({"claims": claims}))


def test_a_claim_counts_once_in_whatever_letters() -> None:
    """Saying what is right three times must not raise precision."""
    claims = ("The tower is high.", "the tower is high", "The Tower is high!", "It is old.")
    assert read(TEXT, *claims) == ("The tower is high.", "It is old.")
    assert read("塔高330米。", "塔高330米。", "塔高330米") == ("塔高330米。",)


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ("...", "says nothing"),
        ("When did it open?", "is a question"),
        ("它什么时候开放？", "is a question"),
        ("A claim states one fact", "but in what was asked"),
        ("每项主张只陈述一个事实", "but in what was asked"),
    ],
)
def test_what_is_no_claim_of_the_text_is_refused(claim: str, message: str) -> None:
    """A weak judge repeats its prompt, and then says that the reference supports it."""
    with pytest.raises(ValueError, match=message):
        read(TEXT, "The tower opened in 1889", claim)


def test_a_text_may_say_what_the_prompt_says() -> None:
    said = "A claim states one fact"
    assert read(f"{said}, they write.", said) == (said,)


def test_a_long_text_has_more_than_a_claim_or_two() -> None:
    """12 sentences: 3 claims are one in four, 2 are one in six."""
    three = [f"Room {number} has two beds" for number in (1, 2, 3)]
    assert len(read(LONG, *three)) == 3
    with pytest.raises(ValueError, match="2 of the claims of a text of about 12 sentences"):
        read(LONG, *three[:2])


def test_only_an_answer_may_have_no_claim() -> None:
    """It counts as the worst then; a reference without one takes its row out of the mean."""
    assert read(LONG) == ()
    for text in (LONG, TEXT, "塔高330米。"):
        with pytest.raises(ValueError, match="none of the claims"):
            read(text, may_be_empty=False)
    for text in ("Yes.", "I cannot find that in the documents."):
        assert read(text, may_be_empty=False) == ()


@pytest.mark.parametrize("fact", ["room {} has two beds", "房间{}有两张床和一张桌子"])
def test_one_long_sentence_has_more_than_a_claim(fact: str) -> None:
    """100 facts in one sentence are at least 16 sentences long: 4 claims, or more."""
    text = "; ".join(fact.format(number) for number in range(100))
    claims = [fact.format(number) for number in range(6)]
    with pytest.raises(ValueError, match="1 of the claims"):
        read(text, claims[0])
    assert len(read(text, *claims)) == 6


def lists(*replies: Sequence[str]) -> Sequence[str]:
    said = "\nI missed one:\n".join(json.dumps({"claims": claims}) for claims in replies)
    return ClaimsReply(TEXT, may_be_empty=True)(said)


def test_of_several_lists_of_claims_none_counts() -> None:
    """Whether the second corrects the first or goes on with it, a reader cannot know."""
    for first, second in (
        (["It opened in 1889."], ["It is 330 m high."]),
        (["It costs 5 euros."], ["The fee is 5 euros."]),
        (["a", "b", "wrong"], ["a", "b"]),
    ):
        with pytest.raises(UnreadableReplyError, match='several lists "claims", which differ'):
            lists(first, second)
    assert lists(["..."], ["It opened in 1889."]) == ("It opened in 1889.",)
    assert lists(["a", "b"], ["a", "b"]) == ("a", "b")


@pytest.mark.parametrize(
    "claim", ["He wrote the book Who Moved My Cheese?", "The song is What Is Love?"]
)
def test_a_title_at_the_end_is_no_question(claim: str) -> None:
    assert read(TEXT, claim) == (claim,)


@pytest.mark.parametrize("claim", ["Was it Gustave Eiffel?", "The tower opened in 1889?"])
def test_a_claim_that_asks_is_refused(claim: str) -> None:
    with pytest.raises(ValueError, match="is a question"):
        read(TEXT, claim)

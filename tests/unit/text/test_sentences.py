"""G1: where sentences end, in English and Chinese."""

from __future__ import annotations

import pytest

from pytest_rageval.text.sentences import counts_as_sentence, split_sentences


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Eiffel built it.",
        "It is 330.5 m high.",
        "See Fig. 3 and Sec. 4.2 of the guide.",
        "J. R. R. Tolkien wrote it.",
        "It costs approx. 5 euros.",
        "Use version 1.2.3 of example.org.",
        "Wait... there is more.",
        "1. Open the lid.",
        "Items, e.g. shoes, i.e. footwear, can be returned.",
        "He left at 5 p.m. and came back.",
        "It ends at 5 p.m. Monday, or at 9 a.m. EST.",
        "It ends at 5 p.m. New York time.",
        "It is open 9 a.m. - 5 p.m. Mondays to Fridays, and from 9 a.m. 7 days a week.",
        "It closes at 5 p.m. Nov. 30, and he is 6 ft. 2 tall.",
        "They asked Rep. A. Smith about it.",
        "Ms. Smith, of St. Gallen, asked 30 Ms. Smiths.",
        "The Dept. of Health, ca. 1889, moved to Washington, CA. USA.",
        "The rise of 5 m. has an end.",
        "该塔高330.5米，由Dr. Eiffel建造。",
    ],
)
def test_one_sentence_stays_one(text: str) -> None:
    assert split_sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It opened. It closed.", 2),
        ('He said "no." Then he left.', 2),
        ("It opened!\nIt closed?", 2),
        ("It is open until 5 p.m. It closes then.", 2),
        ("Check-in opens at 3 p.m. Guests wait outside.[1]", 2),
        ("It takes 30 ms. The server is fast.", 2),
        ("It grows 30 ft. Bees like it.", 2),
        ("Our shop is in Los Angeles, CA. The parking is free.", 2),
        ("The office is at 5 Main St. The door is blue.", 2),
        ("该塔很高。票价5元！真的吗？是的；对。", 5),
        ("他说：“很高。”然后走了。", 2),
        ("它很高……它很大。", 2),
        ("- one thing\n- another thing", 2),
        ("Look at this:\n```\na. b. c.\n```\nThat is it.", 2),
        ("It costs 5 euros.Then it rises.", 1),
    ],
)
def test_sentences_are_counted(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("It opened in 1889.", True),
        ("# It opened in 1889", False),
        ("Did it open in 1889?", False),
        ("Yes.", False),
        ("它很高的。", True),
        ("是的。", False),
        ("它高吗，有多高？", False),
        ("Is it high enough?[1]", False),
        ('"Is it high enough?" [2][3]', False),
        ("高度够吗？【1】", False),
        ("高度够吗？[1]", False),
        ("Apples fall.[1]", False),
        ("Apples fall down.[1]", True),
        ("It is 5 m high [1].", True),
        # An initial, an abbreviation or a decimal is a word, and no number of an item.
        ("U.S. GDP rose.", True),
        ("J. Smith won.", True),
        ("e.g. shoes fit.", True),
        ("3.5米高。", True),
        ("3.5 is enough.", True),
        ("1. Apples fall.", False),
        ("1.Apples fall.", False),
        ("a) Apples fall.", False),
        ("A) Apples fall.", False),
        ("a. Apples fall.", False),
        ("- (12) Apples fall.", False),
        ("1.苹果红。", False),
        ("a.苹果红。", False),
        ("2、苹果红。", False),
        ("1.苹果是水果。", True),
        ("a) Apples are fruit.", True),
    ],
)
def test_short_ones_headings_and_questions_do_not_count(text: str, counts: bool) -> None:
    assert counts_as_sentence(text) is counts

"""G1: where sentences end, in English and Chinese."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pytest_rageval.text.sentences import counts_as_sentence, split_sentences

TABLES = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))


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
        "He is 5 ft. 3 in. tall, and holds a 3.5 in. disk, 1/2 in. thick.",
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
    TABLES["sentences_are_counted"],
)
def test_sentences_are_counted(text: str, count: int) -> None:
    assert len(split_sentences(text)) == count


@pytest.mark.parametrize(
    ("text", "counts"),
    TABLES["short_ones_headings_and_questions_do_not_count"],
)
def test_short_ones_headings_and_questions_do_not_count(text: str, counts: bool) -> None:
    assert counts_as_sentence(text) is counts

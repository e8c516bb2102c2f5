"""G1: sentences that splitters get wrong; ``|`` stands where one ends and the next begins."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pytest_rageval.text.sentences import split_sentences

TEXTS = tomllib.loads(Path(__file__).with_name("hard_sentences.toml").read_text("utf-8"))


def cases(text: str) -> list[list[str]]:
    return [[part.strip() for part in line.split("|")] for line in text.strip().splitlines()]


@pytest.mark.parametrize("sentences", cases(TEXTS["english"]), ids=" ".join)
def test_english_sentences_end_where_they_end(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize("sentences", cases(TEXTS["chinese"]), ids="".join)
def test_chinese_sentences_end_where_they_end(sentences: list[str]) -> None:
    """No blanks between them, but for Latin script and lines of a list."""
    joined = "".join(sentences)
    if sentences[0][0] in "1-一" or "It is a language." in sentences:
        joined = "\n".join(sentences)
    assert split_sentences(joined) == sentences

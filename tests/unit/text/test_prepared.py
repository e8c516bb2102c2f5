"""A sample's texts are prepared once, whoever asks."""

from __future__ import annotations

import pytest

from pytest_rageval.text import tokenize
from pytest_rageval.text.tokenize import PreparedText, SampleTexts


def test_a_text_is_normalised_and_split_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def lower(text: str) -> str:
        calls.append("normalize")
        return text.lower()

    def split(text: str) -> list[str]:
        calls.append("split")
        return text.split()

    monkeypatch.setitem(tokenize.NORMALIZERS, "squad", lower)
    monkeypatch.setitem(tokenize.TOKENIZERS, "word", split)
    texts = SampleTexts()
    first = texts.prepare("A B a", "squad", "word")
    second = texts.prepare("A B a", "squad", "word")
    assert (first.tokens, second.counts["a"], first.vocabulary) == (
        ["a", "b", "a"],
        2,
        frozenset("ab"),
    )
    assert calls == ["normalize", "split"]


def test_another_tokenizer_shares_the_normalised_text(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setitem(tokenize.NORMALIZERS, "squad", lambda text: calls.append(text) or text)
    texts = SampleTexts()
    assert texts.prepare("x", "squad", "word").tokens == ["x"]
    assert texts.prepare("x", "squad", "char").tokens == ["x"]
    assert calls == ["x"]


def test_another_normalizer_is_another_text() -> None:
    texts = SampleTexts()
    assert texts.prepare("1,000", "squad", "word").text == "1000"
    assert texts.prepare("1,000", "ultrarag", "word").text == "1 000"


def test_once_calls_for_the_first_request_of_a_key_only() -> None:
    texts = SampleTexts()
    assert texts.once("key", lambda: 1) == 1
    assert texts.once("key", lambda: 2) == 1
    assert texts.once("other", lambda: 2) == 2


def test_once_remembers_that_there_is_nothing() -> None:
    texts = SampleTexts()
    assert texts.once("key", lambda: None) is None
    assert texts.once("key", lambda: 1) is None  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("texts", "tokenizer"),
    [(("Rome", "Paris"), "word"), (("Rome", "北京"), "char"), ((), "word")],
)
def test_auto_is_char_as_soon_as_cjk_occurs_in_the_sample(
    texts: tuple[str, ...], tokenizer: str
) -> None:
    """D2: answer and references are split alike, or they would share nothing."""
    assert SampleTexts().resolve_tokenizer("auto", texts) == tokenizer


def test_a_tokenizer_that_is_named_is_taken() -> None:
    assert SampleTexts().resolve_tokenizer("word", ["北京"]) == "word"


def test_tokens_wait_until_they_are_asked_for() -> None:
    text = PreparedText("x", "no such tokenizer")
    assert text.text == "x"
    with pytest.raises(KeyError):
        _ = text.tokens

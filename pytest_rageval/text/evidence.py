"""Whether texts hold what another one says, by their words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from pytest_rageval.text.tokenize import has_cjk, one_of, split_characters


def holds(texts: Iterable[str], references: Iterable[str]) -> bool:
    """Return whether a text has the tokens of one of ``references`` in a row.

    This is has_answer (Karpukhin et al. 2020, DPR), but for punctuation and articles, which are
    left out on both sides; a reference without tokens is nowhere. An article behind which nothing
    stands is the end of a name: "Vitamin A" is not in "Vitamin C".

    >>> holds(["He was born in Ulm, in the Kingdom."], ["in Ulm in Kingdom"])
    True
    """
    told = list(map(split_characters, texts))
    bare, whole = list(map(_in_a_row, told)), [f" {' '.join(row)} " for row in told]
    return any(_is_in(wanted, bare, whole) for wanted in map(split_characters, references))


def _is_in(wanted: list[str], bare: list[str], whole: list[str]) -> bool:
    row = _in_a_row(wanted)
    if not row.strip() or wanted[-1] not in _ARTICLES:
        return bool(row.strip()) and any(row in text for text in bare)
    words = " (?:(?:an?|the) )*".join([*map(re.escape, row.split()), wanted[-1]])
    return any(re.search(f" {words} ", text) for text in whole)


def _in_a_row(tokens: Iterable[str]) -> str:
    return f" {' '.join(token for token in tokens if token not in _ARTICLES)} "


def content_words(text: str) -> list[str]:
    """Return the different words of ``text`` that say something, in order, numbers included.

    A Chinese, Japanese or Korean word is two characters that follow each other: a single one
    stands by chance in most longer texts.

    >>> content_words("It was in 1901, 在北京.")
    ['1901', '在北', '北京']
    """
    tokens = split_characters(text)
    if has_cjk(text):
        is_cjk = [has_cjk(token) for token in tokens]
        after = zip(tokens[1:], is_cjk[1:], strict=True)
        pairs = [a + b for a, at, (b, bt) in zip(tokens, is_cjk, after, strict=False) if at and bt]
        tokens = [token for token, at in zip(tokens, is_cjk, strict=True) if not at] + pairs
    return [token for token in dict.fromkeys(tokens) if token not in _FUNCTION_WORDS]


_ARTICLES: Final = one_of("a an the")
_FUNCTION_WORDS: Final = one_of(
    "a an the and or but nor so if then than as at by for from in into of off on onto out over to "
    "under until up upon with within without about after before between during through i you he "
    "she it we they me him her us them my your his its our their this that these those who whom "
    "whose which what when where why how is am are was were be been being do does did done has "
    "have had having can could may might must shall should will would not no yes true false also "
    "there here s t ll re ve d m"
)

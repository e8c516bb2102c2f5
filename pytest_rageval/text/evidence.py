"""Whether texts hold what another one says, by their words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pytest_rageval.text.tokenize import has_cjk, split_characters


def holds(texts: Iterable[str], references: Iterable[str]) -> bool:
    """Return whether a text has the tokens of one of ``references`` in a row.

    This is has_answer (Karpukhin et al. 2020, DPR), but for punctuation and articles, which are
    left out on both sides; a reference without tokens is nowhere.

    >>> holds(["He was born in Ulm, in the Kingdom."], ["in Ulm in Kingdom"])
    True
    """
    wanted = [row for row in map(_in_a_row, references) if row.strip()]
    return any(row in text for text in map(_in_a_row, texts) for row in wanted)


def _in_a_row(text: str) -> str:
    return f" {' '.join(token for token in split_characters(text) if token not in _ARTICLES)} "


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


_ARTICLES: Final = frozenset(("a", "an", "the"))

_ENGLISH: Final = (
    "a an the and or but nor so if then than as at by for from in into of off on onto out over to "
    "under until up upon with within without about after before between during through i you he "
    "she it we they me him her us them my your his its our their this that these those who whom "
    "whose which what when where why how is am are was were be been being do does did done has "
    "have had having can could may might must shall should will would not no yes true false also "
    "there here s t ll re ve d m"
)
_FUNCTION_WORDS: Final = frozenset(_ENGLISH.split())

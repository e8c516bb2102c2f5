"""Splits a text into tokens: words, CJK characters, or the words that jieba finds.

Chinese and Japanese have no spaces between words, and Korean attaches particles to them. Split at
white space, a whole sentence would be one token, and every overlap score 0 or 1.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib import import_module

from pytest_rageval import extras

# Han with its extensions and compatibility forms, the iteration mark, kana, bopomofo, hangul.
_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
_WORD = re.compile(r"[^\W_]+")


def has_cjk(text: str) -> bool:
    """Return whether Chinese, Japanese or Korean script occurs in ``text``."""
    return not text.isascii() and _cjk_character().search(text) is not None


def split_words(text: str) -> list[str]:
    """Return the pieces between white space.

    >>> split_words("54 mbit s")
    ['54', 'mbit', 's']
    """
    return text.split()


def split_characters(text: str) -> list[str]:
    """Return each CJK character, and each run of other letters and digits, as a token.

    NFKC and lower case first; punctuation and symbols are dropped.

    >>> split_characters("AWEL是工作流１２３。")
    ['awel', '是', '工', '作', '流', '123']
    """
    return _character_or_word().findall(unicodedata.normalize("NFKC", text).lower())


def split_jieba(text: str) -> list[str]:
    """Return the words that jieba finds, NFKC and lower case, without punctuation.

    Needs the extra ``zh`` (see ``require_tokenizer``). jieba's own messages are silenced.
    """
    jieba = import_module("jieba")
    jieba.setLogLevel(logging.WARNING)
    pieces = jieba.lcut(unicodedata.normalize("NFKC", text).lower())
    return [piece for piece in pieces if _WORD.search(piece)]


# Compiled when needed: ranges this wide take milliseconds.
@cache
def _cjk_character() -> re.Pattern[str]:
    # Looking ahead, or Python would compile the ranges a second time, for how a match begins.
    return re.compile(f"(?=[{_CJK}])")


@cache
def _character_or_word() -> re.Pattern[str]:
    return re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")


def require_tokenizer(name: str) -> None:
    """Raise MissingExtraError if the tokenizer needs a package that is not installed."""
    if name == "jieba" and not extras.installed("jieba"):
        extras.require("jieba", extra="zh", purpose="tokenizer 'jieba'")


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "word": split_words,
    "char": split_characters,
    "jieba": split_jieba,
}

"""Splits texts into tokens, and normalises them before a comparison, each text once.

Chinese and Japanese have no spaces between words, and Korean attaches particles to them. Split at
white space, a whole sentence would be one token, and every overlap score 0 or 1.
"""

from __future__ import annotations

import logging
import re
import string
import sys
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from importlib import import_module
from typing import TypeVar, cast

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


def count_cjk(text: str) -> int:
    """Return how many characters of ``text`` are Chinese, Japanese or Korean script.

    >>> count_cjk("高330米。")
    2
    """
    return 0 if text.isascii() else len(text) - len(_cjk_run().sub("", text))


def split_words(text: str) -> list[str]:
    """Return the pieces between white space.

    >>> split_words("54 mbit s")
    ['54', 'mbit', 's']
    """
    return text.split()


def one_of(words: str) -> frozenset[str]:
    """Return the words of a list, to look others up in.

    >>> "as" in one_of("at as by")
    True
    """
    return frozenset(words.split())


def split_characters(text: str) -> list[str]:
    """Return each CJK character, and each run of other letters and digits, as a token.

    NFKC and lower case first; punctuation and symbols are dropped, but for those of kana (``・``).

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
    # A lookahead: else Python compiles the ranges a second time, for how a match begins.
    return re.compile(f"(?=[{_CJK}])")


@cache
def _cjk_run() -> re.Pattern[str]:
    return re.compile(f"[{_CJK}]+")


@cache
def _character_or_word() -> re.Pattern[str]:
    return re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")


def jieba_digest() -> str:
    """Return a digest of jieba's words as they are now, with those that ``add_word`` added."""
    jieba = import_module("jieba")
    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    digests = (zlib.crc32(f"{word} {freq}".encode()) for word, freq in jieba.dt.FREQ.items())
    return f"{sum(digests):x}"  # a sum: the order in which words were added says nothing


def require_tokenizer(name: str) -> None:
    """Raise MissingExtraError if the tokenizer needs a package that is not installed."""
    if name == "jieba" and not extras.installed("jieba"):
        extras.require("jieba", extra="zh", purpose="tokenizer 'jieba'")


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "word": split_words,
    "char": split_characters,
    "jieba": split_jieba,
}


_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
# UltraRAG adds these four quotation marks to ASCII punctuation, and turns each into a space.
_ULTRARAG_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation + "‘’´`"), " ")
_SQUAD_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))


def normalize_ultrarag(text: str) -> str:
    """Return ``text`` as UltraRAG's evaluation server normalises it.

    A text that is just ``True`` or ``False`` becomes ``yes`` or ``no``; then lower case,
    punctuation to spaces, the articles a, an, the removed, runs of white space to one space.
    Source: OpenBMB/UltraRAG, servers/evaluation.

    >>> normalize_ultrarag("The 54 Mbit/s!")
    '54 mbit s'
    """
    text = {"True": "yes", "False": "no"}.get(text, text)
    text = text.lower().translate(_ULTRARAG_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def normalize_squad(text: str) -> str:
    """Return ``text`` as the SQuAD evaluation normalises it (ALCE's definition is the same).

    Lower case, ASCII punctuation deleted, the articles a, an, the removed, runs of white space to
    one space. Source: Rajpurkar et al. 2016.

    >>> normalize_squad("The 54 Mbit/s!")
    '54 mbits'
    """
    text = text.lower().translate(_SQUAD_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def normalize_unicode(text: str) -> str:
    """Return ``text`` folded for comparison in any script.

    First Unicode NFKC and case folding (full-width digits and letters become plain ones). Then
    blanks and tabs beside Han and kana, which write none, are deleted. At last every punctuation
    mark and symbol becomes a space, also beside Han, and runs of white space become one.

    >>> normalize_unicode("ＲＡＧ，北京。"), normalize_unicode("每 6 个月")
    ('rag 北京', '每6个月')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    if not folded.isascii():
        folded = _gap().sub("", folded)
    return " ".join(folded.translate(_unicode_punctuation()).split())


@cache
def _gap() -> re.Pattern[str]:
    han = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    return re.compile(f"(?<=[{han}])[ \\t]+|[ \\t]+(?=[{han}])")


@cache
def _unicode_punctuation() -> dict[int, str]:
    return {
        code: " "
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code))[0] in "PS"
    }


NORMALIZERS: dict[str, Callable[[str], str]] = {
    "ultrarag": normalize_ultrarag,
    "squad": normalize_squad,
    "unicode": normalize_unicode,
}


T = TypeVar("T")


class PreparedText:
    """A normalised text with its tokens and their counts, each made when first needed."""

    # No functools.cached_property: before Python 3.12 its lock takes longer than most texts do.
    __slots__ = ("_counts", "_tokens", "_vocabulary", "text", "tokenizer")

    def __init__(self, text: str, tokenizer: str) -> None:
        self.text = text
        self.tokenizer = tokenizer
        self._tokens: list[str] | None = None
        self._vocabulary: frozenset[str] | None = None
        self._counts: Counter[str] | None = None

    @property
    def tokens(self) -> list[str]:
        """The tokens in the order of the text."""
        if self._tokens is None:
            self._tokens = TOKENIZERS[self.tokenizer](self.text)
        return self._tokens

    @property
    def vocabulary(self) -> frozenset[str]:
        """The different tokens."""
        if self._vocabulary is None:
            self._vocabulary = frozenset(self.tokens)
        return self._vocabulary

    @property
    def counts(self) -> Counter[str]:
        """How often each token occurs."""
        if self._counts is None:
            self._counts = Counter(self.tokens)
        return self._counts


class SampleTexts:
    """The prepared texts of one sample; each sample has its own."""

    __slots__ = ("_auto_tokenizer", "_memory", "_normal", "_prepared")

    def __init__(self) -> None:
        self._normal: dict[tuple[str, str], str] = {}
        self._prepared: dict[tuple[str, str, str], PreparedText] = {}
        self._memory: dict[Hashable, object] = {}
        self._auto_tokenizer: str | None = None

    def prepare(self, text: str, normalizer: str, tokenizer: str) -> PreparedText:
        """Return ``text`` normalised by ``normalizer``, to be split by ``tokenizer``."""
        key = (text, normalizer, tokenizer)
        found = self._prepared.get(key)
        if found is None:
            normal = self._normalize(text, normalizer)
            found = self._prepared[key] = PreparedText(normal, tokenizer)
        return found

    def _normalize(self, text: str, normalizer: str) -> str:
        key = (text, normalizer)
        normal = self._normal.get(key)
        if normal is None:
            normal = self._normal[key] = NORMALIZERS[normalizer](text)
        return normal

    def resolve_tokenizer(self, tokenizer: str, texts: Iterable[str]) -> str:
        """Return ``tokenizer``; for ``auto``, ``char`` where CJK script occurs, else ``word``.

        The first ``auto`` decides; later ones have to pass the same ``texts``.
        """
        if tokenizer != "auto":
            return tokenizer
        if self._auto_tokenizer is None:
            self._auto_tokenizer = "char" if has_cjk("".join(texts)) else "word"
        return self._auto_tokenizer

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return ``make()``, called for the first request of ``key`` only.

        A key begins with a word that is unique to the caller.
        """
        if key not in self._memory:
            self._memory[key] = make()
        return cast("T", self._memory[key])

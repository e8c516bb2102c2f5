"""Normalises and tokenises the texts of a sample once for all metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar, cast

from pytest_rageval.text.normalize import NORMALIZERS
from pytest_rageval.text.tokenize import TOKENIZERS, has_cjk

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
        """Return what ``auto`` means for this sample: ``char`` where CJK script occurs."""
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

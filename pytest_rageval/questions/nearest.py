"""Finds the passages that have the most words of a text, over all documents: BM25."""

from __future__ import annotations

import heapq
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

from pytest_rageval.questions.base import Passage
from pytest_rageval.text.tokenize import has_cjk, split_characters

_K1: Final = 1.2
_B: Final = 0.75


class Nearest:
    """An index of passages, with their headings and the names of their documents.

    What is too short to be a passage, ``short``, has an index of its own: BM25 favours short texts.

    BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009), and the idf of Lucene, which is
    never negative: ln(1 + (N - n + 0.5) / (n + 0.5)).
    """

    def __init__(self, passages: Sequence[Passage], short: Sequence[Passage] = ()) -> None:
        self._passages = passages
        self._short = Nearest(short) if short else None
        # Of each word: the places of the passages with it, each followed by its count there.
        entries: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        lengths = [_index(entries, at, _titled(passage)) for at, passage in enumerate(passages)]
        mean = sum(lengths) / len(lengths) if any(lengths) else 1.0
        norms = [_K1 * (1.0 - _B + _B * length / mean) for length in lengths]
        # Of each word: the places, and beside them what it adds to the score of each.
        self._weights = {word: _weighted(found, norms) for word, found in entries.items()}

    def find(self, text: str, k: int, but: Collection[Passage] = ()) -> list[Passage]:
        """Return up to ``k`` passages, the nearest first; of equal ones, the earlier first.

        A passage that shares no word with ``text`` is not among them, nor is one of ``but``.
        """
        left_out = frozenset(but)
        scores = self._scores(text)
        most = k + len(left_out)
        best = heapq.nsmallest(most, scores, key=lambda at: (-scores[at], at))
        found = [self._passages[at] for at in best]
        return [passage for passage in found if passage not in left_out][:k]

    def find_all(self, text: str, k: int, but: Collection[Passage] = ()) -> list[Passage]:
        """Return what ``find`` returns; behind it, up to ``k`` of what is too short."""
        return self.find(text, k, but) + (self._short.find(text, k) if self._short else [])

    def _scores(self, text: str) -> dict[int, float]:
        """Return the score of each passage, by its place, that shares a word with the text."""
        scores = [0.0] * len(self._passages)
        for word in dict.fromkeys(_words(text)):
            for at, weight in zip(*self._weights.get(word, ((), ())), strict=True):
                scores[at] += weight
        return {at: score for at, score in enumerate(scores) if score}


def _index(entries: Mapping[str, array[int]], at: int, text: str) -> int:
    """Add a passage; return how many words it has."""
    counts = Counter(_words(text))
    for word, count in counts.items():
        entries[word].extend((at, count))
    return counts.total()


def _weighted(entries: array[int], norms: Sequence[float]) -> tuple[array[int], array[float]]:
    """Return the places of the passages with a word, and what it adds to the score of each."""
    places, counts = entries[::2], entries[1::2]
    having = len(places)
    idf = math.log(1.0 + (len(norms) - having + 0.5) / (having + 0.5))
    weights = (
        idf * (count * (_K1 + 1.0) / (count + norms[at]))
        for at, count in zip(places, counts, strict=True)
    )
    return places, array("d", weights)


def _titled(passage: Passage) -> str:
    """Return the text with its document's name and headings before it.

    They often name a subject that the text does not.
    """
    return f"{passage.doc_name} {passage.with_headings}"


def _words(text: str) -> Iterator[str]:
    """Yield the words in lower case; of Chinese, Japanese and Korean, pairs of characters."""
    tokens = split_characters(text)
    if not has_cjk(text):
        yield from tokens
        return
    for is_cjk, run in groupby(tokens, _is_cjk):
        row = list(run)
        if is_cjk and len(row) > 1:
            yield from map("".join, pairwise(row))
        else:
            yield from row


@lru_cache(maxsize=2**15)
def _is_cjk(token: str) -> bool:
    return has_cjk(token)

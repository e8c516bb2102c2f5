"""Draws which passages questions are made of, and of which type: evenly over the documents.

The draw depends on the seed and the passages alone, and its beginning not on how many are drawn:
50 questions are the first 50 of 100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from pytest_rageval.questions.base import Passage, QuestionType, Slot
from pytest_rageval.questions.rules import sentences_in
from pytest_rageval.text.json_value import digest
from pytest_rageval.text.sentences import counts_as_sentence


class Search(Protocol):
    """Finds passages by words."""

    def find(self, text: str, k: int, but: Sequence[Passage] = ()) -> Sequence[Passage]:
        """Return the ``k`` passages that are nearest to a text, the nearest first."""
        ...


def draw_slots(
    passages: Sequence[Passage],
    search: Search,
    count: int,
    shares: Mapping[QuestionType, float],
    seed: int = 0,
) -> list[Slot]:
    """Return ``count`` slots, fewer where the passages hold no more.

    Each passage comes up once, then once for each of its sentences. A comparison is between a
    passage and the one that is nearest to it by its words.
    """
    return list(islice(_Draw(passages, search, shares, seed).slots(), count))


class _Draw:
    def __init__(
        self,
        passages: Sequence[Passage],
        search: Search,
        shares: Mapping[QuestionType, float],
        seed: int,
    ) -> None:
        self._passages = passages
        self._search = search
        self._shares = shares
        self._seed = seed
        self._drawn = Counter[QuestionType]()
        self._pairs: set[frozenset[str]] = set()

    def slots(self) -> Iterator[Slot]:
        for passage, part in self._parts():
            for kind in self._types():
                slot = self._slot(kind, passage, part)
                if slot is not None:
                    self._drawn[kind] += 1
                    yield slot
                    break

    def _types(self) -> list[QuestionType]:
        """Return the types, first the one that lacks most of its share so far."""
        total = self._drawn.total() + 1
        lacks = {kind: share * total - self._drawn[kind] for kind, share in self._shares.items()}
        return sorted((kind for kind in lacks if self._shares[kind]), key=lambda kind: -lacks[kind])

    def _slot(self, kind: QuestionType, passage: Passage, part: str) -> Slot | None:
        if kind != "comparison":
            return Slot(kind, (passage,), part)
        for other in self._search.find(passage.text, _NEAREST, but=[passage]):
            pair = frozenset((passage.digest, other.digest))
            if pair not in self._pairs and other.text != passage.text:
                self._pairs.add(pair)
                return Slot(kind, (passage, other))
        return None

    def _parts(self) -> Iterator[tuple[Passage, str]]:
        """Yield the passages, each as a whole; then again, each time with another sentence."""
        in_order = list(self._in_turn())
        yield from ((passage, "") for passage in in_order)
        sentences = [_sentences(passage, self._seed) for passage in in_order]
        for turn in range(max(map(len, sentences), default=0)):
            for passage, parts in zip(in_order, sentences, strict=True):
                if turn < len(parts):
                    yield passage, parts[turn]

    def _in_turn(self) -> Iterator[Passage]:
        """Yield one passage of each document, then a second one of each, and so on.

        Each time in another order: types come in turns, too, and a document would always get the
        same one.
        """
        by_document: dict[str, list[Passage]] = {}
        for passage in self._passages:
            by_document.setdefault(passage.doc_name, []).append(passage)
        for of_document in by_document.values():
            of_document.sort(key=lambda passage: digest([self._seed, passage.digest]))
        for turn in range(max(map(len, by_document.values()), default=0)):
            for name in sorted(by_document, key=lambda name: digest([self._seed, turn, name])):
                if turn < len(by_document[name]):
                    yield by_document[name][turn]


_NEAREST = 5
"""Among how many passages the second one of a comparison is looked for."""


def _sentences(passage: Passage, seed: int) -> list[str]:
    """Return the sentences of a passage that state something, in an order of chance."""
    stated = dict.fromkeys(filter(counts_as_sentence, sentences_in(passage.text)))
    # Of a single one the passage as a whole is already asked about.
    several = list(stated) if len(stated) > 1 else []
    return sorted(several, key=lambda sentence: digest([seed, passage.digest, sentence]))

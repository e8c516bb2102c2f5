"""Draws which passages questions are made of, and of which type: evenly over the documents.

The draw depends on seed, shares and passages alone, and its beginning not on how many are drawn:
50 questions are the first 50 of 100. Slots that were filled before count first, wherever they would
be in the draw now that documents are added or changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from pytest_rageval.questions.base import SHARES, Passage, QuestionType, Slot
from pytest_rageval.questions.rules import sentences_in
from pytest_rageval.text.json_value import digest
from pytest_rageval.text.sentences import counts_as_sentence


class Search(Protocol):
    """Finds passages by words."""

    def find(self, text: str, k: int, but: Sequence[Passage] = ()) -> Sequence[Passage]:
        """Return up to ``k`` passages near to a text, none of ``but``, the nearest first."""
        ...

    def find_all(self, text: str, k: int, but: Sequence[Passage] = ()) -> Sequence[Passage]:
        """Return what ``find`` does; behind it, up to ``k`` texts too short to be a passage."""
        ...


@dataclass(frozen=True)
class Filled:
    """A slot that was filled before: the id and type of its row, the digests of its passages."""

    id: str
    type: QuestionType
    passages: Sequence[str]


@dataclass(frozen=True)
class Rules:
    """How slots are drawn: the shares of the types, the seed, and the slots ``filled`` before.

    ``ids`` of rows that are there are not drawn either, whatever else these rows have lost.
    """

    shares: Mapping[QuestionType, float] = field(default_factory=lambda: SHARES)
    seed: int = 0
    filled: Sequence[Filled] = ()
    ids: Collection[str] = ()


def still_there(filled: Sequence[Filled], passages: Sequence[Passage]) -> list[Filled]:
    """Return the slots whose passages the documents still hold."""
    there = {passage.digest for passage in passages}
    return [slot for slot in filled if there.issuperset(slot.passages)]


def draw_slots(passages: Sequence[Passage], search: Search, count: int, rules: Rules) -> list[Slot]:
    """Return so many slots that with those filled they are ``count``; fewer if there are no more.

    Those filled whose passages are gone do not count. Each passage comes up once, then once for
    each of its sentences, if it has several. A comparison is between a passage and the nearest one
    by its words that says something else, and is not yet compared with it.
    """
    draw = _Draw(passages, search, rules)
    return list(islice(draw.slots(), max(0, count - draw.filled)))


class _Draw:
    def __init__(self, passages: Sequence[Passage], search: Search, rules: Rules) -> None:
        self._passages = passages
        self._search = search
        self._shares, self._seed = rules.shares, rules.seed
        filled = still_there(rules.filled, passages)
        self.filled = len(filled)
        """How many of the slots filled before count."""
        self._ids = {*rules.ids, *(slot.id for slot in rules.filled)}
        self._drawn = Counter(slot.type for slot in filled)
        by_digest = {passage.digest: passage for passage in passages}
        self._compared: dict[str, list[Passage]] = {}
        """The second passages of comparisons that are filled, by the digest of the first."""
        for slot in filled:
            for other in slot.passages[1:]:
                self._compared.setdefault(slot.passages[0], []).append(by_digest[other])
        self._pairs = {
            frozenset((first, other.digest))
            for first, others in self._compared.items()
            for other in others
        }

    def slots(self) -> Iterator[Slot]:
        for passage, part in self._parts():
            if self._is_filled(passage, part):
                continue
            for kind in self._types():
                slot = self._slot(kind, passage, part)
                if slot is not None and slot.id not in self._ids:
                    self._drawn[kind] += 1
                    yield slot
                    break

    def _is_filled(self, passage: Passage, part: str) -> bool:
        """Return whether the passage, or its part, came up before, with whatever type."""
        slots = [Slot(kind, (passage,), part) for kind in SHARES if kind != "comparison"]
        others = self._compared.get(passage.digest, ())
        slots += [Slot("comparison", (passage, other), part) for other in others]
        return any(slot.id in self._ids for slot in slots)

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
                return Slot(kind, (passage, other), part)
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
    """Return the sentences of a passage that state something, in an order that the seed gives."""
    stated = dict.fromkeys(filter(counts_as_sentence, sentences_in(passage.text)))
    # A single one is all that the passage states, which is already asked about as a whole.
    several = list(stated) if len(stated) > 1 else []
    return sorted(several, key=lambda sentence: digest([seed, passage.digest, sentence]))

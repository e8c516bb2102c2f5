"""Finds made questions that are nearly the same as one that was asked before."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pytest_rageval.text.tokenize import has_cjk

_ORDER: Final = 6
_ALIKE: Final = 0.6
"""The least chrF of two questions that are nearly the same."""
_SAME_ANSWER: Final = 0.6
"""The least chrF of their answers."""
_COUNTED: Final = 4
"""The order of the n-grams by which candidates are found."""

_NUMBER: Final = re.compile(r"[^\W_]*\d[^\W_]*(?:[.,:/]\d+)*|第[一二三四五六七八九十百]+")
_NAME: Final = re.compile(r"(?<=[^.!?？。\s]\s)[^\W\d_a-z][\w'’-]*|《[^》]+》")
_OPPOSITES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        (
            r"\b(?:min(?:imum|imal)?|max(?:imum|imal)?|least|most|lowest|highest|smallest|largest|"
            r"fewest|shortest|longest|slowest|fastest|youngest|oldest|first|second|third|last|before|"
            r"after|with|without|not|never|start|begin|end|north|south|east|west|input|output|"
            r"enabled?|disabled?|male|female|men|women|upper|lower|left|right|increase|decrease)\b"
        ),
        r"最[\u4e00-\u9fff]|不|没|未|前|后|男|女|东|南|西|北|增|减|进口|出口|开始|结束",
    )
)


class AskedBefore:
    """The questions that were asked, by the ids of their rows."""

    def __init__(self) -> None:
        self._same: dict[str, str] = {}
        self._asked: list[tuple[str, _Question, _Question]] = []
        self._places: defaultdict[_Telling, defaultdict[str, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def add(self, row_id: str, question: str, answer: str) -> None:
        """Remember a question."""
        asked = _Question(question)
        self._same.setdefault(asked.text, row_id)
        for gram in asked.grams[_COUNTED - 1] if len(asked.grams) >= _COUNTED else ():
            self._places[asked.telling][gram].append(len(self._asked))
        self._asked.append((row_id, asked, _Question(answer)))

    def find(self, question: str, answer: str) -> str | None:
        """Return the id of the first question that is nearly the same, or None."""
        asked, replied = _Question(question), _Question(answer)
        if asked.text in self._same:
            return self._same[asked.text]
        for at in self._candidates(asked):
            row_id, earlier, its_answer = self._asked[at]
            if (
                not _contradict(asked.names, earlier.names)
                and _is_same_answer(replied, its_answer)
                and asked.chrf(earlier) >= _ALIKE
            ):
                return row_id
        return None

    def _candidates(self, asked: _Question) -> list[int]:
        if len(asked.grams) < _COUNTED:
            return []
        places: Mapping[str, list[int]] = self._places.get(asked.telling, {})
        common: Counter[int] = Counter()
        for gram in asked.grams[_COUNTED - 1]:
            common.update(places.get(gram, ()))
        least = 0.2 * len(asked.grams[_COUNTED - 1])
        return sorted(at for at, count in common.items() if count >= least)


_Telling = frozenset[str]


@dataclass(frozen=True)
class _Question:
    raw: str

    @cached_property
    def text(self) -> str:
        """The letters and digits alone, in lower case."""
        return "".join(letter for letter in self.folded if letter.isalnum())

    @cached_property
    def folded(self) -> str:
        return unicodedata.normalize("NFKC", self.raw).lower()

    @cached_property
    def grams(self) -> list[Counter[str]]:
        """The n-grams of each order from 1."""
        text = self.text
        last = min(_ORDER, len(text))
        return [
            Counter(text[at : at + n] for at in range(len(text) - n + 1))
            for n in range(1, last + 1)
        ]

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(_NUMBER.findall(self.folded))

    @cached_property
    def telling(self) -> _Telling:
        """What two questions that are the same share: numbers, and words with opposites."""
        words = _OPPOSITES[has_cjk(self.folded)].findall(self.folded)
        return self.numbers.union(words)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name.lower() for name in _NAME.findall(self.raw))

    def chrf(self, other: _Question) -> float:
        """Return chrF1: the F-measure of the mean precision and recall of n-grams, n = 1..6."""
        last = min(len(self.grams), len(other.grams))
        if not last:
            return 0.0
        pairs = list(zip(self.grams, other.grams, strict=False))
        common = [(one & another).total() for one, another in pairs]
        precision = sum(n / one.total() for n, (one, _) in zip(common, pairs, strict=True)) / last
        recall = sum(n / other.total() for n, (_, other) in zip(common, pairs, strict=True)) / last
        return 2 * precision * recall / (precision + recall) if precision else 0.0


def _contradict(some: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether each has what the other has not."""
    return bool(some - others) and bool(others - some)


def _is_same_answer(one: _Question, other: _Question) -> bool:
    if not one.text or not other.text:
        return one.text == other.text
    if _contradict(one.numbers, other.numbers):
        return False
    short, long = sorted((one.text, other.text), key=len)
    return short in long or one.chrf(other) >= _SAME_ANSWER

"""Finds made questions that are nearly the same as one that was asked before."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import Final

from pytest_rageval.text.evidence import content_words
from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.tokenize import has_cjk, split_characters

_ORDER: Final = 6
"""The length of the longest n-grams, in characters."""
_ORDER_ZH: Final = 2
"""Of Chinese, Japanese and Korean, where a character is a syllable."""
_ALIKE: Final = 0.55
"""The least chrF of two questions, without their function words, that are nearly the same."""
_ALIKE_UNANSWERED: Final = 0.8
"""The least chrF of their full wordings if no answer tells them apart."""
_SAME_ANSWER: Final = 0.6
"""The least chrF of their answers."""

_PHRASES: Final = phrases_in(__package__, "duplicates.toml")
_NUMBER, _NAME, _ASKING_ZH, _POLITE = (
    re.compile(_PHRASES[name][0]) for name in ("number", "name", "asking_zh", "polite")
)
_ASKING: Final = frozenset(_PHRASES["asking_words"][0].split())
_POLES: Final = {
    name: re.compile(patterns[0]) for name, patterns in _PHRASES.items() if name.startswith("pole_")
}


_Pair = tuple[str, int]
"""Two characters that follow each other, and how often they did before in the text."""


class AskedBefore:
    """The questions that were asked, by the ids of their rows.

    Two questions are nearly the same if they differ in case, punctuation, white space and
    courtesies alone; or if their wordings are alike (chrF1, Popović 2015) and their answers are,
    too. Not if one names another number or name than the other, a maximum where the other has a
    minimum, or if they differ by one replaced expression alone: "Who leads the club?", "Who leads
    the choir?".
    """

    def __init__(self) -> None:
        self._same: dict[str, str] = {}
        self._asked: list[tuple[str, _Text, _Text]] = []
        self._places: defaultdict[frozenset[str], defaultdict[_Pair, list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        """By what must be equal and a pair of characters, the places of questions in ``_asked``."""

    def add(self, row_id: str, question: str, answer: str) -> None:
        """Remember a question."""
        asked = _Text(question)
        self._same.setdefault(asked.letters, row_id)
        for pair in _pairs(asked.content):
            self._places[asked.telling][pair].append(len(self._asked))
        self._asked.append((row_id, asked, _Text(answer)))

    def find(self, question: str, answer: str) -> str | None:
        """Return the id of a question that is nearly the same, or None.

        One with the same letters counts first, whatever its answer; else the one asked earliest.
        """
        asked, replied = _Text(question), _Text(answer)
        if asked.letters in self._same:
            return self._same[asked.letters]
        for at in self._candidates(asked):
            row_id, earlier, its_answer = self._asked[at]
            if _is_same(asked, replied, earlier, its_answer):
                return row_id
        return None

    def _candidates(self, asked: _Text) -> list[int]:
        """Return the places of the questions whose chrF may be high enough."""
        common: Counter[int] = Counter()
        places: Mapping[_Pair, list[int]] = self._places.get(asked.telling, {})
        for pair in _pairs(asked.content):
            common.update(places.get(pair, ()))
        length, order = len(asked.content), _order(asked.content)
        return sorted(
            at
            for at, count in common.items()
            if _highest(count, length, len(self._asked[at][1].content), order) >= _ALIKE
        )


class _Text:
    """A question or an answer, with what is compared of it."""

    def __init__(self, text: str) -> None:
        self.raw = text
        self.folded = unicodedata.normalize("NFKC", text).lower()

    @cached_property
    def letters(self) -> str:
        """The letters and digits alone, without courtesies."""
        return _letters(_POLITE.sub("", self.folded).replace("为何", "为什么"))

    @cached_property
    def words(self) -> list[str]:
        """The words that say something, in Chinese the characters; all if none does."""
        if has_cjk(self.folded):
            words = split_characters(_ASKING_ZH.sub(" ", self.folded))
        else:
            words = [word for word in content_words(self.folded) if word not in _ASKING]
        return words or split_characters(self.folded)

    @cached_property
    def content(self) -> str:
        """The same words, without white space."""
        return "".join(self.words)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The words with a digit, and Chinese ordinals and numbers before some counters."""
        return frozenset(_NUMBER.findall(self.folded))

    @cached_property
    def telling(self) -> frozenset[str]:
        """What is equal in questions that are the same: numbers, and what makes an opposite."""
        poles = (name for name, pattern in _POLES.items() if pattern.search(self.folded))
        return self.numbers.union(poles, re.findall("[东南西北男女]", self.folded))

    @cached_property
    def names(self) -> frozenset[str]:
        """The words with a capital, but for the first of a sentence, and titles in 《》."""
        return frozenset(name.lower() for name in _NAME.findall(self.raw))


def _is_same(asked: _Text, replied: _Text, earlier: _Text, its_answer: _Text) -> bool:
    return (
        not _contradict(asked.names, earlier.names)
        and _is_same_answer(replied, its_answer, one_asked=asked.content == earlier.content)
        and _chrf(asked.content, earlier.content) >= _ALIKE
        and not _differ_by_one_expression(asked.words, earlier.words)
        and (bool(replied.letters) or _chrf(asked.letters, earlier.letters) >= _ALIKE_UNANSWERED)
    )


def _is_same_answer(one: _Text, other: _Text, *, one_asked: bool) -> bool:
    """Return whether answers are alike, or one is a part of the other.

    A part of an answer more than three times as long has to be a number, unless ``one_asked``: the
    questions have the same words.
    """
    if not one.letters or not other.letters:
        return one.letters == other.letters
    if _contradict(one.numbers, other.numbers):
        return False
    shorter, longer = sorted((one.letters, other.letters), key=len)
    is_most = one_asked or 3 * len(shorter) >= len(longer) or shorter.isdigit()
    is_part = shorter in longer and is_most
    return is_part or _chrf(one.content, other.content) >= _SAME_ANSWER


def _contradict(some: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether each has what the other has not."""
    return bool(some - others) and bool(others - some)


def _differ_by_one_expression(some: list[str], others: list[str]) -> bool:
    """Return whether one has another expression in one place, and all else is equal.

    It is the same expression if the beginnings are equal ("founder", "founded"). In Chinese,
    Japanese and Korean what is replaced in the first half suffices, whatever else differs.
    """
    codes = SequenceMatcher(None, some, others, autojunk=False).get_opcodes()
    changes = [code for code in codes if code[0] != "equal"]
    if not changes:
        return False
    kind, start, end, other_start, other_end = changes[0]
    is_only, is_replaced = len(changes) == 1, kind == "replace"
    left, right = "".join(some[start:end]), "".join(others[other_start:other_end])
    if not has_cjk(left + right):
        return is_only and is_replaced and left[:4] != right[:4]
    # The topic stands first: what is replaced in it, or put before it, makes another one. Behind
    # it, one character may be a part of a word that means the same.
    is_topic = 2 * start < len(some) if is_replaced else is_only and start == other_start == 0
    return is_topic or (is_only and is_replaced and min(len(left), len(right)) > 1)


def _chrf(one: str, other: str) -> float:
    """Return chrF1: the F-measure of the mean precision and recall of n-grams.

    n is 1..6, in Chinese, Japanese and Korean 1..2, and up to the length of the shorter text.
    """
    last = min(_order(one), len(one), len(other))
    common = [(_grams(one, n) & _grams(other, n)).total() for n in range(1, last + 1)]
    return _f1(common, len(one), len(other))


def _order(text: str) -> int:
    return _ORDER_ZH if has_cjk(text) else _ORDER


def _f1(common: list[int], length: int, other_length: int) -> float:
    """Return the F-measure for the numbers of common n-grams of two texts, from n = 1."""
    if not any(common):
        return 0.0
    precision = sum(count / (length - at) for at, count in enumerate(common))
    recall = sum(count / (other_length - at) for at, count in enumerate(common))
    return 2 * precision * recall / (precision + recall) / len(common)


@lru_cache(maxsize=2**16)
def _highest(common: int, length: int, other_length: int, order: int) -> float:
    """Return the highest chrF of texts of these lengths with so many pairs in common.

    A longer n-gram in common begins with a pair in common, another one for each.
    """
    lengths = (length, other_length)
    least = min(lengths)
    last = min(order, least)
    return _f1([least, *(min(common, least - n + 1) for n in range(2, last + 1))], *lengths)


@lru_cache(maxsize=2**16)
def _grams(text: str, n: int) -> Counter[str]:
    return Counter(text[at : at + n] for at in range(len(text) - n + 1))


def _pairs(text: str) -> Iterator[_Pair]:
    for pair, count in _grams(text, 2).items():
        yield from ((pair, number) for number in range(count))


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())

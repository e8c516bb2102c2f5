"""Rows over real passages with planned faults, and what a judge truly says of them.

Each row has the halves of a passage as the contexts ``a`` and ``b``, which hold what the reference
claims, and one or more other passages, the first of them ``c``, which distract. Each sentence of
its answer is of a kind, and makes one claim. What follows from a kind is written beside it, by
hand: a test that counts these figures needs no formula of ours.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, Literal, NamedTuple

from others_data import others_data
from support_judge import WORTH, PlantedTruth

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")

HALF = Fraction(1, 2)
LOST = "?"
"""A citation that points to nothing."""


class Kind(NamedTuple):
    """A kind of sentence: what the judge says of it, and what follows from that.

    ``levels``: by contexts that support it, in full or in part, alone or together. ``cites``: the
    contexts that it cites. ``is_right``: the reference supports its claim. ``found``: where the
    claim is found. ``supported``: what it cites supports it; ``needed`` of its citations are
    needed. ``worth``: the mean of what its citations are worth.
    """

    levels: Mapping[str, str]
    cites: str
    is_right: bool
    found: Literal["relevant", "irrelevant", "nowhere"]
    supported: int
    needed: int
    worth: Fraction


_ZERO, _ONE = Fraction(0), Fraction(1)
_PARTS = {"a": "partial", "b": "partial", "ab": "full"}
KINDS: Mapping[str, Kind] = {
    "good": Kind({"a": "full"}, "a", True, "relevant", 1, 1, _ONE),
    "wrong citation": Kind({"a": "full"}, "b", True, "relevant", 0, 0, _ZERO),
    "lost citation": Kind({"a": "full"}, LOST, True, "relevant", 0, 0, _ZERO),
    "no citation": Kind({"a": "full"}, "", True, "relevant", 0, 0, _ZERO),
    "unsupported": Kind({}, "a", False, "nowhere", 0, 0, _ZERO),
    "in part": Kind({"a": "partial"}, "a", False, "nowhere", 0, 0, HALF),
    "distracted": Kind({"c": "full"}, "c", False, "irrelevant", 1, 1, _ONE),
    "beside the point": Kind({"a": "full"}, "a", False, "relevant", 1, 1, _ONE),
    "known without": Kind({}, "b", True, "nowhere", 0, 0, _ZERO),
    "two together": Kind(_PARTS, "ab", True, "nowhere", 1, 2, HALF),
    "one too many": Kind({"a": "full"}, "ab", True, "relevant", 1, 1, HALF),
    "three, one too many": Kind(_PARTS, "abc", True, "nowhere", 1, 2, Fraction(1, 3)),
}


@dataclass(frozen=True)
class Unit:
    """A sentence of the answer, and the claim that it makes. ``swapped``: a and b change places."""

    kind: Kind
    text: str
    claim: str
    swapped: bool = False
    wrong: str = "none"
    """The level of a claim that is not right, against the reference."""

    @property
    def cites(self) -> str:
        """The contexts that it cites."""
        return self.role(self.kind.cites)

    def role(self, of_kind: str) -> str:
        """Return the contexts that are meant by those of the kind."""
        return of_kind.translate(str.maketrans("ab", "ba")) if self.swapped else of_kind


@dataclass(frozen=True)
class ReferenceClaim:
    """A claim of the reference: the context that has it, "" for none; what the answer has of it."""

    text: str
    found: str
    made: str = "none"


@dataclass(frozen=True)
class Nugget:
    """A nugget, and how far the answer, and the contexts together, have it."""

    text: str
    importance: str
    in_contexts: str
    made: str = "none"


@dataclass(frozen=True)
class PlannedRow:
    """A row; ``contexts`` by their role, in the order in which they were retrieved."""

    id: str
    language: Language
    question: str
    contexts: Mapping[str, str]
    units: Sequence[Unit]
    claims: Sequence[ReferenceClaim]
    nuggets: Sequence[Nugget]

    @property
    def blank(self) -> str:
        """What stands between sentences."""
        return " " if self.language == "en" else ""

    @property
    def answer(self) -> str:
        """The answer without citations."""
        return self.blank.join(unit.text for unit in self.units)

    @property
    def reference(self) -> str:
        """The reference answer."""
        return self.blank.join(claim.text for claim in self.claims)

    @property
    def row(self) -> dict[str, Any]:
        """The row of a data set."""
        return {
            "id": self.id,
            "question": self.question,
            "answer": self.blank.join(map(self._cited, self.units)),
            "contexts": list(self.contexts.values()),
            "references": [self.reference],
            "nuggets": [{"text": one.text, "importance": one.importance} for one in self.nuggets],
        }

    def _cited(self, unit: Unit) -> str:
        places = [self._place(role) for role in unit.cites]
        marks = self.blank * bool(places) + "".join(f"[{place}]" for place in places)
        # Before the full stop or after it: both are read.
        is_before = len(unit.text) % 2
        return f"{unit.text[:-1]}{marks}{unit.text[-1]}" if is_before else unit.text + marks

    def _place(self, role: str) -> int:
        return 1 + (7 if role == LOST else list(self.contexts).index(role))

    def plant(self, truth: PlantedTruth) -> None:
        """Write into a truth what a judge says of this row."""
        truth.claims[self.answer] = [unit.claim for unit in self.units]
        truth.claims[self.reference] = [claim.text for claim in self.claims]
        for cell, level in self._levels():
            assert truth.levels.setdefault(cell, level) == level, f"planned twice: {cell}"

    def _levels(self) -> Iterator[tuple[tuple[str, str], str]]:
        everything = "\n".join(self.contexts.values())
        for unit in self.units:
            right = "full" if unit.kind.is_right else unit.wrong
            yield (unit.claim, self.reference), right
            for role, text in self.contexts.items():
                yield (unit.claim, text), self._level(unit, [role])
            for roles in self._asked_together(unit):
                source = "\n".join(self.contexts[role] for role in roles)
                yield (unit.text, source), self._level(unit, roles)
        for claim in self.claims:
            yield (claim.text, self.answer), claim.made
            for role, text in self.contexts.items():
                yield (claim.text, text), "full" if role == claim.found else "none"
        for nugget in self.nuggets:
            yield (nugget.text, self.answer), nugget.made
            yield (nugget.text, everything), nugget.in_contexts

    def _asked_together(self, unit: Unit) -> Iterator[Sequence[str]]:
        """Yield each group of the cited contexts, in the order of the contexts."""
        cited = [role for role in self.contexts if role in unit.cites]
        for size in range(1, len(cited) + 1):
            yield from combinations(cited, size)

    def _level(self, unit: Unit, roles: Sequence[str]) -> str:
        known = [
            level for of, level in unit.kind.levels.items() if set(unit.role(of)) <= set(roles)
        ]
        return max(known, key=WORTH.index, default="none")


def planned_rows(language: Language, count: int = 200, answers: int = 1) -> list[PlannedRow]:
    """Return so many rows; those of other ``answers`` (1 or 2) differ in nothing but these.

    The test is skipped where the passages are not there.
    """
    passages = _passages(language)
    rich = [passage for passage in passages if len(passage.usable) >= 3]
    fixed = random.Random(f"{language} rows")
    drawn = random.Random(f"{language} answers {answers}")
    start = _STARTS[language] if answers == 2 else ""
    assert len(passages) >= count, f"{len(passages)} passages"
    rows = []
    for at, passage in enumerate(fixed.sample(passages, count)):
        others = fixed.sample([one for one in rich if one is not passage], 4)
        rows.append(_row(f"{language}-{at}", language, [passage, *others], fixed, drawn, start))
    return rows


def planted(rows: Sequence[PlannedRow]) -> PlantedTruth:
    """Return what a judge truly says of these rows; of anything else, what is no level."""
    truth = PlantedTruth(default="not planned")
    for row in rows:
        row.plant(truth)
    return truth


@dataclass(frozen=True)
class _Passage:
    question: str
    name: str
    sentences: Sequence[str]
    usable: Sequence[str]


def _row(
    name: str,
    language: Language,
    passages: Sequence[_Passage],
    fixed: random.Random,
    drawn: random.Random,
    start: str,
) -> PlannedRow:
    own, distracting, foreign, *more = passages
    contexts = _contexts(own, [distracting, *more[: fixed.randrange(3)]], language, fixed)
    claims = _claims(own, foreign, fixed)
    nuggets = _nuggets(own, foreign, fixed)
    # What has been drawn so far does not depend on the answer.
    pools = {
        "own": drawn.sample(own.usable, len(own.usable)),
        "c": drawn.sample(distracting.usable, len(distracting.usable)),
        "nowhere": drawn.sample(foreign.usable, len(foreign.usable)),
    }
    made = [ReferenceClaim(one.text, one.found, drawn.choice(WORTH)) for one in claims]
    known = [
        Nugget(one.text, one.importance, one.in_contexts, drawn.choice(WORTH)) for one in nuggets
    ]
    units = _units(pools, own.name, drawn, start)
    return PlannedRow(name, language, own.question, contexts, units, made, known)


def _contexts(
    own: _Passage, others: Sequence[_Passage], language: Language, fixed: random.Random
) -> dict[str, str]:
    blank, half = (" " if language == "en" else ""), (len(own.sentences) + 1) // 2
    parts = [own.sentences[:half], own.sentences[half:], *(other.sentences for other in others)]
    named = list(zip("abcdef", (blank.join(part) for part in parts), strict=False))
    fixed.shuffle(named)
    return dict(named)


def _claims(own: _Passage, foreign: _Passage, fixed: random.Random) -> list[ReferenceClaim]:
    """Return one claim of each half, and up to two that no context has."""
    lost = foreign.usable[: fixed.randrange(3)]
    texts = [*own.usable[:2], *lost]
    found = ["a", "b", "", ""]
    return [
        ReferenceClaim(f"{own.name} {number}: {text}".strip(), where)
        for number, (text, where) in enumerate(zip(texts, found, strict=False), 1)
    ]


def _nuggets(own: _Passage, foreign: _Passage, fixed: random.Random) -> list[Nugget]:
    """Return nuggets, of which the first is vital."""
    texts = [*own.usable[:2], *foreign.usable[: 1 + fixed.randrange(2)]]
    kinds = ["vital", *(fixed.choice(["vital", "okay"]) for _ in texts[1:])]
    return [
        Nugget(text.rstrip(".。"), kind, fixed.choice(WORTH))
        for text, kind in zip(texts, kinds, strict=True)
    ]


def _units(
    pools: Mapping[str, list[str]], name: str, drawn: random.Random, start: str
) -> list[Unit]:
    units = []
    for _ in range(drawn.randrange(1, 6)):
        kind = KINDS[drawn.choice(list(KINDS))]
        pool = pools["nowhere" if not kind.levels else "c" if "c" in kind.levels else "own"]
        if pool:
            text = start + pool.pop()
            swapped, wrong = drawn.random() < 0.5, drawn.choice(["none", "partial"])
            units.append(Unit(kind, text, f"{text[:-1]} ({name}){text[-1]}", swapped, wrong))
    return units or _units(pools, name, drawn, start)


_STARTS = {"en": "They write that ", "zh": "书上说"}
"""How the sentences of other answers begin: none of them was judged before."""
_FILES = {"en": "data/clapnq/dev.jsonl", "zh": "data/cmrc2018/dev_800.jsonl"}
_ENDS = {"en": r"(?<= \.)\s+", "zh": r"(?<=[。！？；])"}
_USABLE = {
    "en": re.compile(r"[A-Z][A-Za-z0-9 ,'$%-]{30,200} [a-z]{4,} \."),
    "zh": re.compile(
        r"[一-鿿][^。！？；…\[\]［］【】（）()《》〈〉「」『』“”:：\n.!?;¹²³⁴-⁹_]{10,80}[一-鿿]。"
    ),
}
"""Sentences of which nothing but their end looks like one, and nothing like a citation."""


@cache
def _passages(language: Language) -> list[_Passage]:
    """Return the passages, each once, that have two sentences or more to use."""
    lines = others_data(_FILES[language]).read_text("utf-8").splitlines()
    rows = {row["contexts"][0]: row for row in map(json.loads, lines)}
    found, seen = [], set[str]()  # passages of one article may overlap
    for text, row in rows.items():
        sentences = [one.strip() for one in re.split(_ENDS[language], text) if one.strip()]
        usable = [one for one in sentences if _USABLE[language].fullmatch(one)]
        unique = [one.replace(" .", ".") for one in dict.fromkeys(usable) if one not in seen]
        seen.update(usable)
        if len(unique) >= 2 and len(sentences) >= 4:
            found.append(_Passage(row["question"], row["doc_name"].strip(), sentences, unique))
    return found

"""What stands in for the replies that fill a support table while nobody has given them.

They decide how much more is asked: a text with eleven claims takes two calls for each source. So a
forecast is made three times: with the fewest claims, the likely ones, and the most.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import cycle, islice, product
from typing import Final, Literal

from pytest_rageval.clients.base import ReplySchema
from pytest_rageval.clients.tokens import ENOUGH, CachedCall, token_parts
from pytest_rageval.metrics.support.prompts import (
    MOST_CLAIMS,
    CellsReply,
    asked_in,
    cells_schema,
    claims_schema,
    read_claims,
)
from pytest_rageval.metrics.support.table import Cell, Level, Measure, SupportTable
from pytest_rageval.model import SUPPORT
from pytest_rageval.text.sentences import counts_as_sentence, split_sentences

Assumed = Literal["fewest", "likely", "most"]
ASSUMED: Final[Sequence[Assumed]] = ("fewest", "likely", "most")

_CLAIM: Final = "What a judge may find that the text says, put in one sentence"
_NEAR: Final = 8
"""A text's claims are guessed from one of so many known texts, those nearest to it in length."""

_ALL_LEVELS: Final[Sequence[tuple[Level, Level]]] = (
    # For a source of one part, and of several. Contexts less one of them are asked about where all
    # together support a statement, and that one alone does not; earlier turns, where nothing else
    # supports it.
    ("none", "full"),
    ("none", "none"),
    ("full", "full"),
)


def levels_matter(table: SupportTable, measures: Iterable[Measure]) -> bool:
    """Return whether more cells would be asked if the known ones had other levels."""
    others = [
        replace(table, cells=dict.fromkeys(table.cells, Cell(level))) for level in ("none", "full")
    ]
    return any(
        key not in table.cells
        for measure, other in product(measures, others)
        for key in measure.wants(other)
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """A text of ``size`` tokens, about, and the claims that a judge has found in it."""

    size: float
    claims: tuple[str, ...]


@dataclass
class Learned:
    """What replies in the cache tell of those to come.

    ``levels`` are those of statements, by whether the source has several parts.
    """

    texts: list[_Told] = field(default_factory=list)
    levels: dict[bool, list[Level]] = field(default_factory=lambda: {False: [], True: []})


def learned(calls: Iterable[CachedCall], most: int) -> Learned:
    """Return what calls in the cache tell, from ``most`` of each kind at most."""
    found, cells = Learned(), 0
    for call in calls:
        with suppress(ValueError):
            sources, count = asked_in(call.texts[-1])
            if call.kind == _kind(claims_schema()) and len(found.texts) < most and sources:
                found.texts.append(_Told(_size(sources[0]), read_claims(call.reply)))
            elif call.kind == _kind(cells_schema()) and cells < most:
                levels = [cell.level for cell in CellsReply(count)(call.reply)]
                found.levels[len(sources) > 1] += levels
                cells += 1
        if min(len(found.texts), cells) >= most:
            break
    return found


def _kind(schema: ReplySchema) -> str:
    """Return how ``question_kind`` calls the questions with this schema for a table."""
    return f"{SUPPORT} {schema.name} {schema.sha256}"


def _size(text: str) -> float:
    return max(sum(token_parts(text)), 1.0)


class Guesses:
    """Makes replies up: those that lead to the fewest calls, to the most, or likely ones.

    Likely ones are drawn from what was ``learned``, by chance with the question as its seed; claims
    are counted by sentences while that is too little. Else ``fixed`` are the levels of all
    statements, for a source of one part and of several.
    """

    def __init__(self, assumed: Assumed, learned: Learned) -> None:
        self.fixed: tuple[Level, Level] = ("full", "full")
        self._assumed = assumed
        self._learned = learned

    @property
    def choices(self) -> Sequence[tuple[Level, Level]]:
        """With "most", values of ``fixed`` that together lead to all possible calls; else one."""
        return _ALL_LEVELS if self._assumed == "most" else [self.fixed]

    def replies(self, schema: ReplySchema, prompt: str, seed: str) -> Iterator[str]:
        """Yield replies to a prompt of a support table; none to one of something else.

        Replies with ever more claims follow: one with few may be refused.
        """
        if schema not in (cells_schema(), claims_schema()):
            return
        sources, count = asked_in(prompt)
        if schema == cells_schema():
            levels = self._levels(count, len(sources), seed)
            verdicts = [
                {"n": n, "support": level, "reason": ""} for n, level in enumerate(levels, 1)
            ]
            yield json.dumps({"verdicts": verdicts})
        elif sources:
            number, like = self._number(sources[0], seed)
            words = islice(cycle(like or (_CLAIM,)), MOST_CLAIMS)
            claims = [f"{claim} {seed[:6]}.{at}" for at, claim in enumerate(words, 1)]
            for size in range(number, MOST_CLAIMS + 1):
                yield json.dumps({"claims": claims[:size]}, ensure_ascii=False)

    def _number(self, text: str, seed: str) -> tuple[int, Sequence[str]]:
        """Return how many claims a text is taken to have, and those of the text that tells it."""
        if self._assumed != "likely":
            return (0 if self._assumed == "fewest" else MOST_CLAIMS), ()
        if len(self._learned.texts) < ENOUGH:
            counted = sum(map(counts_as_sentence, split_sentences(text)))
            return min(max(counted, 1), MOST_CLAIMS), ()
        size, chance = _size(text), random.Random(seed)
        near = sorted(self._learned.texts, key=lambda told: abs(math.log(told.size / size)))
        drawn = chance.choice(near[:_NEAR])
        # Rounded by chance: a text is a little longer, and that adds up.
        number = math.floor(len(drawn.claims) * size / drawn.size + chance.random())
        return min(number, MOST_CLAIMS), drawn.claims

    def _levels(self, count: int, parts: int, seed: str) -> list[Level]:
        if self._assumed != "likely":
            return [self.fixed[parts > 1]] * count
        known = self._learned.levels[parts > 1]
        return random.Random(seed).choices(known or ["full", "none"], k=count)

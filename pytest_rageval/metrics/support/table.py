"""The support table of a sample: which of its statements which of its sources support.

Statements are sentences of the answer, claims of the answer or the reference, and nuggets. Metrics
are pure functions of the table; each says which cells it wants, and each cell is asked once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from pytest_rageval.metrics.base import AnswerReading
from pytest_rageval.model import SUPPORT_LEVELS, Sample, Score, Value

Level = Literal["none", "partial", "full"]
WORTH: Final[Mapping[str, float]] = SUPPORT_LEVELS
"""What a level counts, from 0 to 1, where partial support counts; else ``full`` alone counts."""

Origin = Literal["sentence", "claim", "reference_claim", "nugget"]
"""``claim`` is one of the answer, ``reference_claim`` one of the first reference."""


SourceKind = Literal["contexts", "reference", "answer", "history"]


class Source(Value, frozen=True):
    """What may support statements: contexts, one or several together, or another text.

    ``at`` are the places of the contexts, from 1, in rising order; () of other texts.
    """

    kind: SourceKind
    at: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What messages call it: ``contexts[2]``, ``contexts[1, 3]``, ``reference``."""
        listed = ", ".join(map(str, self.at))
        return f"{self.kind}[{listed}]" if self.at else self.kind


REFERENCE: Final = Source("reference")
ANSWER: Final = Source("answer")
HISTORY: Final = Source("history")


def context(*places: int) -> Source:
    """Return the contexts at these places, from 1, as one source."""
    return Source("contexts", tuple(sorted(set(places))))


class Citation(Value, frozen=True):
    """What a sentence cites: ``text`` as the answer writes it, without its brackets.

    ``places`` are those of the contexts that it points to, from 1, () where it points to nothing.
    The name of a document may point to several: these are one source then.
    """

    text: str
    places: tuple[int, ...] = ()


class Statement(Value, frozen=True):
    """One thing that is said; ``number`` counts from 1 among those of its origin.

    Of a sentence, ``cites`` is what it cites, in its order; what points to the same contexts, once.
    """

    of: Origin
    number: int
    text: str
    cites: tuple[Citation, ...] = ()
    importance: str = ""
    """Of a nugget: ``vital`` or ``okay``."""

    @property
    def cited_places(self) -> tuple[int, ...]:
        """The places of all contexts that it cites, each once."""
        return tuple(dict.fromkeys(at for cited in self.cites for at in cited.places))

    @property
    def lost(self) -> tuple[str, ...]:
        """The citations that point to nothing."""
        return tuple(cited.text for cited in self.cites if not cited.places)


class Cell(Value, frozen=True):
    """What the judge says of a statement and a source; ``reason`` is empty where it is full."""

    level: Level
    reason: str = ""


Key: TypeAlias = tuple[Statement, Source]


class SupportRow(Value, frozen=True):
    """What a table is about.

    The question of ``sample`` begins with the earlier turns that judges see, if any. ``answer`` is
    without its citations; if a scenario leaves open how answers cite, it is as it was given.
    ``reading`` is what was read in it, None where nothing was. ``history`` is the text of these
    turns where they may support an answer, else "".
    """

    sample: Sample
    answer: str
    reading: AnswerReading | None = None
    history: str = ""

    @property
    def contexts(self) -> tuple[Source, ...]:
        """Each context as a source."""
        return tuple(context(place) for place in range(1, len(self.sample.contexts or ()) + 1))

    @property
    def evidence(self) -> tuple[Source, ...]:
        """What may support a claim: each context, and earlier turns where the scenario says so."""
        return (*self.contexts, HISTORY) if self.history else self.contexts


@dataclass
class SupportTable:
    """The statements of a row, and what is known of its cells.

    ``failed`` has the error of each cell that the judge did not fill, and of each origin whose
    statements it did not find.
    """

    row: SupportRow
    statements: dict[Origin, tuple[Statement, ...]] = field(default_factory=dict)
    cells: dict[Key, Cell] = field(default_factory=dict)
    failed: dict[Key | Origin, Exception] = field(default_factory=dict)

    def of(self, origin: Origin) -> tuple[Statement, ...]:
        """Return the statements of an origin; none where they could not be found."""
        return self.statements.get(origin, ())

    def level(self, statement: Statement, source: Source) -> Level | None:
        """Return what is known of a cell, None if nothing is."""
        cell = self.cells.get((statement, source))
        return None if cell is None else cell.level

    def is_full(self, statement: Statement, source: Source) -> bool:
        """Return whether a source is known to support a statement fully."""
        return self.level(statement, source) == "full"

    def reason(self, statement: Statement, source: Source) -> str:
        """Return why a source does not fully support a statement, "" where no reason is known."""
        cell = self.cells.get((statement, source))
        return "" if cell is None else cell.reason

    def details(self) -> dict[str, Any]:
        """Return the table in JSON's types: a row of ``cells`` for each statement.

        A cell is [level, reason], [``failed``, error] or, if it was not asked, None. ``sources``
        are the columns. ``cited_by_place``, only there if false: answers cite contexts otherwise
        than by their places from 1, so that ``[1]`` may not be the first.
        """
        # In a fixed order, whichever reply came first.
        statements = [statement for origin in get_args(Origin) for statement in self.of(origin)]
        sources = sorted({source for _, source in self._asked()}, key=_place)
        return {
            "statements": [
                {
                    "text": statement.text,
                    "of": statement.of,
                    "number": statement.number,
                    "cites": list(statement.cited_places),
                }
                | ({"lost": list(statement.lost)} if statement.lost else {})
                | ({"importance": statement.importance} if statement.importance else {})
                for statement in statements
            ],
            "sources": [self._shown_source(source) for source in sources],
            "cells": [
                [self._shown((statement, source)) for source in sources] for statement in statements
            ],
            **({} if self._is_cited_by_place else {"cited_by_place": False}),
        }

    @property
    def _is_cited_by_place(self) -> bool:
        reading = self.row.reading
        if reading is None or not self.of("sentence"):
            return True
        return (reading.of, reading.base) == ("contexts", 1)

    def _shown_source(self, source: Source) -> dict[str, Any]:
        """Return a source, with the documents of its contexts where one is known."""
        known = self.row.sample.context_docs or ()
        docs = [known[place - 1] if place <= len(known) else None for place in source.at]
        shown = {"kind": source.kind, "index": list(source.at)}
        return {**shown, "docs": docs} if any(docs) else shown

    def _asked(self) -> list[Key]:
        return [*self.cells, *(key for key in self.failed if isinstance(key, tuple))]

    def _shown(self, key: Key) -> list[str] | None:
        if key in self.failed:
            return ["failed", str(self.failed[key])]
        cell = self.cells.get(key)
        return None if cell is None else [cell.level, cell.reason]


def _place(source: Source) -> tuple[int, int, tuple[int, ...]]:
    """Return where a source is shown: single contexts come before several together."""
    return get_args(SourceKind).index(source.kind), len(source.at), source.at


@dataclass(frozen=True)
class Measure:
    """What a metric makes of a table.

    It needs the statements of ``origins``. ``wants(table)`` returns the cells that it needs, as far
    as that is known: it is called again when these are filled. ``score(name, table)`` returns its
    score once it wants no more.
    """

    origins: frozenset[Origin]
    wants: Callable[[SupportTable], Iterable[Key]]
    score: Callable[[str, SupportTable], Score]

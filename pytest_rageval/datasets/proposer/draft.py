"""The fields that were found so far, and how the best column of a field is told from others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_rageval.datasets.proposer.columns import Column, Table
from pytest_rageval.datasets.proposer.names import (
    CHECK_FIELDS,
    Spoken,
    Surely,
    are_labels,
    is_behaviour,
    speaks_of,
)
from pytest_rageval.scenario.column_names import (
    kinds_of,
    snake_case,
    words_of,
)
from pytest_rageval.scenario.fields import FIELD_ALIASES

AS_SAID: Final = "as you said"
NUGGETS: Final = "nuggets"
GOLD_FIELDS: Final = frozenset(
    ("references", "reference_contexts", "reference_ids", NUGGETS, *CHECK_FIELDS)
)
SPARSE: Final = 0.5
"""A column that is filled in a smaller share of the rows is only a remark in some of them."""

DOCUMENTS: Final = frozenset(
    {"doc_name", "source", "source_file", "source_document", "file_name", "filename", "file"}
    | {"document", "document_name", "doc", "link", "url", "source_url"}
    | {"文档", "文件", "文件名", "来源"}
)
"""Names of columns with the document that a row belongs to."""

_MOST_SYSTEMS: Final = 8


@dataclass(frozen=True)
class FoundColumn:
    """The column of a field, and why it was chosen."""

    column: str
    why: str


@dataclass(frozen=True)
class Way:
    """One way to decide: in this ``case`` ("" in notes), ``field`` is read from ``column``."""

    case: str
    field: str
    column: str


@dataclass
class Draft:
    """The fields that were found so far; a column serves at most one of them.

    ``given`` are the columns that the user named, by field. ``doubt`` says what the user has to
    decide, by one of the ``ways``. ``systems`` are columns with answers of different systems.
    ``notes`` say what was not taken, each with the way to take it.
    """

    table: Table
    given: Mapping[str, str]
    fields: dict[str, FoundColumn] = field(default_factory=dict)
    doubt: str = ""
    ways: tuple[Way, ...] = ()
    systems: tuple[str, ...] = ()
    notes: list[tuple[str, Way | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fields |= {name: FoundColumn(column, AS_SAID) for name, column in self.given.items()}
        self._spoken: dict[str, Spoken] = {
            column.name: spoken
            for column in self.table.columns
            if (spoken := speaks_of(column)) is not None
        }
        if any(one.name == "document_position" for one in self.table.columns):
            # Phoenix: a row is a document that a search found, and ``reference`` its text.
            self._spoken["reference"] = Spoken("contexts", Surely.DOCUMENTED)
        for column in self.given.values():
            for name in [*self._spoken]:
                if name != column and words_of(name) == words_of(column):
                    self._spoken.pop(
                        name
                    )  # ``answer_2`` is as good as ``answer_1``: no other field
        parts = [name for name in self._numbered() if not self._field_of(name).startswith("answer")]
        lost = [name for name in parts if self._spoken.pop(name, None) is not None]
        if lost:
            listed = ", ".join(map(repr, lost[:_MOST_SYSTEMS]))
            self.notes.append((f"{listed} are parts of a list: write it into one column", None))

    def _numbered(self) -> list[str]:
        """Return the columns that differ from another one by the number at their end only."""
        names = [one.name for one in self.table.columns if one.name[-1:].isdigit()]
        stems = Counter(name.rstrip("0123456789") for name in names)
        return [name for name in names if stems[name.rstrip("0123456789")] > 1]

    def take_best(self, name: str) -> None:
        """Give a field the column whose name fits it best, if it has none.

        Where another one fits ``question`` or ``references`` as well, the user has to decide.
        """
        if name in self.fields:
            return
        fits = [column for column in self._of(name) if self._may_serve(name, column)]
        if not fits:
            return
        best, *others = sorted(fits, key=lambda column: self._rank(name, column))
        equals = [other for other in others if self._is_equal(name, best, other)]
        if equals and name in ("question", "references"):
            self._ask(name, [best, *equals])
        else:
            self.fields[name] = FoundColumn(best, self._spoken[best].surely.why)

    def _may_serve(self, name: str, column: str) -> bool:
        """Return whether a column's cells may be a field's; except for verdicts, note why not."""
        cells, surely = self.table[column], self._spoken[column].surely
        if name == "references" and is_behaviour(cells) and surely != Surely.DOCUMENTED:
            values = ", ".join(map(repr, cells.distinct[:3]))
            self._note(f"{column!r} repeats {values}: a label, no text to compare", name, column)
            return False
        if name == "references" and surely != Surely.DOCUMENTED and self._is_verdict(cells):
            return False
        is_only_gold = "references" not in self.fields or surely != Surely.DOCUMENTED
        if name in CHECK_FIELDS and cells.share < SPARSE and is_only_gold:
            filled = f"{len(cells.filled)} of {len(cells.cells)} rows"
            why = f"{column!r} is filled in {filled} only, and rows without it would be skipped"
            self._note(why, name, column)
            return False
        return True

    def _is_verdict(self, cells: Column) -> bool:
        """Return whether cells say of a system's answers whether they are right."""
        named = (*self._of("answer"), *self._of("answer?"))
        answers = [name for name in named if self._spoken[name].surely < Surely.UNSURE]
        answers += [self.fields["answer"].column] if "answer" in self.fields else []
        return any(cells.are_verdicts_beside(self.table[name]) for name in answers)

    def _note(self, why: str, name: str, column: str) -> None:
        self.notes.append((f"{why}; to take it nevertheless", Way("", name, column)))

    def _is_equal(self, name: str, best: str, other: str) -> bool:
        """Return whether nothing tells which of two columns is meant, and it matters."""
        one, two = self._spoken[best].surely, self._spoken[other].surely
        are_known = name == "references" and max(one, two) < Surely.WORDS
        if (one != two and not are_known) or self.table[best].cells == self.table[other].cells:
            return False
        if one == Surely.WORDS and self._rank(name, best)[2:] < self._rank(name, other)[2:]:
            return False
        return name != "references" or not self._lies_in(best, other)

    def _lies_in(self, best: str, other: str) -> bool:
        """Return whether ``other`` has labels only, or in each row one text is in the other."""
        if are_labels(self.table[other]) and not are_labels(self.table[best]):
            return True
        pairs = zip(self.table[best].cells, self.table[other].cells, strict=True)
        return all(
            one is None or two is None or str(one) in str(two) or str(two) in str(one)
            for one, two in pairs
        )

    def _ask(self, name: str, columns: Sequence[str]) -> None:
        """Leave open which of some columns a field is, unless something is left open already."""
        if self.doubt:
            return
        meant = {"question": "the question", "references": "the right answer"}
        what = meant.get(name, "what a system said")
        listed = " and ".join(map(repr, columns[:_MOST_SYSTEMS]))
        self.doubt = f"{listed} may {'both' if len(columns) == 2 else 'all'} be {what}"
        case = "what your system said" if name == "answer" else what
        self.ways = tuple(
            Way(f"{column!r} is {case}", name, column) for column in columns[:_MOST_SYSTEMS]
        )

    def _left(self) -> list[str]:
        taken = {found.column for found in self.fields.values()}
        return [column.name for column in self.table.columns if column.name not in taken]

    def _field_of(self, column: str) -> str:
        spoken = self._spoken.get(column)
        return spoken.field if spoken is not None else ""

    def _of(self, name: str) -> list[str]:
        return [column for column in self._left() if self._field_of(column) == name]

    def _rank(self, name: str, column: str) -> tuple[int, int, int, int]:
        """Return a key that sorts columns, the best one for a field first.

        The surest come first, then known names in their order, then names that say nothing of
        asking or retrieval, then those with fewer words.
        """
        known, words = FIELD_ALIASES.get(name, ()), snake_case(column)
        place = known.index(words) if words in known else len(known)
        spoken = self._spoken.get(column)
        kinds = kinds_of(column)
        weak = "asked" in kinds or "retrieved" in kinds
        surely = Surely.UNSURE if spoken is None else spoken.surely
        return surely, place, weak, len(words.split("_"))

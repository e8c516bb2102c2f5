"""Finds columns that are named after one field and differ: the user has to say which is meant.

Otherwise the gold might be scored as the answer, or the answers of an older run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from pytest_rageval.datasets.base import Row, row_place
from pytest_rageval.datasets.cells import is_filled, value_or_text
from pytest_rageval.datasets.proposer.certain import may_hold
from pytest_rageval.errors import shorten
from pytest_rageval.model import value_text
from pytest_rageval.scenario.column_names import name_key, name_keys, read_field
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import (
    BESIDE_ANSWERS,
    FIELD_ALIASES,
    FIELD_OF,
    NEEDED_FIELDS,
)
from pytest_rageval.scenario.yaml.tree import pair_text
from pytest_rageval.text.json_value import LostPathError, head_of, path_in

_OF_TWO_FILES: Final = frozenset(
    {"question", "contexts", "reference_contexts", "retrieved_ids", "reference_ids"}
)
"""Fields of which each of two joined files may have a column: either may be meant."""

GIVEN: Final = frozenset({"answer", "contexts", "retrieved_ids"})
"""What a system gives. A second file's blank stays: what the first has is of another answer."""

_WORTH_JOINING: Final = frozenset({*NEEDED_FIELDS} - {"question", "doc_name"})
"""The fields for which a second file may be there; a question or a document is no reason."""

_FEW: Final = 5
"""The fewest values that are called labels because they repeat."""

_WORD: Final = 20
"""The most characters of a label."""

_MAY_BE_MORE: Final = frozenset({"prompt", *map(name_key, BESIDE_ANSWERS)})
"""Names that may mean something else beside a column of the field: a whole prompt, gold."""

_QUESTIONS: Final = {
    "answer": "which one is what your system said",
    "references": "which one is the right answer",
}


@dataclass(frozen=True, slots=True)
class Doubt:
    """What the data leave open of a field, and what to write; it matters if a metric reads it."""

    field: str
    place: str
    message: str


@dataclass(frozen=True)
class ReadRows:
    """The rows, their columns, where they are from, and how the scenario reads them.

    ``likely`` and ``fallbacks`` are those of ``KeyMap``.
    ``joined`` maps the columns that a second file, ``theirs``, has brought to their names in it;
    ``own`` are the columns of the first file.
    """

    rows: Sequence[Row]
    columns: Sequence[str]
    shown: str
    spec: DatasetSpec
    likely: Mapping[str, str]
    fallbacks: Mapping[str, str]
    joined: Mapping[str, str] = field(default_factory=dict)
    theirs: str = ""
    own: frozenset[str] = frozenset()

    def doubts(self) -> list[Doubt]:
        """Return what is open of each field: two columns, else a second file that gives nothing."""
        several = [doubt for name in FIELD_ALIASES for doubt in self._ambiguous_columns(name)]
        open_fields = {doubt.field for doubt in several}
        return [*several, *(doubt for doubt in self._unread() if doubt.field not in open_fields)]

    @cached_property
    def _key_map(self) -> dict[str, str]:
        return {**self.fallbacks, **self.spec.key_map}

    @cached_property
    def _taken(self) -> frozenset[str]:
        mapped = self._key_map.values()
        return frozenset({*mapped, *map(head_of, mapped)})

    def columns_read(self, name: str) -> list[str]:
        """Return the columns that a field is read from; the first that a row fills counts.

        Of a field with a ``key_map`` or a fallback it is the column that is named there.
        """
        if name in self._key_map:
            return [head_of(self._key_map[name])]
        likely = self.likely.get(name)
        known = [alias for alias in FIELD_ALIASES[name] if alias in self.columns]
        return [column for column in known if column not in self._taken] or (
            [likely] if likely else []
        )

    def _ambiguous_columns(self, name: str) -> Iterator[Doubt]:
        """Yield a doubt for each column that may be meant instead of the one that is read."""
        if name in self._key_map:
            return
        used = [column for column in self.columns_read(name) if not self._is_form(column)]
        for other in self.columns if used else ():
            if self._is_form(other):
                continue
            if other in self._taken or other == used[0] or self._field_of(other) != name:
                continue
            if not self._counts(name, used[0], other):
                continue
            if self._take_turns(name, used[0], other):
                continue
            valid = (row for row in self.rows if not row.flaw)
            apart = [row for row in valid if self._differ(name, row, used, other)]
            if apart:
                yield self._doubt(name, used[0], other, apart)

    def _unread(self) -> Iterator[Doubt]:
        """Yield a doubt for each field that a second file lacks, so that the first one's is scored.

        For ``answer`` always; for the others of GIVEN only if the second file has none of GIVEN and
        adds no other field. A file with nuggets is about the questions, and need have no answers.
        """
        if not self.theirs or "nuggets" in self.joined.values():
            return
        fields = {column: self._field_of(column) for column in self.joined}
        given = GIVEN.intersection(fields.values())
        adds = any(fields[column] in _WORTH_JOINING for column in fields if column not in self.own)
        for name in sorted(GIVEN - given - self._key_map.keys()):
            used = self.columns_read(name)
            if used and used[0] in self.own and (name == "answer" or not (given or adds)):
                columns = ", ".join(map(repr, list(self.joined)[:20])) or "none but the key"
                yield Doubt(
                    name,
                    self.theirs,
                    f"no column of it is read as {name!r}, and {used[0]!r} of {self.shown} would "
                    f"be scored. Write {self._map(name, 'YOUR_COLUMN')}, or "
                    f"{self._map(name, used[0])} if that is right (in 'dataset'). "
                    f"Columns: {columns}",
                )

    @property
    def has_their_answers(self) -> bool:
        """Whether the answers are those of the second file."""
        return any(
            self._field_of(column) == "answer" for column in self.joined if column not in self.own
        )

    def _field_of(self, column: str) -> str | None:
        """Return the field that a column is named after, None for none.

        For the fields of GIVEN, the name that the column has in the second file counts, too.
        """
        mapped = next((name for name, used in self._key_map.items() if head_of(used) == column), "")
        if mapped:
            return mapped
        in_its_file = self.joined.get(column, column)
        for name, fields in ((column, FIELD_ALIASES.keys()), (in_its_file, GIVEN)):
            known = FIELD_OF.get(name) or (read_field(name) or (None,))[0]
            if known in fields:
                return known
        return None

    def _counts(self, name: str, used: str, other: str) -> bool:
        """Return whether ``other`` may be meant as well as ``used``.

        For an answer it always may, whatever it holds: its name says that it is the system's.
        """
        if name == "answer" or name_key(used) == name_key(other):
            return True
        if name == "references":
            is_label = self._are_labels(other) and not self._are_labels(used)
            return not is_label and may_hold(name, self._values(other))
        is_joined = (used in self.own) != (other in self.own)
        is_open = is_joined and bool(self.theirs) and name in _OF_TWO_FILES
        return is_open and _MAY_BE_MORE.isdisjoint(name_keys(other))

    def _take_turns(self, name: str, used: str, other: str) -> bool:
        """Return whether some rows have one documented name and some the other, none both.

        The rows then come from several sources, and whichever name a row has is read.
        """
        is_known = {used, other} <= {*FIELD_ALIASES[name]} and not self.theirs
        if not (is_known and self._values(used) and self._values(other)):
            return False
        pairs = ((row.fields.get(used), row.fields.get(other)) for row in self.rows)
        return not any(is_filled(first) and is_filled(second) for first, second in pairs)

    def _is_form(self, column: str) -> bool:
        """Return whether a column is to be filled in: blank in data that a file is joined to."""
        return bool(self.theirs) and column in self.own and not self._values(column)

    def _are_labels(self, column: str) -> bool:
        """Return whether a column repeats a few single words, as ``expected: rag`` for a route."""
        values = [str(value).strip() for value in self._values(column)]
        are_words = all(len(value) <= _WORD and " " not in value for value in values)
        return are_words and len(values) >= _FEW and len({*values}) * 4 < len(values)

    def _values(self, column: str) -> list[Any]:
        values = (row.fields.get(column) for row in self.rows)
        return [value for value in values if is_filled(value)]

    def _differ(self, name: str, row: Row, used: Sequence[str], other: str) -> bool:
        """Return whether the values of a row differ, so that it matters which one is read.

        In answers, and beside a second file in all fields of GIVEN, a value and a blank differ,
        too. In other fields they do not, nor do texts and more texts that include them.
        """
        is_given = name == "answer" or (name in GIVEN and bool(self.theirs))
        one = row.fields.get(used[0]) if is_given else _first_filled(row, used)
        two = row.fields.get(other)
        if not (is_filled(one) and is_filled(two)):
            return is_given and is_filled(one) != is_filled(two)
        ones, twos = _texts(row, one), _texts(row, two)
        return ones != twos if is_given else not ({*ones} <= {*twos} or {*twos} <= {*ones})

    def _doubt(self, name: str, used: str, other: str, rows: Sequence[Row]) -> Doubt:
        count = "1 row has" if len(rows) == 1 else f"{len(rows)} rows have"
        question = _QUESTIONS.get(name, "which one is meant")
        gold = ""
        if name == "answer" and not self.columns_read("references"):
            gold = f", or {self._map(name, other, references=used)} if {used!r} is the right answer"
        blanks = any(
            not is_filled(row.fields.get(column)) for row in rows for column in (used, other)
        )
        difference = "a value in one only, or different ones," if blanks else "different values"
        return Doubt(
            name,
            row_place(self.shown, rows[0].line, rows[0].number),
            f"{count} {difference} in {self._named(used)} and {self._named(other)}, both names "
            f"of {name!r}: {question}? Write {self._map(name, other)} or {self._map(name, used)}"
            f"{gold} (in 'dataset')",
        )

    def _named(self, column: str) -> str:
        file = self.shown if column in self.own else self.theirs
        return f"{column!r} ({file})" if self.theirs else repr(column)

    def _map(self, name: str, column: str, **more: str) -> str:
        return pair_text("key_map", {**self.spec.key_map, name: column, **more})


def _first_filled(row: Row, columns: Sequence[str]) -> Any:
    values = (row.fields.get(column) for column in columns)
    return next((value for value in values if is_filled(value)), None)


def _texts(row: Row, value: Any) -> list[str]:
    value = value_or_text(value) if row.tabular else value
    parts = value if isinstance(value, list | tuple) else [value]
    return [value_text(part).strip() for part in parts]


def _at(row: Row, column: str) -> Any:
    """Return what a row has in a column, or at a path, as ``checks.forbidden``."""
    path = None if column in row.fields else path_in(column)
    try:
        return path.pick(row.fields) if path else row.fields.get(column)
    except LostPathError:
        return None


def joined_texts(source: ReadRows) -> Iterator[str]:
    """Yield what to do about a text of JSON or YAML that seems to be several: it would always hold.

    In a table, the row of such a text is invalid. In a list, a text is one.
    """
    name = "must_not_include"
    mapped = source.spec.key_map.get(name)
    columns = [mapped] if mapped else source.columns_read(name)
    if not columns or name in source.spec.split:
        return
    # Not at the top: the rows of most data sets have no checks of their own.
    from pytest_rageval.text.row_checks import joined_at

    for row in source.rows:
        text = _at(row, columns[0])
        if not row.tabular and isinstance(text, str) and (mark := joined_at(text)):
            yield (
                f"{row_place(source.shown, row.line, row.number)}: {columns[0]!r} is one text with "
                f"{mark!r}, {shorten(repr(text), 60)}, and fails only where an answer has all of "
                'it: write several as a list, ["first", "second"], and one as ["first, second"]'
            )
            return

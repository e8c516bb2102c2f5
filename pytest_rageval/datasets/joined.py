"""Puts rows together with the rows of a second file, by a key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from pytest_rageval.datasets.ambiguous import GIVEN, ReadRows
from pytest_rageval.datasets.base import BrokenRow, Row, row_place
from pytest_rageval.datasets.cells import (
    is_filled,
    is_missing,
    value_or_text,
)
from pytest_rageval.datasets.merged import text_at
from pytest_rageval.errors import Problem, ScenarioError, listed, shorten
from pytest_rageval.model import value_text
from pytest_rageval.scenario.column_names import read_field
from pytest_rageval.scenario.data_specs import AnswersSpec
from pytest_rageval.scenario.fields import (
    FIELD_ALIASES,
    FIELD_OF,
    OF_ANSWERS,
    WITH_ANSWERS,
)
from pytest_rageval.text.json_value import head_of

_LISTED: Final = 5
_UNKNOWN: Final = object()
_ANSWERS_FIELD: Final = {alias: name for name, all_ in OF_ANSWERS.items() for alias in all_}


class Answers:
    """The rows of a second file by their key."""

    def __init__(
        self,
        spec: AnswersSpec,
        shown: str,
        rows: Iterable[Row | BrokenRow],
        sha256: bytes,
        of_answers: Collection[str] = (),
        warnings: Sequence[str] = (),
    ) -> None:
        """Take the rows; raises ScenarioError for broken ones, and for a missing or repeated key.

        Where ``extra_rows`` are ignored, rows without a key are, too, and a key may repeat that no
        row of the first file has (``check_joined`` refuses others).
        ``of_answers`` are the fields that the scenario has read beside those that all data have,
        ``warnings`` what the reader of the file says once it has read the rows.
        """
        self.sha256 = sha256
        self.warnings = warnings
        self._spec = spec
        self._shown = shown
        self._of_answers = frozenset(of_answers)
        self._stale: dict[str, str] = {}
        self._columns: dict[str, str] = {}
        """By name in the joined rows, with the prefix, the column of this file."""
        self._own: dict[str, None] = {}
        self.filled: set[str] = set()
        """The columns of the first file with a value in any row."""
        self._differing = Counter[str]()
        """By column of both files that is no field, in how many rows they have other values."""
        self._by_key: dict[str, Row] = {}
        self._used: set[str] = set()
        self._repeated: dict[str, Problem] = {}
        self._has_key, rows = _key_in(rows, spec.key)
        problems = [problem for row in rows if (problem := self._add(row)) is not None]
        if problems:
            more = len(problems) - _LISTED
            rest = [Problem(shown, f"and {more} more")] if more > 0 else []
            raise ScenarioError([*problems[:_LISTED], *rest])

    def _add(self, row: Row | BrokenRow) -> Problem | None:
        place = row_place(self._shown, row.line, row.number)
        if isinstance(row, BrokenRow):
            return Problem(place, row.reason)
        own = _key_column(row, self._spec.key, has_key=self._has_key)
        value = text_at(row, own)
        ignores = self._spec.extra_rows == "ignore"
        if value is None and ignores:
            return None
        if value is None:
            columns = ", ".join(list(row.fields)[:20])
            return Problem(place, f"no {self._spec.key!r} (answers.key). Columns: {columns}")
        first = self._by_key.setdefault(value, row)
        if first is row:
            names = {f"{self._spec.prefix}{name}": name for name in row.fields if name != own}
            self._columns.update(names)
            return None
        earlier = f"line {first.line}" if first.line else f"row {first.number}"
        hint = (
            "" if self._spec.merge_rows else "; if they are one row, write answers.merge_rows: true"
        )
        problem = Problem(
            place, f"{self._spec.key} {shorten(value)!r} is here twice (first on {earlier}){hint}"
        )
        if not ignores:
            return problem
        self._repeated.setdefault(value, problem)
        return None

    def joined(
        self, rows: Iterable[Row | BrokenRow], shown: str, key_map: Mapping[str, str]
    ) -> Iterator[Row | BrokenRow]:
        """Yield the rows with what they lack; one without a counterpart is flawed.

        Raises ScenarioError if no row has the key, and for a field that both files have with
        different values.
        """
        mapped = key_map.get("id")
        stale = self._stale_fields(key_map)
        found_any = False
        columns = self._own
        has_key, rows = _key_in(rows, self._spec.key)
        for row in rows:
            if isinstance(row, BrokenRow):
                yield row
                continue
            columns.update(dict.fromkeys(row.fields))
            self.filled.update(name for name, value in row.fields.items() if is_filled(value))
            key = text_at(row, _key_column(row, self._spec.key, mapped, has_key=has_key))
            found_any = found_any or key is not None
            yield self._join(self._without_stale(row, key, stale, key_map), key, shown, key_map)
        if columns and not found_any:
            listed = ", ".join(list(columns)[:20])
            message = f"no row has {self._spec.key!r} (answers.key), nor an id. Columns: {listed}"
            raise ScenarioError([Problem(shown, message)])

    def notes(self, shown: str) -> Iterator[str]:
        """Yield which columns of the first file are left out, as the joined answers are others."""
        for column, by in self._stale.items():
            other = "another answer" if by == "answer" else f"other {by}"
            yield (
                f"{column!r} of {shown} is left out: {self._shown} has {other}. If it is "
                "about these, name it in dataset.key_map"
            )

    def differing(self, shown: str, key_map: Mapping[str, str]) -> dict[str, str]:
        """Return a warning by column, if this file has what a system gave, and other metadata."""
        if GIVEN.isdisjoint(self._field_of(name, key_map) for name in self._columns):
            return {}
        return {
            name: f"{name!r} has other values in {self._shown} in {count} row{'s'[: count > 1]}, "
            f"and those of {shown} count: take the column out of the file whose values are not "
            f"meant, or tell them apart with answers.prefix: bot_, and name bot_{name}"
            for name, count in self._differing.items()
            if count
        }

    def _stale_fields(self, key_map: Mapping[str, str]) -> dict[str, str]:
        """Return the fields of the first file about an answer, or contexts, that this one replaces.

        The value is which of the two. What the ``key_map`` names stays.
        """
        named = {name: head_of(column) for name, column in key_map.items()}
        fields = {self._field_of(name, key_map) for name in self._columns}
        given = {name for name in fields if name not in named or named[name] in self._columns}
        brought = self._of_answers.intersection(WITH_ANSWERS)
        stale = dict.fromkeys(brought, "answer") if "answer" in given else {}
        stale |= {"retrieved_ids": "contexts"} if "contexts" in given else {}
        return {name: by for name, by in stale.items() if name not in named}

    def _without_stale(
        self, row: Row, key: str | None, stale: Mapping[str, str], key_map: Mapping[str, str]
    ) -> Row:
        """Return a row without what belongs to another answer, or search, than it is given."""
        other = self._by_key.get(key or "")
        fields = {name: self._field_of(name, key_map) for name in row.fields} if stale else {}
        gone = [name for name, field in fields.items() if field in stale]
        if other is None or not gone:
            return row
        theirs = {
            self._field_of(name, key_map): other.fields.get(column)
            for name, column in self._columns.items()
        }
        ours = {field: row.fields[name] for name, field in fields.items()}
        by = {name: stale[fields[name]] for name in gone}
        gone = [name for name in gone if ours.get(by[name], _UNKNOWN) != theirs.get(by[name])]
        said = (name for name in gone if row.fields[name] != theirs.get(fields[name]))
        self._stale |= {name: by[name] for name in said}
        return replace(row, fields={k: v for k, v in row.fields.items() if k not in gone})

    def _field_of(self, column: str, key_map: Mapping[str, str]) -> str:
        field = _ANSWERS_FIELD.get(column, "")
        return _field_of(column, key_map) or (field if field in self._of_answers else "")

    def _join(self, row: Row, key: str | None, shown: str, key_map: Mapping[str, str]) -> Row:
        if key is None:
            return replace(row, flaw=f"no {self._spec.key!r}, by which {self._shown} is joined")
        other = self._by_key.get(key)
        if other is None:
            flaw = f"{self._shown} has no row with {self._spec.key} {shorten(key)!r}"
            return replace(row, flaw=flaw)
        self._used.add(key)
        fields = dict(row.fields)
        given = other.fields
        for name, column in self._columns.items():
            value, known = given.get(column), fields.get(name)
            is_given = _is_given(name, key_map)
            is_said = is_given or self._field_of(name, key_map) in OF_ANSWERS  # [] says: none
            is_blank = is_missing(value) or value in ("", [])
            if is_blank and is_given:
                fields[name] = value  # nothing was given: what the row has is another answer's
            elif column not in given:
                continue
            elif is_missing(known) or known == "" or not (is_said or is_filled(known)):
                fields[name] = value
            elif known != value and not is_missing(value) and (is_said or is_filled(value)):
                self._refuse_field(row, other, name, shown, key_map)
                self._differing[name] += not _is_equal(known, value)
        place = row_place(self._shown, other.line, other.number)
        flaw = row.flaw or (f"{place}: {other.flaw}" if other.flaw else "")
        return replace(row, fields=fields, tabular=row.tabular or other.tabular, flaw=flaw)

    def seen_in(self, rows: ReadRows) -> ReadRows:
        """Return the joined rows with which of their columns are from this file."""
        own = frozenset(self._own)
        return replace(rows, joined=self._columns, theirs=self._shown, own=own)

    def _refuse_field(
        self, row: Row, other: Row, column: str, shown: str, key_map: Mapping[str, str]
    ) -> None:
        """Raise ScenarioError for a column of a field; of others, the first file's value counts."""
        if column not in key_map.values() and not self._field_of(column, key_map):
            return
        place = row_place(shown, row.line, row.number)
        message = (
            f"{column!r} has another value than in {place}. To tell them apart, write "
            f"answers.prefix: bot_, and name the column, bot_{column}, in dataset.key_map"
        )
        raise ScenarioError([Problem(row_place(self._shown, other.line, other.number), message)])

    def check_joined(self, shown: str, *, all_read: bool) -> None:
        """Raise ScenarioError for rows of this file that no row of the first has joined.

        Only if ``all_read``: all rows are joined, and not only those up to a limit. Where
        ``extra_rows`` are ignored, it refuses only a key that is joined and repeats.
        """
        if problems := [self._repeated[key] for key in self._repeated if key in self._used]:
            raise ScenarioError(problems[:_LISTED])
        unused = [key for key in self._by_key if key not in self._used]
        if unused and all_read and self._spec.extra_rows == "error":
            first = self._by_key[unused[0]]
            keys = listed((repr(shorten(key, 40)) for key in unused), _LISTED)
            message = (
                f"{shown} has no row for {self._spec.key} {keys}; if that is right, write "
                "answers.extra_rows: ignore"
            )
            place = row_place(self._shown, first.line, first.number)
            raise ScenarioError([Problem(place, message)])


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal, also where a table has one as text, or a day as time."""
    try:
        return bool(_plain(one) == _plain(other)) or float(one) == float(other)
    except (TypeError, ValueError, OverflowError):
        return False


_MIDNIGHT: Final = re.compile(r"(?<=\d-\d\d)[T ]00:00(:00(\.0+)?)?(Z|\+00:00)?$")


def _plain(value: Any) -> Any:
    """Return the list or object that a value is or spells, else its text."""
    value = value_or_text(value)
    if isinstance(value, list | Mapping):
        return value
    text = _MIDNIGHT.sub("", value_text(value))
    return text.lower() if text.lower() in ("true", "false") else text


def _is_given(column: str, key_map: Mapping[str, str]) -> bool:
    """Return whether a column is of what a system gives: where it is blank, nothing was given."""
    return _field_of(column, key_map) in GIVEN


def _field_of(column: str, key_map: Mapping[str, str]) -> str:
    """Return the field that a column is read as in all data, "" for none."""
    mapped = next((name for name, used in key_map.items() if head_of(used) == column), "")
    return mapped or FIELD_OF.get(column) or (read_field(column) or ("",))[0]


def _key_in(rows: Iterable[Row | BrokenRow], key: str) -> tuple[bool, Iterable[Row | BrokenRow]]:
    """Return whether a row has the column of this name, and the rows, read up to the first."""
    rest, before = iter(rows), list[Row | BrokenRow]()
    for row in rest:
        before.append(row)
        if isinstance(row, Row) and key in row.fields:
            return True, chain(before, rest)
    return False, before


def _key_column(
    row: Row, key: str, mapped: str | None = None, *, has_key: bool = False
) -> str | None:
    """Return the column that is a row's key: the column of this name, else the column of its id.

    Of an id only where no row has the column (``has_key``), or it is a name of ids itself.
    """
    if key in row.fields or (has_key and key not in FIELD_ALIASES["id"]):
        return key
    ids = (mapped, *FIELD_ALIASES["id"])
    known = next((name for name in ids if name is not None and name in row.fields), None)
    named = (name for name in row.fields if (read_field(name) or ("",))[0] == "id")
    return known or next(named, None)

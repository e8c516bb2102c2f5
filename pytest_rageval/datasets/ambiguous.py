"""Finds columns that are named after one field and differ: the user has to say which is meant.

What is not said is what would be scored: the gold for the answer, or the answers of an older run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, Row, row_place
from pytest_rageval.datasets.cells import PASSAGE_KEYS, is_missing, value_or_text
from pytest_rageval.model import value_text
from pytest_rageval.scenario.column_names import name_key, name_keys, read_field, snake_case
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import (
    BESIDE_ANSWERS,
    BESIDE_GOLD,
    FIELD_ALIASES,
    FIELD_OF,
    NEEDED_FIELDS,
    OF_TRAINING,
)
from pytest_rageval.scenario.yaml.tree import pair_text
from pytest_rageval.text.json_value import head_of

_OF_TWO_FILES: Final = frozenset(
    {"question", "contexts", "reference_contexts", "retrieved_ids", "reference_ids"}
)
GIVEN: Final = frozenset({"answer", "contexts", "retrieved_ids"})
"""What a system gives, and a second file is for: nothing of another one stands for a blank."""

_FOUND: Final = frozenset({*NEEDED_FIELDS} - {"question", "doc_name"})
_FEW: Final = 5
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

    ``joined`` are the columns of a second file, ``theirs``, with the names that they have in it,
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
        """Return what is open: two columns of one field, a second file that gives nothing."""
        several = [doubt for name in FIELD_ALIASES for doubt in self._ambiguous_columns(name)]
        return several or list(self._unread())

    @cached_property
    def _key_map(self) -> dict[str, str]:
        return {**self.fallbacks, **self.spec.key_map}

    @cached_property
    def _taken(self) -> frozenset[str]:
        mapped = self._key_map.values()
        return frozenset({*mapped, *map(head_of, mapped)})

    def columns_read(self, name: str) -> list[str]:
        """Return the columns that a field is read from; the first one counts."""
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
        """Yield what a second file does not give, and the data would be scored for.

        That is an answer always, and anything else if it gives nothing at all.
        """
        if not self.theirs:
            return
        fields = {column: self._field_of(column) for column in self.joined}
        given = GIVEN.intersection(fields.values())
        adds = any(fields[name] in _FOUND for name in fields if name not in self.own)
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

    def _field_of(self, column: str) -> str | None:
        """Return the field that a column speaks of, also by its name in the second file."""
        mapped = next((name for name, used in self._key_map.items() if head_of(used) == column), "")
        if mapped:
            return mapped
        own = self.joined.get(column, column)
        for name, fields in ((column, FIELD_ALIASES.keys()), (own, GIVEN)):
            known = FIELD_OF.get(name) or (read_field(name) or (None,))[0]
            if known in fields:
                return known
        return None

    def _counts(self, name: str, used: str, other: str) -> bool:
        """Return whether two columns with these names may both be meant.

        Of an answer always: whatever is in a column that its name calls the system's.
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
        return not any(_is_filled(first) and _is_filled(second) for first, second in pairs)

    def _is_form(self, column: str) -> bool:
        """Return whether a column is to be filled in: blank in data that a file is joined to."""
        return bool(self.theirs) and column in self.own and not self._values(column)

    def _are_labels(self, column: str) -> bool:
        """Return whether few words repeat in a column, as in ``expected: rag`` for a route."""
        values = [str(value).strip() for value in self._values(column)]
        are_words = all(len(value) <= _WORD and " " not in value for value in values)
        return are_words and len(values) >= _FEW and len({*values}) * 4 < len(values)

    def _values(self, column: str) -> list[Any]:
        values = (row.fields.get(column) for row in self.rows)
        return [value for value in values if _is_filled(value)]

    def _differ(self, name: str, row: Row, used: Sequence[str], other: str) -> bool:
        """Return whether a row has two values; of what a system gives, a blank is one.

        Of other fields, one value may be a part of the other.
        """
        is_given = name == "answer" or (name in GIVEN and bool(self.theirs))
        one = row.fields.get(used[0]) if is_given else _first_filled(row, used)
        two = row.fields.get(other)
        if not (_is_filled(one) and _is_filled(two)):
            return is_given and _is_filled(one) != _is_filled(two)
        ones, twos = _texts(row, one), _texts(row, two)
        return ones != twos if is_given else not ({*ones} <= {*twos} or {*twos} <= {*ones})

    def _doubt(self, name: str, used: str, other: str, rows: Sequence[Row]) -> Doubt:
        count = "1 row has" if len(rows) == 1 else f"{len(rows)} rows have"
        question = _QUESTIONS.get(name, "which one is meant")
        gold = ""
        if name == "answer" and not self.columns_read("references"):
            gold = f", or {self._map(name, other, references=used)} if {used!r} is the right answer"
        blanks = any(
            not _is_filled(row.fields.get(column)) for row in rows for column in (used, other)
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
    return next((value for value in values if _is_filled(value)), None)


def _is_filled(value: Any) -> bool:
    return not is_missing(value) and value not in ("", [], {}) and str(value).strip() != ""


def _texts(row: Row, value: Any) -> list[str]:
    if isinstance(value, str) and row.tabular:
        value = value_or_text(value)
    parts = value if isinstance(value, list | tuple) else [value]
    return [value_text(part).strip() for part in parts]


_SEEN: Final = 50
"""How many values of a column are looked at."""

_TEXT_OR_IDS: Final = {
    "contexts": "retrieved_ids",
    "retrieved_ids": "contexts",
    "reference_contexts": "reference_ids",
    "reference_ids": "reference_contexts",
}
_NAMES_DOCUMENTS: Final = frozenset({"chunks", "docs", "documents"})
"""Words for what may be the text or the id of a passage: the values decide."""

_MAY_BE_IDS: Final = frozenset({"context", "documents", "passages", "evidence", "gtevidence"})
_IS_FILE: Final = re.compile(r"\.\w{2,5}$|^\w+://\S+$")
_BESIDE_GOLD: Final = frozenset(map(name_key, BESIDE_GOLD))
_BESIDE_ANSWERS: Final = frozenset(map(name_key, BESIDE_ANSWERS))
_OF_TRAINING: Final = frozenset(map(name_key, OF_TRAINING))
_ORDER: Final = (
    *("question", "references", "answer", "reference_ids", "retrieved_ids"),
    *("reference_contexts", "contexts", "doc_name", "id"),
)
"""References come before answers, and both before contexts, which need them as evidence."""


def likely_columns(
    rows: Sequence[Row | BrokenRow], key_map: Mapping[str, str], fallbacks: Mapping[str, str]
) -> dict[str, str]:
    """Return the column of each field that no column has a documented name for.

    A column serves one field at most, and only if its values may be values of that field. Columns
    of the ``key_map`` and the ``fallbacks`` serve no other.
    """
    read = [row for row in rows if isinstance(row, Row)]
    columns = dict.fromkeys(chain.from_iterable({tuple(row.fields): None for row in read}))
    taken = {*map(head_of, key_map.values()), *key_map.values(), *fallbacks.values()}
    free = [column for column in columns if column not in taken]
    served = {*key_map, *fallbacks}
    served |= {name for name, names in FIELD_ALIASES.items() if not set(names).isdisjoint(columns)}
    documented = {name for names in FIELD_ALIASES.values() for name in names}
    found = _LikelyColumns(read, served, frozenset(map(name_key, columns)))
    named = [(column, read_field(column)) for column in free if column not in documented]
    for wanted in _ORDER:
        ranked = sorted((of[1], column) for column, of in named if of and of[0] == wanted)
        for _, column in ranked:
            found.take(wanted, column)
    return {name: found.columns[name] for name in FIELD_ALIASES if name in found.columns}


class _LikelyColumns:
    """The columns found so far."""

    def __init__(self, rows: Sequence[Row], served: set[str], keys: frozenset[str]) -> None:
        self._rows = rows
        self._served = served
        self._keys = keys
        self._is_deepeval = "input" in keys and not keys.isdisjoint(
            {"actualoutput", "expectedoutput"}
        )
        self.columns: dict[str, str] = {}

    def take(self, field: str, column: str) -> None:
        """Give a column to the field that its name or its values mean, unless that has one."""
        keys = frozenset(name_keys(column))
        if is_of_training(column, self._keys):
            return
        if "context" in keys and self._is_deepeval:
            field = "reference_contexts"
        elif not self._has_evidence(field, keys):
            return
        if field in _TEXT_OR_IDS:
            field = self._by_values(field, column)
        if field and field not in self._served and self._may_be(field, column):
            self._served.add(field)
            self.columns[field] = column

    def _has_evidence(self, field: str, keys: frozenset[str]) -> bool:
        """Return whether the columns around a name that may mean the opposite decide it."""
        if field == "answer" and keys & _BESIDE_GOLD:
            return "references" in self._served
        if field == "contexts" and keys & _BESIDE_ANSWERS:
            return {"answer", "references"} <= self._served
        return True

    def _by_values(self, field: str, column: str) -> str:
        """Return the field of a column, by whether its values are texts or ids; "" if unclear."""
        parts = list(islice(_parts(self._values(column)), _SEEN))
        is_text = sum(map(_is_passage, parts)) * 2 > len(parts)
        is_ids = all(map(_is_id, parts)) and not is_text
        may_swap = not _NAMES_DOCUMENTS.isdisjoint(snake_case(column).split("_"))
        if field.endswith("contexts"):
            is_other = is_ids and (may_swap or not _MAY_BE_IDS.isdisjoint(name_keys(column)))
        else:
            is_other = is_text
        if not parts or not is_other:
            return field
        return _TEXT_OR_IDS[field] if may_swap else ""

    def _may_be(self, field: str, column: str) -> bool:
        if field == "id":
            return self._is_unique(column)
        return may_hold(field, list(islice(self._values(column), _SEEN)))

    def _is_unique(self, column: str) -> bool:
        found = [row.fields.get(column) for row in self._rows]
        texts = {str(value).strip() for value in found if isinstance(value, str | int)}
        return len(texts) == len(found) and "" not in texts

    def _values(self, column: str) -> Iterator[Any]:
        """Yield the values of a column that are neither missing nor empty."""
        for row in self._rows:
            value = row.fields.get(column)
            if not is_missing(value) and value not in ("", [], {}):
                yield value_or_text(value) if row.tabular and isinstance(value, str) else value


def is_of_training(column: str, keys: frozenset[str]) -> bool:
    """Return whether a column is of data to train a model: ``output`` beside ``instruction``."""
    return "instruction" in keys and not _OF_TRAINING.isdisjoint(name_keys(column))


def may_hold(field: str, values: Sequence[Any]) -> bool:
    """Return whether these may be values of a field; of references, no mere true and false."""
    check = _VALUES.get(field)
    if field == "references" and values and all(map(_is_flag, values)):
        return False  # whether the answer was right, not what it should be
    return check is None or all(map(check, values))


def _parts(values: Iterator[Any]) -> Iterator[Any]:
    """Yield the items of lists, and of lists in them."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from _parts(iter(value))
        else:
            yield value


def _is_passage(part: Any) -> bool:
    """Return whether a value can only be a text of some words."""
    if isinstance(part, Mapping):
        return any(isinstance(part.get(key), str) for key in PASSAGE_KEYS)
    if not isinstance(part, str) or _IS_FILE.search(part.strip()):
        return False
    return part.count(" ") >= 6 or (not part.isascii() and len(part) >= 20)


def _is_id(part: Any) -> bool:
    """Return whether a value may be an id, or the name of a file."""
    if isinstance(part, Mapping):
        return not any(isinstance(part.get(key), str) for key in PASSAGE_KEYS)
    if not isinstance(part, str) or _IS_FILE.search(part.strip()):
        return True
    return part.isascii() and part.strip().count(" ") <= 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _is_reference(value: Any) -> bool:
    return all(isinstance(part, str | int | float) for part in _parts(iter([value])))


def _is_flag(value: Any) -> bool:
    return str(value).strip().lower() in ("true", "false")


def _is_document(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 200 and "\n" not in value


_VALUES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "question": _is_text,
    "answer": _is_scalar,
    "references": _is_reference,
    "doc_name": _is_document,
}

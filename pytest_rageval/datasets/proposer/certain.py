"""Finds the columns of fields that are certain: named as in other tools, with cells that fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, Row
from pytest_rageval.datasets.cells import PASSAGE_KEYS, is_missing, value_or_text
from pytest_rageval.scenario.column_names import name_key, name_keys, read_field, snake_case
from pytest_rageval.scenario.fields import BESIDE_ANSWERS, BESIDE_GOLD, FIELD_ALIASES, OF_TRAINING
from pytest_rageval.text.json_value import head_of

_SEEN: Final = 50
"""How many values of a column are looked at."""

_TEXT_OR_IDS: Final = {
    "contexts": "retrieved_ids",
    "retrieved_ids": "contexts",
    "reference_contexts": "reference_ids",
    "reference_ids": "reference_contexts",
}
_NAMES_DOCUMENTS: Final = frozenset({"chunks", "docs", "documents"})
"""Words for the text of a passage or for its id: in a longer name, the values decide."""

_MAY_BE_IDS: Final = frozenset({"context", "documents", "passages", "evidence", "gtevidence"})
"""Names of texts: a column of ids under one serves no field, unless ``_by_values`` may swap it."""

_IS_FILE: Final = re.compile(r"\.\w{2,5}$|^\w+://\S+$")
_BESIDE_GOLD: Final = frozenset(map(name_key, BESIDE_GOLD))
_BESIDE_ANSWERS: Final = frozenset(map(name_key, BESIDE_ANSWERS))
_OF_TRAINING: Final = frozenset(map(name_key, OF_TRAINING))
_ORDER: Final = (
    *("question", "references", "answer", "reference_ids", "retrieved_ids"),
    *("reference_contexts", "contexts", "doc_name", "id"),
)
"""References come before answers, and both before contexts: see ``_has_evidence``."""


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
        """Return whether a name means its field: some do only where other fields have columns."""
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
        words = snake_case(column).split("_")
        may_swap = len(words) > 1 and not _NAMES_DOCUMENTS.isdisjoint(words)
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
                yield value_or_text(value) if row.tabular else value


def is_of_training(column: str, keys: frozenset[str]) -> bool:
    """Return whether a column is of data to train a model: ``output`` beside ``instruction``."""
    return "instruction" in keys and not _OF_TRAINING.isdisjoint(name_keys(column))


def may_hold(field: str, values: Sequence[Any]) -> bool:
    """Return whether these may be values of a field; of references, not all true or false."""
    check = _VALUES.get(field)
    if field == "references" and values and all(map(_is_flag, values)):
        return False  # whether the answer was right, not what it should be
    return check is None or all(map(check, values))


def _parts(values: Iterator[Any]) -> Iterator[Any]:
    """Yield the items of lists, and of lists in them; other values as they are."""
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


def _is_flag(value: Any) -> bool:
    return str(value).strip().lower() in ("true", "false")


_VALUES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "contexts": lambda value: not isinstance(value, int | float),
    "reference_contexts": lambda value: not isinstance(value, int | float),
    "question": lambda value: isinstance(value, str),
    "answer": lambda value: isinstance(value, str | int | float),
    "references": lambda value: all(
        isinstance(part, str | int | float) for part in _parts(iter([value]))
    ),
    "doc_name": lambda value: isinstance(value, str) and len(value) <= 200 and "\n" not in value,
}
"""Whether a value may be one of the field; others may have any."""

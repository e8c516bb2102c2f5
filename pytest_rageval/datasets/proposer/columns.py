"""The columns of a data file, and what their cells hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow
from pytest_rageval.datasets.cells import PASSAGE_KEYS, is_missing, is_nan, value_or_text
from pytest_rageval.errors import shorten
from pytest_rageval.text.json_value import LostPathError, path_in
from pytest_rageval.text.printable import one_line

_DEPTH: Final = 2
_FLAGS: Final = frozenset({"true", "false", "yes", "no", "ja", "nein", "si", "sí", "oui", "non"})
_WIDTH: Final = 48


@dataclass(frozen=True)
class Column:
    """A column and its filled cells; in objects, ``meta.source`` is one, too.

    ``cells`` has a cell for each row, None where it is blank; cells that spell a list are lists.
    """

    name: str
    cells: tuple[Any, ...]

    @cached_property
    def filled(self) -> tuple[Any, ...]:
        """The cells that are not blank."""
        return tuple(cell for cell in self.cells if cell is not None)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts in the cells, each text of a list by itself; numbers as text."""
        return tuple(text for cell in self.filled for text in texts_in(cell))

    @cached_property
    def distinct(self) -> tuple[str, ...]:
        """The different values, in the order of the rows."""
        return tuple(dict.fromkeys(map(_as_text, self.filled)))

    @property
    def example(self) -> str:
        """The first filled cell, in one line."""
        return shorten(one_line(_as_text(self.filled[0])), _WIDTH) if self.filled else ""

    @cached_property
    def is_number(self) -> bool:
        """Whether all cells are numbers or booleans."""
        return self._mostly(lambda cell: _is_number(cell) or isinstance(cell, bool), least=1.0)

    @cached_property
    def is_flag(self) -> bool:
        """Whether nearly all cells are booleans, or say yes and no."""
        return self._mostly(_is_flag)

    @cached_property
    def is_text(self) -> bool:
        """Whether nearly all cells are texts, or lists of texts; not if all are flags."""
        return self._mostly(lambda cell: bool(texts_in(cell))) and not self.is_flag

    @cached_property
    def is_list(self) -> bool:
        """Whether nearly all cells are lists."""
        return self._mostly(lambda cell: isinstance(cell, list))

    @cached_property
    def typical_length(self) -> float:
        """The median number of characters of its texts; 0 without any."""
        return median(map(len, self.texts)) if self.texts else 0.0

    @cached_property
    def is_prose(self) -> bool:
        """Whether the typical text has several words, or is long."""
        words = median(len(text.split()) for text in self.texts) if self.texts else 0
        return words >= 4 or self.typical_length > 60

    def _mostly(self, fits: Callable[[Any], bool], least: float = 0.9) -> bool:
        return bool(self.filled) and sum(map(fits, self.filled)) >= least * len(self.filled)


@dataclass(frozen=True)
class Table:
    """The columns of a data file and how many of its rows cannot be read."""

    columns: tuple[Column, ...]
    rows: int
    broken: tuple[BrokenRow, ...]
    fields: tuple[Mapping[str, Any], ...] = ()
    """What each row that can be read has."""

    def __getitem__(self, name: str) -> Column:
        """Return a column, or what is at a path or in whole objects; blank where nothing is."""
        known = next((column for column in self.columns if column.name == name), None)
        return known or Column(name, tuple(_cell_at(row, name) for row in self.fields))


def columns_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Column]:
    """Yield each column of the rows; an object's parts are columns of their own.

    >>> [(one.name, one.cells) for one in columns_of([{"q": "a", "meta": {"n": 1}}, {"q": " "}])]
    [('q', ('a', None)), ('meta.n', (1, None))]
    """
    flat = [dict(_flat(row)) for row in rows]
    for name in dict.fromkeys(name for row in flat for name in row):
        yield Column(name, tuple(row.get(name) for row in flat))


def _flat(row: Mapping[str, Any], before: str = "", depth: int = _DEPTH) -> Iterator[Any]:
    for key, value in row.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value and depth and "." not in str(key):
            yield from _flat(value, f"{name}.", depth - 1)
        else:
            yield name, _cell(value)


def _cell_at(row: Mapping[str, Any], name: str) -> Any:
    path = path_in(name)
    if path is None or name in row:
        return _cell(row.get(name))
    root = path.root or ""
    try:
        return _cell(path.pick({**row, root: _cell(row.get(root))}))
    except LostPathError:
        return None


def _cell(value: Any) -> Any:
    """Return the cell, None for a blank one; the list or object that a text spells."""
    if isinstance(value, str):
        if not value.strip() or is_nan(value):
            return None
        return value_or_text(value)
    return None if is_missing(value) or value in ([], {}) else value


def texts_in(cell: Any) -> list[str]:
    """Return the texts in a cell: a text, the texts of a list, an object's passage, a number."""
    if isinstance(cell, str):
        return [cell]
    if isinstance(cell, Mapping):
        return [str(cell[key]) for key in (*PASSAGE_KEYS, "id") if cell.get(key)][:1]
    if isinstance(cell, bool) or cell is None:
        return []
    if isinstance(cell, list | tuple):
        return [text for part in cell for text in texts_in(part)]
    return [str(cell)]


def _as_text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return json.dumps(cell, ensure_ascii=False, default=str)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        try:
            float(cell.strip().rstrip("%").replace(",", "."))
        except ValueError:
            return False
    return isinstance(cell, str | int | float)


def _is_flag(cell: Any) -> bool:
    return isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in _FLAGS)

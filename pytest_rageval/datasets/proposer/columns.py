"""The columns of a data file, and what their cells hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow
from pytest_rageval.datasets.cells import PASSAGE_KEYS, is_missing, is_nan_text, value_or_text
from pytest_rageval.errors import shorten
from pytest_rageval.scenario.fields import FIELD_ALIASES, LIKELY_NAMES
from pytest_rageval.text.json_value import LostPathError, path_in
from pytest_rageval.text.printable import one_line

_DEPTH: Final = 2
_FLAGS: Final = frozenset({"true", "false", "yes", "no", "ja", "nein", "si", "sí", "oui", "non"})
_SAYS_YES_OR_NO: Final = re.compile(rf"\W*(?:{'|'.join(_FLAGS)})\b", re.IGNORECASE)
_ENDS_IN_0_OR_1: Final = re.compile(r"(?<![\w.,^\[【-])[01](?:\.0+)?(?![\]】])\D*$")
"""0 or 1 as the last number of a text, unless it cites a passage: ``[1]``."""
_FLAG: Final = re.compile(
    rf"(?a)(?<![\w.,^\[【-])([01]|{'|'.join(_FLAGS)})(?:\.0+)?(?![\w\]】]|[.,]\d)", re.IGNORECASE
)

_WIDTH: Final = 30
_EXAMPLES: Final = 3
_SEEN: Final = 50
_ADDRESS: Final = re.compile(r"^[^\n]*\w\.[a-z]\w{1,4}$|^\w+://\S+$")
_LONGEST_ADDRESS: Final = 200
_GOLD_KEYS: Final = ("answer", "value")


@dataclass(frozen=True)
class Column:
    """A column and its cells; a part of an object, ``meta.source``, is one, too.

    ``cells`` has a cell for each row, None where it is blank; cells that spell a list are lists.
    """

    name: str
    cells: tuple[Any, ...]
    turn: str = ""
    """Of a column of chat messages: whether this turn is the ``question`` or the ``answer``."""

    @property
    def is_nested(self) -> bool:
        """Whether its name is that of a part: ``meta.source``, ``chat[-1].content``."""
        return "." in self.name or "[" in self.name

    @property
    def share(self) -> float:
        """The share of the rows whose cell is not blank; 0 without rows."""
        return len(self.filled) / len(self.cells) if self.cells else 0.0

    @property
    def repeats(self) -> bool:
        """Whether few values repeat, as in a column of kinds of questions."""
        return len(self.distinct) * 4 < len(self.filled)

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
        """The different values as text, in the order of the rows."""
        return tuple(dict.fromkeys(map(_as_text, self.filled)))

    @property
    def examples(self) -> tuple[str, ...]:
        """The first three different cells, each in one line."""
        return tuple(shorten(one_line(text), _WIDTH) for text in self.distinct[:_EXAMPLES])

    @property
    def in_words(self) -> str:
        """What the cells are, for a reader: ``texts in all rows, 98 different``."""
        kind = "lists" if self.is_list else "yes or no" if self.are_flags else "texts"
        kind = "numbers" if self.is_number and not self.are_flags else kind
        count = len(self.filled)
        rows = "all rows" if count == len(self.cells) else f"{count} of {len(self.cells)} rows"
        return f"{kind} in {rows}, {len(self.distinct)} different"

    @cached_property
    def is_number(self) -> bool:
        """Whether all cells are booleans, or numbers, also as text: ``5%``."""
        return self._mostly(lambda cell: _is_number(cell) or isinstance(cell, bool), least=1.0)

    @cached_property
    def is_flag(self) -> bool:
        """Whether nearly all cells are booleans, or say yes and no."""
        return self._mostly(_is_flag)

    @property
    def says_yes_or_no(self) -> bool:
        """Whether nearly all cells say yes and no in words, and none is a boolean, or spells one.

        Tables spell them so in CSV: ``True`` may be a verdict on the answer beside it.
        """
        return self.is_flag and not any(
            str(cell).strip().lower() in ("true", "false") for cell in self.filled
        )

    @cached_property
    def are_flags(self) -> bool:
        """Whether nearly all cells say yes and no, or all are 1 and 0."""
        return self.is_flag or {*map(str, self.distinct)} <= {"0", "1", "0.0", "1.0"}

    def are_verdicts_beside(self, other: Column) -> bool:
        """Return whether this column's yes and no, or 1 and 0, are verdicts on another's texts.

        Not if these are flags or numbers themselves, if half of them or more begin with yes or no,
        or end with 0 or 1, or if most say the flag that stands beside them.
        """
        if not self.are_flags or other.are_flags or other.is_number or self._is_said_in(other):
            return False
        says = _SAYS_YES_OR_NO.match if self.is_flag else _ENDS_IN_0_OR_1.search
        return sum(says(text) is not None for text in other.texts) * 2 < len(other.texts)

    def _is_said_in(self, other: Column) -> bool:
        """Return whether most texts beside each flag have it as their first or last flag.

        Of one flag alone that may be chance: ``Step 1: ...``.
        """
        said: dict[str, list[bool]] = {}
        for cell, text in zip(self.cells, other.cells, strict=True):
            if cell is not None and text is not None:
                flag = str(cell).strip().lower().removesuffix(".0")
                found = _FLAG.findall(" ".join(texts_in(text)).lower())
                said.setdefault(flag, []).append(flag in (*found[:1], *found[-1:]))
        return len(said) > 1 and all(sum(are) * 2 > len(are) for are in said.values())

    @cached_property
    def are_addresses(self) -> bool:
        """Whether most texts are names of files or addresses, not passages."""
        return sum(map(_is_address, self.texts)) * 2 > len(self.texts)

    @cached_property
    def is_text(self) -> bool:
        """Whether nearly all cells have ``texts_in`` them, numbers too; not if they are flags."""
        return self._mostly(lambda cell: bool(texts_in(cell))) and not self.is_flag

    @cached_property
    def is_list(self) -> bool:
        """Whether nearly all cells are lists."""
        return self._mostly(lambda cell: isinstance(cell, list))

    @cached_property
    def is_mixed(self) -> bool:
        """Whether a list holds both texts and numbers: parts of something, not alternatives."""
        lists = (_kinds_in(cell) for cell in self.filled if isinstance(cell, list))
        return any(len(kinds) > 1 for kinds in lists)

    @cached_property
    def has_objects(self) -> bool:
        """Whether cells are objects, or lists with some."""
        parts = (part for cell in self.filled for part in (cell if type(cell) is list else [cell]))
        return any(isinstance(part, Mapping) for part in parts)

    @property
    def has_lists_in_lists(self) -> bool:
        """Whether lists hold lists."""
        cells = (cell for cell in self.filled if isinstance(cell, list))
        return any(isinstance(part, list) for cell in cells for part in cell)

    @cached_property
    def typical_length(self) -> float:
        """The median number of characters of its texts; 0 without any."""
        return median(map(len, self.texts)) if self.texts else 0.0

    @cached_property
    def is_prose(self) -> bool:
        """Whether the typical text has 4 words, or over 60 characters; beyond ASCII, 20 will do."""
        words = median(len(text.split()) for text in self.texts) if self.texts else 0
        is_dense = self.typical_length >= 20 and not all(map(str.isascii, self.texts[:_SEEN]))
        return words >= 4 or self.typical_length > 60 or is_dense

    def _mostly(self, fits: Callable[[Any], bool], least: float = 0.9) -> bool:
        return bool(self.filled) and sum(map(fits, self.filled)) >= least * len(self.filled)


@dataclass(frozen=True)
class Table:
    """The columns of a data file, the number of its rows, and those that cannot be read."""

    columns: tuple[Column, ...]
    rows: int
    broken: tuple[BrokenRow, ...]
    fields: tuple[Mapping[str, Any], ...] = ()
    """What each row that can be read has."""

    def __getitem__(self, name: str) -> Column:
        """Return a column, or what is at a path or in whole objects; blank where nothing is."""
        known = next((column for column in self.columns if column.name == name), None)
        return known or Column(name, tuple(_cell_at(row, name) for row in self.fields))

    def given(self, name: str) -> tuple[Any, ...]:
        """Return the cells of a column, an empty list as it is, which is blank elsewhere."""
        cells = (_at(row, name) for row in self.fields)
        return tuple(cell if cell == [] else _cell(cell) for cell in cells)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Column]:
    """Yield each column of the rows; parts of objects, and the last turns of chats, are columns.

    >>> [(one.name, one.cells) for one in columns_of([{"q": "a", "meta": {"n": 1}}, {"q": " "}])]
    [('q', ('a', None)), ('meta.n', (1, None))]
    """
    flat = [dict(_flat(row)) for row in rows]
    for name in dict.fromkeys(name for row in flat for name in row):
        column = Column(name, tuple(row.get(name) for row in flat))
        yield column
        turns = tuple(_turns_of(column))
        if not _came_before(column, turns, flat):
            yield from turns


def _came_before(column: Column, turns: Iterable[Column], rows: list[dict[str, Any]]) -> bool:
    """Return whether a history ends before the question, which another column has in each row.

    Its last turn is no answer to that question then.
    """
    if "history" not in column.name.lower():
        return False
    said = next((turn.cells for turn in turns if turn.turn == "question"), ())
    asked = [name for name in dict.fromkeys(key for row in rows for key in row) if _asks(name)]
    pairs = [
        (text, [row.get(name) for name in asked]) for text, row in zip(said, rows, strict=False)
    ]
    return bool(asked) and not any(text in texts for text, texts in pairs if text is not None)


def _asks(name: str) -> bool:
    return name.lower() in (*FIELD_ALIASES["question"], *LIKELY_NAMES["question"])


_ROLES: Final = ("role", "speaker", "from", "type")
_SAID: Final = ("content", "text", "value")
_OF_PEOPLE: Final = frozenset({"user", "human"})
_OF_PROMPTS: Final = frozenset({"system", "developer"})
_OF_OTHERS: Final = _OF_PROMPTS | {"tool", "function"}
_OF_SYSTEMS: Final = frozenset({"assistant", "ai", "model", "agent", "gpt", "bot", "chatbot"})


def _turns_of(column: Column) -> Iterator[Column]:
    """Yield the last question of chat messages, and the answer after it where all have one.

    A place where a message of any chat is not a person's has no questions. Where no chat has a
    person's message, the last one of a system is the question.

    >>> chat = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "You."}]
    >>> [(turn.name, turn.cells) for turn in _turns_of(Column("chat", (chat,)))]
    [('chat[-2].content', ('Who?',)), ('chat[-1].content', ('You.',))]
    """
    yield from (turn for turn, odd in _places_of(column) if not odd)


def odd_turns_of(column: Column) -> Iterator[tuple[str, int]]:
    """Yield the place of questions with a message that is no person's, and its first row."""
    yield from ((turn.name, odd[0]) for turn, odd in _places_of(column) if odd)


def _places_of(column: Column) -> Iterator[tuple[Column, list[int]]]:
    """Yield the places of questions and answers, and the rows whose question is no person's."""
    chats = [cell for cell in column.filled if _is_chat(cell)]
    if not chats or len(chats) < len(column.filled):
        return
    said = next(key for key in _SAID if key in chats[0][0])
    has_answer = {_has_role(chat[-1], _OF_SYSTEMS) for chat in chats}
    if len(has_answer) > 1 or (True in has_answer and min(map(len, chats)) == 1):
        return  # some end with the question: no path leads to all of them
    of_nobody = not any(_has_role(turn, _OF_PEOPLE) for chat in chats for turn in chat)
    for place in (-2, -1) if True in has_answer else (-1,):
        turn = "answer" if place == -1 and True in has_answer else "question"
        people = _OF_PEOPLE | _OF_PROMPTS if of_nobody and place == -1 else _OF_PEOPLE
        cells = (_cell(cell[place].get(said)) if cell else None for cell in column.cells)
        odd = [
            row
            for row, cell in enumerate(column.cells, 1)
            if cell and turn == "question" and not _has_role(cell[place], people)
        ]
        yield Column(f"{column.name}[{place}].{said}", tuple(cells), turn), odd


def _is_chat(cell: Any) -> bool:
    """Return whether a cell is a list of messages, each with a role, and the first with a text."""
    if not isinstance(cell, list) or not all(isinstance(turn, Mapping) for turn in cell):
        return False
    has_roles = all(_has_role(turn, _OF_PEOPLE | _OF_SYSTEMS | _OF_OTHERS) for turn in cell)
    return cell != [] and has_roles and any(isinstance(cell[0].get(key), str) for key in _SAID)


def _has_role(turn: Mapping[str, Any], roles: frozenset[str]) -> bool:
    return any(str(turn.get(key)).lower() in roles for key in _ROLES)


def _flat(row: Mapping[str, Any], before: str = "", depth: int = _DEPTH) -> Iterator[Any]:
    for key, value in row.items():
        name, cell = f"{before}{key}", _cell(value)
        if isinstance(cell, Mapping) and depth and "." not in str(key):
            yield from _flat(cell, f"{name}.", depth - 1)
        else:
            yield name, cell


def _cell_at(row: Mapping[str, Any], name: str) -> Any:
    return _cell(_at(row, name))


def _at(row: Mapping[str, Any], name: str) -> Any:
    path = path_in(name)
    if path is None or name in row:
        return row.get(name)
    root = path.root or ""
    try:
        return path.pick({**row, root: _cell(row.get(root))})
    except LostPathError:
        return None


def _cell(value: Any) -> Any:
    """Return the cell, None for a blank one; the list or object that a text spells."""
    if isinstance(value, str):
        if not value.strip() or is_nan_text(value):
            return None
        return value_or_text(value)
    return None if is_missing(value) or value in ([], {}) else value


def texts_in(cell: Any) -> list[str]:
    """Return the texts in a cell: a text, the texts of a list, an object's passage, a number."""
    if isinstance(cell, str):
        return [cell]
    if isinstance(cell, Mapping):
        return [str(cell[key]) for key in (*PASSAGE_KEYS, *_GOLD_KEYS, "id") if cell.get(key)][:1]
    if isinstance(cell, bool) or cell is None:
        return []
    if isinstance(cell, list | tuple):
        return [text for part in cell for text in texts_in(part)]
    return [str(cell)]


def _kinds_in(cell: Any) -> set[type]:
    if isinstance(cell, list):
        return {kind for part in cell for kind in _kinds_in(part)}
    return {str} if isinstance(cell, str) else {float} if isinstance(cell, int | float) else set()


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


def _is_address(text: str) -> bool:
    return len(text) <= _LONGEST_ADDRESS and _ADDRESS.search(text.strip()) is not None


def _is_flag(cell: Any) -> bool:
    return isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in _FLAGS)

"""Reads the header of a table: in one line or two, with columns that may be there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from pytest_rageval.datasets.base import DataFile
from pytest_rageval.scenario.column_names import read_field

_LONGEST_NAME: Final = 30
"""A longer cell of the second line is a value, not a name."""


@dataclass(frozen=True, slots=True)
class Header:
    """The names of the columns, "" for one to leave out; ``lines`` is how many it takes.

    ``twins`` are the places of columns that repeat a name, each with the first of that name.
    """

    names: list[str]
    twins: tuple[tuple[int, int], ...] = ()
    lines: int = 1

    def is_again(self, cells: Sequence[str]) -> bool:
        """Return whether a line of the table has the names once more, perhaps behind a BOM."""
        if self.names[0] not in cells[0] or len(cells) != len(self.names):
            return False  # nearly every line
        twins = dict(self.twins)
        names = [self.names[twins.get(at, at)] for at in range(len(cells))]
        return [cell.strip().lstrip("\ufeff") for cell in cells] == names

    def refuse_differing_twins(self, file: DataFile, cells: Sequence[Any], line: int) -> None:
        """Raise ScenarioError if columns of one name differ in this row: only one is meant."""
        for at, first in self.twins:
            if at < len(cells) and cells[at] != cells[first]:
                found = f"{self.names[first]}, with different values on line {line}"
                raise file.refuse(f"the header names a column twice: {found}", 1)


def needs_second(header: Iterable[str]) -> bool:
    """Return whether a header has blank or repeated names, so that the next line may have them.

    A blank first name does not count: it is that of a data frame's index.
    """
    return bool(_gaps([name.strip() for name in header]))


def read_header(file: DataFile, header: Iterable[str], second: Sequence[str] = ()) -> Header:
    """Return the header in a first line, or in two where the ``second`` surely has the names.

    Raises ScenarioError if there are no names, and where it cannot be told which line has them.
    """
    names = [name.strip() for name in header]
    lower = [name.strip() for name in second]
    joined = joined_names(names, lower)
    if joined is not None:
        return Header(joined, lines=2)
    if not any(names):
        raise file.refuse("the header line is blank", 1)
    if _may_be_below(names, lower):
        raise file.refuse(
            "line 1 may be a title, and line 2 the names of the columns: if so, delete line 1; "
            "else give each column a name of its own",
            1,
        )
    first: dict[str, int] = {}
    twins = []
    for at, name in enumerate(names):
        if name and first.setdefault(name, at) != at:
            twins.append((at, first[name]))
    later = {at for at, _ in twins}
    return Header(["" if at in later else name for at, name in enumerate(names)], tuple(twins))


def joined_names(upper: Sequence[str], lower: Sequence[str]) -> list[str] | None:
    """Return the names in two header lines, of groups and of columns; None unless that is sure.

    A group's name comes before names that several groups have. Sure means: both lines are equally
    long, the first has blank or repeated names and the second a name below each of them, it has at
    least two known fields, and more of them than the first, and the joined names are distinct.

    >>> joined_names(["Gold", "", "Bot"], ["question", "answer", "answer"])
    ['question', 'Gold answer', 'Bot answer']
    """
    gaps = _gaps(upper)
    is_named = len(upper) == len(lower) and all(
        below or (above and at not in gaps)
        for at, (above, below) in enumerate(zip(upper, lower, strict=True))
    )
    if not gaps or not is_named or not _fields(lower) > max(1, _fields(upper)):
        return None
    groups = accumulate(upper, _or_before)
    counts = Counter(lower)
    names = [
        (f"{group} {name}".strip() if counts[name] > 1 else name) if name else above
        for group, above, name in zip(groups, upper, lower, strict=True)
    ]
    return names if len({*names}) == len(names) else None


def _or_before(group: str, name: str) -> str:
    return name or group


def _gaps(names: Sequence[str]) -> set[int]:
    """Return the places of blank and repeated names; a blank one at first is no gap."""
    first: dict[str, int] = {}
    repeated = {at for at, name in enumerate(names) if first.setdefault(name, at) < at}
    return repeated | {at for at, name in enumerate(names) if at and not name}


def _fields(names: Iterable[str]) -> int:
    return len({found[0] for name in names if (found := read_field(name)) is not None})


def _may_be_below(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Return whether the ``upper`` line may be a title, and the ``lower`` one the names.

    There are three columns or more, half of the upper names or more are missing or repeated, and
    all cells below are short words, mostly different, without a digit or a question mark.
    """
    gaps = _gaps(upper)
    are_words = all(
        name
        and len(name) <= _LONGEST_NAME
        and not any(char.isdigit() or char in "?？" for char in name)
        for name in lower
    )
    is_whole = len(lower) == len(upper) and len({*lower}) > len(upper) // 2
    return len(gaps) * 2 >= len(upper) > 2 and is_whole and are_words

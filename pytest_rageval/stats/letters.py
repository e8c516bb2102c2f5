"""Letters for a ranking: two names share one exactly where they cannot be told apart."""

from __future__ import annotations

import string
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final

_ALPHABET: Final = string.ascii_lowercase + string.ascii_uppercase

# They may double with each pair, and their comparison takes the square of their number.
_MOST_COLUMNS: Final = 200

_Column = frozenset[int]


def letters_of(
    ranked: Sequence[str], significant: Collection[tuple[str, str]]
) -> dict[str, str] | None:
    """Return the letters of each name in ``ranked``, best first; None where 52 are too few.

    ``significant`` are the pairs that can be told apart, in whichever order. The best has the
    letter "a". After "z" come "A" to "Z". Variants that differ within families but not between
    them need too many to be read. By Piepho (2004): insert and absorb, then sweep. Only whole
    letters are swept: one name's part of a letter may be redundant, too, but without it neighbours
    would read "ab", "ac", "bc" in place of "ab", "abc", "bc".

    >>> letters_of(["gpt", "dense", "bm25"], [("gpt", "bm25")])
    {'gpt': 'a', 'dense': 'ab', 'bm25': 'b'}
    """
    place = {name: at for at, name in enumerate(ranked)}
    apart = sorted(tuple(sorted((place[a], place[b]))) for a, b in significant)
    columns: list[_Column] = [frozenset(place.values())] if place else []
    for one, other in apart:
        columns = _absorbed(_inserted(columns, one, other))
        if len(columns) > _MOST_COLUMNS:
            return None
    kept = sorted(_swept(sorted(columns, key=sorted)), key=sorted)
    if len(kept) > len(_ALPHABET):
        return None
    columns_by_letter = list(zip(_ALPHABET, kept, strict=False))
    return {
        name: "".join(letter for letter, column in columns_by_letter if at in column)
        for name, at in place.items()
    }


def _inserted(columns: Iterable[_Column], one: int, other: int) -> Iterator[_Column]:
    """Yield the columns, with two in place of each that holds both of a significant pair."""
    for column in columns:
        if one in column and other in column:
            yield column - {one}
            yield column - {other}
        else:
            yield column


def _absorbed(columns: Iterable[_Column]) -> list[_Column]:
    """Return the columns that are no part of another."""
    distinct = set(columns)
    return [column for column in distinct if not any(column < other for other in distinct)]


def _swept(columns: Sequence[_Column]) -> list[_Column]:
    """Return the columns without those all of whose pairs share another one; the last go first."""
    kept = list(columns)
    for column in reversed(columns):
        others = [other for other in kept if other is not column]
        if all(any(pair <= other for other in others) for pair in _joined(column)):
            kept = others
    return kept


def _joined(column: _Column) -> Iterator[frozenset[int]]:
    """Yield what only a letter can say: its pairs, or that a name stands alone."""
    yield from map(frozenset, combinations(column, 2) if len(column) > 1 else [column])

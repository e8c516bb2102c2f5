"""Finds rows at a path in a JSON or YAML document, and the paths at which there are any.

A row below ``[*]`` has the plain values of the objects above it as columns of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from pytest_rageval.scenario.column_names import name_key, read_field
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.text.json_value import EVERY, JsonPath, LostPathError, Trail, parse_path

_DEEPEST: Final = 4
_KEYS_SEEN: Final = 100
_ROWS_SEEN: Final = 200
_IDS: Final = frozenset(map(name_key, FIELD_ALIASES["id"]))
_OF_A_ROW: Final = frozenset({"answer", "references", "retrieved_ids"})
"""Fields that no row has from above: what was answered, found, and expected."""

_PARENT_ID: Final = "parent_id"
_PARENT_KEY: Final = "parent_key"


class JoinedRow(dict[str, Any]):
    """A row with columns from the objects above it; ``origin`` is the row without these."""

    def __init__(self, row: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        super().__init__({**row, **{name: more[name] for name in more if name not in row}})
        self.origin = row


@dataclass(frozen=True, slots=True)
class RowsPath:
    """A path at which a document has rows: how many, and the columns that most of them have."""

    path: str
    rows: int
    columns: tuple[str, ...]


def rows_of_every(path: JsonPath, document: Any) -> list[Any]:
    """Return the rows at a path with ``[*]``, items that are no objects too; raises LostPathError.

    Where values are lists, and others only plain values of objects, the items of the lists are the
    rows; a last ``[*]`` passes over the others, which are broken rows elsewhere. Where all are
    plain values of objects, each makes a row: its key as ``id``, and ``value``.
    A row gets the texts, numbers, booleans and lists of these that the objects above it have under
    names that it lacks; the nearest object counts. What is an answer, a reference or found by a
    search stays above; what they call their id becomes ``parent_id``. A row that is the value of a
    key in an object has the key as ``id``, if it has none; rows below such a value have it as
    ``parent_key``.
    """
    trails = path.trails(document)
    lists = [trail for trail in trails if isinstance(trail.value, list)]
    others = [trail for trail in trails if not isinstance(trail.value, list)]
    if lists and all(trail.key is not None and _is_plain(trail.value) for trail in others):
        if path.steps[-1:] == (EVERY,):
            trails = lists
        return [
            _joined(row, trail, is_below=True)
            for trail in trails
            for row in (trail.value if isinstance(trail.value, list) else [trail.value])
        ]
    if trails and all(trail.key is not None and _is_plain(trail.value) for trail in trails):
        return [{"id": trail.key, "value": trail.value} for trail in trails]
    is_below = path.steps[-1:] != (EVERY,)
    return [_joined(trail.value, trail, is_below=is_below) for trail in trails]


def _joined(row: Any, trail: Trail, *, is_below: bool) -> Any:
    if not isinstance(row, dict):
        return row
    more: dict[str, Any] = {}
    for above in reversed(trail.above):
        for name, value in above.items():
            if _is_of_a_row(str(name)):
                continue  # a row without an answer must not be judged by another one
            if _is_plain(value) or (
                isinstance(value, list) and value and all(map(_is_plain, value))
            ):
                more.setdefault(_PARENT_ID if name_key(str(name)) in _IDS else name, value)
    if trail.key is not None and is_below:
        more.setdefault(_PARENT_KEY, trail.key)
    elif trail.key is not None:
        return JoinedRow({**row, "id": own_id(row, trail.key)}, more)
    return JoinedRow(row, more) if more else row


@lru_cache(1024)
def _is_of_a_row(name: str) -> bool:
    fields = {FIELD_OF.get(name), *(read_field(name) or ())[:1]}
    return not fields.isdisjoint(_OF_A_ROW)


def own_id(row: Mapping[str, Any], key: Any) -> Any:
    """Return the ``id`` of an object, a text or a whole number; ``key`` where it has none."""
    found = row.get("id")
    is_id = isinstance(found, str | int) and not isinstance(found, bool) and found != ""
    return found if is_id else key


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def row_paths(document: Any) -> list[RowsPath]:
    """Return the paths at which a document has objects in a list or by key, most rows first.

    They are up to four keys deep, also through lists and objects of objects; each can be read.

    >>> row_paths({"suites": [{"name": "a", "tests": [{"q": "x"}, {"q": "y"}]}]})[0]
    RowsPath(path='suites[*].tests', rows=2, columns=('q', 'name'))
    """
    found = dict.fromkeys(_paths([document], "", _DEEPEST))
    read = (path for text in found if (path := _read(text, document)) is not None)
    return sorted(read, key=lambda found: (-found.rows, -len(parse_path(found.path).steps)))


def _read(text: str, document: Any) -> RowsPath | None:
    try:
        path = parse_path(text)
        value = rows_of_every(path, document) if path.every else path.pick(document)
    except (LostPathError, ValueError):
        return None
    rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    seen = rows[:_ROWS_SEEN]
    counts = Counter(name for row in seen for name in row)
    columns = tuple(str(name) for name, count in counts.items() if count * 2 > len(seen))
    return RowsPath(text, len(rows), columns) if rows else None


def _paths(values: Sequence[Any], above: str, depth: int) -> Iterator[str]:
    """Yield the paths to lists and objects of objects in values that are all at one place.

    The nearest come first.
    """
    lists = [value for value in values if isinstance(value, list)]
    objects = [value for value in values if isinstance(value, dict)]
    items = [item for value in lists for item in value if isinstance(item, dict | list)]
    if any(isinstance(item, dict) for item in items):
        yield above or "$"
        yield from _paths(items, f"{above}[*]", depth)
    if objects and _are_maps(objects):
        inner = [part for value in objects for part in value.values() if not _is_plain(part)]
        yield f"{above}[*]"
        yield from _paths(inner, f"{above}[*]", depth - 1)
    if not depth or not objects:
        return
    keys = dict.fromkeys(key for value in objects[:_ROWS_SEEN] for key in islice(value, _KEYS_SEEN))
    below = {key: [value[key] for value in objects if key in value] for key in keys}
    nested = {key: parts for key, parts in below.items() if not all(map(_is_plain, parts))}
    for key, parts in nested.items():
        yield from _paths(parts, path_below(above, step_of(key)), depth - 1)


def _are_maps(objects: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the values of objects are rows, or lists of rows, and not parts of one row.

    The values are alike, and several objects at one place differ in their keys: records would have
    the same.
    """
    seen = objects[:_ROWS_SEEN]
    counts = Counter(key for value in seen for key in islice(value, _KEYS_SEEN))
    common = [key for key, count in counts.items() if count * 2 > len(seen)]
    are_records = len(seen) > 1 and len(common) * 2 >= len(counts)
    return not are_records and all(map(_are_alike, seen))


def _are_alike(value: Mapping[str, Any]) -> bool:
    """Return whether an object holds two objects or more, or lists of them, that are alike."""
    parts = [part for part in islice(value.values(), _KEYS_SEEN) if not _is_plain(part)]
    if all(map(has_objects, parts)):
        parts = [next(item for item in part if isinstance(item, dict)) for part in parts]
    if len(parts) < 2 or not all(isinstance(part, dict) and part for part in parts):
        return False
    counts = Counter(name for part in parts for name in part)
    return sum(count == len(parts) for count in counts.values()) * 2 >= len(counts)


def has_objects(value: Any) -> bool:
    """Return whether a value is a list with an object in it."""
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def step_of(key: str) -> str:
    """Return a key as a step of a path: ``rows``, or ``["my rows"]``."""
    text = str(key)
    quote = "'" if '"' in text else '"'
    is_name = text.replace("_", "").replace("-", "").isalnum()
    return text if is_name else f"[{quote}{text}{quote}]"


def path_below(above: str, path: str) -> str:
    """Return a path that goes on after another one, which may be "".

    >>> path_below("data", "rows"), path_below("data", "[*].rows")
    ('data.rows', 'data[*].rows')
    """
    return f"{above}{'' if not above or path.startswith('[') else '.'}{path}"


def nearest_first(paths: Iterable[RowsPath]) -> list[RowsPath]:
    """Return paths in the order of their ``[*]`` and steps, the fewest first."""

    def length(found: RowsPath) -> tuple[int, int]:
        path = parse_path(found.path)
        return len(path.every), len(path.steps)

    return sorted(paths, key=length)

"""Makes one row of several that are one sample: of each question's hits, or judged documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, Row
from pytest_rageval.datasets.cells import (
    BadValueError,
    is_filled,
    is_missing,
    read_mark,
    value_or_text,
)
from pytest_rageval.datasets.id_cells import GRADE_KEYS, is_document, items, raw_ids, reference_ids
from pytest_rageval.datasets.ids import as_number, grade_column
from pytest_rageval.datasets.key_map import read_cell
from pytest_rageval.errors import shorten
from pytest_rageval.model import NOTHING, value_text
from pytest_rageval.scenario.column_names import read_field
from pytest_rageval.scenario.data_specs import ALIASES
from pytest_rageval.scenario.fields import CHECK_FIELDS
from pytest_rageval.text.json_value import JsonPath, LostPathError, path_in

_LISTS: Final = ("contexts", "reference_contexts", "retrieved_ids", "reference_ids")
"""The fields that become a list where several rows are one sample."""


_MARKS: Final = ("skip", "xfail")


def merged(
    rows: Iterable[Row | BrokenRow],
    column: str,
    key_map: Mapping[str, str],
    split: Mapping[str, str] = NOTHING,
) -> Iterator[Row | BrokenRow]:
    """Yield one row for each value of ``column``, in the order of the first of its rows.

    ``split`` are the marks that divide texts, by field.

    Contexts and ids of all rows become lists, expected ids with their grades; other columns too
    where the rows differ. A row without a value is broken.
    """
    groups: dict[str, list[Row]] = {}
    broken: list[BrokenRow] = []
    for row in rows:
        value = None if isinstance(row, BrokenRow) else text_at(row, column)
        if isinstance(row, BrokenRow):
            broken.append(row)
        elif value is None:
            reason = f"no {column!r}, by which rows are merged"
            broken.append(BrokenRow(row.number, row.line, reason, str(dict(row.fields))[:500]))
        else:
            groups.setdefault(value, []).append(row)
    made: list[Row | BrokenRow] = [_one_row(group, key_map, split) for group in groups.values()]
    yield from sorted([*made, *broken], key=lambda row: row.number)


def _one_row(group: list[Row], key_map: Mapping[str, str], split: Mapping[str, str]) -> Row:
    first = group[0]
    mapped = {column: name for name, column in key_map.items()}
    fields: dict[str, Any] = {}
    flaw = next((row.flaw for row in group if row.flaw), "")
    columns = dict.fromkeys(name for row in group for name in row.fields)
    paths = [path for name in mapped if name not in columns and (path := path_in(name))]
    for column in columns:
        field = mapped.get(column) or (read_field(column) or (column,))[0]
        into = [path for path in paths if path.root == column and len(path.steps) > 1]
        try:
            value = _one_value(group, column, field, key_map, split)
            fields[column] = _at_paths(group, column, value, into) if into else value
        except BadValueError as error:
            flaw = flaw or str(error)
            if into:  # a column that is there is not to be called unknown
                fields[column] = first.fields.get(column)
    return replace(first, fields=fields, flaw=flaw)


def _at_paths(group: list[Row], column: str, value: Any, paths: list[JsonPath]) -> Any:
    """Return what paths lead into: one list where they go over its items, also of a single row.

    For a path into an object that differs, the first one where it leads to the same value in all;
    else raises BadValueError.
    """
    objects = [value_or_text(row.fields.get(column)) for row in group]
    objects = [one for one in objects if not is_missing(one)]
    named = [path for path in paths if isinstance(path.steps[1], str) and 1 not in path.every]
    if objects and not named and all(_is_of_items(path, objects) for path in paths):
        alike = objects[:1] if all(one == objects[0] for one in objects) else objects
        return [part for one in alike for part in _parts(one)]
    if not named or all(one == objects[0] for one in objects):
        return value
    for path in named:
        if any(_at(path, column, one) != _at(path, column, objects[0]) for one in objects):
            raise BadValueError(
                f"{column!r} differs in the rows that are one sample, and {path.written!r} leads "
                f"into one of them; write {column}[*] for all, {column}[0] for the first (key_map)"
            )
    return objects[0]


def _is_of_items(path: JsonPath, objects: list[Any]) -> bool:
    """Return whether a path, ``hit[*].id`` or ``hit[0].id``, goes over objects, one of each row."""
    is_over = 1 in path.every or all(isinstance(one, Mapping) for one in objects)
    return is_over and (len(path.steps) < 3 or isinstance(path.steps[2], str))


def _at(path: JsonPath, column: str, value: Any) -> Any:
    try:
        return path.pick({column: value})
    except LostPathError:
        return None


def _one_value(
    group: list[Row], column: str, field: str, key_map: Mapping[str, str], split: Mapping[str, str]
) -> Any:
    """Return what the rows of a sample have in a column; raises BadValueError."""
    having = [row for row in group if not is_missing(row.fields.get(column))]
    if field in _MARKS:
        marked = [row for row in having if read_mark(field, row.fields[column]) is not None]
        if marked and len(marked) < len(group):
            raise BadValueError(f"{field}: some of the rows that are one sample have it, some not")
        having = having[:1]
    columns = dict.fromkeys(name for row in group for name in row.fields)
    grades = grade_column(columns, key_map) if field == "reference_ids" else None
    known = [_as_merged(row, column, field, grades, split.get(field, "")) for row in having]
    differ = any(value != known[0] for value in known)
    parts = [part for value in known for part in _parts(value)]
    if field in _LISTS:
        return parts or None
    if differ:  # a list in a list of checks would be of alternatives
        return parts if field in (*CHECK_FIELDS, "references", ALIASES) else known
    return known[0] if known else None


def _as_merged(row: Row, column: str, field: str, grades: str | None, mark: str) -> Any:
    """Return a row's part of a field: the list that its cell spells, ids with their grades."""
    value = row.fields[column]
    if mark and isinstance(value, str):
        value = read_cell(field, value, mark, tabular=row.tabular)
    if field == "reference_ids":
        return _judged(row, value, grades)
    if field == "retrieved_ids":
        return [one for one in raw_ids(value) if one is not None]
    if isinstance(value, str) and field in (*_LISTS, *CHECK_FIELDS, "references", ALIASES):
        return read_cell(field, value, tabular=row.tabular)
    return value


def _judged(row: Row, value: Any, column: str | None) -> list[Any]:
    """Return expected documents with the grade that their row has, as TREC and BEIR write it.

    A row whose grade is blank judges nothing, unless its documents have grades of their own.
    """
    judged = reference_ids(value) or {}
    listed = items(value)
    objects = [one for one in listed if isinstance(one, Mapping)]
    is_graded = any(is_filled(one.get(key)) for one in objects for key in GRADE_KEYS)
    is_graded |= any(judged[name] != 1 for name in judged)
    if column is None or is_graded or (isinstance(value, Mapping) and not is_document(value)):
        if any(map(is_document, objects)):
            return [*listed]  # what else they say may be their grade, too
        return [{"id": name, "grade": grade} for name, grade in judged.items()]
    grade = row.fields.get(column)
    if is_missing(grade) or (isinstance(grade, str) and not grade.strip()):
        return []
    try:
        grade = as_number(grade)
        grade = float(grade) if isinstance(grade, str) else grade
    except ValueError:
        raise BadValueError(
            f"reference_ids: {column!r} is their grade, and {shorten(repr(grade))} is no number; "
            "if it is none, write key_map: {grade: none} (in 'dataset')"
        ) from None
    return [{"id": name, "grade": grade} for name in judged]


def _parts(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def text_at(row: Row, column: str | None) -> str | None:
    """Return a value as text, None for a missing or blank one, and for a list or an object."""
    value = row.fields.get(column) if column is not None else None
    text = value_text(value).strip() if isinstance(value, str | int | float) else ""
    return None if is_missing(value) else text or None

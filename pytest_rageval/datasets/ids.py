"""Ids of documents: where their grades stand, and cells that may hold several of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import repeat
from typing import Any, Final

from pytest_rageval.datasets.ambiguous import Doubt, ReadRows
from pytest_rageval.datasets.base import row_place
from pytest_rageval.datasets.cells import is_filled, is_missing, value_or_text
from pytest_rageval.datasets.id_cells import GRADE_KEYS, is_document, items
from pytest_rageval.datasets.references import NO, YES
from pytest_rageval.errors import shorten
from pytest_rageval.scenario.column_names import name_key, read_field, snake_case
from pytest_rageval.scenario.data_specs import AnswersSpec
from pytest_rageval.scenario.fields import FIELD_OF, GRADE, NO_GRADE
from pytest_rageval.scenario.yaml.tree import pair_text
from pytest_rageval.text.json_value import JsonPath, LostPathError, path_in

_NAMES: Final = ("grade", "relevance", "rel", "relevancescore", "label", "score")
"""The columns with the grade of an expected document, best first; 0 is not relevant."""

_OF_DOCUMENTS: Final = frozenset({"relevant", "supporting", "selected", "gold"})
"""The flags that are surely about documents, also in an object that may be about more."""

_FLAGS: Final = _OF_DOCUMENTS | {"correct", "positive", "isanswer", "hasanswer"}
"""How data sets say which of the documents in a list count, as MuSiQue and MS MARCO do."""

_SURE: Final = _NAMES[:4]
"""The names that are surely about documents; a row may have a score of its own."""

_COUNTS: Final = frozenset({"id", "ids", "index", "rank", "position", "page", "pages", "iteration"})
"""The last words of names of numbers that are no grade."""

_Parts = list[Mapping[str, Any]]

FLAGS: Final = {"true": 1, "false": 0}


def grade_column(columns: Iterable[str], key_map: Mapping[str, str]) -> str | None:
    """Return the column with the grades of merged rows, None if there is no such column."""
    listed = [*columns]
    if GRADE in key_map:
        return key_map[GRADE] if key_map[GRADE] in listed else None
    taken = frozenset(key_map.values())
    keys = {name_key(name): name for name in reversed(listed) if name not in taken}
    return next((keys[key] for key in _NAMES if key in keys), None)


def said_of_ids(source: ReadRows, answers: AnswersSpec | None) -> tuple[list[str], list[Doubt]]:
    """Return what to say of the ids of rows and their grades, and what may be meant instead."""
    is_own = not source.own.isdisjoint(source.columns_read("reference_ids"))
    theirs = answers is not None and answers.merge_rows and not is_own
    is_merged = theirs or (source.spec.merge_rows is not None and (answers is None or is_own))
    is_merged &= _path(source) is None  # a grade is for the ids in a column of its own row
    warnings = [*_unread_grades(source, is_merged=is_merged), *_joined_ids(source)]
    is_other = answers is not None and answers.merge_rows is not None
    return warnings, [*_grade_doubts(source, is_merged=is_merged, is_other_merged=is_other)]


def _grade_doubts(source: ReadRows, *, is_merged: bool, is_other_merged: bool) -> Iterator[Doubt]:
    """Yield a doubt for each column, or key, that may hold the grades, and is not read."""
    key_map = source.spec.key_map
    used = [name for name in source.columns_read("reference_ids") if name in source.columns]
    written = key_map.get(GRADE)
    if not used or written == NO_GRADE:
        return
    if written is not None:
        if not is_merged or written not in source.columns:
            lack = "rows are not merged (merge_rows), or their ids are at a path"
            lack = "no row has it" if is_merged else lack
            yield Doubt("reference_ids", source.shown, f"key_map: {written!r} is no grade: {lack}")
        return
    columns = [name for name in source.columns if name not in key_map.values()]
    if not is_merged and (source.spec.merge_rows is not None or is_other_merged):
        is_own = not source.own.isdisjoint(used)  # what is of the other file is of its own rows
        columns = [name for name in columns if (name in source.own) == is_own]
    if is_merged:
        yield from _of_merged(source, columns)
    elif not any(_has_grades(gold) for gold, *_ in _gold_of(source, used)):
        yield from _of_single(source, columns)
    yield from _of_objects(source, used)


def _unread_grades(source: ReadRows, *, is_merged: bool) -> Iterator[str]:
    """Yield what to say of columns of grades, all above 0: they are read only where rows merge."""
    if is_merged or GRADE in source.spec.key_map or not source.columns_read("reference_ids"):
        return
    for name in source.columns:
        found = _numbers(source, name) if name_key(name) in _SURE else []
        if found and min(found) > 0 and max(found) > min(found):
            yield (
                f"{source.shown}: {name!r} is not read: the grades of 'reference_ids' count where "
                "rows are merged (merge_rows), or in the ids, {d1: 2}"
            )


_MAY_JOIN = r"\A[^;]*[,|\n][^;]*\Z"


def _joined_ids(source: ReadRows) -> Iterator[str]:
    """Yield what to do about cells that are read as one id, and seem to be several."""
    for name in ("retrieved_ids", "reference_ids"):
        column = next(iter(source.columns_read(name)), "")
        cells = (row.fields.get(column) for row in source.rows)
        known = {cell.strip() for cell in cells if isinstance(cell, str)}
        for row in source.rows if name not in source.spec.split else ():
            ids = row.fields.get(column)
            if not row.tabular or not isinstance(ids, str) or not re.search(_MAY_JOIN, ids):
                continue
            # Not imported at the top: few data have such cells.
            from pytest_rageval.datasets.proposer.names import is_joined

            if (is_joined(ids) or _are_ids(ids, known)) and not ids.lstrip().startswith(
                ("[", "{", "(")
            ):
                yield (
                    f"{row_place(source.shown, row.line, row.number)}: {column!r} seems to hold "
                    f"several ids, and is read as one, {shorten(repr(ids), 60)}: divide them by "
                    '\';\', or write a list, ["a", "b"]'
                )
                break


_FILE: Final = re.compile(r"\.(?!(?:com|net|org|js|io)\Z)[a-z][a-z0-9]{1,4}\Z", re.IGNORECASE)
_CODE: Final = re.compile(r"[\d_.-]")
"""What ids have, and words have not."""


def _are_ids(text: str, known: set[str]) -> bool:
    """Return whether all parts between commas are names of files, or ids of other cells."""
    parts = [part.strip() for part in text.split(",")]
    is_list = len(parts) > 1 and "://" not in text
    are_known = known >= {*parts} and all(map(_CODE.search, parts))
    return is_list and (all(map(_FILE.search, parts)) or are_known)


def _of_merged(source: ReadRows, columns: list[str]) -> Iterator[Doubt]:
    """Yield a doubt for each column of numbers that differ within a sample.

    If just one column of numbers has the name of a grade, it is read, and there is no doubt.
    """
    own = {name: source.joined.get(name, name) for name in columns}
    known = [name for name in columns if name_key(own[name]) in _NAMES]
    is_read = len([name for name in known if _numbers(source, name)]) == 1
    for name in () if is_read else columns:
        is_field = own[name] in FIELD_OF or read_field(own[name]) is not None
        is_count = snake_case(own[name]).split("_")[-1] in _COUNTS
        differ = any(isinstance(row.fields.get(name), list) for row in source.rows)
        if differ and not (is_field or is_count) and _numbers(source, name):
            others = "" if name not in known else ", as another column may be"
            yield _doubt(
                source,
                f"{name!r} may hold the grades of 'reference_ids'{others}: its numbers differ in "
                "the rows of one sample, and 0 would say that a document is not relevant. Write "
                f"{_map(source, name)}, or {_map(source, NO_GRADE)} if no column holds them",
            )


def _of_single(source: ReadRows, columns: list[str]) -> Iterator[Doubt]:
    """Yield a doubt for each column named after grades whose numbers are not all above 0."""
    for name in columns:
        found = _numbers(source, name) if name_key(name) in _NAMES else []
        may_be = name_key(name) in _SURE or all(number.is_integer() for number in found)
        if may_be and min(found, default=1.0) <= 0:
            yield _doubt(
                source,
                f"{name!r} has values of 0 or below, and is not read: as grades of 'reference_ids' "
                "they say that a document is not relevant. Write merge_rows: COLUMN, which tells "
                "the questions apart, if a row judges one document, or the grades into the ids, "
                f"{{d1: 0}}; or {_map(source, NO_GRADE)} if they are none",
            )


def _of_objects(source: ReadRows, used: Sequence[str]) -> Iterator[Doubt]:
    """Yield a doubt for each key of expected documents that seems to say which is not relevant.

    Its values are whole numbers, or words for yes and no, some of them above 0 and some not; of a
    flag, all may say no.
    """
    for key, texts in _said_in_objects(source, used).items():
        numbers = [number for text in texts if (number := _whole(text)) is not None]
        says_no = len(numbers) == len(texts) and min(numbers) <= 0
        if says_no and (max(numbers) > 0 or _is_flag(name_key(key))):
            flags = "" if (YES | NO).isdisjoint(texts) else ", 1 for true and 0 for false"
            flags += ", in objects at which the path in key_map ends" if _path(source) else ""
            yield _doubt(
                source,
                f"{key!r} in the objects of 'reference_ids' is not read: as grades, its values of "
                "0 or below say that a document is not relevant. If they are, call it 'grade'"
                f"{flags}; else write {_map(source, NO_GRADE)}",
            )


def _said_in_objects(source: ReadRows, used: Sequence[str]) -> Mapping[str, list[str]]:
    """Return what the keys that may hold grades say, in lower case; none of objects with grades."""
    said: dict[str, list[str]] = {}
    for gold, above, around in _gold_of(source, used):
        parts = [part for part in _objects(gold) if part.keys().isdisjoint(GRADE_KEYS)]
        parts = [*filter(is_document, parts), *above]
        names = (_FLAGS.union(_NAMES), _OF_DOCUMENTS.union(_SURE))
        for part, known in (*zip(parts, repeat(names[0])), *zip(around, repeat(names[1]))):
            for key, value in part.items():
                if _may_grade(str(key), known) and is_filled(value):
                    said.setdefault(str(key), []).append(str(value).strip().lower())
    return said


def _objects(value: Any) -> list[Mapping[str, Any]]:
    parts = items(value) if isinstance(value, list | tuple) else [value]
    return [part for part in parts if isinstance(part, Mapping)]


def _gold_of(source: ReadRows, used: Sequence[str]) -> Iterator[tuple[Any, _Parts, _Parts]]:
    """Yield what each row expects, and the objects around ids that stand at a path.

    First the items of the innermost list; then objects that may be about more: items of other
    lists, or at an index, and what directly holds one id.
    """
    path = _path(source)
    for cell in (row.fields.get(name) for row in source.rows for name in used):
        gold = value_or_text(cell) if isinstance(cell, str) and "{" in cell else cell
        found: dict[int, _Parts] = {}
        inner = -1
        if path is not None:
            last = len(path.steps) - 1
            listed = path.every | {at for at, one in enumerate(path.steps) if isinstance(one, int)}
            holder = last - 1 if not listed & {last - 1, last} else -1
            ends = [at for at in (*listed, holder) if 0 <= at < last]
            levels = [replace(path, steps=path.steps[: at + 1]) for at in ends]
            try:
                *above, gold = (one.pick({used[0]: gold}) for one in (*levels, path))
            except LostPathError:
                continue
            found = dict(zip(ends, map(_objects, above), strict=True))
            if isinstance(gold, list | tuple | Mapping) and not path.every:
                found.pop(holder, None)  # it holds more than one id
            inner = max((at for at in path.every if found.get(at)), default=-1)
        items_of_list = found.pop(inner, [])
        around = [part for parts in found.values() for part in parts]
        yield (gold, [], []) if _has_grades(gold) else (gold, items_of_list, around)


def _path(source: ReadRows) -> JsonPath | None:
    """Return the path at which expected ids stand, None for a column."""
    written = source.spec.key_map.get("reference_ids", "")
    return None if written in source.columns else path_in(written)


def _whole(text: str) -> float | None:
    try:
        number = float(text in YES if text in YES | NO else text)
    except ValueError:
        return None
    return number if number % 1 == 0 else None


@lru_cache(maxsize=1024)
def _may_grade(key: str, known: frozenset[str]) -> bool:
    name = name_key(key)
    return name in known or (name.removeprefix("is") in known and _is_flag(name))


def _is_flag(name: str) -> bool:
    return not _FLAGS.isdisjoint((name, name.removeprefix("is")))


def _doubt(source: ReadRows, message: str) -> Doubt:
    first = source.rows[0]
    place = row_place(source.shown, first.line, first.number)
    return Doubt("reference_ids", place, f"{message} (in 'dataset')")


def _map(source: ReadRows, column: str) -> str:
    return pair_text("key_map", {**source.spec.key_map, GRADE: column})


def _numbers(source: ReadRows, column: str) -> list[float]:
    """Return the numbers of a column, true and false as 1 and 0; [] if any is a word."""
    found: list[float] = []
    for row in source.rows:
        value = row.fields.get(column)
        for part in value if isinstance(value, list | tuple) else [value]:
            if is_missing(part) or not str(part).strip():
                continue
            try:
                found.append(float(as_number(part)))
            except OverflowError:  # a whole number, only far too large
                found.append(math.inf if str(part)[0] != "-" else -math.inf)
            except (TypeError, ValueError):
                return []
    return found


def as_number(value: Any) -> Any:
    """Return 1 for true and 0 for false, also in text; another value as it is."""
    return FLAGS.get(str(value).strip().lower(), value)


def _has_grades(value: Any) -> bool:
    return any(
        not (is_document(part) and part.keys().isdisjoint(GRADE_KEYS))
        for part in filter(None, _objects(value))
    )

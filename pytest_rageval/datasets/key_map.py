"""From a row's columns to a Sample: which column is which field, and what its values mean."""

from __future__ import annotations

import ast
import json
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pytest_rageval.datasets.base import BrokenRow, Row
from pytest_rageval.datasets.jsonl import json_kind, json_text
from pytest_rageval.errors import shorten
from pytest_rageval.model import MAX_GRADE, NOTHING, Case, InvalidRow, Sample, json_plain
from pytest_rageval.scenario.fields import FIELD_ALIASES

# Where retrieval systems keep the text of a passage when a context is an object.
PASSAGE_KEYS = ("text", "contents", "content", "page_content", "passage")
DOCUMENT_KEYS = ("doc_name", "source", "file_name", "document", "title")
_ID_KEYS = ("id", "doc_id", "docid", "chunk_id", "_id")
_GRADE_KEYS = ("grade", "relevance", "rel")
_FALSE_WORDS = ("", "false", "no", "0", "off")
_CONTEXTS = ("contexts", "reference_contexts")
_KEPT = frozenset({"doc_name", "tags", "skip", "xfail"})
"""The fields that an invalid row has, too."""


class _BadValueError(ValueError):
    """A value that cannot be what its field needs."""


class KeyMap:
    """Reads rows as samples; ``columns`` collects every column that any row had."""

    def __init__(self, key_map: Mapping[str, str]) -> None:
        self._key_map = key_map
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self.columns: dict[str, None] = {}
        self._metadata_columns: dict[str, None] = {}
        self._emptied: set[str] = set()
        self._kept: set[str] = set()

    @property
    def metadata_columns(self) -> tuple[str, ...]:
        """The columns that are metadata, but those of whose objects no row left anything."""
        emptied = self._emptied - self._kept
        return tuple(column for column in self._metadata_columns if column not in emptied)

    def case(self, row: Row | BrokenRow, index: int) -> Case:
        """Return the sample in ``row``, or an invalid row that says what is wrong with it."""
        if isinstance(row, BrokenRow):
            return InvalidRow(
                f"sample-{row.number}", index, row.number, row.line, row.reason, row.raw
            )
        layout = self._layout(tuple(row.fields))
        sample_id = f"sample-{row.number}"
        values = layout.values(row.fields)
        metadata = _metadata(layout, row.fields)
        if layout.parts:
            self._kept.update(layout.parts.keys() & metadata.keys())
        try:
            if "id" in values:
                sample_id = _text("id", values.pop("id")).strip() or sample_id
            return _sample(sample_id, index, row, values, metadata)
        except _BadValueError as error:
            return _invalid(sample_id, index, row, values, metadata, str(error))

    def _layout(self, columns: tuple[str, ...]) -> _Layout:
        layout = self._layouts.get(columns)
        if layout is None:
            layout = self._layouts[columns] = _Layout(columns, self._key_map)
            self.columns.update(dict.fromkeys(columns))
            self._metadata_columns.update(dict.fromkeys(layout.metadata))
            self._emptied.update(layout.parts)
        return layout


class _Layout:
    """Which column of a row with these columns holds which field; the rest is metadata."""

    def __init__(self, columns: tuple[str, ...], key_map: Mapping[str, str]) -> None:
        present = set(columns)
        found: dict[str, list[str]] = {}
        taken = {column.partition(".")[0] for column in key_map.values()} | set(key_map.values())
        for name, aliases in FIELD_ALIASES.items():
            if name in key_map:
                found[name] = [key_map[name]]
            else:
                free = [alias for alias in aliases if alias in present and alias not in taken]
                if free:
                    found[name] = free
        used = {column for candidates in found.values() for column in candidates}
        self.metadata = tuple(column for column in columns if column not in used)
        self.parts: dict[str, list[tuple[str, ...]]] = {}
        """By metadata column, the paths of what is a field already: of ``meta.source``, source."""
        for column in used - present:
            head, *steps = column.split(".")
            if head in self.metadata:
                self.parts.setdefault(head, []).append(tuple(steps))
        # The best column comes last, so that its value is the one that stays.
        self._sources = [(name, column) for name in found for column in reversed(found[name])]

    def values(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of each field that is there: neither absent, null nor NaN."""
        found = {}
        for name, column in self._sources:
            value = fields[column] if column in fields else _nested(fields, column)
            if not _is_missing(value):
                found[name] = value
        return found


def _nested(fields: Mapping[str, Any], column: str) -> Any:
    """Return ``meta.source`` of ``{"meta": {"source": ...}}``, or None."""
    found: Any = fields
    for step in column.split("."):
        if not isinstance(found, Mapping) or step not in found:
            return None
        found = found[step]
    return found


def _sample(
    sample_id: str, index: int, row: Row, values: dict[str, Any], metadata: Mapping[str, Any]
) -> Sample:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name in _CONTEXTS and _is_nan(value):
            continue
        if name == "contexts":
            found["contexts"], found["context_docs"] = _contexts_and_docs(value)
        elif name == "references":
            found["references"], found["reference_groups"] = _references(value, row.tabular)
        else:
            found[name] = _READ[name](name, value)
    return Sample(sample_id, index, row.number, metadata=metadata, **found)


def _invalid(
    row_id: str,
    index: int,
    row: Row,
    values: Mapping[str, Any],
    metadata: Mapping[str, Any],
    reason: str,
) -> InvalidRow:
    """Return an invalid row with its document, tags and marks, as far as they can be read."""
    found: dict[str, Any] = {}
    for name in _KEPT & values.keys():
        with suppress(_BadValueError):
            found[name] = _READ[name](name, values[name])
    raw = json_text(dict(row.fields))
    return InvalidRow(row_id, index, row.number, row.line, reason, raw, metadata=metadata, **found)


def _metadata(layout: _Layout, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    if not layout.metadata:
        return NOTHING
    plain = {column: json_plain(fields[column]) for column in layout.metadata}
    for column, parts in layout.parts.items():
        plain[column] = _rest(plain[column], parts)
    return {column: value for column, value in plain.items() if value is not None} or NOTHING


def _rest(value: Any, parts: Sequence[tuple[str, ...]]) -> Any:
    """Return an object without what is at the paths ``parts``; None when that was all."""
    if not isinstance(value, Mapping):
        return value
    rest = {}
    for key, inner in value.items():
        inside = [part[1:] for part in parts if part[:1] == (key,)]
        if () not in inside:
            kept = _rest(inner, inside) if inside else inner
            if kept is not None or not inside:
                rest[key] = kept
    return rest or None


def _is_missing(value: Any) -> bool:
    """Return whether ``value`` is null or NaN, which is what data frames write for nothing."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_nan(value: Any) -> bool:
    """Return whether ``value`` is how a table spells NaN."""
    return isinstance(value, str) and value.strip().lower() == "nan"


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    raise _BadValueError(f"{name} must be text, found {json_kind(value)}")


def _references(
    value: Any, tabular: bool
) -> tuple[tuple[str, ...] | None, tuple[tuple[str, ...], ...] | None]:
    """Return the flat references, and the groups where the value is a list of lists.

    A bare string is one reference; in a table, where a cell can hold no list, one that spells a
    JSON or Python list is that list. Nothing left is missing.
    """
    if tabular and isinstance(value, str):
        spelled = _list_in_text(value)
        value = value if spelled is None else spelled
    if value is None or value == "":
        return None, None
    if not isinstance(value, list | tuple):
        return (_text("references", value),), None
    if any(isinstance(part, list | tuple) for part in value):
        groups = tuple(_reference_group(part) for part in value)
        groups = tuple(group for group in groups if group)
        flat = tuple(reference for group in groups for reference in group)
        return flat or None, groups or None
    return _reference_group(value) or None, None


def _reference_group(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else [value]
    return tuple(_text("a reference", part) for part in parts if not _is_missing(part))


def parse_contexts(value: Any) -> tuple[str, ...]:
    r"""Return the texts of the contexts in ``value``, blank ones dropped.

    A list of texts or of objects with a passage in them; or text, as a CSV cell holds it: a JSON
    list, a Python list, paragraphs with blank lines between them, or one context.

    >>> parse_contexts("['a', 'b']"), parse_contexts("a\n\nb")
    (('a', 'b'), ('a', 'b'))
    """
    return tuple(text for text, _ in _passages(value))


def _contexts_and_docs(value: Any) -> tuple[tuple[str, ...], tuple[str | None, ...] | None]:
    """Return the texts of the contexts, and the document of each where any of them names one."""
    passages = _passages(value)
    docs = tuple(doc for _, doc in passages)
    named = not docs or any(doc is not None for doc in docs)
    return tuple(text for text, _ in passages), docs if named else None


def _passages(value: Any) -> list[tuple[str, str | None]]:
    """Return the text and the document of each context that is not blank."""
    if isinstance(value, str):
        if _is_nan(value):
            return []
        spelled = _list_in_text(value)
        value = value.replace("\r\n", "\n").split("\n\n") if spelled is None else spelled
    elif not isinstance(value, list | tuple):
        value = [value]
    stripped = [(text.strip(), doc) for part in value for text, doc in _in_part(part)]
    return [(text, doc) for text, doc in stripped if text]


def _in_part(part: Any) -> Sequence[tuple[str, str | None]]:
    if _is_missing(part):
        return ()
    if isinstance(part, list | tuple):
        return [found for inner in part for found in _in_part(inner)]
    if isinstance(part, Mapping):
        for key in PASSAGE_KEYS:
            if isinstance(part.get(key), str):
                return ((part[key], passage_document(part)),)
        raise _BadValueError(
            f"a context is an object without a text under {', '.join(PASSAGE_KEYS)}"
        )
    return ((_text("a context", part), None),)


def passage_document(passage: Mapping[str, Any]) -> str | None:
    """Return the document that a passage says it comes from, itself or in its ``metadata``."""
    inner = passage.get("metadata")
    for place in (passage, inner if isinstance(inner, Mapping) else {}):
        for key in DOCUMENT_KEYS:
            if isinstance(place.get(key), str) and place[key].strip():
                return str(place[key])
    return None


def _retrieved_ids(value: Any) -> tuple[str, ...]:
    """Return ids in rank order; one that is there twice keeps its better rank."""
    return tuple(dict.fromkeys(_id(part) for part in _items(value) if not _is_missing(part)))


def _reference_ids(value: Any) -> dict[str, int] | None:
    """Return the grade of each judged id: of a mapping its values, else 1. Nothing is missing.

    An id whose grade is null is not judged: a Parquet structure has every key in every row.
    """
    if isinstance(value, str) and value.strip().startswith("{"):
        value = _object_in_text(value)
    if isinstance(value, Mapping):
        judged = {key: grade for key, grade in value.items() if not _is_missing(grade)}
        return {str(key): _grade(grade) for key, grade in judged.items()} or None
    grades: dict[str, int] = {}
    for part in _items(value):
        if _is_missing(part):
            continue
        name, grade = _id(part), _grade(_grade_in(part))
        if grades.setdefault(name, grade) != grade:
            raise _BadValueError(f"reference_ids judges {shorten(repr(name))} twice, differently")
    return grades or None


def _items(value: Any) -> Sequence[Any]:
    """Return the items of a list, or of a cell that spells one or separates ids by ``;``."""
    if isinstance(value, str):
        spelled = _list_in_text(value)
        if spelled is None:
            return [part.strip() for part in value.split(";") if part.strip()]
        return spelled
    return value if isinstance(value, list | tuple) else [value]


def _id(part: Any) -> str:
    if isinstance(part, Mapping):
        for key in _ID_KEYS:
            if key in part:
                return _text("an id", part[key])
        raise _BadValueError(f"a document is an object without an id under {', '.join(_ID_KEYS)}")
    return _text("an id", part)


def _grade_in(part: Any) -> Any:
    if isinstance(part, Mapping):
        return next((part[key] for key in _GRADE_KEYS if key in part), 1)
    return 1


def _grade(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value % 1 != 0:
        found = shorten(repr(value))
        raise _BadValueError(f"a grade in reference_ids must be a whole number, found {found}")
    if abs(value) > MAX_GRADE:
        raise _BadValueError(f"a grade in reference_ids must be at most {MAX_GRADE}, found {value}")
    return int(value)


def _list_in_text(text: str) -> list[Any] | None:
    """Return the list that ``text`` spells in JSON or Python, or None when it spells none."""
    stripped = text.strip()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return None
    found = _spelled(stripped)
    return found if isinstance(found, list) else None


def _object_in_text(text: str) -> Mapping[str, Any]:
    """Return the object that ``text`` spells in JSON or Python, as ``to_csv`` of pandas does."""
    found = _spelled(text.strip())
    if not isinstance(found, Mapping):
        raise _BadValueError(f"reference_ids is no JSON object: {shorten(repr(text))}")
    return found


def _spelled(text: str) -> Any:
    """Return the value that ``text`` spells in JSON or Python, or None when it spells none."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return None


def _tags(_name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        spelled = _list_in_text(value)
        value = value.replace(";", ",").split(",") if spelled is None else spelled
    parts = value if isinstance(value, list | tuple) else [value]
    texts = (_text("a tag", part).strip() for part in parts if not _is_missing(part))
    return tuple(dict.fromkeys(text for text in texts if text))


def _mark(name: str, value: Any) -> str | None:
    """Return the reason of a ``skip`` or ``xfail`` column, or None where it says no."""
    if value is False:
        return None
    text = "" if value is True else _text(name, value).strip()
    if value is not True and text.lower() in _FALSE_WORDS:
        return None
    return "" if text.lower() in ("true", "yes", "1", "on") else text


_READ: Mapping[str, Callable[[str, Any], Any]] = {
    "question": _text,
    "answer": _text,
    "reference_contexts": lambda _name, value: parse_contexts(value),
    "retrieved_ids": lambda _name, value: _retrieved_ids(value),
    "reference_ids": lambda _name, value: _reference_ids(value),
    "doc_name": lambda name, value: unicodedata.normalize("NFC", _text(name, value)),
    "tags": _tags,
    "skip": _mark,
    "xfail": _mark,
}

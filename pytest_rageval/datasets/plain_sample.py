"""Checks samples that user code made, and converts them to plain values as data have them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Final, NamedTuple

from pytest_rageval.datasets.id_cells import fitting
from pytest_rageval.errors import shorten
from pytest_rageval.model import NOTHING, Sample, json_plain
from pytest_rageval.scenario.fields import CHECK_FIELDS
from pytest_rageval.text.row_checks import read_checks, read_criteria, read_patterns, read_texts


class NoSampleError(ValueError):
    """A field has a value that data cannot have; the message names sample, field and value."""


def plain_sample(sample: Sample) -> Sample:
    """Return the sample with JSON-plain metadata, and tuples for lists.

    ``json_plain`` converts the metadata; ``context_ids`` that no longer fit are dropped. A plain
    sample is returned unchanged. Raises NoSampleError for another field with a value of the wrong
    type, and for metadata that cannot be written.
    """
    plain: dict[str, Any] = {}
    if not _is_written(sample.metadata):
        plain["metadata"] = _metadata(sample)
    for name, kind in _KINDS.items():
        value = getattr(sample, name)
        if not kind.holds(value):
            message = f"whose {name} must be {kind.expected}, found {shown(value)}"
            raise NoSampleError(f"the sample {shown(sample.id)}, {message}")
        if name in CHECK_FIELDS and value is not None and not value:
            plain[name] = None  # as of data
        elif _has_lists(value):
            plain[name] = tuple(tuple(part) if isinstance(part, list) else part for part in value)
    return fitting(replace(sample, **plain) if plain else sample)


def shown(value: object) -> str:
    """Return the beginning of an object's repr, or its type if that raises."""
    try:
        return shorten(repr(value))
    except Exception:  # noqa: BLE001  (repr may run any code)
        return f"an object of the type {type(value).__name__!r}"


def _has_lists(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, tuple) and list in map(type, value))


def _is_written(metadata: object) -> bool:
    """Return whether metadata are flat and simple: JSON surely gives them back unchanged."""
    if type(metadata) is not dict:
        return metadata is NOTHING
    return all(
        type(name) is str
        and (type(value) in _SIMPLE or (type(value) in (int, float) and abs(value) < 1e300))
        for name, value in metadata.items()
    )


_SIMPLE: Final = frozenset([str, bool, type(None)])


def _metadata(sample: Sample) -> Mapping[str, Any]:
    given: object = sample.metadata
    whose = f"the sample {shown(sample.id)}, whose metadata"
    if not isinstance(given, Mapping):
        raise NoSampleError(f"{whose} must be a mapping, found {shown(given)}")
    try:
        plain: dict[str, Any] = json_plain(given)
        json.dumps(plain, allow_nan=False)  # a number may be too long
    except Exception as error:  # repr may run any code, a list may contain itself
        raise NoSampleError(f"{whose} cannot be saved: {shown(error)}") from error
    return plain


class _Kind(NamedTuple):
    """The values that a field may have: in words, and as a check."""

    expected: str
    holds: Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _list_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(holds, value))


def _or_none(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or holds(value)


def _are_grades(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and _is_number(grade) for name, grade in value.items()
    )


def _is_read_by(read: Callable[[str, Any], Any]) -> Callable[[Any], bool]:
    def holds(value: Any) -> bool:
        try:
            return isinstance(value, list | tuple) and (not value or read("", value) is not None)
        except ValueError:
            return False

    return holds


def _is_share(value: Any) -> bool:
    is_number = type(value) is not bool and isinstance(value, Real)
    return is_number and bool(0 <= value <= 1)


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        _is_text(value.get(key)) for key in ("role", "content")
    )


def _is_cited(value: Any) -> bool:
    return isinstance(value, Integral | str) and not isinstance(value, bool)


def _is_sentence(value: Any) -> bool:
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    return is_pair and _is_text(value[0]) and _CITED(value[1])


def _is_nugget(value: Any) -> bool:
    is_whole = isinstance(value, Mapping) and isinstance(value.get("text"), str)
    return is_whole and value.get("importance") in {"vital", "okay"}


_TEXTS: Final = _list_of(_is_text)
_CITED: Final = _list_of(_is_cited)
_BY_KIND: Final[Mapping[str, _Kind]] = {
    "id": _Kind("text", _is_text),
    "index row": _Kind("a whole number", _is_number),
    "question answer doc_name skip xfail": _Kind("text or None", _or_none(_is_text)),
    "contexts references reference_contexts retrieved_ids": _Kind(
        "a list of texts or None", _or_none(_TEXTS)
    ),
    "reference_groups": _Kind("a list of lists of texts or None", _or_none(_list_of(_TEXTS))),
    "context_docs context_ids": _Kind(
        "a list of texts, some of them None, or None", _or_none(_list_of(_or_none(_is_text)))
    ),
    "reference_ids": _Kind("whole numbers by document or None", _or_none(_are_grades)),
    "must_include must_not_include": _Kind(
        "a list of texts or None", _or_none(_is_read_by(read_texts))
    ),
    "must_match": _Kind("a list of patterns or None", _or_none(_is_read_by(read_patterns))),
    "must_satisfy": _Kind("a list of texts or None", _or_none(_is_read_by(read_criteria))),
    "answer_checks": _Kind("a list of checks or None", _or_none(_is_read_by(read_checks))),
    "nuggets": _Kind(
        "a list of {text: ..., importance: vital or okay} or None", _or_none(_list_of(_is_nugget))
    ),
    "tags": _Kind("a list of texts", _TEXTS),
    "answerable": _Kind("a boolean or None", lambda value: value is None or type(value) is bool),
    "confidence": _Kind("a number from 0 to 1 or None", _or_none(_is_share)),
    "citations reference_citations": _Kind(
        "a list of positions and ids of documents or None", _or_none(_CITED)
    ),
    "cited_sentences": _Kind(
        "a list of pairs, a text and its citations, or None", _or_none(_list_of(_is_sentence))
    ),
    "history": _Kind(
        "a list of {role: ..., content: ...} or None", _or_none(_list_of(_is_message))
    ),
}
_KINDS: Final = {name: kind for names, kind in _BY_KIND.items() for name in names.split()}
"""The values that each field of a sample may have; metadata may be anything."""

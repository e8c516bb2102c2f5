"""Reads cells with ids of documents: ids that a search returned, and judged ids with grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pytest_rageval.datasets.cells import (
    BadValueError,
    is_missing,
    is_scored,
    list_in_text,
    plain_text,
    value_in_text,
)
from pytest_rageval.errors import shorten
from pytest_rageval.model import MAX_GRADE, Sample

_MADE: Final = ("id", "doc_id", "docid", "document_id", "chunk_id", "_id")
_ID_KEYS: Final = (*_MADE, "source", "file", "file_name", "url", "title")
"""What names a document in an object: an id that was made for it, then where it is from, and at
last its title, which other documents may have too."""
GRADE_KEYS: Final = ("grade", "relevance", "rel")


def retrieved_ids(value: Any) -> tuple[str, ...]:
    """Return ids in rank order; a repeated id keeps its better rank, a missing one is left out.

    A result with a blank id in a list keeps its rank, too: it is one that nobody expects. Raises
    BadValueError for what names no document.
    """
    return _once(raw_ids(value))


def raw_ids(value: Any) -> tuple[str | None, ...]:
    """Return ids in rank order with the repeated ones, and None for a missing one.

    Where all are pairs of an id and a score, and some score is no whole number, the scores are left
    out. Raises BadValueError for what names no document.
    """
    parts = _listed(value)
    pairs = [part for part in parts if not is_missing(part)]
    if all(map(is_scored, pairs)) and any(part[1] % 1 for part in pairs):
        parts = [part if is_missing(part) else part[0] for part in parts]
    return tuple(None if is_missing(part) else _id(part) for part in items(parts))


def by_rank(
    ids: Sequence[str | None] | None,
    contexts: Sequence[str] | None,
    docs: Sequence[str | None] | None,
) -> dict[str, Any]:
    """Return ``retrieved_ids`` and ``context_ids`` of a sample with these contexts; {} without ids.

    In ``retrieved_ids`` a repeated id keeps its better rank, so that others move up. If that
    happens and there is an id for each context, ``context_ids`` has them all, unless the contexts'
    documents say that the ids are in another order; else it is None.
    """
    if ids is None:
        return {}
    once, named = _once(ids), zip(ids, docs or (), strict=False)
    is_moved = contexts is not None and len(contexts) == len(ids) > len(once) + ids.count(None)
    pairs = {(one, doc) for one, doc in named if doc is not None}
    # In the order of the contexts, an id has one document, or (a chunk) a document one id.
    is_one = len(pairs) <= max((len(set(part)) for part in zip(*pairs, strict=True)), default=0)
    is_same = all(doc == one or doc not in once for one, doc in pairs)
    is_placed = is_moved and is_one and is_same
    return {"retrieved_ids": once, "context_ids": tuple(ids) if is_placed else None}


def fitting(sample: Sample) -> Sample:
    """Return a sample without ``context_ids`` that its ids or contexts no longer fit."""
    ids, contexts = sample.context_ids, sample.contexts
    if ids is None or (
        _once(ids) == sample.retrieved_ids and (contexts is None or len(contexts) == len(ids))
    ):
        return sample
    return replace(sample, context_ids=None)


def _once(ids: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in ids if one is not None))


def reference_ids(value: Any) -> dict[str, int] | None:
    """Return the grade of each judged id, 1 where no grade is given; None without any id.

    An id whose grade is null is not judged: a Parquet structure has every key in every row. A blank
    id is none: a search that returns blank ids would find it. Raises BadValueError.
    """
    if isinstance(value, str) and value.strip().startswith("{"):
        value = _braces_in_text(value)
    if isinstance(value, Mapping) and is_document(value):
        value = [value]
    if isinstance(value, Mapping):
        judged = {str(key): grade for key, grade in value.items() if not is_missing(grade)}
        return {key: _grade(grade) for key, grade in judged.items() if key.strip()} or None
    grades: dict[str, int] = {}
    for part in items(value):
        if is_missing(part):
            continue
        name, given = _id(part), _grade_in(part)
        if is_missing(given):
            continue
        grade = _grade(given)
        if name.strip() and grades.setdefault(name, grade) != grade:
            raise BadValueError(
                f"reference_ids has {shorten(repr(name))} twice, with different grades"
            )
    return grades or None


def is_document(value: Mapping[str, Any]) -> bool:
    """Return whether an object is one document, ``{source: a.pdf, page: 3}``, and no grades.

    Of a number only the name of an id says that: ``{id: 7, grade: 2}``.
    """
    is_named = any(isinstance(value.get(key), str) for key in _ID_KEYS)
    return is_named or not all(is_missing(value.get(key)) for key in _MADE)


def items(value: Any) -> Sequence[Any]:
    """Return the ids in a list, and in lists in it, as AutoRAG has them; or in a cell."""
    found = _listed(value)
    if not any(isinstance(part, list | tuple) for part in found):
        return found
    return [
        inner
        for part in found
        for inner in (items(part) if isinstance(part, list | tuple) else [part])
    ]


def _listed(value: Any) -> Sequence[Any]:
    """Return the items of a list, or of a cell that spells one or separates ids by ``;``."""
    if isinstance(value, str):
        stripped = value.strip()
        if stripped.startswith("(") and stripped.endswith(")"):  # a tuple, also of numbers
            stripped = f"[{stripped[1:-1]}]"
        spelled = list_in_text(stripped)
        if spelled is None:
            return [part.strip() for part in value.split(";") if part.strip()]
        return spelled
    return value if isinstance(value, list | tuple) else [value]


def _id(part: Any) -> str:
    if isinstance(part, Mapping):
        named = [part[key] for key in _ID_KEYS if key in part]
        if named:
            filled = (name for name in named if not is_missing(name) and str(name).strip())
            return plain_text("an id", next(filled, named[0]))
        raise BadValueError(f"a document is an object without an id under {', '.join(_ID_KEYS)}")
    return plain_text("an id", part)


def _grade_in(part: Any) -> Any:
    """Return the grade of a judged id, 1 where it has none; null where all that it has are null."""
    given = [part[key] for key in GRADE_KEYS if key in part] if isinstance(part, Mapping) else []
    return next((grade for grade in given if not is_missing(grade)), None if given else 1)


def _grade(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value % 1 != 0:
        found = shorten(repr(value))
        raise BadValueError(f"a grade in reference_ids must be a whole number, found {found}")
    if abs(value) > MAX_GRADE:
        raise BadValueError(
            f"a grade in reference_ids must be at most {MAX_GRADE}, found {shorten(repr(value))}"
        )
    return int(value)


def _braces_in_text(text: str) -> Any:
    """Return the object, or the items of the set, that ``text`` spells in JSON or Python."""
    found = value_in_text(text, "reference_ids")
    if found is None:
        raise BadValueError(f"reference_ids is not a JSON object: {shorten(repr(text))}")
    return found

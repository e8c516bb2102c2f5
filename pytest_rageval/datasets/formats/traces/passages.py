"""The documents in a value that a span holds: what a search found, or an answer was given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.datasets.formats.traces.content import decoded, text_or_none

_DOCUMENTS: Final = (
    *("documents", "docs", "contexts", "retrieved_contexts", "source_documents", "source_nodes"),
    *("passages", "chunks", "nodes", "hits", "matches", "results", "result", "output", "outputs"),
    *("data", "value", "content", "structuredContent"),
)
_CONTEXTS: Final = ("contexts", "retrieved_contexts", "source_documents", "retrieval_context")
_TEXT: Final = (
    *("content", "page_content", "text", "contents", "document.content", "pageContent"),
    *("passage", "chunk", "chunk_text", "body"),
)
_INNER: Final = ("document", "node", "payload", "kwargs", "entity", "metadata", "_source")
_ID: Final = ("id", "document.id", "doc_id", "document_id", "chunk_id", "id_", "_id", "node_id")
_DEEPEST: Final = 8
"""How many objects and lists around a text are looked into."""
_DEEPEST_PASSAGE: Final = 3
"""How many objects around the text of a passage are, such as hit, payload and document."""
_REPR: Final = re.compile(r"<[\w.]+[ (][^<>]*>|<[A-Z]\w*\(.*\)>", re.DOTALL)
"""How Python writes an object; HTML has text between two tags."""


@dataclass(frozen=True, slots=True)
class Document:
    """A passage, with its id where it has one; "" is a text that is hidden, or not there."""

    text: str
    id: str | None = None


def documents_in(value: Any, *, is_retrieval: bool) -> list[Document] | None:
    """Return the passages in the output of a step, best first.

    [] where a retrieval's output says that nothing was found, None where it does not say what was.

    ``is_retrieval``: the step says that it retrieves. Then bare texts are passages, too; else only
    objects with a text are.

    >>> documents_in([{"id": 7, "text": "Mondays"}], is_retrieval=False)
    [Document(text='Mondays', id='7')]
    """
    value = decoded(value)
    found = _documents(value, is_retrieval, _DEEPEST)
    may_be_empty = found is None and is_retrieval and isinstance(value, Mapping) and value
    return [] if may_be_empty and not _holds_anything(value) else found


def _holds_anything(value: Any, depth: int = _DEEPEST) -> bool:
    """Return whether a value has a text, or a list that is not empty, in it."""
    if isinstance(value, Mapping) and depth:
        return any(_holds_anything(part, depth - 1) for part in value.values())
    return bool(value) and isinstance(value, str | list | Mapping)


def contexts_in(value: Any) -> list[Document] | None:
    """Return the passages that an output lists beside the answer, under a name of contexts."""
    value = decoded(value)
    if not isinstance(value, Mapping):
        return None
    named = (value[name] for name in _CONTEXTS if value.get(name))
    found = (documents_in(part, is_retrieval=True) for part in named)
    return next(filter(None, found), None)


def _documents(value: Any, is_retrieval: bool, depth: int) -> list[Document] | None:
    if not depth:
        return None
    if isinstance(value, str):
        passage = _bare(value) if is_retrieval else None
    elif isinstance(value, list):
        return _listed(value, is_retrieval, depth)
    elif isinstance(value, Mapping):
        inner = _in_object(value, is_retrieval, depth)
        if inner is not None:
            return inner
        passage = _document(value) if is_retrieval else None
    else:
        return None
    return [passage] if passage and (passage.text or passage.id) else None


def _bare(text: str) -> Document | None:
    """Return the passage that a bare text is; None for a blank, null or an object's Python repr."""
    is_passage = text.strip() and text != "null" and not _REPR.fullmatch(text.strip())
    return Document(text_or_none(text) or "") if is_passage else None


def _in_object(value: Mapping[str, Any], is_retrieval: bool, depth: int) -> list[Document] | None:
    if is_retrieval and isinstance(value.get("documents"), list):
        found = _side_by_side(value)
        if found:
            return found
    for name in _DOCUMENTS:
        part = decoded(value.get(name))
        if isinstance(part, list | Mapping):
            found = _documents(part, is_retrieval, depth - 1)
            if found is not None:
                return found
    return None


def _listed(value: list[Any], is_retrieval: bool, depth: int) -> list[Document] | None:
    if not value:
        return [] if is_retrieval else None
    if len(value) == 1 and isinstance(value[0], list) and not _is_scored(value[0]):
        return _documents(value[0], is_retrieval, depth - 1)
    found: list[Document] = []
    for part in value:
        item = decoded(part[0] if _is_scored(part) else part)
        passage = _document(item)
        if passage is None and is_retrieval:
            passage = _bare(item) if isinstance(item, str) else _without_text(item)
        if passage is None:
            return None
        found.append(passage)
    return found if any(one.text or one.id for one in found) else None


def _is_scored(part: Any) -> bool:
    """Return whether a part is a document and its scores in a list; lists of documents are not."""
    is_list = isinstance(part, list) and len(part) > 1
    return is_list and all(isinstance(score, int | float) for score in part[1:])


def _without_text(value: Any) -> Document | None:
    """Return the passage that an object is without its text; None for a message of a chat."""
    is_object = isinstance(value, Mapping) and "role" not in value
    return Document("", _id_of(value)) if is_object else None


def _side_by_side(value: Mapping[str, Any]) -> list[Document] | None:
    """Return the passages of lists of texts and of ids, as Chroma gives them for one query."""
    texts, ids = value["documents"], value.get("ids")
    if len(texts) == 1 and isinstance(texts[0], list):
        texts, ids = texts[0], ids[0] if isinstance(ids, list) and ids else None
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    if not isinstance(ids, list) or len(ids) != len(texts):
        ids = [None] * len(texts)
    found = [
        Document(text_or_none(text) or "", None if name is None else str(name))
        for text, name in zip(texts, ids, strict=True)
    ]
    return found if any(one.text or one.id for one in found) else None


def _document(value: Any, depth: int = _DEEPEST_PASSAGE) -> Document | None:
    """Return the passage that an object is; None for one without a text, and for a message."""
    if not isinstance(value, Mapping) or "role" in value:
        return None
    for name in _TEXT:
        text = value.get(name)
        if isinstance(text, str) and text_or_none(text):
            return Document(text, _id_of(value))
    for name in _INNER if depth else ():
        part = value.get(name)
        if name == "document" and isinstance(part, str) and text_or_none(part):
            return Document(part, _id_of(value))
        inner = _document(part, depth - 1)
        if inner:
            return Document(inner.text, _id_of(value) or inner.id)
    return None


def _id_of(value: Mapping[str, Any]) -> str | None:
    for name in _ID:
        found = value.get(name)
        if isinstance(found, str | int) and not isinstance(found, bool) and str(found).strip():
            return str(found)
    inner = value.get("metadata", value.get("document.metadata"))
    inner = decoded(inner)
    return _id_of(inner) if isinstance(inner, Mapping) else None

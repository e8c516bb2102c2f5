"""Reads the texts of contexts and their documents, in all forms that data have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from pytest_rageval.datasets.columns.cells import (
    BadValueError,
    is_missing,
    is_nan,
    list_in_text,
    plain_text,
)

# The keys of retrieval systems for the text of a passage.
PASSAGE_KEYS = ("text", "contents", "content", "page_content", "passage")
DOCUMENT_KEYS = ("doc_name", "source", "file_name", "document", "title")


def parse_contexts(value: Any) -> tuple[str, ...]:
    r"""Return the texts of the contexts in ``value``, blank ones dropped.

    ``value`` is a list of texts, of objects with a passage, or of pairs of a title and sentences;
    or text, as in a CSV cell: a spelled list, paragraphs with blank lines between them, or one
    context.

    >>> parse_contexts("['a', 'b']"), parse_contexts("a\n\nb")
    (('a', 'b'), ('a', 'b'))
    >>> parse_contexts([["Paris", ["The capital.", " Large."]], ["Lyon", ["A city."]]])
    ('The capital. Large.', 'A city.')
    """
    return tuple(text for text, _ in _passages(value))


def contexts_and_docs(value: Any) -> tuple[tuple[str, ...], tuple[str | None, ...] | None]:
    """Return the texts of the contexts, and their documents if any of them names one."""
    passages = _passages(value)
    docs = tuple(doc for _, doc in passages)
    named = not docs or any(doc is not None for doc in docs)
    return tuple(text for text, _ in passages), docs if named else None


def passage_document(passage: Mapping[str, Any]) -> str | None:
    """Return the document that a passage names, itself or in its ``metadata``."""
    inner = passage.get("metadata")
    for place in (passage, inner if isinstance(inner, Mapping) else {}):
        for key in DOCUMENT_KEYS:
            if isinstance(place.get(key), str) and place[key].strip():
                return str(place[key])
    return None


def _passages(value: Any) -> list[tuple[str, str | None]]:
    """Return the text and the document of each context that is not blank."""
    if isinstance(value, str):
        if is_nan(value):
            return []
        spelled = list_in_text(value)
        value = value.replace("\r\n", "\n").split("\n\n") if spelled is None else spelled
    elif not isinstance(value, list | tuple):
        value = _numbered(value) or [value]
    if value and not isinstance(value[0], str) and all(map(_is_titled, value)):
        found = [(_joined(sentences), title) for title, sentences in value]
    else:
        found = [passage for part in value for passage in _in_part(part)]
    stripped = [(text.strip(), doc) for text, doc in found]
    return [(text, doc) for text, doc in stripped if text]


def _numbered(value: Any) -> list[Any]:
    """Return the passages of an object with numbers as keys, as pandas writes a column."""
    if isinstance(value, Mapping) and all(str(key).isdigit() for key in value):
        return list(value.values())
    return []


def _is_titled(part: Any) -> TypeGuard[tuple[str, list[str]]]:
    """Return whether a context is a title and a list of sentences, as in HotpotQA."""
    return (
        isinstance(part, list | tuple)
        and len(part) == 2
        and isinstance(part[0], str)
        and isinstance(part[1], list | tuple)
        and all(isinstance(sentence, str) for sentence in part[1])
    )


def _joined(sentences: Sequence[str]) -> str:
    """Return joined sentences; those of HotpotQA begin with a blank already."""
    is_spaced = any(sentence[:1].isspace() for sentence in sentences[1:])
    return ("" if is_spaced else " ").join(sentences)


def _in_part(part: Any) -> Sequence[tuple[str, str | None]]:
    if is_missing(part):
        return ()
    if isinstance(part, list | tuple):
        return [found for inner in part for found in _in_part(inner)]
    if isinstance(part, Mapping):
        for key in PASSAGE_KEYS:
            if isinstance(part.get(key), str):
                return ((part[key], passage_document(part)),)
        raise BadValueError(
            f"a context is an object without a text under {', '.join(PASSAGE_KEYS)}"
        )
    return ((plain_text("a context", part), None),)

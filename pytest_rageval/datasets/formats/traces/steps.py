"""What a span says by the conventions: its kind, texts, documents, model, tokens and cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.datasets.formats.traces.content import (
    Document,
    answer_in,
    contexts_in,
    decoded,
    documents_in,
    question_in,
)
from pytest_rageval.datasets.formats.traces.conventions import (
    BY_NAME,
    CONVENTIONS,
    KINDS,
    Convention,
)
from pytest_rageval.datasets.formats.traces.span import Span, as_number, list_at, pick

_HIDDEN: Final = ("", "__REDACTED__")
_MIME: Final = {"input.value": "input.mime_type", "output.value": "output.mime_type"}


def conventions_of(span: Span) -> tuple[Convention, ...]:
    """Return the conventions by which the span may have been written."""
    if span.tool:
        return (BY_NAME[span.tool],)
    return _by_marks(frozenset(name.partition(".")[0] for name in span.attributes))


@lru_cache(1024)
def _by_marks(heads: frozenset[str]) -> tuple[Convention, ...]:
    attributes = (convention for convention in CONVENTIONS if not convention.is_tool)
    return tuple(entry for entry in attributes if not entry.marks.isdisjoint(heads))


def kind_of(span: Span) -> str:
    """Return retrieval, rerank, llm, embedding, tool, agent, chain or judge; "" if unknown."""
    for convention in conventions_of(span):
        for path in convention.kind:
            named = decoded(pick(span.attributes, path), is_json=True)
            if isinstance(named, str) and (kind := KINDS.get(named.lower())):
                return kind
    if next(_values(span, "documents"), None) is not None:
        return "retrieval"
    return "llm" if model_of(span) else ""


def question_of(span: Span) -> str | None:
    """Return the question in the span's input, None without a certain one."""
    return next(filter(None, map(question_in, _values(span, "input"))), None)


def answer_of(span: Span) -> str | None:
    """Return the answer in the span's output, None without a certain one."""
    return next(filter(None, map(answer_in, _values(span, "output"))), None)


def input_of(span: Span) -> Any:
    """Return the input as the span has it; None without one."""
    return next(_values(span, "input"), None)


def output_of(span: Span) -> Any:
    """Return the output as the span has it; None without one."""
    return next(_values(span, "output"), None)


def query_of(span: Span) -> str | None:
    """Return what a retrieval was asked; None where the span does not say it."""
    found = next(filter(None, map(question_in, _values(span, "query"))), None)
    return found or question_of(span)


def documents_of(span: Span) -> list[Document] | None:
    """Return the documents that a retrieval or a reranker gave; None where they are not there."""
    listed = (documents_in(value, is_retrieval=True) for value in _values(span, "documents"))
    named = next((found for found in listed if found is not None), None)
    if named and all(document.id for document in named):
        return named
    output = documents_in(output_of(span), is_retrieval=True)
    if named is None or output is None:
        return output if named is None else named
    # The output may have the ids that the attributes lack.
    is_same = [document.text for document in output] == [document.text for document in named]
    return output if is_same else named


def documents_in_output(span: Span) -> list[Document] | None:
    """Return the documents in the output of a step that does not say that it retrieves."""
    return documents_in(output_of(span), is_retrieval=False)


def contexts_of(span: Span) -> list[Document] | None:
    """Return the contexts that the output names beside an answer; None without any."""
    return next(filter(None, map(contexts_in, _values(span, "output"))), None)


def model_of(span: Span) -> str | None:
    """Return the name of the model that a span asked, None where it asked none."""
    found = (value for value in _values(span, "model") if isinstance(value, str))
    return next(found, None)


def text_at(span: Span, field: str) -> str | None:
    """Return session, user or trace_name as text; None where the span has none."""
    found = (value for value in _values(span, field) if isinstance(value, str | int))
    return next((str(value) for value in found), None)


def number_at(span: Span, field: str) -> int | float | None:
    """Return prompt_tokens, completion_tokens or cost_usd; None where the span has none."""
    found = map(as_number, _values(span, field))
    return next((number for number in found if number is not None), None)


def _values(span: Span, field: str) -> Iterator[Any]:
    """Yield the values of a field, by the conventions of the span, the best name first."""
    for convention in conventions_of(span):
        for path in getattr(convention, field):
            value = list_at(span.attributes, path)
            if value is None or value in _HIDDEN:
                continue
            mime = pick(span.attributes, _MIME[path]) if path in _MIME else ""
            is_json = convention.is_json or mime == "application/json"
            yield decoded(value, is_json=True) if is_json else value

"""A trace becomes a row: question, contexts, answer, and what it cost."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.datasets.formats.traces.content import Document, decoded, is_hidden
from pytest_rageval.datasets.formats.traces.conventions import (
    answer_of,
    contexts_of,
    conventions_of,
    documents_in_output,
    documents_of,
    has_empty_output,
    has_output,
    input_of,
    model_of,
    number_at,
    output_of,
    query_of,
    question_of,
    text_at,
)
from pytest_rageval.datasets.formats.traces.span import Span
from pytest_rageval.datasets.formats.traces.trace import WHOLE, Trace, main_roots, request_roots
from pytest_rageval.errors import shorten
from pytest_rageval.scenario.fields import UNRECORDED_SEARCH

_SEARCHES: Final = re.compile(
    r"retriev|search|rerank|look_?up|fetch|similar|vector|knowledge|query_(?:db|index)|检索|搜索",
    re.IGNORECASE,
)
"""Names of steps that may retrieve; they count if no step whose kind says so has documents."""

_ERROR_KEYS: Final = frozenset({"error", "errors", "code", "status", "status_code", "traceback"})

COLUMNS: Final = (
    *("id", "question", "contexts", "retrieved_ids", "answer", "references"),
    *("trace_name", "model", "latency_ms", "prompt_tokens", "completion_tokens", "cost_usd"),
    *("session", "user", "status", "error", "trace_input", "trace_output"),
)

_CONTEXT_COLUMNS: Final = frozenset({"contexts", "retrieved_ids"})


@dataclass(frozen=True)
class TraceRow:
    """The columns of a row, why it can be no sample ("" if it can), and where its root is.

    ``without_id`` is the place, from 1, of a document that lacks an id beside others that have one;
    0 without such.
    """

    fields: dict[str, Any]
    flaw: str
    line: int | None
    without_id: int


def is_of_questions(trace: Trace) -> bool:
    """Return whether any step has a known kind other than tool, or has a question or an answer.

    Other traces are no rows.
    """
    return any(
        span.kind not in ("", "tool") or question_of(span) or answer_of(span)
        for span in trace.spans
    )


def row_of(trace: Trace, extra: Mapping[str, Any], mapped: Collection[str]) -> TraceRow:
    """Return the row of a trace; ``extra`` are columns that the tool has beside the spans.

    ``mapped`` are the fields that a ``key_map`` reads from columns of its own. Where the tool's
    record of the trace does not say that it failed, and that follows from the steps below, this
    sets the record's ``error``.
    """
    steps = trace.steps()
    roots = main_roots(trace)
    root = roots[0] if roots else None
    if root is not None and root.is_trace and root.error is None:
        root.error = _failure_below(trace, root)
    fields: dict[str, Any] = dict.fromkeys(COLUMNS)
    fields["id"] = trace.id
    documents = _contexts(trace, steps)
    fields |= _content(trace, steps, documents)
    for name in ("prompt_tokens", "completion_tokens", "cost_usd"):
        fields[name] = _sum(steps, name)
    fields["latency_ms"] = _latency(trace.roots)
    fields["model"] = _model(steps)
    for name in ("session", "user", "trace_name"):
        fields[name] = _first_text(trace, name)
    if root is not None:
        fields["trace_name"] = fields["trace_name"] or root.name or None
        failed = next((span for span in trace.roots if _error_of(span) is not None), None)
        fields["status"] = "ok" if failed is None else "error"
        fields["error"] = None if failed is None else _reason(failed, steps) or None
    for name, value in extra.items():
        if fields.get(name) is None:
            fields[name] = value
    unknown = "" if _CONTEXT_COLUMNS.intersection(mapped) else _how_to_record(trace, fields)
    if unknown:
        fields[UNRECORDED_SEARCH] = unknown
    ids = [document.id for document in documents or ()]
    without_id = 1 + ids.index(None) if any(ids) and None in ids else 0
    line = root.line if root else None
    return TraceRow(fields, _flaw(trace, fields, mapped), line, without_id)


def _content(
    trace: Trace, steps: Sequence[Span], documents: Sequence[Document] | None
) -> dict[str, Any]:
    roots = request_roots(trace)
    question = _question(trace, roots, steps)
    answer = _answer(roots, steps)
    has_ids = documents is not None and all(document.id for document in documents)
    has_texts = documents is not None and all(document.text for document in documents)
    root_input = decoded(_first(input_of, roots))
    root_output = decoded(_first(output_of, reversed(roots)))
    return {
        "question": question,
        "answer": answer,
        "contexts": [document.text for document in documents or ()] if has_texts else None,
        # A search that found nothing has [], not None: its recall is 0.
        "retrieved_ids": [document.id for document in documents or ()] if has_ids else None,
        "trace_input": root_input if question is None else None,
        "trace_output": root_output if answer is None else None,
    }


def _first(side: Callable[[Span], Any], spans: Iterable[Span]) -> Any:
    """Return the input or the output of the first step that has one, None without any."""
    return next((found for found in map(side, spans) if found is not None), None)


def _question(trace: Trace, roots: Sequence[Span], steps: Sequence[Span]) -> str | None:
    """Return the root's question; without an input there, that of the highest step with one.

    A model's prompt may hold the passages, too: what the retrieval was asked is the question if the
    prompt has it.
    """
    top = next((span for span in roots if input_of(span) is not None), None)
    if top is not None and top.kind != "llm":
        return question_of(top)
    of_system = {span.span_id for span in steps}
    inner = (span for span in trace.below(trace.roots) if span.kind in WHOLE)
    inner = (span for span in inner if span.span_id in of_system)
    named = next(filter(None, map(question_of, inner)), None)
    if named:
        return named
    asked = next(filter(None, (question_of(span) for span in steps if span.kind == "llm")), None)
    queries = (query_of(span) for span in steps if span.kind in ("retrieval", "rerank"))
    query = next(filter(None, queries), None)
    return query if asked is None or (query and query in asked) else asked


def _answer(roots: Sequence[Span], steps: Sequence[Span]) -> str | None:
    """Return the root's answer; without an output there, that of the last model that worked.

    None where the trace failed, or has neither an output nor an end: nobody was given that answer.
    An output that is empty is what was given.
    """
    if any(_error_of(span) is not None for span in roots):
        return None
    last = next((span for span in reversed(roots) if output_of(span) is not None), None)
    if last is not None:
        return answer_of(last)
    if any(map(has_empty_output, roots)):
        return ""
    if any(span.end_ns is None for span in roots):
        return None
    models = (span for span in reversed(steps) if span.kind == "llm" and span.error is None)
    return next(filter(None, map(answer_of, models)), None)


def _contexts(trace: Trace, steps: Sequence[Span]) -> list[Document] | None:
    """Return what the model was given: documents in order of start, as rerankers left them.

    Of steps inside each other, the outer one counts. A reranker replaces what the retrievals since
    the reranker before it found. A document that a later retrieval finds again counts once. What a
    failed retrieval found counts only where none that worked says what it found, a step that
    retrieves by its name only after these, and the root's contexts last. None where nothing does.
    """
    named = [span for span in steps if span.kind in ("retrieval", "rerank")]
    worked = [span for span in named if span.error is None]
    searches = (span for span in steps if span.kind != "llm" and _SEARCHES.search(span.name))
    found = _outer(trace, worked) or _outer(trace, named) or _outer(trace, searches)
    return _joined(found) if found else next(filter(None, map(contexts_of, trace.roots)), None)


def _unrecorded(trace: Trace, steps: Sequence[Span], has_contexts: bool) -> Span | None:
    """Return a step whose documents nobody recorded, and which no other step has; None without.

    A search that found nothing has an output that says so. ``has_contexts``: the row has contexts;
    where no retrieval has any, they are from elsewhere, and none are missing.
    """
    named = [span for span in steps if span.kind in ("retrieval", "rerank") and span.error is None]
    bare = {span.span_id for span in named if not has_output(span)}
    known = [span for span in named if bare and documents_of(span) is not None]
    if not bare or (has_contexts and not known):
        return None
    ids = {span.span_id for span in known}
    inside = {span.span_id for span in trace.below(known)}
    for span in reversed(named):
        if span.span_id in ids and span.kind == "rerank":
            return None  # it has what is left of all before it
        if span.span_id in bare - inside and ids.isdisjoint(
            below.span_id for below in trace.below([span])
        ):
            return span
    return None


def _outer(trace: Trace, spans: Iterable[Span]) -> list[tuple[str, list[Document]]]:
    """Return (kind, documents) of those that have documents and are in no other such, in order."""
    having = [(span, found) for span in spans if (found := _found_by(span)) is not None]
    # A child may stand before its parent: clocks differ, and starts are equal.
    children = (child for span, _ in having for child in trace.children(span))
    inside = {below.span_id for below in trace.below(children)}
    return [(span.kind, found) for span, found in having if span.span_id not in inside]


def _found_by(span: Span) -> list[Document] | None:
    is_named = span.kind in ("retrieval", "rerank")
    return documents_of(span) if is_named else documents_in_output(span)


def _joined(steps: Iterable[tuple[str, list[Document]]]) -> list[Document]:
    """Return the documents of the steps, of (kind, documents) by start.

    One that an earlier step has is not added again. A reranker replaces the retrievals right before
    it; right after a reranker, that one.
    """
    parts: list[tuple[str, list[Document]]] = []
    for kind, documents in steps:
        if kind == "rerank":
            parts = _before_reranking(parts)
        parts.append((kind, documents))
    joined: list[Document] = []
    for _, documents in parts:
        before = set(joined)
        joined += [document for document in documents if document not in before]
    return joined


def _before_reranking(
    parts: list[tuple[str, list[Document]]],
) -> list[tuple[str, list[Document]]]:
    """Return the parts that a reranker does not replace: those before the last retrievals."""
    rest = [*parts]
    while rest and rest[-1][0] == "retrieval":
        del rest[-1]
    # Right after a reranker there is none to drop: it replaces what that one left.
    return rest if len(rest) < len(parts) else rest[:-1]


def _sum(steps: Sequence[Span], name: str) -> int | float | None:
    """Return tokens or cost, summed over calls of models; of calls in each other, the outer one.

    None where a call that did not fail has no number: the sum would be that of the others.
    """
    models = [span for span in steps if span.kind == "llm"]
    if not models:  # the tool may have summed already
        above = (number_at(span, name) for span in steps if not span.parent_id)
        return next((number for number in above if number is not None), None)
    numbers = {span.span_id: number_at(span, name) for span in models}
    by_id = {span.span_id: span for span in steps}
    found, told, silent = list[int | float](), set[str](), list[Span]()
    for span in models:
        number, outer = numbers[span.span_id], {one.span_id for one in _above(span, by_id)}
        if any(numbers.get(span_id) is not None for span_id in outer):
            continue
        if number is None:
            silent.append(span)
        else:
            found.append(number)
            told |= outer  # a call around this one needs no number of its own
    if not found or any(span.span_id not in told and span.error is None for span in silent):
        return None
    return sum(found) if all(isinstance(number, int) for number in found) else math.fsum(found)


def _above(span: Span, by_id: Mapping[str, Span]) -> Iterator[Span]:
    """Yield the steps above a step, the nearest first."""
    seen = {span.span_id}
    while (above := by_id.get(span.parent_id)) is not None and above.span_id not in seen:
        yield above
        seen.add(above.span_id)
        span = above


def _latency(roots: Sequence[Span]) -> float | None:
    """Return the milliseconds from the first start to the last end; None while any runs."""
    times = [(span.start_ns, span.end_ns) for span in roots]
    starts = [start for start, _ in times if start is not None]
    ends = [end for _, end in times if end is not None]
    if not roots or len(starts) < len(roots) or len(ends) < len(roots):
        return None
    return round((max(ends) - min(starts)) / 1e6, 3)


def _model(steps: Sequence[Span]) -> str | None:
    """Return the model that answered: that of the last call."""
    models = (model_of(span) for span in reversed(steps) if span.kind == "llm")
    return next(filter(None, models), None)


def _first_text(trace: Trace, name: str) -> str | None:
    found = (text_at(span, name) for span in (*trace.roots, *trace.spans))
    return next(filter(None, found), None)


def _reason(failed: Span, steps: Sequence[Span]) -> str:
    """Return the message of a failure; where the root has none, that of the step that failed."""
    return _error_of(failed) or next((span.error for span in steps if span.error), "")


def _error_of(span: Span) -> str | None:
    """Return why a step failed, by its status or by an output that is an error and no more.

    None where it did not fail, "" where it does not say why.
    """
    return _error_in(output_of(span)) if span.error is None else span.error


def _error_in(output: Any) -> str | None:
    output = decoded(output)
    if not isinstance(output, Mapping) or not output.keys() <= _ERROR_KEYS:
        return None
    found = output.get("error") or output.get("errors")
    return shorten(str(found)) if found else None


def _failure_below(trace: Trace, record: Span) -> str | None:
    """Return why a request failed whose ``record`` by a tool has neither an error nor an output.

    None unless it is certain: the last top step may answer, and no top step that may answer worked
    or has an output; where the last one is no model, the same holds of models outside of these.
    """
    if output_of(record) is not None or has_empty_output(record):
        return None
    tops = [span for span in trace.tops() if span.kind != "judge"]
    may_answer = [span for span in tops if span.kind in (*WHOLE, "llm")]
    if not may_answer or may_answer[-1] is not tops[-1]:
        return None
    inside = {span.span_id for span in trace.below(may_answer)}
    models = [span for span in trace.steps() if span.kind == "llm" and span.span_id not in inside]
    others = models if may_answer[-1].kind != "llm" else ()
    has_worked = any(span.error is None or _gave(span) for span in (*may_answer, *others))
    return None if has_worked else may_answer[-1].error


def _gave(span: Span) -> bool:
    """Return whether a step has an output that is more than an error."""
    return output_of(span) is not None and _error_in(output_of(span)) is None


def _two_questions(trace: Trace) -> list[str]:
    """Return two questions that are asked beside each other, [] where there is one request.

    A step that passes on what another one was asked, or said, belongs to the same request.
    """
    spans = [span for span in trace.roots if span.kind in WHOLE]
    if len(spans) == 1 and len(trace.roots) == 1 and input_of(spans[0]) is None:
        spans = [span for span in trace.children(spans[0]) if span.kind in WHOLE]
    asked = [(question_of(span), answer_of(span)) for span in spans]
    whole = [(question, answer) for question, answer in asked if question and answer]
    said = {answer for _, answer in whole}
    found = [question for question, _ in whole if question not in said]
    for at, one in enumerate(found):
        other = next((text for text in found[at + 1 :] if one not in text and text not in one), "")
        if other:
            return [one, other]
    return []


def _flaw(trace: Trace, fields: Mapping[str, Any], mapped: Collection[str]) -> str:
    """Return why a trace can be no sample; "" where it can."""
    if not trace.roots:
        first = next((span for span in trace.orphans), trace.spans[0])
        return (
            f"trace {trace.id} has no root span: the parent {first.parent_id} of {first.name!r} is "
            "not in the file; export whole traces"
        )
    if questions := _two_questions(trace):
        one, other = (shorten(repr(text)) for text in questions)
        return (
            f"trace {trace.id} has several requests, such as {one} and {other}: a row is one; "
            "export each request as a trace of its own"
        )
    is_without = fields["answer"] is None and "answer" not in mapped
    if fields["status"] == "error" and is_without:
        reason = f": {fields['error']}" if fields["error"] else ""
        return f"trace {trace.id} failed and has no answer{reason}"
    if is_without and any(span.end_ns is None for span in trace.roots):
        return (
            f"trace {trace.id} is not finished: its root span has no end, and no answer; export it "
            "when it has ended"
        )
    for name, column in (("question", "trace_input"), ("answer", "trace_output")):
        if fields[column] is not None and name not in mapped:
            return _undecided(trace.id, name, column, fields[column])
    if fields["question"] is None and "question" not in mapped:
        return (
            f"trace {trace.id} has no text of a question; name the column that has it with "
            "dataset.key_map: {question: ...}"
        )
    return ""


def _how_to_record(trace: Trace, fields: Mapping[str, Any]) -> str:
    """Return how to record what a search found where nobody did; "" where that is known."""
    span = _unrecorded(trace, trace.steps(), has_contexts=fields["contexts"] is not None)
    if span is None:
        return ""
    ways = "; ".join(convention.export for convention in conventions_of(span))
    return (
        f"trace {trace.id}: what its step {span.name!r} found is not recorded: {ways}. If it found "
        "nothing, export its output, such as []; dataset.on_invalid: skip leaves such traces out"
    )


def _undecided(trace_id: str, name: str, column: str, value: Any) -> str:
    side = "input" if column == "trace_input" else "output"
    items = value.items() if isinstance(value, Mapping) else ()
    keys = [str(key) for key, part in items if not (isinstance(part, str) and is_hidden(part))][:6]
    if not keys:
        return (
            f"trace {trace_id}: the {side} of its root span has no text that is the {name}; name "
            f"the column that has it with dataset.key_map: {{{name}: ...}}"
        )
    return (
        f"trace {trace_id}: which part of the {side} of its root span is the {name}? It has "
        f"{', '.join(map(repr, keys))}. Write dataset.key_map: {{{name}: {column}.{keys[0]}}}"
    )

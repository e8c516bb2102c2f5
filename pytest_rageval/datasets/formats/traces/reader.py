"""Reads a file of spans, in whatever container, into a row for each trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row
from pytest_rageval.datasets.formats.delimited import read_delimited
from pytest_rageval.datasets.formats.pages import (
    AROUND_PAGES,
    HAS_MORE,
    NEXT,
    PAGES,
    next_page,
    said_of_pages,
)
from pytest_rageval.datasets.formats.parquet import read_parquet
from pytest_rageval.datasets.formats.traces import doubts, otel, tools
from pytest_rageval.datasets.formats.traces.conventions import conventions_of
from pytest_rageval.datasets.formats.traces.documents import json_documents
from pytest_rageval.datasets.formats.traces.rows import TraceRow, is_of_questions, row_of
from pytest_rageval.datasets.formats.traces.span import Collected
from pytest_rageval.datasets.formats.traces.trace import Trace, columns_of
from pytest_rageval.errors import ScenarioError, listed, shorten
from pytest_rageval.scenario.fields import FIELD_OF, UNRECORDED_SEARCH
from pytest_rageval.text.codec import read_json_at
from pytest_rageval.text.json_value import head_of

Record = Mapping[str, Any]


FORMS: Final[Sequence[tuple[Callable[[Record], bool], Callable[[Record, Collected], None]]]] = (
    (otel.is_batch, lambda record, into: tools.read_spans(otel.spans_of_batch(record), into)),
    (tools.is_mlflow_trace, tools.read_mlflow),
    (tools.is_mlflow_row, tools.read_mlflow),
    (tools.is_langsmith_run, tools.read_langsmith_run),
    (tools.is_langsmith_part, tools.read_langsmith_part),
    (tools.is_langfuse_event, tools.read_langfuse_event),
    (tools.is_langfuse_observation, tools.read_langfuse_observation),
    (tools.is_langfuse_trace, tools.read_langfuse_trace),
    (tools.is_trulens_record, tools.read_trulens_record),
    (otel.is_span, lambda record, into: tools.read_spans([record], into)),
    (tools.is_trace_of_spans, tools.read_phoenix_trace),
)
"""How a record is recognized, and what reads it; the first that fits counts."""

_WRAPPERS: Final = ("data", "spans", "traces", "runs", "observations", "items", "results", "batch")
_NO_SPANS: Final = ("resourceLogs", "resourceMetrics", "resource_logs", "resource_metrics")
_LISTED: Final = 3
_HEAD_BYTES: Final = 2**22
_MOST_STARTS: Final = 3
"""How many "{" are tried, to find an object in the beginning of a file."""


def records_in(value: Any) -> Iterator[Any]:
    """Yield a document's records: itself, the items of a list, or those of a wrapper's list."""
    if isinstance(value, list):
        for part in value:
            yield from records_in(part)
    elif isinstance(value, Mapping) and not _fits(value):
        lists = [value[name] for name in _WRAPPERS if _is_records(value.get(name))]
        # What stands beside the first list may be no spans.
        for inner in lists[:1] + [other for other in lists[1:] if _fits(other[0])]:
            yield from records_in(inner)
        if not lists and not _is_empty_page(value):
            yield value
    else:
        yield value


def _fits(value: Record) -> bool:
    return any(fits(value) for fits, _ in FORMS)


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _is_empty_page(value: Record) -> bool:
    """Return whether a document is a page without records, as the last one of an export may be."""
    rest = [name for name in value if not (name in _WRAPPERS and value[name] == [])]
    about = (*AROUND_PAGES, "object", "total", "limit", "count")
    return len(rest) < len(value) and all(
        name in about or NEXT.search(name) or HAS_MORE.search(name) for name in rest
    )


def is_record_of_traces(value: Any) -> bool:
    """Return whether a value, or the first record in it, is a span or a trace."""
    first = next(records_in(value), None)
    return isinstance(first, Mapping) and _fits(first)


def are_traces(file: DataFile, name: str) -> bool:
    """Return whether a file of the format ``name`` holds traces: its first record shows it.

    False where records are themselves the rows: ``key_map`` names only columns of them, or they
    have columns of ``FIELD_OF`` for the question and for an answer, references or contexts.
    """
    try:
        first = _first_table_row(file) if name in _TABLES else _first_value(file)
    except (ScenarioError, ValueError):
        return False
    if not is_record_of_traces(first):
        return False
    record = next(records_in(first))
    fields = {FIELD_OF[name] for name in record if name in FIELD_OF}
    if "question" in fields and fields & {"answer", "references", "contexts"}:
        return False
    mapped = {head_of(column) for column in file.spec.key_map.values()}
    return not (mapped and mapped <= record.keys())


_TABLES: Final = ("csv", "tsv", "parquet")


def _first_table_row(file: DataFile) -> Record | None:
    return next((row.fields for row in _table(file) if isinstance(row, Row)), None)


def _first_value(file: DataFile) -> Any:
    """Return the first object in the beginning of a JSON file that ends there, None without one.

    For a batch of OpenTelemetry, which may be larger than what is read here, an empty batch.
    """
    with file.open() as stream:
        text = stream.read(_HEAD_BYTES).decode(file.spec.encoding, "ignore").removeprefix("\ufeff")
    if otel.BATCH.match(text):
        return {"resourceSpans": [{"scopeSpans": []}]}
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return None
        try:
            return read_json_at(decoder, text, at)[0]
        except ValueError:  # it does not end in this text: an object inside of it may
            at = text.find("{", at + 1)
    return None


def read_traces(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield a row for each trace in order of the file, then broken rows: what could not be read.

    Traces without a model, a retrieval or a text are left out, with a note. Raises ScenarioError
    for a file without spans, and for spans without any text if no ``key_map`` says where it is.
    """
    collected, broken = _collected(file)
    if not collected.spans:
        if broken:
            first = broken[0]
            raise file.refuse(first.reason, first.line)
        raise file.refuse(
            "no spans of traces: expected ids of trace and span, and a start, as OpenTelemetry, "
            "Phoenix, MLflow, LangSmith, Langfuse or TruLens export them"
        )
    mapped = {name for name, column in file.spec.key_map.items() if column != name}
    if file.section == "answers":  # the rows that they are joined to have the question
        mapped.add("question")
    traces = [Trace(name, [*spans.values()]) for name, spans in collected.spans.items()]
    chosen = [trace for trace in traces if is_of_questions(trace)]
    rows = [row_of(trace, columns_of(trace, collected), mapped) for trace in chosen]
    if not any(_has_text(row.fields) for row in rows) and not mapped:
        raise file.refuse(_without_texts(traces))
    file.notes.extend(_notes(file, collected, traces, chosen))
    file.notes.extend([*_without_ids(file, rows), *_unrecorded(file, rows)])
    if "answer" not in mapped:
        file.notes.extend(_doubts(file, chosen, rows))
    yield from _numbered(rows, broken, collected.last_trace)


def _has_text(fields: Mapping[str, Any]) -> bool:
    names = ("question", "answer", "contexts", "trace_input", "trace_output")
    return any(fields.get(name) for name in names)


def _numbered(
    rows: Sequence[TraceRow], broken: Sequence[BrokenRow], last: str
) -> Iterator[Row | BrokenRow]:
    filled = {name for row in rows for name, value in row.fields.items() if value is not None}
    for number, row in enumerate(rows, start=1):
        fields = {name: value for name, value in row.fields.items() if name in filled}
        flaw = row.flaw
        if flaw and "no root span" in flaw and fields["id"] == last:
            flaw += " (the file ends in this trace: is it cut off?)"
        yield Row(number, row.line, fields, flaw=flaw)
    for number, lost in enumerate(broken, start=len(rows) + 1):
        yield BrokenRow(number, lost.line, lost.reason, lost.raw)


def _collected(file: DataFile) -> tuple[Collected, list[BrokenRow]]:
    collected, broken, pages = Collected(), [], _Pages()
    for found in _values(file):
        if isinstance(found, BrokenRow):
            broken.append(found)
            continue
        value, line = found
        collected.line = line
        pages.note(value)
        for record in records_in(value):
            reason = _read(record, collected)
            if reason:
                broken.append(BrokenRow(0, line, reason, shorten(str(record), 500)))
    broken += [BrokenRow(0, 1, reason, "") for reason in pages.lost()]
    tools.finish(collected)
    return collected, broken


class _Pages:
    """What the documents of a file say of the export that they are parts of."""

    def __init__(self) -> None:
        self._seen: set[object] = set()
        self._pages = 0
        self._next = ""
        self._errors: list[str] = []

    def note(self, document: Any) -> None:
        """Note what a document says of itself, or each of a list of them."""
        for part in document if isinstance(document, list) else ():
            self.note(part)
        if not isinstance(document, Mapping):
            return
        said = said_of_pages(document) if _is_page(document) else {}
        counted = next((said[name] for name in said if PAGES.search(name)), None)
        if isinstance(counted, int):
            self._pages = max(self._pages, counted)
            page = next((said[name] for name in said if name.rpartition(".")[2] == "page"), None)
            self._seen.add(str(page))
        self._next = next_page(said)
        errors = None if _fits(document) else document.get("errors")
        self._errors += map(str, errors) if isinstance(errors, list) else []

    def lost(self) -> Iterator[str]:
        """Yield why traces are missing from the file, if the export says so."""
        if self._pages > len(self._seen):
            yield f"it has {len(self._seen)} of {self._pages} pages: add the others to the file"
        if self._next:
            yield f"it ends with {self._next!r}: add the pages that follow to the file"
        if self._errors:
            yield f"the export says that something went wrong: {shorten(self._errors[0])}"


def _is_page(document: Record) -> bool:
    """Return whether a document is no record itself, but has a list that may hold records."""
    has_list = any(isinstance(document.get(name), list) for name in _WRAPPERS)
    return has_list and not _fits(document)


def _read(record: Any, into: Collected) -> str:
    """Read a record; return why it cannot be read, "" if it was, is null, or is a log or metric."""
    if not isinstance(record, Mapping):
        return "" if record is None else f"expected an object, found {shorten(str(record))}"
    for fits, read in FORMS:
        if fits(record):
            read(record, into)
            return ""
    if any(name in record for name in _NO_SPANS):
        into.counts["logs"] += 1
        return ""
    keys = ", ".join(map(repr, [*record][:6]))
    return f"no span: an object with {keys}" if record else "no span: an empty object"


def _values(file: DataFile) -> Iterator[tuple[Any, int | None] | BrokenRow]:
    """Yield what the file holds: documents of JSON, rows of a table, with their lines."""
    if _is_json(file):
        yield from json_documents(file)
        return
    for row in _table(file):
        yield (row.fields, row.line) if isinstance(row, Row) else row


def _is_json(file: DataFile) -> bool:
    with file.open() as stream:
        text = stream.read(1024).decode(file.spec.encoding, "ignore").removeprefix("\ufeff")
    return text.lstrip()[:1] in ("{", "[")


def _table(file: DataFile) -> Iterator[Row | BrokenRow]:
    with file.open() as stream:
        is_parquet = stream.read(4) == b"PAR1"
    if is_parquet:
        return read_parquet(file)
    suffixes = [suffix for suffix in file.path.suffixes if suffix != ".gz"]
    return read_delimited(file, "\t" if suffixes[-1:] in ([".tsv"], [".tab"]) else ",")


def _without_texts(traces: Sequence[Trace]) -> str:
    """Return why spans without texts cannot be judged, and the settings that export texts."""
    used = {
        convention.name: convention
        for trace in traces
        for span in trace.spans
        for convention in conventions_of(span)
    }
    ways = "; ".join(f"{name}: {convention.export}" for name, convention in used.items())
    # A single attribute may be the kind, which Phoenix keeps beside the attributes.
    if not any(len(span.attributes) > 1 for trace in traces for span in trace.spans):
        return (
            "these spans have neither texts nor attributes; export the spans with their "
            "attributes (Phoenix: px.Client().spans.get_spans_dataframe(), or "
            "/v1/projects/NAME/spans), not the list of traces"
        )
    return f"these spans have no texts of questions, answers or documents. To export them: {ways}"


def _notes(
    file: DataFile, collected: Collected, traces: Sequence[Trace], chosen: Sequence[Trace]
) -> Iterator[str]:
    """Yield a warning for what is left out, was exported twice, or may be missing."""
    kept = {trace.id for trace in chosen}
    others = [trace for trace in traces if trace.id not in kept]
    if others:
        names = dict.fromkeys(repr(trace.spans[0].name) for trace in others)
        yield (
            f"{file.shown}: {_count(len(others), 'trace')} without a model, retrieval or text "
            f"({listed(names, _LISTED)}): left out"
        )
    if collected.counts["twice"]:
        twice = _count(collected.counts["twice"], "span")
        yield f"{file.shown}: {twice} exported more than once, counted once"
    torn = [trace for trace in chosen if trace.roots and trace.orphans]
    if torn:
        yield (
            f"{_place(file, torn[0].spans[0].line)}: {_count(len(torn), 'trace')} with spans whose "
            f"parent is not in the file, first {torn[0].id}: contexts may be missing"
        )
    untold = listed(dict.fromkeys(map(repr, collected.untold)), _LISTED)
    for count, what in (
        (collected.counts["logs"], "record of logs or metrics"),
        (collected.counts["parts"], "part without a run"),
        (len(collected.untold), f"column of which a trace says different things ({untold})"),
    ):
        if count:
            yield f"{file.shown}: {_count(count, what)}: left out"
    if collected.counts["cells"]:
        cells = _count(collected.counts["cells"], "cell")
        yield f"{file.shown}: {cells} of spans cannot be read: contexts are missing; export as JSON"
    if collected.counts["no ids"]:
        yield f"{file.shown}: {_count(collected.counts['no ids'], 'span')} without ids: left out"


def _without_ids(file: DataFile, rows: Sequence[TraceRow]) -> Iterator[str]:
    """Yield a warning for documents without an id beside others that have one."""
    partly = [row for row in rows if row.without_id]
    if partly:
        first = partly[0]
        yield (
            f"{_place(file, first.line)}: {_count(len(partly), 'trace')} in which some documents "
            f"have no id, first {first.fields['id']} (document {first.without_id}): its "
            "retrieved_ids cannot be read; export an id with each document"
        )


def _unrecorded(file: DataFile, rows: Sequence[TraceRow]) -> Iterator[str]:
    """Yield a warning for unrecorded searches: metrics that need them make their rows invalid."""
    unknown = [row for row in rows if UNRECORDED_SEARCH in row.fields]
    if unknown:
        yield (
            f"{_place(file, unknown[0].line)}: {_count(len(unknown), 'trace')} in which it is not "
            f"recorded what a search found: {unknown[0].fields[UNRECORDED_SEARCH]}"
        )


def _doubts(file: DataFile, traces: Sequence[Trace], rows: Sequence[TraceRow]) -> Iterator[str]:
    """Yield a warning for answers that may be those of an earlier turn, or of another step."""
    read = [pair for pair in zip(traces, rows, strict=True) if pair[1].fields["answer"]]
    answered = [(trace, row) for trace, row in read if not row.flaw]
    is_open = [row for trace, row in answered if doubts.is_open(trace, row.fields)]
    if is_open:
        yield (
            f"{_place(file, is_open[0].line)}: {_count(len(is_open), 'trace')} whose chat ends "
            f"without an answer to its question, first {is_open[0].fields['id']}: what was said "
            "before the question is read as the answer; leave such traces out"
        )
    failed = [(row, said) for trace, row in answered if (said := doubts.failed_behind(trace))]
    if failed:
        row, names = failed[0]
        yield (
            f"{_place(file, row.line)}: {_count(len(failed), 'trace')} in which a step failed "
            "behind the one whose text is read as the answer, and may have had to answer, first "
            f"{row.fields['id']} ({names}): export the output of the root span, "
            "unless that step only records something"
        )


def _place(file: DataFile, line: int | None) -> str:
    return f"{file.shown}:{line}" if line else file.shown


def _count(count: int, what: str) -> str:
    first, _, rest = what.partition(" ")
    return f"{count:,} {what}" if count == 1 else f"{count:,} {first}s {rest}".rstrip()

"""Spans of OpenTelemetry's data model: OTLP, console exporter, data frames, REST and Jaeger."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pytest_rageval.datasets.cells import value_or_text
from pytest_rageval.datasets.formats.traces.span import (
    Span,
    as_number,
    first_of,
    pick,
    plain_id,
    time_ns,
)

_TRACE: Final = ("traceId", "trace_id", "context.trace_id", "TraceId", "traceID", "trace.trace_id")
_SPAN: Final = ("spanId", "span_id", "context.span_id", "SpanId", "spanID", "trace.span_id")
_PARENT: Final = (
    *("parentSpanId", "parent_span_id", "parent_id", "ParentSpanId", "parentId", "parentSpanID"),
    "trace.parent_id",
)
_START: Final = (
    *("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "StartTime"),
    *("start_timestamp", "Timestamp"),
)
_END: Final = (
    *("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "EndTime"),
    *("end_timestamp", "timestamp"),
)
_NAME: Final = ("name", "operationName", "SpanName", "record.name")
_ATTRIBUTES: Final = ("attributes", "record_attributes", "SpanAttributes", "tags")
_STATUS: Final = ("status_code", "status.code", "status.status_code", "StatusCode")
_MESSAGE: Final = (*("status_message", "status.message", "status.description", "StatusMessage"),)
_PREFIX: Final = "attributes."
_BATCHES: Final = ("resourceSpans", "resource_spans", "batches")
_SCOPES: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
BATCH: Final = re.compile(
    rf'(?s)\s*\[?\s*\{{\s*"(?:{"|".join(_BATCHES)})"\s*:(?=.*"(?:{"|".join(_SCOPES)})"\s*:)'
)
"""How the text of a request, or of a list of them, begins."""
_REMOTE_PARENT: Final = 0x200
_KINDS_OF_CALLS: Final = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_VALUES: Final = ("string", "bool", "int", "double", "array", "kvlist", "bytes")


def is_batch(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a request of OTLP, with resources, scopes and their spans."""
    lists = [record[name] for name in _BATCHES if isinstance(record.get(name), list)]
    return any(
        not parts or any(isinstance(part, Mapping) and part.keys() & {*_SCOPES} for part in parts)
        for parts in lists
    )


def spans_of_batch(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the spans of a request, as they are."""
    for resource in _items_in(record, _BATCHES):
        for scope in _items_in(resource, _SCOPES):
            yield from _items_in(scope, ("spans",))


def _items_in(record: Any, names: Iterable[str]) -> Iterator[Any]:
    for name in names if isinstance(record, Mapping) else ():
        value = record.get(name)
        yield from value if isinstance(value, list) else ()


def is_span(record: Mapping[str, Any]) -> bool:
    """Return whether a record has the ids of a trace and of a span, and a beginning."""
    return (
        bool(plain_id(first_of(record, _TRACE)))
        and bool(plain_id(first_of(record, _SPAN)))
        and time_ns(first_of(record, _START)) is not None
    )


def span_of(record: Mapping[str, Any], trace_id: str = "") -> Span | None:
    """Return the span that a record is; None without ids.

    ``trace_id`` is that of the record around it; for "", the span names its own.
    """
    trace = trace_id or plain_id(first_of(record, _TRACE))
    own = plain_id(first_of(record, _SPAN))
    if not trace or not own:
        return None
    attributes = _attributes(record)
    _take_events(pick(record, "events") or pick(record, "logs"), attributes)
    start = time_ns(first_of(record, _START))
    return Span(
        trace,
        own,
        _parent(record),
        str(first_of(record, _NAME) or attributes.get("name") or ""),
        attributes,
        start,
        _end(record, start),
        _error(record, attributes),
        has_remote_parent=bool(_flags(record) & _REMOTE_PARENT),
    )


def _parent(record: Mapping[str, Any]) -> str:
    parent = plain_id(first_of(record, _PARENT))
    for reference in _items_in(record, ("references",)):  # Jaeger
        if isinstance(reference, Mapping) and reference.get("refType") == "CHILD_OF":
            parent = parent or plain_id(reference.get("spanID"))
    return parent


def _flags(record: Mapping[str, Any]) -> int:
    flags = as_number(record.get("flags"))
    return flags if isinstance(flags, int) else 0


def _end(record: Mapping[str, Any], start: int | None) -> int | None:
    end = time_ns(first_of(record, _END))
    # Jaeger: µs; ClickHouse: ns; that of other tools, in seconds, is not read.
    name, factor = ("duration", 1000) if "traceID" in record else ("Duration", 1)
    duration = as_number(record.get(name))
    if end is not None or duration is None or start is None:
        return end
    return start + round(duration * factor)


def _attributes(record: Mapping[str, Any]) -> dict[str, Any]:
    for name in _ATTRIBUTES:
        value = value_or_text(record.get(name))
        if isinstance(value, list):
            return _of_pairs(value)
        if isinstance(value, Mapping) and value:
            return _with_kind({**value}, record)
    size = len(_PREFIX)
    found = {
        name[size:]: value
        for name, value in record.items()
        if name.startswith(_PREFIX) and value is not None
    }
    return _with_kind(found, record)


def _with_kind(attributes: dict[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Add the kind that Phoenix keeps beside the attributes; OpenTelemetry's kinds say nothing."""
    kind = record.get("span_kind")
    if isinstance(kind, str) and kind.removeprefix("SPAN_KIND_") not in _KINDS_OF_CALLS:
        attributes.setdefault("openinference.span.kind", kind)
    return attributes


def _of_pairs(pairs: list[Any]) -> dict[str, Any]:
    """Return the attributes of a list of keys and values, as OTLP and Jaeger write them."""
    return {
        str(pair["key"]): _plain(pair.get("value"))
        for pair in pairs
        if isinstance(pair, Mapping) and "key" in pair
    }


def _plain(value: Any) -> Any:
    """Return a value of OTLP; {"intValue": "3"} is 3."""
    if not isinstance(value, Mapping):
        return value
    for kind in _VALUES:
        for name in (f"{kind}Value", f"{kind}_value"):
            inner = value.get(name)
            if inner is not None:
                return _typed(kind, inner)
    return None


def _typed(kind: str, value: Any) -> Any:
    if kind == "array":
        return [_plain(part) for part in _items_in(value, ("values",))]
    if kind == "kvlist":
        return _of_pairs([*_items_in(value, ("values",))])
    return as_number(value) if kind in ("int", "double") else value


def _error(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> str | None:
    """Return why a span failed, "" if that is not said; None for one that did not fail."""
    status = first_of(record, _STATUS)
    message = first_of(record, _MESSAGE)
    has_failed = as_number(status) == 2 or re.split("[._]", str(status).upper())[-1] == "ERROR"
    if not has_failed and str(attributes.get("error")).lower() not in ("true", "1", "1.0"):
        return None
    found = message or attributes.get("exception.message") or attributes.get("error.type")
    return str(found or "")


def _take_events(events: Any, attributes: dict[str, Any]) -> None:
    """Put the texts that are in events where newer conventions have them."""
    events = value_or_text(events)
    for event in events if isinstance(events, list) else ():
        if not isinstance(event, Mapping):
            continue
        fields = event.get("attributes", event.get("fields"))
        fields = _of_pairs(fields) if isinstance(fields, list) else fields
        if isinstance(fields, Mapping):
            _take_event(str(event.get("name", fields.get("event", ""))), fields, attributes)


def _take_event(name: str, fields: Mapping[str, Any], attributes: dict[str, Any]) -> None:
    role = _ROLES.get(name)
    if role:
        side = "gen_ai.output.messages" if name == "gen_ai.choice" else "gen_ai.input.messages"
        said = attributes.get(side, [])
        content = first_of(fields, ("content", "message", "gen_ai.event.content"))
        if isinstance(said, list):
            attributes[side] = [*said, {"role": role, "content": value_or_text(content)}]
    elif name == "db.query.result":
        found = attributes.get("db.query.documents", [])
        text = pick(fields, "db.query.result.document")
        if isinstance(found, list) and text:
            document = {"text": text, "id": pick(fields, "db.query.result.id")}
            attributes["db.query.documents"] = [*found, document]
    else:
        for key, value in fields.items():
            if key.startswith(("gen_ai.", "exception.message")):
                attributes.setdefault(key, value)


_ROLES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant_before",  # an earlier turn, so no answer
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}

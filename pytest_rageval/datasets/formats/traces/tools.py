"""Records that tools write in forms of their own: MLflow, LangSmith, Langfuse and TruLens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_rageval.datasets.cells import is_missing, value_or_text
from pytest_rageval.datasets.formats.traces.otel import span_of
from pytest_rageval.datasets.formats.traces.span import (
    Collected,
    Span,
    as_number,
    first_of,
    pick,
    plain_id,
    time_ns,
)
from pytest_rageval.scenario.column_names import read_field

Record = Mapping[str, Any]


def _items(value: Any) -> list[Record]:
    value = value_or_text(value)
    return [part for part in value if isinstance(part, Mapping)] if isinstance(value, list) else []


def _inner(value: Any, into: Collected) -> list[Record]:
    """Return the spans in a cell or list of a trace; a cell that cannot be read is counted."""
    if isinstance(value, str) and value.strip() and not isinstance(value_or_text(value), list):
        into.counts["cells"] += 1
    return _items(value)


def read_spans(records: Iterable[Any], into: Collected, trace_id: str = "") -> None:
    """Add spans of OpenTelemetry's data model; those without ids are counted."""
    for record in records:
        if not isinstance(record, Mapping):
            continue
        span = span_of(record, trace_id)
        if span is not None:
            into.add(span)
        else:
            into.counts["no ids"] += 1


# MLflow: a trace is ``info`` and ``data.spans``; search_traces has a row a trace.


def is_mlflow_trace(record: Record) -> bool:
    """Return whether a record is a trace as MLflow's to_dict and to_json write it."""
    info, data = record.get("info"), record.get("data")
    return (
        isinstance(info, Mapping)
        and isinstance(data, Mapping)
        and isinstance(data.get("spans"), list)
        and bool(first_of(info, ("trace_id", "request_id")))
    )


def is_mlflow_row(record: Record) -> bool:
    """Return whether a record is a row of MLflow's search_traces."""
    return (
        isinstance(first_of(record, ("trace_id", "request_id")), str)
        and "spans" in record
        and any(name in record for name in ("trace_metadata", "request_metadata"))
        and "request" in record
    )


def read_mlflow(record: Record, into: Collected) -> None:
    """Add the spans and the assessments of a trace, which may be a row."""
    is_whole = is_mlflow_trace(record)
    info, data = (record["info"], record["data"]) if is_whole else (record, record)
    trace_id = str(first_of(info, ("trace_id", "request_id")))
    _note_mlflow(trace_id, info, into)
    spans = _inner(data["spans"], into)
    read_spans(spans, into, trace_id)
    if not spans:  # where spans are kept elsewhere, the trace has what went in and came out
        _add_mlflow(trace_id, info, data, into)


def _note_mlflow(trace_id: str, info: Record, into: Collected) -> None:
    """Note what is known of a trace beside its spans: metadata, tags and assessments."""
    metadata = value_or_text(first_of(info, ("trace_metadata", "request_metadata")))
    if isinstance(metadata, Mapping):
        into.say(trace_id, "session", metadata.get("mlflow.trace.session"))
        into.say(trace_id, "user", metadata.get("mlflow.trace.user"))
        usage = value_or_text(metadata.get("mlflow.trace.tokenUsage"))
        if isinstance(usage, Mapping):
            into.say(trace_id, "prompt_tokens", usage.get("input_tokens"))
            into.say(trace_id, "completion_tokens", usage.get("output_tokens"))
    tags = value_or_text(info.get("tags"))
    if isinstance(tags, Mapping):
        into.say(trace_id, "trace_name", tags.get("mlflow.traceName"))
    for assessment in _items(info.get("assessments")):
        if assessment.get("valid") is not False:
            _read_assessment(trace_id, assessment, into)


def _read_assessment(trace_id: str, assessment: Record, into: Collected) -> None:
    name = first_of(assessment, ("assessment_name", "name"))
    step = plain_id(assessment.get("span_id"))
    into.score(trace_id, name, pick(assessment, "feedback.value"), step)
    into.expect(trace_id, name, pick(assessment, "expectation.value"), step)


def _add_mlflow(trace_id: str, info: Record, texts: Record, into: Collected) -> None:
    start = time_ns(first_of(info, ("request_time", "timestamp_ms")))
    lasted = first_of(info, ("execution_duration", "execution_time_ms"))
    state = str(first_of(info, ("state", "status")))
    given = {
        "mlflow.spanInputs": texts.get("request"),
        "mlflow.spanOutputs": texts.get("response"),
    }
    span = Span(trace_id, trace_id, "", "", given, start, _after(start, lasted, 10**6))
    span.error = "" if state.upper().endswith("ERROR") else None
    span.is_trace = True
    into.add(span)


def _after(start: int | None, lasted: Any, unit: int) -> int | None:
    """Return when something ended that began at ``start`` and lasted so many ``unit`` ns."""
    number = as_number(lasted)
    return None if start is None or number is None else start + round(number * unit)


# LangSmith: a run is a span; ``trace_id`` is the id of the root run.

_ANSWERS: Final = ("references", "answer")
_OF_A_PLACE: Final = re.compile(r"(?:doc|document|source|file|url|_id|page)s?$", re.IGNORECASE)
_LANGSMITH_PART: Final = re.compile(r"(?:post|patch)\.([0-9a-fA-F-]{36})(?:\.(\w+))?")


def is_langsmith_run(record: Record) -> bool:
    """Return whether a record is a run of LangSmith."""
    return (
        "run_type" in record
        and "id" in record
        and any(name in record for name in ("trace_id", "dotted_order", "parent_run_id"))
    )


def read_langsmith_run(record: Record, into: Collected, trace_id: str = "") -> None:
    """Add a run and its child runs."""
    own = str(record["id"])
    dotted = str(record.get("dotted_order") or "")
    trace = trace_id or str(record.get("trace_id") or dotted.partition(".")[0][-36:] or own)
    error, parent = _given(record.get("error")), _given(record.get("parent_run_id"))
    has_failed = bool(error) or record.get("status") == "error"
    into.add(
        Span(
            trace,
            own,
            parent,
            str(record.get("name") or ""),
            record,
            time_ns(record.get("start_time")),
            time_ns(record.get("end_time")),
            error if has_failed else None,
            tool="LangSmith",
        )
    )
    if not parent:
        stats = value_or_text(record.get("feedback_stats"))
        for name, found in stats.items() if isinstance(stats, Mapping) else ():
            into.score(trace, name, found.get("avg") if isinstance(found, Mapping) else found)
        expected = value_or_text(record.get("reference_outputs"))
        if isinstance(expected, Mapping):
            into.expect(trace, "reference", _expected_answer(expected))
    for child in _inner(record.get("child_runs"), into):
        if is_langsmith_run(child):
            read_langsmith_run(child, into, trace)


def _given(value: Any) -> str:
    """Return what a field says, "" for none, which data frames write as NaN."""
    return "" if is_missing(value) else str(value or "")


def _expected_answer(outputs: Record) -> Any:
    """Return the first output, which may have any name.

    But if that names another field, or a place, the output named like a reference is returned, or
    else the one named like an answer, which may be what a system said.
    """
    first = next(iter(outputs), "")
    fields = {name: (read_field(name) or ("",))[0] for name in outputs}
    is_other = fields and (fields[first] not in ("", *_ANSWERS) or _OF_A_PLACE.search(first))
    named = [name for field in _ANSWERS for name in outputs if is_other and fields[name] == field]
    return outputs.get(next(iter(named), first))


def is_langsmith_part(record: Record) -> bool:
    """Return whether a record is a part of a request that a LangSmith client sends."""
    name = record.get("name")
    return isinstance(name, str) and "body" in record and bool(_LANGSMITH_PART.fullmatch(name))


def read_langsmith_part(record: Record, into: Collected) -> None:
    """Add a part of a run: the run without its large fields, or one of them."""
    part = _LANGSMITH_PART.fullmatch(record["name"])
    assert part is not None  # is_langsmith_part has seen it
    fields = {part[2]: record["body"]} if part[2] else record["body"]
    if isinstance(fields, Mapping):
        into.part("LangSmith", part[1], {"id": part[1], **fields})


# Langfuse: traces with observations, observations alone, and the events that old SDKs send.

_LANGFUSE_EVENT: Final = re.compile(
    r"(trace|span|generation|event|observation|score|agent|tool|chain|retriever|embedding|"
    r"evaluator|guardrail)-(?:create|update)"
)
_OBSERVATIONS: Final = frozenset(
    {"SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR"}
    | {"EMBEDDING", "GUARDRAIL"}
)
_TEXTS: Final = ("CATEGORICAL", "TEXT", "CORRECTION")
"""The types of scores that are texts."""
_TRACE_ID: Final = ("traceId", "trace_id")
_PARENT_ID: Final = ("parentObservationId", "parent_observation_id")


def is_langfuse_observation(record: Record) -> bool:
    """Return whether a record is an observation of Langfuse."""
    return (
        str(record.get("type", "")).upper() in _OBSERVATIONS
        and "id" in record
        and bool(first_of(record, _TRACE_ID))
        and bool(first_of(record, ("startTime", "start_time")))
    )


def read_langfuse_observation(record: Record, into: Collected, trace_id: str = "") -> None:
    """Add an observation; one without a parent is a root, or below the trace's own record."""
    start = time_ns(first_of(record, ("startTime", "start_time")))
    end = time_ns(first_of(record, ("endTime", "end_time")))
    message = first_of(record, ("statusMessage", "status_message"))
    kind = str(record.get("type", "")).upper()
    into.add(
        Span(
            trace_id or str(first_of(record, _TRACE_ID)),
            str(record["id"]),
            str(first_of(record, _PARENT_ID) or ""),
            str(record.get("name") or ""),
            record,
            start,
            start if end is None and kind == "EVENT" else end,
            str(message or "") if record.get("level") == "ERROR" else None,
            tool="Langfuse",
            has_remote_parent=bool(first_of(record, ("isRootObservation", "is_root_observation"))),
        )
    )


def is_langfuse_trace(record: Record) -> bool:
    """Return whether a record is a trace of Langfuse, with or without its observations."""
    if "id" not in record or "timestamp" not in record or "name" not in record:
        return False
    is_full = any(name in record for name in ("observations", "htmlPath", "html_path"))
    has_session = "sessionId" in record or "session_id" in record
    return is_full or (has_session and "bookmarked" in record and "output" in record)


def read_langfuse_trace(record: Record, into: Collected) -> None:
    """Add a trace, its observations and its scores."""
    trace = str(record["id"])
    start = time_ns(record.get("timestamp"))
    lasted = first_of(record, ("latency",))
    end = _after(start, lasted, 10**9)
    into.add(
        Span(
            trace,
            f"{trace} (trace)",
            "",
            str(record.get("name") or ""),
            {**record, "type": "CHAIN"},
            start,
            end,
            tool="Langfuse",
            is_trace=True,
        )
    )
    for observation in _inner(record.get("observations"), into):
        if "id" in observation:
            read_langfuse_observation(observation, into, trace)
        else:
            into.counts["no ids"] += 1
    for score in _items(record.get("scores")):
        read_langfuse_score({**score, "traceId": trace}, into)


def read_langfuse_score(record: Record, into: Collected) -> None:
    """Add a score of a trace or an observation; beside a text, a number means nothing."""
    is_text = first_of(record, ("dataType", "data_type")) in _TEXTS
    texts = ("stringValue", "string_value")
    value = first_of(record, (*texts, "value") if is_text else ("value", *texts))
    step = _given(first_of(record, ("observationId", "observation_id")))
    into.score(str(first_of(record, _TRACE_ID)), record.get("name"), value, step)


def is_langfuse_event(record: Record) -> bool:
    """Return whether a record is an event of Langfuse's ingestion."""
    kind, body = record.get("type"), record.get("body")
    return (
        isinstance(kind, str)
        and isinstance(body, Mapping)
        and bool(_LANGFUSE_EVENT.fullmatch(kind))
        and "id" in body
    )


def read_langfuse_event(record: Record, into: Collected) -> None:
    """Add an event: the beginning, or an update, of a trace, an observation or a score."""
    event = _LANGFUSE_EVENT.fullmatch(record["type"])
    assert event is not None  # is_langfuse_event has seen it
    kind, body = event[1], record["body"]
    if kind == "trace":
        into.part("Langfuse trace", str(body["id"]), body)
    elif kind == "score":
        read_langfuse_score(body, into)
    else:
        own = {} if kind == "observation" else {"type": kind.upper()}
        into.part("Langfuse", str(body["id"]), {**body, **own})


# TruLens: a record is a trace; its texts are there, its spans are not.


def is_trulens_record(record: Record) -> bool:
    """Return whether a record is a row of TruLens' records."""
    return {"record_id", "app_id", "input", "output"} <= record.keys() and (
        "record_json" in record or "app_json" in record
    )


_OF_TRULENS: Final = frozenset(
    {"app_id", "app_name", "app_version", "app_json", "type", "record_id", "conversation_id"}
    | {"input_id", "input", "output", "tags", "record_json", "cost_json", "perf_json", "ts"}
    | {"latency", "total_tokens", "total_cost", "eval_cost", "eval_cost_snowflake"}
    | {"cost_currency", "num_events", "sampled", "sample_rate", "eval_decision_reason", "is_match"}
)
_BESIDE_SCORES: Final = ("_calls", "direction", "cost in USD")


def read_trulens_record(record: Record, into: Collected) -> None:
    """Add a record; its other columns are what TruLens' feedback functions found."""
    trace = str(record["record_id"])
    start = time_ns(record.get("ts"))
    is_usd = record.get("cost_currency") in (None, "", "USD")
    given = dict(record) if is_usd else {**record, "total_cost": None}
    end = _after(start, record.get("latency"), 10**9)
    name = str(record.get("app_name") or "")
    span = Span(trace, trace, "", name, {**given, "kind": "chain"}, start, end)
    span.tool, span.is_trace = "TruLens records", True
    into.add(span)
    for column, value in record.items():
        if column not in _OF_TRULENS and not column.endswith(_BESIDE_SCORES):
            into.score(trace, column, _flag(value))


def _flag(value: Any) -> Any:
    if value in ("True", "False"):
        return value == "True"
    number = as_number(value)
    return value if number is None else number


def finish(into: Collected) -> None:
    """Add what came in parts, now that all of them are there."""
    for fields in into.parts.values():
        kind = fields[""]
        if kind == "LangSmith" and is_langsmith_run(fields):
            read_langsmith_run(fields, into)
        elif kind == "Langfuse trace":
            read_langfuse_trace({"timestamp": None, **fields}, into)
        elif kind == "Langfuse" and first_of(fields, _TRACE_ID):
            read_langfuse_observation(fields, into)
        else:
            into.counts["parts"] += 1
    into.parts.clear()


def read_phoenix_trace(record: Record, into: Collected) -> None:
    """Add the spans of a trace of Phoenix's or Jaeger's REST."""
    trace = plain_id(first_of(record, ("trace_id", "traceId", "traceID")))
    read_spans(_items(record.get("spans")), into, trace)


def is_trace_of_spans(record: Record) -> bool:
    """Return whether a record is a trace with a list of spans that have their ids."""
    spans = record.get("spans")
    if not isinstance(spans, list) or not spans or not isinstance(spans[0], Mapping):
        return False
    has_ids = any(name in spans[0] for name in ("span_id", "spanID", "spanId"))
    return has_ids and bool(plain_id(first_of(record, ("trace_id", "traceId", "traceID"))))

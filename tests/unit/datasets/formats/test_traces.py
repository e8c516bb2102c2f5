"""A30: spans of tracing tools are rows, one a trace, whatever tool and container they are in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from pytest_rageval.datasets.formats.traces.otel import span_of
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample

Load = Callable[..., Dataset]
Refused = Callable[..., list[str]]

SECOND = 1_800_000_000
"""When all of these traces began, since 1970."""

ASKED, SAID = "May dogs come in?", "Only on a lead."
DOCS = [{"id": "d1", "text": "Dogs: on a lead."}, {"id": "d2", "text": "Cats: no."}]


def span(
    own: str,
    parent: str | None = "root",
    begins: float = 0,
    lasts: float | None = 1,
    trace: str = "t1",
    **attributes: Any,
) -> dict[str, Any]:
    """Return a span as the console exporter writes it; ``_`` in attributes' names are dots."""
    return {
        "name": own,
        "context": {"trace_id": trace, "span_id": own},
        "parent_id": parent,
        "start_time": SECOND + begins,
        "end_time": None if lasts is None else SECOND + begins + lasts,
        "status": {"status_code": "UNSET"},
        "attributes": {name.replace("__", "."): value for name, value in attributes.items()},
        "events": [],
    }


def chain(own: str = "root", parent: str | None = None, **more: Any) -> dict[str, Any]:
    given = {"input__value": ASKED, "output__value": SAID, "lasts": 9.5}
    return span(own, parent, **{"openinference__span__kind": "CHAIN", **given, **more})


def search(own: str, *ids: str, kind: str = "RETRIEVER", **more: Any) -> dict[str, Any]:
    name = "reranker.output_documents" if kind == "RERANKER" else "retrieval.documents"
    found = span(own, openinference__span__kind=kind, input__value=ASKED, **more)
    for at, one in enumerate(ids):
        found["attributes"][f"{name}.{at}.document.id"] = one
        found["attributes"][f"{name}.{at}.document.content"] = f"text of {one}"
    return found


def llm(own: str, text: str = SAID, **more: Any) -> dict[str, Any]:
    return span(
        own,
        **{
            "openinference__span__kind": "LLM",
            "llm__model_name": "m1",
            "llm__token_count__prompt": 30,
            "llm__token_count__completion": 4,
            "llm__cost__total": 0.25,
            "llm__output_messages__0__message__role": "assistant",
            "llm__output_messages__0__message__content": text,
            **more,
        },
    )


def lines(*records: Mapping[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def fields(load: Load) -> Callable[..., dict[str, Any]]:
    """Return a function of spans that returns the only sample with its metadata."""

    def read(*records: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
        (case,) = load("spans.jsonl", lines(*records), **keys).cases
        assert isinstance(case, Sample), case
        found = {name: getattr(case, name) for name in ("id", "question", "answer", "contexts")}
        return found | {"retrieved_ids": case.retrieved_ids, **case.metadata}

    return read


Fields = Callable[..., dict[str, Any]]


def test_a_search_that_found_nothing_has_an_empty_list(fields: Fields) -> None:
    """A30: its recall is 0; without ids it would be left out of the mean."""
    found = fields(search("search", begins=1, output__value="[]"), llm("llm", begins=3), chain())
    assert (found["contexts"], found["retrieved_ids"]) == ((), ())


def test_a_trace_is_a_row_of_documented_names(fields: Fields) -> None:
    """A30: latency is the root's 9.5 s; tokens and cost are those of the model's call."""
    found = fields(
        search("search", "d1", "d2", begins=1),
        llm("llm", begins=3),
        chain(session__id="s1", user__id="u1", llm__token_count__prompt=99),
    )
    assert {name: value for name, value in found.items() if value is not None} == {
        "id": "t1",
        "question": ASKED,
        "answer": SAID,
        "contexts": ("text of d1", "text of d2"),
        "retrieved_ids": ("d1", "d2"),
        "trace_name": "root",
        "model": "m1",
        "latency_ms": 9500.0,
        "prompt_tokens": 30,
        "completion_tokens": 4,
        "cost_usd": 0.25,
        "session": "s1",
        "user": "u1",
        "status": "ok",
    }


@pytest.mark.parametrize(
    ("steps", "contexts"),
    [
        # by start, not in the order of the file
        ([search("b", "d3", begins=2), search("a", "d1", "d2", begins=1)], "d1 d2 d3"),
        # a passage that is found again counts once
        ([search("a", "d1", "d2", begins=1), search("b", "d2", "d3", begins=2)], "d1 d2 d3"),
        # of retrievers inside each other, the outer one
        (
            [search("a", "d1", begins=1, lasts=3), search("b", "d1", "d9", parent="a", begins=2)],
            "d1",
        ),
        # ... also by a clock that is behind, or first in the file with the same start
        ([search("b", "d1", "d9", parent="a", begins=0.9), search("a", "d9", begins=1)], "d9"),
        ([search("b", "d1", "d9", parent="a", begins=1), search("a", "d9", begins=1)], "d9"),
        # inside a tool
        (
            [
                span("tool", begins=1, lasts=4, openinference__span__kind="TOOL"),
                search("a", "d1", parent="tool", begins=2),
            ],
            "d1",
        ),
        # a reranker replaces what was found before it
        (
            [
                search("a", "d1", "d2", begins=1),
                search("b", "d3", begins=2),
                search("c", "d3", "d1", kind="RERANKER", begins=3),
            ],
            "d3 d1",
        ),
        # ... since the reranker before it
        (
            [
                search("a", "d1", "d2", begins=1),
                search("b", "d2", kind="RERANKER", begins=2),
                search("c", "d4", "d5", begins=3),
                search("d", "d5", kind="RERANKER", begins=4),
            ],
            "d2 d5",
        ),
        # ... and what another reranker left
        (
            [
                search("a", "d1", "d2", begins=1),
                search("b", "d2", "d1", kind="RERANKER", begins=2),
                search("c", "d1", kind="RERANKER", begins=3),
            ],
            "d1",
        ),
        # what judges the answer is no part of the system
        (
            [
                search("a", "d1", begins=1),
                span("judge", begins=5, lasts=3, openinference__span__kind="EVALUATOR"),
                search("b", "d7", parent="judge", begins=6),
            ],
            "d1",
        ),
    ],
)
def test_contexts_are_what_the_model_was_given(
    fields: Fields, steps: list[dict[str, Any]], contexts: str
) -> None:
    found = fields(chain(), *steps, llm("llm", begins=8))
    assert found["retrieved_ids"] == tuple(contexts.split())
    assert found["contexts"] == tuple(f"text of {one}" for one in contexts.split())


def test_steps_of_the_same_time_are_in_the_order_of_a_file_that_has_the_last_ones_first(
    fields: Fields,
) -> None:
    """Phoenix's data frames are so, and pandas may cut times to milliseconds."""
    newest_first = [llm("llm", begins=3), search("b", "d2", begins=1), search("a", "d1", begins=1)]
    assert fields(*newest_first, chain())["retrieved_ids"] == ("d1", "d2")


def test_calls_of_models_inside_each_other_count_once(fields: Fields) -> None:
    """Two calls of 30 and 4 tokens; a framework's call holds that of its client."""
    steps = [
        llm("plan", "search dogs", begins=1),
        llm("answer", begins=3, lasts=4),
        llm("client", begins=4, parent="answer"),
    ]
    found = fields(chain(), *steps)
    assert (found["prompt_tokens"], found["completion_tokens"], found["cost_usd"]) == (60, 8, 0.5)


@pytest.mark.parametrize(
    ("parent", "status", "cost"),
    [
        ("root", "UNSET", None),  # it cost something: 0.25 is what the other one did
        ("root", "ERROR", 0.25),
        ("plan", "UNSET", 0.25),  # part of a call whose cost is known
    ],
)
def test_a_call_without_a_cost_leaves_the_sum_unknown(
    fields: Fields, parent: str, status: str, cost: float | None
) -> None:
    other = llm("answer", begins=3, parent=parent, llm__cost__total=None)
    other["status"]["status_code"] = status
    found = fields(chain(), llm("plan", "search dogs", begins=1, parent="root"), other)
    assert found.get("cost_usd") == cost
    outer = llm("outer", begins=0, llm__cost__total=None)
    assert fields(chain(), outer, llm("inner", begins=1, parent="outer"))["cost_usd"] == 0.25


def test_without_texts_of_the_root_the_last_model_answers_what_the_first_was_asked(
    fields: Fields,
) -> None:
    root = span("POST /chat", None, lasts=9, http__route="/chat")
    root["context"]["span_id"] = "root"
    asked = {"llm__input_messages__0__message__role": "user"}
    asked["llm__input_messages__0__message__content"] = ASKED
    found = fields(root, llm("b", "Second.", begins=4), llm("a", "First.", begins=1, **asked))
    assert (found["question"], found["answer"], found["trace_name"]) == (
        ASKED,
        "Second.",
        "POST /chat",
    )


def test_a_prompt_with_passages_is_not_the_question_if_a_retrieval_was_asked_it(
    fields: Fields,
) -> None:
    root = span("root", None, lasts=9)
    asked = {"llm__input_messages__0__message__role": "user"}
    asked["llm__input_messages__0__message__content"] = f"Passages: ...\nQuestion: {ASKED}"
    assert (
        fields(root, search("a", "d1", begins=1), llm("b", begins=3, **asked))["question"] == ASKED
    )


# Each convention.

MESSAGES = [
    {"role": "user", "parts": [{"type": "text", "content": "Hello"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": "Hi"}]},
    {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
]
REPLY = [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]
EXPECTED = {
    "question": ASKED,
    "answer": SAID,
    "contexts": ("Dogs: on a lead.", "Cats: no."),
    "retrieved_ids": ("d1", "d2"),
    "model": "m1",
    "prompt_tokens": 30,
    "completion_tokens": 4,
}


def _genai(**chat: Any) -> list[dict[str, Any]]:
    root = span("root", None, lasts=9, gen_ai__operation__name="invoke_agent")
    retrieval = span(
        "r",
        gen_ai__operation__name="retrieval",
        gen_ai__retrieval__documents=json.dumps(DOCS),
    )
    call = span("c", begins=3, gen_ai__operation__name="chat", gen_ai__request__model="m1", **chat)
    return [root, retrieval, call]


def _newer_genai() -> list[dict[str, Any]]:
    return _genai(
        gen_ai__input__messages=json.dumps(MESSAGES),
        gen_ai__output__messages=json.dumps(REPLY),
        gen_ai__usage__input_tokens=30,
        gen_ai__usage__output_tokens=4,
    )


def _genai_in_events() -> list[dict[str, Any]]:
    spans = _genai(gen_ai__usage__prompt_tokens=30, gen_ai__usage__completion_tokens=4)
    spans[2]["events"] = [
        {"name": "gen_ai.system.message", "attributes": {"content": "Be short."}},
        {"name": "gen_ai.user.message", "attributes": {"content": ASKED}},
        {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": SAID})}},
    ]
    return spans


def _genai_in_one_event() -> list[dict[str, Any]]:
    spans = _genai(gen_ai__usage__input_tokens=30, gen_ai__usage__output_tokens=4)
    given = {"gen_ai.input.messages": MESSAGES, "gen_ai.output.messages": REPLY}
    spans[2]["events"] = [
        {"name": "gen_ai.client.inference.operation.details", "attributes": given}
    ]
    return spans


def _older_openllmetry() -> list[dict[str, Any]]:
    call = _genai(
        gen_ai__prompt__0__role="system",
        gen_ai__prompt__0__content="Be short.",
        gen_ai__prompt__1__role="user",
        gen_ai__prompt__1__content=ASKED,
        gen_ai__completion__0__role="assistant",
        gen_ai__completion__0__content=SAID,
        llm__usage__prompt_tokens=30,
        llm__usage__completion_tokens=4,
    )[2]
    store = span("chroma.query", db__system="chroma")
    store["events"] = [
        {
            "name": "db.query.result",
            "attributes": {
                "db.query.result.id": doc["id"],
                "db.query.result.document": doc["text"],
            },
        }
        for doc in DOCS
    ]
    return [span("root", None, lasts=9, traceloop__span__kind="workflow"), store, call]


def _openllmetry() -> list[dict[str, Any]]:
    kind, given, gave = (
        "traceloop__span__kind",
        "traceloop__entity__input",
        "traceloop__entity__output",
    )
    asked = json.dumps({"args": [ASKED], "kwargs": {}})
    call = _newer_genai()[2]
    return [
        span("root", None, lasts=9, **{kind: "workflow", given: asked, gave: json.dumps(SAID)}),
        span("retrieve.task", **{kind: "task", given: asked, gave: json.dumps(DOCS)}),
        call,
    ]


def _langfuse_sdk() -> list[dict[str, Any]]:
    kind, given, gave = (f"langfuse__observation__{name}" for name in ("type", "input", "output"))
    call = {
        kind: "generation",
        given: json.dumps([{"role": "user", "content": ASKED}]),
        gave: SAID,
        "langfuse__observation__model__name": "m1",
        "langfuse__observation__usage_details": json.dumps({"input": 30, "output": 4}),
    }
    return [
        span(
            "root",
            None,
            lasts=9,
            **{kind: "span", given: json.dumps({"question": ASKED}), gave: SAID},
        ),
        span("r", **{kind: "retriever", given: ASKED, gave: json.dumps(DOCS)}),
        span("c", begins=3, **call),
    ]


def _vercel() -> list[dict[str, Any]]:
    call = {
        "ai__operationId": "ai.generateText.doGenerate",
        "ai__model__id": "m1",
        "ai__response__text": SAID,
        "ai__usage__promptTokens": 30,
        "ai__usage__completionTokens": 4,
    }
    prompt = json.dumps({"messages": [{"role": "user", "content": ASKED}]})
    tool = {"ai__operationId": "ai.toolCall", "ai__toolCall__result": json.dumps(DOCS)}
    return [
        span("root", None, lasts=9, ai__operationId="ai.generateText", ai__prompt=prompt),
        span("searchDocs", **tool),
        span("c", begins=3, **call),
    ]


def _trulens() -> list[dict[str, Any]]:
    scope = "ai__observability__"
    return [
        span(
            "root",
            None,
            lasts=9,
            **{
                f"{scope}span_type": "record_root",
                f"{scope}record_root__input": ASKED,
                f"{scope}record_root__output": SAID,
            },
        ),
        span(
            "r",
            **{
                f"{scope}span_type": "retrieval",
                f"{scope}retrieval__retrieved_contexts": DOCS,
            },
        ),
        span(
            "c",
            begins=3,
            **{
                f"{scope}span_type": "generation",
                f"{scope}cost__model": "m1",
                f"{scope}cost__num_prompt_tokens": 30,
                f"{scope}cost__num_completion_tokens": 4,
            },
        ),
    ]


@pytest.mark.parametrize(
    "spans",
    [
        _newer_genai(),
        _genai_in_events(),
        _genai_in_one_event(),
        _older_openllmetry(),
        _openllmetry(),
        _langfuse_sdk(),
        _vercel(),
        _trulens(),
    ],
    ids=["genai", "events", "one event", "old ollm", "ollm", "langfuse", "vercel", "trulens"],
)
def test_each_convention_says_the_same(fields: Fields, spans: list[dict[str, Any]]) -> None:
    found = fields(*spans)
    assert {name: found.get(name) for name in EXPECTED} == EXPECTED


TIME = "2027-01-15T08:00:0"


def _langfuse(kind: str, own: str, begins: int, **more: Any) -> dict[str, Any]:
    start, end = f"{TIME}{begins}Z", f"{TIME}{begins + 1}Z"
    given = {"id": own, "traceId": "t1", "type": kind, "name": own, "level": "DEFAULT"}
    return {**given, "startTime": start, "endTime": end, "parentObservationId": None, **more}


LANGFUSE = [
    _langfuse("RETRIEVER", "r", 1, input=ASKED, output=DOCS),
    _langfuse(
        "GENERATION",
        "g",
        3,
        input=[{"role": "user", "content": ASKED}],
        output={"role": "assistant", "content": SAID},
        model="m1",
        usageDetails={"input": 30, "output": 4, "total": 34},
        costDetails={"total": 0.5},
    ),
]
LANGFUSE_TRACE = {
    "id": "t1",
    "timestamp": f"{TIME}0Z",
    "name": "ask",
    "input": {"question": ASKED},
    "output": SAID,
    "sessionId": "s1",
    "userId": "u1",
    "latency": 4.5,
    "totalCost": 0.5,
    "htmlPath": "/p/t1",
}


@pytest.mark.parametrize(
    "document",
    [
        {"data": [{**LANGFUSE_TRACE, "observations": LANGFUSE, "scores": []}], "meta": {}},
        [LANGFUSE_TRACE, *LANGFUSE],
        {
            "data": [
                {
                    **_langfuse("CHAIN", "root", 0, input={"question": ASKED}, output=SAID),
                    "endTime": f"{TIME}4.5Z",
                    "isRootObservation": True,
                    "sessionId": "s1",
                },
                *({**one, "parentObservationId": "root"} for one in LANGFUSE),
            ]
        },
        {
            "batch": [
                {"id": "1", "type": "trace-create", "body": LANGFUSE_TRACE},
                {"id": "2", "type": "span-create", "body": {**LANGFUSE[0], "output": None}},
                {"id": "3", "type": "retriever-update", "body": {"id": "r", "output": DOCS}},
                {"id": "4", "type": "generation-create", "body": LANGFUSE[1]},
            ]
        },
    ],
    ids=["traces", "rows", "observations", "events"],
)
def test_langfuse_traces_with_observations(load: Load, document: Any) -> None:
    (case,) = load("export.json", json.dumps(document)).cases
    assert isinstance(case, Sample)
    assert (case.question, case.answer, case.retrieved_ids) == (ASKED, SAID, ("d1", "d2"))
    assert (case.metadata["latency_ms"], case.metadata["session"]) == (4500.0, "s1")
    assert (case.metadata["prompt_tokens"], case.metadata["cost_usd"]) == (30, 0.5)


def test_langfuse_scores_are_columns(load: Load) -> None:
    scores = [{"name": "helpful", "value": 0.75, "dataType": "NUMERIC"}]
    trace = {**LANGFUSE_TRACE, "observations": LANGFUSE, "scores": scores}
    (case,) = load("export.json", json.dumps(trace)).cases
    assert isinstance(case, Sample)
    assert case.metadata["score_helpful"] == 0.75


def test_an_expected_answer_is_a_reference_and_feedback_a_column(load: Load) -> None:
    """MLflow keeps both as assessments; a score named like a field does not become it."""
    info = {
        "trace_id": "tr-1",
        "assessments": [
            {"assessment_name": "expected_response", "expectation": {"value": "On a lead."}},
            {"assessment_name": "answer", "feedback": {"value": 0.5}},
            {"assessment_name": "old", "feedback": {"value": 1}, "valid": False},
        ],
    }
    root = span(
        "a", None, mlflow__spanInputs=json.dumps(ASKED), mlflow__spanOutputs=json.dumps(SAID)
    )
    (case,) = load("t.json", json.dumps([{"info": info, "data": {"spans": [root]}}])).cases
    assert isinstance(case, Sample)
    assert (case.id, case.answer, case.references) == ("tr-1", SAID, ("On a lead.",))
    assert case.metadata["score_answer"] == 0.5
    assert "score_old" not in case.metadata


@pytest.mark.parametrize(
    ("expected", "references", "told"),
    [
        (["five days", "six days"], None, 1),
        (["five days", "six days", "five days"], None, 1),
        (["five days", "five days"], ("five days",), 0),
        (["five days", None], ("five days",), 0),
    ],
)
def test_of_expected_answers_that_differ_none_is_the_reference(
    load: Load, expected: list[str | None], references: tuple[str, ...] | None, told: int
) -> None:
    names = ("expected_response", "ground_truth", "expected_answer")
    said = [
        {"assessment_name": name, "expectation": {"value": value}}
        for name, value in zip(names, expected, strict=False)
    ]
    root = span("a", None, mlflow__spanInputs='"q"', mlflow__spanOutputs='"five days"')
    record = {"info": {"trace_id": "tr-1", "assessments": said}, "data": {"spans": [root]}}
    found = load("t.json", json.dumps([record]))
    (case,) = found.cases
    assert isinstance(case, Sample)
    assert case.references == references
    assert len(found.warnings) == told
    assert all("says different things ('references')" in warning for warning in found.warnings)


# Containers.


def _otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    def value(given: Any) -> dict[str, Any]:
        return {"intValue": str(given)} if isinstance(given, int) else {"stringValue": given}

    written = [
        {
            "traceId": one["context"]["trace_id"],
            "spanId": one["context"]["span_id"],
            "parentSpanId": one["parent_id"] or "",
            "name": one["name"],
            "startTimeUnixNano": str(int(one["start_time"] * 10**9)),
            "endTimeUnixNano": str(int(one["end_time"] * 10**9)),
            "attributes": [
                {"key": name, "value": value(given)} for name, given in one["attributes"].items()
            ],
            "status": {},
        }
        for one in spans
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": written}]}]}


def _jaeger(spans: list[dict[str, Any]]) -> dict[str, Any]:
    written = [
        {
            "traceID": "t1",
            "spanID": one["context"]["span_id"],
            "operationName": one["name"],
            "references": [{"refType": "CHILD_OF", "traceID": "t1", "spanID": one["parent_id"]}]
            if one["parent_id"]
            else [],
            "startTime": int(one["start_time"] * 10**6),
            "duration": int((one["end_time"] - one["start_time"]) * 10**6),
            "tags": [
                {"key": name, "type": "string", "value": given}
                for name, given in one["attributes"].items()
            ],
        }
        for one in spans
    ]
    return {"data": [{"traceID": "t1", "spans": written, "processes": {}}]}


_OTLP = _otlp(_newer_genai())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.jsonl", lines(*_newer_genai())),
        ("s.json", "\n".join(json.dumps(one, indent=4) for one in _newer_genai())),
        ("s.json", json.dumps(_newer_genai())),
        ("s.json", json.dumps(_otlp(_newer_genai()), indent=1)),
        ("s.jsonl", lines(*(_otlp([one]) for one in _newer_genai()))),
        ("s.json", json.dumps(_jaeger(_newer_genai()))),
        ("s.json", json.dumps({"resourceSpans": [{"resource": {}}, *_OTLP["resourceSpans"]]})),
        ("s.json", json.dumps({"batches": _OTLP["resourceSpans"]})),
        ("s.json", json.dumps({"spans": _newer_genai()[:1], "items": _newer_genai()[1:]})),
        ("s.json", json.dumps({"data": _newer_genai(), "results": [{"em": 1}]})),
        ("s.log", lines(*_newer_genai())),
    ],
    ids=[
        *("lines", "one after the other", "list", "otlp", "batches", "jaeger", "empty resource"),
        *("tempo", "two lists", "a list of others", "other suffix"),
    ],
)
def test_the_container_does_not_matter(load: Load, name: str, content: str) -> None:
    (case,) = load(name, content).cases
    assert isinstance(case, Sample)
    assert (case.question, case.answer, case.retrieved_ids) == (ASKED, SAID, ("d1", "d2"))
    assert case.metadata["latency_ms"] == 9000.0
    assert case.metadata["prompt_tokens"] == 30


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_json_in_another_encoding_is_no_table(load: Load, encoding: str) -> None:
    content = lines(chain()).encode(encoding)
    (case,) = load("spans.json", content, format="traces", encoding=encoding).cases
    assert isinstance(case, Sample), case
    assert (case.question, case.answer) == (ASKED, SAID)


@pytest.mark.parametrize(
    "form", ['{"resourceSpans": %s}', '{"batches": %s}', '[{"resourceSpans": %s}]']
)
def test_a_document_larger_than_what_is_looked_at_is_recognized(load: Load, form: str) -> None:
    """5 MB of OTLP: no object that a look at the beginning can read is a span."""
    spans = _otlp([chain(input__value=f"{ASKED} {'x' * 5_000_000}")])["resourceSpans"]
    (case,) = load("s.json", form % json.dumps(spans)).cases
    assert isinstance(case, Sample)
    assert case.answer == SAID


def _flat(root: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a span with columns of its own, as data frames have them."""
    ids = {f"context.{name}": value for name, value in root["context"].items()}
    said = {f"attributes.{name}": value for name, value in root["attributes"].items()}
    return {"name": root["name"], "parent_id": None, **ids, **said, **more}


@pytest.mark.parametrize(
    ("times", "latency_ms"),
    [
        ({"start_timestamp": SECOND, "end_timestamp": SECOND + 2.5, "duration": 2.5}, 2500.0),
        ({"start_timestamp": SECOND, "duration": 2.5}, None),  # of no known unit
        ({"Timestamp": SECOND, "Duration": 2_500_000_000}, 2500.0),  # ClickHouse: ns
        ({"start_time": SECOND, "end_time": SECOND + 2.5, "attributes": {}}, 2500.0),
    ],
)
def test_times_have_the_unit_of_their_tool(
    load: Load, times: Mapping[str, Any], latency_ms: float | None
) -> None:
    """Jaeger's µs are among the containers; an empty object hides no columns of attributes."""
    (case,) = load("s.json", json.dumps([_flat(chain(), **times)]), format="traces").cases
    assert isinstance(case, Sample), case
    assert (case.question, case.metadata.get("latency_ms")) == (ASKED, latency_ms)


def test_reading_a_span_changes_nothing_of_it() -> None:
    """Messages of events beside some that its attributes have: read again, none comes twice."""
    one = span("c", None, gen_ai__input__messages=[{"role": "system", "content": "Be short."}])
    one["attributes"]["db.query.documents"] = []
    one["events"] = [
        {"name": "gen_ai.user.message", "attributes": {"content": ASKED}},
        {"name": "db.query.result", "attributes": {"db.query.result.document": "Dogs."}},
    ]
    before = json.dumps(one)
    read = span_of(one)
    assert read is not None
    assert len(read.attributes["gen_ai.input.messages"]) == 2
    assert len(read.attributes["db.query.documents"]) == 1
    assert json.dumps(one) == before


@pytest.mark.parametrize(
    ("kind", "known"), [("LLM", "LLM"), ("SPAN_KIND_INTERNAL", None), ("CLIENT", None)]
)
def test_a_kind_of_call_is_no_kind_of_step(kind: str, known: str | None) -> None:
    read = span_of({**span("c", None), "span_kind": kind})
    assert read is not None
    assert read.attributes.get("openinference.span.kind") == known


def test_traces_that_are_mixed_in_a_file_are_apart(load: Load) -> None:
    other = chain("root", trace="t2", input__value="Cats?", output__value="No.")
    mixed = [search("a", "d1"), search("a", "d2", trace="t2"), chain(), other]
    cases = load("s.jsonl", lines(*mixed)).cases
    assert [(case.id, case.retrieved_ids) for case in cases if isinstance(case, Sample)] == [
        ("t1", ("d1",)),
        ("t2", ("d2",)),
    ]


# What is wrong, or missing.


def _reason(load: Load, *records: Mapping[str, Any], content: str = "") -> str:
    invalid = [
        case
        for case in load("s.jsonl", lines(*records) + content).cases
        if isinstance(case, InvalidRow)
    ]
    assert len(invalid) == 1
    return invalid[0].reason


def test_a_failed_trace_is_an_invalid_row_with_the_reason(load: Load) -> None:
    """Also where a model answered before: nobody was given that answer."""
    failed = chain(output__value=None)
    failed["status"] = {"status_code": "ERROR", "description": "the store is down"}
    reason = _reason(load, failed, llm("llm"))
    assert reason == "trace t1 failed and has no answer: the store is down"


@pytest.mark.parametrize(
    ("status", "error", "has_failed"),
    [
        *((status, None, True) for status in (2, 2.0, "2", "2.0", "STATUS_CODE_ERROR", "Error")),
        *((None, error, True) for error in (True, "true", "True", 1, 1.0)),
        *((status, None, False) for status in (1, 1.0, "1.0", "STATUS_CODE_OK", "UNSET", None)),
        *((None, error, False) for error in (False, "false", 0, 0.0, "", None)),
    ],
)
def test_a_failed_step_is_one_however_its_status_is_written(
    load: Load, status: Any, error: Any, has_failed: bool
) -> None:
    """pandas makes 2.0 of 2 where other rows have none; what a failed step said is no answer."""
    record = {**chain(error=error), "status": {"status_code": status}}
    (case,) = load("s.jsonl", lines(record)).cases
    assert isinstance(case, InvalidRow) is has_failed


def test_a_trace_without_an_end_is_an_invalid_row(load: Load) -> None:
    reason = _reason(load, chain(lasts=None, output__value=None), llm("llm"))
    assert "not finished" in reason
    assert "export it when it has ended" in reason


SYSTEM = {"role": "system", "content": "x"}


@pytest.mark.parametrize(
    "given",
    [
        None,
        json.dumps([SYSTEM] * 2),
        json.dumps([SYSTEM]),
        json.dumps([["system", "x"]]),
    ],
)
def test_a_question_that_is_not_there_may_be_in_another_column(
    load: Load, given: str | None
) -> None:
    reason = _reason(load, chain(input__value=given), chain(trace="t2"))
    assert "name the column that has it with dataset.key_map: {question: ...}" in reason


@pytest.mark.parametrize(
    "given",
    [
        {"messages": [SYSTEM]},
        {"message": SYSTEM},
        {"messages": [{"type": "system", "data": {"content": "x"}}]},
    ],
)
def test_what_only_the_system_says_is_no_question(load: Load, given: Any) -> None:
    reason = _reason(load, chain(input__value=json.dumps(given)))
    assert "which part of the input of its root span is the question?" in reason


def test_a_trace_without_a_root_is_an_invalid_row(load: Load) -> None:
    reason = _reason(load, search("a", "d1"), llm("b"))
    assert "t1 has no root span: the parent root of 'a' is not in the file" in reason
    assert "is it cut off?" in reason


def test_a_parent_in_another_service_makes_a_root(fields: Fields) -> None:
    """OTLP's flag 0x200: the parent is remote, and need not be in this file."""
    assert fields({**chain(parent="elsewhere"), "flags": 0x300})["answer"] == SAID


def test_a_file_that_is_cut_off_says_so(load: Load) -> None:
    reason = _reason(load, chain(), content=json.dumps(chain(trace="t2"))[:80])
    assert "is it cut off? Traces after it are missing" in reason


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"meta": {"page": 1, "totalPages": 60}}, "it has 1 of 60 pages: add the others"),
        ({"pagination": {"page": 2, "total_pages": 3}}, "it has 1 of 3 pages: add the others"),
        ({"errors": [{"msg": "partial"}]}, "the export says that something went wrong: .*partial"),
    ],
)
def test_an_export_that_says_it_is_a_part_is_as_one_that_is_cut_off(
    load: Load, said: Mapping[str, Any], reason: str
) -> None:
    """[A30] Its other pages are rows that nobody judges."""
    one, two = {"data": [chain()]}, {"data": [chain(trace="t2")]}
    found = load("s.jsonl", lines({**one, **said}, two))
    assert [isinstance(case, InvalidRow) for case in found.cases] == [False, False, True]
    assert re.search(reason, found.cases[-1].reason)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({"next_cursor": "abc"}, "next_cursor"),
        ({"nextCursor": "abc"}, "nextCursor"),
        ({"next_page_token": "abc"}, "next_page_token"),
        ({"nextPageToken": "abc"}, "nextPageToken"),
        ({"cursor": "abc"}, "cursor"),
        ({"cursors": {"next": "abc", "prev": None}}, "cursors.next"),
        ({"meta": {"cursor": "abc"}}, "meta.cursor"),
        ({"has_more": True}, "has_more"),
        ({"hasMore": True, "last_id": "t2"}, "hasMore"),
        ({"links": {"next": "https://x/?page=2"}}, "links.next"),
        ({"links": {"next": {"href": "https://x/?page=2"}}}, "links.next"),
        ({"@odata.nextLink": "https://x/?skip=2"}, "@odata.nextLink"),
        ({"pageInfo": {"hasNextPage": True, "endCursor": "abc"}}, "pageInfo.hasNextPage"),
    ],
)
def test_an_export_that_ends_with_a_cursor_is_as_one_that_is_cut_off(
    load: Load, said: Mapping[str, Any], name: str
) -> None:
    """[A30] LangSmith's, Langfuse's, Phoenix's, MLflow's, and others; one page follows another."""
    pages = [{"data": [chain()], **said}, {"data": [chain(trace="t2")], **said}]
    for file, content in (("s.jsonl", lines(*pages)), ("s.json", json.dumps(pages))):
        found = load(file, content).cases
        assert [isinstance(case, InvalidRow) for case in found] == [False, False, True]
        assert f"it ends with {name!r}: add the pages that follow to the file" == found[-1].reason


@pytest.mark.parametrize(
    "said",
    [
        {"next_cursor": None},
        {"cursors": {"next": None, "prev": "abc"}},
        {"meta": {"cursor": None}},
        {"has_more": False, "next_cursor": "abc"},
        {"pageInfo": {"hasNextPage": False, "endCursor": "abc"}},
        {"links": {"self": "https://x", "next": {"href": None}}},
    ],
)
def test_the_last_page_of_an_export_is_its_end(load: Load, said: Mapping[str, Any]) -> None:
    pages = [{"data": [chain()], "next_cursor": "b"}, {"data": [chain(trace="t2")], **said}]
    assert [case.id for case in load("s.jsonl", lines(*pages)).cases] == ["t1", "t2"]


def test_a_last_page_without_records_is_an_end(load: Load) -> None:
    """[A30] As where their number is a multiple of the page's."""
    pages = [{"runs": [chain()], "cursors": {"next": "b"}}, {"runs": [], "cursors": {"next": None}}]
    assert [case.id for case in load("s.jsonl", lines(*pages)).cases] == ["t1"]


def test_a_cursor_within_a_trace_is_no_page(load: Load) -> None:
    """A database's cursor, as an attribute of a span, and in a trace that is the whole file."""
    root = chain(cursor="abc", next_cursor="abc")
    assert [case.id for case in load("s.jsonl", lines({**root, "cursor": "abc"})).cases] == ["t1"]
    trace = {**LANGFUSE_TRACE, "observations": LANGFUSE, "metadata": {"cursor": "abc"}}
    assert [case.id for case in load("s.json", json.dumps(trace)).cases] == ["t1"]


def test_errors_within_a_span_are_no_word_of_the_export(load: Load) -> None:
    found = load("s.jsonl", lines({**chain(), "errors": ["timed out once"]}))
    assert [case.id for case in found.cases] == ["t1"]


def test_an_export_of_several_pages_is_whole_with_all_of_them(load: Load) -> None:
    """[A30] A document on each line."""
    pages = [
        {"data": [chain(trace=f"t{n}")], "meta": {"page": n, "totalPages": 2}, "next_cursor": more}
        for n, more in ((1, "abc"), (2, None))
    ]
    assert [case.id for case in load("s.jsonl", lines(*pages)).cases] == ["t1", "t2"]


def test_a_broken_line_is_an_invalid_row_and_reading_goes_on(load: Load) -> None:
    other = chain(trace="t2")
    found = load("s.jsonl", lines(chain()) + '{"a": \n' + lines(other)).cases
    assert [case.id for case in found if isinstance(case, Sample)] == ["t1", "t2"]
    assert [case.line for case in found if isinstance(case, InvalidRow)] == [2]


@pytest.mark.parametrize("ends", [(None, 9.5), (9.5, None)])
def test_a_span_that_was_exported_again_counts_once(
    load: Load, ends: tuple[float | None, float | None]
) -> None:
    """The finished one counts; a line of the summary says how many."""
    roots = [chain(lasts=lasts) for lasts in ends]
    found = load("s.jsonl", lines(llm("a"), llm("a"), *roots))
    (case,) = found.cases
    assert isinstance(case, Sample)
    assert (case.metadata["prompt_tokens"], case.metadata["latency_ms"]) == (30, 9500.0)
    assert found.warnings == ("s.jsonl: 2 spans exported more than once, counted once",)


def test_traces_of_other_requests_are_left_out_and_named(load: Load) -> None:
    found = load("s.jsonl", lines(chain(), span("GET /health", None, trace="t2")))
    assert [case.id for case in found.cases] == ["t1"]
    assert found.warnings == (
        "s.jsonl: 1 trace without a model, retrieval or text ('GET /health'): left out",
    )


def test_a_parent_of_zeros_is_none(fields: Fields) -> None:
    """As exporters write a root's parent where the field must be there."""
    assert fields(chain(parent="0000000000000000"))["answer"] == SAID


def test_what_python_prints_of_an_object_is_no_passage(fields: Fields) -> None:
    """LlamaIndex's inner retrievers have nothing else."""
    shown = json.dumps(["<NodeWithScore(node=TextNode(id_=d1), score=0.5)>"])
    found = fields(chain(), search("a", output__value=shown))
    assert found["contexts"] is None


def test_a_lost_parent_is_named(load: Load) -> None:
    found = load("s.jsonl", lines(chain(), search("a", "d1", parent="lost")))
    assert "1 trace with spans whose parent is not in the file, first t1" in found.warnings[0]
    found = load("s: row.jsonl", lines(chain(), search("a", "d1", parent="lost")))
    assert found.warnings[0].startswith("s: row.jsonl:1: 1 trace with spans")


@pytest.mark.parametrize(
    ("spans", "setting"),
    [
        (_genai(), "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"),
        ([span("root", None, traceloop__span__kind="workflow", x=1)], "TRACELOOP_TRACE_CONTENT"),
        (
            [chain(input__value="__REDACTED__", output__value="__REDACTED__")],
            "OPENINFERENCE_HIDE_INPUTS",
        ),
    ],
)
def test_spans_without_texts_are_refused_with_the_setting(
    refused: Refused, spans: list[dict[str, Any]], setting: str
) -> None:
    spans = [one for one in spans if one["name"] != "r"]
    (problem,) = refused("s.jsonl", lines(*spans))
    assert "no texts" in problem
    assert setting in problem


def test_an_input_of_several_texts_asks_which_is_the_question(load: Load, fields: Fields) -> None:
    """The line that the message gives reads it."""
    given = {"input__value": json.dumps({"topic": "pets", "wish": ASKED})}
    reason = _reason(load, chain(**given))
    assert "'topic', 'wish'" in reason
    assert "dataset.key_map: {question: trace_input.topic}" in reason
    assert fields(chain(**given), key_map={"question": "trace_input.wish"})["question"] == ASKED


@pytest.mark.parametrize(
    ("given", "question"),
    [
        (ASKED, ASKED),
        ('"quoted" words', '"quoted" words'),
        ("[1, 2]", "[1, 2]"),
        ("[1] says what?", "[1] says what?"),
        (json.dumps({"question": ASKED, "top_k": 3, "user": "u"}), ASKED),
        (json.dumps({"frage": ASKED, "sprache": "de"}), ASKED),
        (json.dumps({"input": {"query_bundle": {"query_str": ASKED}}}), ASKED),
        (json.dumps({"messages": [["system", "Be short."], ["user", ASKED]]}), ASKED),
        (json.dumps({"messages": [[{"type": "human", "data": {"content": ASKED}}]]}), ASKED),
        (
            json.dumps([{"role": "user", "content": [{"type": "text", "text": ASKED}]}]),
            ASKED,
        ),
        (json.dumps({"kwargs": {"request": {"text": ASKED}}, "args": []}), ASKED),
        (json.dumps({"only": ASKED}), ASKED),
    ],
)
def test_the_question_is_found_in_what_programs_pass_on(
    fields: Fields, given: str, question: str
) -> None:
    assert fields(chain(input__value=given))["question"] == question


@pytest.mark.parametrize(
    "gave",
    [
        SAID,
        json.dumps({"answer": SAID, "sources": ["a.md"]}),
        json.dumps({"query": ASKED, "result": SAID, "source_documents": DOCS}),
        json.dumps({"choices": [{"message": {"role": "assistant", "content": SAID}}]}),
        json.dumps({"messages": [["user", ASKED], ["ai", SAID]]}),
        json.dumps({"generations": [[{"text": SAID, "type": "ChatGeneration"}]]}),
        json.dumps({"output": {"type": "AIMessage", "kwargs": {"content": SAID}}}),
        json.dumps([{"role": "assistant", "content": [{"type": "text", "text": SAID}]}]),
        json.dumps({"replies": [SAID]}),
        json.dumps({"generations": [[{"text": SAID}]], "llm_output": None}),
        json.dumps({"response": {"usage": {"tokens": 3}}, "text": SAID}),
        # an empty answer beside one, and beside a chat that ends with the reply
        json.dumps({"answer": None, "response": SAID}),
        json.dumps({"answer": "", "messages": [["user", ASKED], ["ai", SAID]]}),
        json.dumps({"output": None, "choices": [{"message": {"role": "ai", "content": SAID}}]}),
    ],
)
def test_the_answer_is_found_in_what_programs_return(fields: Fields, gave: str) -> None:
    assert fields(chain(output__value=gave))["answer"] == SAID


@pytest.mark.parametrize(
    "gave",
    [
        [{"role": "user", "content": ASKED}],
        {"messages": [["user", ASKED]]},
        {"choices": [{"message": {"role": "tool", "content": ASKED}}]},
        # JSON without an answer.
        *({"code": 5, "user": "[REDACTED]"}, {"result": 5, "data": None}, [1, "a"], {"a": ""}),
    ],
)
def test_what_another_says_is_no_answer(fields: Fields, gave: Any) -> None:
    """So the text is the answer as it is."""
    text = json.dumps(gave)
    assert fields(chain(output__value=text))["answer"] == text


@pytest.mark.parametrize(
    "gave",
    [
        {"answer": "[REDACTED]"},
        {"answer": None, "status": "ok"},
        {"output": {"text": "***"}, "code": 1},
        {"note": "[MASKED]"},
        *({"answer": None, "content": SAID}, {"response": " ", "data": SAID}),
        {"answer": {"text": ""}, "data": {"content": SAID}},
        {"final_answer": "***", "result": SAID},
        {"answer": "", "messages": [["ai", SAID], ["user", ASKED]]},
        [{"role": "assistant", "content": "[REDACTED]"}],
        ["[REDACTED]"],
    ],
)
def test_a_masked_answer_in_json_is_none(load: Load, gave: Any) -> None:
    """Its text is not what the system said, whether a mime type says JSON or not."""
    text = json.dumps(gave)
    for more in ({}, {"output__mime_type": "application/json"}):
        reason = _reason(load, chain(output__value=text, **more))
        assert "output of its root span" in reason
        assert "trace_output.note" not in reason


@pytest.mark.parametrize("given", ["[]", '["[REDACTED]"]'])
def test_a_list_of_nothing_is_no_question(load: Load, given: str) -> None:
    assert "is the question" in _reason(load, chain(input__value=given))


def test_an_answer_that_is_an_object_of_its_own_is_the_answer_as_it_is(fields: Fields) -> None:
    gave = json.dumps({"pets": "dogs", "where": "lead"})
    assert fields(chain(output__value=gave))["answer"] == gave


def test_spans_without_ids_in_a_trace_are_counted(load: Load) -> None:
    root = span("a", None, mlflow__spanInputs='"q?"', mlflow__spanOutputs='"a"')
    trace = {"info": {"trace_id": "tr-1"}, "data": {"spans": [root, {"name": "lost"}]}}
    assert load("t.json", json.dumps([trace])).warnings == ("t.json: 1 span without ids: left out",)


def test_a_cell_of_spans_that_cannot_be_read_is_named(load: Load) -> None:
    """A data frame of objects with times, as Python prints them."""
    shown = "[{'id': 'r', 'startTime': datetime.datetime(2027, 1, 15, 8, 0)}]"
    found = load("t.jsonl", lines({**LANGFUSE_TRACE, "observations": shown}))
    assert found.warnings == (
        "t.jsonl: 1 cell of spans cannot be read: contexts are missing; export as JSON",
    )


# What is no trace.


@pytest.mark.parametrize(
    "row",
    [
        {"question": "q", "answer": "a", "references": "a", "trace_id": "t", "span_id": "s"},
        {"trace_id": "t", "question": "q", "answer": "a", "references": "a", "start_time": 5},
        {"id": "1", "type": "SPAN", "question": "q", "answer": "a", "references": "a"},
        {**chain(), "question": "q", "answer": "a", "references": ["a"]},
    ],
)
def test_rows_with_ids_of_traces_are_rows(load: Load, row: dict[str, Any]) -> None:
    """Also a whole span with a question and an answer of its own: no row is lost to a trace."""
    (case,) = load("rows.jsonl", lines(row)).cases
    assert isinstance(case, Sample)
    assert case.answer == "a"


def test_a_key_map_of_a_records_own_columns_reads_the_records(load: Load) -> None:
    """As scenarios did before traces were read."""
    trace = {**LANGFUSE_TRACE, "observations": LANGFUSE}
    mapped = {"question": "input.question", "answer": "output", "id": "name"}
    (case,) = load("export.jsonl", lines(trace), key_map=mapped).cases
    assert isinstance(case, Sample)
    assert (case.id, case.question) == ("ask", ASKED)


def test_format_traces_for_a_file_of_other_rows_says_what_is_read(refused: Refused) -> None:
    (problem,) = refused("rows.jsonl", lines({"question": "q"}), format="traces")
    assert "no span: an object with 'question'" in problem


def test_two_columns_of_one_name_with_equal_cells_are_one(load: Load, refused: Refused) -> None:
    """K25: a data frame's index that is a column, too."""
    head = "context.span_id,name,start_time,end_time,context.span_id,context.trace_id"
    table = f"{head},attributes.input.value,attributes.output.value\na,ask,1800000000,1800000001,"
    (case,) = load("s.csv", f"{table}a,t1,{ASKED},{SAID}\n").cases
    assert isinstance(case, Sample)
    assert (case.question, case.answer) == (ASKED, SAID)
    (problem,) = refused("s.csv", f"{table}b,t1,{ASKED},{SAID}\n")
    assert "names a column twice: context.span_id, with different values on line 2" in problem


def test_what_a_failed_retrieval_found_counts_only_alone(fields: Fields) -> None:
    """A retry: the answer was made from what the second one found."""
    failed = search("first", "bad", parent="root", begins=1)
    failed["status"] = {"status_code": "ERROR", "description": "timed out"}
    again = search("second", "d1", parent="root", begins=2)
    assert fields(chain(), failed, again)["retrieved_ids"] == ("d1",)
    assert fields(chain(), failed)["retrieved_ids"] == ("bad",)

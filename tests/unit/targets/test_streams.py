"""Which events of a stream are the answer, by the protocols that services use.

Each stream is as the protocol's documentation has it, shortened.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_rageval.clients.http import HttpReply
from pytest_rageval.targets.base import Answer, TargetError, answer_of
from pytest_rageval.targets.http_replies import ReplyReader
from pytest_rageval.targets.http_service import HttpOptions
from pytest_rageval.text.json_value import parse_path

ROWS = tomllib.loads(Path(__file__).with_name("streams.toml").read_text("utf-8"))

SSE = "text/event-stream"


def read(
    kind: str, text: str, events: Sequence[str] = (), *, is_open: bool = False, **paths: str
) -> Answer:
    reader = ReplyReader({name: parse_path(path) for name, path in paths.items()}, events)
    headers = {"Content-Type": kind} if kind else {}
    return reader.read(HttpReply(200, headers, text.encode(), may_be_cut_off=is_open))


def sse(*events: Any) -> str:
    """Return a stream; a pair is the name of an event and its data, text is data as it stands."""
    text = ""
    for event in events:
        name, data = event if isinstance(event, tuple) else ("", event)
        written = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        text += f"event: {name}\ndata: {written}\n\n" if name else f"data: {written}\n\n"
    return text


def lines(*events: Any) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def rag(answer: Any, **reference: Any) -> dict[str, Any]:
    """Return an event of RAGFlow: all that was said so far."""
    return {"code": 0, "message": "", "data": {"answer": answer, "reference": reference}}


def chat(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}}]}


RAG_END = {"code": 0, "message": "", "data": True}
NODE = {"event": "node_finished", "data": {"outputs": {"text": "draft"}}}
AG = "TEXT_MESSAGE_CONTENT"
COZE = "conversation.message"
ANSWERS: dict[str, tuple[tuple[Any, ...], str | None, str]] = {
    # Repeating all so far with each event.
    "RAGFlow": (
        (rag("五个工作日"), rag("五个工作日", chunks=[1]), RAG_END),
        "data.answer",
        "五个工作日",
    ),
    "RAGFlow, a word": ((rag("Paris"), rag("Paris", chunks=[1]), RAG_END), "data.answer", "Paris"),
    "RAGFlow, citations": (
        (
            rag("Five days."),
            rag("Five days. Free."),
            rag("Five days [ID:0]. Free [ID:1].", chunks=[1]),
        ),
        "data.answer",
        "Five days [ID:0]. Free [ID:1].",
    ),
    "RAGFlow, thoughts": (
        (rag("<think>"), rag("<think>hm</think>"), rag("<think>hm</think>Five"), RAG_END),
        "data.answer",
        "<think>hm</think>Five",
    ),
    "DashScope": (
        tuple({"output": {"text": text}} for text in ("五", "五天", "五天")),
        "output.text",
        "五天",
    ),
    # Dify.
    "message_replace": (
        (
            {"event": "message", "answer": "The code is 1234"},
            {"event": "message_replace", "answer": "I cannot say."},
            {"event": "message_end", "metadata": {}},
        ),
        None,
        "I cannot say.",
    ),
    "a workflow's outputs": (
        (
            NODE,
            {
                "event": "workflow_finished",
                "data": {"status": "succeeded", "outputs": {"text": "five"}},
            },
        ),
        "data.outputs.text",
        "five",
    ),
    "a node that failed on the way": (
        (
            {"event": "node_finished", "data": {"status": "failed", "error": "timeout"}},
            {"event": "text_chunk", "data": {"text": "five"}},
            {"event": "workflow_finished", "data": {"status": "succeeded", "error": None}},
        ),
        "data.text",
        "five",
    ),
    "agent": (
        (
            {"event": "agent_thought", "thought": "hm", "answer": "not this"},
            {"event": "agent_message", "answer": "five"},
            {"event": "agent_message", "answer": " days"},
        ),
        None,
        "five days",
    ),
    # Events of other types beside the answer.
    "FastGPT": (
        (
            ("flowNodeStatus", {"status": "running", "name": "search"}),
            ("answer", chat("five")),
            ("answer", chat(" days")),
            ("answer", "[DONE]"),
            ("flowResponses", [{"quoteList": [{"q": "three days"}]}]),
        ),
        "choices[0].delta.content",
        "five days",
    ),
    "LangGraph": (
        (
            ("metadata", {"run_id": "1"}),
            ("messages", [{"content": "hits", "type": "tool"}, {}]),
            ("messages", [{"content": "five ", "type": "AIMessageChunk"}, {}]),
            ("messages", [{"content": "days", "type": "AIMessageChunk"}, {}]),
            ("end", "null"),
        ),
        "[0].content",
        "five days",
    ),
    "Flowise": (
        (
            {"event": "start", "data": "five"},
            {"event": "token", "data": "five"},
            {"event": "token", "data": " days"},
            {"event": "sourceDocuments", "data": []},
            {"event": "end", "data": "[DONE]"},
        ),
        "data",
        "five days",
    ),
    "Coze": (
        (
            ("conversation.chat.created", {"id": "1", "status": "created"}),
            (f"{COZE}.delta", {"role": "assistant", "type": "answer", "content": "five"}),
            (f"{COZE}.delta", {"role": "assistant", "type": "answer", "content": " days"}),
            (f"{COZE}.completed", {"role": "assistant", "type": "answer", "content": "five days"}),
            (f"{COZE}.completed", {"role": "assistant", "type": "verbose", "content": "{}"}),
            (f"{COZE}.completed", {"role": "assistant", "type": "follow_up", "content": "Free?"}),
            ("conversation.chat.completed", {"status": "completed"}),
            ("done", '"[DONE]"'),
        ),
        None,
        "five days",
    ),
    "AG-UI": (
        (
            {"type": "RUN_STARTED", "runId": "r"},
            {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "hm"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
            {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "content": "two weeks"},
            {"type": AG, "delta": "five"},
            {"type": AG, "delta": " days"},
            {"type": "RUN_FINISHED"},
        ),
        None,
        "five days",
    ),
    "thoughts by the name": (
        (("thinking", {"content": "hm"}), ("message", {"content": "five"}), ("done", {})),
        None,
        "five",
    ),
    "thoughts by the key": (
        ({"event": "thinking", "content": "hm"}, {"event": "message", "content": "five"}),
        None,
        "five",
    ),
    "thoughts within": (
        (
            {"event": "message", "data": {"type": "thought", "content": "hm"}},
            {"event": "message", "data": {"type": "text", "content": "five"}},
        ),
        "data.content",
        "five",
    ),
    "sources as a list": ((("token", "five"), ("sources", [{"title": "a"}])), None, "five"),
    "Pydantic AI": (
        (
            {"event_kind": "part_delta", "delta": {"text": "hm", "part_delta_kind": "thinking"}},
            {"event_kind": "part_delta", "delta": {"text": "five", "part_delta_kind": "text"}},
        ),
        "delta.text",
        "five",
    ),
    "a type that only the first event has": (
        (
            {"event": "model_stream", "data": {"chunk": {"content": "five", "type": "first"}}},
            {"event": "model_stream", "data": {"chunk": {"content": " days"}}},
        ),
        "data.chunk.content",
        "five days",
    ),
    "a status": (
        ({"type": "status", "content": "Searching"}, {"type": "token", "content": "five"}),
        None,
        "five",
    ),
    # The whole at the end.
    "the whole in another event": (
        (
            {"type": "token", "content": "five"},
            {"type": "token", "content": " days"},
            {"type": "final", "answer": "Five days. [1]"},
        ),
        None,
        "Five days. [1]",
    ),
    "Responses": (
        (
            {"type": "response.created", "response": {"error": None, "status": "in_progress"}},
            {"type": "response.code_interpreter_call_code.delta", "delta": "print()"},
            {"type": "response.output_item.added", "item": {"status": "in_progress"}},
            {"type": "response.output_text.delta", "delta": "five"},
            {"type": "response.output_text.delta", "delta": " days"},
            {"type": "response.output_text.done", "text": "five days"},
            {"type": "response.completed", "response": {"error": None, "status": "completed"}},
        ),
        None,
        "five days",
    ),
    "Responses, the last event": (
        (
            {"type": "response.output_text.delta", "delta": "five"},
            {
                "type": "response.completed",
                "response": {"output": [{"content": [{"text": "five"}]}]},
            },
        ),
        "response.output[0].content[0].text",
        "five",
    ),
    # Paths to several texts.
    "Gemini": (
        (
            gemini({"text": "so", "thought": True}),
            gemini({"text": "hm", "thought": True}, {"text": "fi"}),
            gemini({"text": "ve"}),
        ),
        "candidates[0].content.parts[*].text",
        "five",
    ),
    # What is no repetition.
    "twice the same token": ((chat("ha"), chat("ha"), "[DONE]"), None, "haha"),
    "a citation is a token": (("five days ", "[1]"), None, "five days [1]"),
    "digits": (("4", "2"), None, "42"),
    "a token after a citation": (
        (chat("[1] "), chat("ha"), chat("ha"), "[DONE]"),
        None,
        "[1] haha",
    ),
    "not complete yet": (
        (
            {"token": "five", "status": "incomplete"},
            {"token": " days", "status": "incomplete"},
            {"token": "", "status": "complete"},
        ),
        None,
        "five days",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_of_a_stream(name: str) -> None:
    """[A21] Thoughts, tools, sources and marks are no part of it, and nothing counts twice."""
    events, path, answer = ANSWERS[name]
    paths = {"answer": path} if path else {}
    assert read(SSE, sse(*events), **paths).text == answer


def test_events_without_the_path_have_no_part_of_the_answer() -> None:
    """[A21] Neither a text nor a list."""
    stream = sse({"data": {"text": "five"}}, "three", [{"q": "two"}], ["one"])
    assert read(SSE, stream, answer="data.text").text == "five"


FAILURES: dict[str, tuple[tuple[Any, ...], str | None, str]] = {
    "Dify": (
        (
            {"event": "text_chunk", "data": {"text": "five"}},
            {"event": "workflow_finished", "data": {"status": "failed", "error": "boom"}},
        ),
        "data.text",
        "boom",
    ),
    "AG-UI": (
        ({"type": AG, "delta": "five"}, {"type": "RUN_ERROR", "message": "busy"}),
        None,
        "busy",
    ),
    "vLLM": ((chat("five"), {"object": "error", "message": "busy", "code": 400}), None, "busy"),
    "Assistants": (
        (
            ("thread.message.delta", {"delta": {"content": [{"text": {"value": "five"}}]}}),
            ("thread.run.failed", {"status": "failed", "last_error": {"code": "busy"}}),
        ),
        "delta.content[0].text.value",
        "status 'failed': .*busy",
    ),
    "RAGFlow": ((rag("five"), {**rag("**ERROR**"), "code": 500, "message": "busy"}), None, "busy"),
    "AI SDK": (({"type": "text-delta", "delta": "five"}, {"type": "abort"}), None, "abort"),
    "a tool that failed last": (
        ({"type": "token", "content": "I look."}, {"type": "tool_result", "error": "timeout"}),
        None,
        "timeout",
    ),
    "not complete": (("five", {"token": " days", "status": "incomplete"}), None, "incomplete"),
    "an error within": (("five", {"data": {"error": "busy"}}), None, "busy"),
    "A2A": (
        (
            {"result": {"artifact": {"parts": [{"kind": "text", "text": "five"}]}}},
            {"result": {"kind": "status-update", "status": {"state": "failed"}}},
        ),
        "result.artifact.parts[*].text",
        "status 'failed'",
    ),
    "Errors in capitals": (("five", ("ERROR", "busy")), None, "busy"),
    "Baidu": (({"result": "five"}, {"error_code": 336100, "error_msg": "busy"}), "result", "busy"),
    "FastChat": ((chat("five"), {"text": "busy", "error_code": 50004}, "[DONE]"), None, "busy"),
    "ADK": (("five", {"errorCode": "SAFETY", "errorMessage": "busy"}), None, "busy"),
    "MiniMax": ((chat("five"), {"base_resp": {"status_code": 1002, "status_msg": "busy"}}), None,
                "busy"),
    "a code": ((chat("five"), {"code": 50505, "message": "busy", "data": None}), None, "busy"),
    "a code in words": (("five", {"code": "InternalError", "msg": "busy"}), None, "busy"),
    "no success": (("five", {"success": False, "message": "busy"}), None, "busy"),
    "FastAPI": (("five", {"detail": "busy"}), None, "busy"),
    "errors": (("five", {"errors": [{"message": "busy"}]}), None, "busy"),
    "Bedrock": (({"text": "five"}, {"modelStreamErrorException": {"message": "busy"}}), None,
                "busy"),
    "an exception": ((chat("five"), {"type": "exception", "detail": "busy"}), None, "busy"),
    "Coze, a question": (({"content": "five"}, ("Interrupt", {"title": "busy"})), None, "busy"),
    "Dify, stopped": (
        (
            {"event": "text_chunk", "data": {"text": "five"}},
            {"event": "workflow_finished", "data": {"status": "stopped", "outputs": {}}},
        ),
        "data.text",
        "stopped",
    ),
    "A2A, rejected": (("five", {"result": {"status": {"state": "TASK_STATE_REJECTED"}}}), None,
                      "rejected"),
    "Replicate": ((("output", "five"), ("done", {"reason": "canceled"})), None, "canceled"),
    "a line among JSON": (({"token": "five"}, "[Error] busy", "[DONE]"), None, "busy"),
    "another one": (({"token": "five"}, "Error: busy", "[DONE]"), None, "busy"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_stream_that_tells_of_a_failure_is_no_answer(name: str) -> None:
    """[A21] Wherever the protocol says so."""
    events, path, why = FAILURES[name]
    with pytest.raises(TargetError, match=f"breaks off with an error: .*{why}"):
        read(SSE, sse(*events), **({"answer": path} if path else {}))


def test_a_tool_that_failed_on_the_way_is_no_failure() -> None:
    """[A21] The answer came after it."""
    events = ({"type": "tool_result", "error": "timeout"}, {"type": "token", "content": "five"})
    assert read(SSE, sse(*events)).text == "five"


HONEST: tuple[dict[str, Any], ...] = (
    {"code": 0, "message": "ok"},
    {"code": 200, "msg": "busy"},
    {"code": "00000", "message": "busy"},
    {"code": 20000, "message": "busy"},
    {"code": "A-7", "message": "a success"},
    {"code": 7001, "message": "a product's"},
    {"error_code": 0, "error_msg": "busy"},
    {"base_resp": {"status_code": 0, "status_msg": ""}},
    {"success": False},
    {"success": True, "message": "done"},
    {"detail": "in brief"},
    {"data": {"order": 7, "status": "cancelled"}},
    {"data": {"order": 7, "status": "stopped"}},
    {"status": "cancelled"},
)


@pytest.mark.parametrize("envelope", HONEST)
def test_an_envelope_around_an_answer_is_no_failure(envelope: dict[str, Any]) -> None:
    """In a stream, and in JSON."""
    assert read(SSE, sse({"answer": "five", **envelope})).text == "five"
    assert read("application/json", json.dumps({"answer": "five", **envelope})).text == "five"


def test_a_step_that_fails_on_the_way_is_no_failure_of_the_answer() -> None:
    """By its keys; nor is what a hit says of itself, or code that a tool runs."""
    for step in (
        {"step": "cache", "success": False, "message": "a miss"},
        {"stage": "rerank", "code": 503, "message": "busy"},
        {"code": "print(1 + 1)", "message": "it runs"},
    ):
        assert read(SSE, sse(step, {"content": "five"})).text == "five"
    hits = json.dumps([{"id": "d1", "status": "failed", "code": 500, "message": "busy"}])
    assert read("application/json", hits, retrieved_ids="[*].id").retrieved_ids == ("d1",)
    with pytest.raises(TargetError, match="replied an error: .*busy"):
        read("application/json", json.dumps([{"text": "fi"}, {"error": "busy"}]), answer="[0].text")


@pytest.mark.parametrize(
    "envelope",
    [
        {"code": 500, "message": "busy"},
        {"object": "error", "message": "busy"},
        {"error_code": 7, "error_msg": "busy"},
        {"result": {"status": {"state": "failed"}, "message": "busy"}},
        {"data": {"status": "stopped", "message": "busy", "outputs": {}}},
    ],
)
def test_an_envelope_of_json_tells_of_a_failure_too(envelope: dict[str, Any]) -> None:
    """RAGFlow writes **ERROR** where the answer would be."""
    with pytest.raises(TargetError, match="replied an error: .*busy"):
        read("application/json", json.dumps({"answer": "**ERROR**", **envelope}))


@pytest.mark.parametrize("none", [None, "", "None", "ok", 200, {"code": 0, "message": "fine"},
                                  {"code": None, "message": None}])  # fmt: skip
def test_an_error_that_says_none_is_none(none: object) -> None:
    """[A21] In a stream, in JSON, from a function."""
    found = {"answer": "five", "error": none}
    assert read(SSE, sse(found)).text == "five"
    assert read("application/json", json.dumps(found)).text == "five"
    assert answer_of(found).text == "five"
    for error in ("busy", {"code": "", "message": "busy"}, {"code": 7, "message": "ok"}, True):
        with pytest.raises(TargetError, match="error"):
            answer_of({**found, "error": error})


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "length"}}, "length"),
        ({"status": "failed"}, "status 'failed'"),
        ({"data": {"status": "failed", "error": "boom"}}, "boom"),
    ],
)
def test_a_reply_that_failed_or_is_incomplete_is_no_answer(said: dict[str, Any], why: str) -> None:
    """[A21] As in a stream; the status of an order is no failure."""
    with pytest.raises(TargetError, match=f"replied an error: .*{why}"):
        read("application/json", json.dumps({"answer": "five", **said}))
    for status in ("completed", "cancelled", "shipped", None, 1):
        text = json.dumps({"answer": "five", "status": status})
        assert read("application/json", text).text == "five"
    order = json.dumps({"answer": "five", "data": {"order": 7, "status": "failed"}})
    assert read("application/json", order).text == "five"


def test_texts_of_types_that_are_not_known_are_no_answer() -> None:
    """[A21] Several of one type are."""
    greeting, piece = {"type": "greeting", "text": "Hi!"}, {"type": "piece", "content": "five"}
    with pytest.raises(TargetError, match="text in events of the types 'greeting', 'piece'; name"):
        read(SSE, sse(greeting, piece))
    with pytest.raises(TargetError, match="'piece' and of no type; name"):
        read(SSE, sse({"content": "six"}, piece))
    with pytest.raises(TargetError, match="types '1', '2'; name"):
        read(SSE, sse({"type": 1, "content": "five"}, {"type": 2, "content": "six"}))
    assert read(SSE, sse(greeting, piece), answer="content").text == "five"
    assert read(SSE, sse(piece, {"type": "piece", "content": " days"})).text == "five days"


def test_a_stream_of_asides_alone_is_no_answer() -> None:
    """[A21] The message names their types."""
    with pytest.raises(TargetError, match="no event has an answer; text is in .* type 'thinking'"):
        read(SSE, sse({"type": "thinking", "content": "five"}))


def test_an_end_that_is_another_text_elsewhere_is_unclear() -> None:
    """[A21] It may be the answer, or a part of it."""
    with pytest.raises(TargetError, match="text at 'token', 'answer'; name the path"):
        read(SSE, sse({"token": "five"}, {"token": " days"}, {"answer": "A week."}))


def test_the_types_that_hold_the_answer_may_be_named() -> None:
    """[A21] Only they count then, in any case of letters, but an answer taken back stays so."""
    events = sse({"type": "greeting", "text": "Hi!"}, {"type": "piece", "content": "five"})
    with pytest.raises(TargetError, match=r"hold the answer: events: \[greeting\]$"):
        read(SSE, events)
    assert read(SSE, events, ["PIECE"]).text == "five"
    assert read(SSE, events, ["greeting", "piece"]).text == "Hi!five"
    status = sse({"type": "status", "content": "five"})
    with pytest.raises(TargetError, match=r"name the type: events: \[status\]$"):
        read(SSE, status)
    assert read(SSE, status, ["status"]).text == "five"
    said = {"event": "message", "answer": "1234"}, {"event": "message_replace", "answer": "No."}
    assert read(SSE, sse(*said), ["message"]).text == "No."
    finished = {"event": "workflow_finished", "data": {"outputs": {"text": "five"}}}
    path = "data.outputs.text"
    assert read(SSE, sse(NODE, finished), ["node_finished"], answer=path).text == "draft"


def test_a_target_without_named_events_is_the_target_it_was() -> None:
    """[A21] Kept answers are found again."""
    assert "events" not in HttpOptions(url="http://a/").identity()
    assert HttpOptions(url="http://a/", events=["a"]).identity()["events"] == ["a"]
    with pytest.raises(ValidationError, match="events"):
        HttpOptions(url="http://a/", events=[])


TOKENS = ({"token": "five"}, {"token": " days"})


@pytest.mark.parametrize("kind", ["", "text/plain", "application/octet-stream"])
@pytest.mark.parametrize(
    "text",
    [
        sse(*TOKENS),
        sse(*TOKENS).replace("\n", "\r\n"),
        ": ping\n\n" + sse(*TOKENS, "[DONE]"),
        lines(*TOKENS),
        "data: five\n\ndata:  days\n\n",
        'f:{"messageId":"m"}\n0:"five"\ng:"hm"\n0:" days"\nd:{"finishReason":"stop"}\n',
        '0:"five days"\n',
        '2:null\n0:"five days"\nk:{"data":"x","mimeType":"image/png"}\nd:{"finishReason":"stop"}\n',
    ],
)
def test_a_stream_without_a_type_is_one(kind: str, text: str) -> None:
    """[A21] Many services name none: server-sent events, JSON lines, Vercel's AI SDK 4."""
    assert read(kind, text).text == "five days"


@pytest.mark.parametrize(
    "text",
    ["data: none", "five\ndays", "Data: five\n\nSource: a", '{"a": 1}\nis JSON', "0: five\n1: six",
     "3:0"],
)  # fmt: skip
def test_a_text_stays_a_text(text: str) -> None:
    """[A21]"""
    assert read("text/plain", text).text == text


def test_a_failure_of_the_ai_sdk_is_one() -> None:
    """[A21] Version 4: an error has the number 3."""
    for text in ('0:"five"\n3:"busy"\n', '3:"busy"\n'):
        with pytest.raises(TargetError, match="error: .*busy"):
            read("text/plain", text)
    with pytest.raises(TargetError, match="error: .*content-filter"):
        read("text/plain", '0:"five"\nd:{"finishReason":"content-filter"}\n')
    begun = 'f:{"messageId":"m"}\n0:"five"\ne:{"finishReason":"stop"}\n'
    with pytest.raises(TargetError, match="more should follow"):
        read("text/plain", begun)
    assert read("text/plain", begun + 'd:{"finishReason":"stop"}\n', is_open=True).text == "five"


@pytest.mark.parametrize(
    "kind",
    [
        "application/stream+json",
        "application/x-jsonlines",
        "application/json-lines",
        "text/jsonl",
        "application/json-seq",
        "application/ndjson",
        "text/event-stream",
    ],
)
def test_json_lines_have_many_types(kind: str) -> None:
    """Langflow and Onyx call them server-sent events."""
    assert read(kind, lines(*TOKENS)).text == "five days"
    assert read(kind, lines(*TOKENS).replace("\n", "\n\n")).text == "five days"
    with pytest.raises(TargetError, match="broken JSON lines"):
        read(kind, lines(*TOKENS)[:-5])


def test_a_text_that_is_called_server_sent_events_is_one() -> None:
    """As in many a tutorial; one object of JSON is one, too."""
    assert read(SSE, "It is:\n\n9 EUR").text == "It is:\n\n9 EUR"
    assert read(SSE, json.dumps({"answer": "five"}, indent=1)).text == "five"
    with pytest.raises(TargetError, match="broken JSON"):
        read(SSE, '{\n "answer": "fi')
    with pytest.raises(TargetError, match="text that may be cut off"):
        read(SSE, "It is:", is_open=True)
    with pytest.raises(TargetError, match="without any event"):
        read(SSE, ": ping\n\n")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "five"}], "five"),
        (
            [{"type": "text", "text": "fi"}, {"type": "tool_use", "input": {}}, {"text": "ve"}],
            "five",
        ),
    ],
)
def test_thoughts_among_the_texts_of_an_answer_are_passed_over(content: Any, text: str) -> None:
    """[A21] Anthropic's blocks; any other item without the text is an error."""
    assert (
        read("application/json", json.dumps({"content": content}), answer="content[*].text").text
        == text
    )
    lost = json.dumps({"content": [{"type": "text", "text": "a"}, {"type": "refusal", "no": "b"}]})
    with pytest.raises(TargetError, match="nothing at 'content"):
        read("application/json", lost, answer="content[*].text")


def test_an_empty_object_has_an_empty_list() -> None:
    """[A21] RAGFlow's reference where nothing was found; another path is still a mistake."""
    nothing = json.dumps({"data": {"answer": "I do not know.", "reference": {}}})
    paths = {"answer": "data.answer", "contexts": "data.reference.chunks[*].content"}
    assert read("application/json", nothing, **paths).contexts == ()
    assert read(SSE, f"data: {nothing}\n\n", **paths).contexts == ()
    found = json.dumps(rag("five", chunks=[{"content": "a"}]))
    assert read(SSE, f"data: {found}\n\ndata: {nothing}\n\n", **paths).contexts == ("a",)
    with pytest.raises(TargetError, match="nothing at 'data.hits"):
        read("application/json", nothing, answer="data.answer", contexts="data.hits[*].text")


OWN = {"type": "reply", "payload": {"content": "Refund?", "is_from_self": True}}
SEARCHED = [{"type": "file_search_call", "queries": ["fee"]}, {"content": [{"text": "five"}]}]


@pytest.mark.parametrize(
    ("events", "path", "text"),
    [
        # Tencent sends the question back first, then all so far each time.
        ((OWN, *({"payload": {"content": t}} for t in ("五", "五天"))), "payload.content", "五天"),
        # LangGraph's whole state, each time.
        (
            (("values", {"answer": "five"}), ("values", {"answer": "I do not know."})),
            "answer",
            "I do not know.",
        ),
        # DashScope: all so far, of an answer that is one word.
        (
            ({"output": {"text": "是"}}, {"output": {"text": "是", "finish_reason": "stop"}}),
            "output.text",
            "是",
        ),
        # Digits are tokens of their own: 77.
        (({"text": "7"}, {"text": "7"}), "text", "77"),
        # What is called a delta is one, whatever it begins with.
        ((chat("D"), chat("DR"), "[DONE]"), "choices[0].delta.content", "DDR"),
        ((chat("ha"), chat("ha"), "[DONE]"), "choices[0].delta.content", "haha"),
        (
            (chat("D"), chat("uran"), chat(" Duran"), "[DONE]"),
            "choices[0].delta.content",
            "Duran Duran",
        ),
        (
            (chat("Bora"), {**chat(" Bora"), "citations": ["a"]}, "[DONE]"),
            "choices[0].delta.content",
            "Bora Bora",
        ),
        # The mark of the end, of text-generation-inference.
        (
            ({"token": {"text": "five"}}, {"token": {"text": "</s>", "special": True}}),
            "token.text",
            "five",
        ),
    ],
    ids=[
        "own words",
        "state",
        "one word",
        "digits",
        "deltas",
        "the same deltas",
        "repeating deltas",
        "a delta with citations",
        "a mark",
    ],
)
def test_what_is_said_once_counts_once(events: tuple[Any, ...], path: str, text: str) -> None:
    """[A21]"""
    assert read(SSE, sse(*events), answer=path).text == text


OLLAMA = {"message": {"content": "five"}, "done": False}
ENDED = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
CALLED = {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}
BAIDU = {"result": "five", "finish_reason": "normal", "is_end": False}
USAGE = {"choices": [{"delta": {"content": ""}, "finish_reason": None}], "usage": {}}
A2A = {"result": {"status": {"state": "working"}, "final": False}}
A2A_END = {"result": {"status": {"state": "completed"}, "final": True}}
TGI = {"token": {"text": "five"}, "generated_text": None}
ADK = {"text": "five", "partial": True}
WHOLE: dict[str, tuple[Any, ...]] = {
    "OpenAI": (chat("five"), ENDED, {"choices": [], "usage": {}}),
    "OpenAI, its mark alone": (chat("five"), "[DONE]"),
    "OpenAI, tools": (CALLED, chat("five"), ENDED),
    "Ollama": (OLLAMA, {"message": {"content": ""}, "done": True}),
    "Anthropic": (
        ("message_start", {"type": "message_start", "message": {}}),
        ("content_block_delta", {"type": "content_block_delta", "delta": {"text": "five"}}),
        ("content_block_stop", {"type": "content_block_stop"}),
        ("message_stop", {"type": "message_stop"}),
    ),
    "Gemini": ({"text": "five"}, {"candidates": [{"finishReason": "STOP"}]}),
    "AG-UI": ({"type": "RUN_STARTED"}, {"type": AG, "delta": "five"}, {"type": "RUN_FINISHED"}),
    "RAGFlow": ({"text": "five"}, RAG_END),
    "OpenRouter": (chat("five"), USAGE, ENDED),
    "Baidu": (BAIDU, {"result": "", "is_end": True}),
    "A2A": (A2A, {"text": "five"}, A2A_END),
    "TGI": (TGI, {"token": {"text": "</s>", "special": True}, "generated_text": "five"}),
    "watsonx": (
        {"results": [{"generated_text": "five", "stop_reason": "not_finished"}]},
        {"results": [{"generated_text": "", "stop_reason": "eos_token"}]},
    ),
    "Bedrock": ({"text": "five"}, {"messageStop": {"stopReason": "end_turn"}}),
    "Java": ({"text": "five", "isEnd": False}, {"text": "", "isEnd": True}),
    "the flag within": ({"data": {"text": "five", "done": False}}, {"data": {"done": True}}),
    "the name of an event": ("five", ("end", "")),
}


PATHS = {
    "Anthropic": "delta.text",
    "Baidu": "result",
    "TGI": "token.text",
    "watsonx": "results[0].generated_text",
    "the flag within": "data.text",
}


def test_a_stream_that_ends_with_the_connection_has_to_say_that_it_is_whole() -> None:
    """[A21] Nothing else tells it from one that was cut off; chunks of HTTP do."""
    for name, events in WHOLE.items():
        path = {"answer": PATHS[name]} if name in PATHS else {}
        for is_open in (False, True):
            assert read(SSE, sse(*events), is_open=is_open, **path).text == "five"
        # Without its last event that says so, it is cut off.
        left = tuple(one for one in events if one not in (ENDED, "[DONE]", events[-1]))
        with pytest.raises(TargetError, match="stops where more should|may be cut off|no event"):
            read(SSE, sse(*left), is_open=True, **path)


@pytest.mark.parametrize(
    "events",
    [
        (chat("five"),),
        (OLLAMA,),
        WHOLE["Anthropic"][:2],
        WHOLE["Anthropic"][:3],
        WHOLE["AG-UI"][:2],
        ({"output": {"text": "five", "finish_reason": "null"}},),
        # What ends is a thought, a search, a call, a step.
        (*WHOLE["AG-UI"][:2], {"type": "THINKING_END"}),
        (*WHOLE["AG-UI"][:2], {"type": "REASONING_END"}),
        ({"event": "workflow_started"}, {"event": "message", "answer": "five"},
         {"event": "iteration_completed"}),
        ({"type": "response.created"}, {"type": "text", "text": "five"},
         {"type": "response.mcp_list_tools.completed"}),
        (("conversation.chat.created", {}), (f"{COZE}.delta", {"content": "five"}),
         (f"{COZE}.completed", {"type": "function_call", "content": "{}"})),
        (OLLAMA, {"step": "rerank", "done": True}),
        ({"content": "five", "is_end": False, "finish": True, "finish_reason": "normal"},),
        ({"content": "five", "done": True}, {"content": " days", "done": False}),
        (ADK,),
        (A2A, {"text": "five"}),
        (TGI,),
        ({"content": "five", "close": False},),
        ({"content": "five", "node_is_finish": False},),
        ({"content": "five", "isFinished": False},),
        ({"content": "five", "status": "generating"},),
        ({"content": "five", "finishReason": ""},),
        ({"choices": [{"delta": {"content": "five"}, "finish_reason": "not_finished"}]},),
        ({"content": "five", "Choices": [{"Delta": {}, "FinishReason": ""}]},),
    ],
)  # fmt: skip
def test_a_stream_that_says_that_more_follows_is_cut_off(events: tuple[Any, ...]) -> None:
    """[A21] A proxy ends its chunks also where the service behind it broke off."""
    path = {"answer": "output.text"} if "output" in events[0] else {}
    path |= {"answer": "token.text"} if events[0] is TGI else {}
    path |= {"answer": "delta.text"} if events[0] is WHOLE["Anthropic"][0] else {}
    with pytest.raises(TargetError, match="a stream that stops where more should follow"):
        read(SSE, sse(*events), **path)


WRAPPED = {
    kind: {one["name"]: one for one in listed}
    for kind, listed in tomllib.loads(
        (Path(__file__).parent / "wrapped.toml").read_text("utf-8")
    ).items()
}
ENVELOPES: dict[str, dict[str, Any]] = {
    "": {},
    "data.": {"code": 0, "msg": "success"},
    "event.": {"type": "stream_event"},
    "payload.": {"id": 1},
    "result.": {"jsonrpc": "2.0"},
}


@pytest.mark.parametrize("place", ENVELOPES)
@pytest.mark.parametrize("name", WRAPPED["step"])
def test_a_step_is_one_wherever_a_service_wraps_it(name: str, place: str) -> None:
    """[A21] It failed the answer, or ended what was cut off behind it, in an envelope only."""
    told = list(map(json.loads, WRAPPED["step"][name]["events"]))
    if place:
        told = [{**ENVELOPES[place], place[:-1]: one} for one in told]
    path = f"{place}delta"
    if "why" not in WRAPPED["step"][name]:
        assert read(SSE, sse(*told), answer=path).text == "five"
        return
    for is_open in (False, True):
        with pytest.raises(TargetError, match=WRAPPED["step"][name]["why"]):
            read(SSE, sse(*told), is_open=is_open, answer=path)


@pytest.mark.parametrize("name", WRAPPED["whole"])
def test_a_whole_reply_in_an_envelope_is_read_as_one_without(name: str) -> None:
    """[A21] Its failure was an answer; the call of another step was its failure."""
    one = WRAPPED["whole"][name]
    paths = {field: one[field] for field in ("answer", "contexts") if field in one}
    if "why" not in one:
        assert read("application/json", one["reply"], **paths).text == "five"
        return
    with pytest.raises(TargetError, match=f"^replied an error: .*{one['why']}"):
        read("application/json", one["reply"], **paths)


@pytest.mark.parametrize("name", WRAPPED["stream"])
def test_what_a_service_wraps_is_heard(name: str) -> None:
    """[A21] Half an answer was whole: the word of its failure, or its end, stood deeper."""
    stream = WRAPPED["stream"][name]
    with pytest.raises(TargetError, match=stream["why"]):
        read(
            SSE,
            sse(*stream["events"]),
            **({"answer": stream["answer"]} if "answer" in stream else {}),
        )


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (("Send", " {}", " or ", '""', "."), 'Send {} or "".'),
        (("It is", ' "yes"', "."), 'It is "yes".'),
        (("Error: ", "404 means", " not found."), "Error: 404 means not found."),
    ],
)
def test_raw_tokens_may_be_json_by_chance(tokens: tuple[str, ...], text: str) -> None:
    assert read(SSE, sse(*tokens)).text == text


def test_what_comes_with_an_answer_may_fail() -> None:
    after = {"type": "title", "error": "busy"}
    assert read(SSE, sse({"type": "token", "content": "five"}, after)).text == "five"


def test_a_whole_with_its_sources_below_counts_once() -> None:
    parts = [{"content": text} for text in ("It is ", "not ", "free.")]
    whole = {"content": "It is not free.\n\nSources: a.md", "done": True}
    assert read(SSE, sse(*parts, whole)).text == "It is not free.\n\nSources: a.md"


def test_a_wrapped_end_is_an_end() -> None:
    """OpenAI's agents, Claude's."""
    made = [("response.created", {}), ("text", {"delta": "five"}), ("response.completed", {})]
    events = [{"type": "raw_response_event", "data": {"type": kind, **more}} for kind, more in made]
    assert read(SSE, sse(*events), answer="data.delta").text == "five"
    half = {"type": "assistant", "message": {"content": "five", "stop_reason": None}}
    whole = {"type": "result", "subtype": "success", "is_error": False, "result": "five"}
    assert read("application/x-ndjson", lines(half, whole), answer="result").text == "five"


def test_json_of_a_dialogue_that_goes_on_is_a_reply() -> None:
    asked = json.dumps({"answer": "Which city?", "done": False})
    assert read("application/json", asked).text == "Which city?"
    with pytest.raises(TargetError, match="more follows"):
        read("application/json", asked + "\n")
    with pytest.raises(TargetError, match=r"no answer yet \(status: processing\)"):
        read("application/json", json.dumps({"answer": "", "status": "processing"}))
    called = {"message": {"content": "I look."}, "finish_reason": "tool_calls"}
    with pytest.raises(TargetError, match="ends with a call of a tool"):
        read(
            "application/json",
            json.dumps({"choices": [called]}),
            answer="choices[0].message.content",
        )


def test_a_text_that_is_called_html_is_a_text() -> None:
    """Flask and Express call any text so."""
    assert read("text/html", "It is 3 < 4.").text == "It is 3 < 4."
    assert read("text/html", sse(*TOKENS)).text == "five days"
    with pytest.raises(TargetError, match="a page of HTML"):
        read("text/html", "<p>Log in</p>")


def test_what_says_that_more_follows_is_named_with_what_to_do() -> None:
    with pytest.raises(TargetError, match=r"follow \(done: false\); have the server send data: \["):
        read(SSE, sse(OLLAMA))
    with pytest.raises(TargetError, match=r"\(choices\[0\].finish_reason: null\)"):
        read(SSE, sse(chat("five")))


@pytest.mark.parametrize(
    "events",
    [
        (chat("five"), CALLED),
        (chat("five"), CALLED, "[DONE]"),
        (chat("five"), {"delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}),
        ("five", ("thread.run.requires_action", {}), "[DONE]"),
        (chat("five"), ENDED, chat(" days"), CALLED),
        (chat("five"), CALLED, ENDED, ENDED, CALLED),
    ],
)
def test_a_stream_that_ends_with_a_call_of_a_tool_has_no_answer(events: tuple[Any, ...]) -> None:
    """What the tool found, and what is said of it, is missing."""
    with pytest.raises(TargetError, match="ends with a call of a tool"):
        read(SSE, sse(*events))


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_a_call_behind_a_text_that_has_stopped_ends_the_stream(reason: str) -> None:
    """A planner says that it will look, and stops; another model calls, and no more comes."""
    stopped = {"choices": [{"delta": {}, "finish_reason": reason}]}
    with pytest.raises(TargetError, match="ends with a call of a tool"):
        read(SSE, sse(chat("I look. "), stopped, CALLED))
    assert read(SSE, sse(chat("I look. "), stopped, CALLED, chat("five"), ENDED)).text.endswith("e")


def langgraph(
    text: str, reason: str = "", node: str = "agent", calls: Sequence[str] = (), **said: Any
) -> tuple[str, Any]:
    """Return an event of LangGraph: a chunk of a message, and what is ``said`` about it."""
    about = {"finish_reason": reason} if reason else {}
    chunk = {"content": text, "type": "AIMessageChunk", "response_metadata": about}
    chunk |= {"id": said.pop("id", None), "tool_call_chunks": [{"name": name} for name in calls]}
    return "messages", [chunk, {"langgraph_node": node, **said}]


def test_a_call_of_another_node_of_a_graph_ends_no_answer() -> None:
    """It suggests questions, or keeps what was said."""
    router, suggests = (langgraph("", "tool_calls", node) for node in ("router", "suggest"))
    for answer in ((langgraph("five"), langgraph("", "stop")), (langgraph("five"),)):
        events = (router, *answer, suggests)
        assert read(SSE, sse(*events), answer="[0].content").text == "five"
        wrapped = sse(*({"event": "messages", "data": data} for _, data in events))
        assert read(SSE, wrapped, answer="data[0].content").text == "five"


FIRST = {"role": "assistant", "content": "", "finish_reason": "tool_calls"}


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("content_filter", "content_filter"),
        ("SAFETY", "(?i)safety"),
        ("network_error", "network_error"),
        ("tool_calls", r"a call of a tool \(.*\.response_metadata\.finish_reason: tool_calls\)"),
        ("stop", ""),
        ("length", ""),
    ],
)
def test_what_ends_an_item_of_a_list_is_heard_where_the_path_leads_to_it(
    reason: str, why: str
) -> None:
    """LangGraph's messages and states: half an answer, or none, was taken."""
    message = langgraph("five", reason)[1][0]
    state = {"messages": [FIRST, message]}
    parts = sse(langgraph("", "tool_calls"), langgraph("five"), langgraph("", reason))
    enveloped = sse({"data": langgraph("five")[1]}, {"data": langgraph("", reason)[1]})
    for kind, text, path in (
        (SSE, parts, "[0].content"),
        (SSE, enveloped, "data[0].content"),
        (SSE, sse(("values", state)), "messages[-1].content"),
        ("application/json", json.dumps(state), "messages[*].content"),
        ("application/json", json.dumps(state), "messages[-1].content"),
        ("application/json", json.dumps([FIRST, message]), "[1].content"),
    ):
        if not why:
            assert read(kind, text, answer=path).text == "five"
            continue
        with pytest.raises(TargetError, match=why):
            read(kind, text, answer=path)


@pytest.mark.parametrize(
    "events",
    [
        (ADK, {"text": "five"}),
        ({"content": "five", "status": "generating"}, {"content": "", "status": "done"}),
        ({"type": "status", "status": "running"}, {"content": "five"}),
        ({"status": "processing", "message": "I look."}, {"content": "five"}),
        ({"content": "five"}, {"type": "TaskResult", "stop_reason": None}),
        ({"content": "fi", "done": True}, {"content": "ve", "done": False}, {"done": True}),
    ],
)
def test_what_only_seems_to_say_that_more_follows_does_not(events: tuple[Any, ...]) -> None:
    assert read(SSE, sse(*events)).text == "five"


def test_behind_an_end_more_text_leaves_it_open_whether_more_follows() -> None:
    """An app says that one of its steps is done, and then answers."""
    told = ({"content": "I look. ", "done": True}, {"content": "five"})
    assert read(SSE, sse(*told)).text == "I look. five"
    with pytest.raises(TargetError, match="may be cut off"):
        read(SSE, sse(*told), is_open=True)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
@pytest.mark.parametrize("flag", ["done", "is_end", "isFinished", "is_final"])
def test_one_line_of_a_stream_alone_is_half_an_answer(kind: str, flag: str) -> None:
    """Cut off behind its first line, nothing else tells it from JSON."""
    with pytest.raises(TargetError, match=rf"says that more follows \({flag}: false\)"):
        read(kind, json.dumps({"response": "It is ", flag: False}) + "\n")
    for other in ({flag: True}, {"last": False}, {"page": {flag: False}}):
        assert read(kind, json.dumps({"response": "It is", **other})).text == "It is"


@pytest.mark.parametrize("kind", ["application/json", "application/problem+json", "text/plain"])
@pytest.mark.parametrize("flag", ["done", "is_end", "isFinished", "is_final"])
def test_a_reply_of_a_dialogue_that_goes_on_is_whole(kind: str, flag: str) -> None:
    """Flask and Go end it with a line feed, and say how long it is; no stream is printed pretty."""
    said = {"answer": "Which order?", flag: False}
    body = json.dumps(said).encode() + b"\n"
    headers = {"Content-Type": kind, "Content-Length": str(len(body))}
    assert ReplyReader({}).read(HttpReply(200, headers, body)).text == "Which order?"
    assert read(kind, json.dumps(said, indent=2) + "\n").text == "Which order?"
    with pytest.raises(TargetError, match="more should follow"):
        read("application/x-ndjson", json.dumps(said))


@pytest.mark.parametrize(
    "end",
    ROWS["an_answer_that_a_filter_cuts_short_is_none"],
)
def test_an_answer_that_a_filter_cuts_short_is_none(end: dict[str, Any]) -> None:
    """[A21] What came before is half of one; also of a whole reply."""
    with pytest.raises(TargetError, match="breaks off"):
        read(SSE, sse(chat("five"), end), answer="choices[0].delta.content")
    whole = {"choices": [{"message": {"content": "fi"}, "finish_reason": "content_filter"}]}
    with pytest.raises(TargetError, match="replied an error"):
        read("application/json", json.dumps(whole), answer="choices[0].message.content")
    parts = [gemini({"text": "fi"}), {"candidates": [{"finishReason": "SAFETY"}]}]
    with pytest.raises(TargetError, match="replied an error: .*SAFETY"):
        read(
            "application/json", json.dumps(parts), answer="[0].candidates[0].content.parts[*].text"
        )
    for reason in ("stop", "length", "other", "repetition", "model_length", "eos", "COMPLETE"):
        said = chat("five"), {"choices": [{"delta": {}, "finish_reason": reason}]}
        assert read(SSE, sse(*said), answer="choices[0].delta.content").text == "five"


def test_a_path_that_no_event_has_is_an_error() -> None:
    """[A21] Else the row's own ids would be scored."""
    stream = sse({"token": "five"}, {"sources": ["d1"]})
    assert read(SSE, stream, answer="token", retrieved_ids="sources").retrieved_ids == ("d1",)
    with pytest.raises(TargetError, match="no event of its stream has anything at 'source_ids'"):
        read(SSE, stream, answer="token", retrieved_ids="source_ids")


def test_calls_of_searches_have_no_text_of_an_answer() -> None:
    found = read(
        "application/json", json.dumps({"output": SEARCHED}), answer="output[*].content[*].text"
    )
    assert found.text == "five"


def test_events_of_no_type_are_called_message() -> None:
    """[A21] Dify's own name for them."""
    stream = sse({"event": "message", "answer": "five"}, {"event": "note", "answer": "hm"})
    assert read(SSE, stream, ["message"], answer="answer").text == "five"


def test_nodes_of_a_graph_that_all_say_something_are_undecidable() -> None:
    """[A21] LangGraph's messages: a node that rewrites the question, and one that answers."""
    told = [
        ("messages", [{"content": "refund time"}, {"langgraph_node": "rewrite"}]),
        ("messages", [{"content": "five days"}, {"langgraph_node": "answer"}]),
    ]
    with pytest.raises(TargetError, match="text of the nodes 'rewrite', 'answer'"):
        read(SSE, sse(*told), answer="[0].content")
    assert read(SSE, sse(told[1]), answer="[0].content").text == "five days"


STEP_1, STEP_3 = ({"langgraph_step": at, "checkpoint_ns": f"agent:{at}"} for at in (1, 3))


@pytest.mark.parametrize(
    ("first", "then", "why"),
    [
        ({**STEP_1, "id": "run-1"}, {**STEP_3, "id": "run-3"}, "langgraph_step: '1', '3'"),
        ({"langgraph_step": 1}, STEP_3, "langgraph_step: '1', '3'"),
        # A graph within another counts its own steps; Send runs a node twice in one step.
        (
            {"langgraph_step": 1, "langgraph_checkpoint_ns": "find:7|agent:8"},
            {"langgraph_step": 1, "langgraph_checkpoint_ns": "write:9|agent:5"},
            r"langgraph_checkpoint_ns: 'find:7\|agent:8', 'write:9\|agent:5'",
        ),
    ],
)
def test_messages_of_one_node_that_all_say_something_are_undecidable(
    first: dict[str, Any], then: dict[str, Any], why: str
) -> None:
    """A draft that a grader sent back, and the answer: a wrong answer passed with the draft's."""
    draft = (langgraph("Five ", **first), langgraph("days.", **first), langgraph("", "stop"))
    graded = langgraph("", "tool_calls", "grade", ["Grade"], langgraph_step=2)
    events = (*draft, graded, langgraph("I cannot say.", **then), langgraph("", "stop", **then))
    with pytest.raises(TargetError, match=rf"several messages of the node 'agent' \({why}\)"):
        read(SSE, sse(*events), answer="[0].content")
    wrapped = sse(
        *(
            {"event": "on_chat_model_stream", "data": {"chunk": chunk}, "metadata": about}
            for _, (chunk, about) in events
        )
    )
    with pytest.raises(TargetError, match=r"several messages of the node 'agent'"):
        read(SSE, wrapped, answer="data.chunk.content")


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({**STEP_1, "id": "run-1"}, {**STEP_1, "id": "run-1"}),
        # Asked to go on where it was cut off; the ids of a service change within a message.
        ({**STEP_1, "id": "run-1"}, {**STEP_1, "id": "run-3"}),
        ({**STEP_1, "id": "run-1"}, {"id": "run-3"}),
        (STEP_1, {}),
        ({"langgraph_step": 1}, {"checkpoint_ns": "agent:1"}),
        ({"id": "run-1"}, {"id": None}),
        ({"id": "run-1"}, {"id": "resp_1"}),  # which some services change within a message
    ],
)
def test_parts_of_one_message_are_joined_whatever_is_said_about_them(
    first: dict[str, Any], then: dict[str, Any]
) -> None:
    events = (langgraph("Five ", **first), langgraph("days.", **then), langgraph("", "stop"))
    assert read(SSE, sse(*events), answer="[0].content").text == "Five days."


@pytest.mark.parametrize(
    "call",
    [
        [langgraph("I look. ", **STEP_1), langgraph("", "tool_calls", **STEP_1)],
        [langgraph("I look. ", **STEP_1), langgraph("", "stop", calls=["find"], **STEP_1)],
        [langgraph("I look. ", "tool_use", calls=["find"], **STEP_1)],
        [langgraph("I look. ", **STEP_1), langgraph("", calls=["find"], id="run-1", **STEP_1)],
    ],
)
def test_what_a_message_says_that_calls_a_tool_goes_before_the_answer(
    call: list[tuple[str, Any]],
) -> None:
    """An agent speaks in each of its steps; that one has no answer yet, and no draft of one."""
    told = sse(*call, langgraph("Five days.", **STEP_3), langgraph("", "stop", **STEP_3))
    assert read(SSE, told, answer="[0].content").text == "I look. Five days."


def test_a_call_of_another_message_in_a_turn_leaves_a_draft_one() -> None:
    """A node that writes and grades, twice."""
    graded = langgraph("", calls=["Grade"], id="run-2", **STEP_1)
    told = (langgraph("Five.", id="run-1", **STEP_1), graded, langgraph("Hm.", **STEP_3))
    with pytest.raises(TargetError, match="several messages of the node 'agent'"):
        read(SSE, sse(*told), answer="[0].content")


def test_own_words_and_thoughts_are_no_answer_where_events_are_named_either() -> None:
    stream = sse(
        {"type": "reply", "content": "How much?", "is_from_self": True},
        {"type": "reply", "content": "Five", "thought": True},
        {"type": "reply", "content": "Five days."},
    )
    assert read(SSE, stream, ["reply"], answer="content").text == "Five days."


@pytest.mark.parametrize(
    "asked",
    ROWS["the_words_of_others_are_told_by_many_keys"],
)
def test_the_words_of_others_are_told_by_many_keys(asked: dict[str, Any]) -> None:
    """AutoGen, ADK, Langflow, Letta; another speaker answers, and a source may be a file."""
    stream = sse({**asked, "content": "How much?"}, {"content": "Five."})
    assert read(SSE, stream, answer="content").text == "Five."
    own = [{key: "assistant" if value != "thinking" else "answer"} for key, value in asked.items()]
    assert read(SSE, sse({**own[0], "content": "Five."}), answer="content").text == "Five."


def test_texts_of_several_channels_are_undecidable() -> None:
    """As those of several types: gpt-oss thinks aloud in one, and answers in another."""
    told = ({"channel": "analysis", "content": "Hm."}, {"channel": "final", "content": "Five."})
    with pytest.raises(TargetError, match="events of the types 'analysis', 'final'"):
        read(SSE, sse(*told))
    assert read(SSE, sse(*told), ["final"]).text == "Five."


@pytest.mark.parametrize("mark", ["[STOP]", "[EOS]", "</s>", "<END>", "<|im_end|>", "[done]"])
def test_a_mark_of_the_end_alone_is_one(mark: str) -> None:
    """A token of JSON may be about it."""
    assert read(SSE, sse("five", mark), is_open=True).text == "five"
    if mark != "[done]":
        told = sse({"token": "five "}, {"token": mark}, {"done": True})
        assert read(SSE, told, is_open=True).text == f"five {mark}"


def test_the_user_of_a_graph_is_not_its_answer() -> None:
    stream = sse({"type": "human", "content": "How much?"}, {"type": "ai", "content": "Five."})
    assert read(SSE, stream, answer="content").text == "Five."


@pytest.mark.parametrize("last", ["human", "tool"])
def test_a_state_that_ends_with_anothers_words_has_no_answer(last: str) -> None:
    """LangGraph's values, cut off before the model has answered."""
    asked = (
        "values",
        {"messages": [{"type": "ai", "content": ""}, {"type": last, "content": "?"}]},
    )
    said = ("values", {"messages": [{"type": "ai", "content": "Five."}]})
    with pytest.raises(TargetError, match="no event has an answer"):
        read(SSE, sse(asked), answer="messages[-1].content")
    assert read(SSE, sse(asked, said), answer="messages[-1].content").text == "Five."


def test_nodes_are_told_by_what_is_said_about_an_event() -> None:
    events = [
        {"event": "on_chat_model_stream", "data": {"chunk": {"content": "Is it 9?"}}},
        {"event": "on_chat_model_stream", "data": {"chunk": {"content": "No."}}},
    ]
    for event, node in zip(events, ("rewrite", "answer"), strict=True):
        event["metadata"] = {"langgraph_node": node}
    with pytest.raises(TargetError, match="text of the nodes 'rewrite', 'answer'"):
        read(SSE, sse(*events), answer="data.chunk.content")


def test_a_list_of_parts_is_a_text_as_well() -> None:
    """Mistral sends either at one path; the lists were lost."""
    stream = sse(
        {"delta": {"content": "It is "}},
        {"delta": {"content": [{"type": "text", "text": "not "}]}},
        {"delta": {"content": "free."}},
    )
    assert read(SSE, stream, answer="delta.content").text == "It is not free."


def test_what_a_place_is_called_says_nothing_of_the_text() -> None:
    events = [("messages|knowledge_agent:1", "Five."), ("messages|supervisor:2", " days.")]
    """The words of the other agent were left out."""
    stream = "".join(f"event: {name}\ndata: {json.dumps(text)}\n\n" for name, text in events)
    with pytest.raises(TargetError, match="'messages|knowledge_agent:1', 'messages|supervisor:2'"):
        read(SSE, stream)


def test_partial_texts_and_the_whole_behind_them_are_one() -> None:
    stream = sse({"partial": True, "text": "Paris"}, {"partial": False, "text": "Paris"})
    assert read(SSE, stream).text == "Paris"
    stream = sse(
        {"partial": True, "text": "I look."},
        {"text": "I look."},
        {"partial": True, "text": "Pa"},
        {"partial": True, "text": "ris"},
        {"text": "Paris"},
    )
    assert read(SSE, stream).text == "I look.Paris"


def test_several_messages_that_grow_each_are_no_answer() -> None:
    """They were joined with all their repetitions."""
    texts = ("Is it", "Is it 9 EUR?", "I do", "I do not", "I do not know.")
    stream = sse(*({"content": text} for text in texts))
    with pytest.raises(TargetError, match="texts that each grow"):
        read(SSE, stream, answer="content")

"""What a service replied, read as an answer: a stream says the same as one JSON object."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.http import HttpReply
from pytest_rageval.targets.base import Answer, TargetError
from pytest_rageval.targets.http_replies import ReplyReader
from pytest_rageval.text.json_value import parse_path

ROWS = tomllib.loads(Path(__file__).with_name("http_reply.toml").read_text("utf-8"))


def reply(kind: str, text: str) -> HttpReply:
    return HttpReply(200, {"Content-Type": kind}, text.encode())


def read(kind: str, text: str, **paths: str) -> Answer:
    return ReplyReader({name: parse_path(path) for name, path in paths.items()}).read(
        reply(kind, text)
    )


@pytest.mark.parametrize(
    "said",
    [
        {"contexts": ["good"], "retrieved_contexts": ["other"]},
        {"retrieved_contexts": ["other"], "contexts": ["good"]},
        {"contexts": ["good"], "retrieved_contexts": None},
        {"contexts": None, "retrieved_contexts": ["other"]},
        {"retrieved_contexts": ["other"]},
        {"retrieved_ids": ["1"], "retrieved_context_ids": ["2"]},
        {"contexts": ["good"], "context_docs": ["a.md"]},
    ],
)
def test_a_stream_takes_the_name_that_one_object_takes(said: dict[str, Any]) -> None:
    """[A21] The first name that is there, whatever stands under the others."""
    whole = read("application/json", json.dumps({"answer": "a", **said}))
    for kind, begins, ends in (("application/x-ndjson", "", "\n"),
                               ("text/event-stream", "data: ", "\n\n")):  # fmt: skip
        found = read(kind, f"{begins}{json.dumps({'answer': 'a', **said})}{ends}")
        assert (found.text, found.contexts) == (whole.text, whole.contexts)
        assert (found.context_docs, found.retrieved_ids) == (
            whole.context_docs,
            whole.retrieved_ids,
        )


@pytest.mark.parametrize(
    ("said", "contexts"),
    [
        ((["1"], None), ("1",)),
        (([], ["1"], []), ("1",)),
        ((["1"], ["1", "2"], ["1", "2"]), ("1", "2")),
        ((["1", "2", "3"], ["3", "1"]), ("3", "1")),
        (("1", "2", "1"), ("1", "2")),
        ((["1"], "2"), ("1", "2")),
    ],
)
def test_lists_of_a_stream_grow_and_shrink(said: Any, contexts: tuple[str, ...]) -> None:
    """[A21] Null and an empty list say nothing; items that come one by one are all there."""
    events = [{"token": "a"}, *({"contexts": value} for value in said)]
    found = read("application/jsonl", "\n".join(map(json.dumps, events)))
    assert (found.text, found.contexts) == ("a", contexts)


def test_lists_of_a_stream_that_differ_leave_open_which_counts() -> None:
    """Of two searches, the first was lost."""
    events = [{"token": "a", "contexts": ["1", "2"]}, {"contexts": ["2", "3"]}]
    with pytest.raises(TargetError, match=r"several lists of contexts: \['1', '2'\], \['2', '3'\]"):
        read("application/jsonl", "\n".join(map(json.dumps, events)))


@pytest.mark.parametrize(
    ("said", "ids"),
    [(("d1",), ("d1",)), (("", "d1"), ("d1",)), ((["d1"], ""), ("d1",))],
)
def test_one_item_is_a_list_and_an_empty_one_says_nothing(said: Any, ids: tuple[str, ...]) -> None:
    events = [{"token": "a"}, *({"retrieved_ids": value} for value in said)]
    found = read("application/jsonl", "\n".join(map(json.dumps, events)))
    assert found.retrieved_ids == ids


def test_two_contexts_of_one_document_keep_their_documents() -> None:
    events = [{"token": "a"}, *({"contexts": one, "context_docs": "d"} for one in "xyz")]
    found = read("application/jsonl", "\n".join(map(json.dumps, events)))
    assert (found.contexts, found.context_docs) == (("x", "y", "z"), ("d", "d", "d"))


def test_each_sentence_may_have_a_list_of_citations_of_its_own() -> None:
    events = [{"token": "a"}, {"citations": ["d1"]}, {"citations": ["d2"]}]
    found = read("application/jsonl", "\n".join(map(json.dumps, events)))
    assert found.extra["citations"] == ["d1", "d2"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text/event-stream", "data: The fee is:\n\n9 EUR\n\n"),
        ("text/event-stream", 'data: {"token": "Paris"}\n\nInternal Server Error'),
        ("text/event-stream", 'data: {"token": "Paris"}\n\n{"detail": "overloaded"}\n\n'),
        ("text/event-stream", 'data: {"token": "Paris"}\n\n[ERROR] overloaded'),
        ("text/plain", 'data: {"token": "Paris"}\n\nError: overloaded'),
        ("", '{"token": "Pa"}\n{"token": "ris"}\nInternal Server Error'),
        ("text/plain", '{"token": "Pa"}\n{"token": "ris"}\n{"tok'),
    ],
)
def test_a_stream_that_goes_on_otherwise_is_no_answer(kind: str, text: str) -> None:
    """An error was passed over, or the whole was taken for the answer."""
    with pytest.raises(TargetError):
        read(kind, text)


def test_json_lines_may_be_called_json() -> None:
    """One object over several lines is none of them."""
    events = [{"token": "Pa"}, {"token": "ris"}]
    assert read("application/json", "\n".join(map(json.dumps, events))).text == "Paris"
    assert read("application/json", json.dumps({"answer": "Paris"}, indent=1)).text == "Paris"


def test_citations_of_a_stream_come_one_by_one() -> None:
    """The last one was all of them."""
    events = [{"token": "a", "citations": {"id": "d1"}}, {"citations": {"id": "d2"}}]
    found = read("application/jsonl", "\n".join(map(json.dumps, events)))
    assert found.extra["citations"] == [{"id": "d1"}, {"id": "d2"}]


def _sse(*events: Any) -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (_sse({"token": "Refunds take "}, {"error": {"message": "busy"}}), "an error: .*busy"),
        (_sse({"token": "Refunds take "}, {"type": "error", "text": "busy"}), "an error: .*busy"),
        (
            _sse({"token": "Refunds "}, {"choices": [{"delta": {}, "finish_reason": "error"}]}),
            "an error: .*finish_reason",
        ),
        *(
            (_sse({"token": "Refunds "}, {"type": kind, "text": "busy"}), "an error: .*busy")
            for kind in ("error_event", "ErrorEvent", "error_occurred", "errored")
        ),
        (_sse({"token": "Refunds "}) + "event: error\ndata: busy\n\n", "an error: busy"),
        (_sse({"token": "Refunds "}) + 'data: {"token": " but\n\n', "stream with broken JSON"),
        (_sse({"contexts": ["a"]}, {"usage": {}}), "a stream in which no event has an answer"),
        ("", "a stream without any event"),
    ],
)
def test_a_stream_that_breaks_off_is_no_answer(text: str, why: str) -> None:
    """[A21] Half an answer may hold all that a metric looks for."""
    with pytest.raises(TargetError, match=why):
        read("text/event-stream", text)
    lines = "".join(line[6:] + "\n" for line in text.split("\n") if line.startswith("data: {"))
    if "error" in why and "event:" not in text:
        with pytest.raises(TargetError, match=why):
            read("application/x-ndjson", lines)


@pytest.mark.parametrize(
    ("parts", "answer"),
    ROWS["what_a_stream_repeats_counts_once"],
)
def test_what_a_stream_repeats_counts_once(parts: list[str], answer: str) -> None:
    """[A21] Some end with the whole answer, some send all so far with each event."""
    events = [{"token": part} for part in parts[:-1]] + [{"answer": parts[-1]}]
    assert read("text/event-stream", _sse(*events)).text == answer


@pytest.mark.parametrize(
    ("tokens", "answer"),
    [
        (["ha", "ha"], "haha"),
        (["Ne", "w"], "New"),
        (["1", "10"], "110"),
        (["New York", "New York"], "New York"),
        (["New York", "New York City"], "New York City"),
    ],
)
def test_tokens_of_one_name_are_joined_unless_they_grow(tokens: list[str], answer: str) -> None:
    """[A21]"""
    assert read("text/event-stream", _sse(*({"token": one} for one in tokens))).text == answer


def test_a_stream_says_citations_and_confidence() -> None:
    """[A21] As a reply in JSON does."""
    costs = [{"cost_usd": 0.1}, {"cost_usd": 0.3}, {"cost_usd": None}]
    told = {"citations": None, "cited_ids": [2], "confidence": 0.5}
    found = read("text/event-stream", _sse({"token": "a"}, told, *costs))
    assert found.extra == {"citations": [2], "confidence": 0.5, "cost_usd": 0.3}


def test_thoughts_and_calls_are_no_part_of_an_answer() -> None:
    """[A21] OpenAI's Responses; a tool that failed on the way is no failed answer."""
    others = [
        {"type": "response.reasoning_summary_text.delta", "delta": "think"},
        {"type": "response.function_call_arguments.delta", "delta": "{}"},
        {"type": "tool.failed", "name": "search"},
        {"type": "reasoning-delta", "delta": "hmm"},
        {"type": "tool", "status": "error"},
    ]
    text = {"type": "response.output_text.delta", "delta": "Paris"}
    assert read("text/event-stream", _sse(*others, text)).text == "Paris"
    for failed in ({"event": "error", "message": "boom"}, {"status": "error"}):
        with pytest.raises(TargetError, match="breaks off"):
            read("text/event-stream", _sse({"answer": "New"}, failed))


def test_events_of_openais_responses_are_read() -> None:
    """[A21] The whole text follows its parts; one that failed, or is cut off, is no answer."""
    delta = {"type": "response.output_text.delta", "delta": "Paris"}
    done = {"type": "response.output_text.done", "text": "Paris"}
    assert read("text/event-stream", _sse(delta, done)).text == "Paris"
    assert read("text/event-stream", _sse(done)).text == "Paris"
    for kind in ("response.failed", "response.incomplete"):
        with pytest.raises(TargetError, match="breaks off"):
            read("text/event-stream", _sse(delta, {"type": kind, "response": {}}))


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/event-stream"])
def test_bytes_that_are_no_utf_8_are_no_answer(kind: str) -> None:
    """[A21] GBK without its name was an answer of marks of replacement; a model may write one."""
    said = json.dumps({"answer": "五天"}, ensure_ascii=False)
    with pytest.raises(TargetError, match="no UTF-8; have the server name their charset"):
        ReplyReader({}).read(HttpReply(200, {"Content-Type": kind}, said.encode("gbk")))
    assert read("application/json", '{"answer": "5 \ufffd"}').text == "5 \ufffd"
    assert read("application/json", r'{"answer": "5 \ufffd"}').text == "5 \ufffd"


@pytest.mark.parametrize(
    "part",
    [
        {"contexts": ["退款需要五天"]},
        {"contexts": ["a"], "context_docs": ["五"]},
        {"retrieved_ids": ["五"]},
    ],
)
def test_contexts_and_ids_in_bytes_that_are_no_utf_8_are_none(part: dict[str, Any]) -> None:
    """They were found nowhere, beside an answer in ASCII."""
    said = json.dumps({"answer": "OK", **part}, ensure_ascii=False)
    with pytest.raises(TargetError, match="no UTF-8; have the server name their charset"):
        ReplyReader({}).read(
            HttpReply(200, {"Content-Type": "application/json"}, said.encode("gbk"))
        )


def test_a_message_of_many_marks_is_read_at_once() -> None:
    """A form's line; a search from each mark to the end would take an hour."""
    reply = HttpReply(200, {}, json.dumps({"message": "Name: " + "_" * 400_000}).encode())
    assert ReplyReader({"answer": parse_path("message")}).read(reply).text


def test_one_document_of_another_charset_spoils_no_reply() -> None:
    """An ERROR would be of the corpus, not of the answer."""
    body = b'{"answer": "OK \xe2\x82\xac", "contexts": ["caf\xe9 is open"]}'
    found = ReplyReader({}).read(HttpReply(200, {"Content-Type": "application/json"}, body))
    assert found.contexts == ("caf\ufffd is open",)


def test_a_context_may_be_cut_within_a_character() -> None:
    cut = "退款需要五天".encode()[1:-1]
    body = b'{"answer": "OK", "contexts": ["' + cut + b'"]}'
    found = ReplyReader({}).read(HttpReply(200, {"Content-Type": "application/json"}, body))
    assert found.contexts == ("\ufffd\ufffd款需要五\ufffd",)


@pytest.mark.parametrize(
    ("last", "is_answer"),
    [
        ({"type": "tool", "content": "Refunds take five days."}, False),
        ({"role": "user", "content": "How long?"}, False),
        ({"type": "human", "content": "How long?"}, False),
        ({"type": "ai", "content": "Five days."}, True),
        ({"role": "assistant", "content": "Five days."}, True),
        ({"content": "Five days."}, True),
    ],
)
def test_the_last_message_of_a_graph_is_an_answer_if_the_bot_says_it(
    last: dict[str, str], is_answer: bool
) -> None:
    """[A21] A graph that stopped behind its tool was right by the tool's text."""
    text = json.dumps({"messages": [{"type": "human", "content": "How long?"}, last]})
    if is_answer:
        found = read("application/json", text, answer="messages[-1].content")
        assert found.text == last["content"]
    else:
        with pytest.raises(TargetError, match=r"no answer: a tool or the user says 'messages\[-1"):
            read("application/json", text, answer="messages[-1].content")


def test_a_path_of_ones_own_replaces_the_names() -> None:
    """[A21]"""
    events = [{"token": "a", "contexts": ["no"], "hits": [{"t": "1"}, {"t": "2"}]}]
    found = read("application/jsonl", "\n".join(map(json.dumps, events)), contexts="hits[*].t")
    assert found.contexts == ("1", "2")


@pytest.mark.parametrize("error", ["retrieval failed", {"code": 7}, True, ["7"], 7])
def test_an_answer_beside_an_error_is_none(error: object) -> None:
    """[A21] Some services reply with status 200 whatever happened; an error of null is none."""
    with pytest.raises(TargetError, match="^replied an error: .*(failed|7|True)"):
        read("application/json", json.dumps({"answer": "Paris", "error": error}))
    for none in (None, "", False):
        text = json.dumps({"answer": "Paris", "error": none})
        assert read("application/json", text).text == "Paris"


@pytest.mark.parametrize("paths", [{}, {"answer": "answer"}, {"contexts": "contexts"}])
def test_an_answer_that_is_missing_is_none(paths: dict[str, str]) -> None:
    with pytest.raises(TargetError, match=r"^returned nan as its answer$"):
        read("application/json", '{"answer": NaN, "contexts": ["x"]}', **paths)


@pytest.mark.parametrize(
    "said",
    [
        {"hasException": False},
        {"lastException": None},
        {"code": 1000, "message": "操作完成"},
        {"code": "A0000", "message": "处理完毕。"},
        {"code": 201, "message": "Created"},
        {"code": "S0001", "message": "Completed."},
        {"code": 500, "message": "is_success"},
        {"code": "500", "message": "SUCCESS_OK"},
        {"code": 500, "message": "No error, successful"},
        {"code": 500, "message": "没有错误，操作成功"},
    ],
)
def test_an_empty_answer_of_a_service_that_succeeded_is_one(said: dict[str, Any]) -> None:
    assert read("application/json", json.dumps({"answer": "", **said})).text == ""


def test_an_answer_in_several_parts_is_one_text() -> None:
    """[A21]"""
    text = json.dumps({"parts": [{"text": "Pa"}, {"text": "ris"}]})
    assert read("application/json", text, answer="parts[*].text").text == "Paris"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_only_a_line_feed_ends_a_line_of_json(line_end: str) -> None:
    """[A21] JSON may hold U+2028 and U+0085 as they are; a text editor sees line ends in them."""
    events = [{"token": "a\u2028b"}, {"token": "c\x85d", "contexts": ["e\u2029f"]}]
    lines = [json.dumps(event, ensure_ascii=False) for event in events]
    found = read("application/x-ndjson", line_end.join(["", *lines, ""]))
    assert (found.text, found.contexts) == ("a\u2028bc\x85d", ("e\u2029f",))


@pytest.mark.parametrize("depth", [65, 500, 3000])
@pytest.mark.parametrize(
    "kind", ["application/json", "application/x-ndjson", "text/event-stream", "text/plain"]
)
def test_a_reply_nested_too_deep_is_unusable(kind: str, depth: int) -> None:
    """X3: it is no answer, also where a text would be one."""
    text = '{"answer": "a", "more": ' + "[" * depth + "]" * depth + "}"
    with pytest.raises(TargetError, match="^replied JSON nested more than 64 deep$"):
        read(kind, f"data: {text}\n\n" if kind == "text/event-stream" else text)

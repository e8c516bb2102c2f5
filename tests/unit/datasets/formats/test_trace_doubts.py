"""An answer of a trace that may be that of another step, or of an earlier turn, is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_rageval.datasets.load import Dataset
from pytest_rageval.model import InvalidRow, Sample

Load = Callable[..., Dataset]
Record = dict[str, Any]

SECOND = 1_800_000_000


def span(own: str, parent: str | None, begins: int, kind: str = "LLM", **more: Any) -> Record:
    """Return a span of OpenInference: ``asked`` and ``said`` are its input and its output."""
    texts = {"input.value": more.get("asked"), "output.value": more.get("said")}
    texts = {
        name: text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
        for name, text in texts.items()
        if text is not None
    }
    return {
        "name": own,
        "context": {"trace_id": more.get("trace", "t1"), "span_id": own},
        "parent_id": parent,
        "start_time": SECOND + begins,
        "end_time": SECOND + more.get("ends", begins + 1 if kind == "LLM" else 9),
        "status": {"status_code": more.get("status", "UNSET")},
        "attributes": {"openinference.span.kind": kind, **texts},
    }


def lines(*records: Record) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records)


def only(dataset: Dataset) -> Sample:
    (case,) = dataset.cases
    assert isinstance(case, Sample), case
    return case


# A step that failed behind the one whose text is read as the answer.

FAILED = "ERROR"
ROOT = span("root", None, 0, "CHAIN", asked="Capital?")
REWRITE = span("rewrite", "root", 1, said="capital of France")
ANSWER = span("answer", "root", 2, said="Paris.")
FAILS = span("answer", "root", 2, status=FAILED)


def flat(*steps: Record, **trace: Any) -> Record:
    """Return a trace of Langfuse whose steps have no parent."""
    own = {"id": "t1", "timestamp": "2027-01-15T08:00:00Z", "name": "ask", "htmlPath": "/p/t1"}
    texts = {"input": {"question": "Capital?"}, "output": None, "latency": 9.0}
    return {**own, **texts, "observations": steps, **trace}


def step(kind: str, own: str, begins: int, said: Any = None, **more: Any) -> Record:
    start, end = (f"2027-01-15T08:00:0{second}Z" for second in (begins, begins + 1))
    ids = {"id": own, "traceId": "t1", "type": kind, "name": own, "parentObservationId": None}
    return {**ids, "startTime": start, "endTime": end, "level": "DEFAULT", "output": said, **more}


FAILS_FLAT = step("GENERATION", "answer", 2, level=FAILED)


@pytest.mark.parametrize(
    ("records", "answer"),
    [
        ([ROOT, REWRITE, ANSWER], "Paris."),
        ([ROOT, ANSWER], "Paris."),
        # a try that failed stands before the one that worked
        ([ROOT, REWRITE, FAILS, span("again", "root", 3, said="Paris.")], "Paris."),
        ([ROOT, span("other model", "root", 1, status=FAILED), ANSWER], "Paris."),
        # the root has the answer, whatever failed
        ([ROOT | span("root", None, 0, "CHAIN", asked="Capital?", said="Rome."), FAILS], "Rome."),
        (
            [span("root", None, 0, "CHAIN", asked="Capital?", said="Sorry."), REWRITE, FAILS],
            "Sorry.",
        ),
        # no step that answers failed
        ([ROOT, ANSWER, span("save", "root", 3, "TOOL", status=FAILED)], "Paris."),
        ([ROOT, ANSWER, span("search", "root", 3, "RETRIEVER", status=FAILED)], "Paris."),
        ([ROOT, ANSWER, span("judge", "root", 3, "EVALUATOR", status=FAILED)], "Paris."),
        ([ROOT, ANSWER, span("index", "root", 3, "EMBEDDING", status=FAILED)], "Paris."),
        # the model that answered holds the try that failed, or had not ended before it
        (
            [
                ROOT,
                span("answer", "root", 1, said="Paris.", ends=6),
                span("http 429", "answer", 2, "CHAIN", status=FAILED),
                span("http 200", "answer", 3, "CHAIN"),
            ],
            "Paris.",
        ),
        (
            [
                ROOT,
                span("model", "root", 1, said="Paris.", ends=6),
                span("hedge", "root", 2, status=FAILED),
            ],
            "Paris.",
        ),
        # a model of a judge is none of the system
        (
            [
                ROOT,
                ANSWER,
                span("judge", "root", 3, "EVALUATOR"),
                span("asks", "judge", 4, status=FAILED),
            ],
            "Paris.",
        ),
        # it failed around the answer, and not behind it
        (
            [
                ROOT,
                span("answer", "graph", 1, said="Paris."),
                span("graph", "root", 1, "CHAIN", status=FAILED),
            ],
            "Paris.",
        ),
        ([flat(step("GENERATION", "g", 1, "Paris."))], "Paris."),
        (
            [flat(step("GENERATION", "rewrite", 1, "q"), step("GENERATION", "g", 2, "Paris."))],
            "Paris.",
        ),
        ([flat(FAILS_FLAT, step("GENERATION", "g", 3, "Paris."))], "Paris."),
        ([flat(step("GENERATION", "rewrite", 1, "q"), FAILS_FLAT, output="Paris.")], "Paris."),
        (
            [
                flat(
                    step("SPAN", "rewrite", 0, "q"),
                    step("RETRIEVER", "r", 1, []),
                    step("GENERATION", "g", 2, "巴黎。"),
                    step("EVENT", "lost", 3, level=FAILED),
                )
            ],
            "巴黎。",
        ),
    ],
)
def test_the_answer_of_the_last_step_that_may_answer_is_read_in_silence(
    load: Load, records: list[Record], answer: str
) -> None:
    dataset = load("t.jsonl", lines(*records))
    assert (only(dataset).answer, [*dataset.warnings]) == (answer, [])


# A conversation that ends with the question.


def chat(*said: str | Record) -> list[Record]:
    """Return messages, of user and assistant in turn where only the text is given."""
    roles = ("user", "assistant")
    return [
        {"role": roles[at % 2], "content": one} if isinstance(one, str) else one
        for at, one in enumerate(said)
    ]


def call(name: str, text: Any = None) -> Record:
    """Return a message of the assistant that calls a tool."""
    called = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return {"role": "assistant", "content": text, "tool_calls": [called]}


CLAUDE_SAVES = [
    {"role": "user", "content": "Capital?"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Paris."}, {"type": "tool_use", "id": "c"}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "saved"}]},
    {"role": "assistant", "content": []},
]
FOUND = {"role": "tool", "content": "Paris is the capital of France."}


@pytest.mark.parametrize("under", ["messages", "output", ""])
@pytest.mark.parametrize(
    "messages",
    [
        chat("Capital?", "Paris."),
        chat("Hi", "Hello.", "Capital?", "Paris."),
        chat("Capital?", "Paris.", "Capital?", "Paris."),
        chat("Capital?", call("search"), FOUND, {"role": "assistant", "content": "Paris."}),
        # what is said before a closing call is the answer
        [*chat("Capital?", "Paris."), call("save")],
        [*chat("Capital?", "Paris."), call("save", "")],
        [*chat("Capital?", "Paris."), call("save"), {"role": "tool", "content": "saved"}],
        chat("Capital?", call("end", "Paris.")),
        CLAUDE_SAVES,
        # ... also where another one speaks before it
        chat("Capital?", "Paris.", "Thanks, bye!", call("end_call")),
        chat("Capital?", "Paris.", "谢谢", call("hang_up")),
        chat("Capital?", "Paris.", "If you are done, call finish().", call("finish")),
        chat("Capital?", "Paris.", "approve", call("send_email")),
        chat("Capital?", "Paris.", "Observation: saved", ""),
        # the question is not said, or the answer is another one's
        chat("Hi", "Paris."),
        [{"role": "assistant", "content": "Paris."}],
        [
            {"role": "human", "content": "Capital?"},
            {"role": "ai", "content": "Paris."},
            {"role": "system", "content": "Capital?"},
        ],
    ],
)
def test_what_is_said_behind_the_question_is_read_in_silence(
    load: Load, messages: list[Record], under: str
) -> None:
    said = {under: messages, "more": 1} if under else messages
    root = span("root", None, 0, "AGENT", asked={"question": "Capital?"}, said=said)
    dataset = load("t.jsonl", lines(root))
    assert (only(dataset).answer, [*dataset.warnings]) == ("Paris.", [])


@pytest.mark.parametrize(
    "said",
    [
        # the answer stands beside a chat
        {"answer": "Paris.", "messages": chat("Hi", "Hello.", "Capital?")},
        {"output": "Paris.", "chat_history": chat("Hi", "Hello.", "Capital?")},
        {"history": chat("Hi", "Hello.", "Capital?"), "response": "Paris."},
        # ... or beside the messages of the request
        *({"messages": chat("Capital?"), name: "Paris."} for name in ("reply", "value")),
        {"messages": chat("Capital?"), "choices": [{"message": chat("", "Paris.")[1]}]},
        {"messages": chat("Capital?"), "candidates": [{"content": "Paris."}]},
        {"messages": chat("Capital?"), "data": {"answer": "Paris."}},
        {"messages": chat("Capital?"), "reply": chat("", "Paris.")[1]},
        {"messages": chat("Capital?"), "reply": chat("Capital?", "Paris.")},
        {"message": chat("Capital?")[0], "reply": "Paris."},
        {"output": chat("Capital?")[0], "reply": "Paris."},
        {
            "messages": [{"type": "system", "content": "Be brief."}, *chat("Capital?")],
            "choices": [{"text": "Paris."}],
        },
        {
            "messages": [[{"type": "human", "content": "Capital?"}]],
            "generations": [[{"text": "Paris."}]],
        },
        {
            "messages": [{"id": ["langchain", "HumanMessage"], "kwargs": {"content": "Capital?"}}],
            "return_values": {"output": "Paris."},
        },
        # its chat has the newest message first, or the question twice
        {"messages": chat("Capital?", "Paris.")[::-1]},
        {"messages": chat("Capital?", "Paris.", "Capital?")},
        {"messages": chat("Hi", "Hello.", "Capital?", "Paris.", "Capital?")},
        # the question said again
        {"question": "Capital?", "answer": "Paris."},
        "Paris.",
    ],
)
def test_an_answer_beside_a_chat_is_read_in_silence(load: Load, said: Any) -> None:
    root = span("root", None, 0, "CHAIN", asked={"question": "Capital?"}, said=said)
    dataset = load("t.jsonl", lines(root))
    assert (only(dataset).answer, [*dataset.warnings]) == ("Paris.", [])


@pytest.mark.parametrize(
    "said",
    [
        "Capital?",
        json.dumps({"role": "user", "content": "Capital?"}),
        json.dumps({"messages": chat("Capital?"), "generation": "Paris."}),
    ],
)
def test_an_echo_of_the_question_is_an_answer_read_in_silence(load: Load, said: str) -> None:
    root = span("root", None, 0, "CHAIN", asked="Capital?", said=said)
    dataset = load("t.jsonl", lines(root))
    assert (only(dataset).answer, [*dataset.warnings]) == (said, [])


def test_two_requests_stay_an_invalid_row_where_one_ends_with_its_question(load: Load) -> None:
    first = chat("Hi?", "Hello.", "Capital of France?", call("search"))
    records = [
        span("a", None, 0, "AGENT", asked="Capital of France?", said={"messages": first}),
        span("b", None, 5, "AGENT", asked="Capital of Spain?", said="Madrid."),
        span("c", None, 0, "AGENT", asked="Who?", said="Me.", trace="t2"),
    ]
    case, other = load("t.jsonl", lines(*records)).cases
    assert isinstance(case, InvalidRow)
    assert "several requests" in case.reason
    assert isinstance(other, Sample)


# Judges and tools beside the root of the system.

ASKS = span("ask", None, 2, "CHAIN", asked="Capital?", said="Paris.")
JUDGE = span("judge", None, 4, "EVALUATOR", asked="Is Paris right?", said="yes")
GUARD = span("guard", None, 0, "GUARDRAIL", asked="Is it safe: Capital?", said="safe")


@pytest.mark.parametrize(
    "records",
    [
        [ASKS, JUDGE],
        [GUARD, ASKS],
        [ASKS, span("log", None, 4, "TOOL", asked="{}", said="saved")],
        [span("clock", None, 0, "TOOL", asked="{}", said="noon"), ASKS],
        [
            span("ask", None, 0, "CHAIN", said="Paris."),
            span("guard", "ask", 1, "GUARDRAIL"),
            span("checks", "guard", 1, "CHAIN", asked="Is it safe: Capital?", said="safe"),
            span("model", "ask", 2, asked="Capital?", said="Paris."),
        ],
    ],
)
def test_a_judge_or_a_tool_beside_the_root_neither_asks_nor_answers(
    load: Load, records: list[Record]
) -> None:
    case = only(load("t.jsonl", lines(*records)))
    assert (case.question, case.answer) == ("Capital?", "Paris.")
    assert (case.metadata["trace_name"], case.metadata["status"]) == ("ask", "ok")


@pytest.mark.parametrize(
    ("records", "answer"),
    [
        ([JUDGE], "yes"),
        ([span("call", None, 0, "TOOL", asked="Capital?", said="Paris.")], "Paris."),
        (
            [
                span("ask", None, 0, "CHAIN", asked="Capital?"),
                span("call", None, 2, "TOOL", asked="Capital?", said="Paris."),
            ],
            "Paris.",
        ),
    ],
)
def test_a_judge_or_a_tool_alone_has_the_answer(
    load: Load, records: list[Record], answer: str
) -> None:
    assert only(load("t.jsonl", lines(*records))).answer == answer


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (None, "Passages: ... Question: Capital?"),
        ("Which city?", "Which city?"),
    ],
)
def test_steps_beside_each_other_may_be_of_one_request(load: Load, said: Any, asked: str) -> None:
    first = span("a", None, 0, "CHAIN", asked="Capital?", said=said)
    second = span("b", None, 5, "CHAIN", asked=asked, said="Paris.")
    assert only(load("t.jsonl", lines(first, second))).answer == "Paris."


# What is told.

BEHIND = (
    "in which a step failed behind the one whose text is read as the answer, and may have had to "
    "answer, first t1 ('rewrite', then 'answer'): export the output of the root span, "
    "unless that step only records something"
)


@pytest.mark.parametrize(
    ("records", "answer"),
    [
        ([ROOT, REWRITE, FAILS], "capital of France"),
        ([ROOT, REWRITE, span("answer", "root", 5, status=FAILED)], "capital of France"),
        ([ROOT, REWRITE, FAILS, span("save", "root", 3, "TOOL")], "capital of France"),
        ([ROOT, REWRITE, span("answer", "root", 2, "CHAIN", status=FAILED)], "capital of France"),
        ([flat(step("GENERATION", "rewrite", 1, "q"), FAILS_FLAT)], "q"),
        (
            [flat(step("GENERATION", "rewrite", 1, "q"), FAILS_FLAT | {"output": "partly"})],
            "q",
        ),
        ([flat(step("GENERATION", "rewrite", 1, "法国首都"), FAILS_FLAT)], "法国首都"),
        (
            [
                flat(
                    step("SPAN", "steps", 1),
                    step("GENERATION", "rewrite", 1, "q", parentObservationId="steps"),
                    step("SPAN", "answer", 2, level=FAILED),
                )
            ],
            "q",
        ),
    ],
)
def test_a_step_that_failed_behind_the_answer_is_told(
    load: Load, records: list[Record], answer: str
) -> None:
    dataset = load("t.jsonl", lines(*records))
    assert only(dataset).answer == answer
    assert [*dataset.warnings] == [f"t.jsonl:1: 1 trace {BEHIND}"]


OPEN = (
    "whose chat ends without an answer to its question, first t1: what was said before the "
    "question is read as the answer; leave such traces out"
)


@pytest.mark.parametrize(
    ("asked", "messages"),
    [
        ("Capital?", chat("Hi", "Hello.", "Capital?", call("search"))),
        ("Capital?", chat("Hi", "Hello.", "Capital?", call("search", ""))),
        ("Capital? ", chat("Hi", "Hello.", "Capital?", call("search"), FOUND)),
        ("Capital?", chat("Hi", "Hello.", "Capital?")),
        ("Capital?", [*chat("", "Welcome.", "Hi", "Hello.")[1:], *chat("Capital?")]),
        (
            {"messages": chat("Hi", "Hello.", "首都是哪里？")},
            chat("Hi", "Hello.", "首都是哪里？", call("search")),
        ),
    ],
)
@pytest.mark.parametrize("under", ["messages", "output", ""])
def test_a_chat_that_ends_with_the_question_is_told(
    load: Load, asked: Any, messages: list[Record], under: str
) -> None:
    said = {under: messages} if under else messages
    root = span("root", None, 0, "AGENT", asked=asked, said=said)
    dataset = load("t.jsonl", lines(root))
    assert only(dataset).answer == "Hello."
    assert [*dataset.warnings] == [f"t.jsonl:1: 1 trace {OPEN}"]


def test_what_is_told_of_traces_is_counted(load: Load) -> None:
    """An invalid row is told as such; of those whose answer is elsewhere there is no doubt."""
    said = {"messages": chat("Hi", "Hello.", "Capital?", call("search")), "more": {"said": "Paris"}}
    records = [
        span(name, None, 0, "AGENT", asked="Capital?", said=said, trace=name)
        for name in ("t1", "t2", "t3")
    ]
    assert [*load("t.jsonl", lines(*records)).warnings] == [f"t.jsonl:1: 3 traces {OPEN}"]
    mapped = load("t.jsonl", lines(*records), key_map={"answer": "trace_name"})
    assert [*mapped.warnings] == []

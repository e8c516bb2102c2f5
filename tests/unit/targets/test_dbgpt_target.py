"""A running DB-GPT: what its spaces and apps are sent, what their replies mean, how they fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from fake_app import Asked, FakeApp
from pydantic import ValidationError

from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.http import HttpReply
from pytest_rageval.model import Sample
from pytest_rageval.scenario.schema import TargetSpec
from pytest_rageval.targets.base import TARGET_REGISTRY, Answer, TargetContext, TargetError
from pytest_rageval.targets.dbgpt import DbgptOptions, DbgptTarget, last_message, read_answer

pytest.importorskip("aiohttp", reason="the extra 'judge' asks services")

KEY = "key-0123456789"
SPACES = [{"id": 3, "name": "handbook"}, {"id": 147, "name": "产品 手册"}]
CHUNK = {
    "content": "AWEL is a language.",
    "metadata": {"source": "/data/awel.md"},
    "chunks": [],
    "chunk_id": "c-1",
    "chunk_name": "",
    "score": 0.83,
    "summary": "",
    "separator": "\n",
    "retriever": None,
    "embedding": None,
}
Ask = Callable[..., list[Answer]]


def envelope(data: Any, **failure: Any) -> dict[str, Any]:
    return {"success": not failure, "err_code": None, "err_msg": None, "data": data, **failure}


def of_dbgpt(asked: Asked) -> dict[str, Any]:
    """Return what DB-GPT replies: the list of spaces, or what a space retrieved."""
    if asked.method == "GET":
        paged = {"total_count": 2, "total_pages": 1, "page": 1, "page_size": 1000}
        return envelope({"items": SPACES, **paged})
    return envelope([CHUNK])


def block(tag: str, **item: Any) -> str:
    """Return a block of DB-GPT's protocol for views of agents."""
    return f"```{tag}\n{json.dumps([item], ensure_ascii=False)}\n```"


def stream(*views: str | None) -> tuple[str, bytes]:
    """Return the events that an app replies: each has the whole view so far."""
    events = [
        {"id": "x", "created": 1, "model": "m", "choices": [{"index": 0, "delta": delta}]}
        for view in views
        for delta in [{"role": "assistant", "content": view}]
    ]
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "text/event-stream", ("".join(lines) + "data: [DONE]\n\n").encode()


@pytest.fixture
def ask(app: FakeApp) -> Ask:
    """Return a function that asks a DB-GPT: as many questions at once as are given."""
    app.answer = of_dbgpt

    def each(*questions: str, **options: Any) -> list[Answer]:
        given = DbgptOptions.model_validate({"dbgpt": app.url(""), **options})

        async def run() -> list[Answer]:
            target = DbgptTarget(given, TargetContext(timeout_s=30.0))
            try:
                samples = [Sample("s", question=question) for question in questions or ("AWEL?",)]
                return await asyncio.gather(*map(target.answer, samples))
            finally:
                await target.aclose()

        return asyncio.run(run())

    return each


def failure(ask: Ask, **options: Any) -> str:
    with pytest.raises((TargetError, ClientError)) as caught:
        ask(**options)
    return str(caught.value)


@pytest.mark.parametrize(
    "last", ['{"error": {"message": "busy"}}', "[SERVER_ERROR] busy", '{"choices": [{"del']
)
def test_a_view_before_an_error_is_no_answer(app: FakeApp, ask: Ask, last: str) -> None:
    """[B12] The app failed in the middle of it."""
    kind, events = stream("Refunds take five days")
    broken = events.replace(b"data: [DONE]", f"data: {last}".encode())
    app.answer = lambda _: (kind, broken)
    assert "stream" in failure(ask, app="a", model="m")


@pytest.mark.parametrize(
    ("last", "is_open", "message"),
    [
        ("", False, "stops where more should follow"),
        ("", True, "may be cut off"),
        ('{"choices": [{"delta": {}, "finish_reason": "content_filter"}]}', False, "breaks off"),
    ],
)
def test_a_view_that_is_not_the_last_is_no_answer(last: str, is_open: bool, message: str) -> None:
    """As of any other service; the mark of the end makes it whole."""
    kind, events = stream("Refunds take", "Refunds take five days")
    if not is_open:
        events = events.replace(b'"delta"', b'"finish_reason": null, "delta"')

    def reply(body: bytes) -> HttpReply:
        return HttpReply(200, {"Content-Type": kind}, body, may_be_cut_off=is_open)

    assert read_answer(reply(events)).text == "Refunds take five days"
    with pytest.raises(TargetError, match=message):
        read_answer(reply(events.replace(b"[DONE]", last.encode())))


def test_a_reply_of_more_than_8_megabytes_is_an_error(app: FakeApp, ask: Ask) -> None:
    app.answer = lambda _: envelope([{**CHUNK, "content": "x" * 2**23}])
    assert "the reply is larger than 8 MB" in failure(ask, space=147)


# A space.


def test_a_space_retrieves_the_contexts(app: FakeApp, ask: Ask) -> None:
    """[B12] With their documents and ids, as DB-GPT names them."""
    (found,) = ask(space=147, top_k=5)
    (seen,) = app.seen
    assert (seen.method, seen.path) == ("POST", "/api/v2/serve/knowledge/spaces/147/retrieve")
    assert seen.body == {"query": "AWEL?", "top_k": 5}
    assert "authorization" not in seen.headers
    assert found.text is None
    assert found.contexts == ("AWEL is a language.",)
    assert found.context_docs == ("/data/awel.md",)
    assert found.retrieved_ids == ("c-1",)


def test_top_k_is_left_to_dbgpt_unless_given(app: FakeApp, ask: Ask) -> None:
    """[B12]"""
    ask(space="147")
    assert app.seen[0].body == {"query": "AWEL?"}


def test_nothing_retrieved_is_no_error(app: FakeApp, ask: Ask) -> None:
    """[B12]"""
    app.answer = lambda _: envelope([])
    assert ask(space=147)[0].contexts == ()


def test_the_name_of_a_space_is_looked_up_once(app: FakeApp, ask: Ask) -> None:
    """[B12] For any number of questions at once: the API wants an id."""
    found = ask("a?", "b?", "c?", space="产品 手册")
    assert [one.contexts for one in found] == [("AWEL is a language.",)] * 3
    first, *rest = app.seen
    assert (first.method, first.path) == ("GET", "/api/v2/serve/knowledge/spaces")
    assert first.query == {"page": ["1"], "page_size": ["1000"]}
    assert {one.path for one in rest} == {"/api/v2/serve/knowledge/spaces/147/retrieve"}
    assert sorted(one.body["query"] for one in rest) == ["a?", "b?", "c?"]


def test_an_unknown_space_names_the_known_ones(ask: Ask) -> None:
    """[B12]"""
    message = failure(ask, space="handbok")
    assert "unknown space 'handbok'. Did you mean 'handbook'?" in message
    assert "or give its id" in message


# An app.


def test_an_app_answers(app: FakeApp, ask: Ask) -> None:
    """[B12] As a stream, the only form that DB-GPT has for apps; the last view counts."""
    reply = block("agent-messages", sender="QA", receiver="Human", model="m", markdown="Paris, 甲")
    app.answer = lambda _: stream(block("agent-messages", sender="?", markdown="Par"), reply)
    (found,) = ask("Capital?", app="a-1", model="qwen-plus")
    (seen,) = app.seen
    assert (seen.method, seen.path) == ("POST", "/api/v2/chat/completions")
    assert seen.body == {
        "model": "qwen-plus",
        "messages": "Capital?",
        "chat_mode": "chat_app",
        "chat_param": "a-1",
        "stream": True,
    }
    assert (found.text, found.contexts) == ("Paris, 甲", None)


def test_an_event_without_a_view_changes_nothing(app: FakeApp, ask: Ask) -> None:
    """[B12] DB-GPT tells the state of the context in such events."""
    app.answer = lambda _: stream("Paris", None)
    assert ask(app="a-1", model="m")[0].text == "Paris"


def test_an_answer_in_one_piece_is_taken_too(app: FakeApp, ask: Ask) -> None:
    """[B12] Of what answers as OpenAI does."""
    app.answer = lambda _: {"choices": [{"message": {"role": "assistant", "content": "Paris"}}]}
    assert ask(app="a-1", model="m")[0].text == "Paris"


INNER = block("agent-messages", sender="Summarizer", receiver="Human", markdown="It is ```x```.")


@pytest.mark.parametrize(
    ("view", "answer"),
    [
        ("Paris", "Paris"),
        (block("agent-plans", name="step", num=1, markdown=INNER), "It is ```x```."),
        (block("agent-plans", name="step", markdown=INNER) + "\n" + INNER, "It is ```x```."),
        (block("agent-plans", name="step", markdown=INNER) + "\nThe end.\n", "The end."),
        (block("agent-messages", markdown="``````vis-thinking\nHm.\n\n``````\nParis"), "Paris"),
        (block("agent-messages", markdown="```python\nprint(1)\n```"), "```python\nprint(1)\n```"),
    ],
    ids=["text", "plan", "plan and message", "plan and end", "thoughts", "code"],
)
def test_the_last_message_of_a_view_is_the_answer(view: str, answer: str) -> None:
    """[B12] A plan holds messages, a message Markdown; what an agent thought is no answer."""
    assert last_message(view) == answer


def test_the_last_of_several_messages_counts() -> None:
    """[B12]"""
    messages = [{"sender": "Human", "markdown": "Capital?"}, {"sender": "QA", "markdown": "Paris"}]
    assert last_message(f"```agent-messages\n{json.dumps(messages)}\n```") == "Paris"


# Failures.


@pytest.mark.parametrize(
    ("options", "reply", "message"),
    [
        (
            {"space": 147},
            envelope(None, err_code="E0003", err_msg="no such index"),
            "E0003: no suc",
        ),
        ({"space": 147}, envelope(None), "'data' of its reply is None, expected a list"),
        ({"space": 147}, {"detail": "x"}, "its reply has nothing at 'data'"),
        ({"space": 147}, envelope([{"score": 1}]), "its context 1 is a dict without a text"),
        ({"space": "x"}, envelope([{"id": 1}]), "has no 'data.items' with ids and names"),
        (
            {"space": "x"},
            {"success": True, "data": {"items": [{"id": 1e400, "name": "x"}]}},
            "has no 'data.items' with ids",
        ),
        ({"app": "a", "model": "m"}, envelope(None, err_code="1", err_msg="down"), "failed: 1: do"),
        ({"app": "a", "model": "m"}, stream(), "a stream without an answer: the app failed"),
        ({"app": "a", "model": "m"}, stream(None), "a stream without an answer: the app failed"),
        (
            {"app": "a", "model": "m"},
            stream(block("agent-messages", sender="Human", receiver="QA", markdown="AWEL?")),
            "the app failed: no agent has answered",
        ),
        (
            {"app": "a", "model": "m"},
            stream(block("agent-messages", sender="QA", markdown=None)),
            "the app failed: no agent has answered",
        ),
        (
            {"app": "a", "model": "m"},
            stream("```agent-messages\n[{]\n```"),
            "a block of messages that cannot be read",
        ),
    ],
)
def test_what_is_no_answer_is_an_error(
    app: FakeApp, ask: Ask, options: Mapping[str, Any], reply: Any, message: str
) -> None:
    """[B12] Never an empty answer: DB-GPT reports failures with HTTP 200, too."""
    app.answer = lambda _: reply
    assert message in failure(ask, **options)


def test_the_key_is_sent_and_never_shown(
    app: FakeApp, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[B12] With the list of spaces as well."""
    monkeypatch.setenv("DBGPT_API_KEY", KEY)
    ask(space="handbook", api_key_env="DBGPT_API_KEY")
    assert [one.headers["authorization"] for one in app.seen] == [f"Bearer {KEY}"] * 2
    app.answer = lambda _: envelope(None, err_code="401", err_msg=f"not {KEY}")
    message = failure(ask, space="handbook", api_key_env="DBGPT_API_KEY")
    assert "failed: 401: not ***" in message
    assert KEY not in message


# Options.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either 'space'"),
        ({"space": 1, "app": "a", "model": "m"}, "give either 'space'"),
        ({"app": "a"}, "the 'model' of an app"),
        ({"app": "a", "model": "m", "top_k": 3}, "'top_k' is of a space"),
        ({"space": 1, "model": "m"}, "'model' is of an app"),
        ({"space": 1, "dbgpt": "localhost:5670"}, "expected a URL such as http://localhost:5670"),
        ({"space": 1, "api_key_env": "sk-123"}, "the NAME of an environment variable"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], message: str) -> None:
    """[B12]"""
    with pytest.raises(ValidationError, match=message):
        DbgptOptions.model_validate({"dbgpt": "http://127.0.0.1:5670", **options})


def test_its_key_tells_the_type_also_beside_a_model() -> None:
    """[B12]"""
    spec = TargetSpec.model_validate({"dbgpt": "http://h:5670", "app": "a", "model": "m"})
    assert spec.type == "dbgpt"


def test_it_provides_what_is_asked() -> None:
    """[B12] A metric of answers is refused for a space, one of contexts needs them for an app."""
    space = DbgptOptions(dbgpt="http://h:5670", space="1")
    app = DbgptOptions(dbgpt="http://h:5670", app="a", model="m")
    assert "answer" not in space.provides
    assert app.provides == {"answer"}
    assert space.fields == app.fields == {"question"}


def test_a_space_is_part_of_its_identity() -> None:
    """[B12] Another space has other kept answers."""
    one = DbgptOptions(dbgpt="http://h:5670", space="1")
    two = DbgptOptions(dbgpt="http://h:5670/api/v2/", space="2")
    named = DbgptOptions(dbgpt="http://h:5670", space="{question}")
    assert one.identity() != two.identity()
    assert two.identity()["url"] == "http://h:5670/api/v2/serve/knowledge/spaces/2/retrieve"
    assert named.fields == {"question"}


def test_a_key_that_is_not_set_is_refused_before_anything_is_asked() -> None:
    """[B12]"""
    definition = TARGET_REGISTRY.get("dbgpt")
    options = DbgptOptions(dbgpt="http://h:5670", space="1", api_key_env="NO_SUCH_KEY")
    with pytest.raises(TargetError, match="variable NO_SUCH_KEY is not set"):
        definition.make(options, TargetContext())


def test_a_url_from_the_environment_is_checked_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """[B12]"""
    monkeypatch.setenv("DBGPT_URL", "no url")
    options = DbgptOptions(dbgpt="${DBGPT_URL}", space="handbook")
    with pytest.raises(TargetError, match="url: expected one like"):
        TARGET_REGISTRY.get("dbgpt").make(options, TargetContext())

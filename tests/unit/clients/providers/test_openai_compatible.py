"""What is sent to a server with OpenAI's API, and how its answers are read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import fake_openai
import pytest
from fake_openai import FakeOpenAI, vector_of

from pytest_rageval.clients.base import ChatRequest, Message, Reply, ReplySchema, Usage
from pytest_rageval.clients.clients import Clients
from pytest_rageval.clients.errors import AskAgain, BadRequestError, ServerError
from pytest_rageval.clients.providers.openai_compatible import OpenAIChat
from pytest_rageval.clients.settings import ClientSettings, Price, RunSettings

KEY = "sk-live-0123456789abcdef"
SCHEMA = ReplySchema("Verdict", {"type": "object", "properties": {"score": {"type": "integer"}}})
Settings = Callable[..., ClientSettings]
Within = Callable[..., Any]


@pytest.fixture
def ask_json(settings: Settings, within: Within) -> Callable[..., list[Reply]]:
    """Return a function: ask several questions at once for JSON, without a cache."""

    def ask(count: int = 1, **fields: Any) -> list[Reply]:
        async def work(clients: Clients) -> list[Reply]:
            chat = clients.chat(settings(**fields))
            return await asyncio.gather(
                *(chat.complete([Message("user", f"{n}?")], schema=SCHEMA) for n in range(count))
            )

        replies: list[Reply] = within(work, RunSettings())
        return replies

    return ask


def test_only_what_is_set_is_sent(server: FakeOpenAI, ask: Callable[..., Reply]) -> None:
    ask("Well?", temperature=None)
    (seen,) = server.chats
    turns = [{"role": "user", "content": "Well?"}]
    assert seen.body == {"model": "m", "messages": turns, "max_tokens": 2048}
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["content-type"] == "application/json"


def test_parameters_headers_and_extra_body_are_sent(
    server: FakeOpenAI, ask: Callable[..., Reply]
) -> None:
    ask(
        max_tokens=9, seed=7, extra_body={"top_p": 0.5}, headers={"api-key": "${JUDGE_KEY}"},
        api_key_env=None,
    )  # fmt: skip
    (seen,) = server.chats
    assert {**seen.body, "messages": 0} == {
        "model": "m", "messages": 0, "temperature": 0.0, "max_tokens": 9, "seed": 7, "top_p": 0.5,
    }  # fmt: skip
    assert seen.headers["api-key"] == KEY
    assert "authorization" not in seen.headers


def test_text_that_no_encoding_has_is_sent_all_the_same(
    server: FakeOpenAI, ask: Callable[..., Reply]
) -> None:
    """A lone surrogate, as half of an emoji that was cut in the middle."""
    ask("双源 \ud83d?")
    assert server.chats[0].body["messages"][0]["content"] == "双源 \ud83d?"


def test_a_reply_carries_what_the_server_says_of_it(
    server: FakeOpenAI, ask: Callable[..., Reply]
) -> None:
    """20 characters are 5 tokens to the fake server; 5 x 1 + 2 x 10 USD for a million of each."""
    server.options.answer = lambda body: "12345678"
    server.options.latency_s = 0.05
    reply = ask("x" * 20, price=Price(1.0, 10.0))
    assert (reply.text, reply.model, reply.finish_reason) == ("12345678", "m-fake", "stop")
    assert reply.usage == Usage(5, 2, calls=1, cost_usd=pytest.approx(25e-6))
    assert 0.05 <= reply.latency_s < 0.5
    assert not reply.cached


def test_a_reply_that_another_word_ends_is_cut_off_all_the_same(
    server: FakeOpenAI, ask: Callable[..., Reply]
) -> None:
    """Gateways pass on the words of other providers: the end of max_tokens, the end by an error."""
    server.options.answer = lambda body: "12345678"
    for fault in ("max_tokens", "broken_off"):
        server.then(fault)
        assert ask(fault).text == "12345678"
    assert len(server.chats) == 4


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        *[
            (reason, "stop")
            for reason in ("stop", "STOP", "eos", "end_turn", "function_call", None)
        ],
        *[(reason, "stop") for reason in ("error_free", "no_error", "content_filter_error")],
        ("the server said: \n\x1b[31m" + 5000 * "x" + " error", "stop"),
        *[(reason, "length") for reason in ("length", "MAX_TOKENS", "max_output_tokens")],
        *[(reason, "length") for reason in ("token_limit", "max_new_tokens")],
        # Asked again with more tokens, or a word of a guardrail that masks a name: no cure.
        *[(reason, "stop") for reason in ("model_context_window_exceeded", "guardrail_intervened")],
        *[(reason, "refused") for reason in ("BLOCKLIST", "PROHIBITED_CONTENT", "SPII")],
        *[(reason, "refused") for reason in ("content_filtered", "ERROR_TOXIC")],
        *[(reason, "broken off") for reason in ("incomplete", "interrupted", "failed")],
        *[(reason, "broken off") for reason in ("timeout", "time_limit", "USER_CANCEL")],
        *[("content_filter", "refused"), ("SAFETY", "refused"), ("sensitive", "refused")],
        *[(reason, "broken off") for reason in ("error", "abort", "insufficient_system_resource")],
        *[("network_error", "broken off"), ("internal_error", "broken off")],
    ],
)
def test_what_ends_a_reply_is_told_in_the_words_of_many_servers(
    reason: str | None,
    finish: str,
    server: FakeOpenAI,
    settings: Settings,
    within: Within,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Zhipu's are among them. Half an answer is no answer of a model under test."""
    ends = {"ends": lambda answer, choice, content: choice.update(finish_reason=reason)}
    monkeypatch.setattr(fake_openai, "_REPLY_FAULTS", ends)
    server.then("ends")

    async def ask(clients: Clients) -> str:
        chat = clients.direct_chat(settings(retries=0))
        try:
            return (await chat.complete([Message("user", "Well?")])).finish_reason
        except ServerError as error:
            return str(error)

    assert finish in within(ask)


def test_a_reply_that_is_none_costs_what_the_server_states(
    server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """A budget meets it. 20 characters are 5 tokens, the 8 of the reply 2, half of them 1."""
    server.options.answer = lambda body: "12345678"
    server.then("broken_off", "no_choices", "500", "error_in_200")

    async def ask(clients: Clients) -> Usage:
        chat = clients.direct_chat(settings(retries=3, price=Price(1.0, 10.0)))
        with pytest.raises(ServerError):
            await chat.complete([Message("user", "x" * 20)])
        return clients.usage

    assert within(ask) == Usage(10, 4, calls=2, cost_usd=pytest.approx(50e-6))


@pytest.mark.parametrize("fault", ["no_usage", "zero_usage"])
def test_without_usage_figures_tokens_are_estimated_not_zero(
    fault: str, server: FakeOpenAI, ask: Callable[..., Reply]
) -> None:
    """24 characters, a quarter of a token each; the reply has 8. A budget must bind."""
    server.options.answer = lambda body: "12345678"
    server.then(fault)
    assert ask("x" * 24).usage == Usage(6, 2, calls=1, unpriced=1)


def test_a_schema_is_sent_as_response_format(server: FakeOpenAI, ask_json: Any) -> None:
    ask_json()
    form = server.chats[0].body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("forms", "tried"),
    [
        (("json_object",), ["json_schema", "json_object", "json_object"]),
        ((), ["json_schema", "json_object", None, None]),
    ],
)
def test_a_server_without_schemas_is_asked_in_words_and_that_is_remembered(
    forms: tuple[str, ...], tried: list[str | None], server: FakeOpenAI, ask_json: Any
) -> None:
    """Two questions, one at a time."""
    server.options.forms = forms
    replies = ask_json(2, concurrency=1)
    sent = [(seen.body.get("response_format") or {}).get("type") for seen in server.chats]
    assert sent == tried
    assert "in this form" in server.chats[-1].body["messages"][-1]["content"]
    assert [reply.text for reply in replies] == ['{"score": 0}'] * 2 or len(replies) == 2


def test_many_at_once_that_meet_such_a_server_are_all_answered(
    server: FakeOpenAI, ask_json: Any
) -> None:
    server.options.forms = ()
    server.options.latency_s = 0.01
    assert len(ask_json(20)) == 20
    assert len(server.chats) <= 60


def test_a_form_that_the_user_names_is_not_left(server: FakeOpenAI, ask_json: Any) -> None:
    server.options.forms = ()
    with pytest.raises(BadRequestError, match=r"response_format\.type json_schema"):
        ask_json(form="json_schema")
    assert len(server.chats) == 1


def test_a_server_that_wants_the_newer_name_of_max_tokens_gets_it(
    server: FakeOpenAI, ask_json: Any
) -> None:
    server.options.takes_max_tokens = False
    ask_json(2, concurrency=1, max_tokens=50)
    sent = [[name for name in seen.body if "tokens" in name] for seen in server.chats]
    assert sent == [["max_tokens"], ["max_completion_tokens"], ["max_completion_tokens"]]


@pytest.mark.parametrize(
    ("body", "refusal", "sent"),
    [
        ({"max_tokens": 100_000}, "max_tokens is too large: 100000", 1),
        ({"max_tokens": 9}, "'max_tokens' is not supported, use 'max_completion_tokens'", 1),
        ({"max_tokens": None}, "max_tokens must be a number", 1),
        ({"max_completion_tokens": 10**6}, "max_completion_tokens is too large: 1000000", 2),
        ({"top_p": 0.5}, "max_tokens is too large: 2048", 2),
    ],
)
def test_a_limit_of_the_users_own_body_is_neither_renamed_nor_left_out(
    server: FakeOpenAI, ask: Callable[..., Reply], body: Any, refusal: str, sent: int
) -> None:
    """Where another is left out or renamed, a request without it is sent once more."""
    server.then(*[f"400 {refusal}"] * 20)
    with pytest.raises(BadRequestError, match="not accepted"):
        ask(extra_body=body)
    assert len(server.chats) == sent
    assert [{**seen.body, **body} for seen in server.chats] == [seen.body for seen in server.chats]


def test_a_limit_of_the_users_own_body_takes_the_place_of_one_by_the_older_name(
    server: FakeOpenAI, ask: Callable[..., Reply]
) -> None:
    server.then("400 'max_tokens' and 'max_completion_tokens' at the same time")
    ask(extra_body={"max_completion_tokens": 50})
    sent = [[name for name in seen.body if "tokens" in name] for seen in server.chats]
    assert sent == [["max_tokens", "max_completion_tokens"], ["max_completion_tokens"]]


def test_all_that_was_sent_with_a_limit_without_room_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of requests in flight together, the first to learn of it was asked again alone."""
    chat = OpenAIChat(ClientSettings("m"))
    asked = asyncio.Event()

    async def post(path: str, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
        if "max_tokens" not in body:
            return {"choices": [{"message": {"content": "ok"}}]}, 0.1
        await asked.wait()
        error = BadRequestError("HTTP 400")
        error.said = "max_tokens is too large: 2048"
        raise error

    async def work() -> list[Any]:
        request = ChatRequest([Message("user", "?")], None, 2048)
        first = [asyncio.ensure_future(chat.ask(request)) for _ in range(3)]
        await asyncio.sleep(0)
        asked.set()
        found = await asyncio.gather(*first, return_exceptions=True)
        again = await chat.ask(request)
        await chat.aclose()
        return [*found, again.text]

    monkeypatch.setattr(chat._endpoint, "post", post)
    *found, text = asyncio.run(work())
    assert [type(one) for one in found] == [AskAgain] * 3
    assert text == "ok"


def test_a_content_in_parts_is_put_together(server: FakeOpenAI, ask: Callable[..., Reply]) -> None:
    """Thoughts are none of the answer, whichever part they are."""
    parts: Any = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    parts += [
        {"type": "reasoning", "text": "so b"},
        {"type": "thinking", "thinking": [{"text": "c"}]},
    ]
    server.then("null")
    assert ask("first").text == ""
    from pytest_rageval.clients.providers.openai_compatible import _text

    assert _text(parts) == "ab"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"choices": None},
        {"choices": {}},
        {"choices": "none"},
        {"choices": [None]},
        {"choices": [[]]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": "0.5"}]},
        {"choices": [{"text": "0.5"}]},
        {"choices": [{"message": {"content": {"text": "0.5"}}}]},
        {"choices": [{"message": {"content": [{"text": {"value": "0.5"}}]}}]},
    ],
    ids=json.dumps,
)
def test_an_answer_without_a_message_is_the_servers_failure(
    answer: dict[str, Any], server: FakeOpenAI, ask: Callable[..., Reply],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(server, "_chat", lambda seen, fault: (200, [], answer))
    with pytest.raises(ServerError, match=r"without choices\[0\]\.message, or") as caught:
        ask(retries=0)
    assert caught.value.is_transient


@pytest.mark.parametrize(
    "usage",
    [
        *(None, [], "12", {}, {"prompt_tokens": "12"}, {"prompt_tokens": -1}),
        *({"prompt_tokens": 1.5}, {"prompt_tokens": 10**399}, {"completion_tokens": 10**10}),
    ],
    ids=lambda usage: json.dumps(usage)[:40],
)
def test_usage_that_is_no_count_is_estimated(
    usage: Any, server: FakeOpenAI, ask: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[X10] 16 characters are about 4 tokens, and the 8 of the reply are 2: never none."""
    message = {"message": {"content": "x" * 8}}
    answer = {"choices": [message], "usage": usage}
    monkeypatch.setattr(server, "_chat", lambda seen, fault: (200, [], answer))
    assert ask("How good is it??").usage == Usage(4, 2, calls=1, unpriced=1)


@pytest.mark.parametrize(
    ("counts", "completion", "is_counted"),
    [
        ((100, 100, 5000), 4900, True),  # it thought, which the total alone tells
        *[((100, 100, total), 100, True) for total in (200, 150, 0, None, "5000", -1, 10**10)],
        *[((100, 0, 5000), 4900, True), ((100, 0, 100), 2, False), ((100, 0, None), 2, False)],
        ((300, 50, 8350, 8000), 50, True),  # Anthropic's, of which a gateway counts the total alone
        *[((prompt, 50, prompt + 8100, 8000), 100, True) for prompt in (300, 9000)],
        ((9000, 50, 10050, 1000, 8000), 50, True),  # of which the total has one alone
        ((1000, 10, 1510, 800), 510, True),  # the cached ones are among those of the prompt
        *[((0, 100, 5000), 2, False), ((100, None, 5000), 2, False)],
    ],
)
def test_a_total_tells_what_the_tokens_of_the_reply_leave_out(
    counts: tuple[Any, ...], completion: int, is_counted: bool,
    server: FakeOpenAI, ask: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The 8 characters of the reply are about 2 tokens; 0 tokens for them are none that count."""
    names = ("prompt_tokens", "completion_tokens", "total_tokens", "cache_read_input_tokens")
    names += ("cache_creation_input_tokens",)
    message = {"message": {"content": "x" * 8}}
    answer = {"choices": [message], "usage": dict(zip(names, counts, strict=False))}
    monkeypatch.setattr(server, "_chat", lambda seen, fault: (200, [], answer))
    reply = ask()
    assert (reply.usage.completion_tokens, reply.is_counted) == (completion, is_counted)


def test_an_index_may_be_text(server: FakeOpenAI, settings: Settings, within: Within) -> None:
    """As text, "10" comes before "2": the vectors would be those of other texts."""
    server.options.index = str
    texts = [f"text {number}" for number in range(12)]

    async def work(clients: Clients) -> Any:
        return await clients.embedding(settings()).embed(texts)

    for text, vector in zip(texts, within(work, RunSettings()), strict=True):
        assert list(vector) == pytest.approx(vector_of(text), abs=1e-7)


@pytest.mark.parametrize("takes_base64", [True, False])
def test_vectors_come_in_the_order_of_the_texts(
    takes_base64: bool, server: FakeOpenAI, settings: Settings, within: Within
) -> None:
    """The fake server sends them in the reverse order, with their index."""
    server.options.takes_base64 = takes_base64
    texts = ["one", "two", "three", "four"]

    async def work(clients: Clients) -> Any:
        client = clients.embedding(settings(price=Price(1e6)))
        first = await client.embed(texts)
        await client.embed(["five"])
        return first, clients.usage

    vectors, usage = within(work, RunSettings())
    for text, vector in zip(texts, vectors, strict=True):
        assert list(vector) == pytest.approx(vector_of(text), abs=1e-7)
    assert usage == Usage(4, 0, calls=2, cost_usd=4.0)  # 15 and 4 characters, 4 a token
    packed = [seen.body.get("encoding_format") for seen in server.embeddings]
    assert packed == (["base64"] * 2 if takes_base64 else ["base64", None, None])


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"index": 0}],
        [{"index": 0, "embedding": []}],
        [{"index": 0, "embedding": "***"}],
        [{"index": 0, "embedding": [0.1, "x"]}],
        [{"index": 0, "embedding": [float("nan")]}],
        [{"index": 1, "embedding": [0.1]}],
        [{"index": 0, "embedding": [0.1]}, {"index": 1, "embedding": [0.1]}],
    ],
)
def test_vectors_that_cannot_be_right_are_an_error(
    data: list[Any], server: FakeOpenAI, settings: Settings, within: Within,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(server, "_embeddings", lambda seen: (200, [], {"data": data}))

    async def work(clients: Clients) -> None:
        await clients.embedding(settings(retries=0)).embed(["a text"])

    with pytest.raises(ServerError, match="embedding"):
        within(work, RunSettings())


@pytest.mark.parametrize("stated", [True, -1, 2.5, "9", None])
def test_a_count_of_tokens_that_is_none_is_estimated(
    stated: object, server: FakeOpenAI, ask: Callable[..., Reply], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[R8] ``true`` is no token. 24 characters are 6."""
    import fake_openai

    made = fake_openai._completion
    odd = {"prompt_tokens": stated, "completion_tokens": 2}
    monkeypatch.setattr(fake_openai, "_completion", lambda *a: {**made(*a), "usage": odd})
    assert ask("x" * 24).usage == Usage(6, 2, calls=1, unpriced=1)

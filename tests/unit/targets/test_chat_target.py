"""A model as the system under test: what it is told, and which of its replies are answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI

from pytest_rageval.clients.accounting import run_usage
from pytest_rageval.clients.clients import Clients
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.model import Sample
from pytest_rageval.targets.base import TARGET_REGISTRY, Answer, TargetContext, TargetError
from pytest_rageval.targets.chat import ChatOptions, ChatTarget

pytest.importorskip("aiohttp")

SAMPLE = Sample("s", question="Where?", contexts=("In Paris.", "On the Seine."))


@pytest.fixture
def server(no_proxy: None) -> Iterator[FakeOpenAI]:
    with FakeOpenAI(answer=lambda body: "Paris") as running:
        yield running


@pytest.fixture
def ask(server: FakeOpenAI, tmp_path: Path) -> Callable[..., Answer]:
    """Return a function that asks the model once; the run's folder is ``tmp_path``."""

    def once(sample: Sample = SAMPLE, **options: Any) -> Answer:
        given = {"model": "m", "base_url": server.base_url, **options}
        made = ChatOptions.model_validate(given)
        limits = ClientSettings("", timeout_s=30.0, retries=0)

        async def run() -> Answer:
            clients = Clients(RunSettings(shared_dir=tmp_path))
            target = ChatTarget(made, made.settings(limits))
            target.use(clients)
            try:
                return await target.answer(sample)
            finally:
                await target.aclose()
                await clients.aclose()

        return asyncio.run(run())

    return once


def test_the_prompt_shows_the_row(server: FakeOpenAI, ask: Callable[..., Answer]) -> None:
    """[A16, A21] Contexts stand with a blank line between them."""
    found = ask(system="Answer in {id}.", prompt="{contexts}\n\nQ: {question}", seed=7)
    body = server.chats[0].body
    assert [turn["content"] for turn in body["messages"]] == [
        "Answer in s.",
        "In Paris.\n\nOn the Seine.\n\nQ: Where?",
    ]
    assert body["seed"] == 7
    assert (found.text, found.contexts, found.extra) == ("Paris", None, {"model": "m-fake"})
    assert found.latency_s is not None


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ("{question}", "Where?"),
        ("{contexts}", "In Paris.\n\nOn the Seine."),
        ("{references}", "Paris"),
        ("{metadata.lang}", "en"),
        ("{tags}", ""),
        ("{history}", ""),
        ("{metadata.n} {metadata.deep}", '3 {"er": "甲"}'),
        ("{metadata.n}", "3"),
        ("{metadata.none_yet}", "0"),
        ("{metadata.deep}", '{"er": "甲"}'),
        ("{reference_ids}", '{"d1": 2}'),
        ("{metadata.parts}", '[{"a": 1}]'),
    ],
)
def test_a_field_is_shown_as_text_also_alone(
    server: FakeOpenAI, ask: Callable[..., Answer], prompt: str, sent: str
) -> None:
    metadata = {"lang": "en", "n": 3, "none_yet": 0, "deep": {"er": "甲"}, "parts": [{"a": 1}]}
    known = {"references": ("Paris",), "reference_ids": {"d1": 2}, "metadata": metadata}
    ask(replace(SAMPLE, **known), prompt=prompt)
    assert [turn["content"] for turn in server.chats[0].body["messages"]] == [sent]


def test_a_temperature_is_sent_only_when_it_is_given(
    server: FakeOpenAI, ask: Callable[..., Answer]
) -> None:
    """The model is under test as it is; a judge's 0 is not for it."""
    ask()
    ask(temperature=0.7, max_tokens=5)
    assert "temperature" not in server.chats[0].body
    assert server.chats[1].body["temperature"] == 0.7
    assert server.chats[1].body["max_tokens"] == 5


def test_what_it_costs_is_counted(
    server: FakeOpenAI, ask: Callable[..., Answer], tmp_path: Path
) -> None:
    """[A16] In the run's usage, and beside the answer: `target.cost_usd` is of it."""
    found = ask(price={"input": 1.0, "output": 2.0})
    used = run_usage(tmp_path)
    assert used.calls == 1
    assert used.cost_usd == pytest.approx((used.prompt_tokens + 2 * used.completion_tokens) / 1e6)
    assert found.extra == {"model": "m-fake", "cost_usd": used.cost_usd}


@pytest.mark.parametrize(("fault", "text"), [("length", "Pa"), ("refusal", "I cannot help with t")])
def test_a_reply_that_a_judge_may_not_give_is_an_answer(
    server: FakeOpenAI, ask: Callable[..., Answer], fault: str, text: str
) -> None:
    """Cut off at max_tokens, or declining: so the system answers, and is scored for it."""
    server.then(fault)
    assert (ask().text or "").startswith(text)
    assert len(server.chats) == 1


def test_an_empty_reply_is_an_empty_answer(server: FakeOpenAI, ask: Callable[..., Answer]) -> None:
    """G9: what that counts as, the scenario's ``empty_answer`` says."""
    server.then("null")
    assert ask().text == ""


def test_a_failure_names_the_model(server: FakeOpenAI, ask: Callable[..., Answer]) -> None:
    server.then("401")
    with pytest.raises(ClientError, match="target 'm' at http://127.0.0.1"):
        ask()


def test_a_row_that_lacks_what_the_prompt_shows_is_not_asked(
    server: FakeOpenAI, ask: Callable[..., Answer]
) -> None:
    for prompt in ("{contexts}", "Read: {contexts}"):
        with pytest.raises(TargetError, match="not asked: the row"):
            ask(Sample("s", question="q"), prompt=prompt)
    assert server.chats == []


@pytest.mark.parametrize(
    ("options", "run", "message"),
    [
        ({"prompt": "{qestion}"}, {}, "Did you mean 'question'?"),
        ({"provider": "opnai"}, {}, "provider: unknown judge provider 'opnai'"),
        ({"api_key_env": "NOT_SET_1"}, {}, "the environment variable NOT_SET_1 is not set"),
        ({}, {"budget_usd": 1.0}, "price: needed for a budget"),
    ],
)
def test_what_is_wrong_is_known_before_anything_is_asked(
    options: dict[str, Any], run: dict[str, Any], message: str
) -> None:
    """[E12]"""
    given = ChatOptions.model_validate({"model": "m", "base_url": "http://h.test/v1", **options})
    context = TargetContext(run=RunSettings(**run))
    with pytest.raises(TargetError) as caught:
        TARGET_REGISTRY.get("chat").make(given, context)
    assert message in str(caught.value)


def test_the_identity_holds_prompts_and_parameters_but_no_secret() -> None:
    """[E9]"""
    base = {"model": "m", "base_url": "http://u:pw-secret@h.test/v1?k=s", "prompt": "{question}"}
    secret = {"headers": {"X": "sk-secret-1"}, "extra_body": {"key": "sk-secret-2"}}
    identity = ChatOptions.model_validate({**base, **secret}).identity()
    assert identity["prompt"] == "{question}"
    assert "secret" not in repr(identity)
    for change in ({"prompt": "Q: {question}"}, {"temperature": 1}, {"system": "x"}):
        assert ChatOptions.model_validate({**base, **secret, **change}).identity() != identity


def test_earlier_messages_are_sent_as_messages(
    server: FakeOpenAI, ask: Callable[..., Answer]
) -> None:
    """[G3] Unless the prompt says where they stand."""
    history = ({"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Eiffel."})
    later = replace(SAMPLE, history=history)
    ask(later, system="Be brief.")
    ask(later, prompt="{history}\nThen: {question}")
    first, second = (chat.body["messages"] for chat in server.chats)
    assert [(one["role"], one["content"]) for one in first] == [
        ("system", "Be brief."),
        ("user", "Who?"),
        ("assistant", "Eiffel."),
        ("user", "Where?"),
    ]
    assert [one["content"] for one in second] == ["user: Who?\nassistant: Eiffel.\nThen: Where?"]

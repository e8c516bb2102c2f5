"""Cache keys: what changes them, and how a difference is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.clients.accounting import Purpose
from pytest_rageval.clients.base import Message, ReplySchema
from pytest_rageval.clients.cache import (
    Key,
    answer_key,
    chat_key,
    explain_difference,
    nearest,
    vector_key,
)
from pytest_rageval.clients.settings import ClientSettings

SETTINGS = ClientSettings("m", base_url="http://host/v1", extra_body={"top_p": 1})
MESSAGES = [Message("system", "You judge."), Message("user", "Is the sky blue?")]
SCHEMA = ReplySchema("Verdict", {"type": "object", "properties": {"verdict": {"type": "integer"}}})
PURPOSE = Purpose("faithfulness", version=1, repeat=0, sample="s1")


def key(
    messages: list[Message] = MESSAGES,
    schema: ReplySchema | None = SCHEMA,
    purpose: Purpose = PURPOSE,
    **fields: Any,
) -> Key:
    return chat_key(replace(SETTINGS, **fields), messages, schema, purpose)


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "http://other/v1"},
        {"model": "n"},
        {"temperature": 0.5},
        {"temperature": None},
        {"max_tokens": 100},
        {"seed": 1},
        {"extra_body": {"top_p": 0.5}},
        {"extra_body": {"top_p": 1, "token": "t"}},
        {"extra_body": {}},
        {"base_url": "http://host/v1?api-version=1&deployment=a"},
        {"base_url": "http://host/v1?modelName=b"},
        {"headers": {"azureml-model-deployment": "blue"}},
        {"provider": "other"},
        {"schema": None},
        {"schema": ReplySchema("Verdict", {"type": "object"})},
        {"purpose": replace(PURPOSE, metric="recall")},
        {"purpose": replace(PURPOSE, version=2)},
        {"purpose": replace(PURPOSE, repeat=1)},
        {"messages": MESSAGES[1:]},
        {"messages": [MESSAGES[0], Message("user", "Is the sky blue? ")]},
        {"messages": [Message("user", "You judge."), MESSAGES[1]]},
    ],
    ids="-".join,
)
def test_everything_that_changes_an_answer_changes_the_key(change: dict[str, Any]) -> None:
    assert key(**change).sha256 != key().sha256


@pytest.mark.parametrize(
    "change",
    [
        {"purpose": replace(PURPOSE, sample="s2")},
        {"purpose": replace(PURPOSE, order=7)},
        {"role": "answer"},
        {"api_key_env": "OTHER"},
        {"headers": {"api-key": "x", "x-request-id": "1", "X-Model-Token": "x", "X-Title": "t"}},
        {"base_url": "http://host/v1?api-version=1&key=secret"},
        {"timeout_s": 1.0},
        {"concurrency": 1},
        {"retries": 0},
        {"form": "text"},
        {"base_url": "http://user:secret@host/v1/?key=secret"},
        {"schema": ReplySchema("Verdict", dict(reversed(SCHEMA.schema.items())))},
    ],
    ids="-".join,
)
def test_what_does_not_change_an_answer_leaves_the_key(change: dict[str, Any]) -> None:
    assert key(**change).sha256 == key().sha256
    assert "secret" not in key(**change).text


def test_a_header_that_names_the_model_counts_as_it_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A replay need not know its variable."""
    found = {key(headers={"X-Model": text}).sha256 for text in ("a", "b", "${MODEL_OF_GATEWAY}")}
    monkeypatch.setenv("MODEL_OF_GATEWAY", "b")
    assert key(headers={"x-model": "${MODEL_OF_GATEWAY}"}).sha256 in found
    assert len(found) == 3
    urls = [f"{name}={value}" for name in ("llmModel", "mymodel", "GPUEngine") for value in "ab"]
    assert len({key(base_url=f"http://host/v1?{url}").sha256 for url in urls}) == 6
    named = [{name: value} for name in ("X-LLMModel", "X-AIModel") for value in "ab"]
    assert len({key(headers=headers).sha256 for headers in named}) == 4


def test_what_is_added_to_requests_may_be_secret_and_is_in_no_key() -> None:
    """A digest stands for it: another value gives another key, and is told of by its name."""
    settings = replace(SETTINGS, extra_body={"token": "s3cret", "safety": {"level": "s3cret"}})
    other = replace(settings, extra_body={"token": "s3cret", "safety": {"level": "other"}})
    here = chat_key(settings, MESSAGES, SCHEMA, PURPOSE)
    there = chat_key(other, MESSAGES, SCHEMA, PURPOSE)
    vector = vector_key(settings, "a text", is_local=False)
    assert "s3cret" not in here.text + vector.text
    assert here.sha256 != there.sha256
    assert vector.sha256 != vector_key(other, "a text", is_local=False).sha256
    assert explain_difference(here.material, there.material) == "extra_body differs: safety"
    without = chat_key(replace(settings, extra_body={}), MESSAGES, SCHEMA, PURPOSE)
    assert (
        explain_difference(here.material, without.material) == "extra_body differs: safety, token"
    )


def test_a_lone_surrogate_has_a_key() -> None:
    assert len(key([Message("user", "\ud800")]).sha256) == 64


def test_a_vector_is_known_by_model_and_text_and_a_local_one_has_no_endpoint() -> None:
    one = vector_key(SETTINGS, "a text", is_local=False)
    assert one.sha256 != vector_key(SETTINGS, "another", is_local=False).sha256
    assert one.sha256 != vector_key(replace(SETTINGS, model="n"), "a text", is_local=False).sha256
    assert one.sha256 == vector_key(replace(SETTINGS, seed=1), "a text", is_local=False).sha256
    local = vector_key(SETTINGS, "a text", is_local=True)
    moved = replace(SETTINGS, base_url="http://other/v1")
    assert local.sha256 == vector_key(moved, "a text", is_local=True).sha256


def test_a_vector_of_changed_code_is_another_one() -> None:
    """What has no code that is known has the key that it had before."""
    one, other = (
        vector_key(replace(SETTINGS, source_sha256=digest), "a text", is_local=True)
        for digest in ("0" * 64, "1" * 64)
    )
    assert one.sha256 != other.sha256
    assert explain_difference(one.material, other.material) == "the function's file has changed"
    assert "source" not in vector_key(SETTINGS, "a text", is_local=True).material


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"model": "n"}, "model: 'm' here, 'n' in the cache"),
        ({"temperature": 0.5}, "temperature: 0.0 here, 0.5 in the cache"),
        ({"seed": 7}, "seed: not set here, 7 in the cache"),
        ({"purpose": replace(PURPOSE, version=2)}, "metric_version: 1 here, 2 in the cache"),
        ({"messages": MESSAGES[1:]}, "2 messages here, 1 in the cache"),
        (
            {"messages": [MESSAGES[0], Message("assistant", "Is the sky blue?")]},
            "message 2 is by user here, by assistant in the cache",
        ),
        (  # the 12th character is the first that differs
            {"messages": [MESSAGES[0], Message("user", "Is the sea blue?")]},
            "message 2 differs from character 9: 'Is the sky blue?' here, "
            "'Is the sea blue?' in the cache",
        ),
        (
            {"schema": ReplySchema("Verdict", {})},
            "the schema of the reply (Verdict) has changed",
        ),
        ({"headers": {"X-Model": "a"}}, "routing differs: headers.x-model"),
        ({"schema": None}, "schema: 'Verdict "),
        ({"model": "n", "seed": 7}, "model: 'm' here, 'n' in the cache; seed: not set here, 7"),
    ],
)
def test_a_difference_is_told_field_by_field(change: dict[str, Any], text: str) -> None:
    assert explain_difference(key().material, key(**change).material).startswith(text)


def of_target(row: dict[str, Any] | None = None, **options: Any) -> Key:
    """Return the key of the answer of a target over HTTP, which has none but these options."""
    identity = {"type": "http", "options": {"url": "http://service.example/ask", **options}}
    return answer_key(identity, {"question": "Why?", **(row or {})})


@pytest.mark.parametrize(
    ("here", "there", "text"),
    [
        (of_target(), of_target(answer="a2"), "options: answer: not set here, 'a2' in the cache"),
        (
            of_target(method="GET", headers={"A": "1", "B": "2"}),
            of_target(headers={"B": "3"}),
            "options: headers differs: A, B; options: method: 'GET' here, not set in the cache",
        ),
        (of_target(headers={"A": "1"}), of_target(), "options: headers differs: A"),
        (
            of_target({"id": {"a": 1}}),
            of_target({"id": "a"}),
            "row: id: {'a': 1} here, 'a' in the cache",
        ),
        (of_target({"id": {}}), of_target(), "row: id: {} here, not set in the cache"),
        (
            of_target(system="x" * 70 + "a"),
            of_target(system="x" * 70 + "b"),
            f"options: system differs from character 71: '{'x' * 12}a' here, "
            f"'{'x' * 12}b' in the cache",
        ),
        (
            of_target({"doc_name": "a", "metadata.lang": {"en": 1}}),
            of_target({"metadata.lang": {"de": 1}}),
            "row: doc_name: 'a' here, not set in the cache; row: metadata.lang differs: de, en",
        ),
        (
            of_target({"metadata.session_token": "tok-B2"}),
            of_target({"metadata.session_token": "tok-A1"}),
            "row: metadata.session_token differs",
        ),
        (
            answer_key({"type": "hook"}, {}),
            answer_key({"type": "hook", "variant": "v"}, {}),
            "variant: not set here, 'v' in the cache",
        ),
        (
            vector_key(SETTINGS, "a text", is_local=True),
            vector_key(replace(SETTINGS, source_sha256="ab"), "a text", is_local=True),
            "source: not set here, 'ab' in the cache",
        ),
    ],
)
def test_a_difference_of_a_target_is_told_by_its_names(here: Key, there: Key, text: str) -> None:
    assert explain_difference(here.material, there.material) == text


def test_a_difference_far_into_a_text_is_shown_with_a_little_before_it() -> None:
    here = key([Message("user", "x" * 5000 + "abc")]).material
    there = key([Message("user", "x" * 5000 + "abd")]).material
    assert explain_difference(here, there) == (
        f"message 1 differs from character 5003: '{'x' * 10}abc' here, '{'x' * 10}abd' in the cache"
    )


def test_the_nearest_key_differs_in_the_fewest_fields_then_in_its_text() -> None:
    far = key(model="n", seed=1).material
    near = key([MESSAGES[0], Message("user", "Is the sky grey?")]).material
    nearer = key([MESSAGES[0], Message("user", "Is the sky blue!")]).material
    assert nearest(key().material, [far, near, nearer]) is nearer
    assert nearest(key().material, [far]) is far
    assert nearest(key().material, []) is None

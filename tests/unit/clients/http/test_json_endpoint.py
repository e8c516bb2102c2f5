"""What can go wrong between us and a server: each fault, its kind and words, and no key in them."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import tomllib
import traceback
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI, bomb

from pytest_rageval.clients import http, json_endpoint
from pytest_rageval.clients.base import Message
from pytest_rageval.clients.clients import Clients, check_chat
from pytest_rageval.clients.errors import (
    AuthError,
    CallTimeoutError,
    ClientError,
    ConnectionFailed,
    RateLimitError,
    ServerError,
)
from pytest_rageval.clients.limits import retry
from pytest_rageval.clients.settings import ClientSettings, RunSettings

TABLES = tomllib.loads(Path(__file__).with_name("json_endpoint.toml").read_text("utf-8"))

KEY = "sk-live-0123456789abcdef"
Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first wait be a hundredth of what it is; what a server asks for stays."""
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.005)
    monkeypatch.setattr(retry, "LONGEST_WAIT_S", 0.3)


def failure(ask: Ask, **fields: Any) -> ClientError:
    with pytest.raises(ClientError) as caught:
        ask(**{"retries": 0, **fields})
    return caught.value


@pytest.mark.parametrize(
    ("fault", "kind", "is_transient", "words"),
    TABLES["a_fault_has_its_kind_and_says_what_to_do"],
)
def test_a_fault_has_its_kind_and_says_what_to_do(
    fault: str, kind: str, is_transient: bool, words: str, server: FakeOpenAI, ask: Ask
) -> None:
    server.then(fault)
    error = failure(ask)
    assert (type(error).__name__, error.is_transient) == (kind, is_transient)
    assert str(error).startswith("judge 'm'")
    assert words in str(error)
    assert len(server.chats) == 1


@pytest.mark.parametrize(
    ("error", "kind", "is_transient", "status"),
    [
        ({"code": 429}, "RateLimitError", True, 429),
        ({"code": "429"}, "RateLimitError", True, 429),
        ({"code": 1113, "message": "Insufficient balance"}, "QuotaError", False, 500),
        ({"code": "insufficient_quota"}, "QuotaError", False, 500),
        ({"code": "invalid_api_key"}, "AuthError", False, 500),
        ({"code": 1}, "ServerError", True, 500),  # a code of the provider's own
        ({"code": 302}, "ServerError", True, 500),
        ({"code": True}, "ServerError", True, 500),
        ("down", "ServerError", True, 500),
    ],
)
def test_an_error_in_a_reply_of_status_200_may_name_its_status(
    error: object,
    kind: str,
    is_transient: bool,
    status: int,
    server: FakeOpenAI,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import fake_openai

    reply = (200, [], {"error": error})
    monkeypatch.setitem(fake_openai._HTTP_FAULTS, "inside", lambda seen: reply)  # type: ignore[arg-type]
    server.then("inside")
    found = failure(ask, max_wait_s=0.0)
    assert (type(found).__name__, found.is_transient) == (kind, is_transient)
    assert f"(HTTP {status}" in str(found)


@pytest.mark.parametrize(("status", "body", "kind"), TABLES["no_credit_is_told_from_a_limit"])
def test_no_credit_is_told_from_a_limit_and_from_the_error_of_a_row(
    status: int,
    body: object,
    kind: str,
    server: FakeOpenAI,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A code says it anywhere, words only as the beginning of the message: a row may be quoted."""
    import fake_openai

    reply = (status, [], body)
    monkeypatch.setitem(fake_openai._HTTP_FAULTS, "says", lambda seen: reply)  # type: ignore[arg-type]
    server.then("says")
    found = failure(ask, max_wait_s=0.0)
    assert type(found).__name__ == kind
    assert ("the account has no credit left" in str(found)) is (kind == "QuotaError")


@pytest.mark.parametrize(
    "fault",
    "429 429:0.01 500 503:0.01 reset close cut html not_json empty_choices error_in_200".split(),
)
def test_what_passes_leaves_the_same_reply(fault: str, server: FakeOpenAI, ask: Ask) -> None:
    expected = ask("Well?", RunSettings())
    server.then(fault, fault)
    assert ask("Well?", RunSettings()).text == expected.text
    assert len(server.chats) == 4


def test_a_rate_limit_says_what_to_lower(server: FakeOpenAI, ask: Ask) -> None:
    server.then("429:9")
    error = failure(ask, max_wait_s=1.0)
    assert isinstance(error, RateLimitError)
    assert "lower judge.concurrency, or set judge.rpm or judge.tpm" in str(error)
    assert "the server asks to wait 9 s more, max_wait_s is 1" in str(error)


def test_all_calls_of_the_process_wait_when_the_server_asks_for_it(
    server: FakeOpenAI, settings: Callable[..., ClientSettings], within: Callable[..., Any]
) -> None:
    async def work(clients: Clients) -> None:
        chat = clients.chat(settings(concurrency=2))
        await asyncio.gather(*(chat.complete([Message("user", str(n))]) for n in range(6)))

    server.options.latency_s = 0.02
    server.then("429:0.3", "ok")
    within(work)
    first = server.chats[0].at
    late = [seen.at - first for seen in server.chats[2:]]
    assert min(late) >= 0.3


def test_no_other_call_waits_for_what_one_call_does_not_wait_for(
    server: FakeOpenAI, settings: Callable[..., ClientSettings], within: Callable[..., Any]
) -> None:
    async def work(clients: Clients) -> Any:
        chat = clients.chat(settings(concurrency=1))
        return await asyncio.gather(
            *(chat.complete([Message("user", str(n))]) for n in range(2)), return_exceptions=True
        )

    server.then("429:3600", "ok")
    began = time.monotonic()
    limited, answered = within(work)
    assert isinstance(limited, ClientError)
    assert answered.text
    assert time.monotonic() - began < 60.0


def test_what_a_call_is_asked_again_for_counts_with_its_rate_limits(
    server: FakeOpenAI, settings: Callable[..., ClientSettings], within: Callable[..., Any]
) -> None:
    """[R1] Two replies that cannot be used and nine rate limits: one more request is the last."""

    async def work(clients: Clients) -> Any:
        chat = clients.chat(settings(max_wait_s=600.0))
        return await chat.complete([Message("user", "Well?")], accept=float)

    server.then(*["429"] * 5, "ok", *["429"] * 4, "ok", *["429"] * 50)
    with pytest.raises(ClientError, match="a call gives up after 12 requests"):
        within(work)
    assert len(server.chats) == 12


@pytest.mark.full
@pytest.mark.parametrize("fault", ["endless", "bomb"])
@pytest.mark.parametrize("most_mb", [8.0, 0.5])
def test_a_reply_has_a_limit(fault: str, most_mb: float, server: FakeOpenAI, ask: Ask) -> None:
    """[R2] It holds while the reply is read, and for what it is unpacked; it is asked for once."""
    server.then(fault)
    bomb()  # which takes memory, too
    tracemalloc.start()
    error = failure(ask, max_mb=most_mb, retries=3)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(error, ServerError)
    assert str(error).endswith(f"the reply is larger than {most_mb:g} MB (judge.max_mb)")
    assert len(server.chats) == 1
    assert server.sent < (most_mb + 40) * 2**20  # the most that two sockets buffer among them
    assert most < (most_mb + 2) * 2**20


def test_embeddings_have_a_limit_of_their_own(
    server: FakeOpenAI, settings: Callable[..., ClientSettings], within: Callable[..., Any]
) -> None:
    """[R2]"""

    async def work(clients: Clients) -> Any:
        return await clients.embedding(settings(role="embedding", max_mb=1.0)).embed(["a"])

    server.then("endless")
    with pytest.raises(ClientError, match=r"the reply is larger than 1 MB \(embedding.max_mb\)"):
        within(work)


def test_a_server_that_hangs_is_left_after_the_timeout(server: FakeOpenAI, ask: Ask) -> None:
    server.then("hang")
    began = time.monotonic()
    error = failure(ask, timeout_s=0.2)
    assert time.monotonic() - began < 60.0
    assert isinstance(error, CallTimeoutError)
    assert str(error).endswith(
        "no answer in time (timeout_s is 0.2), though no other request was in flight; raise "
        "judge.timeout_s, or write a smaller judge.max_tokens"
    )


def test_a_server_that_is_not_there_is_unreachable(ask: Ask) -> None:
    error = failure(ask, base_url="http://127.0.0.1:9/v1")
    assert isinstance(error, ConnectionFailed)
    assert str(error).endswith("the connection failed (Connection refused)")
    error = failure(ask, base_url="http://127.0.0.1:9/v1", retries=20, max_wait_s=0.05)
    # On a busy machine it may be one attempt, and more than a second.
    wait = r"\(Connection refused\) \(\d+ attempts?; waited \d+ s, max_wait_s is 0\.05\)"
    assert re.search(wait, str(error))


@pytest.mark.parametrize("fault", ["501 no embeddings here", "505", "510"])
def test_what_a_server_will_never_do_is_said_at_once(
    fault: str, server: FakeOpenAI, ask: Ask
) -> None:
    """[R3]"""
    server.then(fault)
    error = failure(ask, retries=4)
    assert f"the server cannot do this (HTTP {fault[:3]}: this is fault {fault}" in str(error)
    assert len(server.chats) == 1


@pytest.mark.parametrize("fault", ["401", "403", "500 Authentication Error, No api key passed in."])
def test_a_key_that_was_not_sent_is_not_called_wrong(
    fault: str, server: FakeOpenAI, ask: Ask
) -> None:
    """[R13] A gateway says 500."""
    server.then(fault, fault)
    error = failure(ask, retries=4, api_key_env=None)
    assert isinstance(error, AuthError)
    assert (
        "no key was sent: set judge.api_key_env to the name of the environment variable that holds "
        "it (HTTP"
    ) in str(error)
    assert "the key is not accepted (HTTP" in str(failure(ask, retries=4))
    assert len(server.chats) == 2


def test_https_at_a_server_without_it_is_said_once(
    server: FakeOpenAI, settings: Any, within: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[R4] It waits for more of what is no HTTP; 15 s are 0.2 here. The next call fails at once."""
    monkeypatch.setattr("pytest_rageval.clients.http._CONNECT_S", 0.2)
    https = server.base_url.replace("http:", "https:")

    async def work(clients: Clients) -> list[str]:
        chat, found = clients.chat(settings(base_url=https, retries=4)), []
        for text in "ab":
            with pytest.raises(ConnectionFailed) as caught:
                await chat.complete([Message("user", text)])
            found.append(str(caught.value))
        return found

    one, two = within(work)
    assert (
        one
        == two
        == (
            f"judge 'm' at {https}: could not connect in 0.2 s "
            "(TLS; does the server speak https? Else write http://)"
        )
    )
    # The second one is without TLS, to see whether it takes any; the server may count it late.
    began = time.monotonic()
    while server.connections < 2 and time.monotonic() - began < 60.0:
        time.sleep(0.01)
    assert server.connections == 2


def test_a_missing_key_is_an_error_before_anything_is_sent(
    server: FakeOpenAI, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUDGE_KEY")
    assert str(failure(ask)) == (
        "judge 'm': api_key_env: the environment variable JUDGE_KEY is not set"
    )
    assert server.seen == []


FAULTS = (
    "ok 401 429 400 500 redirect html not_json no_choices reset cut hang refusal length "
    "error_in_200 html_502"
).split()


@pytest.mark.parametrize("fault", FAULTS)
def test_the_key_is_in_no_error_log_file_or_traceback(
    fault: str,
    server: FakeOpenAI,
    ask: Ask,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The fake server repeats the key in whatever it reports."""
    caplog.set_level(logging.DEBUG)
    server.then(*[fault] * 10)
    text = ""
    try:
        text = repr(ask(timeout_s=0.1 if fault == "hang" else 30.0, retries=1, max_wait_s=0.3))
    except ClientError as error:
        lines = traceback.TracebackException.from_exception(error, capture_locals=True)
        text = "".join(lines.format(chain=True)) + repr(error) + repr(vars(error))
        assert fault != "ok"
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    out, err = capfd.readouterr()
    everything = [text, caplog.text, out, err]
    everything += [path.read_text("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in everything if KEY in text or KEY[8:] in text]


def test_no_credential_goes_to_another_host(server: FakeOpenAI, ask: Ask) -> None:
    """A second server stands for the other host: it is never asked."""
    with FakeOpenAI() as other:
        there = f"Location: {other.base_url}/chat/completions"
        answers = {"redirect": lambda seen: (307, [there], {})}
        import fake_openai

        known = dict(fake_openai._HTTP_FAULTS)
        try:
            fake_openai._HTTP_FAULTS.update(answers)  # type: ignore[attr-defined]
            server.then("redirect")
            failure(ask)
        finally:
            fake_openai._HTTP_FAULTS.update(known)  # type: ignore[attr-defined]
        assert other.connections == 0


@pytest.mark.full
def test_a_proxy_of_the_environment_never_sees_a_key_in_the_clear(
    server: FakeOpenAI, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For http the proxy would read all; https goes through it in a tunnel."""
    with FakeOpenAI() as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        monkeypatch.setenv("http_proxy", address)
        monkeypatch.setenv("https_proxy", address)
        monkeypatch.setenv("no_proxy", "")
        assert ask().text
        assert proxy.connections == 0
        settings = ClientSettings("m", base_url="https://judge.test/v1")
        assert http.proxy_for(settings.base_url) == address
        monkeypatch.setenv("no_proxy", "judge.test")
        assert http.proxy_for(settings.base_url) is None


def test_connections_are_kept_and_as_many_as_requests_in_flight(
    server: FakeOpenAI, settings: Callable[..., ClientSettings], within: Callable[..., Any]
) -> None:
    async def work(clients: Clients) -> None:
        chat = clients.chat(settings(concurrency=5))
        await asyncio.gather(*(chat.complete([Message("user", str(n))]) for n in range(60)))

    server.options.latency_s = 0.005
    within(work)
    assert len(server.chats) == 60
    assert server.most_in_flight == 5
    assert server.connections == 5


def test_a_query_goes_along_and_is_not_shown(server: FakeOpenAI, ask: Ask) -> None:
    server.then("500")
    error = failure(ask, base_url=f"{server.base_url}/?api-version=1&key=secret-of-a-gateway")
    assert server.seen[0].path == "/v1/chat/completions?api-version=1&key=secret-of-a-gateway"
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-1"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert http.retry_after(headers) == seconds


def test_a_date_to_wait_for_is_turned_into_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """1445412480 is 07:28:00 GMT of that day."""
    monkeypatch.setattr(time, "time", lambda: 1445412480.0 - 30.0)
    assert http.retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 30.0


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"error": {"message": "Bad\\n thing", "code": "c"}}', "Bad thing c"),
        (b'{"error": "plain"}', "plain"),
        (b'{"message": "m"}', "m"),
        (b'{"detail": [{"loc": ["body"], "msg": "field required"}]}', "field required"),
        (b"upstream timed out", "upstream timed out"),
        (b"<html>nginx</html>", ""),
        (b"", ""),
        (b"[1]", "1"),
        (b"null", ""),
    ],
)
def test_what_a_server_says_is_found_in_any_form(raw: bytes, words: str) -> None:
    assert json_endpoint._server_says(raw) == words


@pytest.mark.parametrize(
    ("base_url", "problem"),
    [
        ("ftp://host/v1", "base_url: 'ftp://host/v1' is no http or https URL"),
        ("host/v1", "base_url: 'host/v1' is no http or https URL"),
        ("user:pass@host/v1", "base_url: 'host/v1' is no http or https URL"),
        ("https://user:pass@host/v1", "base_url: must not hold a user or password"),
    ],
)
def test_a_base_url_that_cannot_be_used_is_known_without_a_request(
    base_url: str, problem: str
) -> None:
    pytest.importorskip("aiohttp")
    (found,) = check_chat(ClientSettings("m", base_url=base_url), RunSettings())
    assert found.startswith(problem)
    assert "pass@" not in found


def test_without_aiohttp_the_pip_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: module != "aiohttp")
    (found,) = check_chat(ClientSettings("m"), RunSettings())
    assert (
        found == 'provider: openai needs the package aiohttp: pip install "pytest-rageval[judge]"'
    )

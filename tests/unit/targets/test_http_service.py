"""A service over HTTP: what it is sent, what its replies mean, and every way in which it fails."""

from __future__ import annotations

import json
import logging
import tomllib
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_app import Asked, FakeApp
from pydantic import ValidationError

from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.targets.base import (
    TARGET_REGISTRY,
    Answer,
    Target,
    TargetContext,
    TargetError,
)
from pytest_rageval.targets.http_service import HttpOptions

ROWS = tomllib.loads(Path(__file__).with_name("http_service.toml").read_text("utf-8"))

pytest.importorskip("aiohttp")

Ask = Callable[..., Answer]
KEY = "key-0123456789"
TEXT = "text/plain; charset=utf-8"


def failure(ask: Ask, question: str = "say Paris", **options: Any) -> TargetError | ClientError:
    with pytest.raises((TargetError, ClientError)) as caught:
        ask(question, **options)
    return caught.value


# What is sent.


def test_the_question_is_posted_as_json(app: FakeApp, ask: Ask) -> None:
    """[A21] The default: {"question": ...}; the answer by the names that data sets use."""
    found = ask()
    (seen,) = app.seen
    assert (seen.method, seen.path, seen.body) == ("POST", "/ask", {"question": "say Paris"})
    assert seen.headers["content-type"] == "application/json"
    assert found.text == "Paris"
    assert found.contexts == ("It is Paris.",)
    assert found.context_docs == ("paris.md",)
    assert found.retrieved_ids == ("paris",)
    assert found.extra == {"tokens": 12}


def test_the_body_is_a_template_over_the_row(app: FakeApp, ask: Ask) -> None:
    """[A21]"""
    ask(method="put", body={"question": "{question}", "in": {"lang": "{metadata.lang}"}, "k": 3})
    (seen,) = app.seen
    assert seen.method == "PUT"
    assert seen.body == {"question": "say Paris", "in": {"lang": "en"}, "k": 3}


@pytest.mark.parametrize(
    ("body", "kind", "raw"),
    [
        ('{"question": "{question}"}', "application/json", b'{"question": "say \\"x\\""}'),
        ('["{question}", "{doc_name}"]', "application/json", b'["say \\"x\\"", null]'),
        ('{"k": "{metadata.n}"}', "application/json", b'{"k": 3}'),
        ("Q: {question}", TEXT, b'Q: say "x"'),
        ("{question}", TEXT, b'say "x"'),
        ("{metadata.lang}", TEXT, b"en"),
        ("{metadata.n}", TEXT, b"3"),
        ("{{question}}", TEXT, b"{question}"),
        ("{contexts}", TEXT, b"a\n\nb"),
        ("{metadata.deep}", TEXT, '{"er": "甲"}'.encode()),
        ("{history}", TEXT, b""),
        ("Found: {metadata.no_parts}", TEXT, b"Found: "),
        ("{metadata.no_parts}", TEXT, b"[]"),
    ],
)
def test_a_body_may_be_text(app: FakeApp, ask: Ask, body: str, kind: str, raw: bytes) -> None:
    """[A21] One that spells JSON stays JSON, whatever the row says."""
    ask('say "x"', body=body)
    assert (app.seen[0].headers["content-type"], app.seen[0].raw) == (kind, raw)


@pytest.mark.parametrize("body", ["{doc_name}", "{metadata.none}", "About {doc_name}"])
def test_a_text_that_lacks_its_field_is_not_sent(app: FakeApp, ask: Ask, body: str) -> None:
    """The service would be asked about "None"."""
    assert "not asked: the row has no" in str(failure(ask, body=body))
    assert app.seen == []


def test_get_puts_the_question_into_the_query(app: FakeApp, ask: Ask) -> None:
    ask("a+b & c=ü 甲", method="GET", query={"k": 3, "exact": True})
    (seen,) = app.seen
    assert (seen.method, seen.raw) == ("GET", b"")
    assert seen.query == {"question": ["a+b & c=ü 甲"], "k": ["3"], "exact": ["true"]}


def test_a_query_that_names_fields_is_taken_as_it_is(app: FakeApp, ask: Ask) -> None:
    """A list is a parameter for each part; what the row lacks is left out."""
    query = {"q": "{question}", "lang": ["{metadata.lang}", "de"], "doc": "{doc_name}"}
    ask("Paris", method="GET", query=query, url=app.url("/Paris?v=1"))
    assert app.seen[0].query == {"v": ["1"], "q": ["Paris"], "lang": ["en", "de"]}


def test_a_place_in_the_url_is_quoted(app: FakeApp, ask: Ask) -> None:
    ask("a/b?ü", url=app.url("/ask/{question}?v=1"))
    assert app.seen[0].path == "/ask/a%2Fb%3F%C3%BC"
    assert app.seen[0].query == {"v": ["1"]}


def test_variables_of_the_environment_are_filled_in(
    app: FakeApp, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A21] In headers, URL, query and body."""
    monkeypatch.setenv("APP_URL", app.url(""))
    monkeypatch.setenv("APP_KEY", KEY)
    headers = {"Authorization": "Bearer ${APP_KEY}", "X-Number": 7}
    headers |= {"X-Json": '{"a": 1}', "X-Braces": "{{id}} {} { id }", "X-Two": "${APP_KEY}-{1}"}
    body = {"question": "{question}", "key": "${APP_KEY}"}
    ask(url="${APP_URL}/ask", headers=headers, query={"t": "${APP_KEY}"}, body=body)
    (seen,) = app.seen
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["x-number"] == "7"
    assert seen.headers["x-json"] == '{"a": 1}'
    assert seen.headers["x-braces"] == "{id} {} { id }"
    assert seen.headers["x-two"] == f"{KEY}-{{1}}"
    assert seen.query == {"t": [KEY]}
    assert seen.body["key"] == KEY


def test_a_user_in_the_url_becomes_a_header(app: FakeApp, ask: Ask) -> None:
    ask(url=f"http://user:p%40ss@127.0.0.1:{app.port}/ask")
    # base64 of user:p@ss
    assert app.seen[0].headers["authorization"] == "Basic dXNlcjpwQHNz"


def test_an_at_sign_in_the_query_leads_nowhere_else(app: FakeApp, ask: Ask) -> None:
    ask(url=f"http://127.0.0.1:{app.port}?mail=a@b.test/c")
    assert app.seen[0].query == {"mail": ["a@b.test/c"]}


# What the reply means.


def test_paths_pick_the_parts_of_a_reply(app: FakeApp, ask: Ask) -> None:
    """[A21] What they do not lead to goes along as extra."""
    hits = [{"body": "one", "doc": "a.md", "id": 7}, {"body": "two", "doc": "b.md", "id": 8}]
    app.answer = lambda asked: {"data": {"text": "Paris"}, "hits": hits, "took": 3}
    found = ask(
        answer="data.text",
        contexts="hits[*].body",
        context_docs="hits[*].doc",
        retrieved_ids="hits[*].id",
    )
    assert found.text == "Paris"
    assert found.contexts == ("one", "two")
    assert found.context_docs == ("a.md", "b.md")
    assert found.retrieved_ids == ("7", "8")
    assert found.extra == {"took": 3}


def test_a_path_that_leads_nowhere_is_an_error(app: FakeApp, ask: Ask) -> None:
    error = failure(ask, answer="answer", contexts="hits[*].text")
    assert str(error).startswith("its reply has nothing at 'hits[*].text': at its top there are")


STREAM = 'data: {"token": "Pa"}\n\ndata: {"token": "ris"}\n\ndata: {"contexts": ["c"]}\n\n'


@pytest.mark.parametrize(
    ("kind", "body", "text", "contexts"),
    [
        ("text/plain", "Paris", "Paris", None),
        ("text/plain", '{"answer": "Paris"}', "Paris", None),
        ("text/plain", "42", "42", None),
        ("application/json", '"Paris"', "Paris", None),
        ("application/json", '{"response": "Paris", "contexts": []}', "Paris", ()),
        ("text/event-stream", STREAM + "data: [DONE]\n\n", "Paris", ("c",)),
        ("text/event-stream", "data: Pa\n\ndata: ris\n\n", "Paris", None),
        (
            "text/event-stream",
            'data: {"choices": [{"delta": {"content": "Paris"}}]}\r\n\r\n: a remark\r\n\r\n',
            "Paris",
            None,
        ),
        ("application/x-ndjson", '{"text": "Pa"}\n{"text": "ris"}\n', "Paris", None),
    ],
)
def test_replies_of_many_kinds_are_answers(
    app: FakeApp, ask: Ask, kind: str, body: str, text: str, contexts: tuple[str, ...] | None
) -> None:
    """[A21]"""
    app.answer = lambda asked: (kind, body.encode())
    found = ask()
    assert (found.text, found.contexts) == (text, contexts)


def test_a_streamed_answer_is_picked_by_its_path(app: FakeApp, ask: Ask) -> None:
    events = 'data: {"d": {"t": "Pa"}}\n\ndata: {"d": {"t": "ris"}}\n\ndata: {"end": 1}\n\n'
    app.answer = lambda asked: ("text/event-stream", events.encode())
    assert ask(answer="d.t").text == "Paris"


# What goes wrong.


@pytest.mark.parametrize(
    ("fault", "kind", "is_transient", "words"),
    ROWS["failures_say_whether_asking_again_may_help"],
)
def test_failures_say_whether_asking_again_may_help(
    app: FakeApp, ask: Ask, fault: str, kind: str, is_transient: bool, words: str
) -> None:
    """[A21] A status 500 is the application's own failure; asking again would hide it."""
    error = failure(ask, f"{fault}|x")
    assert isinstance(error, ClientError)
    assert (type(error).__name__, error.is_transient) == (kind, is_transient)
    assert f"127.0.0.1:{app.port}: " in str(error)
    assert words in str(error)
    if fault == "429:2":
        assert error.retry_after_s == 2.0


@pytest.mark.parametrize(
    ("fault", "words"),
    ROWS["what_is_no_answer_is_an_error"],
)
def test_what_is_no_answer_is_an_error(ask: Ask, fault: str, words: str) -> None:
    """[A21] With the beginning of the reply; nothing of it is asked for again."""
    error = failure(ask, f"{fault}|x")
    assert isinstance(error, TargetError)
    assert words in str(error)


def test_nobody_there_is_an_error_that_names_the_place(ask: Ask) -> None:
    error = failure(ask, url="http://127.0.0.1:1/ask")
    assert str(error) == "127.0.0.1:1: the connection failed (Connection refused)"


def test_a_smaller_limit_ends_the_reading_early(ask: Ask) -> None:
    assert "the reply is larger than 0.5 MB" in str(failure(ask, "long|x", max_mb=0.5))


@pytest.mark.parametrize(
    "way", ["gzip", "gzip twice", "deflate", "deflate raw", "open stream, done", "open JSON"]
)
def test_a_reply_may_be_packed_and_end_with_the_connection(ask: Ask, way: str) -> None:
    """[R2] It is unpacked, and the last two show their end."""
    assert ask(f"{way}|x").text == "Paris"


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("endless", "the reply is larger than 1 MB (target.max_mb)"),
        ("gzip bomb", "the reply is larger than 1 MB (target.max_mb)"),
        ("gzip broken", "the reply cannot be unpacked"),
        ("gzip cut", "the reply is packed, and its end is missing"),
        ("gzip twice, cut", "the reply is packed, and its end is missing"),
        ("br", "the reply is packed as 'br', which was not asked for"),
    ],
)
def test_what_is_too_long_or_cannot_be_unpacked_is_an_error(
    app: FakeApp, ask: Ask, fault: str, words: str
) -> None:
    """[R2] No more is read or unpacked than the limit allows."""
    assert str(failure(ask, f"{fault}|x", max_mb=1)).endswith(words)
    assert app.sent < 41 * 2**20  # the most that two sockets buffer among them


# Redirects.


def test_a_redirect_on_the_same_host_is_followed(app: FakeApp, ask: Ask) -> None:
    found = ask("once to /other|Paris", headers={"X-Key": KEY})
    assert found.text == "Paris"
    assert [one.path for one in app.seen] == ["/ask", "/other"]
    assert app.seen[1].headers["x-key"] == KEY
    assert app.seen[1].body == app.seen[0].body


@pytest.mark.parametrize("status", [302, 303])
def test_what_was_posted_may_leave_its_result_elsewhere(
    app: FakeApp, ask: Ask, status: int
) -> None:
    app.answer = lambda asked: {"answer": f"{asked.method} {asked.body}"}
    assert ask(f"once {status} to /result|x").text == "GET None"


def test_a_service_that_has_moved_is_not_asked_without_the_question(app: FakeApp, ask: Ask) -> None:
    """A GET is what browsers make of it: any answer would not be to the question."""
    error = failure(ask, "once 301 to /v2/ask|x")
    assert str(error).endswith(f"has moved to {app.url('/v2/ask')} (HTTP 301); set url to that")
    assert len(app.seen) == 1


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.1:{port}"])
def test_an_allowed_host_gets_no_keys(app: FakeApp, ask: Ask, allowed: str) -> None:
    """[A21] Neither headers nor the user of the URL; what is asked goes along."""
    with FakeApp() as other:
        url = f"http://user:{KEY}@127.0.0.1:{app.port}/ask"
        hosts = [allowed.format(port=other.port)]
        headers = {"X-Key": KEY, "Cookie": f"s={KEY}", "Accept": "application/json"}
        question = f"to {other.url('/there')}|Paris"
        other.answer = lambda asked: {"answer": "here"}
        other._fault = lambda question: ""  # type: ignore[method-assign]
        found = ask(question, url=url, headers=headers, allow_redirects_to=hosts)
        assert found.text == "here"
        (seen,) = other.seen
    assert seen.headers["accept"] == "application/json"
    assert {"x-key", "cookie", "authorization"}.isdisjoint(seen.headers)
    assert seen.body == {"question": question}


@pytest.mark.parametrize(
    "options",
    [
        {"body": {"question": "{question}", "api_key": "swordfish"}},
        {"body": "{question} ${APP_KEY}"},
        {"query": {"token": KEY}},
    ],
)
def test_an_allowed_host_gets_no_body_or_query_with_a_key(
    app: FakeApp, ask: Ask, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """[A21] The query is in the redirect if the server puts it there."""
    monkeypatch.setenv("APP_KEY", KEY)
    with FakeApp() as other:
        goal = other.url("/there") + (f"?token={KEY}" if "query" in options else "")
        allowed = [f"127.0.0.1:{other.port}"]
        error = failure(ask, f"to {goal}|x", allow_redirects_to=allowed, **options)
        assert other.seen == []
    assert "which must not get a secret of the request" in str(error)
    assert KEY not in str(error)


def test_another_host_is_asked_only_where_that_is_allowed(app: FakeApp, ask: Ask) -> None:
    with FakeApp() as other:
        place = f"127.0.0.1:{other.port}"
        error = failure(ask, f"to {other.url('/there?key=' + KEY)}|x")
        assert f"redirects to another host, http://{place}/there; " in str(error)
        assert f"allow_redirects_to: [{place}]" in str(error)
        assert other.seen == []


# Secrets.


@pytest.mark.parametrize(
    "fault", ["500", "401", "429", "other", "broken", "html", "reset", "cut", "to http://h.test/?a"]
)
def test_no_failure_shows_a_key(
    app: FakeApp,
    ask: Ask,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """[A21] Neither message nor traceback nor log; the service repeats what it was sent."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("APP_KEY", KEY)
    url = f"http://user:{KEY}-url@127.0.0.1:{app.port}/ask?token={KEY}-query"
    headers = {"X-Key": "${APP_KEY}", "X-Literal": f"{KEY}-literal"}
    error = failure(ask, f"{fault}|x", url=url, headers=headers)
    shown = "".join(traceback.format_exception(error)) + caplog.text + repr(error)
    assert KEY not in shown
    assert "dXNlcjpr" not in shown  # base64 of user:k


HELD = "what it answers holds a secret that it was sent ({}): not shown, not scored"
SENT = {"APP_KEY": KEY, "TENANT": "acme-support", "BOT_PASS": "correct-horse"}


def echo(asked: Asked) -> dict[str, Any]:
    """Answer with all that was sent."""
    return {
        "answer": f"{asked.path} {asked.query} {asked.raw.decode()} {[*asked.headers.values()]}"
    }


@pytest.fixture
def echoed(app: FakeApp, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask a service that repeats what it gets; a ``url`` is what follows its own."""
    for name, value in SENT.items():
        monkeypatch.setenv(name, value)
    app.answer = echo
    return lambda url="", **options: ask(url=app.url() + url, **options)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"headers": {"X-Env": "${APP_KEY}"}}, "${APP_KEY}"),
        ({"headers": {"Authorization": "Bearer swordfish"}}, "headers.Authorization"),
        ({"headers": {"X-Api-Key": "4711-abcd"}}, "headers.X-Api-Key"),
        ({"query": {"token": "swordfish9"}}, "query.token"),
        ({"body": {"deep": [{"apiKey": "swordfish"}]}}, "body.deep.apiKey"),
        ({"body": {"api_keys": ["k3y-abc-999x"]}}, "body.api_keys"),
        ({"body": {"key": "sk-proj-abcdefghijklmnop"}}, "body.key"),
        ({"body": {"authority_password": "correct-horse"}}, "body.authority_password"),
        ({"body": '{"password": "open sesame"}'}, "body.password"),
        ({"body": {"auth": {"password": 73311337}}}, "body.auth.password"),
        ({"query": {"api_key": 1234567890}}, "query.api_key"),
        ({"url": "?api_key=correct-horse"}, "the query of url"),
        ({"url": "/${APP_KEY}"}, "${APP_KEY}"),
    ],
)
def test_an_answer_that_holds_a_secret_is_an_error(
    echoed: Ask, options: dict[str, Any], place: str
) -> None:
    """[A21] Without it, a bot that recites its key passed, and nothing said so."""
    with pytest.raises(TargetError) as error:
        echoed(**options)
    assert str(error.value) == HELD.format(place)


@pytest.mark.parametrize(
    ("options", "sent", "place"),
    [
        ({"headers": {"X-Model": "gpt-4o-mini"}}, "gpt-4o-mini", "headers.X-Model"),
        ({"headers": {"HTTP-Referer": "http://h?a1b2c3d4"}}, "a1b2c3d4", "headers.HTTP-Referer"),
        ({"headers": {"X-Tenant": "${TENANT}"}}, "acme-support", "${TENANT}"),
        ({"body": {"pass": "${BOT_PASS}"}}, "correct-horse", "${BOT_PASS}"),
        ({"body": {"filter": {"key": "handbook-v2"}}}, "handbook-v2", "body.filter.key"),
        ({"body": {"secretary": "Jane van-Doe"}}, "Jane van-Doe", "body.secretary"),
        ({"url": "?passcode=48291734"}, "48291734", "the query of url"),
        ({"body": {"pin": "hunter2hunter2"}}, "hunter2", "body.pin"),
        ({"body": {"pin": ["hunter2hunter2"]}}, "hunter2", "body.pin"),
        ({"body": {"doorCode": "hunter2hunter2"}}, "hunter2", "body.doorCode"),
        ({"body": {"mfa_code": "a1b2-c3d4-e5f6"}}, "a1b2", "body.mfa_code"),
        ({"query": {"code": "hunter2hunter2"}}, "hunter2", "query.code"),
        ({"body": {"pin": 73311337}}, "73311337", "body.pin"),
        ({"body": {"author_pin": "77665544"}}, "77665544", "body.author_pin"),
        ({"headers": {"X-Passcode": "48291734"}}, "48291734", "headers.X-Passcode"),
        ({"body": {"authority_token": "open-sesame-now"}}, "open-sesame", "body.authority_token"),
        ({"body": {"session_id": "a1b2c3d4e5f6"}}, "a1b2c3d4", "body.session_id"),
        ({"body": {"auth": "correct-horse-battery"}}, "correct-horse", "body.auth"),
        ({"url": "?key=correcthorsebattery"}, "correcthorse", "the query of url"),
        ({"url": "?pass=correct-horse"}, "correct-horse", "the query of url"),
        ({"url": "?index=handbook-v2"}, "handbook-v2", "the query of url"),
    ],
)
def test_what_may_be_a_secret_is_taken_out_and_that_is_said(
    echoed: Ask, options: dict[str, Any], sent: str, place: str
) -> None:
    found = echoed(**options)
    assert "***" in str(found.text)
    assert sent not in str(found)
    assert f"may be a secret ({place})" in str(found.remark)


@pytest.mark.parametrize(
    "options",
    [
        *[{"headers": {"X-Team": "research-team"}}, {"headers": {"X-Title": "Acme 2024"}}],
        *[{"url": "?api-version=2024-10-21"}, {"url": "?pages=refund-policy"}],
        *[{"body": {"keywords": "refund policy"}}, {"query": {"author": "Jürgen van Doe"}}],
        *[{"body": {"sort_key": "publication_date"}}, {"body": {"keywords_en": "refund policy"}}],
        *[{"body": {"course_code": "COMP-1010"}}, {"headers": {"X-Country-Code": "Deutschland"}}],
        *[{"query": {"language_code": "Portuguese"}}, {"body": {"password_version": 20240101}}],
        {"body": {"hs_code": 84713000}},
    ],
)
def test_an_answer_may_hold_the_words_that_were_sent(echoed: Ask, options: dict[str, Any]) -> None:
    """As ***, they made a right answer wrong."""
    found = echoed(**options)
    assert "***" not in str(found.text)
    assert found.remark is None


@pytest.mark.parametrize(
    ("reply", "paths"),
    [
        ({"answer": "Paris", "contexts": ["one", f"two {KEY}"]}, {}),
        ({"answer": "Paris", "retrieved_ids": [KEY]}, {}),
        ({"answer": "Paris", "citations": [KEY]}, {}),
        ({"d": [{"t": f"It is {KEY}"}], "ids": []}, {"answer": "d[0].t", "retrieved_ids": "ids"}),
        ({"answer": "It is " + "".join(f"%{ord(one):02x}" for one in KEY)}, {}),
    ],
)
def test_what_is_scored_beside_an_answer_holds_no_secret(
    app: FakeApp, ask: Ask, reply: dict[str, Any], paths: dict[str, str]
) -> None:
    app.answer = lambda asked: reply
    assert str(failure(ask, headers={"X-Key": KEY}, **paths)) == HELD.format("headers.X-Key")


def test_a_secret_beside_the_answer_is_hidden_and_does_no_harm(app: FakeApp, ask: Ask) -> None:
    """An answer may have asterisks of its own, and a path may be what was sent."""
    debug = {"sent": [KEY], KEY: 20240001, "took": 0.1202400012}
    app.answer = lambda asked: {"found_v2": "It is ***.", "debug": debug}
    body = {"output_key": "found_v2", "question": "{question}"}
    found = ask(headers={"X-Key": KEY, "X-Session": "20240001"}, body=body, answer="found_v2")
    assert (found.text, found.remark) == ("It is ***.", None)
    assert found.extra == {"debug": {"sent": ["***"], "***": "***", "took": 0.1202400012}}


@pytest.mark.parametrize(
    ("kind", "made", "paths"),
    [
        ("text/event-stream", "".join, {}),
        ("application/json", lambda events: f"[{','.join(events)}]", {"answer": "[*].token"}),
    ],
)
def test_a_key_in_parts_is_found_where_they_are_joined(
    app: FakeApp,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    made: Callable[[list[str]], str],
    paths: dict[str, str],
) -> None:
    """[A21] Models write a few letters at a time."""
    monkeypatch.setenv("APP_KEY", KEY)
    parts = [json.dumps({"token": part}) for part in ("It is ", KEY[:4], KEY[4:], ".")]
    events = [f"data: {part}\n\n" for part in parts] if kind == "text/event-stream" else parts
    app.answer = lambda asked: (kind, made(events).encode())
    error = failure(ask, headers={"X-Key": "${APP_KEY}"}, **paths)
    assert str(error) == HELD.format("${APP_KEY}, headers.X-Key")


# What is known before anything is asked.


def make(monkeypatch: pytest.MonkeyPatch | None = None, **options: Any) -> Target:
    definition = TARGET_REGISTRY.get("http")
    return definition.make(HttpOptions.model_validate(options), TargetContext())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "${NOT_SET_1}/ask"}, "url: the environment variable NOT_SET_1 is not set"),
        (
            {"url": "http://h.test", "headers": {"X-A": "${NOT_SET_1}"}},
            "headers.X-A: the environment variable NOT_SET_1 is not set",
        ),
        ({"url": "http://h.test", "body": {"q": "{qestion}"}}, "Did you mean 'question'?"),
        ({"url": "http://h.test", "headers": {"X-A": "ü"}}, "holds characters that no header has"),
        ({"url": "http://h.test", "headers": {"X-A": "{nope}"}}, "unknown field 'nope'"),
        ({"url": "http://h.test", "headers": {"X-A": "{id}"}}, "headers.X-A: {id} is a field"),
        ({"url": "http://h.test", "headers": {"X-A": "a-{metadata.n}"}}, "{metadata.n} is a"),
        ({"url": "http://h.test", "headers": {"X-A": "{question}"}}, "{question} is a field"),
        ({"url": "http://:80/x"}, "url: expected one like http://127.0.0.1:8000/ask"),
        ({"url": "/ask"}, "url: expected one like http://127.0.0.1:8000/ask"),
        ({"url": "http://h.test:99999"}, "url: expected one like"),
    ],
)
def test_what_cannot_be_sent_is_known_before(options: dict[str, Any], message: str) -> None:
    """[E12]"""
    with pytest.raises(TargetError) as caught:
        make(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": f"ftp://user:{KEY}@h.test"}, "begins with http:// or https://"),
        ({}, "needs 'url', or a 'fixture' with the URL"),
        ({"url": "http://h.test", "answer": "a..b"}, "'a..b' is not a path"),
        ({"url": "http://h.test", "method": "GET", "body": {}}, "a GET request has no body"),
        ({"url": "http://h.test", "method": "DELETE"}, "Input should be 'POST', 'GET', 'PUT'"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HttpOptions.model_validate(options)
    details = caught.value.errors(include_input=False)
    assert message in details[0]["msg"]
    assert KEY not in details[0]["msg"]


def test_without_aiohttp_the_command_to_install_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: False)
    with pytest.raises(MissingExtraError, match=r'pip install "pytest-rageval\[judge\]"'):
        make(url="http://h.test")


def test_replay_needs_neither_the_package_nor_the_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """[E9]"""
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: False)
    run = RunSettings(cache_mode="replay")
    options = HttpOptions(url="http://h.test", headers={"X-A": "${NOT_SET_1}"})
    assert TARGET_REGISTRY.get("http").make(options, TargetContext(run=run))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "is 3 (int), expected the URL of a server"),
        (f"user:{KEY}@host", "is text (str), expected the URL of a server"),
    ],
)
def test_a_fixture_gives_the_url(app: FakeApp, value: object, message: str) -> None:
    """[E6] Anything else is refused, and not quoted."""
    definition = TARGET_REGISTRY.get("http")
    options = HttpOptions(fixture="app_url", url="/ask")
    assert definition.from_value is not None
    with pytest.raises(TargetError) as caught:
        definition.from_value(options, TargetContext(), value)
    assert str(caught.value) == message


# What is told of it.


def test_messages_and_cache_keys_hold_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_HOST", "staging.test")
    options = HttpOptions(
        url=f"https://user:{KEY}@${{APP_HOST}}/ask?token={KEY}",
        headers={"X-Key": KEY},
        body={"key": KEY, "question": "{question}"},
        answer="data.text",
    )
    assert options.shown == "POST https://${APP_HOST}/ask"
    identity = options.identity()
    assert identity["url"] == "https://staging.test/ask"
    assert identity["answer"] == "data.text"
    assert KEY not in json.dumps(identity)


def test_another_server_body_or_header_is_another_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """[E9] A key that changes is not, as long as its variable is named."""
    monkeypatch.setenv("APP_KEY", "one")
    base: dict[str, Any] = {"url": "http://h.test/ask", "headers": {"X-Key": "${APP_KEY}"}}
    own = HttpOptions(**base).identity()
    for change in (
        {"url": "http://other.test/ask"},
        {"url": "http://h.test/ask?v=2"},
        {"headers": {"X-Key": "${APP_KEY}", "X-Model": "b"}},
        {"body": {"question": "{question}", "k": 5}},
        {"method": "PUT"},
        {"answer": "text"},
    ):
        assert HttpOptions(**{**base, **change}).identity() != own
    monkeypatch.setenv("APP_KEY", "two")
    assert HttpOptions(**base).identity() == own


@pytest.mark.parametrize(
    ("part", "is_another"),
    [
        ({"body": {"pipeline": "${PIPELINE}", "q": "{question}"}}, True),
        ({"body": {"deep": [{"pipeline": "v${PIPELINE}"}], "q": "{question}"}}, True),
        ({"body": "pipeline=${PIPELINE}&q={question}"}, True),
        ({"query": {"pipeline": "${PIPELINE}"}}, True),
        ({"headers": {"X-Tenant": "${PIPELINE}"}}, True),
        ({"headers": {"X-Keywords": "${PIPELINE}"}}, True),
        ({"url": "http://h.test/${PIPELINE}"}, True),
        ({"url": "http://h.test/ask?pipeline=${PIPELINE}"}, True),
        ({"body": {"max_tokens": "${MAX_TOKENS}", "q": "{question}"}}, True),
        # A key that is renewed is no other system; replay has none at all.
        ({"headers": {"Authorization": "Bearer ${PIPELINE}"}}, False),
        ({"headers": {"X-Api-Key": "${PIPELINE}"}}, False),
        ({"headers": {"X-Caller": "${APP_TOKEN}"}}, False),
        ({"body": {"secret": "${APP_SECRET}", "q": "{question}"}}, False),
        ({"url": "http://h.test/ask?k=${APP_API_KEY}"}, False),
        ({"url": "http://${PIPELINE}:${APP_PASSWORD}@h.test/ask"}, False),
        ({"url": "http://h.test/${APP_TOKEN}/ask"}, False),
    ],
)
def test_another_value_of_a_variable_is_another_target_unless_it_is_a_secret(
    part: dict[str, Any], is_another: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E9] Only digests of the values are in the key."""
    names = ("PIPELINE", "MAX_TOKENS", "APP_TOKEN", "APP_SECRET", "APP_API_KEY", "APP_PASSWORD")
    options, found = HttpOptions(**{"url": "http://h.test/ask", **part}), []
    for value in ("value-one", "value-two"):
        for name in names:
            monkeypatch.setenv(name, value)
        found.append(options.identity())
        hidden = {name: one for name, one in found[-1].items() if name != "url" or not is_another}
        assert value not in json.dumps(hidden)
    assert (found[0] != found[1]) is is_another


def test_only_what_is_sent_is_shown_to_the_service() -> None:
    assert HttpOptions(url="http://h.test").fields == {"question"}
    body = {"q": "{query}", "l": "{metadata.lang}"}
    assert HttpOptions(url="http://h.test", body=body).fields == {"question", "metadata.lang"}
    assert HttpOptions(url="http://h.test/{id}").sent_body is None

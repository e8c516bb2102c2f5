"""No client of the web app, however odd, keeps it from answering the others or from ending."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from web_client import WebClient, served

pytest.importorskip("aiohttp", reason="the web app needs aiohttp")

from pytest_rageval.serving.web import dbgpt

SCENARIO = """
name: bot
metrics: [em]
dataset: [{id: r1, answer: red, references: [red]}]
"""
SLOW = """
name: slow
metrics: [{use: "slow:slow"}]
dataset: [{id: r1, answer: red, references: [red]}]
"""
KEY = "endpoint-key-0123456789"
SOON_S = 60.0
"""More than any answer of a busy machine takes, far less than for ever."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebClient]:
    """Return an app whose end is tested, too: it comes soon, whoever is still connected."""
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "bot.rageval.yaml").write_text(SCENARIO)
    (folder / "slow.rageval.yaml").write_text(SLOW)
    (folder / "slow.py").write_text("import time\ndef slow(answer):\n    time.sleep(600)\n")
    with served(folder, RAGEVAL_API_KEY=KEY) as client:
        yield client
        began = time.monotonic()
        assert client.interrupt() == 0
        assert time.monotonic() - began < SOON_S


def start(app: WebClient, name: str) -> str:
    """Start a run, and return where its events are."""
    reply = app.send("POST", f"/api/scenarios/{app.scenario(name)}/runs", {})
    assert reply.status == 201, reply
    return f"/api/runs/{reply.body['run']}/events"


@pytest.fixture(scope="module")
def ended(app: WebClient) -> str:
    """Return where the events of a run are that has ended."""
    path = start(app, "bot")
    app.send("GET", path)
    return path


def raw(app: WebClient, method: str, path: str, more: Mapping[str, str] | None = None) -> bytes:
    """Return the head of a good request."""
    lines = [f"{name}: {value}" for name, value in {**app.headers(method), **(more or {})}.items()]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()


def connected(app: WebClient, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", app.port), timeout=SOON_S)
    connection.sendall(sent)
    return connection


def check_others(app: WebClient) -> None:
    """See a second client answered in time."""
    began = time.monotonic()
    app.get("/api/scenarios")
    assert time.monotonic() - began < SOON_S


def answered(app: WebClient, path: str, last: str) -> bytes:
    """Return the reply to a request for events, the whole of it if it ends in time."""
    with connected(app, raw(app, "GET", path, {"Last-Event-ID": last, "Connection": "close"})) as c:
        check_others(app)
        return b"".join(iter(lambda: c.recv(2**16), b""))


@pytest.mark.parametrize("last", ["99999", "999999999"])
def test_an_event_that_never_was_gets_all_of_them(app: WebClient, ended: str, last: str) -> None:
    """[X1] Of a run that has ended, too: whoever asks hears how it ended."""
    found = answered(app, ended, last)
    assert found.startswith(b"HTTP/1.1 200 ")
    assert b'"event": "result"' in found
    assert b'"event": "end"' in found


def test_an_event_that_is_still_to_come_spins_for_nobody(app: WebClient) -> None:
    """[X1] While the run goes on."""
    path = start(app, "slow")
    with connected(app, raw(app, "GET", path, {"Last-Event-ID": "99999"})):
        check_others(app)
        assert app.send("DELETE", path.removesuffix("/events")).status == 200


@pytest.mark.parametrize("last", ["-1", "-99999999999999999999", "1e9", "x", "", "9" * 4000, "٣"])
def test_what_is_no_event_is_refused(app: WebClient, ended: str, last: str) -> None:
    """[X1]"""
    assert answered(app, ended, last).startswith(b"HTTP/1.1 400 ")


def test_a_client_that_never_reads_keeps_nobody_waiting(app: WebClient, ended: str) -> None:
    """[X1] Its replies fill the buffers of its socket: 20 MB where each has 10 KB."""
    for path in (ended, "/assets/app.js", "/api/scenarios"):
        connection = connected(app, raw(app, "GET", path))
        connection.settimeout(0.5)
        with contextlib.suppress(TimeoutError):  # the app takes no more from it
            connection.sendall(raw(app, "GET", path) * 2000)
        check_others(app)
        NEVER_CLOSED.append(connection)


NEVER_CLOSED: list[socket.socket] = []
"""Clients that stay until the app has ended."""


def test_a_client_that_leaves_in_the_middle_keeps_nobody_waiting(app: WebClient) -> None:
    """[X1] Twenty of them, while the run goes on; those that stay hear its end."""
    path = start(app, "slow")
    staying = connected(app, raw(app, "GET", path, {"Connection": "close"}))
    for _ in range(20):
        with connected(app, raw(app, "GET", path)) as leaving:
            leaving.recv(10)
    check_others(app)
    assert app.send("DELETE", path.removesuffix("/events")).status == 200
    with staying:
        assert b'"stopped"' in b"".join(iter(lambda: staying.recv(2**16), b""))


def test_half_a_request_keeps_nobody_waiting(app: WebClient) -> None:
    """[X1] Half a head, or half a body: also where a run would begin after it."""
    path = f"/api/scenarios/{app.scenario('bot')}/runs"
    whole = {"Content-Length": "100"}
    program = {**whole, "Authorization": f"Bearer {KEY}"}
    for sent in (
        b"GET /api/scen",
        raw(app, "GET", "/api/scenarios")[:-2],
        raw(app, "POST", path, whole) + b"{",
        raw(app, "POST", path, {"Transfer-Encoding": "chunked"}) + b"5\r\n{",
        raw(app, "POST", f"{dbgpt.PREFIX}evaluation", program) + b"{",
    ):
        NEVER_CLOSED.append(connected(app, sent))
        check_others(app)
    assert app.get("/api/scenarios")["running"] is None


def test_half_a_request_is_not_waited_for_longer_than_a_minute() -> None:
    """[X1] A body has a time limit, and so has an idle connection."""
    from pytest_rageval.serving.web import app as app_module
    from pytest_rageval.serving.web import refusals

    assert refusals.BODY_S <= 60.0
    assert app_module.IDLE_S <= 60.0


PACKED = gzip.compress(json.dumps({"metric_weights": {}}).encode())
BROKEN = {
    "no gzip at all": b"{}",
    "damaged": PACKED[:12] + b"\xff\xff\xff" + PACKED[15:],
    "cut off": PACKED[:-12],
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_body_that_cannot_be_unpacked_is_refused(app: WebClient, kind: str) -> None:
    """[X10] With a sentence, on the page's routes and for programs."""
    gzipped = {"Content-Encoding": "gzip"}
    path = f"/api/scenarios/{app.scenario('bot')}/settings"
    reply = app.send("POST", path, BROKEN[kind], gzipped)
    assert (reply.status, reply.body["error"][:8]) == (400, "the body"), reply
    own = {**gzipped, "Cookie": None, "Origin": None, "Authorization": f"Bearer {KEY}"}
    reply = app.send("POST", f"{dbgpt.PREFIX}evaluation", BROKEN[kind], own)
    assert (reply.status, reply.body["err_msg"][:8]) == (400, "the body"), reply


def test_a_small_body_that_unpacks_to_a_large_one_is_refused(app: WebClient) -> None:
    """[X10] 64 MB of blanks are 64 KB of gzip."""
    bomb = gzip.compress(b" " * 2**26)
    own = {"Cookie": None, "Origin": None, "Authorization": f"Bearer {KEY}"}
    path = f"/api/scenarios/{app.scenario('bot')}/settings"
    for where, change in ((path, {}), (f"{dbgpt.PREFIX}evaluation", own)):
        reply = app.send("POST", where, bomb, {**change, "Content-Encoding": "gzip"})
        assert reply.status == 413
        check_others(app)


def test_while_a_run_goes_on_unknown_names_are_told_first(app: WebClient) -> None:
    """[M4] 404 and 400 come before 409: what is wrong stays wrong once the run has ended."""
    path = start(app, "slow")
    own = {"Cookie": None, "Origin": None, "Authorization": f"Bearer {KEY}"}
    endpoint = f"{dbgpt.PREFIX}evaluation"
    rows = {"datasets": [{"query": "q", "reference": "a", "prediction": "a"}]}
    known = {"scene_key": "app", "scene_value": "bot", "evaluate_metrics": ["em"], **rows}
    bot = f"/api/scenarios/{app.scenario('bot')}/runs"
    try:
        assert app.send("POST", "/api/scenarios/nothing/runs", {}).status == 404
        for body in ({"metric_weights": {"f11": 1}}, {"variants": ["x"]}, b"{"):
            assert app.send("POST", bot, body).status == 400
        assert app.send("POST", bot, {}).status == 409
        for change in ({"scene_value": "nothing"}, {"datasets": [{"query": "no answer"}]}):
            assert app.send("POST", endpoint, {**known, **change}, own).status == 400
        assert app.send("POST", endpoint, known, own).status == 409
    finally:
        app.send("DELETE", path.removesuffix("/events"))

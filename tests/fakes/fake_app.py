"""A retrieval-and-answer service for tests, as slow or faulty as the question asks it to be.

In a test, in a thread of its own::

    with FakeApp(latency_s=0.05) as app:
        ...app.url("/ask")...
        assert len(app.seen) == 3

It answers ``{"question": "say Paris"}`` with Paris, and a context that names its document. What
stands before a bar is a fault: "500|Paris" always fails, "once 503|Paris" at the first time. Its
errors repeat the headers that it was sent: nothing that comes from it may be shown as it is.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from fake_server import FakeServer, request_of

_JSON = "application/json"


@dataclass(frozen=True)
class Asked:
    """A request as it arrived, and when (``time.monotonic``)."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    raw: bytes
    at: float

    @property
    def body(self) -> Any:
        """The JSON that it brought, None for none."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return None

    @property
    def question(self) -> str:
        """What it asks, from wherever it stands: the body, the query, the path."""
        body = self.body
        if isinstance(body, dict) and "question" in body:
            return str(body["question"])
        if "question" in self.query:
            return self.query["question"][0]
        return unquote(self.path.rpartition("/")[2]) if not self.raw else self.raw.decode()


Reply = tuple[int, str, bytes, list[str]]


class FakeApp(FakeServer):
    """The server. Its attributes may be changed and ``seen`` read at any time, from any thread."""

    def __init__(
        self, latency_s: float = 0.0, answer: Callable[[Asked], Any] | None = None
    ) -> None:
        super().__init__()
        self.latency_s = latency_s
        self.answer = answer or answered
        self.seen: list[Asked] = []

    def url(self, path: str = "/ask") -> str:
        """Return where a client asks."""
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def questions(self) -> list[str]:
        """What was asked, in the order in which it came."""
        return [one.question for one in self.seen]

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        method, target, headers, raw = await request_of(reader)
        parts = urlsplit(target)
        asked = Asked(method, parts.path, parse_qs(parts.query), headers, raw, time.monotonic())
        self.seen.append(asked)
        with self._counted():
            await asyncio.sleep(self.latency_s)
            await self._reply(asked, writer)

    async def _reply(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        fault = self._fault(asked.question)
        if fault in ("hang", "endless", "reset", "close"):
            await self._break(fault, writer)
            return
        status, kind, body, more = self._made(asked, fault)
        half = body[: len(body) // 2] if fault == "cut" else body
        head = [f"HTTP/1.1 {status} -", f"Content-Type: {kind}"]
        if not fault.startswith("open"):
            head.append(f"Content-Length: {len(body)}")
        writer.write("\r\n".join([*head, *more]).encode() + b"\r\n\r\n" + half)
        await writer.drain()
        if fault == "cut" or fault.startswith("open"):
            writer.close()

    def _fault(self, question: str) -> str:
        fault, bar, _ = question.partition("|")
        if not bar:
            return ""
        self._attempts[question] += 1
        if fault.startswith("once ") and self._attempts[question] > 1:
            return ""
        return fault.removeprefix("once ")

    def _made(self, asked: Asked, fault: str) -> Reply:
        if "to " in fault:
            status, _, place = fault.partition("to ")
            return int(status or 307), "text/plain", b"", [f"Location: {place}"]
        if fault[:3].isdigit():
            status, _, wait = fault.partition(":")
            told = {"error": f"this is fault {status}", "you sent": dict(asked.headers)}
            more = [f"Retry-After: {wait}"] if wait else []
            return int(status), _JSON, _dumped(told), more
        if fault in _FAULTS:
            kind, body = _FAULTS[fault]
            return 200, kind, body, []
        if fault in _PACKED:
            body = _PACKED[fault]()
            return 200, "text/plain", body, [f"Content-Encoding: {fault.partition(' ')[0]}"]
        found = self.answer(asked)
        if isinstance(found, tuple):
            return 200, found[0], found[1], []
        return 200, _JSON, _dumped(found), []


def answered(asked: Asked) -> dict[str, Any]:
    """Return the last word of the question as the answer, and where it stands."""
    word = asked.question.rpartition("|")[2].split()[-1]
    context = {"text": f"It is {word}.", "source": f"{word.lower()}.md", "id": word.lower()}
    return {"answer": word, "contexts": [context], "tokens": 12}


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


_FAULTS: Mapping[str, tuple[str, bytes]] = {
    "none": (_JSON, b"null"),
    "list": (_JSON, b'["Paris"]'),
    "number": (_JSON, b"42"),
    "empty": (_JSON, b'{"answer": ""}'),
    "nothing": (_JSON, b""),
    "other": (_JSON, b'{"error": "the index is not loaded"}'),
    "broken": (_JSON, b'{"answer": "Par'),
    "html": ("text/html", b"<html><title>Log in</title></html>"),
    "bytes": ("application/pdf", b"%PDF\xff\xfe\x00"),
    "text": ("text/plain; charset=utf-8", b"Paris, in plain text"),
    "big": ("text/plain", b"x" * 10_000_000),
    "long": ("text/plain", b"x" * 2_000_000),
    "open text": ("text/plain", b"Paris"),
    "open stream": ("text/event-stream", b"data: Paris\n\n"),
    "open stream, done": ("text/event-stream", b"data: Paris\n\ndata: [DONE]\n\n"),
    "open JSON": (_JSON, b'{"answer": "Paris"}'),
}
_PACKED: Mapping[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(b"Paris"),
    "gzip twice": lambda: gzip.compress(b"Pa") + gzip.compress(b"ris") + b"\0" * 9,
    "deflate": lambda: zlib.compress(b"Paris"),
    "deflate raw": lambda: zlib.compress(b"Paris", wbits=-15),
    "gzip bomb": lambda: gzip.compress(b"x" * 2**25),
    "gzip broken": lambda: b"Paris",
    "gzip cut": lambda: gzip.compress(b"Paris")[:-10],
    "gzip twice, cut": lambda: gzip.compress(b"Pa") + gzip.compress(b"ris")[:-10],
    "br": lambda: b"Paris",
}
"""Replies that are packed, or say that they are."""

"""Faults by name; besides, those of ``_PACKED``, any status ("503"), with Retry-After ("429:0.05"),
"to <URL>" or "303 to <URL>" for a redirect, "open ..." for one that ends with the connection,
"endless", "hang", "reset", "close", and "cut" in the middle of it."""


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApp]:
    """Return a running service, and no proxy on the way to it."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with FakeApp() as running:
        yield running

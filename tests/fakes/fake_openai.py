"""A server with OpenAI's API for tests: deterministic, and as slow or faulty as it is told to be.

In a test, in a thread of its own::

    with FakeOpenAI(latency_s=0.05) as server:
        server.then("429", "ok", "hang")  # what happens to the next requests
        ...server.base_url...
        assert len(server.chats) == 3

By itself: ``python tests/fakes/fake_openai.py --port 8099 --latency-s 0.2``. Python's standard
library only. Every error that it reports repeats the key it was sent: nothing that comes from it
may be shown as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import gzip
import json
import math
import statistics
import struct
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fake_judge import judge, prompt_of, share
from fake_server import FakeServer, request_of

Answer = Callable[[Mapping[str, Any]], str]

FAULTS = {
    "hang": "never answers",
    "endless": "200 with a reply that never ends",
    "bomb": "200 with 32 KB of gzip that are 32 MB",
    "reset": "resets the connection",
    "close": "closes the connection without a word",
    "cut": "closes the connection in the middle of the answer",
    "html": "200 with a page of HTML",
    "not_json": "200 with half a JSON document",
    "no_choices": "200 without choices",
    "empty_choices": "200 with an empty list of choices",
    "error_in_200": "200 with an error inside",
    "length": "the content cut in half, finish_reason length",
    "prose": "a sentence instead of JSON",
    "missing": "JSON without its first field",
    "null": "no content",
    "refusal": "the model declines",
    "filtered": "finish_reason content_filter",
    "max_tokens": "the content cut in half, finish_reason max_tokens",
    "broken_off": "the content cut in half, finish_reason error",
    "no_usage": "no usage figures",
    "zero_usage": "0 tokens, as gateways say that do not count",
    "redirect": "307 to another host",
    "quota": "429, no credit left",
    "filter_400": "400 by a content filter",
}
"""Faults by name; besides, any status ("503"), with Retry-After ("429:0.05") or words ("400 x")."""


@dataclass(frozen=True)
class Seen:
    """A request as it arrived, and when (``time.monotonic``)."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float


@dataclass
class Options:
    """How the server behaves; all may be changed while it runs.

    ``latency_s`` is the median; with ``sigma`` > 0 latencies are lognormal around it. ``forms`` are
    the types of ``response_format`` that it takes. ``fault_rates`` gives the share of prompts that
    meet a fault at their first attempt, or at each one if ``sticky``. Above ``max_in_flight`` chat
    requests at a time it answers 429. It works on ``slots`` requests at a time (0: on all), and not
    on those whose client has left the queue.
    """

    latency_s: float = 0.0
    sigma: float = 0.0
    embedding_latency_s: float = 0.0
    answer: Answer = judge
    forms: Sequence[str] = ("json_schema", "json_object")
    fault_rates: Mapping[str, float] = field(default_factory=dict)
    sticky: bool = False
    max_in_flight: int = 0
    slots: int = 0
    dimensions: int = 16
    takes_base64: bool = True
    index: Callable[[int], object] = int
    takes_max_tokens: bool = True


def vector_of(text: str, dimensions: int = 16) -> list[float]:
    """Return the unit vector of a text: its three-letter groups, thrown into as many bins."""
    vector = [0.0] * dimensions
    for at in range(max(1, len(text) - 2)):
        place = share(text[at : at + 3], "place")
        vector[int(place * dimensions)] += 1.0 if share(text[at : at + 3], "sign") < 0.5 else -1.0
    length = math.sqrt(math.fsum(part * part for part in vector)) or 1.0
    return [part / length for part in vector]


class FakeOpenAI(FakeServer):
    """The server. ``options`` may be changed and ``seen`` read at any time, from any thread."""

    def __init__(self, port: int = 0, **options: Any) -> None:
        super().__init__(port)
        self.options = Options(**options)
        self.seen: list[Seen] = []
        self._script: deque[str] = deque()
        self._slots = asyncio.Semaphore(self.options.slots or 2**16)

    @property
    def base_url(self) -> str:
        """What a client is told."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Seen]:
        """The requests for chat completions."""
        return [seen for seen in self.seen if seen.path.endswith("/chat/completions")]

    @property
    def embeddings(self) -> list[Seen]:
        """The requests for embeddings."""
        return [seen for seen in self.seen if seen.path.endswith("/embeddings")]

    def then(self, *faults: str) -> None:
        """Let these happen to the next requests, one each; "ok" is no fault."""
        self._script.extend(faults)

    def forget(self) -> None:
        """Forget what was seen."""
        self.seen.clear()
        self._attempts.clear()
        self.connections = self.most_in_flight = 0

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        _, path, headers, raw = await request_of(reader)
        seen = Seen(path, headers, json.loads(raw or b"{}"), time.monotonic())
        self.seen.append(seen)
        fault = self._script.popleft() if self._script else self._drawn(seen)
        with self._counted():
            if self.options.slots:
                async with self._slots:
                    if not reader.at_eof():
                        await self._answer(seen, fault, writer)
            else:
                await self._answer(seen, fault, writer)

    def _drawn(self, seen: Seen) -> str:
        """Return the fault that the rates hold for this prompt and attempt."""
        key = _first_words(seen.body)
        self._attempts[key] += 1
        if self._attempts[key] > 1 and not self.options.sticky:
            return "ok"
        rates = self.options.fault_rates.items()
        return next((name for name, rate in rates if share(key, name) < rate), "ok")

    async def _answer(self, seen: Seen, fault: str, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._latency(seen))
        if fault in ("hang", "reset", "close", "endless"):
            await self._break(fault, writer)
            return
        status, headers, content = self._reply(seen, fault)
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}", *headers]
        if not any(line.startswith("Content-Type") for line in headers):
            lines.append("Content-Type: application/json")
        half = body[: len(body) // 2] if fault == "cut" else body
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + half)
        await writer.drain()
        if fault == "cut":
            writer.close()

    def _latency(self, seen: Seen) -> float:
        options = self.options
        if seen.path.endswith("/embeddings"):
            return options.embedding_latency_s
        if options.sigma == 0.0:
            return options.latency_s
        drawn = min(max(share(_first_words(seen.body), "latency"), 1e-9), 1.0 - 1e-9)
        return options.latency_s * math.exp(options.sigma * statistics.NormalDist().inv_cdf(drawn))

    def _reply(self, seen: Seen, fault: str) -> tuple[int, list[str], Any]:
        """Return the status, more headers, and the body."""
        crowded = self.options.max_in_flight and self.in_flight > self.options.max_in_flight
        if crowded and seen.path.endswith("/chat/completions"):
            fault = "429:0.05"
        known = _HTTP_FAULTS.get(fault)
        if known is not None:
            return known(seen)
        status, _, wait = fault.partition(":")
        if status[:3].isdigit():
            headers = [f"Retry-After: {wait}"] if wait else []
            return int(status[:3]), headers, _error(seen, f"this is fault {status}")
        if seen.path.endswith("/embeddings"):
            return self._embeddings(seen)
        if seen.path.endswith("/chat/completions"):
            return self._chat(seen, fault)
        return 404, [], _error(seen, f"no route {seen.path}")

    def _chat(self, seen: Seen, fault: str) -> tuple[int, list[str], Any]:
        form = (seen.body.get("response_format") or {}).get("type")
        if form and form not in self.options.forms:
            return 400, [], _error(seen, f"response_format.type {form} is not supported")
        if "max_tokens" in seen.body and not self.options.takes_max_tokens:
            return 400, [], _error(seen, "'max_tokens': use 'max_completion_tokens' instead")
        content = self.options.answer(seen.body)
        answer = _completion(seen.body, content)
        change = _REPLY_FAULTS.get(fault)
        if change is not None:
            change(answer, answer["choices"][0], content)
        return 200, [], answer

    def _embeddings(self, seen: Seen) -> tuple[int, list[str], Any]:
        packed = seen.body.get("encoding_format") == "base64"
        texts = seen.body["input"]
        if packed and not self.options.takes_base64:
            return 400, [], _error(seen, "encoding_format base64 is not supported")
        if any(text.startswith("too long") for text in texts):
            return 400, [], _error(seen, "the input is longer than 8192 tokens")
        vectors = [vector_of(text, self.options.dimensions) for text in texts]
        number = self.options.index
        data = [
            {
                "object": "embedding",
                "index": number(at),
                "embedding": _packed(one) if packed else one,
            }
            for at, one in enumerate(vectors)
        ]
        data.reverse()  # the order is in the index
        tokens = sum(map(len, texts)) // 4
        return 200, [], {"object": "list", "data": data, "usage": {"prompt_tokens": tokens}}


def _first_words(body: Mapping[str, Any]) -> str:
    """Return what stays the same when a request is repeated with something added."""
    turns = body.get("messages")
    return str(turns[0].get("content")) if turns else str(body.get("input"))


def _completion(body: Mapping[str, Any], content: str) -> dict[str, Any]:
    prompt_tokens = len(prompt_of(body)) // 4
    completion_tokens = max(len(content) // 4, len(content[:1]))  # a text has some
    message = {"role": "assistant", "content": content}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "model": f"{body.get('model')}-fake",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens},
    }


def _error(seen: Seen, text: str) -> dict[str, Any]:
    sent = seen.headers.get("authorization", "no key")
    return {"error": {"message": f"{text} (you sent {sent})", "code": "fake", "param": None}}


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _page(seen: Seen) -> bytes:
    return f"<html>you sent {seen.headers.get('authorization')}</html>".encode()


_Reply = tuple[int, list[str], Any]
_HTTP_FAULTS: Mapping[str, Callable[[Seen], _Reply]] = {
    "html": lambda seen: (200, ["Content-Type: text/html"], _page(seen)),
    "html_502": lambda seen: (502, ["Content-Type: text/html"], _page(seen)),
    "bomb": lambda seen: (200, ["Content-Encoding: gzip"], bomb()),
    "not_json": lambda seen: (200, [], b'{"choices": [{"mess'),
    "error_in_200": lambda seen: (200, [], _error(seen, "the upstream model failed")),
    "redirect": lambda seen: (
        307,
        ["Location: http://user:secret@elsewhere.test/v2/chat?token=secret"],
        {},
    ),
    "quota": lambda seen: (429, [], {"error": {"message": "pay", "code": "insufficient_quota"}}),
    "filter_400": lambda seen: (400, [], {"error": {"message": "no", "code": "content_filter"}}),
}


@cache
def bomb() -> bytes:
    """Return 32 KB of gzip that are 32 MB of blanks."""
    return gzip.compress(b" " * 2**25)


def _without_first(content: str) -> str:
    fields = json.loads(content)
    return json.dumps(dict(list(fields.items())[1:]))


_REPLY_FAULTS: Mapping[str, Callable[[dict[str, Any], dict[str, Any], str], object]] = {
    "no_choices": lambda answer, choice, content: answer.pop("choices"),
    "empty_choices": lambda answer, choice, content: answer["choices"].clear(),
    "no_usage": lambda answer, choice, content: answer.pop("usage"),
    "zero_usage": lambda answer, choice, content: answer.update(
        usage={"prompt_tokens": 0, "completion_tokens": 0}
    ),
    "null": lambda answer, choice, content: choice["message"].update(content=None),
    "prose": lambda answer, choice, content: choice["message"].update(content="It looks fine."),
    "missing": lambda answer, choice, content: choice["message"].update(
        content=_without_first(content)
    ),
    "length": lambda answer, choice, content: _halved(choice, content, "length"),
    "max_tokens": lambda answer, choice, content: _halved(choice, content, "max_tokens"),
    "broken_off": lambda answer, choice, content: _halved(choice, content, "error"),
    "refusal": lambda answer, choice, content: choice["message"].update(
        content=None, refusal="I cannot help with that."
    ),
    "filtered": lambda answer, choice, content: choice.update(finish_reason="content_filter"),
}


def _halved(choice: dict[str, Any], content: str, finish_reason: str) -> None:
    choice["message"].update(content=content[: len(content) // 2])
    choice.update(finish_reason=finish_reason)


def main() -> None:
    """Serve until interrupted; ``--fault 500=0.1`` may be given several times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-s", type=float, default=0.2)
    parser.add_argument("--sigma", type=float, default=0.0)
    parser.add_argument("--max-in-flight", type=int, default=0)
    parser.add_argument("--fault", action="append", default=[])
    given = parser.parse_args()
    rates = {name: float(rate) for name, _, rate in (one.partition("=") for one in given.fault)}
    server = FakeOpenAI(
        given.port,
        latency_s=given.latency_s,
        sigma=given.sigma,
        max_in_flight=given.max_in_flight,
        fault_rates=rates,
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve(lambda: print(server.base_url, flush=True)))  # noqa: T201


if __name__ == "__main__":
    main()

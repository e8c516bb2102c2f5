"""Readers of what is sent: requests of the app and of tools, replies of models and systems."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Mapping
from typing import Any, Final
from unittest import mock

from fuzz_cases import OBJECTS, QUICK, Reader
from fuzz_forms import as_is, as_json, json_text, lines_of, shaken
from fuzz_ground import Ground, environment, evaluated, in_this_process, project_of
from fuzz_seeds import COMPLETIONS, EMBEDDINGS, PAGE, REPLIES, REQUESTS, SECRETS, TOOLS, VIEWS
from fuzz_values import key

from pytest_rageval.clients.base import ChatRequest
from pytest_rageval.clients.errors import ClientError, InvalidOutputError
from pytest_rageval.clients.http import HttpReply
from pytest_rageval.clients.providers.openai_compatible import OpenAIChat, OpenAIEmbeddings
from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.engine.planning.snapshot import shown_option
from pytest_rageval.errors import MissingExtraError, ScenarioError
from pytest_rageval.metrics.base import METRIC_REGISTRY, Models
from pytest_rageval.model import Sample
from pytest_rageval.redaction import Redactor, named_secrets, shown_text, shown_url
from pytest_rageval.scenario.yaml.tree import refuse_depth
from pytest_rageval.serving.mcp import agents, stdio, ultrarag
from pytest_rageval.serving.web import dbgpt
from pytest_rageval.serving.web.app_service import AppService
from pytest_rageval.serving.web.refusals import AccessPolicy
from pytest_rageval.serving.web.routes import make_app
from pytest_rageval.targets.base import TargetError, answer_of
from pytest_rageval.targets.dbgpt import read_answer, read_chunks, read_spaces
from pytest_rageval.targets.http_replies import ReplyReader
from pytest_rageval.text.json_value import parse_path

# Requests to the app


def _app(ground: Ground) -> tuple[Any, AppService]:
    service = AppService(ground.once(project_of))
    app = make_app(service, AccessPolicy(8000, "key"))
    app.freeze()
    return app, service


def _asked(ground: Ground, method: str, path: str, body: bytes) -> Any:
    """Return the app's response to a request of its page, or of a program."""
    from aiohttp import StreamReader
    from aiohttp.test_utils import make_mocked_request

    async def answer() -> Any:
        app, _ = ground.once(_app)
        loop = asyncio.get_running_loop()
        with mock.patch("aiohttp.base_protocol.BaseProtocol") as protocol:
            content = StreamReader(protocol, 2**16, loop=loop)
        content.feed_data(body)
        content.feed_eof()
        headers = {**_HEADERS, "Content-Length": str(len(body))}
        request = make_mocked_request(method, path, headers=headers, payload=content, app=app)
        return await app._handle(request)

    with environment():
        response = ground.wait(answer())
    assert response.status != 500, f"HTTP 500: {response.text}"
    assert response.status < 500, f"HTTP {response.status}"
    json.loads(response.text)
    return response


_HEADERS: Final = {
    "Host": "127.0.0.1:8000",
    "Content-Type": "application/json",
    "Authorization": "Bearer open-sesame",
    "Origin": "http://127.0.0.1:8000",
    "Cookie": "rageval-8000=key",
}


def _evaluation(ground: Ground, body: bytes, _: random.Random) -> str:
    headers = {name: value for name, value in _HEADERS.items() if name != "Cookie"}
    with in_this_process(ground), mock.patch.dict(_HEADERS, headers, clear=True):
        return f"HTTP {_asked(ground, 'POST', f'{dbgpt.PREFIX}evaluation', body).status}"


def _page(ground: Ground, body: bytes, chance: random.Random) -> str:
    """A request of the page: new settings, a run, a data file, or a look at old ones."""
    from yarl import URL

    _, service = ground.once(_app)
    entry, *_ = ground.wait(service.project.scenarios())
    before = entry[0].path.read_bytes()
    home = f"/api/scenarios/{entry[0].id}"
    word = body.decode("utf-8", "replace")[:2000]
    ways = {
        f"{home}/settings": "POST",
        f"{home}/settings/check": "POST",
        f"{home}/runs": "POST",
        "/api/proposals": "POST",
        str(URL("/api/history").with_query(scenario=entry[0].id, limit=word)): "GET",
        str(URL("/api/compare").with_query(scenario=entry[0].id, a=word, b="x")): "GET",
        str(URL("/api/runs") / (word[:50].replace("/", "") or "x")): "DELETE",
        "/api/scenarios": "GET",
        home: "GET",
    }
    path = chance.choice([*ways][:3] * 3 + [*ways])
    run = mock.Mock(id="r", **{"return_value.id": "r"})
    try:
        with mock.patch.object(service.runs, "start", run):
            return f"HTTP {_asked(ground, ways[path], path, body).status}"
    finally:
        if entry[0].path.read_bytes() != before:
            entry[0].path.write_bytes(before)


def _page_bodies(ground: Ground) -> list[Any]:
    import hashlib

    file = next(ground.once(project_of).folder.glob("*.rageval.json"))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return [{**body, "digest": digest} for body in PAGE]


# Calls of tools


def _tools(ground: Ground) -> dict[str, stdio.Tool]:
    known = [*agents.tools_of(ground.once(project_of)), *ultrarag.TOOLS]
    return {tool.name: tool for tool in known}


def _call(ground: Ground, tree: Any, _: random.Random) -> str:
    """A call of a tool, as the SDK hands it over: a name, and arguments of any kind."""
    name, arguments = tree if isinstance(tree, list) and len(tree) == 2 else ("evaluate", tree)
    name = name if isinstance(name, str) else "evaluate"
    wanted = arguments if isinstance(arguments, Mapping) else {}

    async def report(*_: Any) -> None:
        return None

    with (
        mock.patch.object(ultrarag, "write_atomically"),
        mock.patch.object(ultrarag, "tell"),
        mock.patch.object(stdio, "tell"),
        mock.patch("pytest_rageval.serving.mcp.ultrarag.write_atomically"),
        mock.patch("pytest_rageval.serving.mcp.run_tool.run_child", _no_child),
    ):
        tools = ground.once(_tools)
        answer = ground.wait(stdio._answer(tools, name, wanted, report))
    assert not answer.text.startswith("internal error"), answer.text
    json.dumps(answer.text.encode("utf-8", "backslashreplace").decode())
    json.dumps(answer.structured, ensure_ascii=False, allow_nan=False).encode()
    return "error" if answer.is_error else "result"


async def _no_child(*_: Any, **__: Any) -> Any:
    raise MissingExtraError("no child is started here")


_CALLS: Final[list[Any]] = [[name, one] for name, some in TOOLS.items() for one in some]

# Replies of models


class _Says:
    """A transport whose server says one thing, whatever it is asked."""

    def __init__(self, reply: HttpReply) -> None:
        self._reply = reply

    async def send(self, *_: Any, **__: Any) -> HttpReply:
        return self._reply

    async def aclose(self) -> None:
        """Close nothing."""


class _Judge:
    """A client for chats that asks once."""

    def __init__(self, chat: OpenAIChat) -> None:
        self._chat = chat

    async def complete(self, messages: Any, *, schema: Any = None, accept: Any = None) -> Any:
        reply = await self._chat.ask(ChatRequest(messages, schema, None))
        try:
            accept(reply.text)
        except ValueError as error:
            raise InvalidOutputError(str(error)) from error
        return reply


_SETTINGS: Final = ClientSettings("m", base_url="http://127.0.0.1:9/v1", headers={"X": "k1234567"})
_SAMPLE: Final = Sample(
    "s",
    question="What is the return window?",
    answer="60 days. Bring the receipt.",
    contexts=("Returns: 30 days.", "Bring the receipt."),
    references=("30 days.",),
    reference_contexts=("Returns within 30 days.",),
    must_satisfy=("names a number",),
)


def _http(chance: random.Random, raw: bytes, *kinds: str) -> HttpReply:
    status = chance.choice((200,) * 12 + (400, 429, 500, 302))
    kind = chance.choice(kinds)
    more = {"Retry-After": raw[:30].decode("latin-1")} if status == 429 else {}
    return HttpReply(status, {"Content-Type": kind, **more}, raw)


def _judged(ground: Ground, raw: bytes, chance: random.Random) -> str:
    """A reply of a judge, from the bytes that its server sends to the score."""
    chat = OpenAIChat(_SETTINGS)
    chat._endpoint._transport = _Says(_http(chance, raw, "application/json"))  # type: ignore[assignment]
    name, range_, metric = chance.choice(ground.once(_judges))
    score = ground.wait(metric.ascore(_SAMPLE, Models(_Judge(chat), None)))
    low, high = range_
    assert score.value is None or (math.isfinite(score.value) and low <= score.value <= high), name
    assert score.value is not None or score.error or score.reason, name
    json.dumps([score.reason, score.details], allow_nan=False)
    return "result" if score.value is not None else "no score"


def _judges(_: Ground) -> list[tuple[str, tuple[float, float], Any]]:
    """Return the metrics that ask a judge and nobody else: name, range, and the metric."""
    found = []
    for one in METRIC_REGISTRY:
        if one.info.asks == {"judge"}:
            options = one.options.model_validate({})
            info = options.adapt(one.info) if hasattr(options, "adapt") else one.info
            try:
                found.append((one.info.name, info.range, one.make(one.info.name, options)))
            except MissingExtraError:
                continue
    assert len(found) >= 3
    return found


def _as_completion(chance: random.Random, tree: Any) -> bytes:
    """Return a chat completion: a content that is no text is written as JSON, at times in prose."""
    try:
        message = tree["choices"][0]["message"]
        content = message["content"]
    except (KeyError, IndexError, TypeError):
        return as_json(chance, tree)
    if not isinstance(content, str):
        text = json_text(content)
        content = chance.choice(
            (text, text, f"```json\n{text}\n```", f"Well:\n{text}\nThat is it.")
        )
    if chance.random() < 0.2:
        content = shaken(chance, content.encode("utf-8", "replace")).decode("utf-8", "replace")
    first = {**tree["choices"][0], "message": {**message, "content": content}}
    return as_json(chance, {**tree, "choices": [first, *tree["choices"][1:]]})


def _embedded(ground: Ground, raw: bytes, chance: random.Random) -> None:
    client = OpenAIEmbeddings(_SETTINGS)
    client._endpoint._transport = _Says(_http(chance, raw, "application/json"))  # type: ignore[assignment]
    for vector in ground.wait(client.embed(["a", "b"])).vectors:
        assert all(map(math.isfinite, vector))


# Replies of systems


def _replied(ground: Ground, raw: bytes, chance: random.Random) -> None:
    reply = _http(chance, raw, *_KINDS)
    answer = ReplyReader(chance.choice(_PATHS)).read(reply)
    _answered(ground, answer, chance)


_KINDS: Final = ("application/json", "text/plain", "text/event-stream", "application/x-ndjson", "x")
_PATHS: Final = (
    {},
    {"answer": parse_path("data.answer"), "contexts": parse_path("data.hits[*].t")},
    {
        "answer": parse_path("choices[0].message.content"),
        "retrieved_ids": parse_path("$.data[*].id"),
    },
)


def _as_stream(chance: random.Random, tree: Any) -> bytes:
    """Return a tree as a reply, or as the events of a stream."""
    text = json_text(tree)
    return chance.choice(
        (text, text, f"data: {text}\n\ndata: [DONE]\n\n", f"{text}\n{text}\n")
    ).encode()


def _of_dbgpt(ground: Ground, raw: bytes, chance: random.Random) -> None:
    reply = _http(chance, raw, "application/json", "text/event-stream")
    read = chance.choice((read_chunks, read_answer, read_spaces))
    found = read(reply)
    if read is not read_spaces:
        _answered(ground, found, chance)


def _answered(ground: Ground, answer: object, chance: random.Random) -> None:
    """Score the answer of a system: what it is kept of is written into results.json."""
    if chance.random() < 0.3:
        evaluated(ground, _ASKED, target=lambda question: answer)


_ASKED: Final = {
    "dataset": [{"id": "a", "question": "q", "references": ["x"], "reference_ids": {"d1": 1}}],
    "target": {"type": "python", "use": "fuzz_app:answer", "retries": 0},
    "metrics": ["em", "f1", "ndcg"],
    "gates": {"unscored": 1.0},
}


def _returned(ground: Ground, tree: Any, chance: random.Random) -> None:
    _answered(ground, answer_of(tree), chance)


# Texts with secrets


def _redacted(_: Ground, tree: Any, chance: random.Random) -> None:
    refuse_depth(tree, "s.yaml")  # such values are of a scenario
    text = json_text(tree) if chance.random() < 0.1 else key(chance)
    # A pattern takes a millisecond for each character of a secret, once for each secret.
    hide = Redactor([*(one[:100] for one in named_secrets(tree)), "open sesame"])
    assert "open sesame" not in hide(f"{text} open sesame")
    shown_text(text)
    shown_url(text)
    shown_option("key", tree)


def _scrubbed(_: Ground, raw: bytes, chance: random.Random) -> None:
    text = "\n".join(lines_of(raw))
    assert "open sesame" not in Redactor(["open sesame"])(text)
    shown_text(text)
    shown_url(text)


def message_readers(ground: Ground) -> list[Reader]:
    """Return the readers of what is sent."""
    views = [json_text({"choices": [{"delta": {"content": view}}]}) for view in VIEWS]
    streams = [f"data: {view}\n\n" for view in views]
    return [
        Reader("dbgpt request", REQUESTS, _evaluation, as_json, errors=()),
        Reader("page request", _page_bodies(ground), _page, as_json, errors=()),
        Reader("mcp arguments", _CALLS, _call, OBJECTS, errors=(), turns=QUICK),
        Reader(
            "judge reply", COMPLETIONS, _judged, _as_completion, errors=(ClientError,), turns=QUICK
        ),
        Reader(
            "embedding reply", EMBEDDINGS, _embedded, as_json, errors=(ClientError,), turns=QUICK
        ),
        Reader("http reply", REPLIES, _replied, _as_stream, errors=(TargetError,), turns=QUICK),
        Reader(
            "dbgpt reply",
            [*REPLIES, *streams],
            _of_dbgpt,
            _as_reply,
            errors=(TargetError,),
            turns=QUICK,
        ),
        Reader("python reply", REPLIES, _returned, OBJECTS, errors=(TargetError,), turns=QUICK),
        Reader("redacted value", SECRETS, _redacted, OBJECTS, errors=(ScenarioError,), turns=QUICK),
        Reader(
            "redacted text", list(map(json_text, SECRETS)), _scrubbed, as_is, errors=(), turns=QUICK
        ),
    ]


def _as_reply(chance: random.Random, tree: Any) -> bytes:
    return as_is(chance, tree) if isinstance(tree, str) else as_json(chance, tree)

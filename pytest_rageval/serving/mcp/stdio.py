"""Serves tools over MCP on stdin and stdout, which nothing else can use from then on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO, Final

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import from_json

from pytest_rageval import extras
from pytest_rageval.clients.threads import in_thread
from pytest_rageval.errors import Problem, RagevalError, UserError, unknown_name
from pytest_rageval.scenario.spec import model_at, reworded
from pytest_rageval.scenario.yaml.tree import dotted
from pytest_rageval.text.codec import excess_in, read_json

_taken: tuple[int, int] | None = None


def take_descriptors() -> tuple[int, int]:
    """Return copies of stdin and stdout, which from then on are the null device and stderr.

    For good: also what threads, C code, children and the end of the process print is kept away from
    the protocol. The second call returns what the first one took.
    """
    global _taken  # noqa: PLW0603  (one for the process, as descriptors are)
    if _taken is None:
        _taken = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
    return _taken


_ANSWER_S: Final = 5.0
"""How long requests that came before the end of stdin may still take after it."""
_CANCEL_S: Final = 10.0
"""How long what is cancelled may take to end."""
_LISTED: Final = 5
_PARSE_ERROR: Final = -32700  # of JSON-RPC

Report = Callable[[float, float | None, str | None], Awaitable[None]]
"""(progress, total, message): tells the client how far a call is, if it asked for that."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool replies: text, and perhaps the same as data, which some clients read."""

    text: str
    structured: Mapping[str, Any] | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: ``call(arguments, report)`` gets the validated ``arguments``, and may be cancelled.

    A RagevalError or OSError that it raises becomes the text of an MCP tool error; any other
    exception too, with a traceback on stderr. ``annotations`` are hints for clients, under MCP's
    names; mcp 2 leaves out names that it does not know, ``meta`` arrives as it is.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    call: Callable[[Any, Report], Awaitable[Reply]]
    annotations: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] | None = None


def serve_tools(name: str, version: str, tools: Sequence[Tool], instructions: str = "") -> int:
    """Serve ``tools`` until stdin ends, or SIGINT, SIGTERM or SIGHUP; return the exit status 0.

    From then on the process prints to stderr, and reads nothing: descriptor 1 is a copy of 2, and
    0 the null device. Raises MissingExtraError without the package mcp.
    """
    extras.require("mcp", extra="mcp", purpose="--rag-mcp")
    with contextlib.suppress(KeyboardInterrupt), _own_descriptors() as (source, sink):
        asyncio.run(_serve(name, version, tools, instructions, _Wire(source, sink)))
    return 0


def tell(text: str) -> None:
    """Write ``text`` to stderr, if that can be written to."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


@contextlib.contextmanager
def _own_descriptors() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Take stdin and stdout away from everything else, for good: pytest flushes stdout later."""
    taken_source, taken_sink = take_descriptors()
    # A thread may still read when Python exits, so nothing closes them.
    source = os.fdopen(taken_source, "rb", closefd=False)
    sink = os.fdopen(taken_sink, "wb", closefd=False)
    with contextlib.redirect_stdout(sys.stderr):
        yield source, sink


class _Wire:
    """The lines of the protocol, as the SDK's transport reads and writes them.

    ``ended`` is set when stdin has ended and what was asked is answered, or takes too long, when
    stdout is closed, and by signals. Reads and writes block in daemon threads: unlike the SDK's own
    they do not keep the process alive.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source = source
        self._sink = sink
        self._asked: set[str | int] = set()
        self._answered = asyncio.Event()
        self.ended = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[str]:
        with contextlib.suppress(OSError):
            while line := await in_thread(self._source.readline):
                refusal = _refusal(line)
                if refusal is not None:
                    await self.write(refusal)
                    continue
                self._note(line)
                yield line.decode("utf-8", "replace")
        if self._asked:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), _ANSWER_S)
        self.ended.set()

    async def write(self, text: str) -> None:
        line = text.encode("utf-8")
        try:
            await in_thread(partial(self._put, line))
        except OSError:  # the client is gone
            self.ended.set()
        self._note(line)

    async def flush(self) -> None:
        """Do nothing: ``write`` has flushed."""

    def _put(self, line: bytes) -> None:
        self._sink.write(line)
        self._sink.flush()

    def _note(self, line: bytes) -> None:
        """Count a request of the client as open, until it is answered or cancelled.

        A line of another kind, or no sound message, changes nothing.
        """
        try:
            message = read_json(line, depth=None)
            cancels = message.get("method") == "notifications/cancelled"
            request = message["params"]["requestId"] if cancels else message["id"]
            asks = "method" in message and not cancels
            self._asked = self._asked | {request} if asks else self._asked - {request}
        except (ValueError, TypeError, LookupError, AttributeError):
            return
        if self._asked:
            self._answered.clear()
        else:
            self._answered.set()


def _refusal(line: bytes) -> str | None:
    """Return the error for a request that the SDK's parser cannot read, which it would not answer.

    Python's parser reads more: half an emoji, and deeper nesting. None for a line that the SDK can
    read, and for one that is no request at all.
    """
    try:
        from_json(line)
    except ValueError as error:
        with contextlib.suppress(ValueError, TypeError, LookupError):
            message = read_json(line, depth=None)
            failure = {"code": _PARSE_ERROR, "message": f"the request cannot be read: {error}"}
            if "method" in message:
                answer = {"jsonrpc": "2.0", "id": message["id"], "error": failure}
                return f"{json.dumps(answer)}\n"
    return None


async def _serve(
    name: str, version: str, tools: Sequence[Tool], instructions: str, wire: _Wire
) -> None:
    from mcp.server.stdio import stdio_server

    server = _make_server(name, version, tools, instructions)

    async def run() -> None:
        async with stdio_server(stdin=wire, stdout=wire) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    loop = asyncio.get_running_loop()
    for number in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}:
        with contextlib.suppress(NotImplementedError):  # on Windows
            loop.add_signal_handler(number, wire.ended.set)
    serving, ending = asyncio.create_task(run()), asyncio.create_task(wire.ended.wait())
    await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
    if serving.done() and not wire.ended.is_set():
        serving.result()
    for task in (serving, ending):
        task.cancel()
    await asyncio.wait({serving, ending}, timeout=_CANCEL_S)
    with contextlib.suppress(BaseException):  # the SDK's own trouble with streams that have ended
        serving.exception()


def _make_server(name: str, version: str, tools: Sequence[Tool], instructions: str) -> Any:
    """Return the SDK's server: mcp 1 registers handlers, mcp 2 takes them as arguments."""
    from mcp import types
    from mcp.server.lowlevel import Server

    listed = [_described(tool) for tool in tools]
    call = partial(_call, {tool.name: tool for tool in tools})
    about = {"version": version, "instructions": instructions or None}
    if hasattr(Server, "add_request_handler"):

        async def on_list(_: Any, __: Any) -> Any:
            return types.ListToolsResult(tools=listed)

        async def on_call(context: Any, asked: Any) -> Any:
            return await call(asked.name, asked.arguments or {}, context.session.report_progress)

        return Server(name, on_list_tools=on_list, on_call_tool=on_call, **about)
    server = Server(name, **about)

    async def list_tools() -> Any:
        return listed

    async def call_tool(asked: str, arguments: dict[str, Any]) -> Any:
        return await call(asked, arguments, _reporter(server.request_context))

    server.list_tools()(list_tools)
    server.call_tool(validate_input=False)(call_tool)
    return server


def _reporter(context: Any) -> Report:
    """Return what reports the progress of a request of mcp 1."""
    token = context.meta.progressToken if context.meta is not None else None

    async def report(progress: float, total: float | None, message: str | None) -> None:
        if token is not None:
            await context.session.send_progress_notification(token, progress, total, message)

    return report


class _TerseSchema(GenerateJsonSchema):
    """A schema without titles, which repeat the names: agents pay for each word."""

    def field_title_should_be_set(self, _: Any) -> bool:
        return False


def _described(tool: Tool) -> Any:
    from mcp import types

    return types.Tool(
        name=tool.name,
        description=tool.description,
        inputSchema=tool.arguments.model_json_schema(schema_generator=_TerseSchema),
        annotations=types.ToolAnnotations(**tool.annotations),
        _meta=tool.meta,
    )


async def _call(
    tools: Mapping[str, Tool], name: str, arguments: Mapping[str, Any], report: Report
) -> Any:
    """Return the SDK's result of a call, also of one that fails."""
    from mcp import types

    answer = await _answer(tools, name, arguments, report)
    # A lone surrogate, from a path or an argument, is no UTF-8.
    text = answer.text.encode("utf-8", "backslashreplace").decode("utf-8")
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structuredContent=answer.structured,
        isError=answer.is_error,
    )


async def _answer(
    tools: Mapping[str, Tool], name: str, arguments: Mapping[str, Any], report: Report
) -> Reply:
    try:
        if name not in tools:
            raise UserError([Problem("", unknown_name("tool", name, tools))])
        return await tools[name].call(_validated(tools[name], arguments), report)
    except (RagevalError, OSError) as error:
        return Reply(str(error), is_error=True)
    except Exception as error:  # noqa: BLE001  (one call's defect does not end the server)
        tell(traceback.format_exc())
        return Reply(f"internal error: {type(error).__name__}: {error}", is_error=True)


def _validated(tool: Tool, arguments: Mapping[str, Any]) -> BaseModel:
    if reason := excess_in(arguments):
        raise UserError([Problem("", reason)])
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems = [
            Problem(dotted(detail["loc"]), _wrong(tool, detail)) for detail in details[:_LISTED]
        ]
        if len(details) > _LISTED:
            problems.append(Problem("", f"and {len(details) - _LISTED:,} more"))
        raise UserError(problems) from error


def _wrong(tool: Tool, detail: Any) -> str:
    if detail["type"] == "extra_forbidden":
        *outer, name = detail["loc"]
        model = model_at(tool.arguments, outer) or tool.arguments
        return unknown_name("argument", str(name), model.model_fields)
    return reworded(detail)

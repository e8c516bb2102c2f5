"""Where a body ends: what a server says of it, or the end of the connection alone."""

from __future__ import annotations

import asyncio

import pytest

from pytest_rageval.clients.http import HttpReply, Transport


def ask(head: str, body: bytes) -> HttpReply:
    """Return the reply of a server that sends these bytes, and ends the connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {head}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    async def once() -> HttpReply:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport = Transport("a test", lambda raw, _: raw, most_mb=1)
        async with server:
            reply = await transport.send("here", "GET", f"http://127.0.0.1:{port}/", None)
            await transport.aclose()
        return reply

    return asyncio.run(once())


@pytest.mark.parametrize(
    ("head", "body", "may_be_cut_off"),
    [
        ("200 OK\r\nConnection: close", b"Paris", True),
        ("200 OK\r\nConnection: close\r\nContent-Encoding: ", b"Paris", True),
        ("200 OK\r\nConnection: close\r\nContent-Encoding: Identity", b"Paris", True),
        ("200 OK\r\nContent-Length: 5", b"Paris", False),
        ("200 OK\r\nTransfer-Encoding: chunked", b"5\r\nParis\r\n0\r\n\r\n", False),
        ("204 No Content\r\nConnection: close", b"", False),
        ("304 Not Modified\r\nConnection: close", b"", False),
    ],
)
def test_a_body_may_be_cut_off_if_only_the_connection_ends_it(
    head: str, body: bytes, may_be_cut_off: bool
) -> None:
    reply = ask(head, body)
    assert (reply.may_be_cut_off, reply.body) == (may_be_cut_off, b"Paris" if body else b"")

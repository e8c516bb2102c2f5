"""What the fake services share: a server over HTTP in a thread of its own, and ways to break it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Self

HANGS_S = 600.0


class FakeServer:
    """Serves while its block runs; a subclass answers in ``_one_request``."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.in_flight = 0
        self.most_in_flight = 0
        self.connections = 0
        self.sent = 0  # bytes of endless replies
        self._attempts: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), name=type(self).__name__)
        self._thread.start()
        if not ready.wait(30.0):
            raise RuntimeError("the fake server does not start")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._thread is not None
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60.0)

    def _run(self, ready: threading.Event) -> None:
        asyncio.run(self.serve(ready.set))

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serve until told to stop."""
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(
            self._connected, "127.0.0.1", self.port, limit=2**24, backlog=1024
        )
        self.port = server.sockets[0].getsockname()[1]
        ready()
        await self._stop.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while not writer.is_closing():
                await self._one_request(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        raise NotImplementedError

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a request while it is answered."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            self.in_flight -= 1

    async def _break(self, fault: str, writer: asyncio.StreamWriter) -> None:
        """Let "hang", "endless", "reset" or "close" happen."""
        if fault == "hang":
            await asyncio.sleep(HANGS_S)
        if fault == "endless":
            writer.write(b"HTTP/1.1 200 -\r\nContent-Type: application/json\r\n\r\n")
            while not writer.is_closing():
                writer.write(b" " * 2**16)
                self.sent += 2**16
                await writer.drain()
        if fault == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        writer.close()


async def request_of(
    reader: asyncio.StreamReader,
) -> tuple[str, str, Mapping[str, str], bytes]:
    """Return the next request: method, target, headers, body."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return method, target, headers, await reader.readexactly(int(headers.get("content-length", 0)))

"""An event loop in a thread of its own, for everything that waits for the network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_STOP_TIMEOUT_S = 10.0


class EventLoop:
    """Runs coroutines while the main thread does other things; started by the first of them.

    One loop serves the whole process, so that connections, limits and caches are shared.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closers: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._stoppers: list[Callable[[], None]] = []
        self._is_closed = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, running."""
        if self._is_closed:
            raise RuntimeError("the event loop is closed")
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_serve, args=(self._loop,), name="rageval-loop", daemon=True
            )
            self._thread.start()
        return self._loop

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; the future is for other threads to wait on."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call(self, function: Callable[[], object]) -> None:
        """Have ``function`` called in the loop's thread, soon."""
        self.loop.call_soon_threadsafe(function)

    def on_stop(self, stopper: Callable[[], None]) -> None:
        """Have ``stopper`` called in the loop's thread first of all when the loop closes."""
        self._stoppers.append(stopper)

    def on_close(self, closer: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have ``closer`` awaited when the loop closes, after everything was cancelled."""
        self._closers.append(closer)

    def close(self) -> None:
        """Cancel what is running, close what was opened, stop the loop. May be called again."""
        if self._is_closed:
            return
        loop, thread = self._loop, self._thread
        self._is_closed = True
        if loop is None or thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(self._drain(), loop).result(_STOP_TIMEOUT_S)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_STOP_TIMEOUT_S)
            if not thread.is_alive():
                loop.close()

    async def _drain(self) -> None:
        for stop in self._stoppers:
            stop()
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        closed = await asyncio.gather(
            *(closer() for closer in self._closers), return_exceptions=True
        )
        await asyncio.get_running_loop().shutdown_asyncgens()
        for error in closed:
            if isinstance(error, BaseException):
                raise error


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until it is stopped; no task can end it for the others.

    asyncio lets a SystemExit or KeyboardInterrupt of a task end the loop, even if it is awaited.
    """
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):
            continue
        return

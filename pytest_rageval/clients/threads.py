"""Threads for user code that blocks, and which of its exceptions may not reach the event loop.

All of them are daemons: a function that never returns does not keep Python from exiting, unlike in
an executor of the standard library.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

_MOST_IDLE = 32
_STOP_S = 5.0
_Work = Callable[[], None]


def in_background(function: Callable[[], object]) -> None:
    """Begin ``function`` in a thread that no caller waits for."""
    threading.Thread(target=function, name="rageval-background", daemon=True).start()


async def in_thread(function: Callable[[], T]) -> T:
    """Return what ``function`` returns in another thread; raise what it raises.

    What is no Exception, and StopIteration, is raised within ``Raised``: no future may carry it.
    There is a thread for each function at work: one that never returns delays no other.
    """
    context = contextvars.copy_context()
    return await _carried_out(lambda: context.run(function), _give)


class DaemonThreads(ThreadPoolExecutor):
    """What ``asyncio.to_thread`` of users' code runs in: a thread for each call, a daemon.

    Python waits for the threads of any other executor when it exits, also where one never returns.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a call; its future has what it returns or raises."""
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001  (as an executor does)
                future.set_exception(error)

        in_background(work)
        return future


class SerialThread:
    """Runs one function after the other. Starts at the first, ends with ``close``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, function: Callable[[], T]) -> T:
        """Return what ``function`` returns; a cancelled call that has not begun never begins.

        Raises what ``function`` raises; for what is no Exception, and for StopIteration, Raised.
        """
        return await _carried_out(function, self.enqueue)

    def enqueue(self, work: _Work) -> None:
        """Do ``work`` after all that is queued before it; it must not raise."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._thread.start()
        self._work.put(work)

    def close(self) -> None:
        """End the thread once its queue is done; after 5 s leave it."""
        if self._thread is not None:
            self.end()
            self._thread.join(_STOP_S)
            self._thread = None

    def end(self) -> None:
        """End the thread after all that is queued, without waiting for it."""
        self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()
            del work  # with all that it holds


async def _carried_out(function: Callable[[], T], give: Callable[[_Work], object]) -> T:
    """Hand ``function`` to a thread by ``give``, and return what it returns."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        if future.cancelled():
            return
        settle = _outcome(function, future)
        with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile
            loop.call_soon_threadsafe(lambda: None if future.done() else settle())

    give(work)
    return await future


def _outcome(function: Callable[[], T], future: asyncio.Future[T]) -> _Work:
    """Run ``function``; return what tells the future, to be called in the loop's thread."""
    try:
        return partial(future.set_result, function())
    except StopIteration as error:  # which a future does not take
        return partial(future.set_exception, Raised(error))
    except Exception as error:  # noqa: BLE001  (raised where the result is awaited)
        return partial(future.set_exception, error)
    except BaseException as error:  # noqa: BLE001  (in the loop it would end the loop)
        return partial(future.set_exception, Raised(error))


_IDLE: list[SerialThread] = []
"""Threads that wait for work: a new thread waits twice for the GIL."""


def _give(work: _Work) -> None:
    try:
        thread = _IDLE.pop()
    except IndexError:
        thread = SerialThread("rageval-target")

    def work_then_idle() -> None:
        work()
        if len(_IDLE) < _MOST_IDLE:
            _IDLE.append(thread)
        else:
            thread.end()

    thread.enqueue(work_then_idle)


class Raised(RuntimeError):  # noqa: N818  (carries an exception to the caller)
    """Wraps an ``error`` that no future can carry, or that would end the event loop."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error


def is_our_stop(error: BaseException) -> bool:
    """Return whether ``error`` is our own cancellation, or closes a generator.

    Then it must be raised on. Catch any other BaseException, such as that of ``sys.exit``: it would
    end the loop that serves the whole run. To be called in the task of the code that raised it.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit)

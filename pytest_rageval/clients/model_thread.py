"""One thread for models that run in this process, so that the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from pytest_rageval.clients.foreign import Raised

T = TypeVar("T")

_STOP_S = 5.0


class ModelThread:
    """Runs one function after the other. Starts at the first, ends with ``close``.

    The thread is a daemon: a function that never returns cannot keep Python from ending, as it
    would in an executor of the standard library.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, function: Callable[[], T]) -> T:
        """Return what ``function`` returns; a cancelled call that has not begun never begins.

        Raises what ``function`` raises; for what is no Exception, and for StopIteration, Raised.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(lambda: _run(function, loop, future))
        return await future

    def close(self) -> None:
        """End the thread after the function that it runs, or leave it if that takes too long."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(_STOP_S)
            self._thread = None

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _run(
    function: Callable[[], T], loop: asyncio.AbstractEventLoop, future: asyncio.Future[T]
) -> None:
    if future.cancelled():
        return
    done: concurrent.futures.Future[T] = concurrent.futures.Future()
    try:
        done.set_result(function())
    except StopIteration as error:  # which a future does not take
        done.set_exception(Raised(error))
    except Exception as error:  # noqa: BLE001  (handed over to the caller, whatever it is)
        done.set_exception(error)
    except BaseException as error:  # noqa: BLE001  (in the loop it would end the loop)
        done.set_exception(Raised(error))
    with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile; nobody waits
        loop.call_soon_threadsafe(_pass_on, done, future)


def _pass_on(done: concurrent.futures.Future[T], future: asyncio.Future[T]) -> None:
    error = done.exception()
    if future.done():
        return
    if error is None:
        future.set_result(done.result())
    else:
        future.set_exception(error)

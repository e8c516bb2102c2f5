"""Threads for functions that block, so that the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from pytest_rageval.clients.foreign import Raised

_IDLE_S = 5.0
_Work = Callable[[], None]


async def in_thread(function: Callable[[], object]) -> object:
    """Return what ``function`` returns in another thread; raise what it raises, or Raised.

    There are as many threads as functions at work, and all are daemons: a function that never
    returns neither keeps Python from ending nor others from beginning.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: object, error: Exception | None) -> None:
        if future.done():  # cancelled
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work() -> None:
        value: object = None
        raised: Exception | None = None
        try:
            value = context.run(function)
        except StopIteration as error:  # which a future does not take
            raised = Raised(error)
        except Exception as error:  # noqa: BLE001  (handed over to whoever waits)
            raised = error
        except BaseException as error:  # noqa: BLE001  (in the loop it would end the loop)
            raised = Raised(error)
        with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile, nobody waits
            loop.call_soon_threadsafe(settle, value, raised)

    _give(work)
    return await future


class _Idle:
    """A thread without work, for a while: to start a new one takes two turns of the interpreter."""

    def __init__(self) -> None:
        self.work: SimpleQueue[_Work] = SimpleQueue()


_IDLE: list[_Idle] = []
_LOCK = threading.Lock()


def _give(work: _Work) -> None:
    with _LOCK:
        idle = _IDLE.pop() if _IDLE else None
    if idle is not None:
        idle.work.put(work)
    else:
        threading.Thread(target=_serve, args=(work,), name="rageval-target", daemon=True).start()


def _serve(work: _Work) -> None:
    """Do what is given until nothing was for a while."""
    own = _Idle()
    while True:
        work()
        del work  # with all that it holds
        with _LOCK:
            _IDLE.append(own)
        try:
            work = own.work.get(timeout=_IDLE_S)
        except Empty:
            with _LOCK:
                if own in _IDLE:
                    _IDLE.remove(own)
                    return
            work = own.work.get()  # given in this very moment

"""Waits for users' async functions no longer than they may take, whatever they do meanwhile.

A function may go on when it is cancelled, and one that waits without ``await`` stops all others.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar

from pytest_rageval.clients.threads import is_our_stop

T = TypeVar("T")

GRACE_S: Final = 1.0
"""How long a function that was cancelled, or that blocks the loop, has to end."""
_PACKAGE: Final = f"{Path(__file__).parents[1]}{os.sep}"
_Outcome = tuple[T | None, BaseException | None]


class OverdueError(Exception):
    """A function took longer than it may."""


@dataclass
class _Call:
    """A call of a function, and for how long it has held its loop so far."""

    timeout_s: float | None
    held_s: float = 0.0


class _Held(threading.local):
    """For how long all calls together have held the loop of this thread."""

    all_s: float = 0.0

    def by_others_s(self, call: _Call) -> float:
        """Return for how long others than ``call`` have."""
        return self.all_s - call.held_s


_HELD: Final = _Held()
_CALL: Final[ContextVar[_Call | None]] = ContextVar("call", default=None)
"""The call that the running task is a part of: a function may start tasks of its own."""


async def within(work: Coroutine[Any, Any, T], timeout_s: float | None) -> T:
    """Return what ``work`` returns; raises what it raises, and OverdueError after ``timeout_s``.

    None sets no limit. The time in which other calls hold the loop is not counted. Work that goes
    on when it is cancelled is left alone after a second.
    """
    call = _Call(timeout_s)
    task = asyncio.ensure_future(_outcome_of(work, call))
    try:
        await _wait_for(task, call)
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=GRACE_S)
            raise OverdueError from _cancelled(task)
    finally:
        task.cancel()
    value, error = task.result()
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # there is one without an error


async def _wait_for(task: asyncio.Task[Any], call: _Call) -> None:
    """Wait until a task has ended, or has had its time."""
    if call.timeout_s is None:
        await asyncio.wait([task])
        return
    offset_s = time.perf_counter() - _HELD.by_others_s(call)
    left = call.timeout_s
    while left > 0 and not task.done():
        await asyncio.wait([task], timeout=left)
        own_s = time.perf_counter() - _HELD.by_others_s(call) - offset_s
        left = call.timeout_s - own_s


def _cancelled(task: asyncio.Task[Any]) -> BaseException | None:
    """Return the cancellation that a task ended with, which says where it was."""
    if not task.done():
        return None
    try:
        task.result()
    except asyncio.CancelledError as error:
        return error
    return None


async def _outcome_of(work: Coroutine[Any, Any, T], call: _Call) -> _Outcome[T]:
    """Return what ``work`` returns or raises: a SystemExit of a task would end the loop."""
    _CALL.set(call)
    try:
        return await _Steps(work, call), None
    except BaseException as error:
        if is_our_stop(error):
            raise
        return None, error


def make_task(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, T] | Generator[Any, None, T],
    **options: Any,
) -> asyncio.Task[T]:
    """Return a task, as the loop's factory does; its steps count for the call that started it.

    But for the task that ``within`` makes: it is a call of its own, and counts its steps itself.
    """
    call = _CALL.get()
    is_own = getattr(work, "cr_code", None) is _outcome_of.__code__
    if call is not None and not is_own and isinstance(work, Coroutine):
        work = _Steps(work, call)
    return asyncio.Task(work, loop=loop, **options)


class _Steps(Coroutine[Any, Any, T]):
    """A coroutine that notes for how long each of its steps holds the loop."""

    def __init__(self, work: Coroutine[Any, Any, T], call: _Call) -> None:
        self._work = work
        self._call = call

    def send(self, value: Any) -> Any:
        """Go on to where the work waits next."""
        return _step(self._call, self._work.send, value)

    def throw(self, *error: Any) -> Any:
        """Raise an error where the work waits."""
        return _step(self._call, self._work.throw, *error)

    def close(self) -> None:
        """End the work."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self  # send, throw and __next__ are all that await calls

    def __iter__(self) -> _Steps[T]:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)  # libraries look at cr_frame, __qualname__ and the like


def _step(call: _Call, step: Callable[..., Any], *given: Any) -> Any:
    """Take a step; ``blocking`` finds this frame, and reads ``call`` and ``began_at`` in it."""
    began_at = time.perf_counter()
    try:
        return step(*given)
    finally:
        held_s = time.perf_counter() - began_at
        call.held_s += held_s
        _HELD.all_s += held_s


def blocking(thread_id: int) -> str:
    """Return a message on what blocks the loop of a thread; "" where nothing does.

    That is a step that has taken longer than ``timeout_s`` of its call and GRACE_S together. What
    earlier steps of the call took does not count.
    """
    frames = list(_frames(sys._current_frames().get(thread_id)))  # noqa: SLF001  (no other way)
    at = next((at for at, frame in enumerate(frames) if frame.f_code is _step.__code__), None)
    if at is None:
        return ""
    seen = frames[at].f_locals
    timeout_s, began_at = seen["call"].timeout_s, seen.get("began_at")
    if timeout_s is None or began_at is None:  # no limit, or the step is about to begin
        return ""
    if time.perf_counter() - began_at <= timeout_s + GRACE_S:
        return ""
    inside = frames[:at][::-1]  # outermost first: the user's function comes before what it calls
    own = (frame for frame in inside if not frame.f_code.co_filename.startswith(_PACKAGE))
    code = next(own, frames[at]).f_code
    return (
        f"{code.co_qualname} ({Path(code.co_filename).name}) did not end within {timeout_s:g} s "
        "(timeout_s) and blocks all others: it is async, and waits without await. Make it a plain "
        "function, which gets a thread of its own, or have it await an async client"
    )


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back

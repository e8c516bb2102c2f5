"""Waits for users' async functions no longer than they may take, whatever they do meanwhile.

A function may go on when it is cancelled, and one that waits without ``await`` stops all others.
"""

from __future__ import annotations

import asyncio
import math
import sys
import threading
import time
from collections.abc import Coroutine, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, coroutine
from typing import Any, Final, TypeVar

from pytest_rageval.clients.threads import is_our_stop

T = TypeVar("T")

GRACE_S: Final = 1.0
"""How long a function that was cancelled, or that blocks the loop, has to end."""
_PACKAGE: Final = str(Path(__file__).parents[1])
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


async def within(work: Coroutine[Any, Any, T], timeout_s: float | None) -> T:
    """Return what ``work`` returns; raises what it raises, and OverdueError after ``timeout_s``.

    The time in which other calls hold the loop is not counted. Work that goes on when it is
    cancelled is left alone after a second.
    """
    call = _Call(timeout_s)
    task = asyncio.ensure_future(_held(work, call))
    try:
        await _waited_for(task, call)
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


async def _waited_for(task: asyncio.Task[Any], call: _Call) -> None:
    """Wait until a task has ended, or has had its time."""
    if call.timeout_s is None:
        await asyncio.wait([task])
        return
    started = time.perf_counter() - _HELD.by_others_s(call)
    left = call.timeout_s
    while left > 0 and not task.done():
        await asyncio.wait([task], timeout=left)
        own_s = time.perf_counter() - _HELD.by_others_s(call) - started
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


async def _held(work: Coroutine[Any, Any, T], call: _Call) -> _Outcome[T]:
    """Return what ``work`` returns or raises: a SystemExit of a task would end the loop."""
    try:
        return await _stepwise(work, call), None
    except BaseException as error:
        if is_our_stop(error):
            raise
        return None, error


@coroutine
def _stepwise(work: Coroutine[Any, Any, T], call: _Call) -> Generator[Any, Any, T]:
    """Return what ``work`` returns; note for how long each of its steps holds the loop."""
    step, given = work.send, None
    while True:
        began_at = time.perf_counter()
        try:
            awaited = step(given)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            held_s = time.perf_counter() - began_at
            began_at = math.inf  # ``blocking`` may look while nothing is at work
            call.held_s += held_s
            _HELD.all_s += held_s
        try:
            step, given = work.send, (yield awaited)
        except BaseException as error:  # noqa: BLE001  (raised where the work waits)
            step, given = work.throw, error


def blocking(thread_id: int) -> str:
    """Return what blocks the loop of a thread for longer than it may; "" where nothing does.

    One call is at work at a time: what others took before it does not count.
    """
    frames = list(_frames(sys._current_frames().get(thread_id)))  # noqa: SLF001  (no other way)
    at = next((at for at, frame in enumerate(frames) if frame.f_code is _stepwise.__code__), None)
    if at is None:
        return ""
    seen = frames[at].f_locals
    timeout_s, began_at = seen["call"].timeout_s, seen.get("began_at", math.inf)
    if timeout_s is None or time.perf_counter() - began_at <= timeout_s + GRACE_S:
        return ""
    inside = frames[:at][::-1]
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

"""Waits for users' async functions no longer than they may take, whatever they do meanwhile.

A function may go on when it is cancelled, and one that waits without ``await`` stops all others.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar

from pytest_rageval.clients.threads import is_our_stop

T = TypeVar("T")

GRACE_S: Final = 1.0
"""How long a function that was cancelled, or that blocks the loop, has to end."""
_PACKAGE: Final = str(Path(__file__).parents[1])
_Outcome = tuple[T | None, BaseException | None]


class OverdueError(Exception):
    """A function took longer than it may."""


async def within(work: Coroutine[Any, Any, T], timeout_s: float | None) -> T:
    """Return what ``work`` returns; raises what it raises, and OverdueError after ``timeout_s``.

    Work that goes on when it is cancelled is left alone after a second.
    """
    task = asyncio.ensure_future(_held(work, timeout_s))
    try:
        await asyncio.wait([task], timeout=timeout_s)
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


def _cancelled(task: asyncio.Task[Any]) -> BaseException | None:
    """Return the cancellation that a task ended with, which says where it was."""
    if not task.done():
        return None
    try:
        task.result()
    except asyncio.CancelledError as error:
        return error
    return None


async def _held(work: Coroutine[Any, Any, T], timeout_s: float | None) -> _Outcome[T]:
    """Return what ``work`` returns or raises: a SystemExit of a task would end the loop."""
    try:
        return await work, None
    except BaseException as error:
        if is_our_stop(error):
            raise
        return None, error


def blocking(thread_id: int, waited_s: float) -> str:
    """Return what blocks the loop of a thread for longer than it may; "" where nothing does.

    ``waited_s``: for how long the loop has not come to anything else.
    """
    frames = list(_frames(sys._current_frames().get(thread_id)))  # noqa: SLF001  (no other way)
    at = next((at for at, frame in enumerate(frames) if frame.f_code is _held.__code__), None)
    if at is None:
        return ""
    timeout_s = frames[at].f_locals.get("timeout_s")
    if timeout_s is None or waited_s <= timeout_s + GRACE_S:
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

"""Functions that block run beside the event loop, and beside each other."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pytest_rageval
from pytest_rageval.clients import deadline, threads
from pytest_rageval.clients.threads import DaemonThreads, Raised, in_thread

NAME: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")


def many(*functions: Callable[[], object]) -> list[Any]:
    async def gather() -> list[Any]:
        return await asyncio.gather(*map(in_thread, functions), return_exceptions=True)

    return asyncio.run(gather())


def wait_until(there: Callable[[], bool], most_s: float = 60.0) -> None:
    end = time.monotonic() + most_s
    while not there():
        assert time.monotonic() < end, "not there in time"
        time.sleep(0.001)


def test_as_many_run_as_there_are() -> None:
    """[A22] 40 functions that wait for each other could not in a smaller pool."""
    barrier = threading.Barrier(40, timeout=60.0)
    assert sorted(many(*[barrier.wait] * 40)) == list(range(40))


def test_a_thread_that_is_free_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of earlier tests may still be on their way back: there is room for all."""
    monkeypatch.setattr(threads, "_MOST_IDLE", 1000)
    (first,) = many(threading.current_thread)
    wait_until(lambda: any(idle._thread is first for idle in threads._IDLE))
    before = threading.enumerate()
    (second,) = many(threading.current_thread)
    assert second in before
    assert all(one.daemon for one in threading.enumerate() if one.name == "rageval-target")


def test_only_so_many_threads_wait_for_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_MOST_IDLE", 0)
    monkeypatch.setattr(threads, "_IDLE", [])
    (thread,) = many(threading.current_thread)
    thread.join(60.0)
    assert not thread.is_alive()
    assert many(lambda: 7) == [7]


def test_one_that_never_returns_keeps_nobody() -> None:
    """[A21] Neither others, nor the loop when it is cancelled."""
    release = threading.Event()

    async def run() -> object:
        hanging = asyncio.ensure_future(in_thread(release.wait))
        await asyncio.sleep(0)
        found = await in_thread(lambda: "done")
        hanging.cancel()
        return found

    try:
        assert asyncio.run(run()) == "done"
    finally:
        release.set()


@pytest.mark.parametrize("kind", [KeyError, StopIteration, SystemExit, KeyboardInterrupt])
def test_whatever_is_raised_arrives(kind: type[BaseException]) -> None:
    """[A21] What no future can carry is carried by Raised."""

    def fail() -> None:
        raise kind("x")

    (found,) = many(fail)
    if kind is KeyError:
        assert isinstance(found, KeyError)
    else:
        assert isinstance(found, Raised)
        assert isinstance(found.error, kind)


def test_the_context_goes_along() -> None:
    """By it, log records find their sample."""

    async def run() -> object:
        NAME.set("s1")
        return await in_thread(NAME.get)

    assert asyncio.run(run()) == "s1"
    assert many(NAME.get) == ["none"]


def test_a_call_of_to_thread_is_in_a_daemon() -> None:
    """Python would wait for one that never returns."""

    async def told() -> tuple[bool, int]:
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        is_daemon = await asyncio.to_thread(lambda: threading.current_thread().daemon)
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        return is_daemon, await asyncio.to_thread(max, 1, 2)

    assert asyncio.run(told()) == (True, 2)


def test_a_package_whose_name_begins_with_ours_is_the_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deadline, "GRACE_S", 0.0)
    path = f"{Path(pytest_rageval.__file__).parent}_acme/target.py"
    release = threading.Event()
    there: dict[str, Any] = {"release": release}
    exec(compile("async def answer(): release.wait(60)", path, "exec"), there)
    at_work = threading.Thread(
        target=lambda: asyncio.run(deadline.within(there["answer"](), 0.01)), daemon=True
    )
    at_work.start()
    try:
        wait_until(lambda: bool(deadline.blocking(at_work.ident or 0)))
        assert "answer (target.py) did not end" in deadline.blocking(at_work.ident or 0)
    finally:
        release.set()
        at_work.join(60)

"""E8: one event loop in a thread of its own, and nothing of it left when it is closed."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from pytest_rageval.engine.scoring import window as runner_module
from pytest_rageval.engine.scoring.window import EventLoop

NAME = "rageval-loop"


def loops() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == NAME]


@pytest.fixture
def runner() -> Iterator[EventLoop]:
    made = EventLoop()
    yield made
    made.close()
    assert loops() == []


async def forever(log: list[str], name: str = "cancelled") -> None:
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        log.append(name)
        raise


async def where() -> threading.Thread:
    return threading.current_thread()


def test_nothing_runs_before_something_is_submitted(runner: EventLoop) -> None:
    assert loops() == []
    runner.close()
    assert loops() == []


def test_everything_runs_in_one_thread_beside_the_main_one(runner: EventLoop) -> None:
    first, second = (runner.submit(where()).result(60) for _ in range(2))
    assert first is second
    assert first in loops()
    assert first.daemon


def test_a_function_is_called_in_the_same_thread(runner: EventLoop) -> None:
    threads: list[threading.Thread] = []
    runner.call(lambda: threads.append(threading.current_thread()))
    assert runner.submit(where()).result(60) is threads[0]


def test_an_exception_reaches_who_waits(runner: EventLoop) -> None:
    async def fails() -> None:
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        runner.submit(fails()).result(60)


def test_closing_cancels_what_runs_before_it_closes_what_was_opened(runner: EventLoop) -> None:
    log: list[str] = []

    async def close(name: str) -> None:
        log.append(name)

    runner.on_close(lambda: close("first"))
    runner.on_close(lambda: close("second"))
    runner.submit(forever(log))
    runner.submit(where()).result(60)
    loop = runner.loop
    runner.close()
    assert log == ["cancelled", "first", "second"]
    assert loop.is_closed()
    assert loops() == []


def test_what_stops_comes_before_what_is_cancelled(runner: EventLoop) -> None:
    """So that nothing new begins where a place becomes free."""
    log: list[str] = []
    runner.on_stop(lambda: log.append("stopped"))
    runner.submit(forever(log))
    runner.submit(where()).result(60)
    runner.close()
    assert log == ["stopped", "cancelled"]


def test_what_was_submitted_in_the_last_moment_is_cancelled_too(runner: EventLoop) -> None:
    """Or never begun; nobody is told by a warning that it was forgotten."""
    log: list[str] = []
    futures = [runner.submit(forever(log, str(at))) for at in range(20)]
    runner.close()
    assert all(future.cancelled() for future in futures)


def test_closing_twice_closes_once(runner: EventLoop) -> None:
    log: list[str] = []

    async def close() -> None:
        log.append("closed")

    runner.on_close(close)
    runner.submit(where()).result(60)
    runner.close()
    runner.close()
    assert log == ["closed"]


def test_asynchronous_generators_are_finished(runner: EventLoop) -> None:
    log: list[str] = []
    kept = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            log.append("finished")

    async def take_one() -> int:
        kept.append(numbers())
        return await anext(kept[0])

    assert runner.submit(take_one()).result(60) == 1
    runner.close()
    assert log == ["finished"]


def test_a_closed_runner_takes_nothing_more(runner: EventLoop) -> None:
    runner.submit(where()).result(60)
    runner.close()
    work = where()
    with pytest.raises(RuntimeError, match="closed"):
        runner.submit(work)
    work.close()
    with pytest.raises(RuntimeError, match="closed"):
        runner.call(lambda: None)


def test_a_closer_that_fails_leaves_no_thread_behind(runner: EventLoop) -> None:
    log: list[str] = []

    async def fails() -> None:
        raise OSError("cannot be closed")

    async def closes() -> None:
        log.append("closed")

    runner.on_close(fails)
    runner.on_close(closes)
    loop = runner.loop
    with pytest.raises(OSError, match="cannot be closed"):
        runner.close()
    assert loop.is_closed()
    assert loops() == []
    assert log == ["closed"]


def test_a_coroutine_that_ignores_its_cancellation_does_not_hang_the_run(
    runner: EventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a user's metric does, the run ends."""
    monkeypatch.setattr(runner_module, "_STOP_TIMEOUT_S", 0.1)
    released = threading.Event()

    async def stubborn() -> None:
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    runner.submit(stubborn())
    runner.submit(where()).result(60)
    closing = threading.Thread(target=_close_quietly, args=(runner,))
    closing.start()
    closing.join(60)
    released.set()
    assert not closing.is_alive()
    assert loops() == []


def _close_quietly(runner: EventLoop) -> None:
    with contextlib.suppress(TimeoutError):
        runner.close()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_no_task_of_anyones_ends_the_loop_for_all_others(
    runner: EventLoop, kind: type[BaseException]
) -> None:
    """A metric's own task may exit; who awaits it is told, and the rest goes on."""

    async def leaves() -> None:
        raise kind("enough")

    async def starts_a_task() -> str:
        try:
            await asyncio.gather(leaves())
        except kind as error:
            return str(error)
        return "went on"

    other = runner.submit(asyncio.sleep(0.2, "done"))
    assert runner.submit(starts_a_task()).result(60) == "enough"
    assert other.result(60) == "done"

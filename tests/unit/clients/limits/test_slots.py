"""Slots in one process; over several processes see test_processes.py."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rageval.clients import file_locks
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.file_locks import ByteLocks
from pytest_rageval.clients.limits import slots as slots_module
from pytest_rageval.clients.limits.slots import LocalPool, SharedPool, Slots


def with_slots(limit: int, work: Callable[[Slots], Awaitable[object]]) -> None:
    async def main() -> None:
        slots = Slots(LocalPool(limit))
        await work(slots)
        assert [await slots.acquire() for _ in range(limit)]  # none was lost
        slots.close()

    asyncio.run(asyncio.wait_for(main(), 60.0))


def test_never_more_than_the_limit_and_first_come_first_served() -> None:
    held, most, order = 0, 0, []

    async def hold(slots: Slots, number: int) -> None:
        nonlocal held, most
        slot = await slots.acquire()
        order.append(number)
        held += 1
        most = max(most, held)
        await asyncio.sleep(0)
        held -= 1
        slots.release(slot)

    async def work(slots: Slots) -> None:
        await asyncio.gather(*(hold(slots, number) for number in range(20)))

    with_slots(3, work)
    assert most == 3
    assert order == list(range(20))


def test_lower_orders_are_served_first_and_equal_ones_as_they_came() -> None:
    served = []

    async def hold(slots: Slots, name: str) -> None:
        slot = await slots.acquire(int(name[0]))
        served.append(name)
        slots.release(slot)

    async def work(slots: Slots) -> None:
        slot = await slots.acquire()
        tasks = [asyncio.create_task(hold(slots, name)) for name in ("2a", "1a", "3a", "1b", "2b")]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.wait([tasks[0]])
        slots.release(slot)
        await asyncio.wait(tasks)

    with_slots(1, work)
    assert served == ["1a", "1b", "2b", "3a"]


def test_who_is_cancelled_leaves_the_queue_at_once() -> None:
    async def work(slots: Slots) -> None:
        slot = await slots.acquire()
        waiting = [asyncio.create_task(slots.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        waiting[2].cancel()
        await asyncio.wait([waiting[0], waiting[2]])
        slots.release(slot)
        slots.release(await waiting[1])

    with_slots(1, work)


@pytest.mark.parametrize("cancelled_first", [True, False])
def test_a_slot_given_in_the_moment_of_a_cancellation_is_not_lost(cancelled_first: bool) -> None:
    async def work(slots: Slots) -> None:
        slot = await slots.acquire()
        first, second = (asyncio.create_task(slots.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        if cancelled_first:
            first.cancel()
            slots.release(slot)
        else:
            slots.release(slot)
            first.cancel()
        slots.release(await second)
        with pytest.raises(asyncio.CancelledError):
            await first

    with_slots(1, work)


def test_closing_cancels_those_who_wait() -> None:
    async def main() -> None:
        slots = Slots(LocalPool(1))
        await slots.acquire()
        waiting = asyncio.create_task(slots.acquire())
        await asyncio.sleep(0)
        slots.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())


needs_locks = pytest.mark.skipif(not file_locks.AVAILABLE, reason="no file locks on this system")


@needs_locks
def test_those_who_wait_are_served_after_a_lock_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system of a network says so now and then; the timer goes on."""
    locks, failures = ByteLocks(tmp_path / "locks"), [errno.ENOLCK, errno.EIO, errno.ESTALE]
    try_lock = locks.try_lock

    def failing(offset: int) -> bool:
        if failures:
            raise OSError(failures.pop(), "no lock now")
        return try_lock(offset)

    monkeypatch.setattr(locks, "try_lock", failing)

    async def main() -> list[int]:
        slots = Slots(SharedPool(locks, 2))
        async with asyncio.timeout(60.0):
            found = [await slots.acquire() for _ in range(2)]
        slots.close()
        return found

    assert sorted(asyncio.run(main())) == [0, 1]
    assert not failures


def wait_for_a_slot(
    monkeypatch: pytest.MonkeyPatch, locks: ByteLocks, taken: list[bool | OSError]
) -> int:
    """Return the slot that is taken when a lock was tried so many times, 50 s apart.

    ``taken`` is what each try finds.
    """
    clock, left = [0.0], [*taken]

    def try_lock(_: int) -> bool:
        clock[0] += 50.0
        found = left.pop(0)
        if isinstance(found, OSError):
            raise found
        return found

    monkeypatch.setattr(locks, "try_lock", try_lock)
    monkeypatch.setattr(slots_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    async def main() -> int:
        slots = Slots(SharedPool(locks, 1))
        try:
            async with asyncio.timeout(60.0):
                return await slots.acquire()
        finally:
            slots.close()

    try:
        return asyncio.run(main())
    finally:
        assert not left


FAILED = OSError(errno.ENOLCK, "No locks available")


@needs_locks
@pytest.mark.parametrize(
    "taken",
    [
        [True],
        [*[False] * 60, True],  # for 50 minutes, another process has it
        [FAILED, True],
        [FAILED, FAILED, False, FAILED, FAILED, False, True],
        [*[FAILED, False] * 30, True],
        [FAILED, OSError(errno.EIO, "I/O error"), True],
    ],
)
def test_who_waits_for_another_process_waits_on(
    taken: list[bool | OSError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file system has no lock now and then."""
    assert wait_for_a_slot(monkeypatch, ByteLocks(tmp_path / "locks"), taken) == 0


@needs_locks
def test_locks_that_cannot_be_taken_for_long_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failures at 50, 100, 150 and 200 s: the last is the first after more than 120 s."""
    locks = ByteLocks(tmp_path / "locks")
    with pytest.raises(ClientError) as caught:
        wait_for_a_slot(monkeypatch, locks, [False, *[FAILED] * 4])
    assert not caught.value.is_transient
    assert str(caught.value) == (
        "the locks that the processes of a run share could not be taken for 120 s (OSError: "
        f"[Errno {errno.ENOLCK}] No locks available); set TMPDIR to a folder on a disk of this "
        "machine, or run in one process"
    )


@needs_locks
def test_who_is_cancelled_when_locks_are_given_up_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots_module, "_LONGEST_S", -1.0)
    locks = ByteLocks(tmp_path / "locks")

    def fail(_: int) -> bool:
        asyncio.get_running_loop().call_soon(waiting.cancel)
        raise FAILED

    monkeypatch.setattr(locks, "try_lock", fail)
    waiting: asyncio.Task[int]

    async def main() -> None:
        nonlocal waiting
        slots = Slots(SharedPool(locks, 1))
        waiting = asyncio.create_task(slots.acquire())
        await asyncio.wait([waiting])
        slots.close()

    asyncio.run(main())
    assert waiting.cancelled()


@needs_locks
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOLCK, "no"), PermissionError(errno.EACCES, "no"), BlockingIOError()]
)
def test_a_file_system_where_no_lock_can_be_taken_has_none(
    error: OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that says of each lock that it is taken: nobody takes that of the probe."""
    fcntl = pytest.importorskip("fcntl")

    def lockf(file: int, kind: int, *place: int) -> None:
        if kind != fcntl.LOCK_UN:
            raise error

    assert file_locks.open_locks(tmp_path, "locks") is not None
    assert file_locks.open_locks(tmp_path, "locks") is not None
    monkeypatch.setattr("fcntl.lockf", lockf)
    assert file_locks.open_locks(tmp_path, "locks") is None


@needs_locks
@pytest.mark.parametrize("returned", [[], [0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 4, 5, 6]])
def test_slots_above_a_lowered_limit_count_until_they_are_given_back(
    returned: list[int], tmp_path: Path
) -> None:
    """Eight were taken, and four may be in flight now."""
    pool = SharedPool(ByteLocks(tmp_path / "locks"), 8)
    assert [pool.take() for _ in range(9)].count(None) == 1
    pool.room.halve(time.monotonic(), 8)
    assert pool.room.limit == 4
    for slot in returned:
        pool.give(slot)
    taken = [slot for slot in (pool.take() for _ in range(5)) if slot is not None]
    assert len(taken) == max(0, 4 - (8 - len(returned)))
    pool.close()

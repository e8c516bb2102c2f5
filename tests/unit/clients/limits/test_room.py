"""How many requests may be in flight after time-outs."""

from __future__ import annotations

import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from pytest_rageval.clients.limits.slots import Room


def test_one_crowd_that_times_out_halves_once() -> None:
    """[R1] 14 of 16 that were sent together, under a limit of 32; then 3 of 7, then the last."""
    room, began = Room(32), time.monotonic()
    room.add_success()
    assert [room.halve(began, in_flight) for in_flight in range(14, 1, -1)] == [True] * 13
    assert room.limit == 7
    assert not room.halve(time.monotonic(), 3)  # nothing was answered since it was sent
    assert room.limit == 1
    room.add_success()
    assert not room.was_alone(began, 1)  # others were sent with it
    assert not room.halve(began, 1)
    began = time.monotonic()
    assert room.was_alone(began, 1)
    assert not room.was_alone(began, 2)
    room.add_success()
    assert not room.was_alone(began, 1)  # it may have waited for that one


def test_the_limit_grows_again_slowly_up_to_what_was_asked_for() -> None:
    """[R1] Eight answers at 1 give 2, sixteen more give 3, and 4 is the most."""
    room = Room(4)
    room.halve(time.monotonic(), 2)
    limits = []
    for _ in range(8 + 16 + 24 + 40):
        room.add_success()
        limits.append(room.limit)
    assert [limits.index(limit) + 1 for limit in (2, 3, 4)] == [8, 24, 48]
    assert limits[-1] == 4


def test_processes_share_it(tmp_path: Path) -> None:
    """[R1] Behind the bookings of the rates, in the same file."""
    from pytest_rageval.clients.file_locks import ByteLocks

    one, two = (Room(32, ByteLocks(tmp_path / "locks")) for _ in range(2))
    began = time.monotonic()
    two.add_success()
    assert one.limit == 32
    assert one.halve(began, 10)
    assert two.limit == 5
    assert two.halve(began, 10)  # sent before: halved once only
    assert two.limit == 5


def test_a_process_that_cannot_write_goes_on_with_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """32 are in the file, and it lost the halving; once it can write, all see it."""
    from pytest_rageval.clients.file_locks import ByteLocks

    locks = ByteLocks(tmp_path / "locks")
    room, began = Room(32, locks), time.monotonic()
    room.add_success()
    with monkeypatch.context() as patch:
        patch.setattr(locks, "write", Mock(side_effect=OSError("full")))
        room.halve(began, 10)
        assert (room.limit, Room(32, locks).limit) == (5, 32)
    room.add_success()
    assert Room(32, locks).limit == 5


def test_the_last_numbers_stay_when_the_locks_are_closed(tmp_path: Path) -> None:
    """[R1] The summary says them at the end of a worker."""
    from pytest_rageval.clients.file_locks import ByteLocks

    locks = ByteLocks(tmp_path / "locks")
    room, began = Room(32, locks), time.monotonic()
    room.add_success()
    room.halve(began, 8)
    locks.close()
    assert room.limit == 4

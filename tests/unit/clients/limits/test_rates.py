"""Requests and tokens per minute; over several processes see test_processes.py."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rageval.clients import file_locks
from pytest_rageval.clients.limits.limits import Rates, Windows


def test_a_full_window_postpones_to_the_moment_when_its_first_second_has_left() -> None:
    """Two a minute. Booked in seconds 100 and 130; whole seconds count, 100 leaves at 161."""
    windows = Windows([2])
    assert windows.book(100.4, [1]) == 100.4
    assert windows.book(130.9, [1]) == 130.9
    assert windows.book(131.0, [1]) == 161.0
    assert windows.book(131.0, [1]) == 191.0
    assert windows.book(131.0, [1]) == 222.0  # 61 after 161


def test_requests_and_tokens_both_need_room() -> None:
    """10 requests, 100 tokens: the third would make 120 tokens and waits for the first to leave."""
    windows = Windows([10, 100])
    assert [windows.book(5.0, [1, 40]) for _ in range(3)] == [5.0, 5.0, 66.0]


def test_what_is_larger_than_the_limit_has_a_window_to_itself() -> None:
    windows = Windows([100])
    assert windows.book(0.5, [10]) == 0.5
    assert windows.book(0.5, [1000]) == 61.0
    assert windows.book(0.5, [1]) == 122.0


def test_what_is_larger_than_a_part_of_the_limit_waits_as_long_as_the_whole_would() -> None:
    """[E17] Two requests a minute in four shards are one in two minutes each: 60 bins more.

    800 of 1,000 tokens, in four shards: 800 / 250 = 3.2 minutes, which are 132 bins more. What is
    larger than the whole limit counts as the whole: four minutes.
    """
    windows = Windows([0.5], parts=4)
    assert [windows.book(0.5, [1]) for _ in range(3)] == [0.5, 121.0, 242.0]
    windows = Windows([250.0], parts=4)
    assert [windows.book(0.5, [800]) for _ in range(2)] == [0.5, 193.0]
    assert windows.book(0.5, [5000]) == 386.0
    assert windows.book(0.5, [1]) == 627.0


def test_a_correction_makes_room_or_takes_it() -> None:
    """100 tokens. 60 turn out to be 10: then 90 fit at once. 20 turn out to be 95: then 10 wait."""
    windows = Windows([100])
    windows.correct(windows.book(1.0, [60]), [-50])
    assert windows.book(1.0, [90]) == 1.0
    windows = Windows([100])
    windows.correct(windows.book(1.0, [20]), [75])
    assert windows.book(2.0, [10]) == 62.0


def test_what_is_taken_back_leaves_no_booking_of_later_windows() -> None:
    """[E17] Two a minute in four shards: held once more 60 bins later, where the next one starts.

    Bookings of others stay, also where what is taken back has left the window.
    """
    windows = Windows([0.5], parts=4)
    windows.take_back(windows.book(0.5, [1]), [1])
    assert windows.book(0.5, [1]) == 60.0  # else 121; never before an earlier booking
    windows = Windows([250.0], parts=4)
    windows.take_back(windows.book(0.5, [800]), [800])
    assert windows.book(0.5, [250]) == 132.0
    windows = Windows([100.0], parts=4)
    windows.take_back(windows.book(0.5, [150]), [150])
    assert windows.book(0.5, [100]) == 30.0
    windows = Windows([250.0], parts=4)
    first = windows.book(0.5, [800])
    assert windows.book(0.5, [800]) == 193.0
    windows.take_back(first, [800])
    assert windows.book(0.5, [1]) == 386.0
    windows = Windows([1.0])
    first, _, _ = (windows.book(0.5, [1]) for _ in range(3))
    windows.take_back(first, [1])
    assert windows.book(0.5, [1]) == 183.0


def test_what_is_taken_back_makes_room_within_a_limit() -> None:
    windows = Windows([2, 100])
    first = windows.book(1.0, [1, 60])
    second = windows.book(2.0, [1, 40])
    windows.take_back(second, [1, 40])
    assert windows.book(3.0, [1, 40]) == 3.0
    windows.take_back(first, [1, 60])
    assert windows.book(4.0, [1, 60]) == 4.0
    assert windows.book(5.0, [1, 1]) == 64.0  # 3.0 leaves


def test_a_correction_for_a_moment_long_gone_counts_now() -> None:
    windows = Windows([100])
    start = windows.book(1.0, [50])
    windows.book(200.0, [1])
    windows.correct(start, [99])
    assert windows.book(200.0, [1]) == 261.0


def test_bookings_survive_packing() -> None:
    windows, other = Windows([2, 50]), Windows([2, 50])
    windows.book(7.0, [1, 20])
    other.unpack(windows.pack())
    assert len(windows.pack()) == windows.size
    assert [other.book(7.0, [1, 20]) for _ in range(2)] == [7.0, 68.0]
    other.unpack(b"half")  # ignored
    assert other.book(7.0, [1, 20]) == 68.0


@given(
    st.integers(1, 5),
    st.lists(
        st.tuples(st.floats(0.0, 30.0), st.integers(1, 5), st.integers(0, 9)),
        min_size=1,
        max_size=60,
    ),
)
def test_no_window_ever_holds_more_than_its_capacity(
    capacity: int, steps: list[tuple[float, int, int]]
) -> None:
    """Counted by hand over every window of 60 seconds that begins with a start.

    One in ten bookings is followed by a caller that is cancelled while it waits.
    """
    windows, now, starts = Windows([capacity]), 1000.0, []
    for pause, amount, chance in steps:
        now += pause
        starts.append((windows.book(now, [amount]), min(amount, capacity)))
        if chance == 0 and (waiting := [one for one in starts if one[0] > now]):
            starts.remove(waiting[0])
            windows.take_back(waiting[0][0], [waiting[0][1]])
    moments = [moment for moment, _ in starts]
    assert moments == sorted(moments)
    for first in moments:
        inside = [size for moment, size in starts if first <= moment < first + 60.0]
        assert sum(inside) <= capacity


def start_all(rates: Rates, count: int) -> list[float]:
    """Return after how many seconds each of ``count`` callers might start."""

    async def main() -> list[float]:
        began = time.monotonic()
        starts = await asyncio.gather(*(rates.start(1.0) for _ in range(count)))
        return [start - began for start in starts]

    return asyncio.run(main())


def test_callers_sleep_until_it_is_their_turn() -> None:
    """Three in 0.2 s: six callers take one window, of 0.2 s and a sixtieth."""
    rates = Rates(3, None, window_s=0.2)
    began = time.monotonic()
    starts = start_all(rates, 6)
    assert all(later - earlier > 0.19 for earlier, later in zip(starts, starts[3:], strict=False))
    assert time.monotonic() - began >= 0.19


@pytest.mark.skipif(not file_locks.AVAILABLE, reason="no file locks on this system")
def test_a_record_that_can_no_longer_be_written_loses_no_booking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in 0.1 s: the third was started with the second, of which the file knew nothing."""
    locks = file_locks.ByteLocks(tmp_path / "locks")
    rates = Rates(1, None, locks, window_s=0.1)
    start_all(rates, 1)
    monkeypatch.setattr(locks, "write", Mock(side_effect=OSError("full")))
    second, third = start_all(rates, 2)
    assert third - second > 0.09


def test_a_cancelled_caller_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that stands: a machine that pauses books later."""
    stands = SimpleNamespace(monotonic=lambda: 100.0)  # not that of the event loop
    monkeypatch.setattr("pytest_rageval.clients.limits.limits.time", stands)

    async def main() -> float:
        rates = Rates(None, 10, window_s=0.2)
        began = await rates.start(10.0)
        waiting = asyncio.create_task(rates.start(10.0))
        await asyncio.sleep(0)  # it begins to wait
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return await rates.start(10.0) - began

    assert asyncio.run(main()) < 0.25  # else 0.4

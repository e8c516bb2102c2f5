"""Limits, budget and cache over several processes, also when one of them is killed."""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import client_processes
import pytest
from fake_openai import FakeOpenAI

from pytest_rageval.clients import file_locks as locks
from pytest_rageval.clients.accounting import run_usage
from pytest_rageval.clients.cache import Cache
from pytest_rageval.clients.limits.limits import open_limits
from pytest_rageval.clients.limits.single_flight import SingleFlight
from pytest_rageval.clients.settings import ClientSettings, RunSettings

pytestmark = pytest.mark.skipif(not locks.AVAILABLE, reason="no file locks on this system")
pytest.importorskip("aiohttp", reason="other processes ask with aiohttp")


class Other:
    """A process that runs functions of ``client_processes``, one after the other."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._end, theirs = spawn.Pipe()
        self._process = spawn.Process(target=client_processes.serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._is_idle = True

    @property
    def can_work(self) -> bool:
        return self._is_idle and self._process.is_alive()

    def prepare(self, function: Callable[..., None], *args: Any, **keys: Any) -> None:
        """Have a function ready to begin."""
        self._is_idle = False
        self._end.send((function.__name__, args, keys))
        assert self.receive() == "ready"

    def begin(self) -> None:
        """Let it begin."""
        self._end.send("go")

    def result(self) -> Any:
        """Return what the function found at its end."""
        found = self.receive()
        self._is_idle = True
        return found

    def receive(self) -> Any:
        assert self._end.poll(60.0), "the other process does not answer"
        return self._end.recv()

    @property
    def has_answered(self) -> bool:
        """Whether the function has found something by now."""
        return self._end.poll(0.0)

    def kill(self) -> None:
        self._process.kill()
        self._process.join(10.0)

    def close(self) -> None:
        self.kill()
        self._process.close()
        self._end.close()


@pytest.fixture(scope="module")
def _processes() -> Iterator[list[Other]]:
    """Keep processes from test to test: to start one takes longer than most of what they do."""
    processes: list[Other] = []
    yield processes
    for process in processes:
        process.close()


@pytest.fixture
def two(_processes: list[Other]) -> list[Other]:
    """Return two processes with nothing to do."""
    for process in [process for process in _processes if not process.can_work]:
        process.close()
        _processes.remove(process)
    while len(_processes) < 2:
        _processes.append(Other())
    return _processes[:2]


@pytest.fixture
def both(two: list[Other]) -> Callable[..., list[Any]]:
    """Return a function: let both processes run the same; return what each found."""

    def run_both(function: Callable[..., None], *args: Any, **keys: Any) -> list[Any]:
        for process in two:
            process.prepare(function, *args, **keys)
        for process in two:
            process.begin()
        return [process.result() for process in two]

    return run_both


Both = Callable[..., list[Any]]
Run = Callable[..., RunSettings]


def test_two_processes_keep_one_limit_and_ask_each_question_once(
    server: FakeOpenAI, run: Run, both: Both
) -> None:
    server.options.latency_s = 0.02
    shared, texts = run(processes=2), [f"{n}" for n in range(40)]
    one, two = both(client_processes.ask, server.base_url, shared, texts, concurrency=4)
    assert one == two
    assert None not in one
    assert 2 <= server.most_in_flight <= 4  # a busy machine may not fill every place
    assert len(server.chats) == 40
    used = run_usage(shared.shared_dir or Path())
    assert (used.calls, used.cached) == (40, 40)


def test_two_processes_keep_one_budget(server: FakeOpenAI, run: Run, two: list[Other]) -> None:
    """A question of 4 characters costs a dollar, as guessed; 20 dollars are 20 questions."""
    shared = run(processes=2, budget_usd=20.0)
    for process, name in zip(two, "ab", strict=True):
        texts = [f"{name}{n:03}" for n in range(30)]
        process.prepare(client_processes.ask, server.base_url, shared, texts, concurrency=2)
    for process in two:
        process.begin()
    replies = [reply for process in two for reply in process.result()]
    answered = sum(reply is not None for reply in replies)
    # Two that reserve in the same moment may both step back: one question each at most.
    assert 18 <= answered <= 20
    assert run_usage(shared.shared_dir or Path()).cost_usd == answered == len(server.chats)


def test_two_processes_keep_one_rate(run: Run, both: Both) -> None:
    """Six in 0.3 s, 18 to start: two windows to wait, and never more than six within one."""
    settings, shared = ClientSettings("m", rpm=6), run(processes=2)
    one, two = both(client_processes.start_at_a_rate, settings, shared, 9, 0.3)
    starts = sorted([*one, *two])
    assert len(starts) == 18
    for first in starts:
        assert sum(first <= start < first + 0.3 for start in starts) <= 6
    assert starts[-1] - starts[0] >= 0.6


@pytest.mark.full
def test_a_process_that_comes_later_gets_its_share(run: Run, two: list[Other]) -> None:
    """The first has 4,000 calls of 50 ms waiting for four slots, which takes 50 s.

    A slot goes to the first process that looks, so the second gets some as those calls end.
    """
    settings, shared = ClientSettings("m", concurrency=4), run(processes=2)
    first, second = two
    first.prepare(client_processes.hold, settings, shared, 4_000, 0.05)
    second.prepare(client_processes.hold, settings, shared, 4, 0.05)
    first.begin()
    time.sleep(0.1)
    second.begin()
    assert len(second.result()) == 4
    assert not first.has_answered
    first.kill()


def test_three_processes_keep_one_limit(run: Run, two: list[Other]) -> None:
    """Each has 20 calls of 30 ms for two slots."""
    settings, shared = ClientSettings("m", concurrency=2), run(processes=3)
    for process in two:
        process.prepare(client_processes.hold, settings, shared, 20, 0.03)
        process.begin()
    third = asyncio.run(client_processes.held(open_limits(settings, shared), 20, 0.03))
    all_times = [third, *(process.result() for process in two)]
    assert [len(times) for times in all_times] == [20, 20, 20]
    for began, _ in third:
        assert sum(first <= began < end for times in all_times for first, end in times) <= 2


def test_a_process_has_all_slots_while_no_other_needs_one(run: Run, two: list[Other]) -> None:
    settings, shared = ClientSettings("m", concurrency=4), run(processes=2)
    idle, busy = two
    idle.prepare(client_processes.hold, settings, shared, 0, 0.0)
    busy.prepare(client_processes.meet, settings, shared, 4, 4)
    idle.begin()
    busy.begin()
    assert idle.result() == []
    assert busy.result() == "met"


@pytest.mark.full
def test_two_busy_processes_leave_no_slot_unused(run: Run, two: list[Other]) -> None:
    """One keeps three of eight; the other has 40 calls, each of which waits until five are had."""
    settings, shared = ClientSettings("m", concurrency=8), run(processes=2)
    keeps, busy = two
    keeps.prepare(client_processes.occupy, settings, shared, 3)
    busy.prepare(client_processes.meet, settings, shared, 40, 5)
    keeps.begin()
    assert keeps.receive() == "occupied"
    busy.begin()
    assert busy.result() == "met"
    keeps.kill()


@pytest.mark.full
def test_the_slots_of_a_killed_process_are_free_at_once(run: Run, two: list[Other]) -> None:
    settings, shared = ClientSettings("m", concurrency=3), run(processes=2)
    doomed, heir = two
    doomed.prepare(client_processes.occupy, settings, shared, 3)
    heir.prepare(client_processes.hold, settings, shared, 3, 0.01)
    doomed.begin()
    assert doomed.receive() == "occupied"
    heir.begin()
    time.sleep(0.1)
    killed = time.monotonic()
    doomed.kill()
    assert killed <= min(began for began, _ in heir.result())


@pytest.mark.full
def test_a_question_of_a_killed_process_is_asked_by_the_next(
    server: FakeOpenAI, run: Run, two: list[Other]
) -> None:
    server.then("hang")
    for process in two:
        process.prepare(client_processes.ask, server.base_url, run(processes=2), ["Well?"])
    doomed, heir = two
    doomed.begin()
    while not server.chats:
        time.sleep(0.005)
    heir.begin()
    time.sleep(0.1)
    assert len(server.chats) == 1  # it waits for the other's reply
    doomed.kill()
    assert heir.result()[0].startswith("Reply")
    assert len(server.chats) == 2


@pytest.mark.full
def test_many_writers_and_one_killed_leave_whole_entries_only(
    tmp_path: Path, two: list[Other]
) -> None:
    doomed, steady = two
    doomed.prepare(client_processes.write, tmp_path, list(range(1000)) * 3)
    steady.prepare(client_processes.write, tmp_path, list(range(100)))
    doomed.begin()
    steady.begin()
    assert steady.result() is None
    doomed.kill()
    lines = [
        line
        for file in tmp_path.glob("*.reply.jsonl")
        for line in file.read_bytes().splitlines(True)
    ]
    broken = [line for line in lines if not line.endswith(b"}\n")]
    assert len(broken) <= 1  # the line in which the one was killed
    reader = Cache(RunSettings(cache_dir=tmp_path, cache_mode="read"))
    written = {json.loads(line)["sha256"] for line in lines if line not in broken}
    for number in range(1000):
        key, value = client_processes.entry(number)
        assert reader.get("reply", key.sha256) == (value if key.sha256 in written else None)
    assert len(written) >= 100


def test_without_locks_each_process_gets_its_part(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 7 slots and 60 a minute two processes get 3 and 30 each, of one slot one each."""
    monkeypatch.setattr(locks, "AVAILABLE", False)
    limits = open_limits(ClientSettings("m", concurrency=7, rpm=60), run(processes=2))
    assert limits._slots.room.limit == 3
    assert limits._rates is not None
    assert limits._rates._windows._capacities == (30.0, math.inf)
    one = open_limits(ClientSettings("m", concurrency=1), run(processes=2))
    assert one._slots.room.limit == 1


def test_a_shared_folder_that_cannot_be_written_divides_the_limits(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    limits = open_limits(
        ClientSettings("m", concurrency=8), run(processes=2, shared_dir=tmp_path / "file")
    )
    assert limits._slots.room.limit == 4


def test_two_processes_shrink_their_limit_together_and_lose_nothing(run: Run, both: Both) -> None:
    """[R1] A server with one slot serves three in the time that a request has."""
    with FakeOpenAI(slots=1, latency_s=0.1) as server:
        fields = {"timeout_s": 0.38, "retries": 2}
        texts = [f"{n}" for n in range(14)]
        one, two = both(client_processes.ask, server.base_url, run(processes=2), texts, **fields)
    assert one == two
    assert None not in one
    late = [seen.at for seen in server.chats][-5:]
    assert late[-1] - late[0] > 0.3  # one after the other at the end


def test_a_question_is_free_for_others_once_it_is_answered_or_has_failed(
    tmp_path: Path, two: list[Other]
) -> None:
    file = tmp_path / "claims"
    claims = locks.ByteLocks(file)

    async def ask_and_fail() -> None:
        flights: SingleFlight[str] = SingleFlight(claims)
        await flights.run("a" * 64, lambda: None, lambda: asyncio.sleep(0, "yes"), str)
        with pytest.raises(ValueError, match="no"):
            await flights.run("b" * 64, lambda: None, fail, str)

    async def fail() -> str:
        raise ValueError("no")

    asyncio.run(ask_and_fail())
    two[0].prepare(client_processes.lock, file, [int("a" * 15, 16), int("b" * 15, 16)])
    two[0].begin()
    assert two[0].receive() == [True, True]
    claims.close()


@pytest.mark.full
def test_a_lock_of_another_process_is_seen(tmp_path: Path, two: list[Other]) -> None:
    """The other process holds byte 1; byte 2 is this one's, byte 3 nobody's."""
    mine = locks.ByteLocks(tmp_path / "locks")
    assert mine.try_lock(2)
    theirs = two[0]
    theirs.prepare(client_processes.lock, tmp_path / "locks", [1, 2])
    theirs.begin()
    assert theirs.receive() == [True, False]
    assert [mine.is_locked(1), mine.is_locked(3)] == [True, False]
    assert not mine.try_lock(1)
    assert mine.try_lock(3)
    theirs.kill()
    assert not mine.is_locked(1)
    mine.close()
    mine.close()

"""E19: engines by the scheme of their URL; processes that are made anew, and ended."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_rageval.executors import base
from pytest_rageval.executors.base import (
    EXECUTOR_REGISTRY,
    EngineError,
    UserWorkers,
    executor_kind,
)
from pytest_rageval.executors.dask_cluster import DaskWorkers
from pytest_rageval.executors.processes import ProcessWorkers


def test_an_engine_is_found_by_its_scheme() -> None:
    assert EXECUTOR_REGISTRY.names() == ["dask", "processes"]
    kind, place = executor_kind("dask://tls://host:8786")
    assert (kind.name, place) == ("dask", "tls://host:8786")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("process://2", "unknown engine 'process'. Did you mean 'processes'?"),
        ("4", "expected the URL of an engine, for instance dask://host:8786, processes://4"),
    ],
)
def test_another_url_names_those_that_there_are(url: str, message: str) -> None:
    with pytest.raises(EngineError) as caught:
        executor_kind(url)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("place", ["0", "two", "-1", "1.5", "99999"])
def test_how_many_processes_is_a_whole_number(place: str) -> None:
    with pytest.raises(EngineError, match="expected how many processes"):
        executor_kind(f"processes://{place}")[0].open(place)


def test_as_many_processes_as_cores_unless_told() -> None:
    """None is started before something is to be done."""
    workers = executor_kind("processes://")[0].open("")
    assert workers.count == os.cpu_count()
    workers.close()


@pytest.mark.full
def test_a_pool_is_made_anew_after_a_process_was_lost() -> None:
    """Whoever waited learns of it; what is sent then finds a new process."""
    workers = ProcessWorkers(1)
    try:
        first = workers.submit(os.urandom, 3)
        assert len(first.result()) == 3
        lost = workers.submit(os._exit, 3)
        assert isinstance(lost.exception(), BrokenProcessPool)
        assert len(workers.submit(os.urandom, 4).result()) == 4
    finally:
        workers.close()


def test_processes_that_could_not_start_are_nothing_to_end() -> None:
    """As where the system has no room for another: pytest's report must still appear."""
    workers = ProcessWorkers(1)
    workers._context.Process(target=os.getpid)
    workers.close()
    assert [process.pid for process in workers._context.started] == [None]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks Linux which processes there are")
def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    """Also where nothing can clean up: it is killed while they are busy."""
    script = (
        "import os, time\n"
        "from pytest_rageval.executors.processes import ProcessWorkers\n"
        "if __name__ == '__main__':\n"
        "    workers = ProcessWorkers(1)\n"
        "    print(workers.submit(os.getpid).result(), flush=True)\n"
        "    workers.submit(time.sleep, 600)\n"
        "    time.sleep(600)\n"
    )
    path = tmp_path / "main.py"
    path.write_text(script, "utf-8")
    with subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, text=True) as main:
        assert main.stdout is not None
        worker = int(main.stdout.readline())
        main.kill()
    until = time.monotonic() + 60.0
    while _is_alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_alive(worker)


def _is_alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text("utf-8").rpartition(")")[2].split()[0] != "Z"


class _Client:
    """A client of Dask: ``sync`` returns how many threads each worker has, or raises."""

    scheduler = SimpleNamespace(ncores=None)

    def __init__(self, *found: object) -> None:
        self._found = list(found)
        self.limits: list[float] = []

    def nthreads(self) -> dict[str, int]:
        return {"tcp://a": 1}

    def get_executor(self) -> Executor:
        return Executor()

    def sync(self, _: object, callback_timeout: float) -> object:
        self.limits.append(callback_timeout)
        found = self._found.pop(0)
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self, timeout: float) -> None:
        raise RuntimeError(f"closed already, within {timeout}")


_ONE = {"tcp://a": 1}
_LATE = TimeoutError("5 s")
_LOST = OSError("closed")


def _looks(
    monkeypatch: pytest.MonkeyPatch, found: list[object], every_s: float = 2.0
) -> tuple[list[str], _Client]:
    """Return what each look says, the first that is not "" last."""
    clock = [0.0]
    monkeypatch.setattr(base.time, "monotonic", lambda: clock[0])
    executor = Executor()
    client = _Client(*found)
    executor._client = client  # type: ignore[attr-defined]
    workers = UserWorkers(executor)
    seen: list[str] = []
    for at in range(len(found)):
        clock[0] = every_s * at + 1.0
        seen.append(workers.trouble())
        if seen[-1]:
            break
    return seen, client


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([{}] * 32, "no worker is left, for 60 s"),
        ([_LATE] * 32, "the scheduler does not answer, for 60 s: TimeoutError: 5 s"),
        ([_LOST] * 32, "the scheduler does not answer, for 60 s: OSError: closed"),
        ([_LOST, *[_LATE] * 31], "the scheduler does not answer, for 60 s: OSError: closed"),
        ([*[_LATE] * 31, {}, *[_LATE] * 32], "the scheduler does not answer, for 60 s: Timeout"),
        ([*[{}] * 20, *[_LATE] * 5, *[{}] * 7], "no worker is left, for 60 s"),
        ([*[{}] * 20, *[_LATE] * 11, {}], "no worker is left, for 60 s"),
        ([*[_ONE] * 5, *[{}] * 32], "no worker is left, for 60 s"),
    ],
)
def test_the_executor_of_a_cluster_that_is_gone_is_given_up(
    monkeypatch: pytest.MonkeyPatch, found: list[object], expected: str
) -> None:
    """Asked every two seconds, each time for five at most; after 60 without a worker, or answer.

    The first look is at second 1: the 32nd, at second 63, is the first after more than 60.
    """
    seen, client = _looks(monkeypatch, [_ONE, *found])
    assert seen[:-1] == [""] * len(found)
    assert seen[-1].startswith(expected)
    assert set(client.limits) == {5.0}


@pytest.mark.parametrize(
    ("found", "every_s"),
    [
        ([_ONE] * 60, 2.0),
        ([*[{}] * 30, _ONE] * 3, 2.0),
        ([_LATE], 2.0),
        ([_ONE, _LATE] * 40, 2.0),
        ([_LOST, *[_LATE] * 29, _ONE] * 3, 2.0),
        ([_LATE] * 10, 100.0),  # nobody looked for long: replies came
        ([{}] * 10, 100.0),
        ([{}, {}, _LATE, {}], 33.0),
    ],
)
def test_a_scheduler_that_answers_now_and_then_lives(
    monkeypatch: pytest.MonkeyPatch, found: list[object], every_s: float
) -> None:
    seen, _ = _looks(monkeypatch, found, every_s)
    assert seen == [""] * len(found)


def test_a_run_may_be_interrupted_while_the_scheduler_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        _looks(monkeypatch, [_LATE, KeyboardInterrupt()])


def test_an_engine_whose_scheduler_is_gone_closes_quietly() -> None:
    """Each step fails on its own; the report has said why."""
    closed: list[float] = []

    def close(timeout: float) -> None:
        closed.append(timeout)

    cluster = SimpleNamespace(close=close)
    DaskWorkers(_Client(), "dask://local", cluster).close()
    assert closed == [5.0]


def test_of_a_given_executor_nothing_is_closed() -> None:
    with ThreadPoolExecutor(3) as executor:
        workers = UserWorkers(executor)
        assert (workers.shown, workers.count) == ("ThreadPoolExecutor", 3)
        workers.close()
        assert workers.submit(os.urandom, 2).result()
        assert workers.trouble() == ""


def test_the_threads_of_a_cluster_count() -> None:
    """As the executor of Dask's client has it: two workers with one and three threads."""
    executor = Executor()
    client = SimpleNamespace(nthreads=lambda: {"tcp://a": 1, "tcp://b": 3})
    executor._client = client  # type: ignore[attr-defined]
    assert UserWorkers(executor).count == 4


def test_an_executor_need_not_say_how_many_workers_it_has() -> None:
    assert UserWorkers(Executor()).count == 32

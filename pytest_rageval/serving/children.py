"""Starts pytest in a process of its own, follows its events, and ends it with its workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

OUTPUT: Final = "RAGEVAL_CHILD_OUTPUT"
"""The environment variable that names the file for the events of a child."""

PARENT: Final = "RAGEVAL_CHILD_PARENT"
"""The environment variable with the id of this process: once that has ended, a run ends itself."""

_POLL_S = 0.1
# After Ctrl-C, on which pytest still writes what it has, and after SIGTERM; then it is killed.
_PATIENCE_S = (5.0, 2.0)
_SHOWN_BYTES = 64_000


class Child:
    """A running pytest. ``events`` are what its plugins have written so far, in order."""

    def __init__(self, process: asyncio.subprocess.Process, output: Path) -> None:
        self._process = process
        self._output = output
        self._read = 0
        self.events: list[dict[str, Any]] = []

    @property
    def status(self) -> int | None:
        """Pytest's exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    def terminal(self) -> str:
        """Return the end of what pytest has printed."""
        with contextlib.suppress(OSError), (self._output / "terminal").open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - _SHOWN_BYTES))
            return stream.read().decode("utf-8", "replace")
        return ""

    async def wait(self) -> int:
        """Return the exit status once it has ended and all its events are read."""
        async for _ in self.follow():
            pass
        assert self.status is not None
        return self.status

    async def follow(self) -> AsyncIterator[int]:
        """Yield the number of events whenever there are more, until the child has ended."""
        while True:
            has_ended = self.status is not None
            if self._read_events():
                yield len(self.events)
            if has_ended:
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _POLL_S)

    async def stop(self) -> None:
        """End it as Ctrl-C does, by force if that takes too long, with all that it started.

        On Windows it is ended at once, and alone.
        """
        try:
            for sent, patience in zip((signal.SIGINT, signal.SIGTERM), _PATIENCE_S, strict=True):
                if self.status is not None:
                    break
                self._send(sent)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._process.wait(), patience)
        finally:
            self._send(_KILL)  # also if the event loop ends meanwhile
        await self._process.wait()
        self._read_events()

    def _send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":  # no signal can ask: the first one ends it at once
                self._process.send_signal(_KILL)
            else:
                os.killpg(self._process.pid, number)

    def _read_events(self) -> bool:
        """Read the lines that are complete; return whether there were any."""
        try:
            with (self._output / "events").open("rb") as stream:
                stream.seek(self._read)
                lines, end, _ = stream.read().rpartition(b"\n")
        except OSError:
            return False
        self._read += len(lines) + len(end)
        found = [json.loads(line) for line in lines.splitlines()]
        self.events += found
        return bool(found)


_KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL


@contextlib.asynccontextmanager
async def started(command: Sequence[str], folder: Path) -> AsyncIterator[Child]:
    """Start ``command`` in ``folder`` without a shell and without input; end it on leaving."""
    with tempfile.TemporaryDirectory(prefix="rageval-child-") as name:
        own = Path(name)
        with (own / "terminal").open("wb") as terminal:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env={**os.environ, OUTPUT: str(own / "events"), PARENT: str(os.getpid())},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=terminal,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        child = Child(process, own)
        try:
            yield child
        finally:
            # A second cancellation must not leave pytest running.
            await asyncio.shield(child.stop())

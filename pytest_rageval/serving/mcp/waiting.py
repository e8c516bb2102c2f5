"""Children of a tool's call: followed with progress, and gone before a cancelled call ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_rageval.serving.children import Child, started
from pytest_rageval.serving.mcp.stdio import Report
from pytest_rageval.serving.project import Project

T = TypeVar("T")

EVERY_S = 5.0
"""How often a client that asks for it hears of the progress: more often than it loses patience."""

_STEP = 1e-3


@dataclass(frozen=True, slots=True)
class Ended:
    """A child that has ended: pytest's exit status, its events, and the end of its output."""

    status: int
    events: Sequence[dict[str, Any]]
    terminal: str


async def run_child(project: Project, command: Sequence[str], report: Report) -> Ended:
    """Run ``command`` in the project; return what it left.

    A call that is cancelled ends the child with all that it started before it returns.
    """
    return await to_the_end(_follow(project, command, report))


async def _follow(project: Project, command: Sequence[str], report: Report) -> Ended:
    async with started(command, project.folder) as child:
        ended = asyncio.create_task(child.wait())
        told = 0.0
        try:
            while not (await asyncio.wait([ended], timeout=EVERY_S))[0]:
                told = await _tell(child, report, told)
            return Ended(ended.result(), child.events, child.terminal())
        finally:
            ended.cancel()


async def _tell(child: Child, report: Report, told: float) -> float:
    """Report how many cases have ended; the number must rise each time, whatever has happened."""
    counts = [event for event in child.events if event["event"] == "progress"]
    event = counts[-1] if counts else {}
    done, total = event.get("done", 0), event.get("total", 0)
    now = max(float(done), told + _STEP)
    outcomes = [f"{n} {name}" for name, n in event.get("outcomes", {}).items()]
    message = f"{done} of {total} cases" if total else "starting"
    await report(now, max(float(total), now) if total else None, ", ".join([message, *outcomes]))
    return now


async def to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns; if cancelled, cancel it and wait until it has tidied up."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        import anyio  # the SDK's: it repeats a cancellation at each await that is not shielded

        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
        raise

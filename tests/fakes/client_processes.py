"""What other processes do in tests: importable by a process that is spawned anew.

Each function says ``"ready"`` through its end of a pipe, begins when it is told to, and sends what
it found. ``serve`` runs one after the other.
"""

from __future__ import annotations

import asyncio
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pytest_rageval.clients.accounting import Purpose
from pytest_rageval.clients.base import Message
from pytest_rageval.clients.cache import Cache, Key, chat_key
from pytest_rageval.clients.clients import Clients
from pytest_rageval.clients.errors import BudgetError
from pytest_rageval.clients.file_locks import ByteLocks
from pytest_rageval.clients.limits.limits import Limits, open_limits
from pytest_rageval.clients.limits.retry import Patience
from pytest_rageval.clients.settings import ClientSettings, Price, RunSettings


def serve(out: Connection) -> None:
    """Run what is sent: the name of a function here, its arguments and keywords; None ends it."""
    while (job := out.recv()) is not None:
        name, arguments, keys = job
        globals()[name](out, *arguments, **keys)


def ask(out: Connection, base_url: str, run: RunSettings, texts: list[str], **fields: Any) -> None:
    """Ask all of ``texts`` at once; send the replies, None for what the budget stopped."""
    settings = ClientSettings("m", base_url=base_url, price=Price(1e6, 0.0), **fields)

    async def main() -> list[str | None]:
        clients = Clients(run)
        chat = clients.chat(settings)

        async def one(text: str) -> str | None:
            try:
                return (await chat.complete([Message("user", text)])).text
            except BudgetError:
                return None

        _wait_for_start(out)
        try:
            return await asyncio.gather(*map(one, texts))
        finally:
            await clients.aclose()

    out.send(asyncio.run(main()))


def hold(
    out: Connection, settings: ClientSettings, run: RunSettings, count: int, hold_s: float
) -> None:
    """Take a slot ``count`` times at once, each for ``hold_s``; send when each was had."""

    async def main() -> list[tuple[float, float]]:
        limits = open_limits(settings, run)
        _wait_for_start(out)
        return await held(limits, count, hold_s)

    out.send(asyncio.run(main()))


def occupy(out: Connection, settings: ClientSettings, run: RunSettings, count: int) -> None:
    """Take ``count`` slots, say "occupied" when all are had, and keep them until killed."""

    async def main() -> None:
        limits, all_had = open_limits(settings, run), asyncio.Barrier(count + 1)

        async def one() -> None:
            async with limits.slot():
                await all_had.wait()
                await asyncio.sleep(600.0)

        _wait_for_start(out)
        calls = [asyncio.create_task(one()) for _ in range(count)]
        await all_had.wait()
        out.send("occupied")
        await asyncio.gather(*calls)

    asyncio.run(main())


def meet(
    out: Connection, settings: ClientSettings, run: RunSettings, count: int, together: int
) -> None:
    """Take a slot ``count`` times, each until ``together`` of them are had at once; send "met"."""

    async def main() -> None:
        limits, enough = open_limits(settings, run), asyncio.Barrier(together)

        async def one() -> None:
            async with limits.slot():
                await enough.wait()

        _wait_for_start(out)
        await asyncio.gather(*(one() for _ in range(count)))
        limits.close()

    asyncio.run(main())
    out.send("met")


async def held(limits: Limits, count: int, hold_s: float) -> list[tuple[float, float]]:
    """Take a slot ``count`` times at once and close ``limits``; return when each was had."""

    async def one() -> tuple[float, float]:
        async with limits.slot():
            began = time.monotonic()
            await asyncio.sleep(hold_s)
            return began, time.monotonic()

    times = await asyncio.gather(*(one() for _ in range(count)))
    limits.close()
    return times


def start_at_a_rate(
    out: Connection, settings: ClientSettings, run: RunSettings, count: int, window_s: float
) -> None:
    """Start ``count`` requests as the rates allow; send when each started."""

    async def main() -> list[float]:
        limits = open_limits(settings, run, window_s)
        _wait_for_start(out)
        starts = await asyncio.gather(*(limits.start(1.0, Patience(120.0)) for _ in range(count)))
        limits.close()
        return starts

    out.send(asyncio.run(main()))


def lock(out: Connection, path: Path, offsets: list[int]) -> None:
    """Take the locks on these bytes and keep them until killed; send which were had."""
    locks = ByteLocks(path)
    _wait_for_start(out)
    out.send([locks.try_lock(offset) for offset in offsets])
    time.sleep(600.0)


def _wait_for_start(out: Connection) -> None:
    out.send("ready")
    out.recv()


def entry(number: int) -> tuple[Key, dict[str, Any]]:
    """Return the key and the value of an entry; the value is long enough to be cut."""
    key = chat_key(ClientSettings("m"), [Message("user", f"{number}")], None, Purpose())
    return key, {"text": f"{number} " * 20_000}


def write(out: Connection, folder: Path, numbers: list[int]) -> None:
    """Write entries into a cache, again and again if there is only one, until killed or done."""
    cache = Cache(RunSettings(cache_dir=folder))
    _wait_for_start(out)
    for number in numbers:
        cache.put("reply", *entry(number))
    cache.close()
    out.send(cache.problem)

"""When the server of the web app ends."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from pytest_rageval.serving.web.app import interrupted


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_it_is_asked_to_or_the_terminal_is_closed(sent: signal.Signals) -> None:
    """[A24] By itself, so that runs are ended first."""

    async def main() -> None:
        waiting = asyncio.create_task(interrupted())
        await asyncio.sleep(0)
        os.kill(os.getpid(), sent)
        await asyncio.wait_for(waiting, 60.0)

    asyncio.run(main())

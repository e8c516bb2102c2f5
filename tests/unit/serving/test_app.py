"""When the server of the web app ends."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import pytest

from pytest_rageval.errors import OptionError
from pytest_rageval.serving.web.app import _bound, interrupted


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_it_is_asked_to_or_the_terminal_is_closed(sent: signal.Signals) -> None:
    """[A24] By itself, so that runs are ended first."""

    async def main() -> None:
        waiting = asyncio.create_task(interrupted())
        await asyncio.sleep(0)
        os.kill(os.getpid(), sent)
        await asyncio.wait_for(waiting, 60.0)

    asyncio.run(main())


@pytest.mark.parametrize(("port", "hint"), [(80, "take one above 1023"), (8000, "take another")])
def test_a_port_that_the_user_may_not_use_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, port: int, hint: str
) -> None:
    """Nobody uses it, so there is nothing to end."""

    class Forbidden(socket.socket):
        def bind(self, _address: object) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "socket", Forbidden)
    with pytest.raises(OptionError, match=rf"may not use this port \(Permission denied\); {hint},"):
        _bound(port)

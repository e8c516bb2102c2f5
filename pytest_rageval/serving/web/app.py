"""The web app of ``--rag-serve``: a server for this machine that runs until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
import signal
import socket
import sys
from typing import TYPE_CHECKING, Final

from pytest_rageval.errors import OptionError, Problem
from pytest_rageval.extras import require
from pytest_rageval.serving.project import Project

if TYPE_CHECKING:
    from pytest_rageval.serving.web.refusals import AccessPolicy

HOST: Final = "127.0.0.1"

IDLE_S: Final = 60.0
"""How long a connection may stay open without a whole request."""

_BACKLOG = 64
_FIRST_FREE = 1024  # those below are for administrators
# How long requests that are being answered may go on when the server ends.
_LAST_S = 2.0


def serve_app(project: Project, port: int) -> int:
    """Serve the app on this machine until the process is interrupted; return pytest's exit status.

    Port 0 is any free one. Raises OptionError for one that cannot be bound, and MissingExtraError.
    """
    require("aiohttp", extra="web", purpose="the web app")
    with contextlib.closing(_bound(port)) as listener:
        asyncio.run(_serve(project, listener))
    return 0


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there, it would take a port from another server
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        what, hint = "the port is taken", "end what uses it"
        if error.errno == errno.EACCES:
            what = "you may not use this port"
            hint = "take one above 1023" if port < _FIRST_FREE else "take another"
        text = f"{what} ({error.strerror}); {hint}, or write --rag-serve=0 for any free port"
        problem = Problem(f"--rag-serve={port}", text)
        raise OptionError([problem]) from error
    return listener


async def _serve(project: Project, listener: socket.socket) -> None:
    from aiohttp import web

    from pytest_rageval.serving.web.app_service import AppService
    from pytest_rageval.serving.web.refusals import AccessPolicy
    from pytest_rageval.serving.web.routes import make_app

    policy = AccessPolicy(listener.getsockname()[1], secrets.token_urlsafe(32))
    service = AppService(project)
    runner = web.AppRunner(
        make_app(service, policy),
        access_log=None,
        shutdown_timeout=_LAST_S,
        keepalive_timeout=IDLE_S,
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        ending = asyncio.create_task(interrupted())
        await asyncio.sleep(0)  # starts ``ending``: from here on, signals end the app in order
        looking = asyncio.create_task(service.scenarios())  # the page then has them at once
        await asyncio.wait([ending, looking], return_when=asyncio.FIRST_COMPLETED)
        if looking.done():
            _announce(policy)
            await ending
    finally:
        await service.runs.close()
        await runner.cleanup()


def _announce(policy: AccessPolicy) -> None:
    sys.stdout.write(f"http://{HOST}:{policy.port}/?key={policy.key}\n")
    sys.stdout.write("The web app of this project. Open it in a browser; Ctrl-C ends it.\n")
    sys.stdout.flush()


async def interrupted() -> None:
    """Return at Ctrl-C, or when the terminal is closed or the process is asked to end.

    On Windows, only at Ctrl-C, which cancels the task that waits here.
    """
    ended = asyncio.Event()
    if sys.platform == "win32":
        with contextlib.suppress(asyncio.CancelledError):
            await ended.wait()
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()

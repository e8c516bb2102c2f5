"""A thread for each call of a function that blocks, so that the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable


class Raised(Exception):  # noqa: N818  (carries an exception from one thread to another)
    """What a function raised that no future can carry: ``error`` is it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


async def in_thread(function: Callable[[], object]) -> object:
    """Return what ``function`` returns in a thread of its own; raise what it raises, or Raised.

    The thread is a daemon, and not one of a pool: a function that never returns neither keeps
    Python from ending nor others from beginning.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: object, error: Exception | None) -> None:
        if future.done():  # cancelled
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work() -> None:
        value: object = None
        raised: Exception | None = None
        try:
            value = context.run(function)
        # A future takes no StopIteration, and a KeyboardInterrupt would end the loop.
        except StopIteration as error:
            raised = Raised(error)
        except Exception as error:  # noqa: BLE001  (handed over to whoever waits)
            raised = error
        except BaseException as error:  # noqa: BLE001
            raised = Raised(error)
        with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile, nobody waits
            loop.call_soon_threadsafe(settle, value, raised)

    threading.Thread(target=work, name="rageval-target", daemon=True).start()
    return await future

"""Code of others in our event loop: what it may raise, and what is ours to raise there."""

from __future__ import annotations

import asyncio


class Raised(RuntimeError):  # noqa: N818  (carries an exception to whoever waits)
    """What a function raised that no future can carry, or that would end the loop: ``error``."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error


def is_ours(error: BaseException) -> bool:
    """Return whether it is we who stop the code that raises ``error``; asked in its task.

    Anything else that is no Exception, as that of ``sys.exit``, is not to get any further: it would
    end the loop that serves the whole run.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit)

"""Watches the scheduler of a Dask cluster: whether it answers, and has workers."""

from __future__ import annotations

import time
from typing import Any, Final

from pytest_rageval.errors import shorten

_ANSWER_S: Final = 5.0
_LOOK_S: Final = 2.0
# A worker that died is replaced in some seconds where somebody replaces it.
_PATIENCE_S: Final = 20.0


class SchedulerWatch:
    """Knows of a client of Dask when its cluster lost its scheduler, or all workers."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._alone_since: float | None = None
        self._next_look = 0.0

    def trouble(self) -> str:
        """Return whether the scheduler is gone, or has had no worker for a while; "" if not."""
        now = time.monotonic()
        if now < self._next_look:
            return ""
        self._next_look = now + _LOOK_S
        try:
            # As client.nthreads() does, which would wait for a scheduler that has stopped.
            found = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWER_S)
        except Exception as error:  # noqa: BLE001  (whatever Dask and its network raise)
            return f"the scheduler does not answer: {said(error)}"
        if found:
            self._alone_since = None
            return ""
        self._alone_since = now if self._alone_since is None else self._alone_since
        is_over = now - self._alone_since > _PATIENCE_S
        return f"no worker is left, for {_PATIENCE_S:.0f} s" if is_over else ""


def said(error: BaseException) -> str:
    """Return an error of Dask in one line."""
    return f"{type(error).__name__}: {shorten(' '.join(str(error).split()), 200)}"

"""What an engine must provide: workers that call functions, in other processes or machines.

To add an engine, write a module here with ``EXECUTORS = (ExecutorKind(...),)``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pytest_rageval.errors import RagevalError, error_line
from pytest_rageval.registry import Registry, UnknownNameError

UNKNOWN_COUNT: Final = 32
"""How many workers are assumed of an executor that does not say."""


class EngineError(RagevalError):
    """An engine that cannot be used; the text says why, and what to do."""


class Workers(Protocol):
    """Workers that call functions. ``shown`` is what messages call them; ``count`` is a guess."""

    @property
    def shown(self) -> str: ...

    @property
    def count(self) -> int: ...

    def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
        """Have a worker call a function, which it imports by module and name.

        An engine that is down, and can be started again, is started again here.
        """
        ...

    def trouble(self) -> str:
        """Return why no worker will answer any more, "" while one may."""
        ...

    def close(self) -> None:
        """End at once what was started; a user's own executor stays open."""
        ...


@dataclass(frozen=True, slots=True)
class ExecutorKind:
    """A kind of engine: ``name`` is the scheme of its URLs.

    ``open(place)`` returns the workers at what a URL has after ``//``; it raises EngineError or
    MissingExtraError. ``example`` is such a URL.
    """

    name: str
    open: Callable[[str], Workers]
    example: str
    aliases: tuple[str, ...] = ()


EXECUTOR_REGISTRY: Registry[ExecutorKind] = Registry(
    "engine", "pytest_rageval.executors", "EXECUTORS", group="pytest_rageval.engines"
)


def executor_kind(url: str) -> tuple[ExecutorKind, str]:
    """Return the kind of engine that a URL names, and its place; raises EngineError."""
    scheme, separator, place = url.partition("://")
    if not separator:
        known = ", ".join(kind.example for kind in EXECUTOR_REGISTRY)
        raise EngineError(f"expected the URL of an engine, for instance {known}")
    try:
        return EXECUTOR_REGISTRY.get(scheme), place
    except UnknownNameError as error:
        raise EngineError(str(error)) from error


class UserWorkers:
    """The workers of an executor that Python code handed over, and closes itself."""

    def __init__(self, executor: Executor) -> None:
        self.shown = type(executor).__name__
        self._executor = executor
        # No public name tells the count: concurrent.futures and loky have the first of these, Dask
        # the second.
        count: Any = getattr(executor, "_max_workers", None)
        client: Any = getattr(executor, "_client", None)
        self._watch: SchedulerWatch | None = None
        if hasattr(client, "nthreads"):
            self._watch = SchedulerWatch(client)
            count = sum(client.nthreads().values())
        self.count = count if isinstance(count, int) and count > 0 else UNKNOWN_COUNT

    def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
        """Submit to the executor; one that is broken raises."""
        return self._executor.submit(function, *given)

    def trouble(self) -> str:
        """Return what is known of a Dask cluster; of another executor nothing is."""
        return "" if self._watch is None else self._watch.trouble()

    def close(self) -> None:
        """Leave it open."""


_ANSWER_S: Final = 5.0
_LOOK_S: Final = 2.0
# A worker that died is replaced in some seconds where somebody replaces it; and a scheduler that is
# busy, or whose connection broke, answers again.
_PATIENCE_S: Final = 60.0


class SchedulerWatch:
    """Tells, by a client of Dask, whether the cluster has lost its scheduler or all workers."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._alone_since: float | None = None
        self._silent_since: float | None = None
        self._why = ""
        self._next_look = 0.0

    def trouble(self) -> str:
        """Return what is wrong once the scheduler is silent, or without a worker, for a minute.

        Return "" until then, and between two looks, which are at least two seconds apart.
        """
        now = time.monotonic()
        if now < self._next_look:
            return ""
        if now - self._next_look > _PATIENCE_S / 2.0:
            # Nobody had to look, for replies came: there were a scheduler and a worker.
            self._silent_since = self._alone_since = None
        self._next_look = now + _LOOK_S
        try:
            # As client.nthreads() does, which would wait for a scheduler that has stopped.
            found = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWER_S)
        except Exception as error:  # noqa: BLE001  (whatever Dask and its network raise)
            if self._silent_since is None:  # later errors, of a client that gave up, name no cause
                self._silent_since, self._why = now, error_line(error, 200)
            if now - self._silent_since <= _PATIENCE_S:
                return ""
            return f"the scheduler does not answer, for {_PATIENCE_S:.0f} s: {self._why}"
        self._silent_since = None
        if found:
            self._alone_since = None
            return ""
        self._alone_since = now if self._alone_since is None else self._alone_since
        is_over = now - self._alone_since > _PATIENCE_S
        return f"no worker is left, for {_PATIENCE_S:.0f} s" if is_over else ""

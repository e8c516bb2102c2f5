"""What an engine must provide: workers that call functions, in other processes or machines.

To add an engine, write a module here with ``EXECUTORS = (ExecutorKind(...),)``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Final, Protocol

from pytest_rageval.errors import RagevalError
from pytest_rageval.executors.scheduler_watch import SchedulerWatch
from pytest_rageval.registry import Registry, UnknownNameError

UNKNOWN_COUNT: Final = 32
"""How many workers an executor may have that does not say."""


class EngineError(RagevalError):
    """An engine that cannot be used; the text says why, and what to do."""


class Workers(Protocol):
    """Workers that call functions. ``shown`` is what messages call them; ``count`` is a guess."""

    @property
    def shown(self) -> str: ...

    @property
    def count(self) -> int: ...

    def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
        """Have a worker call a function of a module.

        An engine that can be made anew after a worker was lost does so here.
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


class GivenWorkers:
    """The workers of an executor that Python code handed over, and closes itself."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        client: Any = getattr(executor, "_client", None)
        self._client = client if hasattr(client, "nthreads") else None
        self._watch = None if self._client is None else SchedulerWatch(self._client)

    @property
    def shown(self) -> str:
        """What messages call it."""
        return type(self.executor).__name__

    @property
    def count(self) -> int:
        """How many workers there are, or may be."""
        # There is no public name: this is that of concurrent.futures and loky, and Dask's way.
        count: Any = getattr(self.executor, "_max_workers", None)
        if self._client is not None:
            count = sum(self._client.nthreads().values())
        return count if isinstance(count, int) and count > 0 else UNKNOWN_COUNT

    def submit(self, function: Callable[..., bytes], *given: object) -> Future[bytes]:
        """Submit to the executor; one that is broken raises."""
        return self.executor.submit(function, *given)

    def trouble(self) -> str:
        """Return what is known of a Dask cluster; of another executor nothing is."""
        return "" if self._watch is None else self._watch.trouble()

    def close(self) -> None:
        """Leave it open."""

"""The package ragas: whether it is installed, and its import, which takes seconds, in a thread.

Nothing here is imported from it before a sample is to be scored, or ``preload`` is called.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from pytest_rageval.errors import MissingExtraError, shorten
from pytest_rageval.extras import installed

_PACKAGES = ("ragas", "langchain_community", "instructor")
_PINS = '"ragas>=0.4.3,<0.5" "langchain-community>=0.4,<0.4.2" "instructor>=1.13,<2"'
_LOCK = threading.Lock()
_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Ragas:
    """The parts of ragas that are used: its metrics, and what it takes for its models."""

    collections: ModuleType
    llm_base: Any
    embedding_base: Any
    prompt_base: type[Any]


def require_ragas(metric: str) -> None:
    """Raise MissingExtraError, with the pip command, unless all packages of the extra are there.

    It imports none of them: that they can be found takes no time.
    """
    missing = _missing()
    if missing:
        raise MissingExtraError(
            f"the metric {metric!r} needs the package {missing!r}: "
            'pip install "pytest-rageval[ragas]"'
        )


@cache
def ragas_version() -> str | None:
    """Return the version of ragas, without importing it; None where it has none on record."""
    try:
        return metadata.version("ragas")
    except metadata.PackageNotFoundError:
        return None


def preload() -> None:
    """Begin to import ragas in a thread, unless that has begun; failures show when it is used."""
    _loading()


async def load_ragas() -> Ragas:
    """Return ragas, waiting for its import without blocking the event loop.

    Those who wait go on one after the other: the first requests are on their way before the prompts
    of the last are written. Raises MissingExtraError, which names the versions that fit together,
    when it cannot be imported.
    """
    loading = _loading()
    if loading.done():
        return loading.result()
    async with _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        return await asyncio.wrap_future(loading)


@cache
def _missing() -> str:
    return next((name for name in _PACKAGES if not installed(name)), "")


def _loading() -> Future[Ragas]:
    with _LOCK:
        return _begin()


@cache
def _begin() -> Future[Ragas]:
    loading: Future[Ragas] = Future()
    # Running: that nobody waits any more must not cancel it for those who come later.
    loading.set_running_or_notify_cancel()
    threading.Thread(target=_import, args=(loading,), name="rageval-ragas", daemon=True).start()
    return loading


def _import(loading: Future[Ragas]) -> None:
    # Its telemetry posts to the network inside of every call.
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    try:
        with _little_garbage():
            found = Ragas(
                import_module("ragas.metrics.collections"),
                import_module("ragas.llms.base").InstructorBaseRagasLLM,
                import_module("ragas.embeddings.base").BaseRagasEmbedding,
                import_module("ragas.prompt.metrics.base_prompt").BasePrompt,
            )
    # Whatever its many dependencies raise while they are imported, a warning made an error too.
    except Exception as error:  # noqa: BLE001
        loading.set_exception(_broken(error))
    else:
        loading.set_result(found)


@contextmanager
def _little_garbage() -> Iterator[None]:
    """Look for garbage rarely while 400,000 objects are made to stay, and not among them later.

    The looking was a fifth of the import, and each look at all of them afterwards, while calls wait
    for the event loop, took a quarter of a second.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 100, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.freeze()


def _broken(error: Exception) -> MissingExtraError:
    what = shorten(f"{type(error).__name__}: {error}", 300)
    return MissingExtraError(
        f"ragas is installed and cannot be imported ({what}). Versions that fit together: "
        f"pip install {_PINS}"
    )

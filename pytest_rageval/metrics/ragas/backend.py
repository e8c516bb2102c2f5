"""The package ragas: whether it is installed, and its import, which takes seconds, in a thread.

Nothing is imported from it before ``begin_loading`` or ``load_ragas`` is called.
"""

from __future__ import annotations

import asyncio
import gc
import math
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

from pytest_rageval import extras
from pytest_rageval.collector import rare_collections
from pytest_rageval.errors import MissingExtraError, shorten
from pytest_rageval.extras import installed
from pytest_rageval.metrics.base import NoOptions, ScoringContext
from pytest_rageval.model import Sample, Score

_PACKAGES = ("ragas", "langchain_community", "instructor")
_PINS = '"ragas>=0.4.3,<0.5" "langchain-community>=0.4,<0.4.2" "instructor>=1.13,<2"'
_LOCK = threading.Lock()
_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Ragas:
    """The parts of ragas that are used: its metrics, and the base classes of models and prompts."""

    collections: ModuleType
    llm_base: Any
    embedding_base: Any
    prompt_base: type[Any]


def require_ragas(metric: str, also: str = "") -> None:
    """Raise MissingExtraError, with the pip command, unless the extra is installed.

    ``also`` is a package that ragas needs for this metric alone. Nothing is imported, so it takes
    no time.
    """
    missing = _missing() or ("" if not also or installed(also) else also)
    if missing:
        raise missing_package(metric, missing, extra="ragas-texts" if also else "ragas")


def missing_package(
    metric: str, package: str, why: str = "", extra: str = "ragas-texts"
) -> MissingExtraError:
    """Return the error for a package that is absent, or of a version that ragas refuses."""
    message = f"the metric {metric!r} needs the package {package!r}{why}"
    return MissingExtraError(f'{message}: pip install "pytest-rageval[{extra}]"')


@cache
def ragas_version() -> str | None:
    """Return the version of ragas, without importing it; None where it has none on record."""
    try:
        return metadata.version("ragas")
    except metadata.PackageNotFoundError:
        return None


async def load_ragas() -> Ragas:
    """Return ragas, waiting for its import without blocking the event loop.

    Waiting callers resume one at a time, so that the first requests are sent before the last
    prompts are written. Raises MissingExtraError, which names versions that work together, when
    ragas cannot be imported.
    """
    loading = begin_loading()
    if loading.done():
        return loading.result()
    async with _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        return await asyncio.wrap_future(loading)


@cache
def _missing() -> str:
    return next((name for name in _PACKAGES if not installed(name)), "")


def begin_loading() -> Future[Ragas]:
    """Begin to import ragas in a thread, unless that has begun; return its future."""
    with _LOCK:
        return _begin()


@cache
def _begin() -> Future[Ragas]:
    loading: Future[Ragas] = Future()
    # Marked as running: a waiter that is cancelled must not cancel it for later ones.
    loading.set_running_or_notify_cancel()
    threading.Thread(target=_import, args=(loading,), name="rageval-ragas", daemon=True).start()
    return loading


def _import(loading: Future[Ragas]) -> None:
    # Otherwise its telemetry sends a request in every call.
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    try:
        with extras.loading(), _little_garbage():
            found = Ragas(
                import_module("ragas.metrics.collections"),
                import_module("ragas.llms.base").InstructorBaseRagasLLM,
                import_module("ragas.embeddings.base").BaseRagasEmbedding,
                import_module("ragas.prompt.metrics.base_prompt").BasePrompt,
            )
    # Its many dependencies may raise anything; without a result, every sample would wait forever.
    except BaseException as error:  # noqa: BLE001
        loading.set_exception(_broken(error))
    else:
        loading.set_result(found)


@contextmanager
def _little_garbage() -> Iterator[None]:
    """Collect garbage rarely during the import, and leave its 400,000 objects out afterwards.

    The collector took a fifth of the import. Later, each full collection would block the event loop
    for a quarter of a second.
    """
    try:
        with rare_collections():
            yield
    finally:
        gc.freeze()


def _broken(error: BaseException) -> MissingExtraError:
    what = shorten(f"{type(error).__name__}: {error}", 300)
    return MissingExtraError(
        f"ragas is installed but cannot be imported ({what}). Versions that work together: "
        f"pip install {_PINS}"
    )


class TextMetric:
    """Scores samples with a class of ``ragas.metrics.collections`` that needs only texts."""

    def __init__(self, name: str, options: NoOptions, ragas_class: str, package: str) -> None:
        require_ragas(name, package)
        self._name = name
        self._options = options
        self._class = ragas_class
        self._package = package

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return ragas' score against the best reference; unscored where all give NaN."""
        made = getattr(begin_loading().result().collections, self._class)
        try:
            metric = made(**self._options.model_dump())
            scores = [
                self._score(metric, sample.answer or "", reference)
                for reference in sample.references or ("",)
            ]
        except ImportError as error:  # ragas knows some versions of the package only
            raise missing_package(self._name, self._package, f" ({error})") from error
        return max(scores, key=lambda score: -math.inf if score.value is None else score.value)

    def _score(self, metric: Any, answer: str, reference: str) -> Score:
        found = _result(metric.ascore(reference=reference, response=answer))
        if math.isnan(found.value):
            return Score(self._name, None, f"ragas found nothing to score; {found.reason}")
        return Score(self._name, float(found.value), found.reason)


def _result(asked: Any) -> Any:
    """Return what a coroutine that waits for nothing returns: it needs no event loop."""
    try:
        asked.send(None)
    except StopIteration as done:
        return done.value
    asked.close()
    raise RuntimeError("a metric of ragas that asks no model waits for something")

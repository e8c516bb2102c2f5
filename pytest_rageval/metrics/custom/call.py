"""Metrics that call a user's function, or await a user's coroutine."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_rageval.clients.threads import is_ours
from pytest_rageval.errors import shorten
from pytest_rageval.metrics.base import Models, ScoringContext
from pytest_rageval.metrics.custom.signature import CustomMetricError, Given, Signature
from pytest_rageval.model import Sample, Score


@dataclass(frozen=True, slots=True)
class Call:
    """A function, its options as keywords, and its signature."""

    function: Callable[..., Any]
    keywords: Mapping[str, Any]
    signature: Signature


class CustomFunction:
    """Scores by calling a user's function."""

    def __init__(self, name: str, call: Call) -> None:
        self._name = name
        self._call = call

    @property
    def function(self) -> Callable[..., Any]:
        """The user's function."""
        return self._call.function

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        """Return the function's result as a score; its exceptions are raised."""
        call = self._call
        given = dict.fromkeys(call.signature.gives, context)
        try:
            found = call.function(own(sample), **given, **call.keywords)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as error:  # sys.exit, pytest.skip: they concern this score alone
            raise CustomMetricError(f"{type(error).__name__}: {error}") from error
        return as_score(self._name, found, says_bool=call.signature.says_bool)


class CustomCoroutine:
    """Scores by awaiting a user's async function; many samples at once, in one event loop."""

    def __init__(self, name: str, call: Call, timeout_s: float | None) -> None:
        self._name = name
        self._call = call
        self._timeout_s = timeout_s

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the function's result as a score; TimeoutError where it takes too long."""
        call = self._call
        given = {name: _given(what, models) for name, what in call.signature.gives.items()}
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                found = await call.function(own(sample), **given, **call.keywords)
        except TimeoutError as error:
            if limit.expired():
                raise TimeoutError(f"no score after {self._timeout_s:g} s") from error
            raise
        except Exception:
            raise
        except BaseException as error:
            if is_ours(error):
                raise
            # It would end the event loop of the whole run.
            raise CustomMetricError(f"{type(error).__name__}: {error}") from error
        return as_score(self._name, found, says_bool=call.signature.says_bool)


def own(sample: Sample) -> Sample:
    """Return a copy that a user's function may change: reports and slices read the metadata."""
    if not sample.metadata:
        return sample
    return replace(sample, metadata=copy.deepcopy(dict(sample.metadata)))


def _given(what: Given, models: Models) -> object:
    if what == "models":
        return models
    return ScoringContext() if what == "context" else getattr(models, what)


def as_score(name: str, value: object, *, says_bool: bool = False) -> Score:
    """Return ``value`` as the score of the metric ``name``.

    A Score is returned unchanged; a number is its value, ``(number, reason)`` both, None unscored.
    A boolean is 1.0 or 0.0 where the metric ``says_bool``, else an error. NaN and the range are
    checked elsewhere.
    """
    if isinstance(value, Score):
        return value
    reason: str | None = None
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str | None):
        value, reason = value
    if value is None:
        return Score(name, None, reason=reason or "the metric returned None")
    if _is_bool(value):
        if says_bool:
            return Score(name, float(bool(value)), reason)
        error = f"returned {value}, not a number (annotate it '-> bool' for 1 and 0)"
        return Score(name, None, error=error)
    if not _is_number(value):
        return Score(name, None, error=_not_a_number(value))
    number: Any = value  # it becomes a plain float where the range is checked
    return Score(name, number, reason)


def _not_a_number(value: object) -> str:
    kind = type(value).__name__
    if inspect.isawaitable(value):
        if isinstance(value, Coroutine):
            value.close()  # else Python warns later that it was never awaited
        return f"returned a {kind} that is never awaited; declare the function 'async def'"
    return f"returned {shorten(repr(value))} ({kind}), not a number or a Score"


def _is_bool(value: object) -> bool:
    # numpy's is not Python's: "bool_" before numpy 2, "bool" from then on.
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def _is_number(value: object) -> bool:
    """Return whether ``value`` is one number, also a scalar of numpy or torch; not an array."""
    return hasattr(type(value), "__float__") and tuple(getattr(value, "shape", ())) == ()

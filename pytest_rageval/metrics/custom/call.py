"""Calls users' functions with a copy of the sample, and makes scores of what they return."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_rageval.clients.deadline import OverdueError, within
from pytest_rageval.clients.threads import is_our_stop
from pytest_rageval.errors import RagevalError, describe_error, error_line, shorten
from pytest_rageval.metrics.base import Models, ScoringContext
from pytest_rageval.metrics.custom.signature import CustomMetricError, Signature
from pytest_rageval.model import Sample, Score
from pytest_rageval.redaction import Redactor, names_secret


@dataclass(frozen=True, slots=True)
class Call:
    """A function, its options as keywords, and its signature."""

    function: Callable[..., Any]
    keywords: Mapping[str, Any]
    signature: Signature

    def hidden(self, error: Exception) -> str:
        """Return what an error says without the options that are secrets; "" if it has none.

        Nor if it is ours, which are told apart by their class, and hold no option of a metric.
        """
        if isinstance(error, RagevalError):
            return ""
        options = self.keywords.items()
        hide = Redactor(one for name, one in options if isinstance(one, str) and names_secret(name))
        text = describe_error(error)
        return "" if (hidden := hide(text)) == text else hidden


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
        """Return the function's result as a score; its exceptions are raised.

        CustomMetricError for those that would end the run, such as SystemExit, or that say an
        option that is a secret; Ctrl-C does end the run.
        """
        call = self._call
        given = dict.fromkeys(call.signature.gives, context)
        positional, named = call.signature.arguments(own(sample))
        try:
            returned = call.function(*positional, **named, **given, **call.keywords)
        except KeyboardInterrupt:
            raise
        except Exception as error:
            if hidden := call.hidden(error):
                raise CustomMetricError(hidden) from None
            raise
        except BaseException as error:  # sys.exit or pytest.skip: an error of this score alone
            raise CustomMetricError(error_line(error)) from error
        return as_score(self._name, returned)


class CustomCoroutine:
    """Scores by awaiting a user's async function; many samples at once, in one event loop."""

    def __init__(self, name: str, call: Call, timeout_s: float | None) -> None:
        self._name = name
        self._call = call
        self._timeout_s = timeout_s

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the function's result as a score; TimeoutError where it takes too long."""
        call = self._call
        gives = call.signature.gives
        given = {name: self._argument(name, models) for name in gives}
        positional, named = call.signature.arguments(own(sample))
        try:
            work = call.function(*positional, **named, **given, **call.keywords)
            returned = await within(_whole(work), self._timeout_s)
        except OverdueError as error:
            raise TimeoutError(f"no score after {self._timeout_s:g} s") from error
        except Exception as error:
            if hidden := call.hidden(error):
                raise CustomMetricError(hidden) from None
            raise
        except BaseException as error:
            if is_our_stop(error):
                raise
            # SystemExit and the like would end the event loop of the whole run.
            raise CustomMetricError(error_line(error)) from error
        return as_score(self._name, returned)

    def _argument(self, name: str, models: Models) -> object:
        signature = self._call.signature
        given = signature.gives[name]
        if given == "models":
            return models
        model = getattr(models, given)
        return signature.defaults.get(name) if model is None else model


async def _whole(work: Any) -> object:
    """Return what an awaitable gives; a decorator may return one that is no coroutine."""
    return await work


def own(sample: Sample) -> Sample:
    """Return a copy that a user's function may change: reports and slices read the metadata."""
    # Also where it is empty: rows without metadata share one mapping, which stays empty.
    return replace(sample, metadata=copy.deepcopy(dict(sample.metadata)))


def as_score(name: str, value: object) -> Score:
    """Return ``value`` as the score of the metric ``name``.

    A Score is returned unchanged; a number is its value, ``(number, reason)`` both, None unscored.
    True counts as 1.0 and False as 0.0: the caller makes floats of them, as of all numbers, and
    checks NaN and the range.
    """
    if isinstance(value, Score):
        return value
    reason: str | None = None
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str | None):
        value, reason = value
    if value is None:
        return Score(name, None, reason=reason or "the metric returned None")
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


def _is_number(value: object) -> bool:
    """Return whether ``value`` is one number, also a scalar of numpy or torch; not an array."""
    return hasattr(type(value), "__float__") and tuple(getattr(value, "shape", ())) == ()

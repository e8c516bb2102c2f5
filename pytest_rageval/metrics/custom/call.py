"""Calls users' functions with a copy of the sample, and makes scores of what they return."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_rageval.clients.deadline import OverdueError, within
from pytest_rageval.clients.errors import hide_in
from pytest_rageval.clients.threads import is_our_stop
from pytest_rageval.errors import RagevalError, describe_error, error_line, shorten
from pytest_rageval.metrics.base import Models, ScoringContext
from pytest_rageval.metrics.custom.signature import CustomMetricError, Signature
from pytest_rageval.model import Sample, Score, plain_details
from pytest_rageval.model.result import own_sample
from pytest_rageval.model.value import own as own_values
from pytest_rageval.redaction import Redactor
from pytest_rageval.text.json_value import change_texts


@dataclass(frozen=True, slots=True)
class Call:
    """A function, its options as keywords, its signature, and what hides those that are secrets."""

    function: Callable[..., Any]
    keywords: Mapping[str, Any]
    signature: Signature
    hide: Redactor

    def told(self, error: BaseException) -> BaseException:
        """Return what to raise for an error: itself, unless it says a secret or ends the run."""
        if isinstance(error, RagevalError):
            hide_in(error, self.hide)
        if says_secret(error, self.hide):
            return CustomMetricError(describe_hidden(error, self.hide))
        if isinstance(error, Exception):
            return error
        told = CustomMetricError(error_line(error))  # sys.exit or pytest.skip: of this score alone
        told.__cause__ = error
        return told

    def score_of(self, name: str, returned: object) -> Score:
        """Return what the function returned as the score ``name``."""
        score = as_score(name, returned, self.hide)
        reason, error = (text and self.hide(str(text)) for text in (score.reason, score.error))
        plain = plain_details(score.details)
        details = change_texts(plain, self.hide, self.hide)
        is_told = (reason, error, details) == (score.reason, score.error, change_texts(plain, str))
        return score if is_told else replace(score, reason=reason, error=error, details=details)


class CustomFunction:
    """Scores by calling a user's function."""

    def __init__(self, name: str, call: Call) -> None:
        self._name = name
        self._call = call
        self.takes_fields = not call.signature.takes_sample

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
            returned = call.function(*positional, **named, **given, **own_values(call.keywords))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if (told := call.told(error)) is error:
                raise
            raise told from told.__cause__
        return call.score_of(self._name, returned)


class CustomCoroutine:
    """Scores by awaiting a user's async function; many samples at once, in one event loop."""

    def __init__(self, name: str, call: Call, timeout_s: float | None) -> None:
        self._name = name
        self._call = call
        self.takes_fields = not call.signature.takes_sample
        self._timeout_s = timeout_s

    async def ascore(self, sample: Sample, models: Models) -> Score:
        """Return the function's result as a score; TimeoutError where it takes too long."""
        call = self._call
        gives = call.signature.gives
        given = {name: self._argument(name, models) for name in gives}
        positional, named = call.signature.arguments(own(sample))
        try:
            work = call.function(*positional, **named, **given, **own_values(call.keywords))
            returned = await within(_whole(work), self._timeout_s)
        except OverdueError as error:
            raise TimeoutError(f"no score after {self._timeout_s:g} s") from error
        except BaseException as error:  # SystemExit would end the event loop of the whole run
            if is_our_stop(error) or (told := call.told(error)) is error:
                raise
            raise told from told.__cause__
        return call.score_of(self._name, returned)

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
    # What a hook has put into the metadata, such as an array, is copied, too.
    return replace(own_sample(sample), metadata=copy.deepcopy(dict(sample.metadata)))


def says_secret(error: BaseException, hide: Redactor) -> bool:
    """Return whether the text of an error has what ``hide`` hides."""
    try:
        return hide(str(error)) != str(error)
    except Exception:  # noqa: BLE001  (an exception whose own text raises)
        return False


def describe_hidden(error: BaseException, hide: Redactor) -> str:
    """Return what ``describe_error`` says, hidden before it is cut."""
    if not says_secret(error, hide):
        return describe_error(error)
    same = type(type(error).__name__, (Exception,), {})(hide(str(error)))
    same.__cause__ = error.__cause__
    return describe_error(same.with_traceback(error.__traceback__))


def as_score(name: str, value: object, hide: Callable[[str], str] = str) -> Score:
    """Return ``value`` as the score of the metric ``name``.

    A Score is returned unchanged; a number is its value, ``(number, reason)`` both, None unscored.
    True counts as 1.0 and False as 0.0: the caller makes floats of them, as of all numbers, and
    checks NaN and the range. ``hide`` hides secrets in what is none of these.
    """
    if isinstance(value, Score):
        return value
    reason: str | None = None
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str | None):
        value, reason = value
    if value is None:
        return Score(name, None, reason=reason or "the metric returned None")
    if not _is_number(value):
        return Score(name, None, error=_not_a_number(value, hide))
    number: Any = value  # it becomes a plain float where the range is checked
    return Score(name, number, reason)


def _not_a_number(value: object, hide: Callable[[str], str]) -> str:
    kind = type(value).__name__
    if inspect.isawaitable(value):
        if isinstance(value, Coroutine):
            value.close()  # else Python warns later that it was never awaited
        return f"returned a {kind} that is never awaited; declare the function 'async def'"
    return f"returned {shorten(hide(repr(value)))} ({kind}), not a number or a Score"


def _is_number(value: object) -> bool:
    """Return whether ``value`` is one number, also a scalar of numpy or torch; not an array."""
    return hasattr(type(value), "__float__") and tuple(getattr(value, "shape", ())) == ()

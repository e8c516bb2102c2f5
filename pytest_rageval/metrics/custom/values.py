"""What a metric of the user's own returned, as a Score; what cannot be one, as its error."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any

from pytest_rageval.errors import shorten
from pytest_rageval.model import Score


def as_score(name: str, value: object, *, says_bool: bool = False) -> Score:
    """Return ``value`` as the score of the metric ``name``.

    A Score is itself, a number its value, ``(number, reason)`` both; None is unscored. A boolean is
    1.0 or 0.0 where the metric ``says_bool``, and an error where that is not meant. NaN, and what
    is outside the range, are not looked for here.
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
        return _refused(name, f"returned {value}, not a number (annotate it '-> bool' for 1 and 0)")
    if not _is_number(value):
        return _refused(name, _not_a_number(value))
    number: Any = value  # a plain float is made of it where the range is known
    return Score(name, number, reason)


def _refused(name: str, error: str) -> Score:
    return Score(name, None, error=error)


def _not_a_number(value: object) -> str:
    kind = type(value).__name__
    if inspect.isawaitable(value):
        if isinstance(value, Coroutine):
            value.close()  # else Python warns that nobody awaited it, wherever it is then
        return f"returned a {kind} that nobody awaits; declare it 'async def'"
    return f"returned {shorten(repr(value))} ({kind}), not a number or a Score"


def _is_bool(value: object) -> bool:
    # numpy's is not Python's: "bool_" before numpy 2, "bool" from then on.
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")


def _is_number(value: object) -> bool:
    """Return whether ``value`` is one number: scalars of numpy and torch too, arrays not."""
    return hasattr(type(value), "__float__") and tuple(getattr(value, "shape", ())) == ()

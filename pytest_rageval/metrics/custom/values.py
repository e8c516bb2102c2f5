"""Turns what a user's metric returned into a Score, or into an error of the score."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any

from pytest_rageval.errors import shorten
from pytest_rageval.model import Score


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

"""Regular expressions of users: whether one can be used."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Final

from pytest_rageval.errors import shorten

_LONGEST: Final = 10_000


def check_pattern(place: str, pattern: str) -> None:
    """Raise ValueError for what is no regular expression of Python's ``re``."""
    problem = _problem(pattern)
    if problem is not None:
        raise ValueError(f"{place}: {shorten(repr(pattern))} is no regular expression: {problem}")


@lru_cache(maxsize=4096)
def _problem(pattern: str) -> str | None:
    if len(pattern) > _LONGEST:
        return f"longer than {_LONGEST} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what may mean something else in a later Python
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None

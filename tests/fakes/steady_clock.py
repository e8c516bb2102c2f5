"""A clock that goes on by a second each time it is read, whatever the machine's does."""

from __future__ import annotations

import itertools
from datetime import datetime, tzinfo

import pytest


def set_steady_clock(
    monkeypatch: pytest.MonkeyPatch, *modules: str, start: int = 1_700_000_000
) -> None:
    """Let the runs that modules of the package begin and end follow each other."""
    seconds = itertools.count(start)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            return cls.fromtimestamp(next(seconds), tz)

    for name in modules:
        monkeypatch.setattr(f"pytest_rageval.{name}.datetime", Clock)

"""Makes the wall clock of every Python with this folder on its path jump an hour forth and back.

What measures or waits by the wall clock then fails (`tox -e clock`); the monotonic clock stays.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import itertools
import time

_HOURS = (0, 1, 0, -1, 1, 1, 0, 0, -1, 0, 1)  # added to one call after the other
_count = itertools.count()
_time, _time_ns = time.time, time.time_ns


def _jump_s() -> int:
    return 3600 * _HOURS[next(_count) % len(_HOURS)]


def _now(kind: type[datetime.datetime], tz: datetime.tzinfo | None = None) -> datetime.datetime:
    return kind.fromtimestamp(time.time(), tz)


def _utcnow(kind: type[datetime.datetime]) -> datetime.datetime:
    return kind.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)


time.time = lambda: _time() + _jump_s()
time.time_ns = lambda: _time_ns() + _jump_s() * 10**9

# A subclass in its place would not be the type that C code knows, so its own dictionary is changed.
_names = gc.get_referents(datetime.datetime.__dict__)[0]
_names |= {"now": classmethod(_now), "utcnow": classmethod(_utcnow)}
ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))

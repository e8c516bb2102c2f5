"""Plain values: what JSON can say, and the one empty mapping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, NoReturn


class _Nothing(dict[str, Any]):
    """The empty mapping, for good: pickled and copied, it is still the same one.

    A dict, because a mappingproxy can be neither pickled nor copied.
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("NOTHING stays empty")

    __setitem__ = setdefault = update = __ior__ = _refuse

    def __reduce__(self) -> str:
        return "NOTHING"


NOTHING: Final[Mapping[str, Any]] = _Nothing()
"""The one empty mapping that all values without entries share: 100,000 samples are many dicts."""


_CELLS: Final = frozenset([str, bool, int, type(None)])


def plain_cell(value: Any) -> Any:
    """Return a value of a table as JSON can say it.

    NaN, NaT and NA become None, numpy's values and arrays those of Python, times ISO 8601, sets
    sorted lists, decimals and all else text.
    """
    if type(value) in _CELLS or (type(value) is float and value == value):  # noqa: PLR0124
        return value
    if is_no_value(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): plain_cell(part) for key, part in value.items()}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=repr)
    if isinstance(value, list | tuple):
        return [plain_cell(part) for part in value]
    if isinstance(value, bytes):  # how Spark and Hive write text
        return value.decode("utf-8", "backslashreplace")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    is_numpy = hasattr(value, "tolist") and type(value).__name__ not in _NUMPY_TIMES
    return plain_cell(value.tolist()) if is_numpy else _as_text(value)


def _as_text(value: Any) -> str:
    return duration_text(value) if isinstance(value, timedelta) else str(value)


_NUMPY_TIMES: Final = ("datetime64", "timedelta64")
"""To nanoseconds, these become a bare number as Python's values."""


def duration_text(span: timedelta) -> str:
    """Return a duration as workbooks show it: hours, minutes and seconds, without days.

    >>> duration_text(timedelta(days=1, hours=2)), duration_text(-timedelta(minutes=90.5))
    ('26:00:00', '-01:30:30')
    """
    minutes, seconds = divmod(abs(span), timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    sign = "-" if span < timedelta() else ""
    return f"{sign}{hours:02}:{minutes:02}:{str(seconds).rpartition(':')[2]}"


def is_no_value(value: Any) -> bool:
    """Return whether a value is NaN, NaT (which equal nothing), or pandas' NA."""
    if type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ValueError):  # of an array there are several answers
        return False


def value_text(value: Any) -> str:
    """Return a plain value as text; a whole number is the same as a float.

    Data frames turn whole numbers into floats where one of them is missing: the text must not
    depend on the other rows.

    >>> value_text(2024.0), value_text(2024), value_text(2.5), value_text("1.0")
    ('2024', '2024', '2.5', '1.0')
    """
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_WHOLE
    return str(int(value) if is_whole else value)


_LARGEST_WHOLE: Final = 2.0**63


def json_plain(value: Any) -> Any:
    """Return ``value`` as JSON can say it.

    NaN and infinities become None, keys become text, sets become sorted lists, numpy's booleans
    Python's, any other object its text.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [json_plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted((json_plain(part) for part in value), key=repr)
    if type(value).__name__ in ("bool_", "bool"):  # numpy's: its text would count as true
        return bool(value)
    return str(value)

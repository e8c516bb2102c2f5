"""Plain values: what JSON can say, and the one empty mapping."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


def nothing() -> Mapping[str, Any]:
    """Return NOTHING: the default of a field."""
    return NOTHING


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

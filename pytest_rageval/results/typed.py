"""Says whether values that were read from a file are of the types that their fields declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Check = Callable[[Any], bool]

T = TypeVar("T")

_HUGE: Final = 1e300
_TEXT: Final = {str}


@cache
def check_of(kind: Any) -> Check:
    """Return what says whether a value is of this type, with all that is in it.

    >>> check_of(dict[str, float])({"em": 1}), check_of(float)(float("nan"))
    (True, False)
    """
    if kind is Any:
        return lambda _: True
    if kind is float:
        return _is_number
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return _fields_check(kind)
    make = _MAKERS.get(get_origin(kind))
    return (lambda value: type(value) is kind) if make is None else make(get_args(kind))


def field_checks(kind: type) -> tuple[Check, ...]:
    """Return a check for each field of a data class, or of a named tuple, in their order."""
    hints = get_type_hints(kind)
    return tuple(check_of(hints[name]) for name in _names(kind))


def checked(read: T) -> T:
    """Return what was read; raises TypeError if a value is not of the type that it should be."""
    kind: Any = type(read)
    if not check_of(kind)(read):
        wrong = [
            name
            for name, check in zip(_names(kind), field_checks(kind), strict=True)
            if not check(getattr(read, name))
        ]
        raise TypeError(f"{', '.join(wrong)} is of another type, or too large")
    return read


def _names(kind: Any) -> Sequence[str]:
    return [one.name for one in fields(kind)] if is_dataclass(kind) else kind._fields


def _is_number(value: Any) -> bool:
    """A number that can be reckoned with; True is none."""
    return type(value) in (int, float) and -_HUGE < value < _HUGE


def _fields_check(kind: Any) -> Check:
    checks = tuple(zip(_names(kind), field_checks(kind), strict=True))
    return lambda value: (
        isinstance(value, kind) and all(check(getattr(value, name)) for name, check in checks)
    )


def _one_of(allowed: tuple[Any, ...]) -> Check:
    return lambda value: isinstance(value, str) and value in allowed


def _any_of(kinds: tuple[Any, ...]) -> Check:
    if type(None) in kinds:
        others = _any_of(tuple(kind for kind in kinds if kind is not type(None)))
        return lambda value: value is None or others(value)
    checks = tuple(map(check_of, kinds))
    return checks[0] if len(checks) == 1 else lambda value: any(one(value) for one in checks)


def _mapping_of(kinds: tuple[Any, ...]) -> Check:
    """Keys are texts, in all that JSON says."""
    of_value = check_of(kinds[1])
    return lambda value: (
        isinstance(value, dict)
        and set(map(type, value)) <= _TEXT
        and (kinds[1] is Any or all(map(of_value, value.values())))
    )


def _list_of(kinds: tuple[Any, ...]) -> Check:
    if kinds[0] is str:  # most are, and long
        return lambda value: isinstance(value, list | tuple) and set(map(type, value)) <= _TEXT
    of_value = check_of(kinds[0])
    return lambda value: isinstance(value, list | tuple) and all(map(of_value, value))


def _tuple_of(kinds: tuple[Any, ...]) -> Check:
    if kinds[-1] is ...:
        return _list_of(kinds)
    checks = [_is_end if kind is float else check_of(kind) for kind in kinds]
    return lambda value: (
        isinstance(value, list | tuple) and len(value) == len(checks) and _all(checks, value)
    )


def _is_end(value: Any) -> bool:
    """The end of a range may be infinite."""
    return (type(value) is float and value == value) or _is_number(value)  # noqa: PLR0124


def _all(checks: Iterable[Check], values: Iterable[Any]) -> bool:
    return all(check(value) for check, value in zip(checks, values, strict=True))


_MAKERS: Final[Mapping[Any, Callable[[tuple[Any, ...]], Check]]] = {
    Literal: _one_of,
    Union: _any_of,
    UnionType: _any_of,
    Mapping: _mapping_of,
    dict: _mapping_of,
    Sequence: _list_of,
    list: _list_of,
    tuple: _tuple_of,
}

"""The one codec: values as JSON, and JSON as values of the type that is wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, NoReturn, TypeVar

import msgspec

from pytest_rageval.model import json_plain
from pytest_rageval.text.limits import TOO_DEEP_TO_READ, LimitError, read_json

T = TypeVar("T")


def to_json(value: object, indent: int | None = None) -> str:
    """Return a value as JSON; NaN and infinities become null.

    In one line, with blanks for people where ``indent`` is 0; larger, it breaks lines. What JSON
    does not know is a mapping or its text. Half of a character, which UTF-8 cannot hold, is an
    escape.
    """
    try:
        encoded = _ENCODER.encode(value)
    except UnicodeEncodeError:
        blanks = (",", ":") if indent is None else None
        return json.dumps(json_plain(plain(value)), indent=indent or None, separators=blanks)
    return (encoded if indent is None else msgspec.json.format(encoded, indent=indent)).decode()


def plain(value: object) -> Any:
    """Return a value as mappings, lists, texts and numbers."""
    return msgspec.to_builtins(value, enc_hook=_plain, str_keys=True)


def from_json(text: str | bytes, kind: type[T]) -> T:
    """Return the value of type ``kind`` that JSON says.

    Raises ValueError for what is no JSON or not of this type; the message has the path of the
    value, as in ``Expected `float`, got `str` - at `$.samples[0].weighted_score```.
    """
    try:
        found: T = _decoder(kind).decode(text)  # type: ignore[arg-type]
    except RecursionError:
        raise LimitError(TOO_DEEP_TO_READ) from None
    except msgspec.ValidationError:
        raise
    except ValueError:  # half of a character or a byte order mark, which json reads, or no JSON
        plain_value = read_json(text, depth=None, parse_constant=_refuse)
        return msgspec.convert(plain_value, kind)
    return found


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    # numpy's floats are of a class below float, which msgspec does not look for
    found = next((kind for kind in (str, float, int) if isinstance(value, kind)), str)
    return found(value)


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)

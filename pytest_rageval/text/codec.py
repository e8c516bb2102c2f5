"""The one codec: JSON read within limits, and values as JSON.

Every reader of what others wrote calls these functions: of rows, cells, replies, requests and
files. Nothing that they return is too deep for code that walks it; where a function or
``depth=None`` allows any depth, its caller checks that.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from pytest_rageval.model import json_plain

MAX_DEPTH: Final = 64
"""How deep lists and objects may be nested: ``[]`` is 1 deep, ``{"a": []}`` is 2 deep."""

TOO_DEEP: Final = f"nested more than {MAX_DEPTH} deep"
TOO_DEEP_TO_READ: Final = (
    f"{TOO_DEEP}, which is the most that is read; write lists and objects that are less nested, "
    "or keep the value as text"
)

MAX_FILE_BYTES: Final = 64 * 2**20
"""The largest size of a scenario file, and of packed data read as a whole without ``max_mb``."""

MAX_REQUEST_BYTES: Final = 2**20
MAX_ROWS_REQUEST_BYTES: Final = 2**24
"""The largest sizes of a request's body, and of one that may bring rows along."""

_MOST_DIGITS: Final = 4300
"""Python refuses to write or read whole numbers of more digits, as they take too long."""
_TOO_LONG: Final = f"a whole number of {_MOST_DIGITS:,} digits or more; write it as text"
_MOST_BITS: Final = int(_MOST_DIGITS * math.log2(10))

CUT_DEPTH: Final = 3 * MAX_DEPTH
"""Contents below it are cut from rows: this is too deep for any row, and not yet for Python."""


class LimitError(ValueError):
    """A value is beyond the limits; the text says which limit, and what to do."""


def read_json(
    text: str | bytes,
    *,
    depth: int | None = MAX_DEPTH,
    parse_constant: Callable[[str], Any] | None = None,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Return the value that ``text`` is in JSON; raises ValueError where it is none.

    Nested more than ``depth`` deep is a LimitError; None leaves the depth to Python's own limit,
    for files whose parts are checked by the caller, and for those that this package wrote. The
    digits of a whole number that Python refuses to read are a text.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        found = _loaded(text, parse_constant, object_pairs_hook)
    except RecursionError:
        raise LimitError(TOO_DEEP_TO_READ) from None
    # Few brackets prove that nothing is deep, in a microsecond; so for nearly all rows.
    if depth is not None and text.count("[") + text.count("{") > depth and _is_deep([found], depth):
        raise LimitError(TOO_DEEP_TO_READ)
    return found


def _loaded(text: str, constant: Any, pairs: Any) -> Any:
    try:
        return json.loads(text, parse_constant=constant, object_pairs_hook=pairs)
    except json.JSONDecodeError:
        raise
    except ValueError:  # of a whole number with too many digits, or of the caller's hooks
        return json.loads(text, parse_constant=constant, object_pairs_hook=pairs, parse_int=_whole)


def _is_deep(value: Any, depth: int) -> bool:
    """Return whether a value of JSON is nested more than ``depth`` deep."""
    level = [value]
    for _ in range(depth + 1):
        level = [
            part
            for one in level
            for part in (one.values() if type(one) is dict else one)
            if type(part) is list or type(part) is dict
        ]
        if not level:
            return False
    return True


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def keys_given_twice(text: str) -> list[str]:
    """Return the keys that some object of JSON has more than once; ValueError as ``read_json``."""
    found: dict[str, None] = {}

    def noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        times = Counter(key for key, _ in pairs)
        found.update((key, None) for key in times if times[key] > 1)
        return dict(pairs)

    read_json(text, depth=None, object_pairs_hook=noted)
    return list(found)


def read_json_at(decoder: json.JSONDecoder, text: str, start: int) -> tuple[Any, int]:
    """Return the value of JSON that begins at ``start``, and its end.

    Raises as ``read_json``, and ValueError for a whole number of too many digits.
    """
    try:
        found, end = decoder.raw_decode(text, start)
    except RecursionError:
        raise LimitError(TOO_DEEP_TO_READ) from None
    if _is_deep([found], MAX_DEPTH):
        raise LimitError(TOO_DEEP_TO_READ)
    return found, end


def read_json_rows(text: str, **hooks: Callable[..., Any]) -> Any:
    """Return the value that ``text`` is in JSON, of any depth; raises ValueError as ``read_json``.

    Where Python cannot read it, parts below CUT_DEPTH are emptied; what is left is still too deep:
    ``excess`` finds it in its row.
    """
    try:
        return read_json(text, depth=None, **hooks)
    except LimitError:
        return read_json(cut_json(text), depth=None, **hooks)


_MARKS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


def cut_json(text: str, depth: int = CUT_DEPTH) -> str:
    """Return JSON with nothing in lists and objects at ``depth``; all else stays in its place."""
    spans, at, level = [], 0, 0
    for mark in _MARKS.finditer(text):
        if mark[0] in ("[", "{"):
            level += 1
            at = mark.end() if level == depth else at
        elif mark[0] in ("]", "}"):
            if level == depth:
                spans.append((at, mark.start()))
            level -= 1
    if level >= depth:  # it does not end
        spans.append((at, len(text)))
    return blanked(text, spans)


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with blanks in some spans, which are in order; its lines stay."""
    parts, done = [], 0
    for start, end in spans:
        parts += [text[done:start], re.sub(r"[^\r\n]", " ", text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def excess(value: Any, depth: int = MAX_DEPTH) -> str:
    """Return how a value of Python breaks the limits, "" where it is within them.

    >>> excess({"a": [1]}), excess(10**5000)
    ('', 'a whole number of 4,300 digits or more; write it as text')
    """
    level: list[Any] = [[value]]
    for _ in range(depth + 1):
        parts = [part for one in level for part in _parts(one) if type(part) not in _FLAT]
        if any(isinstance(part, int) and part.bit_length() > _MOST_BITS for part in parts):
            return _TOO_LONG
        # Each once: what holds itself would be many more on each level.
        level = list({id(part): part for part in parts if _holds_parts(part)}.values())
        if not level:
            return ""
    return TOO_DEEP_TO_READ


def excess_in(row: Mapping[Any, Any]) -> str:
    """Return which column of a row breaks the limits, and how; "" where none does.

    The row is the first level.
    """
    if not excess(row):
        return ""
    found = ((name, excess([part])) for name, part in row.items())
    name, reason = next((one for one in found if one[1]), ("", excess(row)))
    return f"{name!r}: {reason}"


_FLAT: Final = frozenset([str, float, bool, type(None)])
_LISTS: Final = (list, tuple, set, frozenset)


def _holds_parts(value: Any) -> bool:
    # numpy's arrays of objects: pandas keeps lists in cells
    return isinstance(value, (dict, *_LISTS, Mapping)) or _is_of_objects(value)


def _is_of_objects(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") == "O" and hasattr(value, "tolist")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, _LISTS):
        return value
    if isinstance(value, Mapping):
        return (*value.values(), *(key for key in value if type(key) is not str))
    parts = value.tolist()
    return parts if isinstance(parts, list) else [parts]


T = TypeVar("T")


def to_json(value: object, indent: int | None = None) -> str:
    """Return a value as JSON; NaN and infinities become null.

    In one line, with blanks for people where ``indent`` is 0; larger, it breaks lines. What JSON
    does not know becomes an object, a number or its text. Half of a character, which UTF-8 cannot
    hold, is an escape.
    """
    try:
        encoded = _ENCODER.encode(value)
    except UnicodeEncodeError:
        blanks = (",", ":") if indent is None else None
        return json.dumps(json_plain(as_json(value)), indent=indent or None, separators=blanks)
    return (encoded if indent is None else msgspec.json.format(encoded, indent=indent)).decode()


def as_json(value: object) -> Any:
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
        plain_value = read_json(text, depth=None, parse_constant=refuse_constant)
        return msgspec.convert(plain_value, kind)
    return found


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def refuse_constant(constant: str) -> NoReturn:
    """Raise ValueError for NaN or an infinity, which Python's ``json`` reads."""
    raise ValueError(f"{constant} is no number of JSON")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    # numpy's floats are of a class below float, which msgspec does not look for
    found = next((kind for kind in (str, float, int) if isinstance(value, kind)), str)
    return found(value)


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)

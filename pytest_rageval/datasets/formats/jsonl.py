"""JSON Lines: one object per line; any other line is a broken row, not the end of the file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from pytest_rageval.datasets.base import BlankLines, BrokenRow, DataFile, Row
from pytest_rageval.errors import shorten
from pytest_rageval.text.codec import LimitError, excess_in, read_json, read_json_rows
from pytest_rageval.text.json_value import json_kind


def read_json_lines(file: DataFile) -> Iterator[Row | BrokenRow]:
    """Yield a row for each line that is neither blank nor a comment, with one row in memory.

    No row begins with ``#`` or ``//``.
    """
    # Lines end at the byte 0x0a, so that memory holds one row; in UTF-16 it has other meanings.
    if not "a\n".encode(file.spec.encoding).endswith(b"a\n"):
        raise file.refuse(f"JSON Lines cannot be in {file.spec.encoding}; save it as UTF-8")
    with file.open() as stream:
        number = 0
        blank = BlankLines(file)
        for line, (offset, raw) in enumerate(_lines(stream, file.max_row_bytes), start=1):
            if raw is not None and raw.lstrip(_BLANK).startswith((b"#", b"//")):
                blank.end()
            elif raw is None or raw.strip():
                number += 1
                blank.end()
                yield _row(file, number, line, offset, raw)
            else:
                blank.note(line)


_BLANK = b" \t\r\xef\xbb\xbf"


def _lines(stream: IO[bytes], limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its offset; None for a line longer than ``limit``."""
    offset = 0
    while raw := stream.readline(limit + 1):
        length = len(raw)
        if length > limit and not raw.endswith(b"\n"):
            while (rest := stream.readline(limit)) and length:
                length += len(rest)
                if rest.endswith(b"\n"):
                    break
            yield offset, None
        else:
            yield offset, raw
        offset += length


def _row(file: DataFile, number: int, line: int, offset: int, raw: bytes | None) -> Row | BrokenRow:
    if raw is None:
        return BrokenRow(number, line, file.too_long)
    try:
        text = raw.decode(file.spec.encoding)
    except UnicodeDecodeError as error:
        return BrokenRow(number, line, file.undecodable(error, raw, offset), repr(raw[:200]))
    text = text.rstrip("\r\n")
    if line == 1:
        text = text.removeprefix("\ufeff")
    try:
        fields = read_json(text)
        wrong = _wrong(fields, text)
    except json.JSONDecodeError as error:
        wrong = f"not valid JSON: {error.msg} (column {error.colno})"
    except LimitError as error:
        wrong = _deep_column(text) or str(error)
    if wrong is not None:
        return BrokenRow(number, line, wrong, shorten(text.strip(), 500))
    return Row(number, line, fields)


def _deep_column(text: str) -> str:
    """Return which column of a row is nested too deep, and the limit; "" where none can be read."""
    try:
        fields = read_json_rows(text)
    except ValueError:
        return ""
    return excess_in(fields) if isinstance(fields, dict) else ""


def _wrong(fields: Any, text: str) -> str | None:
    """Return why the value of a line is not a row, None if it is one."""
    if not isinstance(fields, dict):
        return f"expected a JSON object, found {json_kind(fields)}"
    # If there are as many ends of keys as keys, no key is there twice; so for nearly all rows.
    ends = text.count('":')
    if (ends == len(fields) or ends == _count_keys(fields)) and '" :' not in text:
        return None
    found: list[Doubled] = []
    read_json(text, object_pairs_hook=noting(found))
    return found[0].reason if found else None


def _count_keys(fields: dict[str, Any]) -> int:
    """Return how many keys a row has, with those of the objects in its lists."""
    nested = (part for value in fields.values() if type(value) is list for part in value)
    return len(fields) + sum(len(part) for part in nested if type(part) is dict)


class Doubled(dict[str, Any]):
    """An object of a JSON document that names ``key`` twice; it holds the last of its values."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = Counter(key for key, _ in pairs)
        self.key = next(key for key, count in names.items() if count > 1)

    @property
    def reason(self) -> str:
        """Why a row with this object is broken."""
        return f"the key {self.key!r} is there twice in one object"


def noting(found: list[Doubled]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return an ``object_pairs_hook`` of ``read_json`` that puts doubled keys into ``found``."""

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        plain = dict(pairs)
        if len(plain) == len(pairs):
            return plain
        found.append(Doubled(pairs))
        return found[-1]

    return made

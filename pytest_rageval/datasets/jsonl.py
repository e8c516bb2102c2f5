"""JSON Lines: one object a line; a line that is none is a broken row, not the end of the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

from pytest_rageval.datasets.base import BrokenRow, DataFile, Row
from pytest_rageval.errors import shorten


class JsonLinesReader:
    """Reads ``.jsonl`` files, line by line, never more than one row in memory."""

    name = "jsonl"
    aliases = ("ndjson",)

    def read(self, file: DataFile) -> Iterator[Row | BrokenRow]:
        """Yield a row for each line that is not blank."""
        # Lines are found by the byte 0x0a, so that memory holds one row; UTF-16 has it elsewhere.
        if not "a\n".encode(file.spec.encoding).endswith(b"a\n"):
            raise file.refuse(f"JSON Lines cannot be in {file.spec.encoding}; save it as UTF-8")
        with file.open() as stream:
            number = 0
            for line, (offset, raw) in enumerate(_lines(stream, file.max_row_bytes), start=1):
                if raw is None or raw.strip():
                    number += 1
                    yield _row(file, number, line, offset, raw)


def _lines(stream: IO[bytes], limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line with its offset; None for a line that is longer than ``limit``."""
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
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"not valid JSON: {error.msg} (column {error.colno})"
        return BrokenRow(number, line, reason, shorten(text.strip(), 500))
    except (ValueError, RecursionError) as error:
        return BrokenRow(number, line, f"not readable as JSON: {error}", shorten(text.strip(), 500))
    if not isinstance(fields, dict):
        reason = f"expected a JSON object, found {json_kind(fields)}"
        return BrokenRow(number, line, reason, shorten(text.strip(), 500))
    return Row(number, line, fields)


def json_kind(value: object) -> str:
    """Return what JSON calls the type of ``value``, with its article."""
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        type(None): "null",
    }
    return names.get(type(value), f"a {type(value).__name__}")


def json_text(value: object) -> str:
    """Return the beginning of ``value`` as JSON has it; of what JSON cannot say, Python's text."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # rows that a program made
        text = repr(value)
    return shorten(text, 500)


READERS = (JsonLinesReader(),)

"""Rows that stand in the scenario file itself, or in any list of objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_rageval.datasets.base import BrokenRow, Row
from pytest_rageval.datasets.jsonl import json_kind
from pytest_rageval.errors import shorten


def rows_of(
    data: Sequence[Any], max_row_mb: float, lines: Sequence[int | None] | None = None
) -> Iterator[Row | BrokenRow]:
    """Yield a row for each object in ``data``; ``lines`` are where they stand, if that is known."""
    for number, fields in enumerate(data, start=1):
        line = lines[number - 1] if lines is not None else None
        if not isinstance(fields, dict):
            reason = f"expected an object, found {json_kind(fields)}"
            yield BrokenRow(number, line, reason, shorten(repr(fields), 500))
        elif _text_size(fields) > max_row_mb * 2**20:
            yield BrokenRow(number, line, f"longer than {max_row_mb:g} MB (dataset.max_row_mb)")
        else:
            yield Row(number, line, fields)


def _text_size(value: Any) -> int:
    """Return about how many characters of text ``value`` holds."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(_text_size(key) + _text_size(part) for key, part in value.items())
    if isinstance(value, list):
        return sum(_text_size(part) for part in value)
    return 8

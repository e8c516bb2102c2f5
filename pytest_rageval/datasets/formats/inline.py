"""Rows in the scenario file itself, or in any list of objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_rageval.datasets.base import BrokenRow, Row, too_long
from pytest_rageval.text.codec import MAX_DEPTH, LimitError, excess, excess_in
from pytest_rageval.text.json_value import json_kind, json_text


def rows_of(
    data: Sequence[Any],
    max_row_mb: float,
    section: str,
    lines: Sequence[int | None] | None = None,
    *,
    tabular: bool = False,
) -> Iterator[Row | BrokenRow]:
    """Yield a row for each object in ``data``.

    ``section`` is the key of the scenario that names or holds the rows; ``lines`` are their lines,
    if known; ``tabular`` is as of Row.
    """
    for number, fields in enumerate(data, start=1):
        line = lines[number - 1] if lines is not None else None
        if not isinstance(fields, dict):
            reason = f"expected an object, found {json_kind(fields)}"
            yield BrokenRow(number, line, reason, json_text(fields))
        elif reason := _wrong(fields, max_row_mb, section):
            yield BrokenRow(number, line, reason)
        else:
            yield Row(number, line, _with_text_keys(fields), tabular)


def _wrong(fields: dict[Any, Any], max_row_mb: float, section: str) -> str:
    """Return why an object is too large, or too deep, to be a row; "" where it is not."""
    try:
        is_long = _text_size(fields, MAX_DEPTH) > max_row_mb * 2**20
    except LimitError:
        return excess_in(fields)
    return too_long(max_row_mb, section) if is_long else ""


def _with_text_keys(fields: dict[Any, Any]) -> dict[str, Any]:
    """Return the object with text keys; a data frame without a header has numbers."""
    if all(isinstance(key, str) for key in fields):
        return fields
    return {str(key): part for key, part in fields.items()}


def _text_size(value: Any, depth: int) -> int:
    """Return about how many characters of text ``value`` holds; raises LimitError."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict | list):
        if not depth:
            raise LimitError
        below = depth - 1
        if isinstance(value, list):
            return sum(_text_size(part, below) for part in value)
        return sum(len(str(key)) + _text_size(part, below) for key, part in value.items())
    if isinstance(value, int) and excess(value):
        raise LimitError
    return 8

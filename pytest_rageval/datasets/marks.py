"""Reads what a row says of itself under ``skip`` and ``xfail``."""

from __future__ import annotations

from typing import Any

from pytest_rageval.datasets.cells import plain_text

_FALSE_WORDS = frozenset(
    {"", "false", "no", "0", "off", "f", "n", "0.0", "-", "--", "否", "不", "无"}
    | {"none", "null", "nan", "na", "n/a"}
)


def read_mark(name: str, value: Any) -> str | None:
    """Return the reason in a ``skip`` or ``xfail`` column, None if it is false."""
    if value is False:
        return None
    text = "" if value is True else plain_text(name, value).strip()
    if value is not True and text.lower() in _FALSE_WORDS:
        return None
    return "" if text.lower() in ("true", "yes", "1", "on") else text

"""JSON values: their texts changed, and as messages show them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pytest_rageval.errors import shorten
from pytest_rageval.text.limits import excess


def json_kind(value: object) -> str:
    """Return the JSON type of ``value`` with its article."""
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
    """Return the beginning of ``value`` as JSON, or as Python's repr if JSON has no such value.

    Of a value beyond the limits of reading, return what kind it is.
    """
    if excess(value):
        return json_kind(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # rows made by a program
        text = repr(value)
    return shorten(text, 500)


def change_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """Return ``value`` with every text in it, keys left out, replaced by ``change(text)``."""
    if isinstance(value, Mapping):
        return {str(key): change_texts(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [change_texts(part, change) for part in value]
    return change(value) if isinstance(value, str) else value

"""Finds JSON in a text, including the almost-JSON that language models write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pytest_rageval.text.limits import (
    MAX_DEPTH,
    TOO_DEEP_TO_READ,
    LimitError,
    read_json,
    read_json_at,
)

# Limits that no sensible reply reaches, so that none takes long to read.
_MOST_FAILURES = 200

_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_WORDS = {"true": True, "false": False, "null": None, "none": None, "nan": None}


@dataclass(frozen=True, slots=True)
class FoundJson:
    """An object, and its place in the text."""

    value: Any
    start: int
    end: int


def iter_json(text: str) -> Iterator[FoundJson]:
    """Yield the complete outermost objects of ``text`` in order; raises LimitError at a deep one.

    Besides JSON, it accepts single and typographic quotes, keys without quotes, Python's constants,
    trailing and missing commas, and a quotation mark inside a string. NaN becomes None.
    """
    at = failures = 0
    while failures < _MOST_FAILURES and (start := text.find("{", at)) >= 0:
        try:
            value, at = parse_json(text, start)
        except LimitError:  # a part of it is not what was said
            raise
        except ValueError:
            at, failures = start + 1, failures + 1
        else:
            yield FoundJson(value, start, at)


def is_json(text: str) -> bool:
    """Return whether the whole ``text`` is strict JSON."""
    try:
        read_json(text)
    except ValueError:
        return False
    return True


def parse_json(text: str, start: int) -> tuple[Any, int]:
    """Return the value that begins at ``start``, and its end; raises ValueError without one."""
    try:
        return read_json_at(_decoder(), text, start)
    except LimitError:
        raise
    except ValueError:
        loose = _Loose(text, start)
        return loose.value(MAX_DEPTH), loose.at


@cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(
        strict=False, parse_constant=lambda _: None, object_pairs_hook=_with_all_values
    )


def _with_all_values(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; a key that it has twice, with different values, has a list of them."""
    found: dict[str, list[Any]] = {}
    for key, value in pairs:
        known = found.setdefault(key, [])
        if value not in known:
            known.append(value)
    return {key: known[0] if len(known) == 1 else known for key, known in found.items()}


class _Loose:
    """Reads a value from ``at`` on, and moves ``at`` to its end."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at

    def value(self, depth: int) -> Any:
        if depth == 0:
            raise LimitError(TOO_DEEP_TO_READ)
        first = self._peek()
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        return self._string() if first in _CLOSING else self._scalar()

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        found: list[tuple[str, Any]] = []
        while self._peek() != "}":
            key = self._string() if self._peek() in _CLOSING else self._take(r"[^\W\d][\w .-]*")
            if self._peek() != ":":
                raise ValueError("a key without a value")
            self.at += 1
            is_nested = self._peek() in ("{", "[", *_CLOSING)
            found.append((key, self.value(depth - 1) if is_nested else self._plain()))
            self._comma()
        self.at += 1
        return _with_all_values(found)

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        found: list[Any] = []
        while self._peek() != "]":
            found.append(self.value(depth - 1))
            self._comma()
        self.at += 1
        return found

    def _string(self) -> str:
        """Return a quoted text; a quotation mark ends it only where a value can end."""
        closing = _CLOSING[self._text[self.at]]
        end = re.compile(rf"(?<!\\){closing}(?=\s*(?:[,:}}\]]|$))").search(self._text, self.at + 1)
        if end is None:
            raise ValueError("a text without an end")
        raw, self.at = self._text[self.at + 1 : end.start()], end.end()
        return _unescaped(raw)

    def _plain(self) -> Any:
        """Return an unquoted value of a key: a constant, a number, or words."""
        words = self._take(r"[^,{}\[\]\n\"“”]+").strip()
        try:
            return _constant(words)
        except ValueError:
            return words

    def _scalar(self) -> Any:
        return _constant(self._take(r"[\w.+-]+"))

    def _take(self, pattern: str) -> str:
        self._peek()
        found = re.compile(pattern).match(self._text, self.at)
        if found is None:
            raise ValueError("neither a value nor a key")
        self.at = found.end()
        return found[0].strip()

    def _comma(self) -> None:
        if self._peek() == ",":
            self.at += 1

    def _peek(self) -> str:
        """Return the next character that is not white space, and move ``at`` to it."""
        found = re.compile(r"\s*").match(self._text, self.at)
        self.at = found.end() if found else self.at
        if self.at >= len(self._text):
            raise ValueError("the text ends in the middle of it")
        return self._text[self.at]


def _constant(words: str) -> Any:
    if words.lower() in _WORDS:
        return _WORDS[words.lower()]
    return read_json(words, parse_constant=lambda _: None)


def _unescaped(raw: str) -> str:
    # It may contain unescaped quotes, which JSON does not allow.
    quoted = re.sub(r'(?<!\\)"', r"\"", raw.replace(r"\'", "'"))
    try:
        return str(json.loads(f'"{quoted}"', strict=False))
    except ValueError:
        return raw

"""The documents of JSON in a file of traces, each with its line; what is broken is named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, DataFile
from pytest_rageval.errors import shorten
from pytest_rageval.text.codec import read_json_at

_BEGINS: Final = re.compile(r"\n[{\[]")
_MOST_AHEAD: Final = 64
"""So many lines with a bracket are looked at for the end of a document before all of the text."""


def json_documents(file: DataFile) -> Iterator[tuple[Any, int | None] | BrokenRow]:
    """Yield each document of a text of JSON, and its line: one, one a line, or one after the other.

    What cannot be read ends at the next line that begins with a bracket.
    """
    with file.open(is_whole=True) as stream:
        text = file.decode(stream.read())
    decoder = json.JSONDecoder()
    at, line, counted, following = _after_blanks(text, 0), 1, 0, 0
    while at < len(text):
        line += text.count("\n", counted, at)
        counted = at
        following = following if at < following else _next_document(text, at)
        try:
            value, end = _value_at(decoder, text, at, following)
            yield value, line
        except ValueError as error:
            end = following
            yield _broken(text, at, end, line, error)
        at = _after_blanks(text, end)


def _value_at(decoder: json.JSONDecoder, text: str, at: int, following: int) -> tuple[Any, int]:
    """Return the value at a position, and its end; ``following``: where another may begin.

    Python counts the lines before an error, so a short part is tried before all of the text. What
    fails before the part's end does so in all of the text: the part ends at the end of a line, and
    no token of JSON goes on behind it.
    """
    for ahead in (0, _MOST_AHEAD):
        for _ in range(ahead):
            following = _next_document(text, following)
        if following == len(text):
            break
        part = text[at : following + 1]
        try:
            value, length = read_json_at(decoder, part, 0)
            return value, at + length
        except json.JSONDecodeError as error:
            if error.pos < len(part):
                raise
    return read_json_at(decoder, text, at)


def _after_blanks(text: str, at: int) -> int:
    """Return the position after blanks, BOMs and the commas that some tools put between objects."""
    while at < len(text) and text[at] in " \t\r\n,\ufeff":
        at += 1
    return at


def _next_document(text: str, at: int) -> int:
    found = _BEGINS.search(text, at + 1)
    return found.start() if found else len(text)


def _broken(text: str, at: int, end: int, line: int, error: ValueError) -> BrokenRow:
    raw = shorten(text[at:end].strip(), 500)
    if not isinstance(error, json.JSONDecodeError):
        return BrokenRow(0, line, str(error), raw)
    place = error.pos if error.doc is text else at + error.pos
    line_at = line + text.count("\n", at, place)
    column = place - text.rfind("\n", 0, place)
    reason = f"not valid JSON: {error.msg} (line {line_at}, column {column})"
    if end == len(text):
        reason += "; the file ends in it: is it cut off? Traces after it are missing"
    return BrokenRow(0, line, reason, raw)

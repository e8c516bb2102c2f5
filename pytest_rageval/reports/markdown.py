"""Texts of data inside Markdown: cut to a width, and without any meaning as Markdown."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from pytest_rageval.errors import shorten
from pytest_rageval.text.printable import one_line, short_line

_MARKS: Final = re.compile(
    r"(?P<escape>[\\`*_{}\[\]~])"
    r"|(?P<entity>[<>|$]|&(?=#?\w+;))"
    # What GitHub turns into a link or a notification: @name, #12, GH-12, a URL.
    r"|(?P<part>(?<![A-Za-z0-9_])@(?=\w)|\#(?=\d)|(?<=gh)-(?=\d)|:(?=//)|www(?=\.))",
    re.IGNORECASE,
)


def cell(text: str, width: int) -> str:
    """Return text for a cell of a table, in one line of so many characters, none of it Markdown."""
    return _plain(shorten(one_line(text), width))


def within(text: str, room: int) -> str:
    """Return ``cell`` of as much text as takes at most ``room`` characters once it is escaped."""
    flat = shorten(short_line(text, room), room)

    def taken(width: int) -> int:
        return len(_plain(shorten(flat, width)))

    return _plain(shorten(flat, bisect_right(range(1, room + 1), room, key=taken)))


def code(text: str, width: int) -> str:
    """Return a path as code in Markdown; one with a backtick is plain text."""
    flat = shorten(one_line(text), width)
    return _plain(flat) if "`" in flat else f"`{flat}`"


def _plain(text: str) -> str:
    """Return text for a Markdown table cell, without any meaning as Markdown."""
    return _MARKS.sub(_escape, one_line(text))


def _escape(found: re.Match[str]) -> str:
    mark = found.group()
    if found["escape"]:
        return f"\\{mark}"
    # A zero-width space breaks up what would be a link.
    return f"&#{ord(mark)};" if found["entity"] else f"{mark}&#8203;"

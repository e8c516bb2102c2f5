"""Makes untrusted text safe to show in a terminal, a CI service or a report."""

from __future__ import annotations

import re

_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # they change the order of what follows
)
# GitHub Actions runs commands in any output: "::" at the beginning of a line, "##[" anywhere.
# A blank before it may become a line break.
_COMMAND = re.compile(r"^(\s*)::|(?<=\s)::(?=\w)|##\[", re.MULTILINE)


def printable(text: str) -> str:
    r"""Return ``text`` with unsafe characters written as ``\xNN``.

    These are control characters (which could clear the screen or forge colours), changes of the
    writing direction, lone surrogates, which cannot be encoded, and commands of a CI service. Line
    breaks and tabs are kept.

    >>> printable("::add-mask::e"), printable("a\u202eb")
    ('\\x3a:add-mask::e', 'a\\u202eb')
    """
    shown = _UNPRINTABLE.sub(_escape, text)
    return _COMMAND.sub(_inert, shown) if "::" in shown or "##[" in shown else shown


def one_line(text: str) -> str:
    r"""Return ``printable(text)`` in one line: runs of white space become one space.

    >>> one_line("a\n::error::b")
    'a \\x3a:error::b'
    """
    return " ".join(printable(text).split())


def wrappable(text: str) -> str:
    r"""Return ``printable(text)`` without any ``::``, for what pytest breaks inside a word.

    >>> wrappable("a::error::b")
    'a\\x3a\\x3aerror\\x3a\\x3ab'
    """
    return printable(text).replace("::", r"\x3a\x3a")


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def _inert(found: re.Match[str]) -> str:
    return "\\x23#[" if found.group() == "##[" else f"{found[1] or ''}\\x3a:"

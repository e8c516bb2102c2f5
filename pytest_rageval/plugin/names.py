"""Names for pytest from ids and texts of the data: what it can select, print and send."""

from __future__ import annotations

import re
import unicodedata

_MAX_NAME = 200
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_GATE_PREFIX = "gate:"
# What the runner of GitHub Actions takes for a command in any output: "::" where a line begins,
# "##[" everywhere.
_COMMAND = re.compile(r"^(\s*)::|##\[", re.MULTILINE)


def printable(text: str) -> str:
    r"""Return ``text`` with what no terminal or worker should get spelled out as ``\xNN``.

    Control characters (the data could clear the screen or forge colours), lone surrogates, which
    cannot be encoded, and what a CI service would run as a command. Line breaks and tabs stay.

    >>> printable("::add-mask::e")
    '\\x3a:add-mask::e'
    """
    shown = _UNPRINTABLE.sub(_escape, text)
    return _COMMAND.sub(_inert, shown) if "::" in shown or "##[" in shown else shown


def _escape(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


def _inert(found: re.Match[str]) -> str:
    return "\\x23#[" if found.group() == "##[" else f"{found[1]}\\x3a:"


def item_name(sample_id: str) -> str:
    """Return the name of the item of ``sample_id``, as it stands in node ids.

    ``::`` would split the node id and ``[`` breaks ``--lf``; both have look-alikes. A name that
    begins like a gate's, which are node ids too, does so no more.

    >>> item_name("a::b[1]")
    'a:b(1)'
    """
    name = sample_id.replace("::", ":").replace("[", "(").replace("]", ")")
    name = " ".join(printable(name).split())[:_MAX_NAME].rstrip(":")
    if name.startswith(_GATE_PREFIX):
        name = name.replace(":", "_", 1)
    return name or "sample"


class Names:
    """Gives each item of a file a name that no other one has."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """By each name that is given, the last number that it was given with."""

    def give(self, sample_id: str) -> str:
        """Return the item's name, with ``~2`` behind it where an other id has the same name."""
        name = unique = item_name(sample_id)
        number = self._numbers.get(name, 1)
        while unique in self._numbers:
            number += 1
            unique = f"{name}~{number}"
        self._numbers[unique] = 1
        self._numbers[name] = number
        return unique


def cells(text: str) -> int:
    """Return how many terminal cells ``text`` takes; Chinese characters take two."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    combining = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - combining


def pad(text: str, width: int) -> str:
    """Return ``text`` with spaces up to ``width`` cells."""
    return text + " " * max(0, width - cells(text))

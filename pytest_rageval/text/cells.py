"""The width of text in a terminal, where a Chinese character takes two cells."""

from __future__ import annotations

import unicodedata
from itertools import accumulate

from pytest_rageval.text.printable import printable


def cells(text: str) -> int:
    """Return how many terminal cells ``text`` takes.

    >>> cells("f1"), cells("准确率")
    (2, 6)
    """
    return sum(map(_cells_of, text))


def pad(text: str, width: int) -> str:
    """Return ``text`` with spaces up to ``width`` cells."""
    return text + " " * max(0, width - cells(text))


def cut(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells, with an ellipsis if it was cut.

    >>> cut("退款需要多少天", 8), cut("refund", 8)
    ('退款需…', 'refund')
    """
    return text if cells(text) <= width else _beginning(text, width - 1) + "…"


def wrapped(text: str, width: int) -> list[str]:
    """Return ``text`` in lines of at most ``width`` cells, broken at blanks.

    A word longer than a line is broken, as Chinese sentences are. No line begins with a command of
    a CI service; where one would, it is wider.

    >>> wrapped("2 of 2 values: 退款政策.pdf", 10)
    ['2 of 2', 'values:', '退款政策.p', 'df']
    """
    lines: list[str] = []
    line = ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if cells(joined) <= width:
            line = joined
            continue
        lines += [line] if line else []
        while cells(word) > width:
            head = _beginning(word, width)
            lines.append(head)
            word = word[len(head) :]  # noqa: PLW2901  (the rest of it)
        line = word
    return [printable(one) for one in (*lines, line) if one]


def _beginning(text: str, width: int) -> str:
    """Return as many characters as fit into ``width`` cells, at least one."""
    ends = accumulate(map(_cells_of, text))
    fitting = sum(end <= width for end in ends)
    return text[: max(1, fitting)]


def _cells_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):  # combining, or invisible
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1

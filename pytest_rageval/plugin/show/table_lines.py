"""Formats lines of terminal tables: coloured parts, and a first column of names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from pytest_rageval.text.printable import cells, one_line, pad, printable, wrapped

Line = tuple[tuple[str, str], ...]
"""The parts of a line: a text and a colour, which may be empty."""

MIN_NAME = 22
"""The smallest width of a column of names, if there is room."""


def write_lines(terminal: pytest.TerminalReporter, lines: Iterable[Line]) -> None:
    """Write lines to pytest's terminal."""
    for line in lines:
        for text, colour in line[:-1]:
            terminal.write(text, **({colour: True} if colour else {}))
        text, colour = line[-1]
        terminal.write_line(text.rstrip(), **({colour: True} if colour else {}))


def terminal_width(config: pytest.Config) -> int:
    """Return how many columns the terminal has, 80 without one (``-p no:terminal``)."""
    has_terminal = config.pluginmanager.has_plugin("terminalreporter")
    return config.get_terminal_writer().fullwidth if has_terminal else 80


def plain(line: Line) -> str:
    """Return the text of a line."""
    return "".join(text for text, _ in line).rstrip()


def name_column(names: Iterable[str], room: int) -> int:
    """Return the width of a column for ``names``, of ``room`` cells at most.

    Names that do not fit get lines of their own, and do not count.
    """
    widths = [cells(one_line(name)) for name in names]
    return max([min(MIN_NAME, room), *(width for width in widths if width <= room)])


def named(name: str, column: int, rest: Line) -> Iterator[Line]:
    """Yield ``name`` followed by ``rest``; a name too long for the column has its own line."""
    shown = one_line(name)
    if cells(shown) > column:
        yield ((shown, ""),)
        shown = ""
    yield ((f"{pad(shown, column)} ", ""), *rest)


def prose(text: str, width: int, colour: str = "") -> Iterator[Line]:
    """Yield ``text`` in lines of ``width`` cells, all but the first one indented."""
    first, *more = wrapped(printable(text), width) or [""]
    yield ((first, colour),)
    for line in wrapped(" ".join(more), width - 2):
        yield ((f"  {line}", colour),)

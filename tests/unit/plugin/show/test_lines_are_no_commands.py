"""No line that is wrapped for the terminal is a command of GitHub's."""

from __future__ import annotations

import random

import pytest

from pytest_rageval.plugin.show.terminal import named, plain, prose
from pytest_rageval.text.printable import cut, one_line, printable, wrapped

PARTS = (
    ":",
    "::",
    "::error::",
    "a",
    " ",
    "\n",
    "\t",
    "##[",
    "#",
    "[",
    "退",
    "\u3000",
    "\\",
    "\x1b",
)


@pytest.mark.parametrize("width", [1, 3, 4, 7, 12])
def test_no_wrapped_line_begins_with_a_command(width: int) -> None:
    """[X10] Wherever the text is broken; the runner trims blanks before it looks."""
    draw = random.Random(width)
    for _ in range(400):
        text = "".join(draw.choices(PARTS, k=draw.randint(1, 14)))
        lines = [
            *wrapped(printable(text), width),
            *map(plain, prose(text, width + 2)),
            *map(plain, named(text, width, (("0.5", ""),))),
            cut(one_line(text), width),
        ]
        for line in lines:
            assert not line.lstrip().startswith("::"), (text, lines)
            assert "##[" not in line, (text, lines)

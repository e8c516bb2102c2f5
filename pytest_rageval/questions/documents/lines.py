"""The lines of a text, and the parts that they make: paragraphs, headings, blocks."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pytest_rageval.errors import shorten
from pytest_rageval.questions.documents.base import Part

_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)、]|[（(]\d{1,3}[)）])\s|\u3000")
_WRAPPED: Final = 160
"""Lines that are longer are paragraphs: no text is wrapped at that many characters."""
LONGEST_TITLE: Final = 200


class Line(NamedTuple):
    """A line without its end, and where it begins in the text."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """Where the line ends in the text."""
        return self.start + len(self.text)

    @property
    def is_blank(self) -> bool:
        """Whether nothing but white space is in it."""
        return not self.text.strip()


def lines_of(text: str) -> list[Line]:
    """Return the lines of a text."""
    start, found = 0, []
    for line in text.split("\n"):
        found.append(Line(start, line))
        start += len(line) + 1
    return found


class Parts:
    """Collects the parts of a text from its lines.

    A paragraph ends at a blank line, before an item of a list, and after a line that is longer than
    any at which texts are wrapped.
    """

    def __init__(self) -> None:
        self.found: list[Part] = []
        self.paragraph: list[Line] = []
        """The lines of the paragraph that has not ended."""

    def add(self, line: Line) -> None:
        """Add a line of a paragraph, or a blank one."""
        if line.is_blank:
            self.end()
            return
        if self.paragraph and (len(self.paragraph[-1].text) > _WRAPPED or _ITEM.match(line.text)):
            self.end()
        self.paragraph.append(line)

    def end(self) -> None:
        """End the paragraph, if there is one."""
        self._add(self.paragraph)
        self.paragraph = []

    def whole(self, lines: list[Line]) -> None:
        """Add lines as one part that is not to be cut."""
        self.end()
        self._add(lines, is_whole=True)

    def heading(self, level: int, title: str, start: int, end: int) -> None:
        """Add a heading, its title shortened; the open paragraph ends before it."""
        self.end()
        plain = shorten(" ".join(title.split()), LONGEST_TITLE)
        self.found.append(Part(start, end, level, plain))

    def _add(self, lines: list[Line], *, is_whole: bool = False) -> None:
        while lines and lines[-1].is_blank:
            lines = lines[:-1]
        if lines:
            first, last = lines[0], lines[-1]
            start = first.end - len(first.text.lstrip())
            end = last.start + len(last.text.rstrip())
            self.found.append(Part(start, end, is_whole=is_whole))

"""HTML: the text that a reader sees, without scripts, navigation, headers and footers."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from pytest_rageval.questions.documents.base import DocumentFormat, Part, ReadFile
from pytest_rageval.questions.documents.cut import LONGEST, cut, width
from pytest_rageval.questions.documents.encoding import declared_encoding, decoded
from pytest_rageval.questions.documents.lines import LONGEST_TITLE

_NO_TEXT: Final = frozenset(
    ("script", "style", "nav", "header", "footer", "noscript", "template", "svg", "select")
)
_INLINE_NAMES: Final = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q ruby s "
    "samp small span strike strong sub sup time tt u var wbr img"
)
_INLINE: Final = frozenset(_INLINE_NAMES.split())
_CELLS: Final = frozenset(("td", "th"))
_BETWEEN_CELLS: Final = " | "
_ROWS: Final = frozenset(("tr", "thead", "tbody", "tfoot", "caption"))
_IN_CELL: Final = "\0"
"""Between the blocks in a cell; no page holds it."""
_HEADINGS: Final = {f"h{level}": level + 1 for level in range(1, 7)}
"""Their levels; the title of the page is above them."""
_IN_HEADINGS: Final = _NO_TEXT - {"header"} | {"div", "button"}
"""Elements that may open and close in a heading if it begins with one; other blocks end it."""
_MARKS: Final = " \t\n¶#§🔗"
"""What pages put beside a heading as a link to it."""
_BLANKS: Final = re.compile(r"[ \t\n\f]+")


class _Page(HTMLParser):
    """The text of a page, and its parts."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.parts: list[Part] = []
        self._length = 0
        self._written: list[str] = []
        self._part: list[str] = []
        """The texts of the part that has not ended."""
        self._hidden: dict[str, int] = {}
        """How often each element without text is open."""
        self._level = 0
        self._blocks: set[str] = set()
        """The elements of _IN_HEADINGS in the open heading, if it begins with one."""
        self.has_title = False
        """Whether there is a heading of the first level without a block in it."""
        self._whole = ""
        """The name of the element that is open, if what it holds is not to be cut."""
        self._depth = 0
        self._is_title = False

    @property
    def text(self) -> str:
        """The text so far; its parts are apart by a blank line."""
        return "".join(self._written)

    @property
    def _may_have_heading(self) -> bool:
        """Whether nothing hides a heading here; a ``header`` does not: it may be an article's."""
        return not any(count for tag, count in self._hidden.items() if tag != "header")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._level and (self._blocks or not "".join(self._part).strip(_MARKS)):
            self._blocks |= {tag} & _IN_HEADINGS
        if tag in _NO_TEXT:
            self._end(tag)
            self._hidden[tag] = self._hidden.get(tag, 0) + 1
        elif tag in ("pre", "table"):
            self._open_whole(tag)
        elif tag in _HEADINGS and not self._whole:
            self._end()
            self._level = _HEADINGS[tag] if self._may_have_heading else 0
        elif tag == "title":
            self._is_title = not (self.title or self._hidden.get("svg"))
        elif tag == "br":
            self._part.append(_IN_CELL if self._whole == "table" else "\n")
        elif tag not in _INLINE:
            self._boundary(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _NO_TEXT:
            self._end(tag)
            self._hidden[tag] = max(0, self._hidden.get(tag, 0) - 1)
        elif tag == self._whole:
            self._close_whole()
        elif tag == "title":
            self._is_title = False
        elif tag not in _INLINE and tag not in _CELLS:
            self._boundary(tag)

    def handle_data(self, data: str) -> None:
        if self._is_title:
            self.title += data
        elif self._may_have_heading if self._level else not any(self._hidden.values()):
            self._part.append(data if self._whole == "pre" else _BLANKS.sub(" ", data))

    def parse_html_declaration(self, i: int) -> int:
        """Return where a declaration ends; an unknown ``<![`` is a comment, as in browsers."""
        try:
            return super().parse_html_declaration(i)
        except AssertionError:  # of older Pythons
            return self.parse_bogus_comment(i)

    def close(self) -> None:
        super().close()
        self._whole = ""
        self._end()

    def _open_whole(self, tag: str) -> None:
        if not self._whole:
            self._end()
            self._whole, self._depth = tag, 1
        elif tag == self._whole:
            self._depth += 1

    def _close_whole(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._end(is_whole=True)
            self._whole = ""

    def _boundary(self, tag: str) -> None:
        """End the part, or the row or cell of a table."""
        if not self._whole:
            self._end(tag)
        elif tag in _CELLS:
            self._part.append(_BETWEEN_CELLS)
        elif self._whole == "table":
            self._part.append("\n" if tag in _ROWS else _IN_CELL)

    def _end(self, tag: str = "", *, is_whole: bool = False) -> None:
        """Add what is open as a part, or as a heading, unless a block in it begins or ends here."""
        if self._whole and not is_whole:
            return
        is_within = tag in self._blocks or (self._blocks and not self._may_have_heading)
        if tag and is_within:
            self._part.append(" ")
            return
        text = "".join(self._part)
        self._part = []
        text = text.strip("\n").rstrip() if self._whole == "pre" else _tidy(text, is_table=is_whole)
        level, self._level = self._level, 0
        blocks, self._blocks = self._blocks, set()
        if blocks and (tag not in _HEADINGS or len(text) > LONGEST_TITLE):
            level = 0  # a paragraph: the heading that begins it is not closed, or is too long
        if level:
            text = " ".join(text.split()).strip(_MARKS)
        if text:
            self.has_title |= level == _HEADINGS["h1"] and not blocks
            start, end = self._length, self._length + len(text)
            title = text[:LONGEST_TITLE] if level else ""
            self.parts.append(Part(start, end, level, title, is_whole))
            self._written += [text, "\n\n"]
            self._length = end + 2


def _tidy(text: str, *, is_table: bool) -> str:
    """Return the text with one blank between words, and without blank lines.

    In a table with more than one cell, blank cells before others keep these in their place.
    """
    has_columns = is_table and len([*filter(str.strip, re.split(r"[|\n\0]", text))]) > 1
    lines = (line for row in text.split("\n") for line in _lines_of(row))
    tidy = (_tidy_line(line, has_columns=has_columns) for line in lines)
    return "\n".join(filter(None, tidy))


def _lines_of(row: str) -> list[str]:
    """Return the lines of a row: one, or its blocks if a cell has several or the line is long."""
    cells = [cell.strip(f" {_IN_CELL}") for cell in row.split(_BETWEEN_CELLS)]
    line = _BETWEEN_CELLS.join(cells)
    is_one = not any(_IN_CELL in cell for cell in cells) and width(line) <= LONGEST
    return [line] if is_one else row.split(_IN_CELL)


def _tidy_line(text: str, *, has_columns: bool) -> str:
    said = _BLANKS.sub(" ", text).strip(_BETWEEN_CELLS)
    before = text.partition(said[:1])[0].count("|") if said.strip() and has_columns else 0
    return "| " * (before - 1) + said


def page_parts(html: str) -> tuple[str, list[Part]]:
    """Return the text of a page and its parts.

    The page's title is a heading above them, unless there is an ``h1`` without a block in it.
    """
    page = _Page()
    # No tag ends behind the last ">", which the parser would look for from each "<" again.
    end = html.rfind(">") + 1
    page.feed(html[:end] + html[end:].replace("<", "&lt;"))
    page.close()
    title = " ".join(page.title.split())
    above = [Part(0, 0, 1, title)] if title and not page.has_title else []
    return page.text, [*above, *page.parts]


def _read(path: Path) -> ReadFile:
    raw = path.read_bytes()
    return cut(*page_parts(decoded(raw, declared_encoding(raw))))


FORMATS = (DocumentFormat("HTML", ("html", "htm", "xhtml"), _read),)

"""Plain text: paragraphs, and lines that are certain to be headings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_rageval.questions.documents.base import DocumentFormat, Part
from pytest_rageval.questions.documents.cut import text_reader, width
from pytest_rageval.questions.documents.lines import Line, Parts, lines_of

_RULES: Final = "=-~*#^"
_RULE: Final = re.compile(rf"[ \t]*([{re.escape(_RULES)}])\1{{2,}}[ \t]*")
_NUMBERED: Final = re.compile(r"[ \t]*(\d{1,2}(?:\.\d{1,2}){0,4})\.?[ \t]+[^\W\d_].*")
_CHINESE: Final = re.compile(
    r"\s*(?:第[〇零一二三四五六七八九十百两\d]{1,5}(?P<part>[编篇部卷章节])(?=\s|[^的中里内和与、，]|$)"
    r"|(?P<item>[一二三四五六七八九十]{1,3})、|[（(](?P<inner>[一二三四五六七八九十]{1,3})[）)])"
)
_LEVELS: Final[Mapping[str, int]] = {"编": 1, "篇": 1, "部": 1, "卷": 1, "章": 2, "节": 3}
_ITEM_LEVEL: Final = 4
_WIDEST_TITLE: Final = 80
_NO_TITLE: Final = tuple(".。,，;；:：!！?？…、")
"""How a line ends that is a sentence, or leads to what follows."""


def text_parts(text: str) -> list[Part]:
    """Return the parts of a plain text.

    Headings are lines above a line of signs, and lines with a number of their own before a text
    that is theirs: 1.2 (then also 1), 第三章, 一、. In a list or a table of contents the next such
    line follows at once, so that these are paragraphs.
    """
    parts, lines = Parts(), lines_of(text)
    titles = _titles(lines)
    for at, line in enumerate(lines):
        if at in titles:
            parts.heading(titles[at], line.text, line.start, line.end)
        elif at - 1 in titles and _RULE.fullmatch(line.text):
            continue
        else:
            parts.add(line)
    parts.end()
    return parts.found


def _titles(lines: Sequence[Line]) -> dict[int, int]:
    """Return the level of each line that is a heading."""
    may_be = {at: level for at in range(len(lines)) if (level := _level(lines, at))}
    if not any(level > _DOTTED for level in may_be.values()):
        # Without 1.1 below it, 1 may be an item of a list.
        may_be = {at: level for at, level in may_be.items() if level != _DOTTED}
    return {at: level for at, level in may_be.items() if _has_text(lines, at, may_be)}


_DOTTED: Final = 11
"""The level of the number 1; that of 1.1 is one more."""


def _level(lines: Sequence[Line], at: int) -> int:
    """Return the level of a line that may be a heading, 0 for others."""
    text = lines[at].text.strip()
    if not text or width(text) > _WIDEST_TITLE:
        return 0
    if at + 1 < len(lines) and _is_ruled(lines, at):
        return 1 + _RULES.index(lines[at + 1].text.strip()[0])
    if text.endswith(_NO_TITLE):
        return 0
    if found := _CHINESE.match(text):
        return _LEVELS.get(found["part"] or "", _ITEM_LEVEL + bool(found["inner"]))
    if (found := _NUMBERED.fullmatch(text)) and _stands_alone(lines, at):
        return _DOTTED + found[1].count(".")
    return 0


def _is_ruled(lines: Sequence[Line], at: int) -> bool:
    """Return whether a line of signs, at least half as long, is under a paragraph's first line."""
    rule, title = lines[at + 1].text, lines[at].text.strip()
    is_first = at == 0 or lines[at - 1].is_blank or bool(_RULE.fullmatch(lines[at - 1].text))
    if not is_first or not _RULE.fullmatch(rule) or _RULE.fullmatch(title):
        return False
    return len(rule.strip()) * 2 >= len(title)


def _stands_alone(lines: Sequence[Line], at: int) -> bool:
    before = at == 0 or lines[at - 1].is_blank
    return before and (at + 1 == len(lines) or lines[at + 1].is_blank)


def _has_text(lines: Sequence[Line], at: int, may_be: Mapping[int, int]) -> bool:
    """Return whether text or a lower heading follows, and no heading of this or a higher level."""
    after = at + 1
    while after < len(lines) and (lines[after].is_blank or _RULE.fullmatch(lines[after].text)):
        after += 1
    return after < len(lines) and may_be.get(after, 99) > may_be[at]


FORMATS = (DocumentFormat("text", ("txt", "text"), text_reader(text_parts)),)

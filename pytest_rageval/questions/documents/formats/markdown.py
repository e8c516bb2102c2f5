"""Markdown: headings in both forms, blocks of code, tables, front matter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import yaml

from pytest_rageval.questions.documents.base import DocumentFormat, Part
from pytest_rageval.questions.documents.cut import text_reader
from pytest_rageval.questions.documents.lines import Line, Parts, lines_of

_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
_SETEXT: Final = re.compile(r" {0,3}(=+|-+)[ \t]*")
_FENCE: Final = re.compile(r"[ \t]*(?:[-*+>][ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_BREAK: Final = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_TABLE_RULE: Final = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-*:?[ \t]*)+")
_NO_TITLE: Final = re.compile(r"\s*(?:[-*+>|]|\d+[.)])\s")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_LONGEST_COMMENT: Final = 100
_COMMENTS: Final = re.compile(r"(?:\s*<!--.*?(?:-->|$))*\s*")
_TAG: Final = re.compile(r"<[^<>]*>")
_NO_KEY: Final = re.compile(r"[>*|]|<(?![<%])|!\[|[^-\[{<][^:=]*$")
"""A line, or its beginning, that is no key: front matter does not begin with it."""
_NO_YAML: Final = re.compile(r"(?![-#\[\]{}<%])\S(?!.*:(?:\s|$))")
"""The beginning of a line that is no key, nor of a list, a comment or a template: of a sentence."""
_ANCHOR: Final = re.compile(r"[ \t]*\{#?[^{}]*\}$")


def markdown_parts(text: str) -> list[Part]:
    """Return the parts of a text in Markdown; comments and lines drawn across are none."""
    parts, lines = Parts(), lines_of(text)
    at = _front_matter(lines, parts)
    while at < len(lines):
        at = _block(lines, at, parts)
    parts.end()
    return parts.found


def _front_matter(lines: Sequence[Line], parts: Parts) -> int:
    """Return the index after the front matter, 0 without any; its title is a heading.

    Text, too, may stand between two lines drawn across: its first line, or another, is no key, and
    it is no YAML.
    """
    if lines[0].text.rstrip() not in ("---", "+++"):
        return 0
    ends = ("---", "...") if lines[0].text.startswith("-") else ("+++",)
    end = next((at for at in range(1, len(lines)) if lines[at].text.rstrip() in ends), 0)
    texts = (line.text.strip() for line in lines[1:end])
    texts = (text for text in texts if text and not text.startswith(("#", "<!--")))
    if _NO_KEY.match(next(texts, "")):
        return 0
    if ends[0] == "---" and any(_NO_YAML.match(line.text) for line in lines[1:end]):
        try:
            found = yaml.safe_load("\n".join(line.text for line in lines[1:end]))
        except Exception:  # noqa: BLE001  (a tag with a wrong value raises what it likes)
            return 0
        if not isinstance(found, dict):
            return 0
    for line in lines[1:end]:
        if found := re.match(r"title\s*[:=]\s*(.+)", line.text):
            after = lines[end].end
            parts.heading(1, found[1].strip(" \t\"'"), after, after)
            break
    return end + 1 if end else 0


def _block(lines: Sequence[Line], at: int, parts: Parts) -> int:
    """Add what begins at a line, and return the index of the line after it."""
    line = lines[at]
    if fence := _FENCE.match(line.text):
        end = _fence_end(lines, at, fence[1])
        parts.whole([*lines[at:end]])
        return end
    if line.text.lstrip().startswith("<!--") and (end := _comment_end(lines, at)):
        parts.end()
        _behind_comment(lines[end - 1], parts)
        return end
    if heading := _ATX.fullmatch(line.text):
        parts.heading(len(heading[1]), plain_title(heading[2] or ""), line.start, line.end)
    elif _is_title(parts.paragraph) and (setext := _SETEXT.fullmatch(line.text)):
        _setext(parts, line, 1 if setext[1].startswith("=") else 2)
    elif _BREAK.fullmatch(line.text):
        parts.end()
    elif "|" in line.text and at + 1 < len(lines) and _TABLE_RULE.fullmatch(lines[at + 1].text):
        end = _table_end(lines, at)
        parts.whole([*lines[at:end]])
        return end
    else:
        parts.add(line)
    return at + 1


def _table_end(lines: Sequence[Line], at: int) -> int:
    for end in range(at + 2, len(lines)):
        if lines[end].is_blank or _ATX.fullmatch(lines[end].text):
            return end
    return len(lines)


def _fence_end(lines: Sequence[Line], at: int, mark: str) -> int:
    is_quoted = ">" in lines[at].text.partition(mark)[0]
    for end in range(at + 1, len(lines)):
        text = lines[end].text.strip()
        if is_quoted and not text.startswith(">"):
            return end
        text = text.lstrip("> \t") if is_quoted else text
        if len(text) >= len(mark) and not text.strip(mark[0]):
            return end + 1
    return len(lines)


def _comment_end(lines: Sequence[Line], at: int) -> int:
    """Return the index after a comment, 0 if no end is in 100 lines: these are text then."""
    for end in range(at, min(at + _LONGEST_COMMENT, len(lines))):
        if "-->" in lines[end].text:
            return end + 1
    return 0


def _behind_comment(line: Line, parts: Parts) -> None:
    """Add the text behind the end of a comment, and behind further ones; it ends with the line."""
    start = line.text.index("-->") + len("-->")
    start = found.end() if (found := _COMMENTS.match(line.text, start)) else start
    if _TAG.sub("", line.text[start:]).strip():
        parts.add(Line(line.start + start, line.text[start:]))
        parts.end()


def _is_title(paragraph: Sequence[Line]) -> bool:
    """Return whether the open paragraph is a heading if a line of signs follows."""
    return 0 < len(paragraph) <= 3 and not _NO_TITLE.match(paragraph[0].text)


def _setext(parts: Parts, rule: Line, level: int) -> None:
    title = " ".join(line.text for line in parts.paragraph)
    start = parts.paragraph[0].start
    parts.paragraph = []
    parts.heading(level, plain_title(title), start, rule.end)


def plain_title(title: str) -> str:
    """Return a heading without the marks of Markdown.

    >>> plain_title("`GET` and [links](http://a.b) {#here}")
    'GET and links'
    """
    return _LINK.sub(r"\1", _ANCHOR.sub("", title)).translate(_MARKS).strip()


_MARKS: Final = dict.fromkeys(map(ord, "*`"))


FORMATS = (DocumentFormat("Markdown", ("md", "markdown", "mdx"), text_reader(markdown_parts)),)

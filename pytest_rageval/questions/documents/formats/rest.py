"""reStructuredText: headings by their adornments, code, tables, and the text in directives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile
from typing import Final

from pytest_rageval.questions.documents.base import DocumentFormat, Part
from pytest_rageval.questions.documents.cut import text_reader, width
from pytest_rageval.questions.documents.lines import Line, Parts, lines_of

_ADORNMENT: Final = re.compile(r"([!-/:-@\[-`{-~])\1{2,}[ \t]*")
_TABLE: Final = re.compile(r"[ \t]*(?:\+[-=+]+\+|={2,}(?:[ \t]+={2,})+)[ \t]*")
_EXPLICIT: Final = re.compile(r"[ \t]*\.\.(?:[ \t]+|$)")
_DIRECTIVE: Final = re.compile(r"[ \t]*\.\.[ \t]+(?:\|[^|]+\|[ \t]+)?([\w:.+-]+?)::(?:[ \t]|$)")
_CODE_NAMES: Final = (
    "code code-block sourcecode parsed-literal math table list-table csv-table prompt"
)
_CODE: Final = frozenset(_CODE_NAMES.split())
_TITLED: Final = frozenset(("math", "table", "list-table", "csv-table"))
"""Those of them behind whose name text stands; behind the others it is a language."""
_TEXT_NAMES: Final = (
    "attention caution danger error hint important note tip warning admonition seealso topic "
    "sidebar epigraph highlights pull-quote deprecated versionadded versionchanged rubric "
    "option hlist glossary describe confval envvar"
)
_TEXTS: Final = frozenset(_TEXT_NAMES.split())
_NOT_SHOWN_NAMES: Final = (
    "raw comment todo replace meta toctree testsetup testcleanup "
    "doctest testcode ipython jupyter-execute graphviz mermaid uml"
)
_NOT_SHOWN: Final = frozenset(_NOT_SHOWN_NAMES.split())
"""Directives whose lines a reader does not see, or not as text."""
_OPTION: Final = re.compile(r"[ \t]*:[\w -]+:(?:[ \t]|$)")
_HIDDEN_OPTION: Final = re.compile(r"[ \t]*:(?!(?:caption|header|subtitle):)[a-z-]+:(?:[ \t]|$)")
"""An option of a directive that is known here, unless a reader sees its value."""
_NOTE: Final = re.compile(r"[ \t]*\.\.[ \t]+\[[^\]\s]+\](?:[ \t]+|$)")
"""A footnote, or a citation."""
_END: Final = re.compile(r"""[.!?。！？]["'”’)*`_]*[ \t]*$""")
_ROLE: Final = re.compile(r"(?::[\w:.+-]+:)?`+([^`<]+?)(?:\s*<[^`>]*>)?`+_{0,2}")


def rest_parts(text: str) -> list[Part]:
    """Return the parts of a text in reST; comments, targets and images are none."""
    parts, lines = Parts(), lines_of(text)
    levels: list[str] = []
    at = 0
    while at < len(lines):
        at = _block(lines, at, parts, levels)
    parts.end()
    return parts.found


def _block(lines: Sequence[Line], at: int, parts: Parts, levels: list[str]) -> int:
    """Add what begins at a line, and return the index of the line after it."""
    line = lines[at]
    if not parts.paragraph and (style := _heading(lines, at)):
        # A style of two signs has a line above the title, too.
        if style not in levels:
            levels.append(style)
        title = lines[at + len(style) - 1]
        end = at + len(style) + 1
        plain = _ROLE.sub(r"\1", title.text).replace("*", "")
        parts.heading(levels.index(style) + 1, plain, line.start, lines[end - 1].end)
        return end
    if _TABLE.fullmatch(line.text):
        end = _table_end(lines, at)
        parts.whole([*lines[at:end]])
        return end
    if _EXPLICIT.match(line.text):
        return _explicit(lines, at, parts)
    parts.add(line)
    if line.text.rstrip().endswith("::"):
        end = _indented_end(lines, at + 1, _indent(line))
        parts.whole([*lines[at + 1 : end]])
        return end
    if _ADORNMENT.fullmatch(line.text) and len(parts.paragraph) == 1:
        parts.paragraph = []  # a transition
    return at + 1


def _heading(lines: Sequence[Line], at: int) -> str:
    """Return the style of the heading that begins at a line, "" for none.

    It is the sign of its line, twice with an overline.
    """
    texts = [line.text.rstrip() for line in lines[at : at + 3]]
    if len(texts) == 3 and texts[0] == texts[2] and texts[1] and _ADORNMENT.fullmatch(texts[0]):
        return texts[0][0] * 2
    if len(texts) < 2 or not texts[0] or texts[0][0] in " \t" or _ADORNMENT.fullmatch(texts[0]):
        return ""
    # A shorter line is a warning to docutils, and a heading all the same from four signs on.
    is_long = len(texts[1]) >= min(4, width(texts[0]))
    return texts[1][0] if is_long and _ADORNMENT.fullmatch(texts[1]) else ""


def _table_end(lines: Sequence[Line], at: int) -> int:
    """Return the index after a table: a grid ends at a blank line, a simple one after its rule."""
    end = at + 1
    while end < len(lines):
        is_grid = lines[at].text.lstrip().startswith("+")
        if lines[end].is_blank and (is_grid or _TABLE.fullmatch(lines[end - 1].text)):
            return end
        end += 1
    return end


def _explicit(lines: Sequence[Line], at: int, parts: Parts) -> int:
    """Add what a directive or a footnote holds, if it is text or code; return the index after it.

    A directive that is not known here holds text if one of its lines ends a sentence.
    """
    parts.end()
    end = _indented_end(lines, at + 1, _indent(lines[at]))
    found = _DIRECTIVE.match(lines[at].text)
    name = found[1].rpartition(":")[2].lower() if found else ""
    body: Sequence[Line] = [*dropwhile(_is_hidden, lines[at + 1 : end])]
    if name in _CODE:
        if name in _TITLED:
            _add_text(parts, lines[at], found, ())
        parts.whole([*body])
    elif name in _TEXTS:
        _add_text(parts, lines[at], found, body)
    elif found:
        body = _without_options(lines[at + 1 : end])
        if name not in _NOT_SHOWN and any(_END.search(line.text) for line in body):
            _add_text(parts, lines[at], found, body)
    elif note := _NOTE.match(lines[at].text):
        _add_text(parts, lines[at], note, lines[at + 1 : end])
    return end


def _is_hidden(line: Line) -> bool:
    """Return whether a line right behind that of a directive is an option, and no sentence."""
    return bool(_HIDDEN_OPTION.match(line.text)) and not _END.search(line.text)


def _add_text(parts: Parts, line: Line, found: re.Match[str] | None, body: Sequence[Line]) -> None:
    for one in (*_of_text(line, found), *body):
        parts.add(one)
    parts.end()


def _without_options(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines of a directive without its options, which a blank line ends."""
    if not lines or not _OPTION.match(lines[0].text):
        return lines
    end = next((at for at, line in enumerate(lines) if line.is_blank), len(lines))
    return lines[end:]


def _of_text(line: Line, found: re.Match[str] | None) -> list[Line]:
    """Return what stands behind the name of a directive as a line, [] if it is blank."""
    start = found.end() if found else 0
    return [Line(line.start + start, line.text[start:])] if line.text[start:].strip() else []


def _indented_end(lines: Sequence[Line], at: int, indent: int) -> int:
    """Return the index after the lines from ``at`` that are blank or indented more."""
    end = at
    while end < len(lines) and (lines[end].is_blank or _indent(lines[end]) > indent):
        end += 1
    return end


def _indent(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())


FORMATS = (DocumentFormat("reST", ("rst", "rest"), text_reader(rest_parts)),)

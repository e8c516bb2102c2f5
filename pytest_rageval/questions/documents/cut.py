"""Cuts the parts of a text into passages: long enough to ask about, short enough to be a context.

A passage is a stretch of the text, so that what it says stands there verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from pytest_rageval.questions.documents.base import Part, Piece, ReadFile
from pytest_rageval.questions.documents.encoding import read_text
from pytest_rageval.text.sentences import sentence_spans
from pytest_rageval.text.tokenize import count_cjk

LONGEST: Final = 1200
"""Prose is cut at this width; code, tables and what takes in a short stretch may be wider."""
SHORTEST: Final = 60
"""No passage is narrower. A character of Chinese, Japanese or Korean script is two wide."""

_HUGE: Final = 3 * LONGEST
"""Code or a table that is wider is cut, too."""
_LONGEST_JOINED: Final = LONGEST + LONGEST // 4
"""How wide a passage may become when it takes in a section too short to be a passage."""


def width(text: str) -> int:
    """Return how much a reader takes in: characters, Chinese, Japanese and Korean ones twice."""
    return len(text) + count_cjk(text)


def text_reader(parts_of: Callable[[str], Iterable[Part]]) -> Callable[[Path], ReadFile]:
    """Return how a format of texts reads a file: ``parts_of`` finds the parts of its text."""

    def read(path: Path) -> ReadFile:
        text = read_text(path)
        return cut(text, parts_of(text))

    return read


def cut(text: str, parts: Iterable[Part]) -> ReadFile:
    """Return the passages of a text whose parts follow each other.

    Parts of a section are joined up to LONGEST, and longer ones are cut: at the ends of sentences,
    then of lines, then at blanks. Code and tables that are huge are cut at lines, then at blanks.
    What is shorter than SHORTEST joins the stretch before or after it, if that is anywhere under
    its own heading or the one above (the document, for a top heading); else it is no passage, and
    in ``too_short``.
    A heading with nothing below it is a text if it is a long sentence; else it is dropped.
    """
    stretches = [
        found for section in _sections(text, parts) for found in _in_section(text, section)
    ]
    joined = _with_neighbours(text, stretches)
    pieces, too_short = (
        [
            Piece(text[found.start : found.end], found.headings)
            for found in joined
            if found.is_short is are_short
        ]
        for are_short in (False, True)
    )
    return ReadFile(pieces, too_short)


@dataclass
class _Section:
    """The parts under a heading, up to the next one; ``head`` is where the heading begins.

    ``headings`` are the titles of this one and of those above it, the highest first.
    """

    headings: tuple[str, ...]
    head: int
    parts: list[Part] = field(default_factory=list)


class _Stretch(NamedTuple):
    """A passage in the making; it begins at ``head`` if its heading is to be in it."""

    start: int
    end: int
    width: int
    headings: tuple[str, ...]
    head: int

    @property
    def is_short(self) -> bool:
        return self.width < SHORTEST


def _sections(text: str, parts: Iterable[Part]) -> Iterator[_Section]:
    above: list[Part] = []
    section = _Section((), 0)
    # The heading behind all parts ends the last section.
    for part in (*parts, Part(len(text), len(text), level=1)):
        if not part.level:
            section.parts.append(part)
            continue
        if section.parts:
            yield section
        elif above and part.level <= above[-1].level and _is_text(above[-1]):
            start, end = above[-1][:2]
            yield _Section(section.headings[:-1], start, [Part(start, end)])
        above = [heading for heading in above if heading.level < part.level] + [part]
        section = _Section(tuple(heading.title for heading in above), part.start)


def _is_text(heading: Part) -> bool:
    """Return whether a heading stands in the text and is a sentence wide enough for a passage."""
    is_long = heading.end > heading.start and width(heading.title) >= SHORTEST
    return is_long and heading.title.endswith((".", "。", "!", "！", "…"))


def _in_section(text: str, section: _Section) -> list[_Stretch]:
    """Return the stretches of a section, each as long as it may be."""
    spans = (span for part in section.parts for span in _spans(text, part))
    found: list[_Stretch] = []
    for start, end in spans:
        wide = width(text[start:end])
        joined = found[-1].width + (start - found[-1].end) + wide if found else 0
        if found and joined <= LONGEST:
            found[-1] = found[-1]._replace(end=end, width=joined)
        else:
            head = start if found else section.head
            found.append(_Stretch(start, end, wide, section.headings, head))
    return found


Span = tuple[int, int]


def _spans(text: str, part: Part) -> Iterator[Span]:
    """Yield a part, or what it is cut into."""
    most, ways = (_HUGE, _WAYS[1:]) if part.is_whole else (LONGEST, _WAYS)
    if width(text[part.start : part.end]) <= most:
        yield part.start, part.end
    else:
        yield from _cut_up(text, part.start, part.end, ways)


Way = Callable[[str], Iterator[int]]


def _cut_up(text: str, start: int, end: int, ways: Sequence[Way]) -> Iterator[Span]:
    """Yield spans up to LONGEST.

    Cut in the first way; what is still wider than LONGEST, in the next.
    """
    body = text[start:end]
    if width(body) <= LONGEST:
        yield start, end
        return
    begin = 0
    for point in (*ways[0](body), len(body)):
        piece = body[begin:point].rstrip()
        if piece:
            yield from _cut_up(text, start + begin, start + begin + len(piece), ways[1:])
        begin = point


def _sentences(body: str) -> Iterator[int]:
    # The end of a line is the end of a sentence to sentence_spans, and not in wrapped texts.
    spans = sentence_spans(body.replace("\n", " "))
    return (start for start, _ in spans[1:])


def _lines(body: str) -> Iterator[int]:
    return (line.end() for line in re.finditer(r"\n", body))


def _words(body: str) -> Iterator[int]:
    """Yield where a text is cut that has neither sentences nor lines: at blanks, or anywhere."""
    most = LONGEST if body.isascii() else LONGEST // 2
    begin = 0
    while begin + most < len(body):
        blank = body.rfind(" ", begin + 1, begin + most)
        begin = blank + 1 if blank > 0 else begin + most
        yield begin


_WAYS: Final[Sequence[Way]] = (_sentences, _lines, _words)


def _with_neighbours(text: str, stretches: Sequence[_Stretch]) -> list[_Stretch]:
    """Return the stretches, with each that is too short joined to one beside it, if it can be."""
    found: list[_Stretch] = []
    for at, stretch in enumerate(stretches):
        # A stretch with sections under its own heading joins these, not the stretch before it,
        # unless it is itself under that one's heading.
        has_within = at + 1 < len(stretches) and _is_within(stretches[at + 1], stretch)
        joined = _joined(text, found[-1], stretch) if found else None
        if joined is None or (has_within and not _is_within(stretch, found[-1])):
            found.append(stretch)
        else:
            found[-1] = joined
    return found


def _is_within(stretch: _Stretch, upper: _Stretch) -> bool:
    """Return whether a stretch is under the heading of another, or under one within it."""
    return stretch.headings[: len(upper.headings)] == upper.headings


def _joined(text: str, first: _Stretch, second: _Stretch) -> _Stretch | None:
    """Return both as one; None if neither is too short, or two sections are apart or too wide."""
    shared = _shared(first.headings, second.headings)
    short = [found for found in (first, second) if found.is_short]
    if not any(len(shared) >= len(found.headings) - 1 for found in short):
        return None
    start = first.start if first.headings == shared else first.head
    wide = width(text[start : second.end])
    if wide > _LONGEST_JOINED and first.headings != second.headings:
        return None
    return _Stretch(start, second.end, wide, shared, first.head)


def _shared(headings: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    count = 0
    for heading, other in zip(headings, others, strict=False):
        if heading != other:
            break
        count += 1
    return headings[:count]

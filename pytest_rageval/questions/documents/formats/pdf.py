"""PDF: the text of its pages, under bookmarks or page numbers. Needs the extra ``pdf``."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pytest_rageval import extras
from pytest_rageval.errors import describe_error
from pytest_rageval.questions.documents.base import (
    DocumentFormat,
    Part,
    ReadFile,
    UnreadableError,
)
from pytest_rageval.questions.documents.cut import cut
from pytest_rageval.questions.documents.encoding import with_line_feeds
from pytest_rageval.questions.documents.lines import Line, Parts, lines_of
from pytest_rageval.stats.wording import counted

Bookmark = tuple[int, str]
"""The level of a bookmark, 1 the highest, and its title; those below _DEEPEST are left out."""
_DEEPEST: Final = 32


def _read(path: Path) -> ReadFile:
    """Return what is in a PDF; raises MissingExtraError, OSError, or UnreadableError."""
    pypdf = extras.require("pypdf", extra="pdf", purpose="reading PDF")
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it says is said by the reasons
    try:
        with path.open("rb") as stream:
            reader = pypdf.PdfReader(stream)
            if reader.is_encrypted and not reader.decrypt(""):
                raise UnreadableError("encrypted: it opens with a password only")
            pages = [with_line_feeds(page.extract_text()) for page in reader.pages]
            bookmarks = _bookmarks(reader)
    except (UnreadableError, OSError):
        raise
    except Exception as error:  # anyone's file: pypdf raises what its broken parts lead to
        raise UnreadableError(f"a broken PDF: {describe_error(error)}") from error
    return _of_pages(pages, bookmarks)


def _of_pages(pages: Sequence[str], bookmarks: Mapping[int, Sequence[Bookmark]]) -> ReadFile:
    blank = sum(not page.strip() for page in pages)
    if blank == len(pages):
        raise UnreadableError(f"no text in {counted(len(pages), 'page')}: images need OCR first")
    result = cut(*page_parts(pages, bookmarks))
    unread = f"{blank} of {counted(len(pages), 'page')} without text" if blank else ""
    return ReadFile(result.pieces, result.too_short, unread)


def page_parts(
    pages: Sequence[str], bookmarks: Mapping[int, Sequence[Bookmark]]
) -> tuple[str, list[Part]]:
    """Return the text of all pages, and its parts.

    ``bookmarks`` are those of each page, by its index. The line with the words of a bookmark is
    its heading; a bookmark without such a line follows the one before it, or is above the page.
    In a file without bookmarks each page has its number as heading.
    """
    text = "\n\n".join(pages)
    lines = lines_of(text)
    parts = Parts()
    at = 0
    for index, page in enumerate(pages):
        count = page.count("\n") + 1
        named = bookmarks.get(index, ()) if bookmarks else [(1, f"page {index + 1}")]
        _add_page(parts, lines[at : at + count], named)
        at += count + 1
    return text, parts.found


def _add_page(parts: Parts, lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> None:
    at = _of_titles(lines, bookmarks)
    for level, title in at.get(-1, ()):
        parts.heading(level, title, lines[0].start, lines[0].start)
    for index, line in enumerate(lines):
        if index not in at:
            parts.add(line)
        for level, title in at.get(index, ()):
            parts.heading(level, title, line.start, line.end)
    parts.end()


def _of_titles(lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> dict[int, list[Bookmark]]:
    """Return the bookmarks by the index of the line that they are put at, -1 for the page."""
    found: dict[int, list[Bookmark]] = defaultdict(list)
    words = ["".join(line.text.split()) for line in lines]
    last = -1
    for level, title in bookmarks:
        wanted = "".join(title.split())
        last = next((at for at in range(last + 1, len(lines)) if words[at] == wanted), last)
        found[last].append((level, title))
    return found


def _bookmarks(reader: Any) -> dict[int, list[Bookmark]]:
    """Return the bookmarks by the index of their page; those that lead nowhere are left out."""
    found: dict[int, list[Bookmark]] = defaultdict(list)
    for level, entry in _flat(reader.outline, 1):
        page = reader.get_destination_page_number(entry)
        title = " ".join(str(entry.title or "").split())
        if page is not None and page >= 0 and title:
            found[page].append((level, title))
    return found


def _flat(outline: Sequence[Any], level: int) -> Iterator[tuple[int, Any]]:
    for entry in outline:
        if not isinstance(entry, list):
            yield level, entry
        elif level < _DEEPEST:
            yield from _flat(entry, level + 1)


FORMATS = (DocumentFormat("PDF", ("pdf",), _read, max_mb=256),)

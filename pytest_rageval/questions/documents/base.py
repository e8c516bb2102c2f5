"""What a format of documents is: it finds the parts of a file, which become passages.

The formats are the modules of ``formats/``. A format of texts gives the text and where its parts
are; one of data gives passages as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pytest_rageval.registry import Registry


class UnreadableError(Exception):
    """A file that cannot be read as a document; the text is the reason."""


class Part(NamedTuple):
    """A part of a text, from ``start`` to ``end``: a heading if it has a ``level``, 1 the highest.

    ``is_whole``: code or a table, which is not cut unless it is huge.
    """

    start: int
    end: int
    level: int = 0
    title: str = ""
    is_whole: bool = False


class Piece(NamedTuple):
    """A text that becomes a passage: the headings above it, and its document, "" for the file."""

    text: str
    headings: tuple[str, ...] = ()
    document: str = ""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """What was found in a file, in its order.

    ``too_short`` are the parts that nothing can be asked about; ``unread`` says which others
    could not be read, "" for none.
    """

    pieces: Sequence[Piece]
    too_short: Sequence[Piece] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A format of documents as the registry holds it; ``aliases`` are file suffixes without dot.

    ``read(path)`` raises UnreadableError, UserError, MissingExtraError or OSError for a file that
    cannot be read as a whole; one larger than ``max_mb`` is not tried.
    """

    name: str
    aliases: tuple[str, ...]
    read: Callable[[Path], ReadFile]
    max_mb: int = 16


FORMAT_REGISTRY: Registry[DocumentFormat] = Registry(
    "format of documents", "pytest_rageval.questions.documents.formats", "FORMATS"
)

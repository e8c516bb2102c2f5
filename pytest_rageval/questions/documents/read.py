"""Reads the documents of a folder into passages, and says what could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from pytest_rageval.errors import MissingExtraError, UserError, shorten
from pytest_rageval.questions.base import Documents, LeftOut, Passage
from pytest_rageval.questions.documents.base import (
    FORMAT_REGISTRY,
    DocumentFormat,
    Piece,
    ReadFile,
    UnreadableError,
)
from pytest_rageval.questions.documents.files import FoundFiles, find_files, plain_name

NO_FORMAT = "no format of documents"
"""The reason for a file whose suffix says that it is no document."""


def read_documents(folder: Path, skip: Collection[Path] = ()) -> Documents:
    """Return the passages of all documents below ``folder``, or of the one file that it is.

    Files in ``skip`` are neither read nor named. All others are read or left out with a reason;
    nothing is raised for what they hold.
    """
    skipped = {path.resolve() for path in skip}
    found = _files(folder)
    left_out = found.left_out
    pieces: dict[str, dict[str, str]] = {}
    read: Counter[str] = Counter()
    too_short = 0
    for name, path in found.files.items():
        if path.resolve() in skipped:
            continue
        kind, result = _read(path)
        if result.unread:
            left_out.append(LeftOut(name, result.unread))
        too_short += result.too_short
        read[kind] += _collect(pieces, name, result.pieces)
    return Documents([*_passages(pieces)], _by_name(left_out), dict(+read), too_short)


def _by_name(left_out: Iterable[LeftOut]) -> list[LeftOut]:
    return sorted(left_out, key=lambda file: file.name)


def _files(folder: Path) -> FoundFiles:
    name = plain_name(folder.name)
    if folder.is_dir():
        return find_files(folder)
    if folder.is_file():
        return FoundFiles({name: folder})
    return FoundFiles(left_out=[LeftOut(name, "no such file or folder")])


def _read(path: Path) -> tuple[str, ReadFile]:
    """Return the name of a file's format, and what was found in it or why nothing was."""
    suffix = path.suffix.removeprefix(".")
    kind = FORMAT_REGISTRY.canonical(suffix) if suffix else None
    if kind is None:
        return "", ReadFile((), unread=NO_FORMAT)
    try:
        result = _read_as(FORMAT_REGISTRY.get(kind), path)
    except (UnreadableError, MissingExtraError) as error:
        return kind, ReadFile((), unread=shorten(str(error), 300))
    except UserError as error:
        return kind, ReadFile((), unread=shorten(error.problems[0].message, 300))
    except OSError as error:
        return kind, ReadFile((), unread=f"cannot be read: {error.strerror or error}")
    return kind, result


def _read_as(kind: DocumentFormat, path: Path) -> ReadFile:
    if path.stat().st_size > kind.max_mb * 2**20:
        raise UnreadableError(f"larger than {kind.max_mb} MB; split it")
    result = kind.read(path)
    if not result.pieces and not result.unread:
        raise UnreadableError("too short to ask about" if result.too_short else "no text")
    return result


def _collect(pieces: dict[str, dict[str, str]], name: str, found: Iterable[Piece]) -> int:
    """Add the pieces to those of their documents, equal ones once; return how many documents."""
    documents = set()
    for piece in found:
        document = piece.document or name
        documents.add(document)
        path = " > ".join(filter(None, piece.headings))
        pieces.setdefault(document, {}).setdefault(piece.text, path)
    return len(documents)


def _passages(pieces: dict[str, dict[str, str]]) -> Iterator[Passage]:
    for document in sorted(pieces):
        for number, (text, path) in enumerate(pieces[document].items(), start=1):
            yield Passage(document, path, text, number)

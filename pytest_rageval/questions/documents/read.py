"""Reads the documents of a folder into passages, and says what could not be read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from pathlib import Path
from typing import Final

from pytest_rageval.errors import MissingExtraError, UserError, shorten
from pytest_rageval.questions.base import Documents, LeftOut, Passage
from pytest_rageval.questions.documents.base import (
    FORMAT_REGISTRY,
    DocumentFormat,
    Piece,
    ReadFile,
    UnreadableError,
)

NO_FORMAT: Final = "no format of documents"
"""The reason for a file whose suffix is that of no format."""
_LEFT_ALONE: Final = frozenset({"node_modules", "site-packages", "__pycache__", "venv"})


def read_documents(folder: Path, skip: Collection[Path] = ()) -> Documents:
    """Return the passages of all documents below ``folder``, or of the one file that it is.

    Files in ``skip`` are neither read nor named, nor is what ``find_files`` leaves alone. All
    others are read or left out with a reason; nothing is raised for what they hold.
    """
    skipped = {path.resolve() for path in skip}
    found = _files(folder)
    left_out = found.left_out
    pieces: dict[str, dict[str, str]] = {}
    short: dict[str, dict[str, str]] = {}
    read: Counter[str] = Counter()
    too_short = 0
    for name, path in found.files.items():
        if path.resolve() in skipped:
            continue
        kind, result = _read(path)
        if result.unread:
            left_out.append(LeftOut(name, result.unread))
        too_short += len(result.too_short) if result.pieces else 0  # else the file is left out
        _collect(short, name, result.too_short)
        read[kind] += _collect(pieces, name, result.pieces)
    left_out.sort(key=lambda file: file.name)
    return Documents([*_passages(pieces)], left_out, dict(+read), too_short, [*_passages(short)])


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
    if result.pieces or result.unread:
        return result
    if not result.too_short:
        raise UnreadableError("no text")
    return replace(result, unread="too short to ask about")


def _collect(pieces: dict[str, dict[str, str]], name: str, found: Iterable[Piece]) -> int:
    """Add pieces to those of their documents, equal texts once; return of how many documents."""
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


@dataclass
class FoundFiles:
    """The files below a folder by their names from there, and what was left out and why."""

    files: dict[str, Path] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


def find_files(folder: Path) -> FoundFiles:
    """Return the files below ``folder``, sorted by name.

    Hidden files and folders, virtual environments and installed packages are left alone, unless a
    link leads there. A symbolic link is followed to what is in the folder and was not found before.
    """
    root = folder.resolve()
    found = FoundFiles()
    walk = _Walk(root, found)
    walk.folder(root, "")
    while walk.links:
        walk.link(*heappop(walk.links))
    found.files = dict(sorted(found.files.items()))
    return found


def plain_name(name: str) -> str:
    r"""Return the name of a file as text that can be written: what is not UTF-8 as ``\xNN``."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


class _Walk:
    """A walk through a folder; links wait until all else is found."""

    def __init__(self, root: Path, found: FoundFiles) -> None:
        self._root = root
        self._found = found
        self._seen: set[Path] = set()
        self.links: list[tuple[str, Path]] = []
        """A heap, the first by name on top."""

    def folder(self, folder: Path, prefix: str) -> None:
        """Find what is in a folder and below it, links apart."""
        rest = [(folder, prefix)]
        while rest:
            at, prefix = rest.pop()
            self._seen.add(at)
            rest += self._folders_in(at, prefix)

    def _folders_in(self, folder: Path, prefix: str) -> Iterator[tuple[Path, str]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            reason = f"a folder that cannot be read: {error.strerror or error}"
            self._found.left_out.append(LeftOut(prefix or ".", reason))
            return
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            return
        for entry in entries:
            name = prefix + plain_name(entry.name)
            if entry.name.startswith(".") or entry.name in _LEFT_ALONE:
                continue
            if entry.is_symlink():
                heappush(self.links, (name, Path(entry.path)))
            elif entry.is_dir():
                yield Path(entry.path), f"{name}/"
            elif entry.is_file():
                self._file(name, Path(entry.path))
            else:
                self._leave_out(name, "no regular file")

    def link(self, name: str, link: Path) -> None:
        """Follow a link to what is in the folder and was not found before; leave out others."""
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError):
            self._leave_out(name, "a symbolic link that leads nowhere")
            return
        if not target.is_relative_to(self._root):
            self._leave_out(name, "a symbolic link that leaves the folder")
        elif target not in self._seen and not self._root.is_relative_to(target):
            if target.is_dir():
                self.folder(target, f"{name}/")
            else:
                self._file(name, target)

    def _file(self, name: str, path: Path) -> None:
        self._seen.add(path)
        self._found.files[name] = path

    def _leave_out(self, name: str, reason: str) -> None:
        self._found.left_out.append(LeftOut(name, reason))

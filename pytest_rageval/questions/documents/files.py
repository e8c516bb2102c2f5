"""Finds the files of a folder that may be documents, each once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Final

from pytest_rageval.questions.base import LeftOut

_LEFT_ALONE: Final = frozenset({"node_modules", "site-packages", "__pycache__", "venv"})


@dataclass
class FoundFiles:
    """The files below a folder by their names from there, and what could not be followed."""

    files: dict[str, Path] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


def find_files(folder: Path) -> FoundFiles:
    """Return the files below ``folder``, sorted by name; a file is found only once.

    Hidden files and folders and installed packages are left alone. A symbolic link is followed
    where it leads to what is in the folder, and has not been found without it.
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
    """Return the name of a file as text that can be written; the bytes of other encodings spelt."""
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
        """Follow a link into the folder, if it leads to what was not found before."""
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

"""Data files that the page may choose: those of the project, and those that it uploads."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import unicodedata
from collections.abc import AsyncIterator, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

from pytest_rageval.datasets.base import READER_REGISTRY
from pytest_rageval.errors import shorten
from pytest_rageval.run_paths import NO_GLOB, folder_name
from pytest_rageval.scenario.recognise import SUFFIXES, is_scenario, names_promptfoo
from pytest_rageval.serving.web.refusals import Refused
from pytest_rageval.serving.web.run_store import file_inside

FOLDER: Final = "rageval_data"
"""Where uploaded files go, and the scenarios that are made of them."""

MOST_MB: Final = 50
"""The largest upload, in millions of bytes."""

_MOST_LISTED = 300
_MOST_SEEN = 20_000
_DEEPEST = 8
_MOST_BYTES: Final = 60  # of a name without its suffix
_LEFT_OUT: Final = frozenset({"node_modules", "__pycache__", "site-packages"})


@cache
def suffixes() -> tuple[str, ...]:
    """Return the suffixes of data, tables before formats with keys; ``.gz`` may follow any."""
    readers = [reader for reader in READER_REGISTRY if reader.name != "traces"]  # known by content
    readers.sort(key=lambda reader: reader.places is not None)
    return tuple(suffix for reader in readers for suffix in (reader.name, *reader.aliases))


class DataFiles:
    """The data files below ``root``, by the names that the page has for them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, Path] = {}

    def listed(self) -> tuple[list[str], bool]:
        """Return the names of the first 300 files, tables first, and whether these are all.

        They are paths below the root, with /.
        """
        files = list(_walk(self._root))
        found = [path for path in files if path and _format_of(path.name) is not None]
        found.sort(key=lambda path: (suffixes().index(_format_of(path.name) or ""), path))
        for path in found[:_MOST_LISTED]:
            self._add(path)
        is_whole = None not in files and len(found) <= _MOST_LISTED
        return [self._name(path) for path in found[:_MOST_LISTED]], is_whole

    def find(self, name: object) -> Path:
        """Return a file that was listed or uploaded; refuses any other name, and what is gone."""
        path = self._known.get(name) if isinstance(name, str) else None
        if path is None or file_inside(path, self._root) is None:
            raise Refused(404, "no such data file: choose one of the list, or upload it")
        return path

    async def save(self, name: str, parts: AsyncIterator[bytes], home: Path) -> str:
        """Write an upload into our folder below ``home``, and return its name.

        Refuses what is empty, of no known format, or a scenario in place of data; ``parts`` refuse
        what is too large. What is there already is never replaced: where it is the same file, that
        is taken, else the upload gets a number.
        """
        folder = self._folder(home)
        stem, suffix = _safe(name)
        temporary = folder / f".upload-{secrets.token_hex(8)}{suffix}"
        try:
            with temporary.open("xb") as stream:
                digest = await _copy(parts, stream)
            await asyncio.to_thread(_refuse_scenario, temporary)
            path = await asyncio.to_thread(_placed, temporary, folder, (stem, suffix), digest)
        except OSError as error:
            raise Refused(400, f"the file cannot be written: {error.strerror}") from error
        finally:
            temporary.unlink(missing_ok=True)
        self._add(path)
        return self._name(path)

    def shown_folder(self, home: Path) -> str:
        """Return our folder below ``home`` as the page names it."""
        return self._name(home / FOLDER)

    def _folder(self, home: Path) -> Path:
        """Return our folder, made if need be; refuses one that is a link to elsewhere."""
        folder = home / FOLDER
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise Refused(400, f"{FOLDER} cannot be made: {error.strerror}") from error
        if folder.is_symlink() or not folder.resolve().is_relative_to(self._root.resolve()):
            raise Refused(409, f"{FOLDER} is a link to elsewhere: move it away")
        return folder

    def _add(self, path: Path) -> None:
        self._known[self._name(path)] = path

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()


def _walk(root: Path) -> Iterator[Path | None]:
    """Yield files below the root: none that is hidden, installed, or reached by a link.

    None of them is deeper than 8 folders, and the folder in which 20,000 files have been seen is
    the last; a None stands for what is left out so. Deeper ones that are no data lack nowhere.
    """
    seen, looked = 0, count()
    for folder, names, files in os.walk(root):
        here = Path(folder)
        deep = len(here.relative_to(root).parts) >= _DEEPEST
        names[:] = sorted(name for name in names if _is_own(here / name))
        if deep:
            below = (path for name in names for path in _walk(here / name))
            lacking = (
                not path or _format_of(path.name) or next(looked) > _MOST_SEEN for path in below
            )
            if any(lacking):
                yield None
            names.clear()
        for name in sorted(files):
            seen += 1
            path = here / name
            if _is_plain(name) and not path.is_symlink() and path.is_file():
                yield path
        if seen > _MOST_SEEN:
            yield None
            return


def _is_own(folder: Path) -> bool:
    is_ours = _is_plain(folder.name) and folder.name not in _LEFT_OUT
    return is_ours and not folder.is_symlink() and not (folder / "pyvenv.cfg").exists()


def _is_plain(name: str) -> bool:
    return not name.startswith(".") and name.isprintable()


def _format_of(name: str) -> str | None:
    """Return the format that a file's name says, None for one that is no data."""
    suffix = name.lower().removesuffix(".gz").rpartition(".")[2]
    is_ours = name.lower().endswith((".rageval.yaml", ".rageval.yml"))
    return suffix if suffix in suffixes() and not is_ours and "." in name.lower() else None


def _safe(name: str) -> tuple[str, str]:
    """Return a stem and a suffix that are valid on any system, and the name of no scenario.

    >>> _safe("../../Golden Set.v2.CSV"), _safe("evil.rageval.yaml"), _safe("con.jsonl.gz")
    (('Golden Set-v2', '.csv'), ('evil-rageval', '.yaml'), ('con-1143da', '.jsonl.gz'))
    """
    plain = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    plain = "".join(character for character in plain if character.isprintable())
    plain = plain.translate(NO_GLOB)
    form = _format_of(plain.replace(".rageval.", "-rageval."))
    if form is None:
        known = ", ".join(suffixes())
        raise Refused(400, f"{shorten(plain)}: expected a file of a known format: {known}")
    packed = ".gz" if plain.lower().endswith(".gz") else ""
    stem = plain[: len(plain) - len(form) - 1 - len(packed)].replace(".", "-").strip(" -")
    short = stem.encode("utf-8", "ignore")[:_MOST_BYTES].decode("utf-8", "ignore").strip(" -")
    return folder_name(short or "data"), f".{form}{packed}"


async def _copy(parts: AsyncIterator[bytes], stream: BinaryIO) -> str:
    """Write the parts of a body; return the digest of all. Refuses an empty one."""
    digest = hashlib.sha256()
    async for part in parts:
        digest.update(part)
        stream.write(part)
    if not stream.tell():
        raise Refused(400, "the file is empty")
    return digest.hexdigest()


def _refuse_scenario(path: Path) -> None:
    """Refuse what pytest would run rather than read, where a project collects all YAML or JSON."""
    if path.suffix in SUFFIXES and (is_scenario(path) or names_promptfoo(path)):
        raise Refused(400, "this is no data, but a scenario: put it into the project yourself")


def _placed(temporary: Path, folder: Path, name: tuple[str, str], digest: str) -> Path:
    """Move a file to the first name that is free; return an equal file under an earlier name."""
    stem, suffix = name
    for number in range(1, 1000):
        path = folder / f"{stem}{'' if number == 1 else f'-{number}'}{suffix}"
        try:
            reserve(path)
        except FileExistsError:
            if not path.is_symlink() and path.is_file() and _digest(path) == digest:
                return path
            continue
        temporary.replace(path)
        return path
    raise Refused(409, f"there are too many files of the name {stem}{suffix}")


def reserve(path: Path) -> None:
    """Make an empty file; raises FileExistsError if anything has its name, also a broken link."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

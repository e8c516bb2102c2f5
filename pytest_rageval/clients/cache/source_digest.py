"""A digest of a function's code: cached vectors of older code are out of date."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rageval.import_path import find_file

if TYPE_CHECKING:
    from pytest_rageval.run_paths import ImportMode

_SEEN: dict[Path, str] = {}


def source_digest(path: str, folders: Sequence[Path], mode: ImportMode) -> str:
    """Return the SHA-256 of the file that ``pkg.mod:attr`` names, "" where there is none.

    Nothing is imported, and what that file imports is not part of the digest. For a loaded module
    it is that of the file as first seen: a notebook goes on with that code when the file changes.
    """
    name = path.partition(":")[0]
    file = find_file(name, folders, mode)
    if file is None:
        return ""
    if name not in sys.modules or file not in _SEEN:
        _SEEN[file] = _digest(file)
    return _SEEN[file]


def _digest(file: Path) -> str:
    try:
        raw = file.read_bytes()
    except OSError:  # of a module in an archive
        return ""
    return sha256(raw.replace(b"\r\n", b"\n")).hexdigest()

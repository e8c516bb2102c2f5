"""What a data file is by its first bytes, where its name says something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from pytest_rageval.datasets.base import DataFile

_START: Final = 1024
_POINTER: Final = re.compile(rb"version https://git-lfs\.github\.com/spec/")
_SIZE: Final = re.compile(rb"^size (\d+)", re.MULTILINE)
_TEXTS: Final = frozenset({"csv", "tsv", "json", "jsonl", "yaml"})
_KINDS: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"PAR1", "parquet", "a Parquet file"),
    (b"PK\x03\x04", "xlsx", "a workbook, or another zip archive"),
    (b"\x1f\x8b", "", "packed with gzip: its name must end in .gz"),
    (b"SQLite format 3\x00", "", "an SQLite database: export the table as CSV"),
    (b"\x89HDF", "", "an HDF5 file: export it as JSON Lines"),
    (b"\xd0\xcf\x11\xe0", "", "an old Excel workbook (.xls): save it as .xlsx"),
    (b"ARROW1", "", "an Arrow file: save it as Parquet"),
)


def format_of(file: DataFile, known: Callable[[str], str | None]) -> str:
    """Return the name of the file's format, by its suffix or ``format``, else by its content.

    ``known`` returns the name of a known format, None for another one.
    """
    suffixes = [suffix for suffix in file.path.suffixes if suffix != ".gz"]
    wanted = file.spec.format or (suffixes[-1].lstrip(".") if suffixes else "")
    name = known(wanted)
    if name is None and file.spec.format is None and _first_bytes(file).startswith((b"[", b"{")):
        return "jsonl"  # or one document: the reader looks
    return wanted


def check_content(file: DataFile, name: str) -> None:
    """Raise ScenarioError if the file cannot have the format ``name``: it says which it has."""
    start = _first_bytes(file)
    if _POINTER.match(start):
        size = _SIZE.search(start)
        large = f" of {int(size[1]):,} bytes" if size else ""
        raise file.refuse(f"a pointer of Git LFS, not the data{large}; get them with: git lfs pull")
    if name not in _TEXTS:
        return
    for mark, other, kind in _KINDS:
        if start.startswith(mark):
            hint = f"; write {file.section}.format: {other}" if other else ""
            raise file.refuse(f"{kind}{hint}")
    if name in ("csv", "tsv") and re.match(rb'\{\s*"|\[\s*[{\[]', start):
        raise file.refuse(f"JSON, not a table; write {file.section}.format: json")
    if name != "yaml" and re.match(rb"<(!doctype|html)", start, re.IGNORECASE):
        raise file.refuse("a web page, not the data; download the file itself (its raw version)")


def _first_bytes(file: DataFile) -> bytes:
    with file.open() as stream:
        return stream.read(_START).removeprefix(b"\xef\xbb\xbf").lstrip()

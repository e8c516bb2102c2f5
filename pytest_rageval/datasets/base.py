"""What a data format must provide: a reader that turns a file into rows, one mapping each.

To add a format, write a module here with ``READERS = (YourReader(),)``.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.registry import Registry
from pytest_rageval.scenario.data_specs import DatasetSpec


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it stands in the file: ``number`` from 1, the first ``line`` where it has one.

    ``tabular`` says that the format has no lists, so that a cell may spell one in its text.
    """

    number: int
    line: int | None
    fields: Mapping[str, Any]
    tabular: bool = False


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """A row that could not be read, and why; the file goes on after it."""

    number: int
    line: int | None
    reason: str
    raw: str = ""


@dataclass(frozen=True)
class DataFile:
    """A data file to read: where it is, how messages call it, and what its scenario says of it."""

    path: Path
    shown: str
    spec: DatasetSpec
    section: str = "dataset"
    """The key of the scenario that names the file."""

    @property
    def max_row_bytes(self) -> int:
        """How many bytes one row may have."""
        return int(self.spec.max_row_mb * 2**20)

    @property
    def too_long(self) -> str:
        """What is wrong with a row that has more bytes."""
        return too_long(self.spec.max_row_mb, self.section)

    def refuse(self, message: str, line: int | None = None) -> ScenarioError:
        """Return the error that this file as a whole cannot be used."""
        return ScenarioError([Problem(f"{self.shown}:{line}" if line else self.shown, message)])

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the file as bytes, unpacked where its name ends in ``.gz``."""
        try:
            if self.path.suffix == ".gz":
                with gzip.open(self.path, "rb") as packed:
                    yield io.BufferedReader(packed)
            else:
                with self.path.open("rb") as plain:
                    yield plain
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.refuse(f"a damaged or cut off gzip file: {error}") from error
        except OSError as error:
            raise self._unreadable(error) from error

    def sha256(self) -> hashlib._Hash:
        """Return the hash of the file's bytes, packed ones as they are; raises ScenarioError."""
        try:
            with self.path.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256")
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> ScenarioError:
        return self.refuse(f"cannot be read: {error.strerror or error}")

    def decode(self, raw: bytes) -> str:
        """Return ``raw`` as text in the file's encoding, without a byte order mark.

        Raises ScenarioError with the offset of the first byte that cannot be decoded.
        """
        try:
            text = raw.decode(self.spec.encoding)
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise self.refuse(self.undecodable(error, raw), line) from error
        except UnicodeError as error:  # utf-16 without a byte order mark, for instance
            raise self.refuse(f"not {self.spec.encoding}: {error}") from error
        return text.removeprefix("\ufeff")

    def undecodable(self, error: UnicodeDecodeError, raw: bytes, offset: int = 0) -> str:
        """Return the message for bytes that are not text, with the offset in the file."""
        at = offset + error.start
        found = f"byte 0x{raw[error.start]:02x} at offset {at}"
        return f"not {self.spec.encoding}: {found}{_guess(raw, self.spec.encoding, self.section)}"


def too_long(max_row_mb: float, section: str) -> str:
    """Return the message for a longer row, with the option that allows it where there is one."""
    option = "" if section == "corpus" else " (dataset.max_row_mb)"
    return f"longer than {max_row_mb:g} MB{option}"


def row_place(shown: str, line: int | None, number: int) -> str:
    """Return how messages call the place of a row: by its line, by its number where it has none.

    >>> row_place("qa.jsonl", 7, 5), row_place("qa.parquet", None, 5)
    ('qa.jsonl:7', 'qa.parquet: row 5')
    """
    return f"{shown}:{line}" if line else f"{shown}: row {number}"


def _guess(raw: bytes, encoding: str, section: str) -> str:
    candidate = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "gb18030"
    try:
        raw.decode(candidate)
    except UnicodeError:
        candidate = encoding
    if candidate.lower() == encoding.lower():
        return f" (set {section}.encoding, or save the file as UTF-8)"
    return f" (it can be read as {candidate}: set {section}.encoding: {candidate})"


class DatasetReader(Protocol):
    """Reads one data format. ``aliases`` are the file suffixes without their dot."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...

    def read(self, file: DataFile) -> Iterator[Row | BrokenRow]:
        """Yield the rows in file order; raise ScenarioError for a file unusable as a whole."""
        ...


READER_REGISTRY: Registry[DatasetReader] = Registry(
    "data format", "pytest_rageval.datasets", "READERS"
)

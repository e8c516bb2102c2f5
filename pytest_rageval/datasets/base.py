"""The interface of data formats: a reader turns a file into rows, one mapping each."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.registry import Registry
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.text.codec import MAX_DEPTH, MAX_FILE_BYTES, LimitError, excess, excess_in
from pytest_rageval.text.json_value import json_kind, json_text

if TYPE_CHECKING:
    from pytest_rageval.datasets.formats.rows_at import RowsPath

_MAX_MB = 4096
_OWN_LIMITS = ("corpus", "answers")
"""The sections with their own ``max_mb``, and without ``max_row_mb``."""
_MAX_BLANK_LINES = 1_000_000
_BUFFER = 2**17


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the file: ``number`` from 1, its first ``line`` if the format has lines.

    ``tabular``: the format has no lists, so that a cell may spell one as text. ``flaw``: why it
    cannot be a sample, although it could be read.
    """

    number: int
    line: int | None
    fields: Mapping[str, Any]
    tabular: bool = False
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """A row that could not be read, and why; reading continues after it."""

    number: int
    line: int | None
    reason: str
    raw: str = ""


@dataclass(frozen=True, slots=True)
class GivenRows:
    """Rows that Python code hands over; ``shown`` names them in messages: ``<DataFrame>``."""

    rows: Sequence[Any]
    shown: str
    tabular: bool = False
    must_be_used: bool = False
    """Whether a variant that has data of its own is refused; else it keeps its own."""


@dataclass(frozen=True)
class DataFile:
    """A data file to read: its path, its name in messages, and its options in the scenario."""

    path: Path
    shown: str
    spec: DatasetSpec
    section: str = "dataset"
    """The key of the scenario that names the file."""
    notes: list[str] = field(default_factory=list, compare=False)
    """Warnings that its reader gives while it reads."""

    @property
    def max_row_bytes(self) -> int:
        """How many bytes one row may have."""
        return int(self.spec.max_row_mb * 2**20)

    @property
    def is_packed(self) -> bool:
        """Whether the file's name ends in ``.gz``."""
        return self.path.suffix == ".gz"

    def max_bytes(self, *, is_whole: bool = False) -> int:
        """Return how many bytes the file may have, unpacked.

        ``is_whole``: it is packed (as workbooks and Parquet are) and read as a whole. Then fewer
        are allowed by default: a small file may unpack into more than memory holds.
        """
        given = self.spec.max_mb
        if is_whole and not given:
            return MAX_FILE_BYTES
        return int((given or _MAX_MB) * 2**20)

    def too_large(self, limit: int) -> ScenarioError:
        """Return the error for a file with more than ``limit`` bytes."""
        key = self.section if self.section in _OWN_LIMITS else "dataset"
        return self.refuse(f"more than {limit / 2**20:g} MB, unpacked ({key}.max_mb allows more)")

    @property
    def too_long(self) -> str:
        """The message for a row with more than ``max_row_bytes``."""
        return too_long(self.spec.max_row_mb, self.section)

    def refuse(self, message: str, line: int | None = None) -> ScenarioError:
        """Return the error that this file as a whole cannot be used."""
        return ScenarioError([Problem(f"{self.shown}:{line}" if line else self.shown, message)])

    @contextmanager
    def open(self, *, is_whole: bool = False) -> Iterator[IO[bytes]]:
        """Open the file as bytes, unpacked if its name ends in ``.gz``.

        ``is_whole``: the caller reads it as a whole. Raises ScenarioError for a file that cannot be
        read, or is too large: for a packed one as it is read, also where it is damaged.
        """
        limit = self.max_bytes(is_whole=is_whole and self.is_packed)
        try:
            if self.is_packed:
                with gzip.open(self.path, "rb") as packed:
                    yield io.BufferedReader(_Limited(packed, limit, self), _BUFFER)
            elif self.path.stat().st_size > limit:
                raise self.too_large(limit)
            else:
                with self.path.open("rb") as plain:
                    yield plain
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.refuse(f"a damaged or truncated gzip file: {error}") from error
        except OSError as error:
            raise self._unreadable(error) from error

    def sha256(self) -> hashlib._Hash:
        """Return the hash of the file's bytes, not unpacked; raises ScenarioError."""
        try:
            with self.path.open("rb") as stream:
                return hashlib.file_digest(stream, "sha256")
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> ScenarioError:
        return self.refuse(f"cannot be read: {error.strerror or error}")

    def decode(self, raw: bytes) -> str:
        """Return ``raw`` as text in the file's encoding, without a byte order mark.

        Raises ScenarioError, with the offset of the first bad byte where the codec tells it.
        """
        try:
            text = raw.decode(self.spec.encoding)
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise self.refuse(self.undecodable(error, raw), line) from error
        except UnicodeError as error:  # utf-16 without a byte order mark, for instance
            raise self.refuse(f"not {self.spec.encoding}: {error}") from error
        return text.removeprefix("\ufeff")

    @contextmanager
    def text(self) -> Iterator[io.TextIOWrapper]:
        """Open the file as text, line ends unchanged; raises ScenarioError as ``decode`` does."""
        try:
            with self.open() as stream:
                text = io.TextIOWrapper(stream, self.spec.encoding, newline="")
                yield text
                text.detach()  # open() closes the stream
        except UnicodeError as error:
            self._find_undecodable()
            raise self.refuse(f"not {self.spec.encoding}: {error}") from error

    def _find_undecodable(self) -> None:
        """Raise ScenarioError at the first bytes that are not text; reads the file again."""
        decoder = codecs.getincrementaldecoder(self.spec.encoding)()
        offset = lines = 0
        with self.open() as stream:
            raw = b"begin"
            while raw:
                raw = stream.read(_BUFFER) + stream.readline(_BUFFER)
                try:
                    decoder.decode(raw, final=not raw)
                except UnicodeDecodeError as error:
                    # The decoder put bytes left from the previous block in front of these.
                    part = bytes(error.object)
                    line = lines + raw.count(b"\n", 0, error.start) + 1
                    at = offset + len(raw) - len(part)
                    raise self.refuse(self.undecodable(error, part, at), line) from error
                offset += len(raw)
                lines += raw.count(b"\n")

    def undecodable(self, error: UnicodeDecodeError, raw: bytes, offset: int = 0) -> str:
        """Return the message for bytes that are not text, with the offset in the file."""
        at = offset + error.start
        found = f"byte 0x{raw[error.start]:02x} at offset {at}"
        hint = encoding_hint(raw, error.start, self.spec.encoding, self.section)
        return f"not {self.spec.encoding}: {found}{hint}"


class _Limited(io.RawIOBase):
    """Unpacked bytes, up to the largest size that a file may have."""

    def __init__(self, packed: gzip.GzipFile, limit: int, file: DataFile) -> None:
        self._packed = packed
        self._limit = limit
        self._read = 0
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._packed.readinto(buffer)
        self._read += count
        if self._read > self._limit:
            raise self._file.too_large(self._limit)
        return count


_OF_SPANS: Final = (
    *(b"trace_id", b"traceid", b"span_id", b"spanid", b"run_type", b"record_json"),
    *(b"htmlpath", b"html_path", b"bookmarked"),
)
"""Names in the records of traces, in lower case; one pattern for all of them would be slower."""
_SEARCHED: Final = 2**18


def may_be_traces(file: DataFile, name: str) -> bool:
    """Return whether a file of the format ``name`` has a key of spans' records in its beginning.

    In Parquet, keys are at the end. False for formats that hold no traces, and where the scenario
    says how rows are made (``rows_at``, ``merge_rows``).
    """
    spec = file.spec
    if name not in ("csv", "tsv", "json", "jsonl", "parquet") or spec.rows_at or spec.merge_rows:
        return False
    with file.open() as stream:
        if name == "parquet" and not file.is_packed:
            stream.seek(max(0, file.path.stat().st_size - _SEARCHED))
        start = stream.read(_SEARCHED).lower()
    return any(name in start for name in _OF_SPANS)


class BlankLines:
    """Counts consecutive blank lines: a file of nothing else would be read for minutes."""

    def __init__(self, file: DataFile) -> None:
        self._file = file
        self._count = 0

    def note(self, line: int) -> None:
        """Count a blank line; raises ScenarioError if there are too many before the next row."""
        self._count += 1
        if self._count > _MAX_BLANK_LINES:
            message = f"more than {_MAX_BLANK_LINES:,} blank lines before a row; remove them"
            raise self._file.refuse(message, line)

    def end(self) -> None:
        """Start counting again, at a row."""
        self._count = 0


def too_long(max_row_mb: float, section: str) -> str:
    """Return the message for a row that is too long, with the option that allows more, if any."""
    option = "" if section in _OWN_LIMITS else " (dataset.max_row_mb)"
    return f"longer than {max_row_mb:g} MB{option}"


def row_place(shown: str, line: int | None, number: int) -> str:
    """Return the place of a row for messages: its line or, in files without lines, its number.

    >>> row_place("qa.jsonl", 7, 5), row_place("qa.parquet", None, 5)
    ('qa.jsonl:7', 'qa.parquet: row 5')
    """
    return f"{shown}:{line}" if line else f"{shown}: row {number}"


@dataclass(frozen=True, slots=True)
class DatasetReader:
    """A data format as the registry holds it; name and ``aliases`` are file suffixes without dot.

    ``read(file)`` yields the rows in file order; it raises ScenarioError for a file that cannot be
    used as a whole. ``hint(columns, spec)`` returns what to write in the scenario if the columns
    look misread, else "". ``places(file)``, of the formats that ``rows_at`` is for, returns the
    paths at which a file has rows, most rows first. ``is_text``: a file that begins like a workbook
    or another binary file is refused with what it is.
    """

    name: str
    read: Callable[[DataFile], Iterator[Row | BrokenRow]]
    aliases: tuple[str, ...] = ()
    hint: Callable[[Sequence[str], DatasetSpec], str] = lambda _columns, _spec: ""
    places: Callable[[DataFile], list[RowsPath]] | None = None
    is_text: bool = False


READER_REGISTRY: Registry[DatasetReader] = Registry(
    "data format", "pytest_rageval.datasets.formats", "READERS"
)


def rows_of(
    data: Sequence[Any],
    max_row_mb: float,
    section: str,
    lines: Sequence[int | None] | None = None,
    *,
    tabular: bool = False,
) -> Iterator[Row | BrokenRow]:
    """Yield a row for each object in ``data``; a broken one for what is none, or too large or deep.

    ``section`` is the key of the scenario that names or holds the rows; ``lines`` are their lines,
    if known; ``tabular`` is passed on to each Row.
    """
    for number, fields in enumerate(data, start=1):
        line = lines[number - 1] if lines is not None else None
        if isinstance(fields, Row | BrokenRow):
            yield fields  # from a file that was read before
        elif not isinstance(fields, dict):
            reason = f"expected an object, found {json_kind(fields)}"
            yield BrokenRow(number, line, reason, json_text(fields))
        elif reason := _excess_of(fields, max_row_mb, section):
            yield BrokenRow(number, line, reason)
        else:
            flaw = getattr(fields, "flaw", "")  # of a tool's sample that failed
            yield Row(number, line, _with_text_keys(fields), tabular, flaw)


def _excess_of(fields: dict[Any, Any], max_row_mb: float, section: str) -> str:
    """Return why an object is too large, or too deep, to be a row; "" where it is not."""
    try:
        is_long = _text_size(fields, MAX_DEPTH) > max_row_mb * 2**20
    except LimitError:
        return excess_in(fields)
    return too_long(max_row_mb, section) if is_long else ""


def _with_text_keys(fields: dict[Any, Any]) -> dict[str, Any]:
    """Return the object with text keys; a data frame without a header has numbers."""
    if all(isinstance(key, str) for key in fields):
        return fields
    return {str(key): part for key, part in fields.items()}


def _text_size(value: Any, depth: int) -> int:
    """Return about how long the texts in ``value`` are; LimitError: too deep, or a long number."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict | list):
        if not depth:
            raise LimitError
        below = depth - 1
        if isinstance(value, list):
            return sum(_text_size(part, below) for part in value)
        return sum(len(str(key)) + _text_size(part, below) for key, part in value.items())
    if isinstance(value, int) and excess(value):
        raise LimitError
    return 8


_SAMPLE_BYTES: Final = 2**16


def encoding_hint(raw: bytes, start: int, encoding: str, section: str) -> str:
    """Return what to do about bytes that are not in ``encoding`` from ``start`` on.

    Proposes UTF-8 if all is UTF-8, UTF-16 if it has that mark. Else shows the line of ``start`` as
    gb18030 and cp1252 read it, if they can, and proposes the one that gives plausible text.
    """
    # Not at the top: most data are in the encoding that they are read with.
    from pytest_rageval.text.encodings import PLAUSIBLE, decoded_as, plausible_share

    has_mark = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    sure = "utf-16" if has_mark else "utf-8"
    if not _is_same(sure, encoding) and decoded_as(raw, sure):
        return f" (it can be read as {sure}: {_to_set(section, sure)})"
    line, lines = _lines(raw, start), _lines(raw, start, _SAMPLE_BYTES)
    shares = {
        name: plausible_share(text, name)
        for name in ("gb18030", "cp1252")
        if not _is_same(name, encoding) and (text := decoded_as(lines, name))
    }
    shown = {name: text for name in shares if (text := decoded_as(line, name))}
    best = max(shown, key=lambda name: shares[name], default=None)
    if best is None:
        return f" (set {section}.encoding, or save the file as UTF-8)"
    names = sorted(shown, key=lambda name: name != best)
    read = ", ".join(f"as {name} {shorten(shown[name].strip(), 60)!r}" for name in names)
    if shares[best] < PLAUSIBLE:
        read += ", which both look wrong" if len(names) > 1 else ", which looks wrong"
        return f" (the line reads {read}: set {section}.encoding to that of the file)"
    return f" (the line reads {read}: {_to_set(section, best)} if that is right)"


def _to_set(section: str, encoding: str) -> str:
    if section == "dataset.reviews":  # files of people, each saved as their spreadsheet does
        return "save it as CSV UTF-8"
    written = f"set {section}.encoding: {encoding}"
    # Files of labels are named on the command line, too, where there may be no section yet.
    return f"{written} or --rag-set human.encoding={encoding}" if section == "human" else written


def _is_same(name: str, other: str) -> bool:
    return codecs.lookup(name).name == codecs.lookup(other).name


def _lines(raw: bytes, start: int, more: int = 0) -> bytes:
    """Return the line that ``start`` is in, and the lines of ``more`` bytes after it."""
    begin = raw.rfind(b"\n", 0, start) + 1
    end = raw.find(b"\n", start + more)
    return raw[begin:] if end < 0 else raw[begin:end]

"""``shard.jsonl``, the file of a shard: a head, one line for each case that ran, and an end.

It has all that judging and reporting needs. ``results.json`` lacks some of it: thresholds, ranges
and gates as they were bound, rows and lines of the cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from pytest_rageval.errors import Problem, UserError
from pytest_rageval.model import NOTHING, ControlVerdict, SampleResult, ScenarioInfo, Value
from pytest_rageval.shards.part import Part
from pytest_rageval.text.codec import from_json, to_json

SHARD_FILE: Final = "shard.jsonl"

STARTED: Final = "shard-started-*.json"
"""Files that say that a shard began, for one that ends before it writes its heads."""

_KIND: Final = "pytest-rageval shard"
_SCHEMA: Final = 3
_BLOCK: Final = 1 << 16


T = TypeVar("T")

Report = Mapping[str, Any]
"""A report of pytest, as pytest serialises it."""


class ShardError(UserError):
    """Shards that cannot be merged."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__([Problem(where, message)])


class Kind(Value, frozen=True):
    """What the first line of every version says."""

    kind: Literal["pytest-rageval shard"]
    schema: int
    version: str = ""


class Head(Value, frozen=True):
    """What a shard is a part of. ``info.selected`` counts the cases of the whole run.

    ``ci_run`` is the run of all jobs, where a CI service names it, and ``attempt`` the number of
    the attempt at it, 0 where nothing counts them; ``strict`` whether undecided gates fail;
    ``scenarios`` are the node ids of all scenarios that ran, each with a file of its own;
    ``selection`` is a digest of all the cases that were dealt out.
    """

    part: Part
    version: str
    commit: str | None
    ci_run: str | None
    attempt: int
    started_at: str
    strict: bool
    scenarios: tuple[str, ...]
    selection: str
    info: ScenarioInfo
    kind: str = _KIND
    schema: int = _SCHEMA
    judges_all: bool = False
    """Whether a scenario of which no case was selected fails, as ``--rag-strict`` was typed."""


class End(Value, frozen=True, tag_field="kind", tag="end"):
    """How a shard ended: it ran ``rows`` of the ``selected`` cases that are its own.

    ``lost`` names cases without a result, ``controls`` are the verdicts on its judges by metric,
    and ``reports`` what failed beside the cases: another test, or a file. ``status`` is the exit
    status of the session where no report explains it, else 0. ``workers`` are xdist's, counted.
    """

    finished_at: str
    rows: int
    selected: int
    lost: tuple[str, ...] = ()
    reports: tuple[Report, ...] = ()
    status: int = 0
    workers: int = 0
    usage: Mapping[str, int | float | None] | None = None
    controls: Mapping[str, ControlVerdict] = NOTHING

    @property
    def is_whole(self) -> bool:
        """Whether every case of the shard has a result."""
        return self.rows >= self.selected


class CaseRow(Value, frozen=True, omit_defaults=True):
    """A case as it ran: its node id, its result, and all reports of it, unless all passed."""

    nodeid: str
    result: SampleResult
    reports: tuple[Report, ...] = ()


class ReportFacts(Value, frozen=True):
    """What a report says of itself; one with other types here cannot be shown again."""

    nodeid: str
    outcome: Literal["passed", "failed", "skipped"]
    when: str = "collect"
    location: tuple[str, int | None, str] = ("", None, "")
    duration: float = 0.0
    start: float = 0.0
    stop: float = 0.0
    wasxfail: str | None = None


class Shard(Value, frozen=True):
    """A shard as its file says; ``end`` is None when the file is cut off."""

    path: Path
    head: Head
    end: End | None

    @property
    def part(self) -> Part:
        """Which part of the run it is."""
        return self.head.part


def shard_lines(head: Head, rows: Iterable[CaseRow], end: End) -> Iterator[str]:
    """Yield the lines of the file."""
    yield head_line(head)
    for row in rows:
        yield f"{to_json(row)}\n"
    yield f"{to_json(end)}\n"


def head_line(head: Head) -> str:
    """Return the first line: alone, it is the file of a shard that runs, or was killed."""
    return f"{to_json(head)}\n"


def started_file(part: Part, at: str) -> tuple[str, str]:
    """Return the name and the text of the file that says when a shard began (ISO 8601)."""
    return STARTED.replace("*", f"{part.index}-{part.of}"), f"{to_json((part, at))}\n"


def start_after(base: Path, part: Part, now: datetime) -> datetime:
    """Return ``now``, but later than all starts of the shard in ``base``: clocks are set back, too.

    Else what an earlier attempt wrote would count as newer than this one.
    """
    for path in (base / started_file(part, "")[0], *base.rglob(SHARD_FILE)):
        with suppress(ShardError, TypeError, OverflowError):  # a merge says what is damaged
            if path.name == SHARD_FILE:
                head = read_shard(path).head
                earlier, at = head.part, head.started_at
            else:
                earlier, at = read_started(path)
            if earlier == part:
                now = max(now, datetime.fromisoformat(at) + timedelta.resolution)
    return now


def read_started(path: Path) -> tuple[Part, str]:
    """Return which shard began, and when; raises ShardError."""
    try:
        part, at = from_json(path.read_bytes(), tuple[Part, str])
        datetime.fromisoformat(at)
    except (ValueError, OSError) as error:
        message = f"is damaged ({error}); run its shard again, or delete it"
        raise ShardError(str(path), message) from error
    return part, at


def read_shard(path: Path) -> Shard:
    """Return what a file says of itself, its cases unread; raises ShardError."""
    try:
        with path.open("rb") as stream:
            line = stream.readline()
        return Shard(path, _head(line, path), _end(_last_line(path), path))
    except OSError as error:
        raise ShardError(str(path), error.strerror or str(error)) from error


def case_rows(shard: Shard) -> Iterator[CaseRow]:
    """Yield the cases of a shard that has an end.

    Raises ShardError for a damaged line, and for more or fewer cases than the end says.
    """
    assert shard.end is not None
    number, metrics = 1, {column.name for column in shard.head.info.metrics}
    with shard.path.open("rb") as stream:
        stream.readline()
        for number, line in enumerate(stream, start=2):
            if line.startswith(_END):
                break
            where, damaged = f"{shard.path}:{number}", "the line is damaged"
            row = _read(line, CaseRow, where, damaged)
            if row.result.scores.keys() != metrics:  # else a lost score would be in no gate
                raise ShardError(where, damaged)
            yield row
    if number - 2 != shard.end.rows:
        message = f"expected {shard.end.rows} cases, as its end says, found {number - 2}"
        raise ShardError(str(shard.path), message)


def _head(line: bytes, path: Path) -> Head:
    damaged = "is not the file of a shard, or its first line is damaged"
    kind = _read(line, Kind, str(path), damaged)
    if kind.schema != _SCHEMA:
        message = (
            f"is of schema {kind.schema}, written by version {kind.version}; expected schema "
            f"{_SCHEMA}. Use one version of pytest-rageval for the shards and the merge"
        )
        raise ShardError(str(path), message)
    head = _read(line, Head, str(path), damaged)
    _check_time(head.started_at, path, damaged)
    return head


def _end(line: bytes, path: Path) -> End | None:
    """Return what the last line says, None if it is not an end; raises ShardError."""
    if not line.startswith(_END):
        return None
    damaged = "its last line is damaged"
    end = _read(line, End, str(path), damaged)
    _check_time(end.finished_at, path, damaged)
    return end


def _check_time(at: str, path: Path, damaged: str) -> None:
    with suppress(ValueError):
        if datetime.fromisoformat(at).tzinfo is not None:
            return
    raise ShardError(str(path), damaged)


_END: Final = b'{"kind":"end"'


def _read(line: bytes, kind: type[T], where: str, message: str) -> T:
    try:
        return from_json(line, kind)
    except ValueError as error:
        raise ShardError(where, f"{message} ({error})") from error


def _last_line(path: Path) -> bytes:
    """Return the last line, b"" if it has no line break: the file is cut off there."""
    with path.open("rb") as stream:
        at = stream.seek(0, 2)
        tail = b""
        while at > 0 and b"\n" not in tail[:-1]:
            at = max(0, at - _BLOCK)
            stream.seek(at)
            tail = stream.read()
    return tail.rstrip(b"\n").rpartition(b"\n")[2] if tail.endswith(b"\n") else b""

"""``shard.jsonl``, the file of a shard: a head, one line for each case that ran, and an end.

It has all that judging and reporting needs, as ``results.json`` has not: thresholds, ranges and
gates as they were bound, rows and lines of the cases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from pytest_rageval.errors import Problem, UserError
from pytest_rageval.model import (
    NOTHING,
    ControlVerdict,
    Outcome,
    SampleResult,
    ScenarioInfo,
    wire_text,
)
from pytest_rageval.results.typed import checked, field_checks
from pytest_rageval.shards.part import Part
from pytest_rageval.text.limits import read_json

SHARD_FILE: Final = "shard.jsonl"

STARTED: Final = "shard-started-*.json"
"""Files that say that a shard began, until it knows its scenarios: it may end before."""

_KIND: Final = "pytest-rageval shard"
_SCHEMA: Final = 1
_BLOCK: Final = 1 << 16
_FIELDS: Final = [found.name for found in fields(SampleResult)]
_OUTCOME: Final = _FIELDS.index("outcome")
_CHECKS: Final = field_checks(SampleResult)
_REPORTED: Final = ("", *get_args(Outcome))
_MAPPINGS: Final = tuple(
    _FIELDS.index(name)
    for name in ("metadata", "scores", "reasons", "details", "errors", "judged_by")
)


_DAMAGED: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
)
"""What reading raises where a file is not what was written."""


class ShardError(UserError):
    """Shards that cannot be merged."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__([Problem(where, message)])


@dataclass(frozen=True, slots=True)
class Head:
    """What a shard is a part of. ``info.selected`` counts the cases of the whole run.

    ``ci_run`` is the run of all jobs, where a CI service names it, and ``attempt`` which one of it;
    ``strict`` whether undecided gates fail; ``scenarios`` are the node ids of all scenarios that
    ran, each with its own file; ``selection`` is a digest of all the cases that were dealt out.
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


class Failure(NamedTuple):
    """What was red and no outcome of a case shows.

    A teardown, a subtest, an earlier attempt, another test, a file (``when`` is ``collect``).
    ``crash`` is the exception, where ``text`` is a traceback.
    """

    nodeid: str
    when: str
    text: str
    crash: str = ""


@dataclass(frozen=True, slots=True)
class End:
    """How a shard ended: it ran ``rows`` of the ``selected`` cases that are its own.

    ``lost`` names cases without a result, ``controls`` are the verdicts on its judges by metric.
    """

    finished_at: str
    rows: int
    selected: int
    lost: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    workers: int = 0
    usage: Mapping[str, float | None] | None = None
    controls: Mapping[str, ControlVerdict] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether every case of the shard has a result."""
        return self.rows >= self.selected


class CaseRow(NamedTuple):
    """A case as it ran: its node id, its result, and what was reported of one that did not pass.

    ``reported`` is the outcome that pytest showed, where it is not that of the case: the test of a
    case that cannot be judged FAILED at its call, for instance. ``crash`` is as in a Failure.
    """

    nodeid: str
    result: SampleResult
    text: str = ""
    reported: str = ""
    crash: str = ""

    @property
    def shown(self) -> str:
        """The outcome that pytest shows."""
        return self.reported or self.result.outcome


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard as its file says; ``end`` is None when the file is cut off."""

    path: Path
    head: Head
    end: End | None

    @property
    def part(self) -> Part:
        """Which part of the run it is."""
        return self.head.part


def shard_lines(head: Head, rows: Iterable[CaseRow], end: End) -> Iterator[str]:
    """Yield the lines of the file: ASCII, so that any text survives."""
    yield head_line(head)
    for row in rows:
        # A test function with other parameters is several scenarios: their ids are no beginnings.
        is_below = row.nodeid.startswith(head.info.nodeid)
        named = row.nodeid.removeprefix(head.info.nodeid) if is_below else [row.nodeid]
        told = [row.text, row.reported, row.crash]
        while told and not told[-1]:
            told.pop()
        yield wire_text([named, row.result.to_row(), *told]) + "\n"
    yield wire_text({"end": asdict(end)}) + "\n"


def head_line(head: Head) -> str:
    """Return the first line: alone, it is the file of a shard that runs, or was killed."""
    said = {"kind": _KIND, "schema": _SCHEMA}
    said |= {found.name: getattr(head, found.name) for found in fields(head)}
    return wire_text({**said, "part": str(head.part), "info": head.info.to_dict()}) + "\n"


def started_file(part: Part, at: str) -> tuple[str, str]:
    """Return the name and the text of the file that says when a shard began (ISO 8601)."""
    return STARTED.replace("*", f"{part.index}-{part.of}"), wire_text([str(part), at]) + "\n"


def read_started(path: Path) -> tuple[Part, str]:
    """Return which shard began, and when; raises ShardError."""
    try:
        part, at = read_json(path.read_bytes(), depth=None)
        datetime.fromisoformat(at)
        return Part.parse(part), at
    except (*_DAMAGED, OSError) as error:
        raise ShardError(str(path), "is damaged; run its shard again, or delete it") from error


def read_shard(path: Path) -> Shard:
    """Return what a file says of itself, its cases unread; raises ShardError."""
    try:
        with path.open("rb") as stream:
            head = _head(read_json(stream.readline(), depth=None), path)
            return Shard(path, head, _end(_last_line(path), path))
    except ShardError:
        raise
    except OSError as error:
        raise ShardError(str(path), error.strerror or str(error)) from error
    except _DAMAGED as error:
        message = "is not the file of a shard, or its first line is damaged"
        raise ShardError(str(path), message) from error


def case_rows(shard: Shard) -> Iterator[CaseRow]:
    """Yield the cases of a shard whose file is whole; raises ShardError for a line that is not."""
    assert shard.end is not None
    prefix, number = shard.head.info.nodeid, 1
    with shard.path.open("rb") as stream:
        stream.readline()
        for number, line in enumerate(stream, start=2):
            try:
                plain = read_json(line, depth=None)
                if isinstance(plain, dict):
                    break
                row = _row(plain, prefix)
            except _DAMAGED as error:
                raise ShardError(f"{shard.path}:{number}", "the line is damaged") from error
            yield row
    if number - 2 != shard.end.rows:
        message = f"expected {shard.end.rows} cases, as its end says, found {number - 2}"
        raise ShardError(str(shard.path), message)


def _row(plain: list[Any], prefix: str) -> CaseRow:
    named, row, *told = plain
    nodeid = prefix + named if isinstance(named, str) else named[0]
    for check, value in zip(_CHECKS, row, strict=True):
        if not check(value):
            raise TypeError(value)
    found = CaseRow(nodeid, SampleResult.from_row(_shared(row)), *told)
    if set(map(type, (nodeid, *told))) != {str} or found.reported not in _REPORTED:
        raise TypeError(told)
    return found


def _shared(row: list[Any]) -> list[Any]:
    """Return the row with what is the same in many rows kept once: it halves their memory."""
    row[_OUTCOME] = sys.intern(row[_OUTCOME])
    for at in _MAPPINGS:
        row[at] = {sys.intern(key): value for key, value in row[at].items()} or NOTHING
    return row


def _head(plain: Mapping[str, Any], path: Path) -> Head:
    if plain["kind"] != _KIND:
        raise ValueError(plain["kind"])
    if plain["schema"] != _SCHEMA:
        message = (
            f"is of schema {plain['schema']}, written by version {plain.get('version')}; expected "
            f"schema {_SCHEMA}. Use one version of pytest-rageval for the shards and the merge"
        )
        raise ShardError(str(path), message)
    known = {found.name: plain[found.name] for found in fields(Head)}
    known["part"] = Part.parse(plain["part"])
    known["scenarios"] = tuple(plain["scenarios"])
    known["info"] = ScenarioInfo.from_dict(plain["info"])
    return checked(Head(**known))


def _end(line: bytes, path: Path) -> End | None:
    """Return what the last line says, None if it is not an end; raises ShardError."""
    try:
        plain = read_json(line, depth=None)
    except _DAMAGED:
        return None
    if not isinstance(plain, dict) or "end" not in plain:
        return None
    try:
        said = plain["end"]
        failures = tuple(Failure(*one) for one in said["failures"])
        controls = {name: ControlVerdict.from_dict(one) for name, one in said["controls"].items()}
        known = {"lost": tuple(said["lost"]), "failures": failures, "controls": controls}
        return checked(End(**{**said, **known}))
    except _DAMAGED as error:
        raise ShardError(str(path), "its last line is damaged") from error


def _last_line(path: Path) -> bytes:
    """Return the last line, b"" if it does not end: the file is cut off there."""
    with path.open("rb") as stream:
        at = stream.seek(0, 2)
        tail = b""
        while at > 0 and b"\n" not in tail[:-1]:
            at = max(0, at - _BLOCK)
            stream.seek(at)
            tail = stream.read()
    return tail.rstrip(b"\n").rpartition(b"\n")[2] if tail.endswith(b"\n") else b""

"""The cases of a data set: rows read, shuffled and cut as its scenario says, ids checked."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pytest_rageval.datasets.base import READER_REGISTRY, BrokenRow, DataFile, Row, row_place
from pytest_rageval.datasets.inline import rows_of
from pytest_rageval.datasets.key_map import KeyMap
from pytest_rageval.errors import Problem, ScenarioError, did_you_mean, shorten
from pytest_rageval.model import Case
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.data_specs import DatasetSpec

_LISTED = 5
T = TypeVar("T")


@dataclass(frozen=True)
class Dataset:
    """The cases in dataset order, the columns that the rows had, and a hash of the data."""

    cases: Sequence[Case]
    lines: Sequence[int | None]
    columns: tuple[str, ...]
    metadata_columns: tuple[str, ...]
    sha256: str
    shown: str
    warnings: tuple[str, ...] = ()
    judgements_sha256: str = ""
    """A hash of what the samples are judged by, where that is a file of its own (qrels)."""


def load_dataset(
    spec: DatasetSpec,
    base_dir: Path,
    where: str,
    row_lines: Sequence[int | None] | None = None,
) -> Dataset:
    """Return the cases of ``spec``, whose path is relative to ``base_dir``.

    ``where`` is the place in the scenario that names the data, ``row_lines`` are those of inline
    rows. Raises ScenarioError when the data as a whole cannot be used: no such file, an unreadable
    one, no rows, ids that occur twice, a mapped column that no row has.
    """
    if spec.rows is not None:
        # The rows stand in the scenario file, so its name is the one to send the reader to.
        shown = where.rpartition(":")[0] or where
        rows: Iterable[Row | BrokenRow] = rows_of(spec.rows, spec.max_row_mb, "dataset", row_lines)
        digest = hashlib.sha256(json.dumps(spec.rows, sort_keys=True, default=str).encode())
    else:
        file = data_file(spec, base_dir, where, "dataset")
        shown = file.shown
        rows = read_rows(file, where, "dataset")
        digest = file.sha256()
    chosen = choose(rows, spec)
    if not chosen:
        raise ScenarioError([Problem(shown, "no rows: an empty data set tests nothing")])
    key_map = KeyMap(spec.key_map)
    cases = [key_map.case(row, index) for index, row in enumerate(chosen)]
    problems = [*_unknown_columns(spec, key_map, shown), *_duplicate_ids(cases, chosen, shown)]
    if problems:
        raise ScenarioError(problems)
    columns, metadata = tuple(key_map.columns), tuple(key_map.metadata_columns)
    lines = [row.line for row in chosen]
    return Dataset(cases, lines, columns, metadata, digest.hexdigest(), shown)


def data_file(spec: DatasetSpec, base_dir: Path, where: str, section: str) -> DataFile:
    """Return the file of ``spec``; raises ScenarioError, at ``where``, when there is none.

    ``section`` is the key of the scenario that names the file.
    """
    assert spec.path is not None  # the schema demands a path, or rows, which have no file
    path = base_dir / spec.path
    try:
        if not path.is_file():
            raise ScenarioError([Problem(where, _missing_file(path, spec.path, section))])
    except (OSError, ValueError) as error:  # a name too long, a null byte, a locked folder
        message = f"{section}: {shorten(spec.path)!r} cannot be read: {error}"
        raise ScenarioError([Problem(where, shorten(message, 300))]) from error
    return DataFile(path, spec.path, spec, section)


def _missing_file(path: Path, written: str, section: str) -> str:
    if path.is_dir():
        return f"{section}: {written!r} is a folder; name a file in it"
    folder = path.parent
    if not folder.is_dir():
        return f"{section}: no file {written!r}: the folder {str(folder)!r} does not exist"
    hint = did_you_mean(path.name, [entry.name for entry in islice(folder.iterdir(), 1000)])
    return f"{section}: no file {written!r} in {str(folder)!r}.{hint}"


def read_rows(file: DataFile, where: str, section: str) -> Iterable[Row | BrokenRow]:
    """Return the rows of a data file by the reader of its format; raises ScenarioError."""
    suffixes = [suffix for suffix in file.path.suffixes if suffix != ".gz"]
    wanted = file.spec.format or (suffixes[-1].lstrip(".") if suffixes else "")
    try:
        reader = READER_REGISTRY.get(wanted)
    except UnknownNameError as error:
        raise ScenarioError([Problem(where, f"{section}: {error}")]) from error
    return reader.read(file)


def choose(rows: Iterable[T], spec: DatasetSpec) -> list[T]:
    """Shuffle all rows, then cut: UltraRAG's order, for the same seed the same rows."""
    limit = None if spec.limit == -1 else min(spec.limit, sys.maxsize)
    if not spec.shuffle:
        return list(islice(rows, limit))
    everything = list(rows)
    random.Random(spec.seed).shuffle(everything)
    return everything[:limit]


def _unknown_columns(spec: DatasetSpec, key_map: KeyMap, shown: str) -> Iterator[Problem]:
    for name, column in spec.key_map.items():
        if column not in key_map.columns and column.partition(".")[0] not in key_map.columns:
            hint = did_you_mean(column, key_map.columns)
            known = ", ".join(sorted(key_map.columns)[:20])
            message = (
                f"key_map: no row has the column {column!r} for {name!r}.{hint} Known: {known}"
            )
            yield Problem(shown, message)


def _duplicate_ids(
    cases: Sequence[Case], rows: Sequence[Row | BrokenRow], shown: str
) -> Iterator[Problem]:
    first: dict[str, int] = {}
    found = 0
    for at, case in enumerate(cases):
        before = first.setdefault(case.id, at)
        if before == at:
            continue
        found += 1
        if found <= _LISTED:
            earlier = rows[before].line or f"row {rows[before].number}"
            where = row_place(shown, rows[at].line, rows[at].number)
            yield Problem(where, f"duplicate id {shorten(case.id)!r} (first on {_place(earlier)})")
    if found > _LISTED:
        yield Problem(shown, f"and {found - _LISTED} more duplicate ids")


def _place(earlier: int | str) -> str:
    return f"line {earlier}" if isinstance(earlier, int) else earlier

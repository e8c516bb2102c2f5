"""Loads the cases of a data set: reads, shuffles and limits the rows, and checks their ids."""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from pytest_rageval.datasets.ambiguous import Doubt, ReadRows, joined_texts
from pytest_rageval.datasets.base import (
    READER_REGISTRY,
    BrokenRow,
    DataFile,
    DatasetReader,
    GivenRows,
    Row,
    may_be_traces,
    row_place,
    rows_of,
)
from pytest_rageval.datasets.key_map import KeyMap
from pytest_rageval.datasets.proposer.certain import likely_columns
from pytest_rageval.errors import Problem, ScenarioError, did_you_mean, shorten
from pytest_rageval.model import NOTHING, Case, json_plain
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.column_names import column_meant
from pytest_rageval.scenario.data_specs import AnswersSpec, DatasetSpec
from pytest_rageval.scenario.fields import FIELD_ALIASES, GRADE, NO_GRADE, OF_ANSWERS, WITH_ANSWERS
from pytest_rageval.scenario.yaml.tree import inline_text
from pytest_rageval.text.json_value import head_of

if TYPE_CHECKING:
    from pytest_rageval.datasets.joined import Answers

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
    left_out: int | None = 0
    """How many rows ``limit`` left out; None if the rest could not be read."""
    hint: str = ""
    """What to write in the scenario if the columns look misread, else ""."""
    judgements_sha256: str = ""
    """A hash of the judgements, if they are in a file of their own (qrels)."""
    likely: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """The columns that are read by the names of other tools, by field."""
    doubts: tuple[Doubt, ...] = ()
    """What the columns leave open; an error only if a metric reads these fields."""
    remarks: tuple[str, ...] = ()
    reviewed: frozenset[str] = frozenset()
    """The rows that a person accepted or edited (``reviews``); those ``rejected`` are no cases."""
    rejected: frozenset[str] = frozenset()
    answered_by: str = ""
    """The second file, if it has the answers; ``beside_answers`` are columns that only it fills."""
    beside_answers: frozenset[str] = frozenset()
    differing: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    """By column of which two files have other values, what to say where it is read."""


def load_dataset(  # noqa: PLR0913  (all but the first three are for some data only)
    spec: DatasetSpec,
    base_dir: Path,
    where: str,
    row_lines: Sequence[int | None] | None = None,
    where_mapped: Callable[[str], str] | None = None,
    fallbacks: Mapping[str, str] = NOTHING,
    *,
    given: GivenRows | None = None,
    answers: AnswersSpec | None = None,
    answers_at: str = "",
    kept: frozenset[str] = frozenset(),
    of_answers: frozenset[str] = frozenset(),
    brought: Collection[str] = (),
) -> Dataset:
    """Return the cases of ``spec``, whose path is relative to ``base_dir``, or of ``given`` rows.

    ``where``: the place in the scenario that names the data.
    ``row_lines``: the lines of rows in the scenario.
    ``where_mapped``: returns the place of a field of the ``key_map``.
    ``fallbacks``, ``kept``, ``of_answers``: see KeyMap.
    ``answers``: a second file, joined to the rows; ``answers_at`` is the place that names it.
    ``brought``: fields of later answers; they may be mapped to columns that no row has.

    Raises ScenarioError if the data as a whole cannot be used:
    a missing or unreadable file, no rows, duplicate ids, a mapped column that no row has.
    """
    source = _source(spec, base_dir, where, row_lines, given)
    shown, rows, digest = source.shown, source.rows, source.digest
    if spec.merge_rows is not None:
        # Not at the top: most data have one row a sample, in one file.
        from pytest_rageval.datasets.merged import merged

        rows = merged(rows, spec.merge_rows, spec.key_map, spec.split)
    at = answers_at or where
    second = None if answers is None else _answers(answers, base_dir, at, spec, of_answers)
    if second is not None:
        rows = second.joined(rows, shown, spec.key_map)
        digest.update(second.sha256)
    every = list(rows) if "history" in of_answers else []  # turns are counted over all rows
    chosen, left_out = choose(every or rows, spec)
    if second is not None:
        second.check_joined(shown, all_read=left_out is not None)
    if not chosen:
        raise ScenarioError([Problem(shown, "no rows: an empty data set tests nothing")])
    likely = likely_columns(chosen, spec.key_map, fallbacks) if spec.other_names else NOTHING
    reading = (spec.key_map, spec.blank_answer, fallbacks, likely, kept, spec.split, of_answers)
    key_map = KeyMap(*reading)
    cases: Sequence[Case] = [key_map.case(row, index) for index, row in enumerate(chosen)]
    made: tuple[str, ...] = ()
    if of_answers:
        # Not at the top: most scenarios do not say how answers cite, refuse or follow.
        from pytest_rageval.datasets.answer_fields import with_made_columns

        numbers = {row.number for row in chosen}
        left = [KeyMap(*reading).case(row, 0) for row in every if row.number not in numbers]
        cases, made = with_made_columns(cases, of_answers, left)
    read = [row for row in chosen if isinstance(row, Row)]
    seen = ReadRows(read, tuple(key_map.columns), shown, spec, likely, fallbacks)
    seen = seen if second is None else second.seen_in(seen)
    ids_notes: list[str] = []
    ids_doubts: list[Doubt] = []
    if seen.columns_read("reference_ids") or seen.columns_read("retrieved_ids"):
        # Not at the top: many data sets name no ids.
        from pytest_rageval.datasets.ids import said_of_ids

        ids_notes, ids_doubts = said_of_ids(seen, answers)
    left_notes = () if second is None else tuple(second.notes(shown))
    hint = " ".join(filter(None, (source.hint(tuple(key_map.columns), spec), *left_notes)))
    problems = [
        *_unknown_columns(spec, key_map, shown, where_mapped, hint, brought),
        *_duplicate_ids(cases, chosen, shown, spec.key_map.get("id") or likely.get("id", "id")),
    ]
    if problems:
        raise ScenarioError(problems)
    return Dataset(
        cases,
        [row.line for row in chosen],
        tuple(key_map.columns),
        tuple(dict.fromkeys([*key_map.metadata_columns, *made])),
        digest.hexdigest(),
        shown,
        warnings=(
            *source.notes,
            *(second.warnings if second else ()),
            *_of_two_names(key_map, shown),
            *_of_another_answer(spec, key_map.columns, of_answers.difference(brought), shown),
            *_of_turns(key_map, shown),
            *joined_texts(seen),
            *ids_notes,
            *left_notes,
        ),
        left_out=left_out,
        hint=hint,
        likely=likely,
        doubts=(*seen.doubts(), *ids_doubts),
        answered_by=seen.theirs if seen.has_their_answers else "",
        beside_answers=frozenset(seen.joined.keys() - (second.filled if second else ())),
        differing=second.differing(shown, spec.key_map) if second else NOTHING,
    )


class _Source(NamedTuple):
    """Where rows come from: name in messages, rows, their hash, a reader's hint and warnings."""

    shown: str
    rows: Iterable[Row | BrokenRow]
    digest: hashlib._Hash
    hint: Callable[[Sequence[str], DatasetSpec], str] = lambda _columns, _spec: ""
    notes: Sequence[str] = ()


def _source(
    spec: DatasetSpec,
    base_dir: Path,
    where: str,
    row_lines: Sequence[int | None] | None,
    given: GivenRows | None,
) -> _Source:
    """Return the given rows, else the rows in the scenario, else the rows of its data file."""
    if given is not None:
        digest = hashlib.sha256()
        listed = [*rows_of(given.rows, spec.max_row_mb, "dataset", tabular=given.tabular)]
        for row in listed:  # not as one text: they may be many
            content = row.fields if isinstance(row, Row) else [row.reason, row.raw]
            digest.update(json.dumps(content, sort_keys=True, default=str).encode())
        return _Source(given.shown, listed, digest)
    if spec.rows is not None:
        digest = hashlib.sha256(json.dumps(json_plain(spec.rows), sort_keys=True).encode())
        rows = rows_of(spec.rows, spec.max_row_mb, "dataset", row_lines)
        # The rows are in the scenario file, so messages name that file.
        return _Source(where.rpartition(":")[0] or where, rows, digest)
    file = data_file(spec, base_dir, where, "dataset")
    reader = reader_of(file, where, "dataset")
    return _Source(file.shown, reader.read(file), file.sha256(), reader.hint, file.notes)


def _answers(
    answers: AnswersSpec, base_dir: Path, where: str, spec: DatasetSpec, of_answers: Collection[str]
) -> Answers:
    # Not at the top: most data are in one file.
    from pytest_rageval.datasets.joined import Answers
    from pytest_rageval.datasets.merged import merged

    file = answers_file(answers, base_dir, where)
    rows: Iterable[Row | BrokenRow] = reader_of(file, where, "answers").read(file)
    if answers.merge_rows:
        unprefixed = {
            name: column.removeprefix(answers.prefix) for name, column in spec.key_map.items()
        }
        rows = merged(rows, answers.key, unprefixed, spec.split)
    return Answers(answers, file.shown, rows, file.sha256().digest(), of_answers, file.notes)


def answers_file(answers: AnswersSpec, base_dir: Path, where: str) -> DataFile:
    """Return the second file of a scenario; raises ScenarioError, at ``where``, without it."""
    own = ("path", "format", "rows_at", "encoding", "delimiter", "max_mb")
    as_dataset = DatasetSpec(**{key: getattr(answers, key) for key in own})
    return data_file(as_dataset, base_dir, where, "answers")


def data_file(spec: DatasetSpec, base_dir: Path, where: str, section: str) -> DataFile:
    """Return the file of ``spec``; raises ScenarioError, at ``where``, if there is none.

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


def reader_of(file: DataFile, where: str, section: str) -> DatasetReader:
    """Return the reader of a file's format, or of traces; raises ScenarioError if none fits."""
    wanted = format_of(file, READER_REGISTRY.canonical)
    try:
        reader = READER_REGISTRY.get(wanted)
    except UnknownNameError as error:
        hint = f". To say what it is, write {section}.format: csv, or another of these."
        hint = "" if file.spec.format else hint
        raise ScenarioError([Problem(where, f"{section}: {error}{hint}")]) from error
    check_content(file, reader)
    if file.spec.format is None and may_be_traces(file, reader.name):
        # Not at the top: the names of spans are rare in other data.
        from pytest_rageval.datasets.formats.traces import are_traces

        if are_traces(file, reader.name):
            return READER_REGISTRY.get("traces")
    if file.spec.rows_at is not None and reader.places is None:
        known = ", ".join(sorted(each.name for each in READER_REGISTRY if each.places))
        message = f"rows_at: {reader.name} has no keys; rows_at is for {known}"
        raise ScenarioError([Problem(where, f"{section}.{message}")])
    return reader


def choose(rows: Iterable[T], spec: DatasetSpec) -> tuple[list[T], int | None]:
    """Shuffle all rows if asked to, then limit them; a seed gives the same rows as in UltraRAG.

    Also return how many rows were left out; None if those after the limit cannot be read.
    """
    limit = None if spec.limit == -1 else min(spec.limit, sys.maxsize)
    if spec.shuffle:
        everything = list(rows)
        random.Random(spec.seed).shuffle(everything)
        chosen = everything[:limit]
        return chosen, len(everything) - len(chosen)
    rest = iter(rows)
    chosen = list(islice(rest, limit))
    try:
        return chosen, sum(1 for _ in rest)
    except ScenarioError:
        return chosen, None


def _unknown_columns(
    spec: DatasetSpec,
    key_map: KeyMap,
    shown: str,
    where_mapped: Callable[[str], str] | None,
    misread: str,
    brought: Collection[str],
) -> Iterator[Problem]:
    for name, column in spec.key_map.items():
        if name in brought:
            continue
        where = where_mapped(name) if where_mapped else shown
        if column in key_map.columns or (name, column) == (GRADE, NO_GRADE):
            continue
        if head_of(column) not in key_map.columns:
            guess = column_meant(column, name, key_map.metadata_columns)
            hint = f" Did you mean {guess!r}?" if guess else ""
            known = ", ".join(sorted(key_map.columns)[:20])
            message = f"no row has the column {column!r} for {name!r}.{hint} Known: {known}"
            message += f". {misread}" if misread else ""
        elif key_map.lost.get(column):
            found = key_map.lost[column].removeprefix("nothing")
            message = f"for {name!r}, no row has anything{found}"
        else:
            continue
        yield Problem(where, f"key_map: {message}")


def _of_two_names(key_map: KeyMap, shown: str) -> Iterator[str]:
    """Yield a warning for each two columns of one field that differ in some row."""
    for (name, column, other), count in key_map.clashes.items():
        rows = "1 row has" if count == 1 else f"{count} rows have"
        yield (
            f"{shown}: {rows} different values in {column!r} and {other!r}, both names of "
            f"{name!r}; {column!r} counts. To choose, write key_map: {{{name}: {column}}} or "
            f"{{{name}: {other}}}"
        )


def _of_another_answer(
    spec: DatasetSpec, columns: Collection[str], read: Collection[str], shown: str
) -> Iterator[str]:
    """Yield a warning for each field of an answer that may be of another one than is mapped.

    The rows have both the column that ``key_map`` maps to the answer and one of an answer's names.
    """
    answer, plain = spec.key_map.get("answer"), FIELD_ALIASES["answer"]
    taken = set(map(head_of, spec.key_map.values()))
    others = [name for name in plain if name in columns and name not in taken]
    other = next(iter(others), None) if answer is not None and answer not in plain else None
    for name in WITH_ANSWERS if other is not None else ():
        found = next((column for column in OF_ANSWERS[name] if column in columns), None)
        if found is not None and name in read and name not in spec.key_map:
            yield (
                f"{shown}: {found!r} counts for {answer!r}, though {other!r} is there, too. If it "
                f"is of {answer!r}, write key_map: {{{name}: {found}}}, else name its own column"
            )


def _of_turns(key_map: KeyMap, shown: str) -> Iterator[str]:
    """Yield what the turns of rows leave open, such as whether the last one is the answer."""
    for doubt, count in key_map.turns_in_doubt.items():
        yield f"{shown}: {'in 1 row' if count == 1 else f'in {count} rows'} {doubt}"


def _of_repeated_ids(column: str) -> str:
    """Return what to write where ids repeat, which are then not ids of rows."""
    text = inline_text(column)
    return (
        f"if {column!r} names the expected document, write key_map: {{reference_ids: {text}}}; if "
        f"its rows are parts of one sample, merge_rows: {text} (in 'dataset')"
    )


def _duplicate_ids(
    cases: Sequence[Case], rows: Sequence[Row | BrokenRow], shown: str, column: str
) -> Iterator[Problem]:
    first: dict[str, int] = {}
    found = 0
    for at, case in enumerate(cases):
        before = first.setdefault(case.id, at)
        if before == at:
            continue
        found += 1
        if found <= _LISTED:
            line = rows[before].line
            earlier = f"line {line}" if line else f"row {rows[before].number}"
            where = row_place(shown, rows[at].line, rows[at].number)
            yield Problem(where, f"duplicate id {shorten(case.id)!r} (first on {earlier})")
    if found > _LISTED:
        yield Problem(shown, f"and {found - _LISTED} more duplicate ids")
    if found > 1:  # once may be a slip
        yield Problem(shown, _of_repeated_ids(column))


_POINTER: Final = re.compile(rb"version https://git-lfs\.github\.com/spec/")
_SIZE: Final = re.compile(rb"^size (\d+)", re.MULTILINE)
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
    """Return the name of the file's format, known or not: its ``format``, else its suffix.

    JSON under an unknown suffix is jsonl. ``known`` returns the name of a known format, else None.
    """
    suffixes = [suffix for suffix in file.path.suffixes if suffix != ".gz"]
    wanted = file.spec.format or (suffixes[-1].lstrip(".") if suffixes else "")
    name = known(wanted)
    if name is None and file.spec.format is None and _first_bytes(file).startswith((b"[", b"{")):
        return "jsonl"  # or one document: the reader looks
    return wanted


def check_content(file: DataFile, reader: DatasetReader) -> None:
    """Raise ScenarioError, with what the file is, if it cannot have the reader's format."""
    name, start = reader.name, _first_bytes(file)
    if _POINTER.match(start):
        size = _SIZE.search(start)
        large = f" of {int(size[1]):,} bytes" if size else ""
        raise file.refuse(f"a pointer of Git LFS, not the data{large}; get them with: git lfs pull")
    if not reader.is_text:
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
        return stream.read(1024).removeprefix(b"\xef\xbb\xbf").lstrip()

"""The rows of a data file, wherever they are in it, and how their columns are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pytest_rageval.datasets.base import READER_REGISTRY, BrokenRow, DataFile, GivenRows, Row
from pytest_rageval.datasets.load import Dataset, data_file, load_dataset, reader_of
from pytest_rageval.datasets.proposer.columns import Table, columns_of
from pytest_rageval.datasets.proposer.propose import Mapped, map_columns
from pytest_rageval.errors import ScenarioError, shorten
from pytest_rageval.first_scenario.questions import Choice, quoted_option, undecided
from pytest_rageval.first_scenario.scenario_text import written_map
from pytest_rageval.model import InvalidRow
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.json_value import parse_path

_MOST_ROWS: Final = 20_000
_MOST_PATHS: Final = 12
_MOST_SYSTEMS: Final = 6

_SPLITS: Final = frozenset({"train", "training", "dev", "test", "valid", "validation", "val"})
"""Keys under which data sets keep their splits: rows of two of them are not evaluated together."""

_TRACES: Final = "traces"


@dataclass(frozen=True)
class Reading:
    """The rows of a file, and how their columns are read by what the user named.

    ``keys`` are those of ``dataset`` other than the path, ``systems`` the columns with the answers
    of several systems.
    """

    data: Path
    keys: Mapping[str, Any]
    rows: tuple[Row | BrokenRow, ...]
    systems: Sequence[str] = ()
    left_out: frozenset[str] = frozenset()
    """Columns that are no field, whatever they look like."""

    def at(self, **more: Any) -> Reading:
        """Return the rows of the file where ``more`` keys say; raises ScenarioError."""
        keys = {**self.keys, **more}
        return replace(self, keys=keys, rows=_read_rows(self.data, keys))

    @property
    def path(self) -> str:
        """Where the rows are in a document: ``$`` where no key says so."""
        return str(self.keys.get("rows_at", "$"))

    @cached_property
    def spec(self) -> DatasetSpec:
        """The data set that the user named."""
        return spec_of({**self.keys, "path": self.data.name}, self.data.name)

    @cached_property
    def table(self) -> Table:
        """The rows by column."""
        rows = [row for row in self.rows if isinstance(row, Row)]
        broken = tuple(row for row in self.rows if isinstance(row, BrokenRow))
        fields = tuple(row.fields for row in rows)
        return Table(tuple(columns_of(fields)), len(self.rows), broken, fields)

    @cached_property
    def mapped(self) -> Mapped:
        """The fields of the columns."""
        is_answered = self.spec.format == _TRACES  # what production did, no references
        columns = tuple(one for one in self.table.columns if one.name not in self.left_out)
        table = replace(self.table, columns=columns)
        mapped = map_columns(
            table, self.data.stem, self.spec.key_map, self.systems, is_answered=is_answered
        )
        # The user has said what divides the references: no mark is offered.
        return replace(mapped, split="") if self.spec.split else mapped

    def load(self, mapped: Mapped) -> Dataset:
        """Return the rows as cases; raises ScenarioError if they cannot be read so."""
        keys = {**self.keys, "path": self.data.name, "key_map": written_map(self.table, mapped)}
        spec = spec_of(keys, self.data.name)
        return load_dataset(spec, self.data.parent, self.data.name, given=self.given)

    @property
    def asks_once(self) -> bool:
        """Whether most rows have a question of their own; else they may be of several systems."""
        found = self.mapped.fields.get("question")
        return found is None or len(self.table[found.column].distinct) * 2 > len(self.rows)

    def at_each(self) -> Iterator[Reading]:
        """Yield what is at each of the first six positions of the first list of the path."""
        for at in range(_MOST_SYSTEMS):
            try:
                yield self.at(rows_at=self.path.replace("[*]", f"[{at}]", 1))
            except ScenarioError:
                return

    @property
    def is_readable(self) -> bool:
        """Whether half of the rows or more can be read so, or the user has yet to decide how.

        Raises ScenarioError.
        """
        if self.mapped.doubt:
            return True
        read = self.load(self.mapped)
        return len(broken_rows(read)) * 2 <= len(read.cases)

    @property
    def given(self) -> GivenRows:
        """The rows, to be read by a scenario."""
        return GivenRows(self.rows, self.data.name)


def find_rows(asked: Reading) -> Reading:
    """Return the rows where the reader finds them, or else where a document has questions.

    Raises ScenarioError if they cannot be read; UndecidedError if they may be in several places.
    """
    found = _where_reader_finds(asked)
    if isinstance(found, Reading) and _is_settled(found):
        return found
    others = [] if "rows_at" in asked.keys else _read_at_paths(asked)
    if not others:
        if isinstance(found, ScenarioError):
            raise found
        return found
    nearest = min(map(_steps, others))
    fits = _places([other for other in others if _steps(other) == nearest])
    if len(fits) > 1:
        raise undecided(
            asked.data.name, "the rows may be in several places", choices=map(_place, fits)
        )
    return fits[0]


def _where_reader_finds(asked: Reading) -> Reading | ScenarioError:
    try:
        file = _file(asked.data, asked.keys)
        is_traces = reader_of(file, file.shown, "dataset").name == _TRACES
        found = asked.at(format=_TRACES) if is_traces else asked.at()
        _is_settled(found)  # raises where the columns cannot be read
    except ScenarioError as error:
        return error
    return found


def _is_settled(found: Reading) -> bool:
    """Return whether these are the rows to evaluate, without a look at other places.

    Raises ScenarioError where their columns cannot be read.
    """
    if found.keys.get("format") == _TRACES:
        return True
    return "question" in found.mapped.fields or "rows_at" in found.keys


def _place(fit: Reading) -> Choice:
    case = f"they are the {counted(len(fit.rows), 'row')} there"
    line = f"If {case}, add {quoted_option('rows_at', fit.path)}"
    return Choice(f"{case}: {fit.path}", {"rows_at": fit.path}, line)


def _places(fits: list[Reading]) -> list[Reading]:
    """Return the readings to choose from, without those that are a part of another one.

    A path over a list, or over the keys of an object (``[*]``), holds what is at each of them. It
    alone is left, unless these are splits, or its questions repeat: then each is the run of another
    system, and a place of its own.
    """
    wide = [fit for fit in fits if "[*]" in fit.path]
    if len(wide) != 1:
        return fits
    last_keys = {str(parse_path(fit.path).steps[-1]).lower() for fit in fits if fit not in wide}
    if not wide[0].asks_once:
        return fits if len(fits) > 1 else [*fits, *wide[0].at_each()]
    return fits if last_keys & _SPLITS else wide


def _read_at_paths(asked: Reading) -> list[Reading]:
    """Return the readings at other places of a document that have questions and gold or answers."""
    suffix = asked.data.name.removesuffix(".gz").rpartition(".")[2].lower()
    known = READER_REGISTRY.canonical(suffix)
    find = READER_REGISTRY.get(known).places if known else None
    found = []
    file = _file(asked.data, asked.keys)
    for place in find(file)[:_MOST_PATHS] if find is not None else ():
        try:
            reading = asked.at(rows_at=place.path)
            has_question = "question" in reading.mapped.fields and reading.is_readable
        except ScenarioError:
            continue
        mapped = reading.mapped
        if has_question and (mapped.has_gold or mapped.doubt or "answer" in mapped.fields):
            found.append(reading)
    return found


def _file(data: Path, keys: Mapping[str, Any]) -> DataFile:
    spec = spec_of({**keys, "path": data.name}, data.name)
    return data_file(spec, data.parent, data.name, "dataset")


def _steps(reading: Reading) -> int:
    return len(parse_path(reading.path).steps)


def broken_rows(read: Dataset) -> list[InvalidRow]:
    """Return the rows that no sample could be made of."""
    return [case for case in read.cases if isinstance(case, InvalidRow)]


def _read_rows(data: Path, keys: Mapping[str, Any]) -> tuple[Row | BrokenRow, ...]:
    """Return the first 20,000 rows; raises ScenarioError if the file cannot be read."""
    file = _file(data, keys)
    return tuple(islice(reader_of(file, data.name, "dataset").read(file), _MOST_ROWS))


def spec_of(keys: Mapping[str, Any], shown: str) -> DatasetSpec:
    """Return the data set of these keys; raises UndecidedError where the keys are not valid."""
    try:
        return DatasetSpec.model_validate(keys)
    except ValueError as error:
        raise undecided(shown, shorten(f"dataset: {error}", 300)) from error

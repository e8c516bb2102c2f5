"""``propose`` turns a data file into a scenario that runs at once, or says what it lacks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.datasets.base import BrokenRow, DataFile, GivenRows, Row
from pytest_rageval.datasets.formats.json_file import row_paths_in
from pytest_rageval.datasets.formats.rows_at import RowsPath
from pytest_rageval.datasets.formats.yaml_file import row_paths_in_yaml
from pytest_rageval.datasets.load import Dataset, data_file, load_dataset, reader_of
from pytest_rageval.datasets.proposer.columns import Table, columns_of
from pytest_rageval.datasets.proposer.draft import FoundColumn, Way
from pytest_rageval.datasets.proposer.names import holds_joined_ids
from pytest_rageval.datasets.proposer.propose import Mapped, map_columns
from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.evaluation import Handed, evaluate_planned, plan_of
from pytest_rageval.first_scenario.measures import Measures, measures_for
from pytest_rageval.first_scenario.questions import (
    Choice,
    UndecidedError,
    ask_if_open,
    open_lines,
    rows_at_option,
    undecided,
)
from pytest_rageval.first_scenario.scenario_text import (
    FUNCTION,
    Draft,
    file_stem,
    scenario_text,
    shell_word,
    target_text,
    written_map,
)
from pytest_rageval.import_path import module_in
from pytest_rageval.importing.written_files import identifier
from pytest_rageval.model import InvalidRow, Sample, ScenarioResult
from pytest_rageval.run_paths import folder_name
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.scenario.loader import parse_scenario
from pytest_rageval.scenario.recognise import (
    SUFFIXES,
    import_hint,
    is_scenario,
    names_promptfoo,
)
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.json_value import parse_path

TRIED_ROWS: Final = 3
_MOST_ROWS: Final = 20_000
_MOST_PATHS: Final = 12
_MOST_TRIED: Final = 200
_MOST_RUNS: Final = 6
_PATHS: Final[Mapping[str, Callable[[DataFile], list[RowsPath]]]] = {
    **dict.fromkeys(("json", "jsonl"), row_paths_in),
    **dict.fromkeys(("yaml", "yml"), row_paths_in_yaml),
}
"""How the places of rows are found, by the suffix of a file."""

_SPLITS: Final = frozenset({"train", "training", "dev", "test", "valid", "validation", "val"})
"""Keys of rows that are not meant together."""

_TRACES: Final = "traces"
_OF_COLUMNS: Final = ("variants", "left_out")


@dataclass(frozen=True)
class Proposal:
    """A scenario for a data file: its name and text, and what it rests on.

    ``tried`` is the result for the first three rows, None where a system has to be asked.
    ``invalid`` are the rows that no sample could be made of. ``target`` is the name and the text of
    the module that asks a system, None where none is asked.
    """

    file_name: str
    text: str
    table: Table
    mapped: Mapped
    measures: Measures
    tried: ScenarioResult | None
    invalid: tuple[InvalidRow, ...]
    target: tuple[str, str] | None = None
    open_lines: tuple[str, ...] = ()
    """What was left out or not decided, each with the option that takes it."""

    @property
    def missed(self) -> Iterator[tuple[str, float]]:
        """The gates that the tried rows miss, with their bounds."""
        for name, least in self.measures.gates if self.tried is not None else ():
            mean = self.tried.mean_of(name) if self.tried is not None else None
            if mean is not None and mean < least:
                yield name, least


def propose(
    data: Path, folder: Path, given: Mapping[str, Any], target: str = "", name: str = ""
) -> Proposal:
    """Return the scenario to write into ``folder`` for the rows of ``data``.

    ``given`` are keys of ``dataset`` that the user named, such as ``sheet`` or ``key_map``, and
    ``variants``, the columns with the answers of several systems, and ``left_out``, those that are
    no field; ``target`` is the system that the user named, which takes the place of the module;
    ``name`` is the scenario's, else that of the data. No more than 20,000 rows are read, nothing is
    written, no model is asked. Raises ScenarioError for a file that cannot be read; UndecidedError
    where it cannot be told which column a field is.
    """
    keys = dict(given)
    systems, left_out = ([str(one) for one in keys.pop(key, ())] for key in _OF_COLUMNS)
    _refuse_scenario(data, data.name)
    reading = _read(_Reading(data, keys, (), systems, frozenset(left_out)))
    if not reading.table.columns and reading.table.broken:
        raise undecided(data.name, f"no row can be read: {reading.table.broken[0].reason}")
    try:
        return _proposal(reading, folder, target, name)
    except UndecidedError as error:
        error.table, error.mapped = reading.table, reading.mapped
        raise


def _proposal(reading: _Reading, folder: Path, target: str, name: str) -> Proposal:
    shown, mapped = reading.data.name, reading.mapped
    ask_if_open(
        reading.table,
        mapped,
        shown,
        reading.works,
        can_be_variants=reading.works_with(systems=mapped.systems),
    )
    read = reading.load(mapped)
    _refuse_broken(read, shown)
    mapped = _as_read(mapped, read, reading.table)
    measures = measures_for(reading.table, mapped)
    if not measures.metrics:
        raise undecided(shown, _nothing_found(mapped))
    if target and not measures.asks:
        message = "the data have what is measured, no system is asked: set no target"
        raise ScenarioError([Problem(shown, message)])
    draft = _draft(reading, folder, mapped, measures, target, name)
    valid = next((case.index for case in read.cases if isinstance(case, Sample)), 0)
    tried = _try(draft, reading, valid)
    module = None if draft.is_written else draft.target.partition(":")[0].rpartition(".")[2]
    return Proposal(
        draft.file,
        scenario_text(replace(draft, tried=tried)),
        reading.table,
        mapped,
        measures,
        None if measures.asks or measures.judged else tried,
        tuple(case for case in read.cases if isinstance(case, InvalidRow)),
        (f"{module}.py", target_text(f"{module}.py", draft.file, measures.asks))
        if module
        else None,
        tuple(
            open_lines(reading.table, mapped, reading.works, asks_answer="answer" in measures.asks)
        ),
    )


@dataclass(frozen=True)
class _Reading:
    """The rows of a file, and how their columns are read by what the user named."""

    data: Path
    keys: Mapping[str, Any]
    rows: tuple[Row | BrokenRow, ...]
    systems: Sequence[str] = ()
    left_out: frozenset[str] = frozenset()
    """Columns that are no field, whatever they look like."""

    def at(self, **more: Any) -> _Reading:
        """Return the rows of the file where ``more`` keys say; raises ScenarioError."""
        keys = {**self.keys, **more}
        return replace(self, keys=keys, rows=_read_rows(self.data, keys))

    @property
    def path(self) -> str:
        """Where the rows are in a document."""
        return str(self.keys.get("rows_at", "$"))

    @cached_property
    def spec(self) -> DatasetSpec:
        """The data set that the user named."""
        return _spec({**self.keys, "path": self.data.name}, self.data.name)

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
        is_answered = self.spec.format == _TRACES  # what production did, no gold
        columns = tuple(one for one in self.table.columns if one.name not in self.left_out)
        table = replace(self.table, columns=columns)
        mapped = map_columns(
            table, self.data.stem, self.spec.key_map, self.systems, is_answered=is_answered
        )
        return replace(mapped, split="") if self.spec.split else mapped

    def load(self, mapped: Mapped) -> Dataset:
        """Return the rows as cases; raises ScenarioError if they cannot be read so."""
        keys = {**self.keys, "path": self.data.name, "key_map": written_map(self.table, mapped)}
        spec = _spec(keys, self.data.name)
        return load_dataset(spec, self.data.parent, self.data.name, given=self.given)

    @property
    def asks_once(self) -> bool:
        """Whether most rows have another question; else the rows may be of several systems."""
        found = self.mapped.fields.get("question")
        return found is None or len(self.table[found.column].distinct) * 2 > len(self.rows)

    def at_each(self) -> Iterator[_Reading]:
        """Yield what is at each position of the first list that the path goes over."""
        for at in range(_MOST_RUNS):
            try:
                yield self.at(rows_at=self.path.replace("[*]", f"[{at}]", 1))
            except ScenarioError:
                return

    @property
    def is_readable(self) -> bool:
        """Whether most rows can be read so, or it is still open how; raises ScenarioError."""
        if self.mapped.doubt:
            return True
        read = self.load(self.mapped)
        return len(_broken(read)) * 2 <= len(read.cases)

    @property
    def given(self) -> GivenRows:
        """The rows, to be read by a scenario."""
        return GivenRows(self.rows, self.data.name)

    def works(self, way: Way) -> bool:
        """Return whether the data can be read if a way is taken, or only more is to be asked."""
        key_map = {**self.keys.get("key_map", {}), way.field: way.column}
        return self.works_with(keys={**self.keys, "key_map": key_map})

    def works_with(self, **changes: Any) -> bool:
        """Return the same for other ``keys`` or ``systems``, tried on the first 200 rows."""
        other = replace(self, rows=self.rows[:_MOST_TRIED], **changes)
        try:
            if other.mapped.doubt:
                return True
            if not other.is_readable:
                return False
            measures = measures_for(other.table, other.mapped)
            if measures.metrics and not measures.judged:
                _try(_draft(other, self.data.parent, other.mapped, measures), other, 0)
        except ScenarioError:
            return False
        return True


def _read(asked: _Reading) -> _Reading:
    """Return the rows where the reader finds them, or else where a document has questions.

    Raises ScenarioError if they cannot be read; UndecidedError if they may be in several places.
    """
    try:
        if _are_traces(asked.data, asked.keys):
            return asked.at(format=_TRACES)
        reading = asked.at()
        if "question" in reading.mapped.fields or "rows_at" in asked.keys:
            return reading
    except ScenarioError:
        if "rows_at" in asked.keys or not (others := _read_at_paths(asked)):
            raise
        reading = others[0]
    else:
        others = _read_at_paths(asked)
    nearest = min((_steps(other) for other in others), default=0)
    fits = _places([other for other in others if _steps(other) == nearest])
    if len(fits) > 1:
        raise undecided(
            asked.data.name, "the rows may be in several places", choices=map(_place, fits)
        )
    return fits[0] if fits else reading


def _place(fit: _Reading) -> Choice:
    case = f"they are the {counted(len(fit.rows), 'row')} there"
    line = f"If {case}, add {rows_at_option(fit.path)}"
    return Choice(f"{case}: {fit.path}", {"rows_at": fit.path}, line)


def _places(fits: list[_Reading]) -> list[_Reading]:
    """Return the readings that are left where some are a part of another one.

    What goes over a list, or over the keys of an object, holds what is at each of them. Where the
    questions repeat, these are the runs of several systems, each a place of its own.
    """
    wide = [fit for fit in fits if "[*]" in fit.path]
    if len(wide) != 1:
        return fits
    parts = {str(parse_path(fit.path).steps[-1]).lower() for fit in fits if fit not in wide}
    if not wide[0].asks_once:
        return fits if len(fits) > 1 else [*fits, *wide[0].at_each()]
    return fits if parts & _SPLITS else wide


def _read_at_paths(asked: _Reading) -> list[_Reading]:
    """Return what can be read as questions with something right, by where it is in a document."""
    data, keys = asked.data, asked.keys
    file = data_file(_spec({**keys, "path": data.name}, data.name), data.parent, "", "dataset")
    find = _PATHS.get(data.name.removesuffix(".gz").rpartition(".")[2].lower())
    found = []
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


def _are_traces(data: Path, keys: Mapping[str, Any]) -> bool:
    shown = data.name
    file = data_file(_spec({**keys, "path": shown}, shown), data.parent, shown, "dataset")
    return reader_of(file, shown, "dataset").name == _TRACES


def _steps(reading: _Reading) -> int:
    return len(parse_path(reading.path).steps)


def _broken(read: Dataset) -> list[InvalidRow]:
    return [case for case in read.cases if isinstance(case, InvalidRow)]


def _refuse_broken(read: Dataset, shown: str) -> None:
    """Raise UndecidedError if most rows cannot be read so: something else is meant."""
    broken = _broken(read)
    if len(broken) * 2 > len(read.cases):
        message = f"{len(broken)} of {len(read.cases)} rows cannot be read so: {broken[0].reason}"
        raise undecided(shown, message, "Name the columns that are meant in dataset.key_map")


def _draft(
    reading: _Reading,
    folder: Path,
    mapped: Mapped,
    measures: Measures,
    target: str = "",
    name: str = "",
) -> Draft:
    file = folder_name(name) if name else file_stem(reading.data.name)
    name = name or file
    path = os.path.relpath(reading.data.absolute(), folder.absolute()).replace(os.sep, "/")
    keys = {key: value for key, value in reading.keys.items() if key != "key_map"}
    module = f"{identifier(file)}_target" if measures.asks and not target else ""
    return Draft(
        name,
        f"{file}.rageval.yaml",
        {"path": path, **keys},
        reading.table,
        mapped,
        measures,
        target or (module and f"{module_in(folder, module)}:{FUNCTION}"),
        is_written=not module,
    )


def _read_rows(data: Path, keys: Mapping[str, Any]) -> tuple[Row | BrokenRow, ...]:
    """Return the first 20,000 rows; raises ScenarioError if the file cannot be read."""
    shown = data.name
    file = data_file(_spec({**keys, "path": shown}, shown), data.parent, shown, "dataset")
    return tuple(islice(reader_of(file, shown, "dataset").read(file), _MOST_ROWS))


def _as_read(mapped: Mapped, read: Dataset, table: Table) -> Mapped:
    """Return the fields, with further ones that a reader finds by the names of other columns."""
    served = {found.column for found in mapped.fields.values()}
    by_name = {
        name: column
        for column in read.columns
        if (name := FIELD_OF.get(column, "")) in FIELD_ALIASES
    }
    more = {**by_name, **read.likely}
    left_out = {way.column for _, way in mapped.notes if way is not None}
    left_out |= {column.name for column in table.columns if holds_joined_ids(column)}
    found = {
        name: FoundColumn(column, "by its name")
        for name, column in more.items()
        if name not in mapped.fields and column not in served | left_out and table[column].filled
    }
    return replace(mapped, fields={**mapped.fields, **found})


def _refuse_scenario(data: Path, shown: str) -> None:
    if data.suffix.lower() not in SUFFIXES:
        return
    if names_promptfoo(data):
        raise undecided(shown, f"no data, but {import_hint(shell_word(shown))}")
    if is_scenario(data):
        raise undecided(shown, f"no data, but a scenario; run it: pytest {shell_word(shown)}")


def _spec(keys: Mapping[str, Any], shown: str) -> DatasetSpec:
    try:
        return DatasetSpec.model_validate(keys)
    except ValueError as error:
        raise undecided(shown, shorten(f"dataset: {error}", 300)) from error


def _nothing_found(mapped: Mapped) -> str:
    gold = ", ".join(repr(found.column) for name, found in mapped.fields.items() if "ref" in name)
    return (
        f"{gold} says what a search should find, and no column what it found. Add a column "
        "'retrieved_ids' or 'retrieved_contexts', or the right answers as 'reference'"
    )


def _try(draft: Draft, reading: _Reading, first: int) -> ScenarioResult | None:
    """Return the result of three rows from the ``first`` valid one on, with those before them.

    Bound to these rows, or else to all that were read. A system that has to be asked gives the
    question back; a model that would judge is not asked: None.
    """
    tree = parse_scenario(scenario_text(draft), Path(draft.file), draft.file)
    for key in ("variants", "judge"):
        tree.data.pop(key, None)
    if draft.measures.judged:
        return None
    try:
        return _trial(draft, tree.data, reading, reading.rows[: first + TRIED_ROWS])
    except ScenarioError:  # what a metric needs is in a later row
        return _trial(draft, tree.data, reading, reading.rows, first + TRIED_ROWS)


def _trial(
    draft: Draft,
    scenario: dict[str, Any],
    reading: _Reading,
    rows: Sequence[Row | BrokenRow],
    most: int | None = None,
) -> ScenarioResult:
    target = _echo if draft.measures.asks else None
    handed = Handed(target=target, rows=GivenRows(rows, reading.data.name))
    plan = plan_of(scenario, [], reading.data.parent, handed, RunSettings(), "")
    return evaluate_planned(replace(plan, cases=plan.cases[:most]), RunSettings(), None, None, ())


def _echo(question: str = "") -> dict[str, Any]:
    return {"answer": question, "contexts": [], "retrieved_ids": []}

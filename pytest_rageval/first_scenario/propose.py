"""``propose`` turns a data file into a scenario that runs at once, or says what it lacks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.datasets.base import BrokenRow, GivenRows, Row
from pytest_rageval.datasets.load import Dataset
from pytest_rageval.datasets.proposer.columns import Table
from pytest_rageval.datasets.proposer.draft import FoundColumn, Way
from pytest_rageval.datasets.proposer.names import holds_joined_ids
from pytest_rageval.datasets.proposer.propose import Mapped
from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.evaluation import Handed, evaluate_planned, plan_of
from pytest_rageval.first_scenario.measures import Measures, measures_for
from pytest_rageval.first_scenario.questions import (
    UndecidedError,
    ask_if_open,
    open_lines,
    undecided,
)
from pytest_rageval.first_scenario.reading import Reading, broken_rows, find_rows
from pytest_rageval.first_scenario.scenario_text import (
    FUNCTION,
    Draft,
    file_stem,
    scenario_text,
    shell_word,
    target_text,
)
from pytest_rageval.import_path import module_in
from pytest_rageval.importing.written_files import identifier
from pytest_rageval.model import InvalidRow, Sample, ScenarioResult
from pytest_rageval.run_paths import folder_name
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.scenario.loader import parse_scenario
from pytest_rageval.scenario.recognise import (
    SUFFIXES,
    import_hint,
    is_scenario,
    names_promptfoo,
)

TRIED_ROWS: Final = 3
_MOST_TRIED: Final = 200
_COMPARED: Final = {
    "answer": ("references", "must_include", "must_not_include", "nuggets"),
    "references": ("answer",),
}
_OF_COLUMNS: Final = ("variants", "left_out")


@dataclass(frozen=True)
class Proposal:
    """A scenario for a data file: its name and text, and what it rests on.

    ``tried`` is the result for the first rows, None where a system or a judge has to be asked.
    ``invalid`` are the rows that no sample could be made of. ``target`` is the name and the text of
    the module that asks a system, None where none is asked or the user named one.
    """

    file_name: str
    text: str
    table: Table
    mapped: Mapped
    measures: Measures
    tried: ScenarioResult | None
    invalid: tuple[InvalidRow, ...]
    target: tuple[str, str] | None = None
    name: str = ""
    """What the scenario is called; its file, too, unless no file can be called so."""
    open_lines: tuple[str, ...] = ()
    """What was left out or not decided, each with the option that takes it."""

    @property
    def missed(self) -> Iterator[tuple[str, float]]:
        """The gates that the tried rows miss, with their bounds."""
        if self.tried is None:
            return
        for name, least in self.measures.gates:
            mean = self.tried.mean_of(name)
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
    written, no model is asked. Raises ScenarioError for a file that cannot be read, and for a
    ``target`` where none is asked; UndecidedError where only the user can say what is meant.
    """
    keys = dict(given)
    systems, left_out = ([str(one) for one in keys.pop(key, ())] for key in _OF_COLUMNS)
    _refuse_scenario(data, data.name)
    reading = find_rows(Reading(data, keys, (), systems, frozenset(left_out)))
    if not reading.table.columns and reading.table.broken:
        raise undecided(data.name, f"no row can be read: {reading.table.broken[0].reason}")
    try:
        return _proposal(reading, folder, target, name)
    except UndecidedError as error:
        error.table, error.mapped = reading.table, reading.mapped
        raise


def _proposal(reading: Reading, folder: Path, target: str, name: str) -> Proposal:
    shown, mapped, works = reading.data.name, reading.mapped, partial(_works, reading)
    ask_if_open(
        reading.table,
        mapped,
        shown,
        works,
        can_be_variants=_works_with(reading, systems=mapped.systems),
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
        draft.name,
        tuple(
            open_lines(
                reading.table,
                mapped,
                works,
                asks_answer="answer" in measures.asks,
            )
        ),
    )


def _works(reading: Reading, way: Way) -> bool:
    """Return whether taking a way works: the data can be read, or the next question comes up."""
    key_map = {**reading.keys.get("key_map", {}), way.field: way.column}
    return _works_with(reading, keys={**reading.keys, "key_map": key_map})


def _works_with(reading: Reading, **changes: Any) -> bool:
    """Return whether other ``keys`` or ``systems`` work, tried on the first 200 rows."""
    other = replace(reading, rows=reading.rows[:_MOST_TRIED], **changes)
    try:
        if other.mapped.doubt:
            return True
        if not other.is_readable:
            return False
        measures = measures_for(other.table, other.mapped)
        if measures.metrics and not measures.judged:
            _try(_draft(other, other.data.parent, other.mapped, measures), other, 0)
    except ScenarioError:
        return False
    return True


def _refuse_broken(read: Dataset, shown: str) -> None:
    """Raise UndecidedError if most rows cannot be read so: something else is meant."""
    broken = broken_rows(read)
    if len(broken) * 2 > len(read.cases):
        message = f"{len(broken)} of {len(read.cases)} rows cannot be read so: {broken[0].reason}"
        raise undecided(shown, message, "Name the columns that are meant in dataset.key_map")


def _draft(
    reading: Reading,
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


def _as_read(mapped: Mapped, read: Dataset, table: Table) -> Mapped:
    """Return the fields, with those that a run would find by name in columns without a field."""
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
        if name not in mapped.fields
        and column not in mapped.served | left_out
        and table[column].filled
    }
    return _without_verdicts(replace(mapped, fields={**mapped.fields, **found}), found, table)


def _without_verdicts(mapped: Mapped, found: Iterable[str], table: Table) -> Mapped:
    """Return the fields without yes and no, or 1 and 0, that only a reader ``found``.

    They say nothing that could be compared with the texts beside them.
    """
    fields, notes = dict(mapped.fields), [*mapped.notes]
    for name, others in _COMPARED.items():
        column = table[fields[name].column] if name in found else None
        beside = [table[fields[other].column] for other in others if other in fields]
        if column and beside and all(map(column.are_verdicts_beside, beside)):
            del fields[name]
            why = f"{column.name!r} says yes and no, or 1 and 0, beside texts in {beside[0].name!r}"
            notes.append((f"{why}; to take it nevertheless", Way("", name, column.name)))
    return replace(mapped, fields=fields, notes=tuple(notes))


def _refuse_scenario(data: Path, shown: str) -> None:
    if data.suffix.lower() not in SUFFIXES:
        return
    if names_promptfoo(data):
        raise undecided(shown, f"no data, but {import_hint(shell_word(shown))}")
    if is_scenario(data):
        raise undecided(shown, f"no data, but a scenario; run it: pytest {shell_word(shown)}")


def _nothing_found(mapped: Mapped) -> str:
    gold = ", ".join(repr(found.column) for name, found in mapped.fields.items() if "ref" in name)
    return (
        f"{gold} says what a search should find, and no column what it found. Add a column "
        "'retrieved_ids' or 'retrieved_contexts', or the right answers as 'reference'"
    )


def _try(draft: Draft, reading: Reading, first: int) -> ScenarioResult | None:
    """Return the result of the rows up to the third from the ``first`` valid one on.

    Only these rows are planned, or all that were read if a metric finds in these nothing that it
    needs. A system that has to be asked gives the question back. None where a model would judge.
    """
    tree = parse_scenario(scenario_text(draft), Path(draft.file), draft.file)
    if tree.problems:  # of a file that could not be loaded, which is not written
        raise ScenarioError(tree.problems)
    for key in ("variants", "judge"):
        tree.data.pop(key, None)
    if draft.measures.judged:
        return None
    try:
        return _trial(draft, tree.data, reading, reading.rows[: first + TRIED_ROWS])
    except ScenarioError:  # what a metric needs may be in a later row
        return _trial(draft, tree.data, reading, reading.rows, first + TRIED_ROWS)


def _trial(
    draft: Draft,
    scenario: dict[str, Any],
    reading: Reading,
    rows: Sequence[Row | BrokenRow],
    most: int | None = None,
) -> ScenarioResult:
    target = _echo if draft.measures.asks else None
    handed = Handed(target=target, rows=GivenRows(rows, reading.data.name))
    plan = plan_of(scenario, [], reading.data.parent, handed, RunSettings(), "")
    plan = replace(plan, cases=plan.cases[:most])
    return evaluate_planned(plan, RunSettings(), None, None, ())[0]


def _echo(question: str = "") -> dict[str, Any]:
    return {"answer": question, "contexts": [], "retrieved_ids": []}

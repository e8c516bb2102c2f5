"""``propose`` turns a data file into a scenario that runs at once, or says what it lacks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.datasets.base import BrokenRow, Row
from pytest_rageval.datasets.load import Dataset, data_file, load_dataset, reader_of
from pytest_rageval.datasets.proposer.columns import Column, Table, columns_of
from pytest_rageval.datasets.proposer.propose import (
    FoundColumn,
    Mapped,
    holds_joined_ids,
    holds_joined_texts,
    map_columns,
)
from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.evaluation import Handed, evaluate_planned, plan_of
from pytest_rageval.first_scenario.measures import Measures, measures_for
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
from pytest_rageval.scenario.column_names import snake_case
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF
from pytest_rageval.scenario.in_memory import overrides_of
from pytest_rageval.scenario.loader import parse_scenario
from pytest_rageval.scenario.recognise import (
    SUFFIXES,
    import_hint,
    is_scenario,
    names_promptfoo,
)

TRIED_ROWS: Final = 3
_MOST_ROWS: Final = 20_000
_SHOWN: Final = 20
_OF_JUDGEMENTS: Final = frozenset(
    {"qid", "query_id", "topic", "iter", "iteration", "docid", "doc_id", "docno", "corpus_id"}
    | {"passage_id", "pid", "rel", "relevance", "grade", "score", "label"}
)
_PLAIN: Final = re.compile(r"[\w.-]+")
_GOLD_NAMES: Final = (
    "'reference' (the right answer), 'relevant_ids' (the documents to find) or "
    "'reference_contexts' (the passages to find)"
)


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

    @property
    def missed(self) -> Iterator[tuple[str, float]]:
        """The gates that the tried rows miss, with their bounds."""
        for name, least in self.measures.gates if self.tried is not None else ():
            mean = self.tried.mean_of(name) if self.tried is not None else None
            if mean is not None and mean < least:
                yield name, least


def propose(data: Path, folder: Path, given: Mapping[str, Any], target: str = "") -> Proposal:
    """Return the scenario to write into ``folder`` for the rows of ``data``.

    ``given`` are keys of ``dataset`` that the user named, such as ``sheet`` or ``key_map``;
    ``target`` is the system that the user named, which takes the place of the module. Nothing is
    written, no model is asked. Raises ScenarioError for a file that cannot be read, whose
    columns have no gold, or where it cannot be told which column that is.
    """
    shown = data.name
    _refuse_scenario(data, shown)
    keys = {**given, "path": data.name}
    spec = _spec(keys, shown)
    table = read_table(spec, data.parent, shown)
    mapped = map_columns(table, data.stem, spec.key_map)
    _refuse(table, mapped, shown)
    given_map = spec.key_map
    spec = _spec({**keys, "key_map": written_map(table, mapped)}, shown)
    _refuse_two_golds(spec, data.parent, given_map)
    read = load_dataset(spec, data.parent, shown)
    mapped = _as_read(mapped, read, table)
    measures = measures_for(table, mapped)
    if not measures.metrics:
        raise _refusal(shown, _nothing_found(mapped))
    if target and not measures.asks:
        raise _refusal(shown, "the data have what is measured, no system is asked: set no target")
    name = file_stem(data.name)
    path = os.path.relpath(data.absolute(), folder.absolute()).replace(os.sep, "/")
    dataset = {key: value for key, value in {"path": path, **given}.items() if key != "key_map"}
    module = f"{identifier(name)}_target" if measures.asks and not target else ""
    draft = Draft(
        name,
        f"{name}.rageval.yaml",
        dataset,
        table,
        mapped,
        measures,
        target or (module and f"{module_in(folder, module)}:{FUNCTION}"),
        is_written=not module,
    )
    valid = next((case.index for case in read.cases if isinstance(case, Sample)), 0)
    tried = _try(draft, data, valid)
    return Proposal(
        draft.file,
        scenario_text(replace(draft, tried=tried)),
        table,
        mapped,
        measures,
        None if measures.asks else tried,
        tuple(case for case in read.cases if isinstance(case, InvalidRow)),
        (f"{module}.py", target_text(f"{module}.py", draft.file, measures.asks))
        if module
        else None,
    )


def read_table(spec: DatasetSpec, folder: Path, where: str) -> Table:
    """Return the first 20,000 rows by column; raises ScenarioError if the file cannot be read."""
    file = data_file(spec, folder, where, "dataset")
    found = list(islice(reader_of(file, where, "dataset").read(file), _MOST_ROWS))
    rows = [row for row in found if isinstance(row, Row)]
    broken = tuple(row for row in found if isinstance(row, BrokenRow))
    fields = tuple(row.fields for row in rows)
    return Table(tuple(columns_of(fields)), len(found), broken, fields)


def _as_read(mapped: Mapped, read: Dataset, table: Table) -> Mapped:
    """Return the fields, with further ones that a reader finds by the names of other columns."""
    served = {found.column for found in mapped.fields.values()}
    by_name = {
        name: column
        for column in read.columns
        if (name := FIELD_OF.get(column, "")) in FIELD_ALIASES
    }
    more = {**by_name, **read.likely}
    found = {
        name: FoundColumn(column, "by its name")
        for name, column in more.items()
        if name not in mapped.fields and column not in served and table[column].filled
    }
    return replace(mapped, fields={**mapped.fields, **found})


def _refuse_scenario(data: Path, shown: str) -> None:
    if data.suffix.lower() not in SUFFIXES:
        return
    if names_promptfoo(data):
        raise _refusal(shown, f"no data, but {import_hint(shell_word(shown))}")
    if is_scenario(data):
        raise _refusal(shown, f"no data, but a scenario; run it: pytest {shell_word(shown)}")


def _spec(keys: Mapping[str, Any], shown: str) -> DatasetSpec:
    try:
        return DatasetSpec.model_validate(keys)
    except ValueError as error:
        raise _refusal(shown, shorten(f"dataset: {error}", 300)) from error


def _refuse(table: Table, mapped: Mapped, shown: str) -> None:
    """Raise ScenarioError unless there are questions and gold, and no doubt about them."""
    columns = ", ".join(repr(column.name) for column in table.columns[:_SHOWN])
    if mapped.doubt:
        ways = (f"If {case}, add {_way(name, column)}" for case, name, column in mapped.ways)
        raise _refusal(shown, mapped.doubt, *ways, f"Columns: {columns}")
    if "question" not in mapped.fields and not {"answer", "references"} <= mapped.fields.keys():
        way = f"no column looks like questions; name it: {_way('question', 'YOUR_COLUMN')}"
        raise _refusal(shown, _of_judgements(table, shown) or way, f"Columns: {columns}")
    if not mapped.has_gold:
        raise _refusal(
            shown,
            "no gold: no column says what is right, so nothing can be measured",
            *_joined_cells(table.columns),
            f"Add a column {_GOLD_NAMES}; or name the one that it is: "
            f"{_way('references', 'YOUR_COLUMN')}",
            f"Found: {_listed(mapped)}. Columns: {columns}",
        )


def _refuse_two_golds(spec: DatasetSpec, folder: Path, given: Mapping[str, str]) -> None:
    """Raise ScenarioError if two columns are named like the gold, though only the better is read.

    The reader would not say so: the ``key_map`` of the proposal names one of them.
    """
    if "references" in given or "references" not in spec.key_map:
        return
    left = {name: column for name, column in spec.key_map.items() if name != "references"}
    read = load_dataset(spec.model_copy(update={"key_map": left}), folder, str(spec.path))
    doubts = [doubt for doubt in read.doubts if doubt.field == "references"]
    if doubts:
        raise ScenarioError([Problem(doubt.place, doubt.message) for doubt in doubts])


def _of_judgements(table: Table, shown: str) -> str:
    """Return what to do with judgements of documents (qrels), with a header or without; "" if none.

    Without one, the first judgement is taken for the header: ``q1 0 d1 2``.
    """
    names = [snake_case(column.name) for column in table.columns]
    has_header = set(names) <= _OF_JUDGEMENTS
    if len(names) not in (3, 4) or not (has_header or names[-1].isdigit()):
        return ""
    return (
        "these look like judgements of documents, which judge what a search found. "
        f"Write, in a scenario, dataset: {{qrels_path: {shown}, run_path: YOUR_RUN}} "
        "and metrics: [nDCG@10]"
    )


def _joined_cells(columns: Iterable[Column]) -> Iterator[str]:
    """Yield what to do about columns that nobody reads, as their cells may hold several items."""
    for column in columns:
        if holds_joined_ids(column):
            yield (
                f"{column.name!r} seems to hold several ids with commas: divide them by ';', "
                'or write a list, ["a", "b"]'
            )
        elif holds_joined_texts(column):
            yield (
                f"{column.name!r} is not read, as a cell may be one text or several: write "
                'lists, ["first", "second"], and one text as ["first, second"]'
            )


def _way(field: str, column: str) -> str:
    """Return the option that gives a column to a field, as a shell takes it."""
    if _PLAIN.fullmatch(column):
        return f"--rag-set=dataset.key_map.{field}={column}"
    quoted = column.replace("'", "''")
    return f"\"--rag-set=dataset.key_map.{field}='{quoted}'\""


def _nothing_found(mapped: Mapped) -> str:
    gold = ", ".join(repr(found.column) for name, found in mapped.fields.items() if "ref" in name)
    return (
        f"{gold} says what a search should find, and no column what it found. Add a column "
        "'retrieved_ids' or 'retrieved_contexts', or the right answers as 'reference'"
    )


def _listed(mapped: Mapped) -> str:
    found = (f"{name} ({found.column!r})" for name, found in mapped.fields.items())
    return ", ".join(found) or "nothing"


def _refusal(shown: str, *sentences: str) -> ScenarioError:
    return ScenarioError([Problem(shown, ". ".join(sentences))])


def _try(draft: Draft, data: Path, first: int) -> ScenarioResult:
    """Return the result of three rows from the ``first`` valid one on, with those before them.

    The scenario is bound to all rows. A system that has to be asked gives the question back.
    """
    tree = parse_scenario(scenario_text(draft), Path(draft.file), draft.file)
    changes = overrides_of({"dataset": {"path": data.name}})
    handed = Handed(target=_echo if draft.measures.asks else None)
    plan = plan_of(tree.data, changes, data.parent, handed, RunSettings(), "")
    tried = replace(plan, cases=plan.cases[: first + TRIED_ROWS])
    return evaluate_planned(tried, RunSettings(), None, None, ())


def _echo(question: str = "") -> dict[str, Any]:
    return {"answer": question, "contexts": [], "retrieved_ids": []}


def found_lines(proposal: Proposal) -> Iterator[tuple[str, str, str]]:
    """Yield the column, its field and an example for each field, then for the metadata."""
    served = {found.column: name for name, found in proposal.mapped.fields.items()}
    columns = sorted(proposal.table.columns, key=lambda column: column.name not in served)
    for column in columns:
        yield column.name, served.get(column.name, "(metadata)"), column.example


def unread_lines(proposal: Proposal) -> Iterator[str]:
    """Yield what to do about columns that serve no field because of what is in their cells."""
    served = {found.column for found in proposal.mapped.fields.values()}
    yield from _joined_cells(
        column for column in proposal.table.columns if column.name not in served
    )

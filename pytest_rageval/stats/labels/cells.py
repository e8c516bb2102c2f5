"""The cells of support tables as samples of their own, so that people can label them.

A cell is a statement held against a source: its answer is the statement, its contexts the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import ValidationError, convert

from pytest_rageval.errors import shorten
from pytest_rageval.model import (
    SUPPORT,
    SUPPORT_LEVELS,
    HumanLabels,
    MetricColumn,
    SampleResult,
    ScenarioInfo,
    ScenarioResult,
    Value,
)
from pytest_rageval.stats.weights import group_numbers

LEVEL_WORDS: Final[Mapping[float, str]] = {worth: word for word, worth in SUPPORT_LEVELS.items()}
"""What the levels of cells are called."""

CELL: Final = "q7/claim-3/contexts[2]"
"""An id of a cell, as an example in messages."""

_ID: Final = re.compile(
    r"(.+)/((?:sentence|claim|reference_claim|nugget)-\d+/"
    r"(?:contexts\[\d+(?:, \d+)*\]|reference|answer|history))",
    re.DOTALL,
)
_GROUP: Final = "group of cells"
_STATEMENTS: Final = "statements"
_SOURCES: Final = "sources"
_SHOWN: Final = 100


def is_of_cells(info: ScenarioInfo, metric: str) -> bool:
    """Return whether labels of ``metric`` are about cells, not about answers."""
    return metric == SUPPORT and all(column.name != SUPPORT for column in info.metrics)


def parts_of_cell(name: str) -> tuple[str, str] | None:
    """Return the sample's id and the rest of the id of a cell; None for what is no such id.

    >>> parts_of_cell("a/b/claim-3/contexts[1, 2]"), parts_of_cell("a/b")
    (('a/b', 'claim-3/contexts[1, 2]'), None)
    """
    found = _ID.fullmatch(name)
    return (found[1], found[2]) if found else None


def judged_of(result: ScenarioResult, human: HumanLabels) -> ScenarioResult:
    """Return what labels are held against: the result itself, or one whose samples are cells.

    A labelled cell that its sample has no more comes without a text, so that its label is stale.
    """
    if not is_of_cells(result.info, human.metric):
        return result
    cells = cells_of(result.info, result.samples)
    known = {cell.sample_id for cell in cells}
    places = {sample.sample_id: at for at, sample in enumerate(result.samples)}
    for name in human.labels.keys() - known:
        parts = parts_of_cell(name)
        if parts is not None and parts[0] in places:
            cells.append(SampleResult(name, places[parts[0]]))
    return replace(result, info=info_of_cells(result.info), samples=cells)


def info_of_cells(info: ScenarioInfo) -> ScenarioInfo:
    """Return the scenario with ``support`` as its one metric; no cell has thresholds or baselines.

    Cells of one sample depend on each other, as do those of samples that the scenario groups.
    """
    return replace(
        info,
        metrics=(MetricColumn(SUPPORT),),
        metadata_columns=(*info.metadata_columns, _STATEMENTS, _SOURCES),
        group_by=_GROUP,
        thresholds={},
        baselines={},
    )


def cells_of(info: ScenarioInfo, samples: Sequence[SampleResult]) -> list[SampleResult]:
    """Return the cells that a judge was asked about; ``index`` is the position of their sample.

    Earlier turns of a conversation are in no result: cells with that source are left out.
    """
    groups = group_numbers(info, samples) or range(len(samples))
    return [
        cell
        for at, (sample, group) in enumerate(zip(samples, groups, strict=True))
        for cell in _cells(replace(sample, index=at), group)
    ]


class _Statement(Value, frozen=True):
    text: str
    of: str
    number: int


class _Source(Value, frozen=True):
    kind: str
    index: list[int]

    @property
    def name(self) -> str:
        listed = ", ".join(map(str, self.index))
        return f"{self.kind}[{listed}]" if self.index else self.kind


class _Table(Value, frozen=True):
    """What ``SupportTable.details`` returns, as far as cells need it."""

    statements: list[_Statement]
    sources: list[_Source]
    cells: list[list[tuple[str, str] | None]]

    def __post_init__(self) -> None:
        if {len(row) for row in self.cells} - {len(self.sources)}:
            raise ValueError("a row has not one cell for each source")
        if len(self.cells) != len(self.statements):
            raise ValueError("there is not one row for each statement")


def _cells(sample: SampleResult, group: int) -> Iterator[SampleResult]:
    details = sample.details.get(SUPPORT)
    if details is None:
        return
    try:
        table = convert(details, _Table)
    except ValidationError:  # of a saved run in which a metric had this name
        return
    for statement, row in zip(table.statements, table.cells, strict=True):
        for source, cell in zip(table.sources, row, strict=True):
            texts = _texts(sample, source)
            if cell is not None and texts is not None:
                yield _cell(sample, statement, source, cell, texts, group)


def _cell(
    sample: SampleResult,
    statement: _Statement,
    source: _Source,
    cell: tuple[str, str],
    texts: Sequence[str],
    group: int,
) -> SampleResult:
    level, reason = cell
    worth = next((worth for word, worth in SUPPORT_LEVELS.items() if word == level), None)
    about: Mapping[str, Any] = {_GROUP: group, _STATEMENTS: statement.of, _SOURCES: source.kind}
    said = f'"{shorten(statement.text, _SHOWN)}"' + (f": {reason}" if reason else "")
    return SampleResult(
        f"{sample.sample_id}/{statement.of}-{statement.number}/{source.name}",
        sample.index,
        sample.outcome,
        sample.sample_weight,
        doc_name=sample.doc_name,
        question=sample.question,
        answer=statement.text,
        contexts=texts,
        metadata={**sample.metadata, **about},
        scores={SUPPORT: worth},
        reasons={SUPPORT: said},
        invalid=sample.invalid,
        xfail=sample.xfail,
    )


def _texts(sample: SampleResult, source: _Source) -> list[str] | None:
    """Return the parts of a source, None if the result does not hold them."""
    contexts = sample.contexts or ()
    if source.kind == "contexts" and all(1 <= at <= len(contexts) for at in source.index):
        return [contexts[at - 1] for at in source.index]
    if source.kind == "reference":
        return list(sample.references or ())
    return [sample.answer or ""] if source.kind == "answer" else None

"""A result as columns, one row a sample: what a data frame is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pytest_rageval.model import CAUSE, ScenarioResult
from pytest_rageval.stats.verdict import shown_errors

_SIMPLE: Final = frozenset([str, bool, int, float])
_LARGEST_INT: Final = 2**63


@dataclass(frozen=True, slots=True)
class Column:
    """A column: ``kind`` is what its cells hold besides None."""

    name: str
    kind: Literal["number", "text", "texts", "any"]
    cells: Sequence[Any]

    def of_one_type(self) -> Sequence[Any]:
        """Return the cells for a library whose columns have one type: mixed ones become JSON."""
        if self.kind != "any" or _is_uniform(self.cells):
            return self.cells
        return [
            cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
            for cell in self.cells
        ]


def _is_uniform(cells: Sequence[Any]) -> bool:
    kinds = {type(cell) for cell in cells if cell is not None}
    if int in kinds and any(type(one) is int and abs(one) >= _LARGEST_INT for one in cells):
        return False
    return kinds <= {int, float} or (len(kinds) == 1 and kinds <= _SIMPLE)


def columns_of(results: Sequence[ScenarioResult]) -> list[Column]:
    """Return the samples of results as columns; ``variant`` comes first where there are several.

    The names are those of ``scores.csv``; ``contexts``, ``references`` and ``reasons`` are added. A
    field of the rows that is called like another column is ``metadata.NAME``.
    """
    samples = [sample for result in results for sample in result.samples]
    metrics = list(dict.fromkeys(name for result in results for name in result.metrics))
    leading = list(_leading(results))
    trailing = [
        Column("weighted_score", "number", [sample.weighted_score for sample in samples]),
        Column("sample_weight", "number", [sample.sample_weight for sample in samples]),
        Column("outcome", "text", [sample.outcome for sample in samples]),
        Column("error", "text", [_listed(shown_errors(sample)) for sample in samples]),
        Column("reasons", "text", [_listed(sample.reasons) for sample in samples]),
    ]
    if any(result.info.diagnose is not None for result in results):
        trailing.append(Column(CAUSE, "text", [sample.cause for sample in samples]))
    taken = {one.name for one in (*leading, *trailing)}
    scores = [
        Column(
            _free("score", name, taken), "number", [sample.scores.get(name) for sample in samples]
        )
        for name in metrics
    ]
    metadata = [
        Column(
            _free("metadata", name, taken),
            "any",
            [(sample.metadata or {}).get(name) for sample in samples],
        )
        for name in _fields(results)
    ]
    return [*leading, *metadata, *scores, *trailing]


def _leading(results: Sequence[ScenarioResult]) -> Iterator[Column]:
    if len(results) > 1:
        cells = [result.info.variant for result in results for _ in result.samples]
        yield Column("variant", "text", cells)
    samples = [sample for result in results for sample in result.samples]
    yield Column("sample_id", "text", [sample.sample_id for sample in samples])
    yield Column("question", "text", [sample.question for sample in samples])
    yield Column("answer", "text", [sample.answer for sample in samples])
    yield Column("contexts", "texts", [_list(sample.contexts) for sample in samples])
    yield Column("references", "texts", [_list(sample.references) for sample in samples])
    yield Column("doc_name", "text", [sample.doc_name for sample in samples])


def _fields(results: Sequence[ScenarioResult]) -> list[str]:
    """Return the fields that rows have besides those of a sample, in their order."""
    found = [name for result in results for name in result.info.metadata_columns]
    of_samples = (name for one in results for sample in one.samples for name in sample.metadata)
    return list(dict.fromkeys([*found, *of_samples]))


def _free(section: str, name: str, taken: set[str]) -> str:
    """Return a name that no other column has, and take it."""
    while name in taken:
        name = f"{section}.{name}"
    taken.add(name)
    return name


def _list(texts: Sequence[str] | None) -> list[str] | None:
    return None if texts is None else list(texts)


def _listed(texts: Any) -> str | None:
    return "; ".join(f"{name}: {text}" for name, text in texts.items()) or None
